"""Runs of several chains that go on where they stopped, a thread a chain."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor

_threads = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="chain")


class Resumable:
    """Warm-up, then draws, in pieces of any size. A kind of run says how one chain advances.

    chains, warmup, draws : how many; a run's unit is a transition or a sweep
    warmed_up, completed : units of each chain done so far, of the warm-up and of the draws
    seconds : spent in `advance`
    """

    chains: int
    warmup: int
    draws: int
    warmed_up: int = 0
    completed: int = 0
    seconds: float = 0.0

    @property
    def total(self) -> int:
        """Units of each chain, warm-up included."""
        return self.warmup + self.draws

    @property
    def done(self) -> bool:
        """Whether all draws are there."""
        return self.completed == self.draws

    def advance(self, n: int) -> int:
        """Run up to n more units of every chain, in threads. Returns how many were run."""
        begin = time.perf_counter()
        warm = min(n, self.warmup - self.warmed_up)
        kept = min(n - warm, self.draws - self.completed)
        jobs = [_threads.submit(self._advance_chain, c, warm, kept) for c in range(1, self.chains)]
        self._advance_chain(0, warm, kept)
        for job in jobs:
            job.result()
        self.warmed_up += warm
        self.completed += kept
        self.seconds += time.perf_counter() - begin
        return warm + kept

    def _advance_chain(self, c: int, warm: int, kept: int) -> None:
        """Run `warm` units of chain c's warm-up, then `kept` of its draws."""
        raise NotImplementedError
