"""The predictions, with answers computed from long runs."""

from __future__ import annotations

import numpy as np

from app.kit.words import Said, say
from lessons.dimensions import analysis
from lessons.dimensions.scenes import names
from lessons.dimensions.spec import WORDS, DimensionsLesson

CLEAR = 0.02  # a share that moved by less than this has not moved


def _twice(spec: DimensionsLesson) -> DimensionsLesson:
    return spec.replace(spread=min(5.0, 2.0 * spec.spread))


def spread_answer(spec: DimensionsLesson) -> int:
    """Does twice the spread give the smallest model more, the largest more, or nobody?"""
    change = analysis.long_shares(_twice(spec)).mean - analysis.long_shares(spec).mean
    if np.max(np.abs(change)) < CLEAR:
        return 2
    return 0 if change[0] < 0 else 1


def spread_explain(spec: DimensionsLesson) -> Said:
    """With the shares and the acceptance of both runs."""
    told = []
    for one in (spec, _twice(spec)):
        found = ", ".join(f"{share:.3f}" for share in analysis.long_shares(one).mean)
        told.append(f"s = {one.spread:g}: {found}, {100 * analysis.efficiency(one)[0]:.0f} % of jumps accepted")
    return say(join="; ".join(told))


def _gainer(spec: DimensionsLesson) -> int:
    """Index of the model whose share exceeds its exact probability most."""
    return int(np.argmax(analysis.long_shares(spec).mean - analysis.exact(spec)))


def end_answer(spec: DimensionsLesson) -> int:
    """Who gains: the smallest model, one between, or the largest."""
    k = _gainer(spec)
    return 0 if k == 0 else 2 if k == spec.models - 1 else 1


def _against(spec: DimensionsLesson) -> str:
    shares, true = analysis.long_shares(spec).mean, analysis.exact(spec)
    return "; ".join(f"{name}: {a:.3f}, exact {p:.3f}" for name, a, p in zip(names(spec), shares, true, strict=True))


def jacobian_explain(spec: DimensionsLesson) -> Said:
    """With the odds that the run lost."""
    shares, true = analysis.long_shares(spec).mean, analysis.exact(spec)
    factor = float(np.exp(analysis.models_of(spec).log_jacobian[0]))
    odds, right = shares[1] / shares[0], true[1] / true[0]
    return say(against=_against(spec), odds=odds, right=right, right_2=right / odds, factor=factor)


def ends_explain(spec: DimensionsLesson) -> Said:
    """With the two factors."""
    births, deaths = analysis.move_probabilities(spec)
    lost = deaths[1:] / births[:-1]
    listed = ", ".join(f"{k} ↔ {k + 1}: {value:.2g}" for k, value in enumerate(lost, 1))
    return say(against=_against(spec), listed=listed)


QUESTIONS = [
    WORDS.question("spread", spread_answer, spread_explain, scenario="split"),
    WORDS.question("jacobian", end_answer, jacobian_explain, scenario="no-jacobian"),
    WORDS.question("ends", end_answer, ends_explain, scenario="no-end-points"),
]
