"""Two processes behind nginx: one is killed under its reader, who is at the same run by the other; others notice
nothing.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from app.server import front
from tests.chaos import Tab
from tests.fronted import serving
from tests.pace import slower
from tests.server import ROOT

pytestmark = pytest.mark.skipif(shutil.which("nginx") is None, reason=front.MISSING)
SOON = 5.0  # s after which a reader of a killed process has the picture again


def visit(browser: Browser, url: str, path: str, process: str) -> Tab:
    """A new browser that stays with this process."""
    context = browser.new_context()
    context.add_cookies([{"name": front.COOKIE, "value": f"{process}.reader", "url": url}])
    tab = Tab(context.new_page())
    tab.page.goto(url + path)
    tab.settled(sessions=1)
    return tab


@pytest.mark.alone  # it times how soon
def test_a_process_is_killed_and_its_reader_goes_on_by_the_other(browser: Browser, tmp_path: Path):
    with serving(tmp_path) as served:
        paths = {"p0": "/metropolis?seed=5", "p1": "/metropolis?seed=6"}
        tabs = {name: visit(browser, served.url, path, name) for name, path in paths.items()}
        before = {name: tab.at() for name, tab in tabs.items()}
        assert before["p0"][1] != before["p1"][1]
        first = served.front.processes[0]
        assert first.pid is not None
        pace = slower()
        os.kill(first.pid, signal.SIGKILL)
        begin = time.monotonic()
        tabs["p0"].settled(sessions=2)
        seconds = time.monotonic() - begin
        assert {name: tab.at() for name, tab in tabs.items()} == before
        assert tabs["p1"].sessions == 1
        assert seconds < SOON * max(pace, slower()), f"the picture came after {seconds:.1f} s"
        while not first.ready():  # it is started anew by itself
            assert time.monotonic() - begin < 60.0
            time.sleep(0.1)
        for tab in tabs.values():
            tab.page.context.close()


def test_the_configuration_is_one_that_nginx_takes(tmp_path: Path):
    for number, base in ((1, ""), (3, "/lab")):
        (tmp_path / "nginx.conf").write_text(
            front.configuration([f"127.0.0.1:{9001 + i}" for i in range(number)], "127.0.0.1:9000", tmp_path, base)
        )
        said = subprocess.run(["nginx", "-t", "-c", str(tmp_path / "nginx.conf"), "-e", "stderr"], capture_output=True, text=True)
        assert said.returncode == 0, said.stderr


def test_an_upgrade_that_does_not_start_leaves_the_others_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    begun: list[int] = []

    class Broken(front.Process):
        ended = True  # type: ignore[assignment]

        def start(self) -> None:
            begun.append(self.port)

    monkeypatch.setattr(front, "Process", Broken)
    door = front.Front(2, "127.0.0.1:0", tmp_path)
    for process in door.processes:
        process.started = time.monotonic()
    door.renew()
    door._look()
    assert begun == [door.processes[0].port]
    assert door.run() == 1, "where none has ever been there, it says so and ends"


def test_a_missing_nginx_is_told_with_how_to_get_it(tmp_path: Path):
    without = "import app.server.front as f, pathlib; f.shutil.which = lambda _: None; f.NGINX = pathlib.Path('/none')"
    call = [sys.executable, "-c", f"{without}; raise SystemExit(f.main([]))"]
    ended = subprocess.run(call, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 2 and front.MISSING in ended.stderr
