"""What has been learnt, on disk: so that what was killed goes on, and what was trained need not be trained again.

A state is written at once or not at all. A folder of states has a budget: those that nobody has used for longest go.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import tempfile
from pathlib import Path
from typing import Any

from engine import settings

MEGABYTE = 1_000_000
BUDGET = 500  # MB
SUFFIX = ".run"


def read(path: Path) -> Any:
    """The state at `path`; None where there is none, half of one, or one of another version."""
    try:
        found = pickle.loads(path.read_bytes())  # written by `write` into this user's own folder
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
        with os.fdopen(handle, "wb") as file:
            pickle.dump(state, file, protocol=pickle.HIGHEST_PROTOCOL)
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
    return int(float(settings.value("DISK") or BUDGET) * MEGABYTE)
