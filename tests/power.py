"""Does the judge judge? Every wrong variant planted in every page: `python -m tests.power [--write] [SLUG …]`.

For the first right scenario of each lesson, each kernel that runs there is tried with each fault that can be planted in
it, also with those that the page has no switch for; then come the faults of the page's own switches. A fault must turn
a sign red; where it cannot be told the table says why, and none may stay green. `--write` writes `docs/POWER.md`.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from app import catalogue
from app.kit.verdicts import Planted, plantable
from engine.judge import Check, overall
from engine.judge.plant import SHIFTED, STUCK
from engine.spec import Spec

TABLE = Path(__file__).parents[1] / "docs" / "POWER.md"
HEAD = """# Power: every wrong variant in every page

Made by `python -m tests.power --write`; a sample of the cells is made anew by `make test`, all by `make test-long`.
For the first right scenario of each lesson: what the signs say when the fault is planted. “red”: a check fails.
“unknown”: it cannot be told, with the reason. None may be green.

"""


class Cell(NamedTuple):
    """A fault planted in a page, and what came of it: verdict, the name of the check that tells, its sentence."""

    slug: str
    fault: str
    verdict: str
    check: str
    sentence: str


def lesson_of(slug: str) -> Any:
    """The lesson with this slug."""
    entry = next(entry for entry in catalogue.LESSONS if entry.slug == slug)
    return importlib.import_module(f"{entry.package}.page").LESSON


def right_spec(lesson: Any) -> Spec:
    """The spec of the first scenario that is right."""
    return next(scenario.spec for scenario in lesson.scenarios if not scenario.failure)


def faults_of(slug: str) -> dict[str, Any]:
    """What can be planted in a page: its kernels' faults, its own switches, a chain that stands still, averages off."""
    lesson = lesson_of(slug)
    spec = right_spec(lesson)
    found = plantable(lesson, spec, "kernel")
    checks = lesson.checks(spec, threading.Event()) if lesson.checks else ()
    for kind, fault in (("run", STUCK), ("numbers", SHIFTED)):
        if any(check.kind == kind and check.verdict != "unknown" for check in checks):
            found[fault] = fault
    return found


def cell(slug: str, name: str, fault: Any) -> Cell:
    """Plant one fault."""
    lesson = lesson_of(slug)
    made = Planted(lesson.kernels, lesson.audit, lesson.checks, lesson.faults, fault)
    checks: list[Check] = made(right_spec(lesson), threading.Event())
    verdict = overall(checks)
    told = next((check for check in checks if check.verdict == verdict), None)
    return Cell(slug, name, verdict, told.name if told else "", told.sentence if told else "No check looks for it.")


def cells(slug: str) -> list[Cell]:
    """Every cell of a page."""
    return [cell(slug, name, fault) for name, fault in faults_of(slug).items()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, and write it if asked; 1 where a fault stays green."""
    parser = argparse.ArgumentParser(prog="python -m tests.power", description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.name}")
    parser.add_argument("slugs", nargs="*", metavar="SLUG")
    options = parser.parse_args(arguments)
    words = {"fail": "red", "pass": "GREEN", "unknown": "unknown"}
    rows, found = ["| page | fault | sign | by | what it says |", "|---|---|---|---|---|"], []
    with ProcessPoolExecutor() as processes:
        for page in processes.map(cells, options.slugs or [entry.slug for entry in catalogue.LESSONS]):
            for each in page:
                found.append(each)
                sentence = each.sentence.replace("|", "¦").replace("\n", " ")
                rows.append(f"| {each.slug} | {each.fault} | {words[each.verdict]} | {each.check} | {sentence} |")
                print(rows[-1], flush=True)
    counts = {verdict: sum(each.verdict == verdict for each in found) for verdict in words}
    total = f"{len(found)} faults on {len({each.slug for each in found})} pages: " + ", ".join(
        f"{count} {words[verdict]}" for verdict, count in counts.items()
    )
    print(total)
    if options.write:
        TABLE.parent.mkdir(exist_ok=True)
        TABLE.write_text(HEAD + total + ".\n\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return int(counts["pass"] > 0)


if __name__ == "__main__":
    sys.exit(main())
