"""Runs of several chains that go on where they stopped, on as many cores as nobody else needs, here or elsewhere."""

from __future__ import annotations

import contextlib
import copy
import time
from typing import Any, NamedTuple

from engine import slices, ticket, turns


class Slice(NamedTuple):
    """One chain that goes on elsewhere: what it carries, the units that it has done, and those that it is to do."""

    chain: dict[str, Any]
    first: int
    units: int


class Resumable:
    """Warm-up, then draws, in pieces of any size. A kind of run says how one chain advances.

    chains, warmup, draws : how many; a run's unit is a transition or a sweep
    warmed_up, completed : units that every chain has done so far, of the warm-up and of the draws
    seconds : spent in `advance`
    _carries : names of attributes with an entry a chain, lists or arrays (chains, ...): all that its chains carry
    _writes : names of those that are written draw by draw, arrays (chains, draws, ...) or named tuples of them
    """

    chains: int
    warmup: int
    draws: int
    warmed_up: int = 0
    completed: int = 0
    seconds: float = 0.0
    _carries: tuple[str, ...]
    _writes: tuple[str, ...]
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

    def left(self, draws: int) -> int:
        """Units of each chain until so many draws are there, what is left of the warm-up included; 0 where they are."""
        return max(0, self.warmup - self.warmed_up + draws - self.completed)

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
            if (where := slices.place()) is not None:
                first = 0 if before else min(1, goal)  # a first unit tells what the others are worth
                self._advance_here(first, units)
                each = (self.seconds + time.perf_counter() - begin) / max(before, first, 1)
                if each * (goal - min(units)) > slices.WORTH:
                    with contextlib.suppress(slices.StaysHere):
                        self._advance_there(where, goal, units, each)
            self._advance_here(goal, units)
        finally:
            done = min(units)
            self.warmed_up = min(done, self.warmup)
            self.completed = done - self.warmed_up
            self.seconds += time.perf_counter() - begin
        return done - before

    def rewind(self) -> None:
        """Nothing is done yet."""
        self.warmed_up, self.completed, self._units = 0, 0, None

    def _advance_here(self, goal: int, units: list[int]) -> None:
        ticket.each(lambda c: self._advance_to(goal, c, units), range(self.chains))

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

    # elsewhere: the chains go one by one, in slices, each with all that it carries

    def _advance_there(self, where: slices.Place, goal: int, units: list[int], seconds: float) -> None:
        """Advance at `where` as far as that goes; a unit of all chains takes `seconds` here."""
        pace = ticket.Pace(slices.SLICE)
        pace.size = max(1, int(slices.SLICE / seconds))
        with turns.resting(), where.working(_slice, slices.Shared(self._one_chain())) as work:

            def send(c: int) -> None:
                if units[c] < goal:
                    carried = {name: getattr(self, name)[c : c + 1] for name in self._carries}
                    work.send(c, Slice(carried, units[c], min(pace.size, goal - units[c])))

            for c in range(self.chains):
                send(c)
            for c, (units_there, carried, written), took in work:
                for name, value in carried.items():
                    getattr(self, name)[c : c + 1] = value
                for name, rows in written.items():
                    self._write(name, c, self._draws(units[c], units_there), rows)
                pace.took(units_there - units[c], took)
                units[c] = units_there
                send(c)

    def _one_chain(self) -> Resumable:
        """The run with one chain, and with nothing of what that carries and writes."""
        other = copy.copy(self)
        other.chains, other._pace, other.seconds = 1, None, 0.0
        other.rewind()
        for name in (*self._carries, *self._writes):
            other.__dict__.pop(name, None)
        return other

    def _make_room(self) -> None:
        """Make the attributes that are written, for `chains` and `draws`."""
        raise NotImplementedError

    def _draws(self, first: int, last: int) -> slice:
        """The draws among units first .. last - 1."""
        return slice(max(first - self.warmup, 0), max(last - self.warmup, 0))

    def _read(self, name: str, c: int, rows: slice) -> Any:
        arrays = getattr(self, name)
        return type(arrays)(*(array[c, rows] for array in arrays)) if isinstance(arrays, tuple) else arrays[c, rows]

    def _write(self, name: str, c: int, rows: slice, values: Any) -> None:
        arrays = getattr(self, name)
        for array, value in zip(arrays, values, strict=True) if isinstance(arrays, tuple) else [(arrays, values)]:
            array[c, rows] = value


def _slice(one: Resumable, item: Slice) -> tuple[int, dict[str, Any], dict[str, Any]]:
    """Units done, what the chain carries and what it has written: the chain of `item` in the run `one`."""
    run, last = copy.copy(one), item.first + item.units
    for name, value in item.chain.items():
        setattr(run, name, value)
    run._make_room()
    run._pace = ticket.Pace()
    units = [item.first]
    run._advance_to(last, 0, units)
    carried = {name: getattr(run, name) for name in run._carries}
    return last, carried, {name: run._read(name, 0, run._draws(item.first, last)) for name in run._writes}
