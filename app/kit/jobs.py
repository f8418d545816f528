"""Work that outlasts a script run: a bounded pool for the whole process, and jobs that can be stopped. Finished results
are kept in `engine.kept`.

A job is a function and its arguments; it is called as `function(*arguments, ticket)`. The ticket is the job's only
way back: `ticket.is_set()` is true once the result is no longer wanted, `ticket.report(done, total)` moves the
progress bar and `ticket.publish(value)` hands over an intermediate result. What lies deep inside finds it in
`engine.ticket`. A job never touches Streamlit; the page reads the job.

A job stops when its owner asks for something else in the same slot, presses Stop, or goes away: every look of the
page at its job is a heartbeat, and a job not looked at for `ORPHAN_SECONDS` gives up.

Each job has a thread of this process (kernels release the GIL) and computes while it has a turn at a core
(`engine.turns`): first pictures before everything, then whoever has had least, checks and charts last. `is_set()` is
where it gives way.

With `POSTERIOR_LAB_DASK=tcp://host:port` the work goes to a Dask cluster (`app.kit.cluster`), function and arguments
pickled; what it reports and publishes comes back at most four times a second. While the cluster is out of reach the
work is done here, that which it had begun, too. What a picture waits for, or what goes on from a state in this process,
is submitted with `local=True`: it stays here, and sends slices of its long parts (`engine.slices`, `app.kit.elsewhere`).
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import uuid
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from app.kit import seams, tally
from app.kit.cluster import Cluster
from app.kit.elsewhere import There, priority
from engine import kept, settings, slices, turns
from engine.kept import Store
from engine.spec import SpecError
from engine.ticket import holding

log = logging.getLogger(__name__)

ORPHAN_SECONDS = 15.0
LOOK, LOOKS = 0.25, 12.0  # s between the looks of a page at its jobs; looks a second of all pages together
GONE_SECONDS = 1.0  # that a reader may be without a connection
CLEAR_SECONDS = 1.0  # between looks for what gone readers have left behind
ASK_SECONDS = 0.25  # between questions whether the reader is there, and to a cluster for its news
REST = 0.05  # s that a job leaves to its first picture, to be sent and drawn: by one Python, and on the same cores perhaps
WAITING_LIMIT = 1000  # jobs that may wait; more are turned away with a message
THREADS = 256  # of first pictures, and of all else; those that wait for a turn cost their stack

WAITING, RUNNING, DONE, STOPPED, FAILED, TURNED_AWAY = "waiting", "running", "done", "stopped", "failed", "turned away"
ACTIVE = (WAITING, RUNNING)

Connected = Callable[[Any], bool]


class Job:
    """One piece of work, and the ticket its function is given.

    Read by the page: `state`, `result`, `error`, `latest` (the last published value), `fraction()`, `time_left()`.
    """

    def __init__(self, key: Hashable, claim: turns.Claim, connected: Connected, kind: str = ""):
        self.key, self.claim, self.kind = key, claim, kind
        self._asked_for = time.monotonic()
        self._connected = connected
        self._met = time.monotonic()  # when its reader was last known to be there
        self._asked = self._met
        self.state = WAITING
        self.result: Any = None
        self.error: BaseException | None = None
        self.latest: Any = None
        self.done = 0
        self.total = 0
        self.finished = threading.Event()
        self._visible = threading.Event()
        self._stop = threading.Event()
        self._seen = time.monotonic()
        self._started = 0.0
        self._counted_from = 0, 0.0  # units, and when: where what is counted now began
        self._future: Future | None = None

    # the page's side

    @property
    def active(self) -> bool:
        """Waiting or running."""
        return self.state in ACTIVE

    def heartbeat(self) -> None:
        """Someone still looks at this job."""
        self._seen = time.monotonic()

    def hurry(self, rank: int) -> None:
        """It has this rank, one of `engine.turns`, if not a better one."""
        if rank < self.claim.rank:
            self.claim.turns.move(self.claim, rank)

    def stop(self) -> None:
        """Ask the job to end. It ends at its next look at the ticket, at once if it still waits."""
        self._stop.set()
        self.claim.turns.withdraw(self.claim)
        if self.state == WAITING or (self._future is not None and self._future.cancel()):
            self._end(STOPPED)

    def wait(self, seconds: float) -> bool:
        """Wait for the end, at most `seconds`. True if the job has ended."""
        return self.finished.wait(seconds)

    def wait_for_a_look(self, seconds: float) -> None:
        """Wait for something published or for the end, at most `seconds`."""
        self._visible.wait(seconds)

    def fraction(self) -> float | None:
        """How much is done, 0 to 1; None while unknown."""
        return min(self.done / self.total, 1.0) if self.total > 0 else None

    def rate(self) -> float:
        """Units done a second since the start, or since other units are counted."""
        first, begun = self._counted_from
        seconds = time.monotonic() - (begun or self._started)
        return (self.done - first) / seconds if self._started and seconds > 0 else 0.0

    def time_left(self) -> float | None:
        """Seconds to go at the present rate; None while unknown."""
        rate = self.rate()
        return (self.total - self.done) / rate if rate > 0 and self.total > 0 else None

    # the function's side: the ticket

    def is_set(self) -> bool:
        """True once the result is not wanted any more: stopped, replaced, its reader gone, or nobody has looked for
        `ORPHAN_SECONDS`. A look by the job itself is also where it gives way to others.
        """
        if not self._stop.is_set() and self._gone():
            self._stop.set()
        if not self._stop.is_set():
            with contextlib.suppress(InterruptedError):  # stopped while it waited
                turns.look()
        return self._stop.is_set()

    def _gone(self) -> bool:
        now = time.monotonic()
        if now - self._asked > ASK_SECONDS:
            self._asked = now
            if self._connected(self.claim.reader):
                self._met = now
        return now - self._met > GONE_SECONDS or now - self._seen > ORPHAN_SECONDS

    cancelled = property(is_set)

    def report(self, done: int, total: int) -> None:
        """`done` of `total` units are finished."""
        if self.total not in (0, total):  # other units: what is done of them already was not done at this pace
            self._counted_from = done, time.monotonic()
        self.done, self.total = done, total

    def publish(self, value: Any) -> None:
        """Hand over an intermediate result; the page shows the newest. What is left of a picture comes after the first
        pictures of others."""
        self.latest = value
        self._shown()
        if self.claim.rank == turns.FIRST:
            self.claim.turns.move(self.claim, turns.GROWING)
            with contextlib.suppress(InterruptedError), turns.resting():  # stopped meanwhile
                self._stop.wait(REST)

    def hear(self, news: dict[str, Any]) -> None:
        """What work elsewhere has reported."""
        self.report(news.get("done", self.done), news.get("total", self.total))
        if "value" in news:
            self.publish(news["value"])

    # the pool's side

    def _begin(self) -> None:
        self._started = time.monotonic()
        self.state = RUNNING

    def _end(self, state: str, result: Any = None, error: BaseException | None = None) -> None:
        self.result, self.error = result, error
        self.state = state
        tally.count("jobs_ended", self.kind, state)
        self._shown()
        self.finished.set()

    def _shown(self) -> None:
        """There is something to look at, for the first time or again."""
        if self.claim.rank == turns.FIRST and self.state != STOPPED and not self._visible.is_set():
            tally.took("picture", time.monotonic() - self._asked_for, self.page)
        self._visible.set()

    @property
    def page(self) -> str:
        """The lesson that it is for, of a key that begins with its slug."""
        return str(self.key[0]) if isinstance(self.key, tuple) and self.key else ""


class Pool:
    """Runs jobs: at most one a (session, slot), at most `waiting_limit` of a rank and better ones that have not begun.

    cores : whose turns the jobs take
    cluster : for work that may leave this process
    shelf : where finished results are kept; with those of functions by default
    connected : whether a reader, the first part of an owner, is still there
    """

    def __init__(
        self,
        cores: turns.Turns = turns.machine,
        *,
        cluster: Cluster | None = None,
        waiting_limit: int = WAITING_LIMIT,
        shelf: Store | None = None,
        connected: Connected = lambda reader: True,
    ):
        self._connected = connected
        self.turns, self.waiting_limit = cores, waiting_limit
        self.shelf = kept.store if shelf is None else shelf
        # of first pictures, and of all else: no picture waits until the verdicts of a large class have begun
        self._threads = {first: ThreadPoolExecutor(THREADS, thread_name_prefix="job") for first in (True, False)}
        self.cluster = cluster
        self._slots: dict[tuple[Hashable, ...], Job] = {}
        self._queue: list[Job] = []
        self._cleared = time.monotonic()
        self._lock = threading.Lock()
        _before_exit(self.stop_all)

    def submit(
        self,
        owner: tuple[Hashable, ...],
        key: Hashable,
        function: Callable[..., Any],
        *arguments: Any,
        rank: int = turns.AFTER,
        keep: bool = True,
        local: bool = False,
    ) -> Job:
        """The job of `owner`, a (session, slot), for `key`. `rank` is one of `engine.turns`.

        A finished result that is kept is returned at once. A job of the same owner and key goes on, and is not tried
        again once it has failed; another job of this owner is stopped. `keep`: the result is kept. `local`
        keeps the job in this process even with a cluster.
        """
        with self._lock:
            current = self._slots.get(owner)
            if current is not None and current.key == key and current.state not in (STOPPED, TURNED_AWAY):
                current.heartbeat()
                return current
            if current is not None:
                current.stop()
            self._forget()
            job = Job(key, turns.Claim(self.turns, rank, owner[0]), self._connected, str(owner[-1]))
            found = self.shelf.get(key) if keep else None
            if found is not None:
                job._end(DONE, found)
            elif self._waiting(rank) >= self.waiting_limit:
                job._end(TURNED_AWAY)
            else:
                self._queue.append(job)
            self._slots[owner] = job
        if job.active:
            self._start(job, function, arguments, keep, local)
        return job

    def position(self, job: Job) -> int:
        """Place of a waiting job in the queue, from 1; 0 once it runs."""
        with self._lock:
            waiting = [j for j in self._queue if j.state == WAITING]
            return waiting.index(job) + 1 if job in waiting else 0

    def pause(self) -> float:
        """Seconds between a page's looks at what comes after its picture. Each look runs a script: those of a large
        class would take up the time in which what they look at is made.
        """
        with self._lock:
            readers = {owner[0] for owner, job in self._slots.items() if job.active}
        return min(max(LOOK, len(readers) / LOOKS), ORPHAN_SECONDS / 3)  # who looks later than that has gone

    def is_cut_off(self) -> bool:
        """Whether there is a cluster and it is out of reach."""
        return self.cluster is not None and not self.cluster.is_up()

    def under_way(self) -> list[tuple[str, str]]:
        """Kind and state of every job that is not over."""
        with self._lock:
            return [(job.kind, job.state) for job in self._slots.values() if job.active]

    def stop_all(self) -> None:
        """Stop every job."""
        with self._lock:
            for job in self._slots.values():
                job.stop()

    def close(self) -> None:
        """Stop every job and end the threads."""
        self.stop_all()
        for threads in self._threads.values():
            threads.shutdown(wait=True, cancel_futures=True)

    def _waiting(self, rank: int) -> int:
        return sum(job.state == WAITING and job.claim.rank <= rank for job in self._queue)

    def _forget(self) -> None:
        for job in self._queue:
            if job.state == WAITING and job._gone():  # it has no turn in which it could see that itself
                job.stop()
        self._queue = [job for job in self._queue if job.active]
        now = time.monotonic()
        if now - self._cleared > CLEAR_SECONDS:
            self._cleared = now
            self._slots = {owner: job for owner, job in self._slots.items() if job.active or not self._left_behind(owner, job)}

    def _left_behind(self, owner: tuple[Hashable, ...], job: Job) -> bool:
        """Whether a job that has ended is of no use in its slot any more, where it would hold its result whatever the store
        may: its reader has gone, or has not looked for long."""
        unseen = time.monotonic() - job._seen
        return unseen > ORPHAN_SECONDS and (unseen > 60 * ORPHAN_SECONDS or not self._connected(owner[0]))

    def _start(self, job: Job, function: Callable[..., Any], arguments: tuple, keep: bool, local: bool) -> None:
        if self.cluster is not None and not local and self.cluster.is_up():
            work = function, arguments, keep
            threading.Thread(target=self._follow, args=(job, self.cluster, *work), daemon=True, name="cluster-follow").start()
        else:
            self._start_here(job, function, arguments, keep)

    def _start_here(self, job: Job, function: Callable[..., Any], arguments: tuple, keep: bool) -> None:
        threads = self._threads[job.claim.rank == turns.FIRST]
        job._future = threads.submit(self._run, job, function, arguments, keep)

    def _run(self, job: Job, function: Callable[..., Any], arguments: tuple, keep: bool) -> None:
        try:
            with turns.turn(job.claim):
                if job.is_set():
                    job._end(STOPPED)
                    return
                job._begin()
                with holding(job), slices.at(self._elsewhere(job)):
                    result = function(*arguments, job)
                self._take(job, result, keep)  # in its turn: what a first picture keeps is not weighed yet
        except BaseException as error:  # also SystemExit: whatever ends a job, the page says so and waits no longer
            self._fail(job, error)
        if job.claim.rank == turns.FIRST:
            time.sleep(REST)  # it is sent and drawn meanwhile
        elif self.turns.awaited:
            return  # the picture's job weighs what was kept: many jobs end just when it is asked for
        self.shelf.settle()

    def _elsewhere(self, job: Job) -> There | None:
        return None if self.cluster is None else There(self.cluster, job.claim)

    def _take(self, job: Job, result: Any, keep: bool) -> None:
        if job.is_set():  # what a stopped function returns may be half a result
            job._end(STOPPED, result)
            return
        if keep and job.key is not None:
            self.shelf.put(job.key, result)
        job._end(DONE, result)

    def _fail(self, job: Job, error: BaseException) -> None:
        if isinstance(error, SpecError):  # the reader is told, and can mend it
            log.info("%s of %s: %s refused", job.kind, job.page, error.parameter)
        elif not job.is_set():  # what was set is the reader's: the log names the page and the kind of work
            log.error("%s of %s failed", job.kind, job.page, exc_info=error)
            tally.count("errors", job.kind)
        # the frames of a traceback would keep all that the function had in hand, as long as somebody has the job
        job._end(STOPPED if job.is_set() else FAILED, error=bare(error))

    def _follow(self, job: Job, cluster: Cluster, function: Callable[..., Any], arguments: tuple, keep: bool) -> None:
        """Have a job done by the cluster: pass its news and a stop on, take the result; do it here if the cluster goes."""
        job._begin()
        try:
            sent = cluster.submit(function, arguments, uuid.uuid4().hex, priority(job.claim))
            while not sent.done():
                if job.is_set():
                    sent.stop()
                    job._end(STOPPED)
                    sent.forget()
                    return
                if not cluster.is_up():
                    raise ConnectionError
                job.hear(sent.news())
                job._stop.wait(ASK_SECONDS)  # the newest is told at once, as often as it is asked for
            if sent.lost():
                raise ConnectionError
            sent.forget()
            result, seconds = sent.result()
            cluster.count({"jobs": 1, "seconds": seconds})
            self.turns.book(job.claim.reader, seconds)
            self._take(job, result, keep)
        except (ConnectionError, TimeoutError, OSError):
            log.warning("%s of %s comes back from the cluster, to be done here", job.kind, job.page)
            self._start_here(job, function, arguments, keep)
        except BaseException as error:
            self._fail(job, error)


def bare(error: BaseException) -> BaseException:
    """The error without the way that led to it, and without those that it came from."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def cluster_from_environment() -> Cluster | None:
    """The cluster that `POSTERIOR_LAB_DASK` names, or None. Raises Unreachable."""
    address = settings.value("DASK")
    return Cluster(address) if address else None


def _before_exit(act: Callable[[], None]) -> None:
    """Call `act` when the process ends, before the executors' threads are waited for: else Ctrl-C waits for running
    jobs.

    `atexit` comes too late for that; this hook is the one that concurrent.futures itself uses.
    """
    register = getattr(threading, "_register_atexit", None)
    if register is not None:
        register(act)


_pool: Pool | None = None
_pool_lock = threading.Lock()


def pool() -> Pool:
    """The pool of this process."""
    global _pool
    with _pool_lock:
        if _pool is None:
            _pool = Pool(cluster=cluster_from_environment(), connected=seams.connected)
        return _pool
