"""Slices of long work that another process may do: what a slice begins with goes there pickled, what it comes to comes
back.

Whoever has such processes says so, `with at(place): ...`; long work deep inside finds them here. A slice is a function
of a module, what is the same for all slices, and what this one begins with; what it returns depends on nothing else. So
one that was lost with its process is done again by another, from the same beginning, and the bytes are the same wherever
it was done. What cannot go, and what does not come back, is done here.
"""

from __future__ import annotations

import contextlib
import hashlib
import pickle
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

from engine import ticket, turns
from engine.kept import lazy

SLICE = 1.0  # s that a slice should take: so much is lost with a process
WORTH = 0.05  # s of work that is worth sending: one costs 3 ms of CPU here and at the scheduler, and is 14 ms under way

R = TypeVar("R")


class StaysHere(RuntimeError):
    """This cannot be done elsewhere, or not any more."""


class Shared:
    """What is the same for many slices: pickled once, known by its bytes. It must not change."""

    def __init__(self, value: Any):
        self.value = value

    def pickled(self) -> bytes:
        """Raises StaysHere if it does not pickle."""
        return pickled(self.value)

    @lazy
    def digest(self) -> str:
        """Of its bytes."""
        return hashlib.blake2b(self.pickled(), digest_size=16).hexdigest()

    def __getstate__(self) -> dict[str, Any]:
        return {"value": self.value}


class Work(Protocol):
    """Slices of one function at a place."""

    def send(self, name: Hashable, item: Any) -> None:
        """Have one done."""

    def __iter__(self) -> Iterator[tuple[Any, Any, float]]:
        """What was sent as it comes back: its name, what it came to, and the seconds it took there; more may be sent
        meanwhile. Raises StaysHere where nothing comes back any more, InterruptedError where nobody wants it, and what
        a slice has raised.
        """


class Place(Protocol):
    """Other processes that do slices."""

    def width(self) -> int:
        """How many at the same time; 0 where none can go there now."""

    def working(self, function: Callable[[Any, Any], Any], shared: Shared) -> AbstractContextManager[Work]:
        """Slices `function(shared.value, item)`; what is still under way at the end is given up. Raises StaysHere."""


_place: ContextVar[Place | None] = ContextVar("place", default=None)


@contextmanager
def at(where: Place | None) -> Iterator[None]:
    """Where slices of what is computed inside may go."""
    token = _place.set(where)
    try:
        yield
    finally:
        _place.reset(token)


def place() -> Place | None:
    """Where slices may go now."""
    where = _place.get()
    return where if where is not None and where.width() else None


def width() -> int:
    """How many slices are done at the same time: there, or here where none may go."""
    where = place()
    return turns.machine.cores if where is None else where.width()


def each(function: Callable[[Any, Any], R], shared: Any, items: Iterable[Any]) -> list[R]:
    """`function(shared, item)` for each item, in their order: elsewhere, several short ones in a slice, else as
    `engine.ticket.each`. What is `Shared` already need not be pickled again.
    """
    todo, found = list(items), dict[int, R]()
    same = shared if isinstance(shared, Shared) else Shared(shared)
    where = place()
    if where is not None:
        with contextlib.suppress(StaysHere):
            _each_there(where, function, same, todo, found)
    rest = [i for i in range(len(todo)) if i not in found]
    found.update(zip(rest, ticket.each(lambda i: function(same.value, todo[i]), rest), strict=True))
    return [found[i] for i in range(len(todo))]


