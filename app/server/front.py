"""Several processes behind one door: `python -m app.server.front --processes 2`, the body of `make serve`.

nginx stands in front. A browser stays with one process by a cookie; where that process is gone, the next one serves it
until it is back: a tab comes back by itself to the same run, from its address. A process that ends is started anew.
SIGHUP starts all anew, one after the other, so that there is always one to answer: after an upgrade nobody is lost. One
that does not start ends the round: the others stay as they were.
SIGTERM and Ctrl-C end everything within `GRACE`.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from engine import settings

log = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = Path(__file__).with_name("nginx.conf")
NGINX, TYPES = Path("/usr/sbin/nginx"), Path("/etc/nginx/mime.types")
COOKIE = "posterior_lab"
LOOK = 0.2  # s between looks at the processes
GRACE = 8.0  # s that a process has to end
READY = 120.0  # s that a process has to load the engine
TOO_SOON = 5.0  # s: a process that ends before is not started again at once
UPLOADS, VISITS = 30, 120  # a minute and reader: files, and sessions begun
CLASS = 50  # readers behind one address
MISSING = "nginx is missing. On Debian or Ubuntu: sudo apt-get install nginx-light"


def configuration(servers_at: Sequence[str], listen: str, folder: Path, base: str = "", upload: int = 60) -> str:
    """What nginx reads: the processes as host:port, `listen` as its directive has it, `base` with a slash before and none
    behind, `upload` in MB."""
    names = [f"p{i}" for i in range(len(servers_at))]
    share = 100.0 / len(names)
    shares = [f"        {share:.2f}% {name};" for name in names[:-1]] + [f"        * {names[-1]};"]
    servers = [f"server {at} max_fails=1 fail_timeout=1s;" for at in servers_at]
    nexts = [server.replace(";", " backup;") for server in (servers[1:] + servers[:1] if len(names) > 1 else [])]
    upstreams = [
        f"    upstream {name} {{ {server} {nexts[i] if nexts else ''} }}"
        for i, (name, server) in enumerate(zip(names, servers, strict=True))
    ]
    return TEMPLATE.read_text(encoding="utf-8").format(
        folder=folder,
        types=TYPES,
        upload=upload,
        shares="\n".join(shares),
        cookie=COOKIE,
        kept="\n".join(rf"        ~^{name}\. {name};" for name in names),
        base=base,
        uploads=UPLOADS,
        visits=VISITS,
        all_uploads=CLASS * UPLOADS,
        all_visits=CLASS * VISITS,
        upstreams="\n".join(upstreams),
        listen=listen,
    )


class Process:
    """One server on a port of this machine that only nginx speaks to."""

    def __init__(self, port: int, secret: str, folder: Path, options: Sequence[str] = ()):
        self.port = port
        self._environment = {**os.environ, "STREAMLIT_SERVER_COOKIE_SECRET": secret}
        self._options = ["--server.port", str(port), "--server.address", "127.0.0.1", *options]
        self._log = folder / f"process-{port}.log"
        self._process: subprocess.Popen | None = None
        self.started = 0.0

    def start(self) -> None:
        """Begin, or begin again."""
        self.started = time.monotonic()
        call = [sys.executable, "-m", "streamlit", "run", str(ROOT / "app" / "main.py"), *self._options]
        with self._log.open("ab") as sink:
            self._process = subprocess.Popen(
                call, cwd=ROOT, env=self._environment, stdout=sink, stderr=subprocess.STDOUT, start_new_session=True
            )

    @property
    def ended(self) -> bool:
        """Whether it is gone by itself."""
        return self._process is not None and self._process.poll() is not None

    @property
    def pid(self) -> int | None:
        """Of the system."""
        return None if self._process is None else self._process.pid

    def ready(self) -> bool:
        """Whether it can make pictures."""
        base = next((o.partition("=")[2] for o in self._options if o.startswith("--server.baseUrlPath=")), "").strip("/")
        url = f"http://127.0.0.1:{self.port}/{base + '/' if base else ''}readyz"
        with contextlib.suppress(OSError, urllib.error.URLError), urllib.request.urlopen(url, timeout=1) as answer:
            return answer.status == 200
        return False

    def stop(self) -> None:
        """End it: it is asked, and after `GRACE` made to."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Front:
    """nginx and the processes behind it.

    listen : what nginx listens on, a port or address:port
    folder : for its files and the processes' logs
    options : of `streamlit run`, for each process
    """

    def __init__(self, processes: int, listen: str, folder: Path, base: str = "", options: Sequence[str] = ()):
        self._call = shutil.which("nginx") or (str(NGINX) if NGINX.exists() else None)
        if self._call is None:
            raise FileNotFoundError(MISSING)
        secret = os.environ.get("STREAMLIT_SERVER_COOKIE_SECRET") or secrets.token_hex(32)
        below = [f"--server.baseUrlPath={base.strip('/')}"] if base.strip("/") else []
        self.folder = folder
        self.processes = [Process(port, secret, folder, [*below, *options]) for port in _free_ports(processes)]
        self._config = folder / "nginx.conf"
        path = f"/{base.strip('/')}" if base.strip("/") else ""
        self._config.write_text(configuration([f"127.0.0.1:{p.port}" for p in self.processes], listen, folder, path), encoding="utf-8")
        self._nginx: subprocess.Popen | None = None
        self._stop, self._renew = threading.Event(), threading.Event()

    def run(self) -> int:
        """Serve until `stop`; the exit status."""
        try:
            for process in self.processes:
                process.start()
            for process in self.processes:
                self._await(process)
            self._nginx = subprocess.Popen([str(self._call), "-c", str(self._config), "-e", str(self.folder / "nginx.log")])
            while not self._stop.wait(LOOK):
                if self._nginx.poll() is not None:
                    log.error("nginx ended with status %s: %s", self._nginx.returncode, self.folder / "nginx.log")
                    return 1
                self._look()
            return 0
        except RuntimeError as problem:
            log.error("%s", problem)
            return 1
        finally:
            self._end()

    def stop(self, *_: object) -> None:
        """End everything."""
        self._stop.set()

    def renew(self, *_: object) -> None:
        """Start every process anew, one after the other."""
        self._renew.set()

    def _look(self) -> None:
        for process in self.processes:
            if process.ended and time.monotonic() - process.started > TOO_SOON:
                log.warning("the process on port %d has ended; it is started anew", process.port)
                process.start()
        if self._renew.is_set():
            self._renew.clear()
            for process in self.processes:
                process.stop()
                process.start()
                try:
                    self._await(process)
                except RuntimeError as problem:
                    log.error("%s; the other processes stay as they are", problem)
                    break

    def _await(self, process: Process) -> None:
        end = time.monotonic() + READY
        while not process.ready() and not self._stop.wait(LOOK):
            if process.ended or time.monotonic() > end:
                raise RuntimeError(f"the process on port {process.port} did not start: {self.folder / f'process-{process.port}.log'}")

    def _end(self) -> None:
        if self._nginx is not None and self._nginx.poll() is None:
            self._nginx.send_signal(signal.SIGTERM)
        ending = [threading.Thread(target=process.stop) for process in self.processes]
        for thread in ending:
            thread.start()
        for thread in ending:
            thread.join()
        if self._nginx is not None:
            self._nginx.wait()


