"""Slices of long work at a Dask cluster: what `engine.slices` sends, there.

What is the same for many slices goes once, as a task of its own: the scheduler can have it made again where the worker
that held it is gone, which it cannot do with data that were scattered. A slice waits at the scheduler by the rank of its
job and what its reader has had of late, `engine.turns`; a job has at most a few under way. What a job has no use for any
more is cancelled, and a slice that has begun sees that in its own worker: no events and no variables are needed.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import math
import pickle
import queue
import threading
import time
import uuid
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from engine import slices, ticket, turns
from engine.slices import StaysHere

LOOK = 0.1  # s between looks whether it is still wanted
PATIENCE = 30.0  # s without a word of slices that a worker has sent to others
HELD = 256_000_000  # bytes of what slices share that are kept there
NAME = "posterior-lab-"
LOST = ("cancelled", "lost")  # states of a future that the cluster has failed


class Reach:
    """What slices need of a cluster: its client, whether it is there, how many threads it has, what it holds.

    counts : "jobs" that were done there as a whole, and "slices"; their "seconds" there; "bytes sent" and "bytes received"
        of slices
    """

    def __init__(self, client: Any, threads: int):
        self.client, self.threads = client, threads
        self.counts: dict[str, float] = dict.fromkeys(("jobs", "slices", "seconds", "bytes sent", "bytes received"), 0.0)
        self._held: dict[str, tuple[Any, int]] = {}  # least recently used first, weighed: the memory is the cluster's
        self._lock = threading.Lock()

    def is_up(self) -> bool:
        """Whether it is there."""
        return True

    def count(self, more: dict[str, float]) -> None:
        """Add to `counts`."""
        with self._lock:
            for name, number in more.items():
                self.counts[name] += number

    def hold(self, shared: slices.Shared) -> Any:
        """The future of what is shared, sent if it is not there. Raises StaysHere if it does not pickle."""
        with self._lock:
            future, size = self._held.pop(shared.digest, (None, 0))
            if future is None or future.client is not self.client or future.status in (*LOST, "error"):
                data = shared.pickled()
                size = len(data)
                future = self.client.submit(pickle.loads, data, key=f"{NAME}{shared.digest}", pure=False)
                self.counts["bytes sent"] += size
            self._held[shared.digest] = future, size
            while len(self._held) > 1 and sum(each for _, each in self._held.values()) > HELD:
                del self._held[next(iter(self._held))]
            return future


class There:
    """A cluster as the place of one job's slices; what a first picture waits for stays here. See `engine.slices.Place`."""

    def __init__(self, reach: Reach, claim: turns.Claim | None = None):
        self._reach, self._claim = reach, claim

    def width(self) -> int:
        """See `Place`."""
        first = self._claim is not None and self._claim.rank == turns.FIRST
        return self._reach.threads if self._reach.is_up() and not first else 0

    @contextmanager
    def working(self, function: Callable[[Any, Any], Any], shared: slices.Shared) -> Iterator[Sending]:
        """See `Place`."""
        work = Sending(self._reach, self._claim, function, shared)
        try:
            yield work
        finally:
            work.give_up()


class Within:
    """The cluster as the place of slices of work that is done by one of its own workers, which takes other work from then
    on. That may wait for something that this work has, with the thread that a slice would need: so it is not waited for
    longer than `PATIENCE`.
    """

    def __init__(self, priority: float):
        self._priority = priority
        self._threads = 0
        self._reach: Reach | None = None  # once it has seceded

    def width(self) -> int:
        """See `Place`."""
        if not self._threads:
            with contextlib.suppress(ValueError):  # a thread that helps is none of the worker's
                self._threads = sum(_distributed().get_client().nthreads().values())
        return self._threads if self._threads > 1 else 0

    @contextmanager
    def working(self, function: Callable[[Any, Any], Any], shared: slices.Shared) -> Iterator[Sending]:
        """See `Place`."""
        if self._reach is None:
            _distributed().secede()
            self._reach = Reach(_distributed().get_client(), self._threads)
        work = Sending(self._reach, None, function, shared, self._priority, PATIENCE)
        try:
            yield work
        finally:
            work.give_up()


