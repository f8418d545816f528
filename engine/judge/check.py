"""What a check says, and the three questions that checks answer.

*kernel*: does this compiled code, with the settings of this run, leave the right distribution unchanged? *run*: may the
averages of this run be believed? *numbers*: how far are they from the exact answer? A check passes only if it could
have failed; what cannot be told is "unknown", never a pass.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

Verdict = Literal["pass", "fail", "unknown"]
Kind = Literal["kernel", "run", "numbers"]
KINDS: tuple[Kind, ...] = ("kernel", "run", "numbers")


class Curve(NamedTuple):
    """What a check can be drawn by: y over x, where a right sampler stays between `low` and `high` (all (n,)).

    title, x_label, y_label : words for people
    """

    title: str
    x_label: str
    y_label: str
    x: Array
    y: Array
    low: Array
    high: Array


class Bars(NamedTuple):
    """One number a quantity, against one limit: names (n,), values (n,)."""

    title: str
    value_label: str
    names: tuple[str, ...]
    values: Array
    limit: float


@dataclass(frozen=True)
class Check:
    """One check of a run.

    Attributes
    ----------
    name : what is checked, a few words
    verdict : "unknown" means that this run cannot tell (too few effective draws); it is never shown as a pass
    statistic, limit : what was measured and the value beyond which the check fails, both in `unit`
    sentence : what was compared with what and what came out, for people
    unit : unit of `statistic`, for example "MCSE"
    kind : which of the three questions it answers
    p : probability that a right sampler would have looked at least as wrong; NaN for checks without chance
    figure : how it can be drawn
    """

    name: str
    verdict: Verdict
    statistic: float
    limit: float
    sentence: str
    unit: str = ""
    kind: Kind = field(default="numbers", kw_only=True)
    p: float = field(default=math.nan, kw_only=True)
    figure: Curve | Bars | None = field(default=None, kw_only=True, compare=False, repr=False)


def overall(checks: Sequence[Check]) -> Verdict:
    """The verdict of all: one failure fails, one unknown leaves it open, no check at all is unknown."""
    verdicts = {check.verdict for check in checks}
    if "fail" in verdicts:
        return "fail"
    return "pass" if verdicts == {"pass"} else "unknown"


def worst(checks: Sequence[Check]) -> Check:
    """The check to show of several: a failure before an open one before a pass, then the largest statistic."""
    rank = {"fail": 2, "unknown": 1, "pass": 0}
    return max(checks, key=lambda c: (rank[c.verdict], 0.0 if math.isnan(c.statistic) else abs(c.statistic)))


def unknown(name: str, sentence: str, *, kind: Kind, limit: float = math.nan, unit: str = "") -> Check:
    """A check that cannot tell, and why."""
    return Check(name, "unknown", math.nan, limit, sentence, unit, kind=kind)


@dataclass(frozen=True)
class Judgement:
    """The three verdicts on a run, each carried by its worst check.

    parts : every check, in the order in which it was made
    """

    kernel: Check
    run: Check
    numbers: Check
    parts: tuple[Check, ...] = ()

    @classmethod
    def of(cls, checks: Sequence[Check]) -> Judgement:
        """The judgement that these checks make; a question that none of them answers is open."""
        found = {kind: [check for check in checks if check.kind == kind] for kind in KINDS}
        return cls(**{kind: headline(kind, found[kind]) for kind in KINDS}, parts=tuple(checks))


SILENT = {
    "kernel": "No kernel runs here that could be judged.",
    "run": "No chain runs here that could stop too early.",
    "numbers": "No exact answer is known to hold the numbers against.",
}


def headline(kind: Kind, checks: Sequence[Check]) -> Check:
    """The check whose number a sign carries: the first that decides the verdict of all."""
    verdict = overall(checks)
    return next((check for check in checks if check.verdict == verdict), unknown("none", SILENT[kind], kind=kind))
