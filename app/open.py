"""Start the app and open it in the browser: `posterior-lab open [LINK]`."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import time
import urllib.request
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

MAIN = Path(__file__).with_name("main.py")
PATIENCE = 60.0  # s for the server to answer


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until interrupted; the server's exit status."""
    parser = argparse.ArgumentParser(prog="posterior-lab open", description=__doc__.splitlines()[0])
    parser.add_argument("link", nargs="?", default="/", metavar="LINK", help="path and query, as in the address bar")
    parser.add_argument("--port", type=int, default=8501, help="default: 8501")
    parser.add_argument("--no-browser", action="store_true", help="only serve")
    asked = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # the server is ended, too
    server = subprocess.Popen([sys.executable, "-m", "streamlit", "run", str(MAIN), "--server.port", str(asked.port)])
    try:
        if not asked.no_browser and _answers(server, f"http://localhost:{asked.port}/_stcore/health"):
            webbrowser.open(address(asked.port, asked.link))
        return server.wait()
    except KeyboardInterrupt:
        return server.wait()  # it was interrupted, too
    finally:
        server.terminate()


def address(port: int, link: str) -> str:
    """Where this server shows a link, whichever host the link names."""
    parts = urlsplit(link)
    return f"http://localhost:{port}/{parts.path.lstrip('/')}" + (f"?{parts.query}" if parts.query else "")


def _answers(server: subprocess.Popen, health: str) -> bool:
    end = time.monotonic() + PATIENCE
    while server.poll() is None and time.monotonic() < end:
        try:
            with urllib.request.urlopen(health, timeout=1):
                return True
        except OSError:
            time.sleep(0.2)
    return False


if __name__ == "__main__":
    sys.exit(main())
