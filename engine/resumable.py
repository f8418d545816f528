"""Runs of several chains that go on where they stopped, on as many cores as nobody else needs."""

from __future__ import annotations

import time

from engine import ticket


class Resumable:
    """Warm-up, then draws, in pieces of any size. A kind of run says how one chain advances.

    chains, warmup, draws : how many; a run's unit is a transition or a sweep
    warmed_up, completed : units that every chain has done so far, of the warm-up and of the draws
    seconds : spent in `advance`
    """

    chains: int
    warmup: int
    draws: int
    warmed_up: int = 0
    completed: int = 0
    seconds: float = 0.0
    _units: list[int] | None = None  # that each chain has done; they differ where an advance was interrupted
    _pace: ticket.Pace | None = None

    @property
    def total(self) -> int:
        """Units of each chain, warm-up included."""
        return self.warmup + self.draws

    @property
    def done(self) -> bool:
        """Whether all draws are there."""
        return self.completed == self.draws

    def advance(self, n: int) -> int:
        """Run up to n more units of every chain. Returns how many were run.

        Raises InterruptedError where the job's result is not wanted any more; the run can go on from there.
        """
        begin, before = time.perf_counter(), self.warmed_up + self.completed
        if self._units is None:
            self._units, self._pace = [before] * self.chains, self._pace or ticket.Pace()
        units = self._units
        goal = min(before + n, self.total)
        try:
            ticket.each(lambda c: self._advance_to(goal, c, units), range(self.chains))
        finally:
            done = min(units)
            self.warmed_up = min(done, self.warmup)
            self.completed = done - self.warmed_up
            self.seconds += time.perf_counter() - begin
        return done - before

    def rewind(self) -> None:
        """Nothing is done yet."""
        self.warmed_up, self.completed, self._units = 0, 0, None

    def _advance_to(self, goal: int, c: int, units: list[int]) -> None:
        for n in ticket.pieces(min(goal, self.warmup) - units[c], self._pace):
            self._warm_up_chain(c, units[c], n)
            units[c] += n
        for n in ticket.pieces(goal - units[c], self._pace):
            self._advance_chain(c, units[c] - self.warmup, n)
            units[c] += n

    def _warm_up_chain(self, c: int, first: int, n: int) -> None:
        """Run units first .. first + n - 1 of chain c's warm-up."""
        raise NotImplementedError

    def _advance_chain(self, c: int, first: int, n: int) -> None:
        """Run units first .. first + n - 1 of chain c's draws."""
        raise NotImplementedError
