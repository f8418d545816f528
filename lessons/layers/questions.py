"""Predictions to lock in; the answers are computed from runs of the settings at hand."""

from __future__ import annotations

import numpy as np

from app.kit import growing
from app.kit.frame import Question
from lessons.layers import panels
from lessons.layers.spec import LayersSpec

LIMITS = (0.02, 0.1, 0.3)
SHARES = ("fewer than 2 in 100", "2 to 10 in 100", "10 to 30 in 100", "more than 30 in 100")
NARROW, WIDE = 2, 5
ALIKE = 1.25  # a ratio of shares that is called the same


def _share(spec: LayersSpec) -> int:
    return int(np.searchsorted(LIMITS, panels.acceptance(spec), side="right"))


def _share_why(spec: LayersSpec) -> str:
    found = panels.layer_births(growing.study(spec))
    return (
        f"{found.accepted:.1%} of the jumps were accepted. A birth puts random features before weights that were "
        f"fitted to others: half of those proposed cost more than {-np.median(found.log_ratios):.0f} nats of fit. A "
        "death takes a layer away that the weights behind it have learned to use. Compare a single unit: it *adds* "
        "something small to a function that stays."
    )


def _widths(spec: LayersSpec) -> tuple[float, float]:
    narrow, wide = (panels.acceptance(spec.replace(width=width)) for width in (NARROW, WIDE))  # type: ignore[arg-type]
    return narrow, wide


def _width(spec: LayersSpec) -> int:
    narrow, wide = _widths(spec)
    return 0 if wide * ALIKE < narrow else 2 if wide > narrow * ALIKE else 1


def _width_why(spec: LayersSpec) -> str:
    narrow, wide = _widths(spec)
    return (
        f"Of the jumps, {narrow:.1%} are accepted with {NARROW} units a layer and {wide:.1%} with {WIDE}. A layer of w "
        "units brings w² + w random numbers. (Berezowski 2021, table 6.1, reports 4.5 and 4.9 % for layers of 2 units, "
        "1.1 and 1.4 % for layers of 4, on Boston housing.)"
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
