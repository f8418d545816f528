"""A Dask cluster for what takes long, named by `POSTERIOR_LAB_DASK`: `posterior-lab cluster check [tcp://host:port]`
says what is wrong with one.

Whatever happens to it, no work is lost: `is_up` is false while the scheduler or its last worker has been out of reach
for `GONE` seconds; the pool then does in this process what it had sent there. Once the cluster is back, new work goes
there again. Progress and partial results come back through one variable a job, of which the scheduler keeps the newest
value alone; its events would be kept, too, a hundred thousand deep.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import logging
import pickle
import platform
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from app.kit.elsewhere import Reach, Within, has_failed, turn
from engine import settings, slices
from engine.ticket import holding

log = logging.getLogger(__name__)

GONE = 5.0  # s out of reach after which work goes on here
LOOK, ANSWER = 1.0, 3.0  # s between looks at the cluster, and that it has to answer
ASK = 0.25  # s between questions of a job there whether it is still wanted, and between its reports
CLOCKS = 2.0  # s by which clocks may differ
INSTALL = 'pip install ".[cluster]", here and on the workers'
NAME = "posterior-lab-"
BEGUN = 10.0  # that slices of work which has begun have more, of priority
ROOT, ROOMS = Path(__file__).resolve().parents[2], ("app", "engine", "lessons", "datasets")


class Unreachable(RuntimeError):
    """There is no such cluster, or nothing can be done there; the message says why."""


class About(NamedTuple):
    """What must be the same on all machines for results to be the same, and what is good to know of a worker."""

    python: str
    numpy: str
    numba: str
    posterior_lab: str  # a hash of our sources
    cpu: str
    filled: bool
    time: float


def about() -> About:
    """Of this process."""
    numpy, numba, cache = (importlib.import_module(name) for name in ("numpy", "numba", "engine._cache"))
    ours = _fingerprint()
    return About(platform.python_version(), numpy.__version__, numba.__version__, ours, cache.cpu(), cache.is_full(), time.time())


@functools.cache
def _fingerprint() -> str:
    digest = hashlib.sha256()
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def check(address: str) -> list[str]:
    """What is wrong with the cluster at `address`, a sentence each; empty where nothing is."""
    try:
        client = _client(address)
    except Unreachable as problem:
        return [str(problem)]
    with contextlib.closing(client):
        workers = client.nthreads()
        if not workers:
            return [f"The scheduler at {address} has no workers."]
        here, found = about(), []
        for worker in workers:
            try:
                # First by a function of Python's own: one of ours ends a worker that does not have it.
                client.submit(eval, f"__import__({__name__!r}) and None", workers=[worker], pure=False).result(timeout=30)
                there = client.submit(about, workers=[worker], pure=False).result(timeout=30)
            except ModuleNotFoundError as problem:
                found.append(f"{worker}: Posterior Lab is not installed there ({problem}): {INSTALL}.")
                continue
            except Exception as problem:
                found.append(f"{worker} does not answer: {problem!r}.")
                continue
            pairs = zip(About._fields[:4], here[:4], there[:4], strict=True)
            found += [f"{worker}: {what} is {theirs}, here {ours}." for what, ours, theirs in pairs if ours != theirs]
            if abs(there.time - time.time()) > CLOCKS:
                found.append(f"{worker}: its clock is {there.time - time.time():+.0f} s off.")
        return found


def remarks(address: str) -> list[str]:
    """What is good to know of a cluster that is well: its workers, and which of them will have to compile first."""
    with contextlib.closing(_client(address)) as client:
        threads, said = client.nthreads(), client.run(about)
    slow = [worker for worker, there in said.items() if not there.filled]
    other = [worker for worker, there in said.items() if there.cpu != about().cpu]
    counted = (len(threads), "worker"), (sum(threads.values()), "thread")
    lines = [", ".join(f"{count} {name}{'s' * (count != 1)}" for count, name in counted) + "."]
    lines += [f"No kernels are kept yet by {', '.join(slow)}: the first work there takes longer."] * bool(slow)
    return lines + [f"Another CPU than here: {', '.join(other)}; results agree to rounding."] * bool(other)


class Cluster(Reach):
    """The cluster at `address`, for whole pieces of work and for slices. Raises Unreachable."""

    def __init__(self, address: str):
        client = _client(address)
        super().__init__(client, sum(client.nthreads().values()))
        self.address = address
        self._seen = time.monotonic()
        self._told = True
        threading.Thread(target=self._watch, daemon=True, name="cluster").start()

    def is_up(self) -> bool:
        """Whether the scheduler and a worker were there less than `GONE` ago."""
        return time.monotonic() - self._seen < GONE

    def submit(self, function: Callable[..., Any], arguments: tuple, name: str, priority: float) -> Sent:
        """Send work there: `function(*arguments, ticket)`. A higher priority comes first; slices of what has begun come
        before all that has not.
        """
        client = self.client
        within = Within(priority + BEGUN)
        call = _work, function, arguments, Ticket(name), within
        return Sent(client.submit(*call, priority=priority, pure=False, retries=2), client, name)

    def _watch(self) -> None:
        while True:
            time.sleep(LOOK)
            with contextlib.suppress(Exception):  # whatever it is, the cluster is not there
                if self.client.status != "running":
                    self.client = _client(self.address)
                if workers := _within(ANSWER, self.client.nthreads):
                    self.threads = sum(workers.values())
                    self._seen = time.monotonic()
            if self.is_up() != self._told:
                self._told = self.is_up()
                said = "is back" if self._told else f"has been out of reach for {GONE:.0f} s: its work goes on in this process"
                log.warning("the cluster at %s %s", self.address, said)


class Sent(NamedTuple):
    """Work at the cluster."""

    future: Any
    client: Any
    name: str

    def done(self) -> bool:
        """Whether it has ended there, one way or another."""
        return self.future.done()

    def result(self) -> tuple[Any, float]:
        """What it returned, and the seconds that it took there; or its exception."""
        found: tuple[Any, float] = self.future.result(timeout=ANSWER)
        return found

    def lost(self) -> bool:
        """Whether it ended since the cluster failed it, not by itself."""
        return has_failed(self.future)

    def stop(self) -> None:
        """It is not wanted any more."""
        with contextlib.suppress(Exception):
            self._event().set()
            self.future.cancel()

    def news(self) -> dict[str, Any]:
        """What it has last reported: "done" and "total", "value" of what it published; nothing new: empty."""
        with contextlib.suppress(Exception):  # nothing was reported yet, or the cluster is gone
            return pickle.loads(self._variable().get(timeout=ASK))
        return {}

    def forget(self) -> None:
        """Nothing of it stays at the scheduler."""
        with contextlib.suppress(Exception):
            self._variable().delete()

    def _event(self) -> Any:
        return _distributed().Event(NAME + self.name, client=self.client)

    def _variable(self) -> Any:
        return _distributed().Variable(NAME + self.name, client=self.client)


class Ticket:
    """The ticket of a job there: whether it is still wanted is an event at the scheduler, what it reports a variable."""

    def __init__(self, name: str):
        self.name = name
        self._asked = self._said = 0.0
        self._stop = False
        self._news: dict[str, Any] = {}

    def is_set(self) -> bool:
        """As of a job here; asks the scheduler at most four times a second."""
        if not self._stop and time.monotonic() - self._asked > ASK:
            self._asked = time.monotonic()
            self._stop = _distributed().Event(NAME + self.name).is_set()
        return self._stop

    cancelled = property(is_set)

    def report(self, done: int, total: int) -> None:
        """So much is done."""
        self._news |= {"done": done, "total": total}
        self._tell()

    def publish(self, value: Any) -> None:
        """A partial result."""
        self._news["value"] = value
        self._tell()

    def _tell(self) -> None:
        if time.monotonic() - self._said > ASK:  # the newest of what comes in between is told with the next
            self._said = time.monotonic()
            _distributed().Variable(NAME + self.name).set(pickle.dumps(self._news))


def _work(function: Callable[..., Any], arguments: tuple, ticket: Ticket, within: Within) -> tuple[Any, float]:
    begin = time.perf_counter()
    with holding(ticket), slices.at(within), turn():
        result = function(*arguments, ticket)
    return result, time.perf_counter() - begin


def _distributed() -> Any:
    return importlib.import_module("distributed")


def _client(address: str) -> Any:
    try:
        distributed = _distributed()
    except ImportError:
        raise Unreachable(f"{address} asks for a Dask cluster, but the package “distributed” is not installed: {INSTALL}") from None
    logging.getLogger("distributed.batched").setLevel(logging.WARNING)  # as news it tells each lost connection, with a traceback
    try:
        place = urlsplit(address)
        socket.create_connection((place.hostname, place.port), timeout=ANSWER).close()  # a client that fails leaves a thread behind
        return distributed.Client(address, timeout=ANSWER, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as problem:
        raise Unreachable(f"No scheduler answers at {address}: {type(problem).__name__}.") from None


def _within(seconds: float, ask: Callable[[], Any]) -> Any:
    """What `ask` returns; raises TimeoutError if it takes longer, for it may wait for a cluster that has gone."""
    answer: Future[Any] = Future()

    def run() -> None:
        try:
            answer.set_result(ask())
        except BaseException as problem:
            answer.set_exception(problem)

    threading.Thread(target=run, daemon=True, name="cluster-look").start()
    return answer.result(timeout=seconds)


def main(arguments: Sequence[str]) -> int:
    """`[check] [tcp://host:port]`: say what is wrong with a cluster, or how many work there; the exit status."""
    given = [word for word in arguments if word != "check"]
    address = given[0] if given else settings.value("DASK")
    if address is None:
        print("Which cluster? Give its scheduler's address, or set POSTERIOR_LAB_DASK.", file=sys.stderr)
        return 2
    wrong = check(address)
    print(*(wrong or remarks(address)), sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    # not as the main module: what is sent to workers is of a module that they know
    sys.exit(importlib.import_module("app.kit.cluster").main(sys.argv[1:]))