def _free_ports(number: int) -> list[int]:
    """Ports of this machine that nobody uses."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def main(arguments: Sequence[str]) -> int:
    """Serve; the exit status. 2: nginx is missing, or a setting is wrong."""
    parser = argparse.ArgumentParser(prog="python -m app.server.front", description=__doc__.partition("\n")[0])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--listen", default="8501", help="port, or address:port, that nginx listens on")
    parser.add_argument("--base", default="", help="path below which the app is served")
    parser.add_argument("--folder", type=Path, help="for nginx's files and the logs; a new one if not given")
    parser.add_argument("--print", nargs="+", metavar="HOST:PORT", help="print nginx's configuration for these servers, and do no more")
    options = parser.parse_args(arguments)
    if options.print:
        print(configuration(options.print, options.listen, options.folder or Path("/tmp"), options.base))
        return 0
    if options.processes < 1:
        parser.error("at least one process is needed")
    if wrong := settings.problems():
        print(*wrong, sep="\n", file=sys.stderr)
        return 2
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO)
    folder = options.folder or Path(tempfile.mkdtemp(prefix="posterior-lab-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        front = Front(options.processes, options.listen, folder.resolve(), options.base)
    except FileNotFoundError as problem:
        print(problem, file=sys.stderr)
        return 2
    for name, act in ((signal.SIGTERM, front.stop), (signal.SIGINT, front.stop), (signal.SIGHUP, front.renew)):
        signal.signal(name, act)
    print(f"{options.processes} processes behind {options.listen}; logs in {folder}", flush=True)
    return front.run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
