"""Files that readers give, held in memory by what they contain.

A file does not fit into a link. A spec holds its *reference* instead, "3f2a91c04b6d7e80 houses.csv": the head of the
SHA-256 of its content, and its name. Whoever opens the link elsewhere is told which file it needs, and the same content
under any name fits. Nothing is written to a disk; the least recently used are forgotten.
"""

from __future__ import annotations

import hashlib

from engine.kept import Store
from engine.spec import SpecError

MOST_HELD = 200_000_000  # bytes of all readers together
LENGTH = 72  # of a reference: declare its field with this
_DIGITS = 16

_held = Store(MOST_HELD)  # of its own: a file is not to be pushed out by pictures


def hold(name: str, content: bytes) -> str:
    """Keep a file; returns its reference."""
    digest = hashlib.sha256(content).hexdigest()[:_DIGITS]
    _held.put(digest, content)
    shown = "".join(c if c.isprintable() else " " for c in name).strip()
    return f"{digest} {shown[-(LENGTH - _DIGITS - 1) :]}".strip()


def held(reference: str, parameter: str = "file") -> bytes:
    """The content of a file. Raises SpecError, naming `parameter`, that says which file is needed."""
    digest, _, name = reference.partition(" ")
    if not digest:
        raise SpecError(parameter, "no file has been given yet: choose one in the settings")
    content = _held.get(digest)
    if content is None:
        raise SpecError(
            parameter,
            f"this page needs the file “{name or '?'}” with the fingerprint {digest[:_DIGITS]}, which is not here: "
            "choose it in the settings",
        )
    return content


def is_held(reference: str) -> bool:
    """Whether `held` has it."""
    return _held.get(reference.partition(" ")[0]) is not None
