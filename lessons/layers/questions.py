"""Predictions to lock in; the answers are computed from runs of the settings at hand."""

from __future__ import annotations

import numpy as np

from app.kit.words import Said, say
from engine.judge import Z_LIMIT
from engine.judge.answers import UNSURE, side
from engine.spec import Spec
from lessons.families.growing.sizes import HELD
from lessons.layers import panels
from lessons.layers.spec import WORDS, LayersSpec

LIMITS = (0.02, 0.1, 0.3)
NARROW, WIDE = 2, 5
ALIKE = 1.25  # a ratio of shares that is called the same


def _share(spec: LayersSpec) -> int:
    found = panels.acceptance(spec)
    if np.abs(found.accepted - np.array(LIMITS)).min() < Z_LIMIT * found.error:
        return UNSURE
    return int(np.searchsorted(LIMITS, found.accepted, side="right"))


def _share_why(spec: LayersSpec) -> Said:
    found = panels.acceptance(spec)
    return say(accepted=found.accepted, error=HELD * found.error, cost=-np.median(found.log_ratios))


def _widths(spec: LayersSpec) -> tuple[panels.Births, panels.Births]:
    narrow, wide = (panels.acceptance(spec.replace(width=width)) for width in (NARROW, WIDE))
    return narrow, wide


def _width(spec: LayersSpec) -> int:
    narrow, wide = _widths(spec)
    if not min(narrow.accepted, wide.accepted) > 0.0:
        return UNSURE
    error = np.hypot(narrow.error / narrow.accepted, wide.error / wide.accepted)
    return side(float(np.log(narrow.accepted / wide.accepted)), float(error), float(np.log(ALIKE)))


def _width_why(spec: LayersSpec) -> Said:
    narrow, wide = _widths(spec)
    return say(narrow_accepted=narrow.accepted, narrow_error=HELD * narrow.error, wide_accepted=wide.accepted, wide_error=HELD * wide.error)


def _widest(spec: LayersSpec) -> Spec:
    return spec.replace(width=WIDE)


QUESTIONS = [
    WORDS.question("share", _share, _share_why, scenario="many"),
    WORDS.question("width", _width, _width_why, scenario="few", reveal=_widest, wide=WIDE, narrow=NARROW),
]
