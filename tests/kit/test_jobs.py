"""Jobs: bounded, stoppable, never shared while they run, forgotten when nobody looks."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.kit import jobs
from app.kit.jobs import Job, Pool
from engine import turns
from engine.kept import Store, _Entry
from engine.spec import SpecError
from engine.turns import Turns


@pytest.fixture
def pool() -> Iterator[Pool]:
    """Two work for several readers, beside whom a core is left; three may wait."""
    made = Pool(Turns(3), waiting_limit=3, shelf=Store(1_000_000))
    yield made
    made.close()


def until_told(gate: threading.Event, ticket: Job) -> str:
    """Works until the gate opens or the job is stopped."""
    while not gate.is_set() and not ticket.is_set():
        time.sleep(0.005)
    return "opened" if gate.is_set() else "half"


def test_a_job_returns_its_result(pool: Pool):
    job = pool.submit(("ann", "checks"), "key", lambda a, b, ticket: a + b, 1, 2)
    assert job.wait(5) and job.state == jobs.DONE and job.result == 3 and not job.active


def test_a_new_job_in_the_same_slot_stops_the_old_one(pool: Pool):
    gate = threading.Event()
    old = pool.submit(("ann", "checks"), "a", until_told, gate)
    other = pool.submit(("bob", "checks"), "a", until_told, gate)
    assert old is not other, "a running job is never shared"
    new = pool.submit(("ann", "checks"), "b", lambda ticket: "new")
    assert old.wait(5) and old.state == jobs.STOPPED
    assert new.wait(5) and new.result == "new"
    assert other.active
    gate.set()
    assert other.wait(5) and other.result == "opened"


def test_asking_again_for_the_same_key_goes_on_with_the_job(pool: Pool):
    gate = threading.Event()
    first = pool.submit(("ann", "checks"), "a", until_told, gate)
    assert pool.submit(("ann", "checks"), "a", until_told, gate) is first
    gate.set()
    first.wait(5)
    assert pool.submit(("ann", "checks"), "a", until_told, gate) is first


def test_finished_results_serve_everyone_stopped_ones_nobody(pool: Pool):
    pool.submit(("ann", "checks"), "a", lambda ticket: "done").wait(5)
    served = pool.submit(("bob", "checks"), "a", lambda ticket: pytest.fail("computed twice"))
    assert served.result == "done" and served.state == jobs.DONE
    gate = threading.Event()
    stopped = pool.submit(("ann", "panels"), "b", until_told, gate)
    time.sleep(0.02)
    stopped.stop()
    assert stopped.wait(5) and pool.shelf.get("b") is None


def test_a_refusal_is_no_alarm_in_the_log(pool: Pool, caplog):
    """The reader is told and can mend it; a mistake of ours stays a traceback."""

    def refuse(ticket):
        raise SpecError("draws", "is too large")

    def stumble(ticket):
        raise ZeroDivisionError

    with caplog.at_level("INFO", logger="app.kit.jobs"):
        for name, work in (("refused", refuse), ("wrong", stumble)):
            assert pool.submit(("me", name), name, work).wait(5)
    levels = {record.levelname: record for record in caplog.records}
    assert levels["INFO"].exc_info is None and "draws" in levels["INFO"].getMessage()
    assert levels["ERROR"].exc_info is not None and len(caplog.records) == 2


def test_a_failure_is_kept_and_not_tried_again(pool: Pool):
    calls = []

    def breaks(ticket: Job) -> None:
        calls.append(1)
        raise ValueError("no")

    job = pool.submit(("ann", "checks"), "a", breaks)
    assert job.wait(5) and job.state == jobs.FAILED and isinstance(job.error, ValueError)
    assert pool.submit(("ann", "checks"), "a", breaks) is job and len(calls) == 1


def test_the_queue_is_bounded_and_says_where_one_stands(pool: Pool):
    gate = threading.Event()
    running = [pool.submit((name, "live"), name, until_told, gate) for name in ("ann", "bob")]
    while any(job.state != jobs.RUNNING for job in running):
        time.sleep(0.005)
    waiting = [pool.submit((name, "live"), name, until_told, gate) for name in ("cyd", "dan", "eve")]
    assert [pool.position(job) for job in waiting] == [1, 2, 3]
    turned_away = pool.submit(("fay", "live"), "fay", until_told, gate)
    assert turned_away.state == jobs.TURNED_AWAY and turned_away.finished.is_set()
    waiting[0].stop()
    assert waiting[0].state == jobs.STOPPED and [pool.position(job) for job in waiting] == [0, 1, 2]
    again = pool.submit(("fay", "live"), "fay", until_told, gate)
    assert again is not turned_away and again.active
    gate.set()
    assert again.wait(5)


def test_a_job_nobody_looks_at_gives_up(pool: Pool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(jobs, "ORPHAN_SECONDS", 0.1)
    gate = threading.Event()
    watched = pool.submit(("ann", "live"), "a", until_told, gate)
    orphan = pool.submit(("bob", "live"), "b", until_told, gate)
    for _ in range(20):
        watched.heartbeat()
        time.sleep(0.02)
    assert orphan.state == jobs.STOPPED and watched.state == jobs.RUNNING
    gate.set()


def test_what_a_reader_leaves_behind_is_let_go_once_it_is_gone(monkeypatch: pytest.MonkeyPatch):
    """Results that its last jobs hold are in no budget; those of a reader who is there stay."""
    monkeypatch.setattr(jobs, "ORPHAN_SECONDS", 0.05)
    monkeypatch.setattr(jobs, "CLEAR_SECONDS", 0.0)
    here = {"ann", "bob"}
    pool = Pool(Turns(3), shelf=Store(0), connected=here.__contains__)

    class Result:
        """Could be large."""

    found = {}
    for name in sorted(here):
        job = pool.submit((name, "panels"), name, lambda ticket: Result())
        assert job.wait(5)
        found[name] = weakref.ref(job.result)
    del job
    here.remove("bob")
    time.sleep(0.1)
    pool.submit(("cyd", "panels"), "c", lambda ticket: None).wait(5)
    gc.collect()
    assert found["ann"]() is not None and found["bob"]() is None
    pool.close()


def test_a_first_picture_does_not_wait_behind_what_comes_after(monkeypatch: pytest.MonkeyPatch):
    """However many verdicts wait, and whether or not they all have a thread."""
    monkeypatch.setattr(jobs, "THREADS", 2)
    pool, gate = Pool(Turns(1), waiting_limit=5, shelf=Store(1000)), threading.Event()
    later = [pool.submit((number, "checks"), number, until_told, gate) for number in range(8)]
    assert later[-1].state == jobs.TURNED_AWAY
    picture = pool.submit(("ann", "scene"), "a", lambda ticket: "picture", rank=turns.FIRST)
    assert picture.wait(20) and picture.result == "picture" and not gate.is_set()
    gate.set()
    pool.close()


def test_a_job_leaves_the_machine_to_its_first_picture(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(jobs, "REST", 20.0)
    pool = Pool(Turns(1), shelf=Store(1000))

    def grows(ticket: Job) -> str:
        for picture in ("first", "second"):
            ticket.publish(picture)
        return "whole"

    growing = pool.submit(("ann", "scene"), "a", grows, rank=turns.FIRST)
    growing.wait_for_a_look(20)
    beside = pool.submit(("bob", "checks"), "b", lambda ticket: "done")
    assert beside.wait(10) and beside.result == "done", "its turn is free while it rests"
    assert growing.active and growing.latest == "first"
    growing.stop()
    assert growing.wait(10) and growing.latest == "second", "a stop ends the rest"
    pool.close()


def test_what_a_picture_keeps_is_weighed_after_it():
    shelf = Store(10**6)
    pool = Pool(Turns(1), shelf=shelf)
    try:
        job = pool.submit(("a", "scene"), "picture", lambda ticket: shelf.put("run", bytes(10_000)) or "made", rank=turns.FIRST)
        assert job.wait(5) and shelf.bytes == 0
        end = time.monotonic() + 5
        while shelf.bytes < 10_000 and time.monotonic() < end:
            time.sleep(0.01)
        assert shelf.get("run") is not None and shelf.bytes > 10_000
    finally:
        pool.close()


def test_a_job_that_ends_while_a_picture_is_awaited_leaves_the_weighing_to_that():
    """A new picture stops whatever went on, and all of that would weigh just when it is made."""
    shelf, cores, gate = Store(10**6), Turns(1), threading.Event()
    pool = Pool(cores, shelf=shelf)
    try:
        shelf._later.append(("left", _Entry("a run")))  # by an earlier picture
        ended = pool.submit(("a", "panels"), "panels", lambda ticket: gate.wait(5), rank=turns.AFTER, keep=False)
        cores._hushed = time.monotonic() + 1000.0
        gate.set()
        assert ended.wait(5)
        pool.submit(("a", "other"), "other", lambda ticket: None, rank=turns.PAGE, keep=False).wait(5)
        time.sleep(0.05)
        assert len(shelf._later) == 1
        picture = pool.submit(("a", "scene"), "picture", lambda ticket: "made", rank=turns.FIRST)
        assert picture.wait(5)
        end = time.monotonic() + 5
        while shelf._later and time.monotonic() < end:
            time.sleep(0.01)
        assert not shelf._later
    finally:
        pool.close()


def test_the_more_readers_wait_the_fewer_looks_each_takes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(jobs, "LOOKS", 2.0)
    pool, gate = Pool(Turns(1), waiting_limit=9, shelf=Store(1000)), threading.Event()
    assert pool.pause() == jobs.LOOK
    made = [pool.submit((name, slot), name, until_told, gate) for name in ("ann", "bob", "cyd") for slot in "ab"]
    assert pool.pause() == 1.5
    gate.set()
    assert all(job.wait(20) for job in made) and pool.pause() == jobs.LOOK
    pool.close()


def test_jobs_of_readers_who_have_gone_do_not_wait(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(jobs, "GONE_SECONDS", 0.0)
    monkeypatch.setattr(jobs, "ASK_SECONDS", 0.0)
    there = {"ann", "bob", "cyd"}
    pool, gate = Pool(Turns(1), waiting_limit=2, connected=there.__contains__), threading.Event()
    running = pool.submit(("ann", "live"), "a", until_told, gate)
    while running.state != jobs.RUNNING:
        time.sleep(0.005)
    left = [pool.submit((name, "live"), name, until_told, gate) for name in ("bob", "cyd")]
    there -= {"bob", "cyd"}
    there.add("dan")
    new = pool.submit(("dan", "live"), "d", until_told, gate)
    assert [job.state for job in left] == [jobs.STOPPED] * 2 and pool.position(new) == 1
    gate.set()
    assert new.wait(5) and new.state == jobs.DONE
    pool.close()


@pytest.mark.parametrize("end", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_a_job_that_ends_by_any_exception_has_ended(pool: Pool, end: type[BaseException]):
    def ends(ticket: Job) -> None:
        raise end

    job = pool.submit(("ann", "checks"), "a", ends)
    assert job.wait(5) and job.state == jobs.FAILED and isinstance(job.error, end)
    assert pool.submit(("ann", "checks"), "b", lambda ticket: "well").wait(5)


def test_what_was_done_before_tells_nothing_of_the_pace(pool: Pool):
    """A training that goes on where it was stopped is not nearly over."""

    def resumed(ticket: Job) -> None:
        ticket.report(0, 1)
        ticket.report(5_000, 10_000)
        time.sleep(0.1)
        ticket.report(5_010, 10_000)

    job = pool.submit("reader", "goes on", resumed)
    assert job.wait(5)
    assert 0 < job.rate() <= 10 / 0.1 and job.time_left() >= 4_990 * 0.1 / 10


def test_progress_rate_and_time_left(pool: Pool):
    reported, gate = threading.Event(), threading.Event()

    def body(ticket: Job) -> None:
        time.sleep(0.05)
        ticket.report(25, 100)
        ticket.publish("quarter")
        reported.set()
        gate.wait(5)

    job = pool.submit(("ann", "live"), "a", body)
    assert job.fraction() is None or job.fraction() == 0.25
    assert reported.wait(5)
    assert job.fraction() == 0.25 and job.latest == "quarter"
    assert 0 < job.rate() <= 25 / 0.05
    assert job.time_left() == pytest.approx(75 / job.rate(), rel=0.2)
    gate.set()


SPENT = 5.0  # s that a piece of work takes there, it says


class Elsewhere:
    """A cluster of threads: what the pool asks of one."""

    def __init__(self, executor: ThreadPoolExecutor):
        self.up, self.forgotten, self.looks = True, 0, 0
        self.priorities: list[float] = []
        self.counts: dict[str, float] = {}
        self._executor = executor

    def is_up(self) -> bool:
        return self.up

    def submit(self, function, arguments, name, priority) -> Sent:
        self.priorities.append(priority)
        return Sent(self, function, arguments, self._executor)

    def count(self, more: dict[str, float]) -> None:
        for name, value in more.items():
            self.counts[name] = self.counts.get(name, 0) + value


class Sent:
    """Work there, and its ticket."""

    def __init__(self, cluster: Elsewhere, function, arguments, executor: ThreadPoolExecutor):
        self._stop, self._cluster, self._told = threading.Event(), cluster, {}
        self.is_set, self.stop, self.done_there = self._stop.is_set, self._stop.set, False
        self._future = executor.submit(function, *arguments, self)

    def report(self, done: int, total: int) -> None:
        self._told |= {"done": done, "total": total}

    def publish(self, value: object) -> None:
        self._told |= {"value": value}

    def news(self) -> dict:
        return dict(self._told)

    def done(self) -> bool:
        self._cluster.looks += 1
        return self._future.done()

    def lost(self) -> bool:
        return not self._cluster.up

    def forget(self) -> None:
        self._cluster.forgotten += 1

    def result(self) -> tuple[object, float]:
        return self._future.result(), SPENT


@pytest.fixture
def cluster() -> Iterator[Pool]:
    """A pool whose work goes to other threads, as to a cluster."""
    with ThreadPoolExecutor(2) as executor:
        made = Pool(Turns(2), cluster=Elsewhere(executor), shelf=Store(1_000_000))  # type: ignore[arg-type]
        yield made
        made.close()


def test_work_on_a_cluster_comes_back(cluster: Pool):
    job = cluster.submit(("ann", "checks"), "a", lambda x, ticket: x + 1, 1)
    assert job.wait(5) and job.result == 2 and cluster.shelf.get("a") == 2
    assert cluster.cluster.counts["jobs"] == 1 and cluster.cluster.counts["seconds"] >= 0


def test_whoever_has_had_least_of_a_cluster_comes_first_there(cluster: Pool):
    for reader, rank in (("ann", turns.AFTER), ("ann", turns.AFTER), ("ben", turns.AFTER), ("ann", turns.GROWING)):
        assert cluster.submit((reader, "checks"), object(), lambda ticket: None, rank=rank, keep=False).wait(5)
    first, second, other, growing = cluster.cluster.priorities
    assert second < other <= first < growing


def test_work_on_a_cluster_is_stopped_there(cluster: Pool):
    ended = threading.Event()

    def body(ticket: Sent) -> None:
        while not ticket.is_set():
            time.sleep(0.01)
        ended.set()

    job = cluster.submit(("ann", "checks"), "a", body)
    time.sleep(0.05)
    job.stop()
    assert job.wait(5) and job.state == jobs.STOPPED
    assert ended.wait(5), "the work itself has seen the stop"
    for thread in threading.enumerate():
        if thread.name == "cluster-follow":
            thread.join(5)
    assert cluster.cluster.forgotten == 1, "nothing of it stays there"


def test_news_of_work_on_a_cluster_come_here(cluster: Pool):
    gate = threading.Event()

    def grows(ticket: Sent) -> str:
        ticket.report(3, 4)
        ticket.publish("three quarters")
        gate.wait(5)
        return "the whole"

    job = cluster.submit(("ann", "panels"), "a", grows)
    job.wait_for_a_look(5)
    assert job.latest == "three quarters" and job.fraction() == 0.75
    begun = cluster.cluster.looks
    time.sleep(2 * jobs.ASK_SECONDS)
    assert 1 <= cluster.cluster.looks - begun <= 3, "it is not asked without a pause"
    gate.set()
    assert job.wait(5) and job.result == "the whole" and cluster.cluster.forgotten == 1


def test_work_that_a_cluster_loses_is_done_here(cluster: Pool):
    calls, gate = [], threading.Event()

    def works(ticket) -> str:
        calls.append(type(ticket))
        return "done" if len(calls) > 1 or gate.wait(5) else "never"

    job = cluster.submit(("ann", "checks"), "a", works)
    while not calls:
        time.sleep(0.01)
    cluster.cluster.up = False
    assert job.wait(5) and job.result == "done" and calls == [Sent, Job]
    gate.set()
    later = cluster.submit(("ann", "checks"), "b", lambda ticket: type(ticket))
    assert later.wait(5) and later.result is Job, "while it is away nothing is sent there"
    cluster.cluster.up = True
    again = cluster.submit(("ann", "checks"), "c", lambda ticket: type(ticket))
    assert again.wait(5) and again.result is Sent


def test_a_cluster_s_failure_is_a_failure(cluster: Pool):
    def breaks(ticket: Sent) -> None:
        raise ValueError("there")

    job = cluster.submit(("ann", "checks"), "a", breaks)
    assert job.wait(5) and job.state == jobs.FAILED and str(job.error) == "there"


def test_local_work_stays_local(cluster: Pool):
    seen = []
    job = cluster.submit(("ann", "live"), "a", lambda ticket: seen.append(type(ticket)), local=True)
    assert job.wait(5) and seen == [Job]


def test_a_look_is_waited_for_no_longer_than_it_takes(pool: Pool):
    gates = threading.Event(), threading.Event()

    def grows(ticket: Job) -> str:
        gates[0].wait(10)
        ticket.publish("a look")
        gates[1].wait(10)
        return "the whole"

    job = pool.submit(("ann", "scene"), "key", grows)
    job.wait_for_a_look(0.01)
    assert job.latest is None
    gates[0].set()
    started = time.monotonic()
    job.wait_for_a_look(10)
    assert job.latest == "a look" and job.active
    gates[1].set()
    assert job.wait(10)

    whole = pool.submit(("ann", "scene"), "other", lambda ticket: "no look before the end")
    whole.wait_for_a_look(10)
    assert whole.result and time.monotonic() - started < 5
