"""Does the judge judge? Every wrong variant planted in every page: `python -m tests.power [--write] [SLUG …]`.

For the first right scenario of each lesson, each kernel that runs there is tried with each fault that can be planted in
it, also with those that the page has no switch for; then come the faults of the page's own switches. A fault must turn
a sign red; where it cannot be told the table says why, and none may stay green. `--write` writes `docs/POWER.md`; of some
pages only, it leaves the rows of the others as they are.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import threading
from collections.abc import Mapping, Sequence
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


WORDS = {"fail": "red", "pass": "GREEN", "unknown": "unknown"}


def row(cell: Cell) -> str:
    """A line of the table."""
    sentence = cell.sentence.replace("|", "¦").replace("\n", " ")
    return f"| {cell.slug} | {cell.fault} | {WORDS[cell.verdict]} | {cell.check} | {sentence} |"


def kept(slugs: Sequence[str]) -> dict[str, list[str]]:
    """The lines of the table that are not of these pages, by page."""
    found: dict[str, list[str]] = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines() if TABLE.is_file() else ():
        slug = line.removeprefix("| ").split(" | ")[0]
        if slug not in slugs and any(entry.slug == slug for entry in catalogue.LESSONS):
            found.setdefault(slug, []).append(line)
    return found


def text(rows: Mapping[str, Sequence[str]]) -> str:
    """The document, of the lines of every page; and what they come to."""
    lines = [line for entry in catalogue.LESSONS for line in rows.get(entry.slug, ())]
    told = [line.split(" | ")[2] for line in lines]
    total = f"{len(lines)} faults on {sum(bool(rows.get(entry.slug)) for entry in catalogue.LESSONS)} pages: " + ", ".join(
        f"{told.count(word)} {word}" for word in WORDS.values()
    )
    return HEAD + total + ".\n\n" + "\n".join(["| page | fault | sign | by | what it says |", "|---|---|---|---|---|", *lines]) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, and write it if asked; 1 where a fault stays green."""
    parser = argparse.ArgumentParser(prog="python -m tests.power", description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.name}")
    parser.add_argument("slugs", nargs="*", metavar="SLUG")
    options = parser.parse_args(arguments)
    slugs = options.slugs or [entry.slug for entry in catalogue.LESSONS]
    rows: dict[str, list[str]] = {}
    green = 0
    with ProcessPoolExecutor() as processes:
        for slug, page in zip(slugs, processes.map(cells, slugs), strict=True):
            rows[slug] = [row(each) for each in page]
            green += sum(each.verdict == "pass" for each in page)
            print("\n".join(rows[slug]), flush=True)
    document = text(kept(slugs) | rows if options.write else rows)
    print(document.removeprefix(HEAD).split("\n")[0])
    if options.write:
        TABLE.parent.mkdir(exist_ok=True)
        TABLE.write_text(document, encoding="utf-8")
    return int(green > 0)


if __name__ == "__main__":
    sys.exit(main())
