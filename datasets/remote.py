"""MNIST, Fashion-MNIST, Boston and credit default, downloaded once when asked for, checked by SHA-256, and kept in the
user's cache folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import os
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from datasets.card import Card
from datasets.files import FASHION_NAMES, Content, from_files, map_file, unpack
from datasets.images import DIGIT_NAMES, Images
from datasets.tables import BOSTON_CARD, CREDIT_CARD, Table, read_csv
from engine import settings
from engine.spec import SpecError

PIECE = 1 << 16  # bytes between two looks at `stop`
PATIENCE = 20.0  # seconds without an answer


@dataclass(frozen=True)
class Remote:
    """A data set on the internet.

    url : folder of the files, ending in a slash
    hashes : file name to the SHA-256 of its content, unpacked where `unpacked`
    sizes : bytes of each file as it stands there, about
    unpacked : the hash is that of the unpacked file: copies packed by somebody else pass too
    instead : what can be done where there is no network
    """

    url: str
    hashes: dict[str, str]
    sizes: dict[str, int]
    unpacked: bool
    card: Card
    instead: str = "choose the bundled digits or give the four files yourself"


MNIST = Remote(
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    {
        "train-images-idx3-ubyte.gz": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "train-labels-idx1-ubyte.gz": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "t10k-images-idx3-ubyte.gz": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "t10k-labels-idx1-ubyte.gz": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    },
    {
        "train-images-idx3-ubyte.gz": 9_912_422,
        "train-labels-idx1-ubyte.gz": 28_881,
        "t10k-images-idx3-ubyte.gz": 1_648_877,
        "t10k-labels-idx1-ubyte.gz": 4_542,
    },
    True,
    Card(
        "MNIST",
        "Y. LeCun, C. Cortes and C. Burges, The MNIST database of handwritten digits, 1998",
        "CC BY-SA 3.0",
        "grey levels from 0 to 255",
        DIGIT_NAMES,
    ),
)
# The hashes are those that TensorFlow Datasets publishes for the makers' files.
FASHION = Remote(
    "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    {
        "train-images-idx3-ubyte.gz": "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
        "train-labels-idx1-ubyte.gz": "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
        "t10k-images-idx3-ubyte.gz": "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
        "t10k-labels-idx1-ubyte.gz": "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
    },
    {
        "train-images-idx3-ubyte.gz": 26_421_880,
        "train-labels-idx1-ubyte.gz": 29_515,
        "t10k-images-idx3-ubyte.gz": 4_422_102,
        "t10k-labels-idx1-ubyte.gz": 5_148,
    },
    False,
    Card(
        "Fashion-MNIST", "H. Xiao, K. Rasul and R. Vollgraf, Fashion-MNIST, Zalando 2017", "MIT", "grey levels from 0 to 255", FASHION_NAMES
    ),
)
REMOTE = {"mnist": MNIST, "fashion": FASHION}

_TABLE_INSTEAD = "give the CSV file yourself"
BOSTON = Remote(
    "https://raw.githubusercontent.com/selva86/datasets/ec9036b07e2b0f73c0a8d33d9d63488e423c6a74/",
    {"BostonHousing.csv": "ecd31fafe95b7b184f155001fd9ca6edbe86b0525c9ad544baaba30eef6382b3"},
    {"BostonHousing.csv": 35_736},
    False,
    BOSTON_CARD,
    _TABLE_INSTEAD,
)
CREDIT = Remote(
    "https://archive.ics.uci.edu/static/public/350/",
    {"data.csv": "45bcf4df62ff2e237a74eb155cabfb4bbbc171219a0637daef44fdad07503dd0"},
    {"data.csv": 2_897_080},
    False,
    CREDIT_CARD,
    _TABLE_INSTEAD,
)
TABLES = {"boston": BOSTON, "credit": CREDIT}

Progress = Callable[[int, int, str], None]


def cache_folder() -> Path:
    """Where downloaded data are kept: `POSTERIOR_LAB_DOWNLOADS`, else the user's cache folder."""
    named = settings.value("DOWNLOADS")
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(named) if named else Path(home) / "posterior-lab" / "data"


def trained_folder() -> Path:
    """Where the states of the lessons' trained networks are kept: in `POSTERIOR_LAB_STATE`, else beside the downloads."""
    named = settings.value("STATE")
    return (Path(named) if named else cache_folder().parent) / "trained"


def available(name: str, folder: Path | None = None) -> bool:
    """Have all files of this data set been downloaded already? Their hashes are looked at when they are read."""
    return all(path.is_file() for path in paths(name, folder).values())


def paths(name: str, folder: Path | None = None) -> dict[str, Path]:
    """Where the files of this data set are once they have been downloaded, by name."""
    return {file: _folder(name, folder) / file for file in _remote(name).hashes}


def download(
    name: str, folder: Path | None = None, progress: Progress | None = None, stop: Callable[[], bool] | None = None, url: str | None = None
) -> Images:
    """MNIST ("mnist") or Fashion-MNIST ("fashion"): from the cache folder, else from the internet, once.

    folder : of the cache; by default `cache_folder()`
    progress : called as progress(bytes so far, bytes in all, file name); the total is approximate
    stop : says True to give up
    url : another folder with the same files

    A file whose SHA-256 is not the known one is thrown away. Raises SpecError saying what failed and what can be done.
    """
    return from_files(_contents(name, folder, progress, stop, url), _remote(name).card)


