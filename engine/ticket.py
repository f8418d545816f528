"""The ticket of the job that computes: whether its result is still wanted, how far it is, and whose turn it is.

Whoever runs jobs gives each its ticket, `with holding(ticket): ...`; long work deep inside looks at it here, so that it
need not be handed through every signature. Work that nobody gave a ticket is never stopped.

Long work goes in pieces of about a slice, `for n in pieces(total)`, looks between them, shares itself over the cores
that nobody else needs, `each(function, items)`, and guards what several jobs go on with by a `Lock`, whose holder may
be made to give way.
"""

from __future__ import annotations

import contextlib
import contextvars
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, Protocol, TypeVar

from engine import turns

PIECE, BEHIND = 0.03, 0.005  # s that a piece should take; of what can wait, which then soon makes room for a picture
GROWTH = 8  # the next piece is at most so many times as large
WORTH, SMALL = 0.001, 2  # s before others help; items that are too small for it if more of them are done by then: two threads
# would wait for Python more often than they compute
_LOOK = 0.05  # s between looks of one who waits for a lock

T = TypeVar("T")
R = TypeVar("R")


class Ticket(Protocol):
    """What a job offers: see `app.kit.jobs.Job`."""

    def is_set(self) -> bool:
        """True once the result is not wanted any more."""

    def report(self, done: int, total: int) -> None:
        """`done` of `total` units are finished."""


NEVER: Any = threading.Event()  # the ticket of work that nobody stops

_held: ContextVar[Ticket | None] = ContextVar("ticket", default=None)
_helpers = ThreadPoolExecutor(turns.machine.cores, thread_name_prefix="helper")


@contextmanager
def holding(ticket: Ticket | None) -> Iterator[None]:
    """The ticket of what is computed inside; without one it stays that of what is computed here."""
    if ticket is None:
        yield
        return
    token = _held.set(ticket)
    try:
        yield
    finally:
        _held.reset(token)


def held() -> Ticket:
    """The ticket of what is computed here, for what has to be handed one."""
    ticket = _held.get()
    return NEVER if ticket is None else ticket


def look() -> None:
    """Give way to whom it is due. Raises InterruptedError if the result is not wanted any more."""
    ticket = _held.get()
    if ticket is not None and ticket.is_set():
        raise InterruptedError
    turns.look()


def give_way() -> None:
    """`look` of short steps in many kinds of work: a first picture, or what its page needs, goes on without."""
    claim = turns.held()
    if claim is None or claim.rank >= turns.GROWING:
        look()


def stopped() -> bool:
    """`look` of work that ends by itself: true once the result is not wanted any more."""
    try:
        look()
    except InterruptedError:
        return True
    return False


def report(done: int, total: int) -> None:
    """Look, and say that `done` of `total` units are finished."""
    look()
    ticket = _held.get()
    if ticket is not None and hasattr(ticket, "report"):  # on a cluster nobody hears it
        ticket.report(done, total)


class Pace:
    """How many units of some work make a piece of `seconds`, by what the last one took."""

    def __init__(self, seconds: float | None = None) -> None:
        self.size, self._seconds = 1, seconds

    def took(self, units: int, seconds: float) -> None:
        """`units` took `seconds`."""
        fitting = int(units * (self._seconds or _piece()) / max(seconds, 1e-9))
        if fitting < self.size or units == self.size:  # the rest of a job, smaller than a piece, tells of no larger one
            self.size = max(1, min(fitting, GROWTH * units))


def _piece() -> float:
    """Seconds of a piece: short ones once the picture is there that was begun in longer ones."""
    claim = turns.held()
    return BEHIND if claim is not None and claim.rank >= turns.GROWING else PIECE


def pieces(total: int, pace: Pace | None = None, *, whole: bool = False) -> Iterator[int]:
    """Sizes that sum to `total`, for calls that take about `PIECE` seconds each; a look before each.

    What is computed must not depend on the sizes. `pace` is what is known of the work from before. `whole` work gives
    way and is not stopped: half of it would be wrong. Raises InterruptedError as `look`.
    """
    pace, done = pace or Pace(), 0
    while done < total:
        with contextlib.suppress(InterruptedError) if whole else contextlib.nullcontext():
            look()
        size = min(pace.size, total - done)
        begin = time.perf_counter()
        yield size
        pace.took(size, time.perf_counter() - begin)
        done += size


