"""The exactness badge: what the checks of a run say, in one word, one sign and one number.

Shape and word carry the verdict, colour only repeats it. "unknown" is never shown as a pass.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from app.kit.text import plain
from engine.checks import Check, Verdict

SIGNS: dict[Verdict, str] = {"pass": "✓", "fail": "✗", "unknown": "?"}
WORDS: dict[Verdict, str] = {"pass": "exact", "fail": "not exact", "unknown": "cannot tell yet"}
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


def face(checks: Sequence[Check]) -> Face:
    """The badge of finished checks."""
    verdict, check = overall(checks), headline(checks)
    number = f" {measured(check)}" if check is not None and check.unit and math.isfinite(check.statistic) else ""
    text = f"{SIGNS[verdict]} {WORDS[verdict]}{number}"
    spoken = f"Exactness: {WORDS[verdict]}. {check.sentence if check else 'This page has no check.'}"
    return Face(verdict, f":{COLOURS[verdict]}[**{plain(text)}**]", spoken)


def measured(check: Check) -> str:
    """The statistic with its unit."""
    return f"{check.statistic:.2g} {check.unit}".strip()


def line(check: Check) -> str:
    """One check as Markdown: sign, name, sentence, and the number against its limit."""
    limit = (
        f" ({check.statistic:.3g} against a limit of {check.limit:.3g} {check.unit}".rstrip() + ")"
        if math.isfinite(check.limit)
        else ""
    )
    sign = f":{COLOURS[check.verdict]}[**{SIGNS[check.verdict]}**]"
    return f"{sign} **{plain(check.name)}.** {plain(check.sentence + limit)}"
