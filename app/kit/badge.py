"""The three signs: what the judge says of the kernel, of this run and of its numbers, in a word, a sign and a number.

Shape and word carry the verdict, colour only repeats it. "unknown" is never shown as a pass.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from app.kit.text import number, plain
from engine.judge import Check, Kind, Verdict, overall
from engine.judge.check import headline

SIGNS: dict[Verdict, str] = {"pass": "✓", "fail": "✗", "unknown": "?"}
COLOURS: dict[Verdict, str] = {"pass": "green", "fail": "red", "unknown": "gray"}
NAMES: dict[Kind, str] = {"kernel": "kernel", "run": "this run", "numbers": "numbers"}
QUESTIONS: dict[Kind, str] = {
    "kernel": "Does this code, with these settings, do what its mathematics says?",
    "run": "Has this run gone on long enough, and seen everything?",
    "numbers": "How far are the averages from the exact answer?",
}
WORDS: dict[Kind, dict[Verdict, str]] = {
    "kernel": {"pass": "right", "fail": "wrong", "unknown": "cannot tell"},
    "run": {"pass": "long enough", "fail": "not converged", "unknown": "cannot tell yet"},
    "numbers": {"pass": "right", "fail": "off", "unknown": "cannot tell"},
}
_WEIGHT: dict[Verdict, int] = {"fail": 2, "unknown": 1, "pass": 0}


class Face(NamedTuple):
    """What a sign shows."""

    kind: Kind
    verdict: Verdict
    label: str  # Markdown
    spoken: str


def face(kind: Kind, checks: Sequence[Check]) -> Face:
    """The sign of finished checks of one kind."""
    verdict, check = overall(checks), headline(kind, checks)
    text = f"{NAMES[kind]} {SIGNS[verdict]}"
    if kind == "numbers" and verdict != "unknown" and check.unit and math.isfinite(check.statistic):
        text += f" {number(abs(check.statistic), 2)} {check.unit}"
    spoken = f"{NAMES[kind].capitalize()}: {WORDS[kind][verdict]}. {check.sentence}"
    return Face(kind, verdict, f":{COLOURS[verdict]}[**{plain(text)}**]", spoken)


def worst(faces: Sequence[Face]) -> Kind:
    """The kind of the sign that a small screen shows."""
    return max(faces, key=lambda each: _WEIGHT[each.verdict]).kind


def line(check: Check) -> str:
    """One check as Markdown: sign, name, sentence, and the number against its limit."""
    limit = ""
    if math.isfinite(check.limit) and math.isfinite(check.statistic):
        limit = f" ({number(check.statistic)} against a limit of {number(check.limit)} {check.unit}".rstrip() + ")"
    sign = f":{COLOURS[check.verdict]}[**{SIGNS[check.verdict]}**]"
    return f"{sign} **{plain(check.name)}.** {plain(check.sentence + limit)}"
