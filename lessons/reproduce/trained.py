"""Networks of the papers' size, trained for as long as it takes: the state is on disk every half minute, so that a run
that was killed goes on, to the same bytes.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.variational.network import NetworkRun
from lessons.reproduce import store

EVERY = 25.0  # s between two states on disk
LOOKS = 0.5  # s of training between two looks at the clock


def trained(path: Path, begin: Callable[[], NetworkRun]) -> NetworkRun:
    """The run of `begin`, trained to its end: from the state at `path` on, where there is one of the same run.

    path : of the state; it stays there, so that what comes after the training may be killed too
    """
    run = begin()
    kept = _read(path)
    if kept is not None and (kept.spec, kept.shape, kept.total) == (run.spec, run.shape, run.total):
        run = kept.with_data_of(run)
    written = time.monotonic()
    while not run.done:
        until = time.monotonic() + LOOKS
        run.advance(run.total, lambda until=until: time.monotonic() > until)  # type: ignore[misc]
        if run.done or time.monotonic() - written > EVERY:
            _write(path, run.without_data())
            written = time.monotonic()
    return run


def state_path(id: str, form: str, name: str) -> Path:
    """Where the state of a part's network is kept."""
    return store.state_folder() / id / f"{form}-{name}.run"


def _read(path: Path) -> Any:
    try:
        return pickle.loads(path.read_bytes())  # written by `_write` into this user's own folder
    except Exception:  # none, half a file, or of another version: it is trained from the start
        return None


def _write(path: Path, run: NetworkRun) -> None:
    """At once or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            pickle.dump(run, file, protocol=pickle.HIGHEST_PROTOCOL)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
