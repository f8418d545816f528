"""Everything that must hold: `python -m tests.everything [--no-browser]`, the body of `make test`.

Looks for a browser first, fills the kernel cache in a process of its own, then runs each group to its end even if an
earlier one fails, or until most of it would; what only computes runs beside what mostly waits. The closing lines give
every group's outcome. Exit status: 0 all good, 1 something failed, 2 no browser, 3 good but browser tests left out.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.browser import chrome

ROOT = Path(__file__).resolve().parents[1]
BROWSER = "tests/browser"
PYTEST = ["-m", "pytest", "-q", "--durations=15"]
PARALLEL = [*PYTEST, "-n", "auto", "-m", "not long and not alone"]  # a process a core
HOUSE = ("house", "adding", "installed", "notebooks")
BY_LESSON = [*PARALLEL, "--dist", "loadgroup"]  # the tests of one share its runs
UNTIL_BROKEN = ["--maxfail=20"]  # tests that wait a minute each for a page that does not open would wait for an hour
GROUPS: dict[str, list[str]] = {
    "kernel cache": ["-m", "engine.warm"],
    "ruff": ["-m", "ruff", "check", "."],
    "mypy": ["-m", "mypy"],
    "engine": [*PARALLEL, "tests/engine", "tests/datasets"],
    # what is long and belongs to no lesson before what is short: else one process waits for the other in the end
    "kit and lessons": [*BY_LESSON, "tests/operator", *(f"tests/test_{name}.py" for name in HOUSE), "tests/kit", "tests/lessons"],
    "exactness": [*PARALLEL, "tests/exactness"],
    "browser and chaos": [*PARALLEL, *UNTIL_BROKEN, "--dist", "worksteal", BROWSER, "tests/load"],
    "browser alone": [*PYTEST, "-m", "alone and not long", BROWSER],  # a hand that drags while a server computes
    "load": [*PYTEST, "-m", "alone and not long", "tests/load"],
}
BESIDE = {"mypy": "kit and lessons", "exactness": "browser and chaos"}  # what looks at no clock fills the pauses of what waits
SUMMARY = re.compile(r"\d+ (passed|failed|error|skipped)|no tests ran|^Found \d+ error|^Success:|^All checks passed|^Kernels ready")


def stand_back() -> None:
    """Leave the cores to whoever else wants them."""
    if hasattr(os, "SCHED_IDLE"):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    else:
        os.nice(19)


def run(name: str, arguments: Sequence[str], environment: dict[str, str], beside: bool = False) -> tuple[bool, str]:
    """Run one group, showing what it says: at once, or where it runs beside another, at its end. Whether it went well,
    and the line it closes with.
    """
    said = [f"\n== {name}\n"]
    if not beside:
        print(*said, end="", flush=True)
    begin, last = time.monotonic(), ""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        preexec_fn=stand_back if beside else None,
    )
    assert process.stdout is not None
    for line in process.stdout:
        said.append(line)
        if not beside:
            print(line, end="", flush=True)
        if SUMMARY.search(line):
            last = line.strip(" =\r\n")
    good = process.wait() == 0
    if beside:
        print(*said, sep="", flush=True)
    return good, f"{last or f'exit status {process.returncode}'} ({time.monotonic() - begin:.0f} s)"


def run_all(groups: dict[str, list[str]], environment: dict[str, str]) -> dict[str, tuple[bool, str]]:
    """One group after the other, and where BESIDE says so one with another; how each went."""
    outcomes: dict[str, tuple[bool, str]] = {}
    with ThreadPoolExecutor() as pool:
        for name, call in groups.items():
            if name in BESIDE:
                continue
            others = {other: pool.submit(run, other, groups[other], environment, True) for other, main in BESIDE.items() if main == name}
            outcomes[name] = run(name, call, environment)
            outcomes |= {other: found.result() for other, found in others.items()}
    return outcomes


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
    if not with_browser:
        del groups["browser alone"]
    outcomes = run_all(groups, environment)
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
