"""Two processes behind nginx under a class: one is killed, then all are started anew one by one; nobody is lost."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from app.server import front
from tests.fronted import GRACE, answers, serving
from tests.load.staying import class_of
from tests.load.user import play
from tests.pace import slower
from tests.server import ROOT

pytestmark = [pytest.mark.alone, pytest.mark.skipif(shutil.which("nginx") is None, reason=front.MISSING)]
SOON = 5.0  # s after which a reader of a process that has ended has the picture again
CALM = 3.0  # s before and after each trouble
TROUBLE = 120.0  # s that it may take


@pytest.mark.parametrize("readers", [4, pytest.param(30, marks=pytest.mark.long)])
def test_nobody_is_lost_when_a_process_is_killed_or_all_are_started_anew(readers: int, tmp_path: Path):
    with serving(tmp_path) as served:
        trouble = threading.Thread(target=disturb, args=[served.front])
        trouble.start()
        found = play(class_of(served.url, readers, trouble.is_alive))
        trouble.join()
    gone = [absence for reader in found for absence in reader.gone]
    print(f"\n{readers} readers, {len(gone)} absences, the longest {max(gone):.1f} s")
    assert not any(reader.lost or reader.moved or reader.faults for reader in found), found
    assert len(gone) >= readers, "a kill and a round of restarts reach everybody"
    assert max(gone) < SOON * slower()


def disturb(door: front.Front) -> None:
    """Kill one, wait until it is there again, then have all started anew."""
    time.sleep(CALM)
    before = [process.pid for process in door.processes]
    os.kill(before[0] or 0, signal.SIGKILL)
    until(lambda: door.processes[0].pid != before[0] and door.processes[0].ready())
    before = [process.pid for process in door.processes]
    door.renew()
    until(lambda: all(process.pid not in before for process in door.processes) and door.processes[-1].ready())
    time.sleep(CALM)


def test_signals_start_all_anew_and_end_all_while_readers_are_there(tmp_path: Path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{probe.getsockname()[1]}"
    call = [sys.executable, "-m", "app.server.front", "--processes", "2", "--listen", where, "--folder", str(tmp_path)]
    served = subprocess.Popen(call, cwd=ROOT)
    try:
        until(lambda: answers(f"http://{where}/readyz"))
        nginx, *before = sorted(psutil.Process(served.pid).children(), key=lambda each: "nginx" not in each.name())
        ended, found = threading.Event(), []
        readers = threading.Thread(target=lambda: found.extend(play(class_of(f"http://{where}", 4, lambda: not ended.is_set()))))
        readers.start()
        time.sleep(CALM)
        served.send_signal(signal.SIGHUP)
        until(lambda: not any(each.is_running() for each in before))
        until(lambda: len(psutil.Process(served.pid).children()) == 3 and answers(f"http://{where}/readyz"))
        time.sleep(CALM)
        last = psutil.Process(served.pid).children()
        assert nginx in last and not set(before) & set(last)
        begin = time.monotonic()
        served.terminate()
        assert served.wait(GRACE) == 0, "ends by itself"
        assert time.monotonic() - begin < GRACE and not any(each.is_running() for each in last)
        ended.set()
        readers.join()
        assert sum(len(reader.gone) for reader in found) >= 2 and not any(reader.faults or reader.moved for reader in found), found
    finally:
        served.kill()
        served.wait()


def until(holds: Callable[[], bool]) -> None:
    """Wait for it."""
    end = time.monotonic() + TROUBLE
    while not holds() and time.monotonic() < end:
        time.sleep(0.1)
