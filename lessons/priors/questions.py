"""The predictions, with answers computed from runs."""

from __future__ import annotations

import numpy as np

from app.kit.frame import Question
from lessons.priors import analysis
from lessons.priors.spec import PriorsLesson

RATIOS = (1.0, 3.0, 10.0)
LOOSE = (0.5, 1.0, 3.0)


def nearest(value: float, choices: tuple[float, ...]) -> int:
    """Index of the choice nearest to `value` on a logarithmic scale."""
    return int(np.argmin([abs(np.log(max(value, 1e-9) / choice)) for choice in choices]))


def relevance(spec: PriorsLesson, weights: str) -> float:
    """Prior sd of the first input's weights over that of the median input that means nothing."""
    sds = analysis.scores(spec, weights).sds
    return float(sds[0] / np.median(sds[2:6]))


def _explain_inputs(spec: PriorsLesson) -> str:
    return (
        f"With one τ an input the ratio is {relevance(spec, 'per_input'):.1f}, with one a layer "
        f"{relevance(spec, 'per_layer'):.1f} by construction, with one a weight {relevance(spec, 'per_weight'):.1f}. "
        "What shares a τ is what can be judged useless together: this is *automatic relevance determination*."
    )


def held(spec: PriorsLesson) -> tuple[float, float]:
    """Prior sd that one weight of 4 sees among eleven of 0.1, sharing one τ and with a τ of its own."""
    w, a, b = np.array([4.0]), spec.weight_shape, spec.weight_rate
    return tuple(float(analysis.expected_sd(w, 0.01, n, a, b)[0]) for n in (12, 1))  # type: ignore[return-value]


def _explain_held(spec: PriorsLesson) -> str:
    shared, own = held(spec)
    return (
        f"Shared: $\\sqrt{{(b + \\tfrac12 \\cdot 16.11)/(a + 6)}} = {shared:.2f}$. Of its own: "
        f"$\\sqrt{{(b + 8)/(a + \\tfrac12)}} = {own:.2f}$. Sharing pulls the odd one in by "
        f"{4 / shared:.1f} prior sds; alone it is {4 / own:.1f} sds out. Heavy tails let a few weights be large, "
        "and give up the help of the others."
    )


def loosened(spec: PriorsLesson) -> float:
    """Median prior sd of the input weights in the run of `spec`, over that of the exact run."""
    wrong, right = (
        np.median(analysis.family_sds(s, analysis.simulate(s).recording)[..., 0])
        for s in (spec, spec.replace(variant="exact"))
    )
    return float(wrong / right)


def _explain_forgot(spec: PriorsLesson) -> str:
    return (
        f"In this run it is {loosened(spec):.1f} times as wide. Each draw of τ is too small by the factor "
        "(a + n/2)/a on average, and the error feeds itself: wider prior, larger weights, larger Σw², smaller τ. "
        "The fit to the points hides it."
    )


QUESTIONS = [
    Question(
        "held",
        "Eleven weights are ±0.1, one is 4. All twelve share one τ (a = b = 1). What prior sd does the large one see?",
        ["About 0.3", "About 1", "About 4"],
        lambda spec: nearest(held(spec)[0], (0.3, 1.0, 4.0)),
        _explain_held,
        scenario="own",
    ),
    Question(
        "inputs",
        "Six inputs, four of them mean nothing. With one τ an input, how many times as wide is the prior of input 1's "
        "weights as that of a useless input?",
        ["As wide", "About 3 times", "About 10 times or more"],
        lambda spec: nearest(relevance(spec, "per_input"), RATIOS),
        _explain_inputs,
        scenario="inputs",
    ),
    Question(
        "forgot",
        "The draw of τ forgets its ½n. What becomes of the prior sd of the input weights?",
        ["Half", "The same", "Three times or more"],
        lambda spec: nearest(loosened(spec), LOOSE),
        _explain_forgot,
        scenario="forgot-count",
    ),
]
