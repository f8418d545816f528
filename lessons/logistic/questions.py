"""Predict → lock → run → explain. Every answer is computed from the run."""

from __future__ import annotations

import numpy as np

from app.kit.words import Said, say
from lessons.logistic import analysis
from lessons.logistic.spec import WORDS, LogisticSpec


def newton_answer(spec: LogisticSpec) -> int:
    """Steps on the likelihood: below 15, below 150, more."""
    steps = len(analysis.climb_likelihood(spec).path) - 1
    return 0 if steps < 15 else 1 if steps < 150 else 2


def newton_explain(spec: LogisticSpec) -> Said:
    """With the number of steps and where they end."""
    climb = analysis.climb_likelihood(spec)
    w0, w1 = climb.path[-1]
    return say(steps=len(climb.path) - 1, w0=w0, w1=w1)


def skew_answer(spec: LogisticSpec) -> int:
    """Exact mean slope against Laplace's: below, within a tenth of an sd, above."""
    gap = _gap(spec)
    return 1 if abs(gap) < 0.1 else 2 if gap > 0 else 0


def _gap(spec: LogisticSpec) -> float:
    grid = analysis.grid(spec)
    return float((grid.mean[1] - analysis.laplace(spec).mean[1]) / np.sqrt(grid.covariance[1, 1]))


def skew_explain(spec: LogisticSpec) -> Said:
    """With the numbers of both."""
    grid, normal = analysis.grid(spec), analysis.laplace(spec)
    exact_sd, laplace_sd = np.sqrt(grid.covariance[1, 1]), np.sqrt(normal.covariance[1, 1])
    return say(exact_mean=grid.mean[1], exact_sd=exact_sd, laplace_mean=normal.mean[1], laplace_sd=laplace_sd, gap=_gap(spec))


def width_answer(spec: LogisticSpec) -> int:
    """By how much the sd of p at x′ shrinks from the spec's pairs to all 150: hardly, some, much."""
    factor = _shrink(spec)
    return 0 if factor < 1.3 else 1 if factor < 4.5 else 2


def _shrink(spec: LogisticSpec) -> float:
    few, all_ = (analysis.grid(s).predictive(spec.at)[1][0] for s in (spec, spec.replace(used=150)))
    return float(few / all_)


def width_explain(spec: LogisticSpec) -> Said:
    """With the factor."""
    return say(factor=_shrink(spec))


QUESTIONS = (
    WORDS.question("newton", newton_answer, newton_explain, scenario="exact"),
    WORDS.question("skew", skew_answer, skew_explain, scenario="few"),
    WORDS.question("width", width_answer, width_explain, scenario="prediction"),
)
