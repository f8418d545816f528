"""Turns at the cores of this machine, shared by everything that computes in this process.

Work holds a turn while it computes. It looks up at short intervals, `ticket.look()`, and hands its turn over once a
slice is used up and somebody has a better claim: a better rank, or the same rank and a reader who has had less of late.
Work of a better rank need not wait for that look: it begins at once beside what runs below it, which then gives way.

A thread that nobody gave a claim, such as that of a program which uses the engine, computes as it likes.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

FIRST, PAGE, GIVEN, GROWING, AFTER = range(5)  # ranks: a first picture, its page, what a reader gave, the rest of a run, all else

SLICE = 0.05  # s of a turn that somebody else waits for
READERS = 1000  # whose account is kept
MEMORY = 10.0  # s after which a third of what a reader has had still counts
PATIENCE = 2.0  # s after which a claim of any rank has a slice, one such claim at a time: nothing starves. One more
# where no turn began for so long: those who have them all may wait for something that one without a turn holds
HUSH = 0.15  # s for which what can wait makes room for a picture that is still to come
QUICK = 1.0  # s: who asks for the next picture sooner is looking for one. Checks and charts of those in between would be
# thrown away, and hold up the next until they are: they are made once nothing has been asked for so long
MEANWHILE = 0.1  # s between two calls of what a waiting thread does meanwhile


class Claim:
    """One thread's claim to one of `turns`. `reader` is whoever it computes for."""

    __slots__ = ("arrived", "began", "granted", "longest", "rank", "reader", "spent", "turns", "withdrawn")

    def __init__(self, turns: Turns, rank: int = AFTER, reader: Hashable = None):
        self.turns, self.rank, self.reader = turns, rank, reader
        self.granted = threading.Event()
        self.withdrawn = False
        self.arrived = 0.0
        self.began = 0.0  # wall clock, of this slice
        self.spent = 0.0  # the thread's CPU clock then
        self.longest = 0.0  # s of CPU between two looks


