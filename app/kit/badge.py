"""The exactness badge: what the checks of a run say, in one word, one sign and one number.

Shape and word carry the verdict, colour only repeats it. "unknown" is never shown as a pass.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from app.kit.text import number, plain
from engine.checks import Check, Verdict

SIGNS: dict[Verdict, str] = {"pass": "✓", "fail": "✗", "unknown": "?"}
CLAIM = "exact"  # what a page says of its run, unless the lesson claims less
COLOURS: dict[Verdict, str] = {"pass": "green", "fail": "red", "unknown": "gray"}


class Face(NamedTuple):
    """What the badge shows."""

    verdict: Verdict
    label: str  # Markdown
    spoken: str


def overall(checks: Sequence[Check]) -> Verdict:
    """The verdict of all: one failure fails, one unknown leaves it open, no check at all is unknown."""
    verdicts = {check.verdict for check in checks}
    if "fail" in verdicts:
        return "fail"
    return "pass" if verdicts == {"pass"} else "unknown"


def headline(checks: Sequence[Check]) -> Check | None:
    """The check whose number the badge carries: the first that decides the verdict."""
    verdict = overall(checks)
    return next((check for check in checks if check.verdict == verdict), None)


def face(checks: Sequence[Check], claim: str = CLAIM) -> Face:
    """The badge of finished checks, on a page that says of its run what `claim` says."""
    words: dict[Verdict, str] = {"pass": claim, "fail": f"not {claim}", "unknown": "cannot tell yet"}
    verdict, check = overall(checks), headline(checks)
    told = check is not None and verdict != "unknown" and check.unit and math.isfinite(check.statistic)
    text = f"{SIGNS[verdict]} {words[verdict]}" + (f" {number(abs(check.statistic), 2)} {check.unit}" if told else "")
    spoken = f"Exactness: {words[verdict]}. {check.sentence if check else 'This page has no check.'}"
    return Face(verdict, f":{COLOURS[verdict]}[**{plain(text)}**]", spoken)


def line(check: Check) -> str:
    """One check as Markdown: sign, name, sentence, and the number against its limit."""
    limit = ""
    if math.isfinite(check.limit):
        limit = f" ({number(check.statistic)} against a limit of {number(check.limit)} {check.unit}".rstrip() + ")"
    sign = f":{COLOURS[check.verdict]}[**{SIGNS[check.verdict]}**]"
    return f"{sign} **{plain(check.name)}.** {plain(check.sentence + limit)}"