def looking(items: Iterable[T]) -> Iterator[T]:
    """The items, with a look before each."""
    for item in items:
        look()
        yield item


def each(function: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """`function` of each item, in their order: worked out by this thread, and by others on cores that nobody needs.

    The first exception is raised once what is under way has ended.
    """
    return _Each(function, items).results()


class _Each(Generic[T, R]):
    """The work of `each`. In the end nothing of it refers to itself: what the items hold goes with the last who has it,
    and does not wait for the collector."""

    def __init__(self, function: Callable[[T], R], items: Iterable[T]):
        self._function = function
        self._todo = deque(enumerate(items))
        self._found: dict[int, R] = {}
        self._failed: list[BaseException] = []
        self._helping: list[Future[None]] = []
        self._all_taken = threading.Event()
        self._small = False
        self._mine = turns.held()
        self._cores = self._mine.turns if self._mine else turns.machine

    def results(self) -> list[R]:
        """In the order of the items."""
        self._work()
        under_way = [future for future in self._helping if not future.cancel()]
        waits = not all(future.done() for future in under_way)
        with turns.resting() if waits else contextlib.nullcontext():  # who rests queues for its turn anew
            for future in under_way:
                future.result()
        if self._failed:
            error = self._failed[0]
            self._failed.clear()
            try:
                raise error
            finally:
                del error  # its traceback holds this frame
        return [self._found[i] for i in range(len(self._found))]

    def _work(self, spare: turns.Claim | None = None) -> None:
        while not self._failed:
            try:
                i, item = self._todo.popleft()
            except IndexError:
                self._all_taken.set()
                return
            if spare is None and self._todo and not self._small:
                self._call_for_help()
            try:
                self._found[i] = self._function(item)
            except BaseException as error:
                self._failed.append(error)

    def _call_for_help(self) -> None:
        busy = sum(not future.done() for future in self._helping)
        rank = self._mine.rank if self._mine else turns.AFTER
        if busy < min(len(self._todo), self._cores.cores - 1) and self._cores.has_spare(rank):
            claim = turns.Claim(self._cores, rank, self._mine.reader) if self._mine else turns.Claim(self._cores)
            self._helping.append(_helpers.submit(contextvars.copy_context().run, self._help_out, claim))

    def _help_out(self, claim: turns.Claim) -> None:
        if self._all_taken.wait(WORTH):
            return
        self._small = len(self._found) > SMALL
        if self._small:
            return
        with turns.spare_turn(claim) as granted:
            if granted:
                self._work(claim)


class Lock:
    """A lock for work that several jobs go on with. Who waits for it hands over its turn and lends its rank to the
    holder. Raises InterruptedError on entry if the waiter's result is not wanted any more. Not reentrant.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holder: turns.Claim | None = None
        self._rank = turns.AFTER  # of the holder, before others lent it theirs

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            self._wait()
        self._holder = turns.held()
        if self._holder is not None:
            self._rank = self._holder.rank

    def __exit__(self, *_: Any) -> None:
        holder, self._holder = self._holder, None
        if holder is not None and holder.rank != self._rank:
            holder.turns.move(holder, self._rank)
        self._lock.release()

    def _wait(self) -> None:
        mine, claim = False, turns.held()
        try:
            with turns.resting():
                while not (mine := self._lock.acquire(timeout=_LOOK)):
                    self._lend(claim)
                    ticket = _held.get()
                    if ticket is not None and ticket.is_set():
                        raise InterruptedError
        except InterruptedError:
            if mine:  # stopped while it waited, with the lock, for its turn
                self._lock.release()
            raise

    def _lend(self, claim: turns.Claim | None) -> None:
        holder = self._holder
        if claim is not None and holder is not None and claim.rank < holder.rank:
            holder.turns.move(holder, claim.rank)