class Turns:
    """The turns of `cores` cores."""

    def __init__(self, cores: int | None = None):
        self.cores = cores or os.cpu_count() or 1
        self._lock = threading.Lock()
        self._running: set[Claim] = set()
        self._waiting: list[Claim] = []
        self._started = time.monotonic()  # when a turn was granted last
        self._hushed = 0.0  # until then a picture is awaited
        self._asker = ""  # whose: the names of its readers begin so
        self._asked: dict[str, tuple[float, bool]] = {}  # when each asker of late has asked, and whether soon after another
        self._had: dict[Hashable, tuple[float, float]] = {}  # CPU seconds, faded, and when that was written

    def take(self, claim: Claim, meanwhile: Callable[[], object] | None = None) -> None:
        """Wait for a turn. Raises InterruptedError if the claim is withdrawn.

        meanwhile : called ten times a second while it waits; what it raises ends the wait
        """
        with self._lock:
            claim.arrived = time.monotonic()
            if not claim.withdrawn:
                claim.granted.clear()
                self._waiting.append(claim)
                self._grant()
        try:
            while not claim.granted.wait(self._until_a_look(meanwhile is not None)):
                if meanwhile is not None:
                    meanwhile()
                with self._lock:
                    self._grant()
            if claim.withdrawn:
                raise InterruptedError
        except BaseException:
            self.withdraw(claim)
            with self._lock:
                self._running.discard(claim)  # it may have been granted just before
                self._grant()
            raise
        self._begin(claim)

    def withdraw(self, claim: Claim) -> None:
        """Let the thread of a claim wait no longer: it is not to go on."""
        with self._lock:
            claim.withdrawn = True
            if claim in self._waiting:
                self._waiting.remove(claim)
            claim.granted.set()

    def take_spare(self, claim: Claim) -> bool:
        """Take a turn if one is free and nobody of that rank or a better one waits for it."""
        with self._lock:
            if not self._spare(claim.rank) or self._too_soon(claim):
                return False
            self._running.add(claim)
        self._begin(claim)
        return True

    def has_spare(self, rank: int) -> bool:
        """Whether a turn for work of this rank is free, and nobody of that rank or a better one waits for it."""
        with self._lock:
            return self._spare(rank)

    def hush(self, asker: str = "") -> None:
        """A picture is asked for: what can wait of the readers whose names begin with `asker` makes room already, until it
        is made, for `HUSH` seconds at most. Where one picture is asked for after another, what comes after all else waits
        until that is over.
        """
        now = time.monotonic()
        with self._lock:
            of_late = {who: asked for who, asked in self._asked.items() if now - asked[0] < QUICK}
            self._asked = of_late | {asker: (now, asker in of_late)}
            self._asker, self._hushed = asker, now + HUSH

    @property
    def awaited(self) -> bool:
        """Whether somebody waits for a first picture, asked for or being made."""
        with self._lock:
            return time.monotonic() < self._hushed or any(c.rank == FIRST for c in (*self._running, *self._waiting))

    def give(self, claim: Claim) -> None:
        """Hand a turn back."""
        self._charge(claim)
        with self._lock:
            if claim.rank == FIRST:
                self._hushed = 0.0
            self._running.discard(claim)
            self._grant()

    def look(self, claim: Claim) -> None:
        """Hand the turn over if somebody has a better claim to it, and wait for the next. Raises as `take`."""
        now = time.monotonic()
        asked = claim.rank >= GROWING and (now < self._hushed or self._too_soon(claim))
        if len(self._running) <= self.cores and now - claim.began < SLICE and not asked:
            return
        self._charge(claim)
        with self._lock:
            over = self._crowd(claim.rank) > self._room(claim.rank) or self._too_soon(claim)
            if not over and not any(self._better(other, claim) for other in self._waiting):
                claim.began = time.monotonic()
                return
            self._running.discard(claim)
        self.take(claim)

    def move(self, claim: Claim, rank: int) -> None:
        """Give a claim another rank."""
        with self._lock:
            if claim.rank == FIRST < rank:  # the picture is there
                self._hushed = 0.0
            claim.rank = rank
            self._grant()

    def had(self, reader: Hashable) -> float:
        """CPU seconds that were spent for `reader` of late."""
        seconds, then = self._had.get(reader, (0.0, 0.0))
        return seconds * math.exp((then - time.monotonic()) / MEMORY)

    def _begin(self, claim: Claim) -> None:
        claim.began, claim.spent = time.monotonic(), time.thread_time()

    def _charge(self, claim: Claim) -> None:
        """Book what was spent since the last time; called by the claim's own thread."""
        now = time.thread_time()
        used, claim.spent = now - claim.spent, now
        claim.longest = max(claim.longest, used)
        self.book(claim.reader, used)

    def book(self, reader: Hashable, seconds: float) -> None:
        """So much was spent for `reader`, here or elsewhere."""
        with self._lock:
            self._had[reader] = self.had(reader) + seconds, time.monotonic()
            if len(self._had) > READERS:
                self._had = {reader: kept for reader, kept in self._had.items() if self.had(reader) > SLICE}

    def _spare(self, rank: int) -> bool:
        return all(claim.rank > rank for claim in self._waiting) and self._crowd(rank) < self._room(rank)

    def _crowd(self, rank: int) -> int:
        """How many run with this rank or a better one."""
        return sum(other.rank <= rank for other in self._running)

    def _room(self, rank: int) -> int:
        """Turns for work of this rank or a better one. What comes after all else leaves a core to the scripts of the pages,
        which need no turn up to their pictures, where more than one reader is there. A single reader's makes room for a
        first picture altogether, and so does the rest of the run that was shown before: they would take from what only one
        thread of Python can have, and from the browser, which is on the same machine perhaps.
        """
        if rank < GROWING:
            return self.cores
        readers = {claim.reader for claims in (self._running, self._waiting) for claim in claims}
        if len(readers) > 1:
            return self.cores if rank == GROWING else max(1, self.cores - 1)
        awaited = time.monotonic() < self._hushed and all(_asks(self._asker, reader) for reader in readers)
        return 0 if awaited or any(claim.rank == FIRST for claim in self._running) else self.cores

    def _too_soon(self, claim: Claim) -> bool:
        """Whether it comes after all else, and its reader is looking for a picture."""
        return claim.rank == AFTER and any(_asks(asker, claim.reader) for asker in self._looking())

    def _looking(self) -> list[str]:
        """Who asks for one picture after another."""
        now = time.monotonic()
        return [asker for asker, (then, again) in self._asked.items() if again and now - then < QUICK]

    def _until_a_look(self, meanwhile: bool) -> float:
        """Seconds until one who waits looks again whether there is a turn."""
        hushed = self._hushed - time.monotonic()
        return hushed if 0.0 < hushed < MEANWHILE else MEANWHILE if meanwhile or hushed > 0.0 or self._looking() else PATIENCE

    def _better(self, other: Claim, claim: Claim) -> bool:
        """Whether `other`, which waits, should have the turn of `claim`. Only within a rank: one of a better rank waits
        for cores that are full of its like, which this turn is not counted among.
        """
        return other.rank == claim.rank and self.had(claim.reader) - self.had(other.reader) > SLICE

    def _grant(self) -> None:
        for rank in sorted({claim.rank for claim in self._waiting}):
            while self._crowd(rank) < self._room(rank):
                equals = [claim for claim in self._waiting if claim.rank == rank and not self._too_soon(claim)]
                if not equals:
                    break
                self._start(min(equals, key=lambda c: (self.had(c.reader), c.arrived)))
        if self._waiting:
            oldest, now = min(self._waiting, key=lambda c: c.arrived), time.monotonic()
            stuck = now - self._started >= PATIENCE
            if now - oldest.arrived >= PATIENCE and (stuck or len(self._running) <= self.cores):
                self._start(oldest)

    def _start(self, claim: Claim) -> None:
        self._waiting.remove(claim)
        self._running.add(claim)
        self._started = time.monotonic()
        claim.granted.set()


def _asks(asker: str, reader: Hashable) -> bool:
    return str(reader).startswith(asker)


machine = Turns()
_held: ContextVar[Claim | None] = ContextVar("claim", default=None)


def held() -> Claim | None:
    """The claim of this thread."""
    return _held.get()


@contextmanager
def turn(claim: Claim, meanwhile: Callable[[], object] | None = None) -> Iterator[None]:
    """Compute inside by `claim`, after waiting for a turn; meanwhile : see `Turns.take`."""
    claim.turns.take(claim, meanwhile)
    yield from _holding(claim)


@contextmanager
def spare_turn(claim: Claim) -> Iterator[bool]:
    """Compute inside by `claim` if there is a turn to spare now; whether there is."""
    if claim.turns.take_spare(claim):
        for _ in _holding(claim):
            yield True
    else:
        yield False


def _holding(claim: Claim) -> Iterator[None]:
    token = _held.set(claim)
    try:
        yield
    finally:
        _held.reset(token)
        claim.turns.give(claim)


@contextmanager
def resting() -> Iterator[None]:
    """Wait inside for something that others must do: they have the turn meanwhile, and a look inside takes none."""
    claim = _held.get()
    if claim is None:
        yield
        return
    claim.turns.give(claim)
    token = _held.set(None)
    try:
        yield
    finally:
        _held.reset(token)
        claim.turns.take(claim)


def look() -> None:
    """Give way if somebody has a better claim."""
    claim = _held.get()
    if claim is not None:
        claim.turns.look(claim)
