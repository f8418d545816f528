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
    each = [
        WORDS.phrase(
            "questions.spread.each",
            spread=run.spread,
            shares=", ".join(f"{share:.3f}" for share in analysis.long_shares(run).mean),
            accepted=100 * analysis.efficiency(run)[0],
        )
        for run in (spec, _twice(spec))
    ]
    return say(runs="; ".join(each))


def _gainer(spec: DimensionsLesson) -> int:
    """Index of the model whose share exceeds its exact probability most."""
    return int(np.argmax(analysis.long_shares(spec).mean - analysis.exact(spec)))


def end_answer(spec: DimensionsLesson) -> int:
    """Who gains: the smallest model, one between, or the largest."""
    k = _gainer(spec)
    return 0 if k == 0 else 2 if k == spec.models - 1 else 1


def _against(spec: DimensionsLesson) -> str:
    """The share of each model beside its exact probability."""
    models = zip(names(spec), analysis.long_shares(spec).mean, analysis.exact(spec), strict=True)
    return "; ".join(WORDS.phrase("pieces.model", name=name, share=share, exact=exact) for name, share, exact in models)


def jacobian_explain(spec: DimensionsLesson) -> Said:
    """With the odds that the run lost."""
    shares, true = analysis.long_shares(spec).mean, analysis.exact(spec)
    jacobian = float(np.exp(analysis.models_of(spec).log_jacobian[0]))
    odds, true_odds = shares[1] / shares[0], true[1] / true[0]
    return say(shares=_against(spec), odds=odds, true_odds=true_odds, too_small=true_odds / odds, jacobian=jacobian)


def ends_explain(spec: DimensionsLesson) -> Said:
    """With the factors that were left out."""
    births, deaths = analysis.move_probabilities(spec)
    lost = deaths[1:] / births[:-1]
    factors = ", ".join(f"{k} ↔ {k + 1}: {value:.2g}" for k, value in enumerate(lost, 1))
    return say(shares=_against(spec), factors=factors)


QUESTIONS = [
    WORDS.question("spread", spread_answer, spread_explain, scenario="split", reveal=_twice),
    WORDS.question("jacobian", end_answer, jacobian_explain, scenario="no-jacobian"),
    WORDS.question("ends", end_answer, ends_explain, scenario="no-end-points"),
]
