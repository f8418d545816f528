"""nginx in front of servers that say yes to everything: who asks too often is told so, others are not."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from app.server import front

pytestmark = pytest.mark.skipif(shutil.which("nginx") is None, reason=front.MISSING)
LIMITED = [  # where, and how many a minute and at once a reader may ask for; a class ten times as many at once
    ("/_stcore/upload_file/session/file", "PUT", front.UPLOADS, 20),
    ("/_stcore/stream", "GET", front.VISITS, 40),
]


class Yes(BaseHTTPRequestHandler):
    """Answers 200."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_PUT = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Not at all."""


class Room(ThreadingHTTPServer):
    """Takes as many at once as are sent."""

    request_queue_size = 2000


@contextmanager
def limited(folder: Path) -> Iterator[str]:
    """nginx as `make serve` sets it up, before one such server."""
    behind = Room(("127.0.0.1", 0), Yes)
    threading.Thread(target=behind.serve_forever, daemon=True).start()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = folder / "nginx.conf"
    config.write_text(front.configuration([f"127.0.0.1:{behind.server_port}"], f"127.0.0.1:{port}", folder))
    nginx = subprocess.Popen(["nginx", "-c", str(config), "-e", str(folder / "nginx.log")])
    try:
        end = time.monotonic() + 10.0
        while asked(f"http://127.0.0.1:{port}/", "") != 200:
            assert time.monotonic() < end and nginx.poll() is None
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        nginx.terminate()
        nginx.wait()
        behind.shutdown()


def asked(url: str, reader: str, method: str = "GET") -> int:
    """The status of the answer; 0 without one."""
    request = urllib.request.Request(url, method=method, headers={"Cookie": f"{front.COOKIE}=p0.{reader}"} if reader else {})
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.status
    except urllib.error.HTTPError as refused:
        return refused.code
    except OSError:
        return 0


def asked_at_once(url: str, readers: list[str], method: str) -> tuple[Counter[int], float]:
    """The statuses of one request of each reader, all sent before an answer is read, and the seconds until all were read:
    nginx lets in or turns away when a request comes, however long the server takes.
    """
    address = urlsplit(url)
    begun, statuses = time.monotonic(), Counter[int]()
    with ExitStack() as open_until_read:
        sockets = []
        for reader in readers:
            connection = open_until_read.enter_context(socket.create_connection((address.hostname, address.port), timeout=30))
            head = f"{method} {address.path} HTTP/1.1\r\nHost: {address.netloc}\r\nCookie: {front.COOKIE}=p0.{reader}\r\n"
            connection.sendall(f"{head}Content-Length: 0\r\nConnection: close\r\n\r\n".encode())
            sockets.append(connection)
        for connection in sockets:
            statuses[int(connection.makefile("rb").readline().split()[1])] += 1
    return statuses, time.monotonic() - begun


@pytest.mark.parametrize(("path", "method", "a_minute", "burst"), LIMITED)
def test_who_asks_too_often_is_turned_away_and_others_are_not(path: str, method: str, a_minute: int, burst: int, tmp_path: Path):
    def held(readers: list[str], share: int) -> None:
        """They may ask as often as `share` readers may."""
        found, seconds = asked_at_once(url + path, readers, method)
        assert found[200] + found[429] == len(readers), found
        most = share * a_minute / 60 * seconds + allowed[share] + 1
        assert allowed[share] < found[200] <= most and found[429], (found, seconds)

    allowed = {1: burst, front.CLASS: 10 * burst}
    with limited(tmp_path) as url:
        held(["ann"] * 3 * burst, 1)
        assert all(asked(url + path, "ben", method) == 200 for _ in range(10)), "of another reader in the same room"
        assert all(asked(f"{url}/hmc", "ann") == 200 for _ in range(60)), "pages are not limited"
        time.sleep((2 * burst + 20) / (front.CLASS * a_minute / 60))  # until what was let in is forgotten
        held([f"nobody{i}" for i in range(20 * burst)], front.CLASS)  # who has a new cookie each time is known by address
