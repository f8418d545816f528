"""Several processes behind nginx beside one: `python -m benchmarks.processes [SECONDS [REPEATS]]`, on the same cores.

Thirty readers who move something every 1 to 4 s, without browsers, by one process alone, and by one, two and more behind
nginx (`make serve`), in turn: percentiles of the seconds from a control to the new run's picture, the least of the
repeats, and memory, side by side. Then two processes of which one is killed, and two that are started anew one by one:
how long readers are away.
"""

from __future__ import annotations

import asyncio
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from threading import Thread

import psutil

from tests.fronted import serving
from tests.load.staying import Reader, class_of
from tests.load.test_processes import disturb
from tests.server import ROOT, Server

READERS = 30
PROCESSES = (1, 2)
PERCENT = (50, 95, 99)
WARM = 12.0  # s in which every process loads what the class opens


def main(arguments: Sequence[str]) -> None:
    """Measure and print."""
    seconds, repeats = float(arguments[0]) if arguments else 45.0, int(arguments[1]) if arguments[1:] else 2
    packages = ", ".join(f"{name} {version(name)}" for name in ("streamlit", "numba", "numpy"))
    print(f"Python {platform.python_version()}, {packages}, {os.cpu_count()} cores, {READERS} readers for {seconds:.0f} s")
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder, servers = Path(name), {}
        server = Server(ROOT / "app" / "main.py", folder / "log.txt")
        stack.callback(server.stop)
        servers["one process alone"] = server.url, [server.process.pid]
        for number in PROCESSES:
            (folder / str(number)).mkdir()
            served = stack.enter_context(serving(folder / str(number), number))
            servers[f"{number} behind nginx"] = served.url, [process.pid for process in served.front.processes]
        for url, _ in servers.values():
            _class(url, WARM)
        runs: dict[str, list[list[float]]] = {what: [] for what in servers}
        for _ in range(repeats):
            for what, (url, _) in servers.items():
                runs[what].append(_waits(_class(url, seconds)))
        print(f"{'':20}" + "".join(f"{head:>12}" for head in ("median", *(f"{percent} of 100" for percent in PERCENT[1:]), "memory")))
        for what, (_, pids) in servers.items():
            best = [min(run[i] for run in runs[what]) for i in range(len(PERCENT))]
            memory = sum(psutil.Process(pid).memory_info().rss for pid in pids) / 1e6
            print(f"{what:20}" + "".join(f"{f'{1000 * wait:.0f} ms':>12}" for wait in best) + f"{f'{memory:.0f} MB':>12}", flush=True)
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder), 2) as served:
        trouble = Thread(target=disturb, args=[served.front])
        trouble.start()
        found = asyncio.run(class_of(served.url, READERS, trouble.is_alive))
        gone = sorted(absence for reader in found for absence in reader.gone)
        lost = sum(reader.lost for reader in found)
        print(f"a process killed, then both started anew: {len(gone)} absences, half of them up to {gone[len(gone) // 2]:.1f} s, ", end="")
        print(f"the longest {gone[-1]:.1f} s; {lost} readers lost", flush=True)


def _class(url: str, seconds: float) -> list[Reader]:
    end = time.monotonic() + seconds
    return asyncio.run(class_of(url, READERS, lambda: time.monotonic() < end))


def _waits(readers: Sequence[Reader]) -> list[float]:
    """Percentiles of all waits."""
    waits = sorted(wait for reader in readers for wait in reader.pictures)
    return [waits[min(len(waits) - 1, len(waits) * percent // 100)] for percent in PERCENT]


if __name__ == "__main__":
    main(sys.argv[1:])
