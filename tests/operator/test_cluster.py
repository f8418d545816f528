"""A real cluster on this machine: same results as here, none lost, and a server that starts with a good one only."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from app import catalogue
from app.kit import cluster, jobs
from app.kit.verdicts import KernelProofs
from engine import turns
from engine.kept import Store
from tests.power import lesson_of

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 90.0  # s


@contextmanager
def running(module: str, *arguments: str, folder: Path = ROOT, log: Path) -> Iterator[subprocess.Popen]:
    """A part of Dask in a process of its own, whose log is written to `log`."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with log.open("wb") as sink:
        call = [sys.executable, "-m", f"distributed.cli.{module}", *arguments]
        process = subprocess.Popen(call, cwd=folder, env=environment, stdout=sink, stderr=sink, start_new_session=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def scheduler(folder: Path) -> Iterator[tuple[str, subprocess.Popen]]:
    """A scheduler on this machine: its address, its process."""
    log = folder / "scheduler.log"
    with running("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", log=log) as process:
        end = time.monotonic() + PATIENCE
        while "Scheduler at:" not in log.read_text():
            assert time.monotonic() < end and process.poll() is None, log.read_text()
            time.sleep(0.1)
        yield log.read_text().partition("Scheduler at:")[2].split()[0], process


def worker(stack: ExitStack, address: str, folder: Path, name: str, at: Path = ROOT) -> subprocess.Popen:
    """A worker of one thread, as README starts one."""
    arguments = address, "--nthreads", "1", "--no-dashboard", "--name", name, "--local-directory", str(folder)
    return stack.enter_context(running("dask_worker", *arguments, folder=at, log=folder / f"{name}.log"))


def until(holds, what: str) -> None:
    """Wait for it."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.1)


def ended(job: jobs.Job) -> bool:
    """Wait for its end, as a page does that looks at it."""

    def looked() -> bool:
        job.heartbeat()
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
            assert ended(job), (slug, job.error)
        pool.close()
