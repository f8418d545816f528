"""A run of a page touches no disk: each call gives up the interpreter, which a busy server gives back late."""

from __future__ import annotations

from pathlib import Path

from tests.load.user import play, visiting
from tests.server import ROOT, demo_script, served

# Notes what a script's thread asks of the file system. Audit events name opens and listings; a look at a file has none.
WATCH = """
import os, threading
def _note(what, where):
    if "script" in threading.current_thread().name.lower():
        with _open({log!r}, "a") as log:
            log.write(f"{{what}} {{where}}\\n")
_open, _quiet = open, threading.local()
def _hook(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and not getattr(_quiet, "on", False):
        _quiet.on = True
        try:
            _note(event, arguments[0])
        finally:
            _quiet.on = False
def _watched(name):
    asked = getattr(os, name)
    def look(path, *arguments, **more):
        _quiet.on = True
        try:
            _note("os." + name, path)
        finally:
            _quiet.on = False
        return asked(path, *arguments, **more)
    return look
os.stat, os.lstat = _watched("stat"), _watched("lstat")
sys.addaudithook(_hook)
"""


def test_a_new_run_touches_no_disk(tmp_path: Path):
    log = tmp_path / "disk.txt"
    script = demo_script(tmp_path, WATCH.format(log=str(log)))

    async def visit(url: str) -> list[str]:
        async with visiting(url, "demo") as user:
            await user.open()
            await user.poll(12.0)  # charts are loaded, the verdicts are there
            for step in range(2):
                await user.set_number("demo/drift/box", 0.11 + 0.01 * step)
                await user.poll(4.0)
            before = log.read_text().splitlines()
            assert before, "the watch works: a first run reads the page"
            for step in range(3):
                await user.set_number("demo/drift/box", 0.21 + 0.01 * step)
                await user.poll(3.0)
            assert not user.faults and len(user.runs) >= 6
            return log.read_text().splitlines()[len(before) :]

    for server in served(script, tmp_path / "log.txt"):
        asked = play(visit(server.url))
        own = f"os.stat {ROOT / 'app' / 'main.py'}"  # Streamlit's look whether its script is a file
        assert [line for line in asked if line != own] == []
