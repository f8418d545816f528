"""The exact packages of a deployment, with their hashes: `python -m tests.lock --write`, for the kind of machine that it
runs on (the image's: Linux on x86-64, Python 3.11).
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements.lock"
WANTED = ROOT / "requirements-cluster.txt"
HEAD = "# Made by `python -m tests.lock --write`: what an image installs, each file known by its hash. Linux on x86-64, Python 3.11.\n"


def resolved() -> str:
    """What pip would install now."""
    call = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-", "-r", str(WANTED)]
    report = json.loads(subprocess.run(call, check=True, capture_output=True, text=True).stdout)
    lines = {
        f"{package['metadata']['name'].lower().replace('_', '-')}=={package['metadata']['version']}": package["download_info"][
            "archive_info"
        ]["hashes"]["sha256"]
        for package in report["install"]
    }
    return HEAD + "".join(f"{name} --hash=sha256:{digest}\n" for name, digest in sorted(lines.items()))


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        LOCK.write_text(resolved(), encoding="utf-8")
    else:
        print(resolved(), end="")
