"""A real cluster on this machine: same results as here, none lost, and a server that starts with a good one only."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

import datasets
import engine
from app import catalogue
from app.kit import cluster, jobs
from app.kit.elsewhere import There
from app.kit.verdicts import KernelProofs
from engine import slices, turns
from engine.evidence import EvidenceSpec, architecture_evidence
from engine.kept import Store
from engine.resumable import Resumable
from engine.ticket import look
from lessons.reproduce import running as reproducing
from lessons.reproduce import store
from lessons.reproduce.experiment import QUICK
from lessons.reproduce.registry import BY_ID
from tests.dask import PATIENCE, scheduler, worker
from tests.engine.test_slices import MAKE, contents
from tests.power import lesson_of
from tests.server import ROOT


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


def test_work_goes_there_comes_back_the_same_and_is_not_lost_with_it(tmp_path: Path):
    lesson = lesson_of("metropolis")
    proofs, spec = KernelProofs(lesson.kernels, lesson.audit), lesson.scenarios[0].spec
    with ExitStack() as stack:
        address, process = stack.enter_context(scheduler(tmp_path))
        assert cluster.check(address) == [f"The scheduler at {address} has no workers."]
        worker(stack, address, tmp_path, "first")
        until(lambda: cluster.check(address) == [], "a worker that can do what is sent there")
        pool = jobs.Pool(turns.Turns(2), cluster=cluster.Cluster(address), shelf=Store(1))
        there = pool.submit(("ann", "kernel"), ("metropolis", "kernel"), proofs, spec, keep=False)
        assert ended(there), there.error
        assert repr(there.result) == repr(proofs(spec, there))
        assert "first" in (tmp_path / "first.log").read_text()
        long = pool.submit(("ann", "checks"), ("metropolis", "checks"), waits, keep=False)
        until(lambda: long.latest == "begun", "news of it")
        process.kill()
        assert ended(long) and long.result == "here", long.error
        until(lambda: not pool.cluster.is_up(), "the cluster is known to be gone")
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


def reproduced(id: str, where: slices.Place, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The quick form of a printed experiment, its parts computed there and here: the same numbers."""
    found = {}
    monkeypatch.setattr(store, "RESULTS", folder / "results")
    for name, place in (("there", where), ("here", None)):
        monkeypatch.setenv("POSTERIOR_LAB_STATE", str(folder / f"computed {name}"))
        reproducing.run([BY_ID[id]], QUICK, 1, place)
        parts = [store.read_part(id, QUICK, number) for number in range(BY_ID[id].count(QUICK))]
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
