"""A real cluster on this machine: same results as here, none lost, and a server that starts with a good one only."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import datasets
import engine
from app import catalogue
from app.kit import cluster, elsewhere, jobs
from app.kit.elsewhere import There
from app.kit.verdicts import KernelProofs
from engine import slices, turns
from engine.evidence import EvidenceSpec, architecture_evidence
from engine.judge.check import KINDS
from engine.kept import Store
from engine.resumable import Resumable
from engine.ticket import look
from lessons.reproduce import running as reproducing
from lessons.reproduce import store
from lessons.reproduce.experiment import QUICK
from lessons.reproduce.registry import BY_ID
from tests.dask import PATIENCE, scheduler, worker
from tests.engine.test_slices import MAKE, contents
from tests.load.user import play, visiting
from tests.operator.test_application import figure
from tests.power import lesson_of
from tests.server import ROOT, Server


def until(holds, what: str) -> None:
    """Wait for it."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.1)


def ended(job: jobs.Job, *others: jobs.Job) -> bool:
    """Wait for its end, as pages do that look at it and at others."""

    def looked() -> bool:
        for each in (job, *others):
            each.heartbeat()
        return not job.active

    until(looked, "the end of a job")
    return job.state == jobs.DONE


def test_an_address_where_nobody_answers_stops_the_start():
    before = threading.active_count()
    (said,) = cluster.check("tcp://127.0.0.1:9")
    assert threading.active_count() == before, "a server looks every few seconds for a cluster that has gone"
    assert said.startswith("No scheduler answers at tcp://127.0.0.1:9")
    environment = {**os.environ, "POSTERIOR_LAB_DASK": "tcp://127.0.0.1:9"}
    call = [sys.executable, "-m", "streamlit", "run", "app/main.py", "--server.port", "0", "--server.address", "127.0.0.1"]
    ended = subprocess.run(call, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 1 and said in ended.stderr


class Answers:
    """A client of workers that say this of themselves."""

    def __init__(self, **said: cluster.About):
        self._said = said

    def nthreads(self) -> dict[str, int]:
        return dict.fromkeys(self._said, 1)

    def submit(self, function: Any, *_: object, workers: list[str], pure: bool) -> Any:
        return SimpleNamespace(result=lambda timeout: self._said[workers[0]] if function is cluster.about else None)

    def run(self, function: Any) -> dict[str, Any]:
        return self._said

    def close(self) -> None:
        """Nothing."""


def test_what_differs_on_a_worker_is_named(monkeypatch: pytest.MonkeyPatch):
    here = cluster.about()
    for what in ("python", "numpy", "numba", "posterior_lab"):
        client = Answers(well=here, other=here._replace(**{what: "0.1"}))
        monkeypatch.setattr(cluster, "_client", lambda address, client=client: client)
        assert cluster.check("tcp://there:8786") == [f"other: {what} is 0.1, here {getattr(here, what)}."]
    monkeypatch.setattr(cluster, "_client", lambda address: Answers(late=here._replace(time=here.time - 60)))
    (said,) = cluster.check("tcp://there:8786")
    assert said.startswith("late: its clock is -") and said.endswith(" s off.")
    client = Answers(well=here._replace(filled=True), bare=here._replace(filled=False), old=here._replace(filled=True, cpu="another"))
    monkeypatch.setattr(cluster, "_client", lambda address: client)
    assert cluster.check("tcp://there:8786") == []
    workers, kernels, cpu = cluster.remarks("tcp://there:8786")
    monkeypatch.setattr(cluster, "_client", lambda address: Answers(well=here._replace(filled=True)))
    assert cluster.remarks("tcp://there:8786") == ["1 worker, 1 thread."]
    assert workers == "3 workers, 3 threads." and "by bare:" in kernels and cpu.startswith("Another CPU than here: old;")


def test_what_slices_share_is_sent_once_and_not_kept_without_bound(monkeypatch: pytest.MonkeyPatch):
    sent: list[int] = []

    class Client:
        def submit(self, _: object, data: bytes, **__: object) -> Any:
            sent.append(len(data))
            return SimpleNamespace(client=self, status="finished")

    monkeypatch.setattr(elsewhere, "HELD", 2500)
    reach, (a, b, c) = elsewhere.Reach(Client(), 1), (slices.Shared(bytes([i]) * 1000) for i in range(3))
    for same in (a, b, a, slices.Shared(a.value), c, a):
        reach.hold(same)
    assert len(sent) == 3, "each once, known by its bytes"
    assert set(reach._held) == {a.digest, c.digest}, "the least recently used goes"
    reach.hold(b)
    assert len(sent) == 4 and reach.counts["bytes sent"] == sum(sent)


def test_readers_share_a_worker_by_what_they_have_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(slices, "SLICE", 0.2)
    with ExitStack() as stack:
        address, _ = stack.enter_context(scheduler(tmp_path))
        worker(stack, address, tmp_path, "only")
        until(lambda: cluster.check(address) == [], "a worker")
        pool = jobs.Pool(turns.Turns(2), cluster=cluster.Cluster(address), shelf=Store(1))
        logs = {reader: tmp_path / reader for reader in ("ann", "ben")}
        made = {}
        for reader, log in logs.items():
            made[reader] = pool.submit((reader, "steps"), reader, stepped, str(log), 0.1, keep=False, local=True)
            if reader == "ann":
                until(lambda: log.exists() and len(lines(log)) >= 22, "she has had two thirds of her steps")  # noqa: B023
        assert ended(made["ann"], made["ben"])
        done = len(lines(logs["ben"]))
        assert ended(made["ben"]) and len(lines(logs["ben"])) == 32
        assert done >= 13, f"ben comes first until he has had as much: {done} of his 32 steps when ann's were done"
        pool.close()


def test_work_goes_there_comes_back_the_same_and_is_not_lost_with_it(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    lesson = lesson_of("metropolis")
    proofs, spec = KernelProofs(lesson.kernels, lesson.audit), lesson.scenarios[0].spec
    with ExitStack() as stack:
        address, process = stack.enter_context(scheduler(tmp_path))
        assert cluster.check(address) == [f"The scheduler at {address} has no workers."]
        worker(stack, address, tmp_path, "first")
        until(lambda: cluster.check(address) == [], "a worker that can do what is sent there")
        reach = cluster.Cluster(address)
        pool = jobs.Pool(turns.Turns(2), cluster=reach, shelf=Store(1))
        there = pool.submit(("ann", "kernel"), ("metropolis", "kernel"), proofs, spec, keep=False)
        assert ended(there), there.error
        assert repr(there.result) == repr(proofs(spec, there)) and reach.counts["jobs"] == 1
        long = pool.submit(("ann", "checks"), ("metropolis", "checks"), waits, keep=False)
        until(lambda: long.latest == "begun", "news of it")
        process.kill()
        assert ended(long) and long.result == "here", long.error
        until(pool.is_cut_off, "the cluster is known to be gone")
        meanwhile = pool.submit(("ann", "panels"), ("metropolis", "panels"), waits, keep=False)
        assert ended(meanwhile) and meanwhile.result == "here" and reach.counts["jobs"] == 1
        stack.enter_context(scheduler(tmp_path, int(address.rpartition(":")[2])))
        last = worker(stack, address, tmp_path, "second", "--no-nanny")
        until(reach.is_up, "it is back")
        again = pool.submit(("ben", "kernel"), ("metropolis", "kernel"), proofs, spec, keep=False)
        assert ended(again) and repr(again.result) == repr(there.result) and reach.counts["jobs"] == 2
        said = [line for record in caplog.records if address in (line := record.getMessage()) and record.name == cluster.__name__]
        assert len(said) == 2, said
        assert "out of reach for 5 s" in said[0] and said[1].endswith("is back")
        stranded = pool.submit(("ben", "checks"), ("metropolis", "checks"), waits, keep=False)
        until(lambda: stranded.latest == "begun", "news of it")
        os.killpg(last.pid, signal.SIGKILL)
        assert ended(stranded) and stranded.result == "here", "a scheduler without workers is no cluster"
        pool.close()


def waits(ticket: object) -> str:
    """At a cluster: says that it has begun, and waits for longer than anybody does. Here: is done at once."""
    if isinstance(ticket, jobs.Job):
        return "here"
    for _ in range(3000):
        ticket.publish("begun")  # type: ignore[attr-defined]
        time.sleep(0.1)
    return "there"


class Steps(Resumable):
    """Chains that add random numbers up, slowly, and write down who does which units."""

    _carries, _writes = ("_rng", "_at"), ("_path",)

    def __init__(self, log: Path, pause: float, chains: int = 2, draws: int = 16):
        self.log, self.pause, self.chains, self.warmup, self.draws = log, pause, chains, 0, draws
        self._rng = [np.random.Generator(np.random.SFC64(c)) for c in range(chains)]
        self._at = np.zeros(chains)
        self._make_room()

    def _make_room(self) -> None:
        self._path = np.empty((self.chains, self.draws))

    def _advance_chain(self, c: int, first: int, n: int) -> None:
        for i in range(first, first + n):
            time.sleep(self.pause)
            self._at[c] += self._rng[c].standard_normal()
            self._path[c, i] = self._at[c]
            with self.log.open("a") as sink:
                sink.write(f"{os.getpid()} {i} {self._at[c]}\n")


def stepped(log: str, pause: float, ticket: object) -> tuple[bytes, int]:
    """All steps of the chains; and the process that saw to it."""
    run = Steps(Path(log), pause)
    while not run.done:
        run.advance(16)
        ticket.report(run.completed, run.draws)  # type: ignore[attr-defined]
    return run._path.tobytes(), os.getpid()


def endless(log: str, ticket: object) -> None:
    """A slice that ends when nobody wants it any more."""
    slices.each(_looks, log, [0])


def _looks(log: str, _: int) -> None:
    try:
        while True:
            look()
            time.sleep(0.01)
            Path(log).write_text("begun")
    except InterruptedError:
        Path(log).write_text("stopped")
        raise


def test_long_work_goes_there_in_slices_and_a_worker_that_is_killed_costs_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(slices, "SLICE", 0.4)
    with ExitStack() as stack:
        address, _ = stack.enter_context(scheduler(tmp_path))
        workers = [worker(stack, address, tmp_path, name, "--no-nanny") for name in ("first", "second")]
        until(
            lambda: cluster.check(address) == [] and len(cluster.remarks(address)[0]) and "2 workers" in cluster.remarks(address)[0], "both"
        )
        there = cluster.Cluster(address)
        pool = jobs.Pool(turns.Turns(2), cluster=there, shelf=Store(1))

        wanted = pool.submit(("ann", "endless"), "endless", endless, str(tmp_path / "endless"), keep=False, local=True)
        until(lambda: (tmp_path / "endless").exists(), "the slice begins")
        wanted.stop()
        until(lambda: (tmp_path / "endless").read_text() == "stopped", "the slice hears that it is not wanted")

        whole = pool.submit(("ann", "whole"), "whole", stepped, str(tmp_path / "whole"), 0.05, keep=False)
        assert ended(whole), whole.error
        assert whole.result[1] != os.getpid() and {pid for pid, *_ in lines(tmp_path / "whole")} == {each.pid for each in workers}

        steps = tmp_path / "steps"
        job = pool.submit(("ann", "steps"), "steps", stepped, str(steps), 0.1, keep=False, local=True)
        until(lambda: steps.exists() and len({pid for pid, *_ in lines(steps)}) == 3, "slices at both workers")
        os.killpg(workers[0].pid, signal.SIGKILL)
        assert ended(job), job.error
        found, driver = job.result
        assert driver == os.getpid() and found == whole.result[0] == stepped(str(tmp_path / "here"), 0.0, job)[0]
        done = lines(steps)
        twice = [(unit, value) for i, (pid, unit, value) in enumerate(done) if (unit, value) in {each[1:] for each in done[:i]}]
        lost = [(unit, value) for pid, unit, value in done if pid == workers[0].pid]
        assert set(twice) <= set(lost) and len(twice) <= 2 * 5, "only what was under way at the dead worker is done again"
        assert there.counts["slices"] > 6 and not any(pid == driver for pid, *_ in done[2:])

        before, network = there.counts["slices"], engine.network(2, 2, width=(1, 3), temper=0.5)
        problem = network, *datasets.xor(seed=1)[:2], EvidenceSpec(particles=16, islands=4)
        with slices.at(There(there)):
            far = architecture_evidence(*problem)
        assert there.counts["slices"] > before
        assert far.log_evidence.tobytes() == architecture_evidence(*problem).log_evidence.tobytes()
        reproduced("andersen-4.2", There(there), tmp_path, monkeypatch)
        pool.close()


def test_all_that_is_long_goes_there_and_has_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with ExitStack() as stack:
        address, _ = stack.enter_context(scheduler(tmp_path))
        for name in ("first", "second"):
            worker(stack, address, tmp_path, name)
        until(lambda: cluster.check(address) == [] and "2 workers" in cluster.remarks(address)[0], "both workers")
        there = cluster.Cluster(address)
        monkeypatch.setattr(slices, "WORTH", 0.0)
        monkeypatch.setattr(slices, "SLICE", 0.02)
        for name, make in MAKE.items():
            here, before = contents(make()), there.counts["slices"]
            with slices.at(There(there)):
                assert contents(make()) == here, name
            assert there.counts["slices"] > before or name == "kept", f"{name} stays here"
        monkeypatch.setattr(jobs, "_pool", jobs.Pool(turns.Turns(1), cluster=there, shelf=Store(1)))
        assert figure("posterior_lab_cluster_threads") == 2
        for name, least in (("slices", len(MAKE)), ("bytes_sent", 10_000), ("bytes_received", 10_000), ("seconds", 0.1)):
            assert figure(f"posterior_lab_cluster_{name}_total") == there.counts[name.replace("_", " ")] > least, name
        jobs.pool().close()


def reproduced(id: str, where: slices.Place, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The quick form of a printed experiment, its parts computed there and here: the same numbers."""
    found = {}
    monkeypatch.setattr(store, "RESULTS", folder / "results")
    for name, place in (("there", where), ("here", None)):
        monkeypatch.setenv("POSTERIOR_LAB_STATE", str(folder / f"computed {name}"))
        reproducing.run([BY_ID[id]], QUICK, 1, place)
        parts = [store.read_part(BY_ID[id], QUICK, number) for number in range(BY_ID[id].count(QUICK))]
        found[name] = repr([part and part[0] for part in parts]), repr(store.outcome(id))
    assert found["there"] == found["here"] and "None" not in found["there"][0]


@pytest.mark.long
def test_an_experiment_is_reproduced_there_while_a_worker_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with ExitStack() as stack:
        address, _ = stack.enter_context(scheduler(tmp_path))
        workers = [worker(stack, address, tmp_path, name, "--no-nanny") for name in ("first", "second")]
        until(lambda: cluster.check(address) == [] and "2 workers" in cluster.remarks(address)[0], "both workers")
        there, parts = cluster.Cluster(address), BY_ID["andersen-4.1"].count(QUICK)

        def kill() -> None:
            until(lambda: there.counts["slices"], "the first part")
            os.killpg(workers[0].pid, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        reproduced("andersen-4.1", There(there), tmp_path, monkeypatch)
        killer.join()
        assert there.counts["slices"] == parts, "all parts came from the cluster, each once"


def lines(log: Path) -> list[tuple[int, int, str]]:
    """Who did which unit, and where it led."""
    split = [line.split() for line in log.read_text().splitlines()]
    return [(int(pid), int(unit), value) for pid, unit, value in split]


@pytest.mark.long
def test_readers_are_told_where_the_cluster_has_gone_and_lose_nothing(tmp_path: Path):
    with ExitStack() as stack:
        address, process = stack.enter_context(scheduler(tmp_path))
        worker(stack, address, tmp_path, "first")
        until(lambda: cluster.check(address) == [], "a worker")
        server = Server(ROOT / "app" / "main.py", tmp_path / "server.log", environment={"POSTERIOR_LAB_DASK": address})
        stack.callback(server.stop)

        def figure(name: str) -> float:
            with urllib.request.urlopen(f"{server.url}/metrics", timeout=5) as answer:
                return sum(float(value) for value in re.findall(rf"^posterior_lab_{name}\b\S* (\S+)$", answer.read().decode(), re.M))

        async def reads() -> None:
            async with visiting(server.url, "metropolis") as user:

                async def moves(seed: int) -> bool:
                    """To another seed, and stays until its signs are there; whether the page says that the cluster is gone."""
                    shown, end = figure("verdicts_total"), time.monotonic() + PATIENCE
                    await user.new_seed(seed)
                    while figure("verdicts_total") < shown + len(KINDS):
                        assert time.monotonic() < end, user.texts
                        await user.poll(0.5)
                    return any("The cluster for long work is out of reach" in text for text in user.texts)

                await user.open()
                assert not await moves(11) and figure("cluster_threads") == 1 and figure("cluster_jobs_total") > 0
                process.kill()
                await moves(12)
                until(lambda: figure("cluster_threads") == 0, "it is known to be gone")
                assert await moves(13)
                stack.enter_context(scheduler(tmp_path, int(address.rpartition(":")[2])))
                worker(stack, address, tmp_path, "second")
                until(lambda: figure("cluster_threads") == 1, "it is back")
                before = figure("cluster_jobs_total")
                assert not await moves(14) and figure("cluster_jobs_total") > before
                assert not user.faults and not figure("errors_total")

        play(reads())
        said = server.said()
        assert said.index("out of reach for 5 s") < said.index("is back") and "Traceback" not in said


@pytest.mark.long
def test_a_worker_without_the_project_is_told_with_what_to_do(tmp_path: Path):
    with ExitStack() as stack:
        address, _ = stack.enter_context(scheduler(tmp_path))
        worker(stack, address, tmp_path, "bare", at=tmp_path)
        until(lambda: "not installed there" in " ".join(cluster.check(address)), "what is wrong with it")


@pytest.mark.long
def test_a_worker_that_is_killed_costs_its_own_work_alone(tmp_path: Path):
    slugs = [entry.slug for entry in catalogue.LESSONS][:6]
    with ExitStack() as stack:
        address, _ = stack.enter_context(scheduler(tmp_path))
        first = worker(stack, address, tmp_path, "first")
        worker(stack, address, tmp_path, "second")
        until(lambda: cluster.check(address) == [], "two workers")
        pool = jobs.Pool(turns.Turns(2), cluster=cluster.Cluster(address), shelf=Store(1))
        made = {}
        for slug in slugs:
            lesson = lesson_of(slug)
            proofs, spec = KernelProofs(lesson.kernels, lesson.audit), lesson.scenarios[0].spec
            made[slug] = pool.submit((slug, "kernel"), (slug, "kernel"), proofs, spec, keep=False)
        time.sleep(1.0)
        os.killpg(first.pid, signal.SIGKILL)
        for slug, job in made.items():
            assert ended(job, *made.values()), (slug, job.error)
        pool.close()