class Sending:
    """Slices of one function that are under way. See `engine.slices.Work`."""

    def __init__(
        self,
        reach: Reach,
        claim: turns.Claim | None,
        function: Callable[[Any, Any], Any],
        shared: slices.Shared,
        priority: float = 0.0,
        patience: float = math.inf,
    ):
        self._reach, self._claim, self._function = reach, claim, function
        self._priority, self._patience = priority, patience
        with _failing():
            self._shared = reach.hold(shared)
        self._futures: dict[Hashable, Any] = {}
        self._ended: queue.SimpleQueue[Hashable] = queue.SimpleQueue()

    def send(self, name: Hashable, item: Any) -> None:
        """See `Work`."""
        data = slices.pickled((self._function, item))
        wanted = priority(self._claim) if self._claim else self._priority
        key = f"{NAME}slice-{uuid.uuid4().hex}"
        with _failing():
            future = self._reach.client.submit(do, data, self._shared, key=key, priority=wanted, pure=False)
        self._futures[name] = future
        self._reach.count({"bytes sent": len(data)})
        future.add_done_callback(lambda _: self._ended.put(name))

    def __iter__(self) -> Iterator[tuple[Any, Any, float]]:
        heard = time.monotonic()
        while self._futures:
            try:
                name = self._ended.get(timeout=LOOK)
            except queue.Empty:
                ticket.look()
                if not self._reach.is_up() or time.monotonic() - heard > self._patience:
                    raise StaysHere("the cluster is out of reach") from None
                continue
            ticket.look()
            heard = time.monotonic()
            future = self._futures.pop(name)
            if has_failed(future):
                raise StaysHere("the cluster has lost it")
            with _failing():
                data, seconds = future.result()
            self._reach.count({"bytes received": len(data), "slices": 1, "seconds": seconds})
            if self._claim is not None:
                self._claim.turns.book(self._claim.reader, seconds)
            yield name, pickle.loads(data), seconds

    def give_up(self) -> None:
        """What is under way is not wanted any more: a future that is released is cancelled."""
        for future in self._futures.values():
            future.release()
        self._futures.clear()


class Wanted:
    """The ticket of a slice: whether its worker still has a use for it."""

    def __init__(self) -> None:
        state = importlib.import_module("distributed.worker").thread_state
        self._tasks, self._key = _distributed().get_worker().state.tasks, state.key

    def is_set(self) -> bool:
        """As of a job here."""
        task = self._tasks.get(self._key)
        return task is None or task.state in ("cancelled", "released", "forgotten")

    def report(self, done: int, total: int) -> None:
        """Nobody asks a slice how far it is."""


def do(data: bytes, same: Any) -> tuple[bytes, float]:
    """A slice: what it came to, pickled, and the seconds it took. Runs at a worker."""
    begin = time.perf_counter()
    function, item = pickle.loads(data)
    with ticket.holding(Wanted()), slices.at(None), turn():
        result = function(same, item)
    return pickle.dumps(result, protocol=pickle.HIGHEST_PROTOCOL), time.perf_counter() - begin


def turn() -> AbstractContextManager[None]:
    """Compute inside on as many cores as the worker has threads, and not on all of its machine."""
    return turns.turn(turns.Claim(_cores()))


@functools.cache
def _cores() -> turns.Turns:
    return turns.Turns(_distributed().get_worker().state.nthreads)


def priority(claim: turns.Claim) -> float:
    """Of a job at the scheduler, where more comes first: by rank, then whoever has had least of late."""
    had = claim.turns.had(claim.reader)
    return -claim.rank - had / (1.0 + had)


def has_failed(future: Any) -> bool:
    """Whether it ended since the cluster failed it, not by itself."""
    return future.status in LOST or (future.status == "error" and type(future.exception()).__name__ == "KilledWorker")


@contextmanager
def _failing() -> Iterator[None]:
    """What fails on the way stays here."""
    try:
        yield
    except (OSError, TimeoutError, RuntimeError, CancelledError) as problem:
        raise StaysHere(str(problem)) from None


def _distributed() -> Any:
    return importlib.import_module("distributed")
