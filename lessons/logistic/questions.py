"""Predict → lock → run → explain. Every answer is computed from the run."""

from __future__ import annotations

import numpy as np

from app.kit.predict import Question
from lessons.logistic import analysis
from lessons.logistic.spec import LogisticSpec


def newton_answer(spec: LogisticSpec) -> int:
    """Steps on the likelihood: below 15, below 150, more."""
    steps = len(analysis.climb_likelihood(spec).path) - 1
    return 0 if steps < 15 else 1 if steps < 150 else 2


def newton_explain(spec: LogisticSpec) -> str:
    """With the number of steps."""
    climb = analysis.climb_likelihood(spec)
    w0, w1 = climb.path[-1]
    return (
        f"{len(climb.path) - 1} steps, to ŵ = ({w0:.2f}, {w1:.2f}). Near the top each step about squares the "
        "error. Steyn (2018) reports 500 iterations to the same tolerance, which looks like damped steps or plain "
        "gradient ascent."
    )


def skew_answer(spec: LogisticSpec) -> int:
    """Exact mean slope against Laplace's: below, within a tenth of an sd, above."""
    gap = _gap(spec)
    return 1 if abs(gap) < 0.1 else 2 if gap > 0 else 0


def _gap(spec: LogisticSpec) -> float:
    grid = analysis.grid(spec)
    return float((grid.mean[1] - analysis.laplace(spec).mean[1]) / np.sqrt(grid.covariance[1, 1]))


def skew_explain(spec: LogisticSpec) -> str:
    """With the numbers of both."""
    grid, normal = analysis.grid(spec), analysis.laplace(spec)
    sd, other = np.sqrt(grid.covariance[1, 1]), np.sqrt(normal.covariance[1, 1])
    return (
        f"Exact mean {grid.mean[1]:.2f} (sd {sd:.2f}), Laplace {normal.mean[1]:.2f} (sd {other:.2f}): "
        f"{_gap(spec):+.2f} "
        "posterior sds. A steep slope fits nearly as well as a moderate one, so the posterior has a tail towards "
        "steep. "
        "The mode does not see a tail."
    )


def width_answer(spec: LogisticSpec) -> int:
    """By how much the sd of p at x′ shrinks from the spec's pairs to all 150: hardly, some, much."""
    factor = _shrink(spec)
    return 0 if factor < 1.3 else 1 if factor < 4.5 else 2


def _shrink(spec: LogisticSpec) -> float:
    few, all_ = (analysis.grid(s).predictive(spec.at)[1][0] for s in (spec, spec.replace(used=150)))
    return float(few / all_)


def width_explain(spec: LogisticSpec) -> str:
    """With the factor."""
    return (
        f"The sd of p shrinks by a factor of {_shrink(spec):.2f}. With 7.5 times as many pairs, √7.5 = 2.7 would be "
        "the rule for independent data; the prior, which narrowed the few, and where the pairs lie change it. "
        "What does "
        "*not* shrink is the noise of y itself: at p near one half the label stays a coin toss."
    )


QUESTIONS = (
    Question(
        "newton",
        "How many Newton steps does the maximum of the likelihood take from (0, 0), to a tolerance of 0.0005?",
        ("fewer than 15", "15 to 150", "more than 150"),
        newton_answer,
        newton_explain,
        scenario="exact",
    ),
    Question(
        "skew",
        "Eight pairs and a wide prior. Where is the exact mean of the slope, compared with Laplace's (the mode)?",
        ("below it", "at the same place, within a tenth of an sd", "above it"),
        skew_answer,
        skew_explain,
        scenario="few",
    ),
    Question(
        "width",
        "20 pairs now. With all 150, by what factor will the spread (sd) of p at x′ shrink?",
        ("it stays, within a third", "by 1.3 to 4.5", "by more than 4.5"),
        width_answer,
        width_explain,
        scenario="prediction",
    ),
)
