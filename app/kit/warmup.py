"""The warm-up: a thread that loads every kernel from the cache (or compiles it) and the slow libraries, once a process."""

from __future__ import annotations

import gc
import logging
import threading
import time

log = logging.getLogger(__name__)


class WarmUp:
    """How far the warm-up is. `ready` also after a failure: the kernels then compile when they are first needed."""

    def __init__(self) -> None:
        self.done = 0
        self.total = 0
        self.name = ""
        self.ready = False
        self.started = time.monotonic()
        threading.Thread(target=self._run, daemon=True, name="warm-up").start()

    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    def _run(self) -> None:
        try:
            from engine import warm

            warm.warm(self._report)
            import arviz_stats.base  # noqa: F401  (takes a second; the diagnostics need it)
        except Exception:
            log.exception("warm-up")
        gc.collect()
        gc.freeze()  # nothing loaded so far goes away again: the collector need not look at it
        self.ready = True

    def _report(self, done: int, total: int, name: str) -> None:
        self.done, self.total, self.name = done, total, name


_warm_up: WarmUp | None = None
_lock = threading.Lock()


def start() -> WarmUp:
    """The warm-up of this process, started on the first call."""
    global _warm_up
    with _lock:
        if _warm_up is None:
            import engine  # noqa: F401  (whole before the thread starts: two threads importing it at once meet half a package)

            _warm_up = WarmUp()
        return _warm_up
