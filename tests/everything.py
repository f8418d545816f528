"""Everything that must hold: `python -m tests.everything [--no-browser]`, the body of `make test`.

Looks for a browser first, fills the kernel cache in a process of its own, then runs each group to its end even if an
earlier one fails. The closing lines give every group's outcome. Exit status: 0 all good, 1 something failed, 2 no
browser, 3 good but browser tests left out.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.browser import chrome

ROOT = Path(__file__).resolve().parents[1]
BROWSER = "tests/browser"
PYTEST = ["-m", "pytest", "-q", "--durations=15"]
PARALLEL = [*PYTEST, "-n", "auto", "-m", "not long and not alone"]  # a process a core
BY_LESSON = [*PARALLEL, "--dist", "loadgroup"]  # the tests of one share its runs
GROUPS: dict[str, list[str]] = {
    "kernel cache": ["-m", "engine.warm"],
    "ruff": ["-m", "ruff", "check", "."],
    "mypy": ["-m", "mypy"],
    "engine": [*PARALLEL, "tests/engine", "tests/exactness", "tests/datasets"],
    "kit and lessons": [*BY_LESSON, "tests/kit", "tests/lessons", "tests/operator", "tests/test_house.py", "tests/test_adding.py"],
    "browser and chaos": [*PARALLEL, "--dist", "worksteal", BROWSER, "tests/load"],
    "load": [*PYTEST, "-m", "alone and not long", "tests/load"],
}
SUMMARY = re.compile(r"\d+ (passed|failed|error|skipped)|no tests ran|^Found \d+ error|^Success:|^All checks passed|^Kernels ready")


def run(name: str, arguments: Sequence[str], environment: dict[str, str]) -> tuple[bool, str]:
    """Run one group, showing what it says; whether it went well, and the line it closes with."""
    print(f"\n== {name}", flush=True)
    begin, last = time.monotonic(), ""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert process.stdout is not None
    for line in process.stdout:
        print(line, end="", flush=True)
        if SUMMARY.search(line):
            last = line.strip(" =\r\n")
    good = process.wait() == 0
    return good, f"{last or f'exit status {process.returncode}'} ({time.monotonic() - begin:.0f} s)"


def main(arguments: Sequence[str]) -> int:
    """Run all groups; the exit status."""
    with_browser = "--no-browser" not in arguments
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    if with_browser:
        found = chrome.find() or chrome.install()
        if found is None:
            print(chrome.MISSING, "or: make test BROWSER=no", sep="\n")
            return 2
        environment["CHROME"] = found
        print(f"browser: {found}")
    groups = {name: [part for part in call if with_browser or part != BROWSER] for name, call in GROUPS.items()}
    outcomes = {name: run(name, call, environment) for name, call in groups.items()}
    print("\n== all groups")
    for name, (good, line) in outcomes.items():
        print(f"{'ok    ' if good else 'FAILED'} {name:18s} {line}")
    if not all(good for good, _ in outcomes.values()):
        return 1
    if not with_browser:
        print("browser tests NOT RUN")
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