def mapped(paths: Mapping[str, Path], card: Card) -> Images:
    """Images from the files of a data set in a folder, by name: their pixels stay on the disk and are read where they
    are looked at. Packed files are unpacked once into the cache folder; where that cannot be written, into memory.
    """
    found: dict[str, Content] = {}
    for name, path in paths.items():
        plain = _plain(name, path)
        if not plain.is_file():
            _keep(plain, unpack(name, path.read_bytes()))
        found[name] = map_file(plain) if plain.is_file() else path.read_bytes()
    return from_files(found, card)


def mapped_download(name: str) -> Images:
    """The images of a data set that has been downloaded, as `mapped`. Their hashes are looked at before they are
    unpacked; a file with another one is fetched again. Raises SpecError where that fails.
    """
    there = paths(name)
    if not all(_plain(file, path).is_file() for file, path in there.items()):
        _contents(name, None, None, None, None)
    return mapped(there, REMOTE[name].card)


def _plain(name: str, path: Path) -> Path:
    """Where the file `name` at `path` is unpacked, or itself if it is not packed."""
    if not name.endswith(".gz"):
        return path
    about = path.stat()
    mark = hashlib.sha256(f"{path.resolve()} {about.st_size} {about.st_mtime_ns}".encode()).hexdigest()[:16]
    return cache_folder() / "unpacked" / f"{mark}-{name.removesuffix('.gz')}"


def download_table(
    name: str, folder: Path | None = None, progress: Progress | None = None, stop: Callable[[], bool] | None = None, url: str | None = None
) -> Table:
    """Boston house prices ("boston") or UCI's credit default ("credit"), with the parameters and errors of
    `download`.
    """
    (content,) = _contents(name, folder, progress, stop, url).values()
    return read_csv(content)


@lru_cache(maxsize=2)
def kept_table(name: str) -> Table:
    """The table of `download_table` where it has been downloaded. Raises SpecError saying how to get it where not."""
    if not available(name):
        known = TABLES[name]
        size = sum(known.sizes.values()) / 1e6
        raise SpecError(
            "data",
            f"{known.card.name} is not on this machine yet. Press the button below the picture: it is downloaded once "
            f"from {known.url} ({size:.2g} MB) and checked by its SHA-256. Without a network, give the CSV as your own "
            "table",
        )
    return download_table(name)


def fetch_table(name: str, job: Any) -> None:
    """Download a table that is not here yet, as part of a long run.

    job : its ticket: told by `job.report(bytes so far, bytes in all)`, asked by `job.is_set()` whether to give up

    Raises SpecError where the download fails or is stopped.
    """
    if not available(name):
        download_table(name, progress=lambda done, total, _: job.report(done, total), stop=job.is_set)


def _contents(
    name: str, folder: Path | None, progress: Progress | None, stop: Callable[[], bool] | None, url: str | None
) -> dict[str, bytes]:
    """The files of a data set by name, each with the hash that it should have."""
    remote, home = _remote(name), _folder(name, folder)
    total, before = sum(remote.sizes.values()), 0
    contents: dict[str, bytes] = {}
    for file, size in remote.sizes.items():
        path = home / file
        content = path.read_bytes() if path.is_file() else None
        if content is None or not _genuine(remote, file, content):
            content = _fetched(remote, file, url or remote.url, before, total, progress, stop)
            if not _genuine(remote, file, content):
                raise SpecError(
                    "data",
                    f"{file} of {remote.card.name} arrived with another SHA-256 than the known one, and was thrown "
                    "away. Try again later, or give the files yourself",
                )
            _keep(path, content)
        contents[file] = content
        before += size
        if progress is not None:
            progress(before, total, file)
    return contents


def _remote(name: str) -> Remote:
    known = REMOTE | TABLES
    if name not in known:
        raise SpecError("data", f"{name!r} is not one of {', '.join(known)}")
    return known[name]


def _folder(name: str, folder: Path | None) -> Path:
    return (folder or cache_folder()) / name


def _genuine(remote: Remote, file: str, content: bytes) -> bool:
    if remote.unpacked:
        try:
            content = unpack(file, content)
        except SpecError:
            return False
    return hashlib.sha256(content).hexdigest() == remote.hashes[file]


def _fetched(
    remote: Remote, file: str, url: str, before: int, total: int, progress: Progress | None, stop: Callable[[], bool] | None
) -> bytes:
    """A file from the internet, at most twice the size that it should have."""
    pieces: list[bytes] = []
    held, most = 0, 2 * remote.sizes[file] + PIECE
    try:
        with urllib.request.urlopen(url + file, timeout=PATIENCE) as answer:
            while piece := answer.read(PIECE):
                if stop is not None and stop():
                    raise SpecError("data", f"the download of {remote.card.name} was stopped")
                pieces.append(piece)
                held += len(piece)
                if held > most:
                    raise SpecError("data", f"{file} of {remote.card.name} is larger than it should be: given up")
                if progress is not None:
                    progress(min(before + held, total), total, file)
    except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as problem:
        if isinstance(problem, SpecError):
            raise
        reason = getattr(problem, "reason", None) or problem
        raise SpecError(
            "data", f"{remote.card.name} could not be downloaded from {url} ({reason}). Without a network, {remote.instead}"
        ) from None
    return b"".join(pieces)


def _keep(path: Path, content: bytes) -> None:
    """Write at once or not at all; a cache that cannot be written costs another download, not the page."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            try:
                file.write(content)
                file.close()
                os.replace(file.name, path)
            except OSError:
                os.unlink(file.name)
