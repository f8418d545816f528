"""The verdicts behind links, without a browser: `python -m app.verdict LINK…`.

A link is a path and query as in the address bar, with or without the host: `/nuts?target=funnel&neck=2`. For each, what
the page would check is run, and one line of JSON is printed:

    {"link": …, "slug": …, "kernel": {"verdict": …, "sentence": …, "statistic": …}, "run": {…}, "numbers": {…}}

Verdicts are "pass", "fail" and "unknown"; a statistic that there is not is null. The exit status is 0 if nothing fails,
1 if something does, 2 if a link is not valid: then the line says why under "error", and nothing of that link is run.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import sys
import threading
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

from app import catalogue
from app.kit import share
from app.kit.verdicts import KernelProofs
from engine.judge.check import KINDS, Check, Judgement
from engine.spec import Spec

PASSED, FAILED, NOT_VALID = 0, 1, 2


class LinkError(ValueError):
    """A link leads to no page, or says something that its page does not understand."""


def opened(link: str) -> tuple[Any, Spec]:
    """The lesson of a link and the spec that it asks for. Raises LinkError with every reason."""
    try:
        parts = urlsplit(link)
    except ValueError as problem:
        raise LinkError(f"“{link}” is no link: {problem}") from None
    slug = parts.path.rstrip("/").rsplit("/", 1)[-1]
    entries = {entry.slug: entry for entry in catalogue.LESSONS}
    if slug not in entries:
        known = ", ".join(entries)
        raise LinkError(f"“{parts.path or '/'}” leads to no lesson; there are {known}")
    lesson = importlib.import_module(f"{entries[slug].package}.page").LESSON
    query = parse_qs(parts.query, keep_blank_values=True, errors="replace")
    found = share.read(lesson.spec, query, lesson.specs(), ("seed",))
    if found.problems:
        raise LinkError("; ".join(f"{problem.parameter} {problem.message}" for problem in found.problems))
    return lesson, found.spec


def judged(lesson: Any, spec: Spec, cancel: Any = None) -> Judgement:
    """What the three signs of the page stand on. Raises what the checks raise."""
    ticket = threading.Event() if cancel is None else cancel
    checks: list[Check] = KernelProofs(lesson.kernels, lesson.audit)(spec, ticket)
    return Judgement.of([*checks, *(lesson.checks(spec, ticket) if lesson.checks else [])])


def row(link: str) -> tuple[dict[str, Any], int]:
    """The line of one link, and its exit status."""
    try:
        lesson, spec = opened(link)
    except LinkError as error:
        return {"link": link, "error": str(error)}, NOT_VALID
    found = judged(lesson, spec)
    said = {kind: getattr(found, kind) for kind in KINDS}
    failed = any(check.verdict == "fail" for check in said.values())
    return {"link": link, "slug": lesson.slug} | {kind: _shown(check) for kind, check in said.items()}, int(failed)


def _shown(check: Check) -> dict[str, Any]:
    statistic = check.statistic if math.isfinite(check.statistic) else None
    return {"verdict": check.verdict, "sentence": check.sentence, "statistic": statistic}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each link; the worst status of all."""
    parser = argparse.ArgumentParser(prog="python -m app.verdict", description=__doc__.splitlines()[0])
    parser.add_argument("links", nargs="+", metavar="LINK", help="path and query, as in the address bar")
    status = PASSED
    for link in parser.parse_args(arguments).links:
        line, this = row(link)
        print(json.dumps(line, ensure_ascii=False), flush=True)
        status = max(status, this)
    return status


if __name__ == "__main__":
    sys.exit(main())
