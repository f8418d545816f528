"""What has been learnt, on disk: so that what was killed goes on, and what was trained need not be trained again.

A state is written at once or not at all, with the sum of its bytes behind it: one that was damaged later is thrown away.
A folder of states has a budget: those that nobody has used for longest go.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine import settings

MEGABYTE = 1_000_000
EVERY = 10.0  # s between two states on disk
SUFFIX = ".run"
SUM = hashlib.sha256().digest_size


def read(path: Path) -> Any:
    """The state at `path`; None where there is none, one of another version, or one that is not whole, which goes."""
    try:
        kept = path.read_bytes()
        content = memoryview(kept)[:-SUM]
        if hashlib.sha256(content).digest() != kept[-SUM:]:
            path.unlink(missing_ok=True)
            return None
        found = pickle.loads(content)  # written by `write` into this user's own folder
    except Exception:  # whatever is wrong with it: the work begins anew
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # it has been used
    return found


def write(path: Path, state: Any) -> None:
    """At once or not at all. Raises OSError where the disk does not take it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent)
    try:
        content = pickle.dumps(state, protocol=pickle.HIGHEST_PROTOCOL)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.write(hashlib.sha256(content).digest())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def fit(folder: Path, budget: int) -> None:
    """Throw out states of `folder`, the least recently used first, until they take at most `budget` bytes."""
    found = []
    for path in folder.glob(f"*{SUFFIX}"):
        with contextlib.suppress(OSError):  # another process was faster
            about = path.stat()
            found.append((about.st_mtime_ns, about.st_size, path))
    held = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if held <= budget:
            return
        path.unlink(missing_ok=True)
        held -= size


def budget() -> int:
    """Bytes that trained states may take, from `POSTERIOR_LAB_DISK`."""
    return int(settings.megabytes("DISK") * MEGABYTE)


def path_of(folder: Path, kind: str, about: bytes) -> Path:
    """The place in `folder` of a state that depends on nothing but `about`."""
    return folder / f"{kind}-{hashlib.blake2b(about, digest_size=12).hexdigest()}{SUFFIX}"


class Saved:
    """The state of a training that goes on, written every `EVERY` seconds and at its end, within the folder's budget.

    path : of the state; None: there is none
    """

    def __init__(self, path: Path | None):
        self.path, self._written = path, time.monotonic()

    def read(self) -> Any:
        """As `read`; None where there is no path."""
        return None if self.path is None else read(self.path)

    def keep(self, state: Callable[[], Any], done: bool) -> None:
        """Write the state if it is time. A disk that is full or closed costs the state, not the training."""
        now = time.monotonic()
        if self.path is None or not (done or now - self._written > EVERY):
            return
        self._written = now
        with contextlib.suppress(OSError):
            write(self.path, state())
            fit(self.path.parent, budget())
