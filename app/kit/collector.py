"""Garbage that refers to itself, collected while nobody waits.

Each run of a script leaves some: Streamlit's own objects, and the page, which is a module of its own. Python looks for it
when enough was made anew, so in the middle of a script, and to look over all that a server keeps takes a tenth of a second
in which nothing else of it runs. The quick looks over what is new stay Python's; the long ones are made here, by a thread
that waits for a moment without scripts.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable

from app.kit import seams

DUE = 20  # quick looks over what outlived one, after which a long one is due
LATEST = 20.0  # s that it waits for a quiet moment
SHARE = 0.02  # of the time that long looks may take: the more there is to look over, the rarer
LOOK = 0.1  # s between looks whether the moment is quiet; two must find it so, for what a script said is still to be sent
_NEVER = 2**31 - 1


class Collector:
    """Collects when it is due and the moment is `quiet`, or when it has been due for `latest` seconds; `share` of the time."""

    def __init__(self, quiet: Callable[[], bool], latest: float = LATEST, share: float = SHARE):
        self._quiet, self._latest, self._share = quiet, latest, share
        self._rests_until = 0.0
        self._due_since: float | None = None
        self._was_quiet = False

    def start(self) -> None:
        """Take the long looks over from Python."""
        first, second, _ = gc.get_threshold()
        gc.set_threshold(first, second, _NEVER)
        threading.Thread(target=self._run, daemon=True, name="collector").start()

    def look(self) -> bool:
        """Collect if it is time; whether it was."""
        now = time.monotonic()
        if gc.get_count()[2] < DUE or now < self._rests_until:
            self._due_since, self._was_quiet = None, False
            return False
        if self._due_since is None:
            self._due_since = now
        before, self._was_quiet = self._was_quiet, self._quiet()
        if not (before and self._was_quiet) and now - self._due_since < self._latest:
            return False
        gc.collect()
        self._due_since, self._was_quiet = None, False
        self._rests_until = now + (time.monotonic() - now) / self._share
        return True

    def _run(self) -> None:
        while True:
            time.sleep(LOOK)
            self.look()


def start() -> None:
    """Collect in this process while no script runs."""
    Collector(quiet=lambda: not seams.scripts_run()).start()
