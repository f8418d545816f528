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
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from app.server import front

pytestmark = pytest.mark.skipif(shutil.which("nginx") is None, reason=front.MISSING)
MANY = 60
PATHS = ["/_stcore/upload_file/session/file", "/_stcore/stream"]


class Yes(BaseHTTPRequestHandler):
    """Answers 200."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_PUT = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Not at all."""


@contextmanager
def limited(folder: Path) -> Iterator[str]:
    """nginx as `make serve` sets it up, before one such server."""
    behind = ThreadingHTTPServer(("127.0.0.1", 0), Yes)
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


@pytest.mark.parametrize("path", PATHS)
def test_who_asks_too_often_is_turned_away_and_others_are_not(path: str, tmp_path: Path):
    with limited(tmp_path) as url:
        method = "PUT" if "upload" in path else "GET"
        found = Counter(asked(url + path, "ann", method) for _ in range(MANY))
        assert found[200] >= 20 and found[429] >= 10 and found[200] + found[429] == MANY, found
        assert all(asked(url + path, "ben", method) == 200 for _ in range(10)), "of another reader in the same room"
        assert all(asked(f"{url}/hmc", "ann") == 200 for _ in range(MANY)), "pages are not limited"
        without = Counter(asked(url + path, f"nobody{i}", method) for i in range(10 * MANY))
        assert without[429] >= 50, "who has a new cookie each time is known by address"
