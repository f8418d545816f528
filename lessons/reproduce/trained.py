"""Networks of the papers' size, trained for as long as it takes: the state is on disk every half minute, so that a run
that was killed goes on, to the same bytes.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

from engine import states, ticket
from engine.variational.network import NetworkRun
from lessons.reproduce import store

EVERY = 25.0  # s between two states on disk
LOOKS = 0.5  # s of training between two looks at the clock


def trained(path: Path, begin: Callable[[], NetworkRun]) -> NetworkRun:
    """The run of `begin`, trained to its end: from the state at `path` on, where there is one of the same run.

    path : of the state; it stays there, so that what comes after the training may be killed too
    """
    run = begin()
    kept = states.read(path)
    if kept is not None and (kept.spec, kept.shape, kept.total) == (run.spec, run.shape, run.total):
        run = kept.with_data_of(run)
    written = time.monotonic()
    try:
        while not run.done:
            ticket.report(run.completed, run.total)
            until = time.monotonic() + LOOKS
            run.advance(run.total, lambda until=until: time.monotonic() > until)  # type: ignore[misc]
            if run.done or time.monotonic() - written > EVERY:
                _write(path, run)
                written = time.monotonic()
    except InterruptedError:  # stopped by hand
        _write(path, run)
        raise
    return run


def _write(path: Path, run: NetworkRun) -> None:
    with contextlib.suppress(OSError):  # a disk that takes nothing costs the state, not the training
        states.write(path, run.without_data())


def state_path(id: str, form: str, name: str) -> Path:
    """Where the state of a part's network is kept."""
    return store.state_folder() / id / f"{form}-{name}.run"
