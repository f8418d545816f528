"""Servers for tests: the app, and the app with the demo lesson, each on a free port of this machine; and what the
kernel says of one while it runs."""

from __future__ import annotations

import ctypes
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

MAIN = """
import sys
sys.path.insert(0, {root!r})
from pathlib import Path
from app import catalogue
{first}
import streamlit as st
from app.server import application
app = st.App(Path({root!r}, "app", "main.py"), **application.parts({{entry.slug: entry.package for entry in catalogue.LESSONS}}))
{last}
"""
DEMO = """
catalogue.LESSONS = (catalogue.Entry("demo", "tests/kit/demo", ("long",)),)
catalogue.TRACKS = {"Beginnings": catalogue.LESSONS}
"""
TICKS = os.sysconf("SC_CLK_TCK")  # of a CPU clock in /proc, a second
LISTENS, ENDED = "0A", "06"  # states of a socket in /proc/net/tcp


class Server:
    """`streamlit run <script>`.

    port : 0 for one that is free
    environment : variables that differ from ours
    before : called in the server's process before it begins
    within : a command that runs the one behind it
    """

    def __init__(
        self,
        script: Path,
        log: Path,
        *,
        port: int = 0,
        environment: Mapping[str, str] | None = None,
        before: Callable[[], None] | None = None,
        within: Sequence[str] = (),
    ):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = log
        where = ["--server.port", str(self.port), "--server.address", "127.0.0.1"]
        # as a user's server does, it keeps the byte code of what it imports
        inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        with log.open("wb") as sink:
            self.process = subprocess.Popen(
                [*within, sys.executable, "-m", "streamlit", "run", str(script), *where],
                cwd=ROOT,
                env={**inherited, **(environment or {})},
                stdout=sink,
                stderr=subprocess.STDOUT,
                preexec_fn=before,
            )
        self._proc = Path("/proc", str(self.process.pid))
        self._wait()

    def stop(self) -> None:
        """End the server."""
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End the server as a loss of power does."""
        self.process.kill()
        self.process.wait()

    def said(self) -> str:
        """The log."""
        return self.log.read_text(errors="replace")

    # what the kernel says of the process

    def cpu(self) -> float:
        """Seconds of CPU that it has used."""
        fields = (self._proc / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory(self) -> float:
        """Resident memory in MB."""
        return int((self._proc / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def threads(self) -> int:
        """How many there are."""
        return len(list((self._proc / "task").iterdir()))

    def files(self) -> int:
        """How many are open, sockets among them."""
        return len(list((self._proc / "fd").iterdir()))

    def readers(self) -> int:
        """How many connections to its port it has not closed."""
        rows = [line.split() for line in (self._proc / "net" / "tcp").read_text().splitlines()[1:]]
        return sum(row[1].endswith(f":{self.port:04X}") and row[3] not in (LISTENS, ENDED) for row in rows)

    def _wait(self, seconds: float = 60.0) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=1):
                    return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.01)
        self.stop()
        raise RuntimeError(f"the server did not start:\n{self.log.read_text()}")


def served(script: Path, log: Path) -> Iterator[Server]:
    """A server for as long as a fixture lives; its log is printed at the end if it holds a traceback."""
    running = Server(script, log)
    try:
        yield running
    finally:
        running.stop()
    if "Traceback" in running.said():
        print(f"\nthe server's log:\n{running.said()[-4000:]}", file=sys.stderr)


def no_power_over_files() -> None:
    """Even root asks for permission after this, once it has started another program."""
    if os.getuid() == 0:
        drop_from_bounding_set, dac_override = 24, 1
        assert ctypes.CDLL(None).prctl(drop_from_bounding_set, dac_override, 0, 0, 0) == 0


def demo_script(folder: Path, more: str = "") -> Path:
    """Write an entry script into `folder` that shows the demo lesson of tests/kit/demo instead of the catalogue; `more`
    is Python that it runs last."""
    return _script(folder, DEMO, more)


def app_script(folder: Path, more: str) -> Path:
    """The same of the app itself."""
    return _script(folder, "", more)


def _script(folder: Path, first: str, last: str) -> Path:
    shutil.copytree(ROOT / "app" / "static", folder / "app" / "static")
    script = folder / "app" / "main.py"
    script.write_text(MAIN.format(root=str(ROOT), first=first, last=last), encoding="utf-8")
    return script
