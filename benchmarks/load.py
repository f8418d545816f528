"""What a class waits for: `python -m benchmarks.load [SECONDS]`, on a server of the real app, without browsers.

Thirty readers (most move something every 1 to 4 s; one trains digits, one grows layers, one uploads 10 MB again and
again, one types formulas), then a hundred who mostly read (each moves something every 20 s). Prints percentiles of the
seconds from a control to the new run's picture, pictures a second, the server's memory and CPU. The kernel cache should
be filled (`python -m engine.warm`).
"""

from __future__ import annotations

import asyncio
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.load import classroom
from tests.load.test_class import warmed
from tests.load.user import User
from tests.server import ROOT, Server

READERS, MANY = 30, 100
TICKS = os.sysconf("SC_CLK_TCK")


def main(arguments: Sequence[str]) -> None:
    """Measure and print."""
    seconds = float(arguments[0]) if arguments else 60.0
    packages = ", ".join(f"{name} {version(name)}" for name in ("streamlit", "numba", "numpy"))
    print(f"Python {platform.python_version()}, {packages}, {os.cpu_count()} cores\n")
    with tempfile.TemporaryDirectory() as folder:
        server = Server(ROOT / "app" / "main.py", Path(folder) / "log.txt")
        try:
            asyncio.run(warmed(server.url))
            _measure(server, f"{READERS} readers in a lesson", lambda: _lesson(server.url, seconds))
            _measure(server, f"{MANY} readers reading", lambda: classroom.reading(server.url, MANY, 2.0 * seconds))
        finally:
            server.stop()


async def _lesson(url: str, seconds: float) -> list[User]:
    found = await classroom.lesson(url, READERS, seconds)
    return found["movers"]


def _measure(server: Server, name: str, run: Callable[[], Coroutine[Any, Any, list[User]]]) -> None:
    begin, spent = time.monotonic(), cpu_seconds(server)
    users = asyncio.run(run())
    took = time.monotonic() - begin
    waits = sorted(seconds for user in users for seconds in user.pictures)
    told = ", ".join(f"p{p} {1000 * waits[min(len(waits) - 1, len(waits) * p // 100)]:.0f} ms" for p in (50, 95, 99))
    faults = sum(len(user.faults) for user in users)
    print(
        f"{name}: {len(waits)} pictures in {took:.0f} s, {told}, longest {waits[-1]:.2f} s, {faults} faults; "
        f"server {_memory(server):.0f} MB, {(cpu_seconds(server) - spent) / took:.2f} cores",
        flush=True,
    )


def cpu_seconds(server: Server) -> float:
    """CPU seconds of the server so far."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _memory(server: Server) -> float:
    """Its resident memory in MB."""
    lines = Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1000.0


if __name__ == "__main__":
    main(sys.argv[1:])
