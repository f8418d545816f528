"""A Dask cluster on this machine, in processes of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.server import ROOT

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
def scheduler(folder: Path, port: int = 0) -> Iterator[tuple[str, subprocess.Popen]]:
    """A scheduler on this machine, at a free port where none is given: its address, its process."""
    log = folder / "scheduler.log"
    with running("dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard", log=log) as process:
        end = time.monotonic() + PATIENCE
        while "Scheduler at:" not in log.read_text():
            assert time.monotonic() < end and process.poll() is None, log.read_text()
            time.sleep(0.1)
        yield log.read_text().partition("Scheduler at:")[2].split()[0], process


def worker(stack: ExitStack, address: str, folder: Path, name: str, *more: str, at: Path = ROOT) -> subprocess.Popen:
    """A worker of one thread, as README starts one."""
    arguments = address, "--nthreads", "1", "--no-dashboard", "--name", name, "--local-directory", str(folder), *more
    return stack.enter_context(running("dask_worker", *arguments, folder=at, log=folder / f"{name}.log"))
