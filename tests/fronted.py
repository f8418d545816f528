"""Processes behind nginx on this machine, as `make serve` starts them."""

from __future__ import annotations

import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from app.server import front

GRACE = 10.0  # s to end


class Served(NamedTuple):
    """A front, its process, and where it listens."""

    url: str
    front: front.Front


@contextmanager
def serving(folder: Path, processes: int = 2) -> Iterator[Served]:
    """So many processes behind nginx; they end within `GRACE`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    door = front.Front(processes, f"127.0.0.1:{port}", folder)
    runs = threading.Thread(target=door.run)
    runs.start()
    try:
        end = time.monotonic() + 60.0
        while not answers(f"http://127.0.0.1:{port}/readyz"):
            assert time.monotonic() < end and runs.is_alive(), "the front does not answer"
            time.sleep(0.1)
        yield Served(f"http://127.0.0.1:{port}", door)
    finally:
        begin = time.monotonic()
        door.stop()
        runs.join()
        assert time.monotonic() - begin < GRACE


def answers(url: str) -> bool:
    """Whether there is an answer, and a good one."""
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return answer.status == 200
    except OSError:
        return False
