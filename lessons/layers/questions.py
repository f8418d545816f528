"""Predictions to lock in; the answers are computed from runs of the settings at hand."""

from __future__ import annotations

import numpy as np

from app.kit.architectures import HELD, UNSURE, side
from app.kit.frame import Question
from engine.judge import Z_LIMIT
from lessons.layers import panels
from lessons.layers.spec import LayersSpec

LIMITS = (0.02, 0.1, 0.3)
SHARES = ("fewer than 2 in 100", "2 to 10 in 100", "10 to 30 in 100", "more than 30 in 100")
NARROW, WIDE = 2, 5
ALIKE = 1.25  # a ratio of shares that is called the same


def _share(spec: LayersSpec) -> int:
    found = panels.acceptance(spec)
    if np.abs(found.accepted - np.array(LIMITS)).min() < Z_LIMIT * found.error:
        return UNSURE
    return int(np.searchsorted(LIMITS, found.accepted, side="right"))


def _share_why(spec: LayersSpec) -> str:
    found = panels.acceptance(spec)
    return (
        f"{found.accepted:.1%} ± {HELD * found.error:.1%} of the jumps were accepted. A birth puts random features "
        f"before weights that were fitted to others: half of those proposed cost more than "
        f"{-np.median(found.log_ratios):.0f} nats of fit. A death takes a layer away that the weights behind it have "
        "learned to use. Compare a single unit: it *adds* something small to a function that stays."
    )


def _widths(spec: LayersSpec) -> tuple[panels.Births, panels.Births]:
    narrow, wide = (panels.acceptance(spec.replace(width=width)) for width in (NARROW, WIDE))  # type: ignore[arg-type]
    return narrow, wide


def _width(spec: LayersSpec) -> int:
    narrow, wide = _widths(spec)
    if not min(narrow.accepted, wide.accepted) > 0.0:
        return UNSURE
    error = np.hypot(narrow.error / narrow.accepted, wide.error / wide.accepted)
    return side(float(np.log(narrow.accepted / wide.accepted)), float(error), float(np.log(ALIKE)))


def _width_why(spec: LayersSpec) -> str:
    narrow, wide = _widths(spec)
    return (
        f"Of the jumps, {narrow.accepted:.1%} ± {HELD * narrow.error:.1%} are accepted with {NARROW} units a layer and "
        f"{wide.accepted:.1%} ± {HELD * wide.error:.1%} with {WIDE}. A layer of w units brings w² + w random numbers. "
        "(Berezowski 2021, table 6.1, reports 4.5 and 4.9 % for layers of 2 units, 1.1 and 1.4 % for layers of 4, on "
        "Boston housing.)"
    )


QUESTIONS = [
    Question(
        "share",
        "200 points. Of 100 proposed births and deaths of layers, how many will be accepted?",
        SHARES,
        _share,
        _share_why,
        scenario="many",
    ),
    Question(
        "width",
        f"Back to 20 points. Layers of {WIDE} units instead of {NARROW}: what happens to the share of accepted jumps?",
        ("it falls", "it stays about the same", "it rises"),
        _width,
        _width_why,
        scenario="few",
    ),
]
