"""The longest stretch between two looks of each job of every page: `python -m benchmarks.slices [SLUG …] [--where]`.

A job gives way, and hears that it is not wanted any more, only where it looks at its ticket. Opens every scenario of
every lesson as a page does, without a browser, and prints seconds of CPU of the longest stretch of each slot; --where
adds the place that ended each one over `LIMIT`. Each scenario is opened twice, so that no compiling is counted.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app import catalogue
from app.kit.jobs import Pool
from app.kit.stage import _scene
from app.kit.verdicts import KernelProofs
from engine import turns
from engine.kept import Store
from tests.power import lesson_of

LIMIT = 0.2  # s
ROOT = Path(__file__).resolve().parents[1]


class Watched(turns.Turns):
    """Turns that remember where a long stretch ended, by claim."""

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[turns.Claim, tuple[float, str]] = {}

    def _charge(self, claim: turns.Claim) -> None:
        before = claim.longest
        super()._charge(claim)
        if claim.longest > max(before, LIMIT):
            files = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_stack()]
            ours = [f"{path.parent.name}/{path.name}:{line}" for path, line in files if ROOT in path.parents]
            self.places[claim] = claim.longest, " < ".join(reversed(ours[-8:]))


def slots(lesson: Any) -> dict[str, Any]:
    """What a page computes, by name, as functions of (spec, ticket)."""
    wanted = {
        "kernel": KernelProofs(lesson.kernels, lesson.audit),
        "checks": lesson.checks,
        "panels": lesson.panels,
        "diagnostics": lesson.diagnostics,
    }
    return {"scene": lambda spec, ticket: _scene(lesson, spec, None, ticket)} | {
        name: function for name, function in wanted.items() if function is not None
    }


def main(arguments: Sequence[str]) -> None:
    """Measure and print."""
    where = "--where" in arguments
    slugs = [argument for argument in arguments if not argument.startswith("-")]
    worst: dict[str, float] = defaultdict(float)
    for slug in slugs or [entry.slug for entry in catalogue.LESSONS]:
        lesson = lesson_of(slug)
        for scenario in lesson.scenarios:
            for name, function in slots(lesson).items():
                cores = Watched()
                pool = Pool(cores, shelf=Store(0))
                job = pool.submit(("a reader", name), threading.get_ident(), function, scenario.spec, keep=False)
                while not job.wait(1.0):
                    job.heartbeat()
                pool.close()
                longest = job.claim.longest
                worst[name] = max(worst[name], longest)
                if longest > LIMIT:
                    told = f"{slug:18s} {scenario.id:20s} {name:12s} {longest:6.2f} s  {job.state}"
                    print(told, flush=True)
                    if where:
                        for seconds, place in cores.places.values():
                            print(f"    {seconds:5.2f} s before {place}", flush=True)
    print("longest:", ", ".join(f"{name} {seconds:.2f} s" for name, seconds in worst.items()))


if __name__ == "__main__":
    main(sys.argv[1:])
