"""Images that a user gave, kept in the process for a while under a name made from their content."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Mapping

from datasets.card import Card
from datasets.files import OWN_CARD, from_files
from datasets.images import Images
from engine.spec import SpecError

KEPT = 4  # sets of images: MNIST takes 55 MB
KEPT_BYTES = 250_000_000  # and what their pixels may take

_kept: OrderedDict[str, Images] = OrderedDict()
_lock = threading.Lock()


def keep(files: Mapping[str, bytes], card: Card = OWN_CARD) -> str:
    """Read the files (see `datasets.files.from_files`) and keep their images; returns the name to ask for them by, 16
    hexadecimal digits. Raises SpecError.
    """
    images = from_files(files, card)
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(name.encode() + b"\0" + files[name])
    key = digest.hexdigest()[:16]
    with _lock:
        _kept[key] = images
        _kept.move_to_end(key)
        while len(_kept) > KEPT or (len(_kept) > 1 and sum(map(_size, _kept.values())) > KEPT_BYTES):
            _kept.popitem(last=False)
    return key


def kept(key: str) -> Images:
    """The images kept under `key`. Raises SpecError when they are not there (any more)."""
    with _lock:
        if key not in _kept:
            raise SpecError("files", "the files of this link are not here (any more): give them again, under Data")
        _kept.move_to_end(key)
        return _kept[key]


def _size(images: Images) -> int:
    return images.images.nbytes + images.images_test.nbytes
