"""The predictions, with answers computed from long runs."""

from __future__ import annotations

import numpy as np

from app.kit.frame import Question
from lessons.dimensions import analysis
from lessons.dimensions.scenes import names
from lessons.dimensions.spec import DimensionsLesson

CLEAR = 0.02  # a share that moved by less than this has not moved


def _twice(spec: DimensionsLesson) -> DimensionsLesson:
    return spec.replace(spread=min(5.0, 2.0 * spec.spread))


def spread_answer(spec: DimensionsLesson) -> int:
    """Does twice the spread give the smallest model more, the largest more, or nobody?"""
    change = analysis.long_shares(_twice(spec)).mean - analysis.long_shares(spec).mean
    if np.max(np.abs(change)) < CLEAR:
        return 2
    return 0 if change[0] < 0 else 1


def spread_explain(spec: DimensionsLesson) -> str:
    """With the shares and the acceptance of both runs."""
    told = []
    for one in (spec, _twice(spec)):
        found = ", ".join(f"{share:.3f}" for share in analysis.long_shares(one).mean)
        told.append(f"s = {one.spread:g}: {found}, {100 * analysis.efficiency(one)[0]:.0f} % of jumps accepted")
    return (
        f"Shares of the models in a longer run: {'; '.join(told)}. The Jacobian doubled, and so did the distance that "
        "a split throws the means: more of them land where the data do not want them. The two belong together. **The "
        "Jacobian rewards no one; it only converts areas.**"
    )


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


def jacobian_explain(spec: DimensionsLesson) -> str:
    """With the odds that the run lost."""
    shares, true = analysis.long_shares(spec).mean, analysis.exact(spec)
    factor = float(np.exp(analysis.models_of(spec).log_jacobian[0]))
    odds, right = shares[1] / shares[0], true[1] / true[0]
    return (
        f"{_against(spec)}. The odds of two means against one are {odds:.2f}, they should be {right:.2f}: "
        f"{right / odds:.1f} times too small, and $|\\det A| = 2s = {factor:g}$. Now move s to ½: the Jacobian is 1 "
        "and the bars come home."
    )


def ends_explain(spec: DimensionsLesson) -> str:
    """With the two factors."""
    births, deaths = analysis.move_probabilities(spec)
    lost = deaths[1:] / births[:-1]
    listed = ", ".join(f"{k} ↔ {k + 1}: {value:.2g}" for k, value in enumerate(lost, 1))
    return (
        f"{_against(spec)}. The factor $d_{{k+1}}/b_k$ that was left out: {listed}. Every step up the ladder is now "
        "favoured by one over it: up from the bottom, down from the top."
    )


QUESTIONS = [
    Question(
        "spread",
        "The right sampler. Make the split twice as wide (s = 3 in place of 1.5): the Jacobian 2s doubles from 3 to 6 "
        "in every birth’s ratio. Which model gains?",
        ["The larger ones: births are rewarded", "The smaller ones", "None"],
        spread_answer,
        spread_explain,
        scenario="split",
    ),
    Question(
        "jacobian",
        "The map stretches areas by 3. The sampler forgets to multiply births by 3 and to divide deaths by 3. Which "
        "model is visited too often?",
        ["One mean", "Two means", "Three means"],
        end_answer,
        jacobian_explain,
        scenario="no-jacobian",
    ),
    Question(
        "ends",
        "With one mean a birth is certain, with three a death is; with two it is even chances. The ratio ignores this. "
        "Which model is visited too often?",
        ["One mean", "Two means", "Three means"],
        end_answer,
        ends_explain,
        scenario="no-end-points",
    ),
]
