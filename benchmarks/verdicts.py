"""Seconds to the verdicts of every page: `python -m benchmarks.verdicts [SLUG …]`.

For each scenario of each lesson, without a browser: seconds from the picture's computation being done to the kernel's
sign, and to the other two, each by the clock with the cores idle. Prints a row a scenario, then the share of scenarios
whose kernel sign came within 3 s and 10 s. The kernel cache should be filled (`python -m engine.warm`).
"""

from __future__ import annotations

import os
import platform
import sys
import threading
import time
from collections.abc import Sequence
from importlib.metadata import version

from app import catalogue
from app.kit.verdicts import KernelProofs
from engine.judge import KINDS, overall
from engine.spec import SpecError
from tests.power import lesson_of

SOON, LATE = 3.0, 10.0  # s


def main(slugs: Sequence[str]) -> None:
    """Measure and print."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numba", "numpy"))
    print(f"Python {platform.python_version()}, {packages}, {os.cpu_count()} cores\n")
    print(f"{'page':18s} {'scenario':18s} {'kernel':>8s} {'others':>8s}  verdicts")
    never, defaults, everything = threading.Event(), [], []
    for slug in slugs or [entry.slug for entry in catalogue.LESSONS]:
        lesson = lesson_of(slug)
        for i, scenario in enumerate(lesson.scenarios):
            try:
                lesson.scene(scenario.spec, None)
                begin = time.perf_counter()
                kernel = KernelProofs(lesson.kernels, lesson.audit)(scenario.spec, never)
                middle = time.perf_counter()
                others = list(lesson.checks(scenario.spec, never)) if lesson.checks else []
            except SpecError as error:
                print(f"{slug:18s} {scenario.id:18s} not run: {error.reason}")
                continue
            first, second = middle - begin, time.perf_counter() - middle
            checks = [*kernel, *others]
            told = " ".join(overall([check for check in checks if check.kind == kind]) for kind in KINDS)
            print(f"{slug:18s} {scenario.id:18s} {first:7.1f}s {second:7.1f}s  {told}", flush=True)
            everything.append(first)
            if i == 0:
                defaults.append(first)
    print(
        f"\nkernel sign within {SOON:.0f} s on default pages: {_share(defaults, SOON)}, on all scenarios within "
        f"{LATE:.0f} s: {_share(everything, LATE)}"
    )


def _share(seconds: list[float], limit: float) -> str:
    return f"{sum(each <= limit for each in seconds)} of {len(seconds)}"


if __name__ == "__main__":
    main(sys.argv[1:])
