"""A Dask cluster beside threads: `python -m benchmarks.cluster [REPEATS]`, about four minutes each on two cores.

The evidence of networks with k = 1..16 units on XOR, and the quick form of a printed experiment, by two threads or
processes and by clusters of 1, 2 and 4 workers on this machine: seconds (the least of the repeats), slices, what a slice
costs beside its work, bytes. Then slices that do nothing, with a state of 1 KB and of 1 MB: what one costs this process,
the scheduler and a worker in CPU, how long one is under way, how many a second. docs/SCALE.md reckons with these.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import datasets
import engine
from app.kit.cluster import Cluster, check
from app.kit.elsewhere import There
from engine import slices
from engine.evidence import EvidenceSpec, architecture_evidence
from lessons.reproduce import running, store
from lessons.reproduce.experiment import QUICK
from lessons.reproduce.registry import BY_ID
from tests.dask import scheduler, worker

EXPERIMENT = "berezowski-5.6"
SPEC = EvidenceSpec(particles=48, islands=6)
WORKERS = (1, 2, 4)
EMPTY, SIZES = 200, {"1 KB": 1_000, "1 MB": 1_000_000}
TICKS = os.sysconf("SC_CLK_TCK")


def evidence(place: slices.Place | None) -> bytes:
    """Of k = 1..16."""
    x, y, _ = datasets.xor(seed=1)
    with slices.at(place):
        return architecture_evidence(engine.network(2, 2, width=(1, 16), temper=0.5), x, y, SPEC).log_evidence.tobytes()


def experiment(place: slices.Place | None) -> bytes:
    """The quick form, from nothing."""
    store.forget(EXPERIMENT)
    with contextlib.redirect_stdout(io.StringIO()):
        running.run([BY_ID[EXPERIMENT]], QUICK, 2, place)
    parts = [store.read_part(BY_ID[EXPERIMENT], QUICK, number) for number in range(BY_ID[EXPERIMENT].count(QUICK))]
    return repr([part and part[0] for part in parts]).encode()


WORK: dict[str, Callable[[slices.Place | None], bytes]] = {"evidence, k = 1..16": evidence, EXPERIMENT: experiment}


def main(arguments: Sequence[str]) -> None:
    """Measure and print."""
    repeats = int(arguments[0]) if arguments else 2
    packages = ", ".join(f"{name} {version(name)}" for name in ("distributed", "numba", "numpy"))
    print(f"Python {platform.python_version()}, {packages}, {os.cpu_count()} cores\n")
    evidence(None)  # kernels are compiled, or loaded
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        os.environ["POSTERIOR_LAB_STATE"], store.RESULTS = name, Path(name)
        expected = {}
        for what, work in WORK.items():
            expected[what], seconds = least(repeats, lambda work=work: work(None))
            print(f"{what}: here, 2 {'threads' if work is evidence else 'processes'}: {seconds:.1f} s", flush=True)
        address, process = stack.enter_context(scheduler(Path(name)))
        workers: list[int] = []
        for wanted in WORKERS:
            while len(workers) < wanted:
                workers.append(worker(stack, address, Path(name), f"w{len(workers)}", "--no-nanny").pid)
            while check(address) or (cluster := Cluster(address)).threads != wanted:
                time.sleep(0.5)
            for what, work in WORK.items():
                work(There(cluster))  # its kernels are loaded there
                before = cluster.counts.copy()
                found, seconds = least(repeats, lambda work=work, cluster=cluster: work(There(cluster)))
                assert found == expected[what], f"{what}: not the same bytes"
                print(f"{what}: {wanted} workers: {seconds:.1f} s; {told(cluster, before, repeats)}", flush=True)
        for size, length in SIZES.items():
            print(f"empty slices, {size} there and back: {empty(cluster, length, process.pid, workers)}", flush=True)


def least(repeats: int, work: Callable[[], bytes]) -> tuple[bytes, float]:
    """What it comes to, and the least of the seconds that it takes."""
    took = []
    for _ in range(repeats):
        begin = time.perf_counter()
        found = work()
        took.append(time.perf_counter() - begin)
    return found, min(took)


def told(cluster: Cluster, before: dict[str, Any], repeats: int) -> str:
    """Slices, their mean length and bytes since `before`, of one repeat."""
    made = {name: (count - before.get(name, 0)) / repeats for name, count in cluster.counts.items()}
    each = made["slices"]
    return (
        f"{each:.0f} slices of {made['seconds'] / each:.2f} s, {made['bytes sent'] / each / 1000:.1f} KB there and "
        f"{made['bytes received'] / each / 1000:.1f} KB back each"
    )


def empty(cluster: Cluster, length: int, scheduler_id: int, workers: Sequence[int]) -> str:
    """What slices cost that do nothing, one after the other and many together."""
    state, place = np.zeros(length, dtype=np.uint8), There(cluster)
    function = importlib.import_module("benchmarks.cluster").back  # by a name that workers know
    with place.working(function, slices.Shared(None)) as work:
        latency = []
        for _ in range(EMPTY // 4):
            begin = time.perf_counter()
            work.send(0, state)
            for _ in work:
                latency.append(time.perf_counter() - begin)
        spent, begin = cpu(scheduler_id, workers), time.perf_counter()
        for i in range(EMPTY):
            work.send(i, state)
        for _ in work:
            pass
        seconds = time.perf_counter() - begin
    each = [1000.0 * (after - before) / EMPTY for before, after in zip(spent, cpu(scheduler_id, workers), strict=True)]
    return (
        f"{1000.0 * np.median(latency):.1f} ms one, {EMPTY / seconds:.0f} a second together; CPU of each: "
        f"{each[0]:.1f} ms here, {each[1]:.1f} ms at the scheduler, {each[2]:.1f} ms at the worker"
    )


def back(_: None, state: Any) -> Any:
    """A slice that does nothing."""
    return state


def cpu(scheduler_id: int, workers: Sequence[int]) -> tuple[float, float, float]:
    """CPU seconds so far of this process, the scheduler and all workers."""

    def of(pid: int) -> float:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    return of(os.getpid()), of(scheduler_id), sum(of(pid) for pid in workers)


if __name__ == "__main__":
    main(sys.argv[1:])
