"""Servers for tests: the app, and the app with the demo lesson, each on a free port of this machine."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

DEMO_MAIN = """
import sys
sys.path.insert(0, {root!r})
from pathlib import Path
from app import catalogue
catalogue.LESSONS = (
    catalogue.Entry(
        slug="demo",
        title="A random walk",
        track="Beginnings",
        file="tests/kit/demo/page.py",
        promise="A walk on the line.",
        icon="🚶",
        scenarios=(("long", "long steps"),),
    ),
)
import streamlit as st
from starlette.middleware import Middleware
from app.kit import assets, push
app = st.App(
    Path({root!r}, "app", "main.py"),
    routes=[push.route()],
    middleware=[Middleware(assets.Base, slugs=frozenset({{"demo"}}))],
)
"""


class Server:
    """`streamlit run <script>`."""

    def __init__(self, script: Path, log: Path):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = log
        where = ["--server.port", str(self.port), "--server.address", "127.0.0.1"]
        # as a user's server does, it keeps the byte code of what it imports
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        with log.open("wb") as sink:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "streamlit", "run", str(script), *where],
                cwd=ROOT,
                env=environment,
                stdout=sink,
                stderr=subprocess.STDOUT,
            )
        self._wait()

    def stop(self) -> None:
        """End the server."""
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()

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
    said = log.read_text(errors="replace")
    if "Traceback" in said:
        print(f"\nthe server's log:\n{said[-4000:]}", file=sys.stderr)


def demo_script(folder: Path, more: str = "") -> Path:
    """Write an entry script into `folder` that shows the demo lesson of tests/kit/demo instead of the catalogue; `more`
    is Python that it runs last."""
    shutil.copytree(ROOT / "app" / "static", folder / "app" / "static")
    script = folder / "app" / "main.py"
    script.write_text(DEMO_MAIN.format(root=str(ROOT)) + more, encoding="utf-8")
    return script