def _each_there(where: Place, function: Callable[[Any, Any], R], same: Shared, todo: list[Any], found: dict[int, R]) -> None:
    pace, first, at_once = ticket.Pace(SLICE), 0, max(where.width(), 1)
    with turns.resting(), where.working(_several, same) as work:

        def send() -> None:
            nonlocal first
            fair = -(-(len(todo) - first) // at_once)  # nobody is to wait for the last one
            last = min(first + max(1, min(pace.size, fair)), len(todo))
            if first < last:
                work.send((first, last), (function, todo[first:last]))
            first = last

        for _ in range(2 * at_once):  # the next one waits there
            send()
        for (begin, end), results, seconds in work:
            found.update(zip(range(begin, end), results, strict=True))
            pace.took(end - begin, seconds)
            send()


def _several(same: Any, item: tuple[Callable[[Any, Any], R], list[Any]]) -> list[R]:
    function, items = item
    return [function(same, each) for each in ticket.looking(items)]


class Carried:
    """Work with one state that goes on where it stopped, `advance(n)`; elsewhere, too, with the same bytes.

    _constant : names of the attributes that do not change; all others are its state
    completed : units done
    seconds : spent
    """

    _constant: tuple[str, ...] = ()
    completed: int
    seconds: float
    _same: tuple[list[dict[str, Any]], Shared] | None = None

    def advance(self, n: int) -> int:
        """Go on by n units. Returns by how many it went on."""
        raise NotImplementedError

    def _advance_elsewhere(self, n: int, stop: Callable[[], bool] | None = None) -> int:
        """Go on by at most n units elsewhere, as far as that is possible and worth it. Returns by how many."""
        return together([self], [n], stop)[0]

    def _state(self) -> dict[str, Any]:
        left_out = {*self._constant, "_same", "seconds"}
        return {name: value for name, value in self.__dict__.items() if name not in left_out}


def together(runs: Sequence[Carried], units: Sequence[int], stop: Callable[[], bool] | None = None) -> list[int]:
    """Go on with several runs side by side elsewhere, each by at most so many units, as far as that is possible and
    worth it. Returns by how many each.

    stop : asked when a slice comes back; once it answers true, the rest is left
    """
    where, went = place(), [0] * len(runs)
    if where is None or not any(units):
        return went
    if not any(run.completed for run in runs):  # a first unit tells what the others are worth
        first = next(i for i, n in enumerate(units) if n)
        with at(None):
            went[first] = runs[first].advance(1)
    each = sum(run.seconds for run in runs) / max(sum(run.completed for run in runs), 1)
    if each * (sum(units) - sum(went)) < WORTH:
        return went
    pace, waiting = ticket.Pace(SLICE), iter(range(len(runs)))
    pace.size = max(1, int(SLICE / max(each, 1e-9)))
    with contextlib.suppress(StaysHere), turns.resting(), where.working(_carried, _same(runs)) as work:

        def send(i: int | None) -> None:
            while i is not None and went[i] >= units[i]:
                i = next(waiting, None)
            if i is not None:
                work.send(i, (i, runs[i]._state(), min(pace.size, units[i] - went[i])))

        for _ in range(2 * max(where.width(), 1)):  # the next one waits there
            send(next(waiting, None))
        for i, (state, done), seconds in work:
            runs[i].__dict__.update(state)
            runs[i].seconds += seconds
            went[i] += done
            pace.took(done, seconds)
            if stop is not None and stop():
                break
            send(i if done else next(waiting, None))  # one that has ended by itself goes no further
    return went


def _same(runs: Sequence[Carried]) -> Shared:
    """What does not change of the runs; the first one keeps it as long as that is so."""
    constants = [{name: run.__dict__[name] for name in run._constant} for run in runs]
    if runs[0]._same is None or _identities(runs[0]._same[0]) != _identities(constants):
        # of targets what kernels need is enough
        bare = [{name: value.bare() if hasattr(value, "bare") else value for name, value in each.items()} for each in constants]
        runs[0]._same = constants, Shared([(type(run), each) for run, each in zip(runs, bare, strict=True)])
    return runs[0]._same[1]


def _identities(constants: list[dict[str, Any]]) -> list[dict[str, int]]:
    return [{name: id(value) for name, value in each.items()} for each in constants]


def _carried(kinds: list[tuple[type[Carried], dict[str, Any]]], item: tuple[int, dict[str, Any], int]) -> tuple[dict[str, Any], int]:
    i, state, n = item
    kind, constants = kinds[i]
    run = kind.__new__(kind)
    run.__dict__.update(constants | state | {"seconds": 0.0})
    went = run.advance(n)
    return run._state(), went


def pickled(value: Any) -> bytes:
    """Raises StaysHere if it does not pickle: what a reader has written, for example, is of no module."""
    try:
        return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError) as problem:
        raise StaysHere(str(problem)) from None
