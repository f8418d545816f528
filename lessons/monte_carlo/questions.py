"""The predictions, with answers computed from repeated runs."""

from __future__ import annotations

import numpy as np

from app.kit.frame import Question
from lessons.monte_carlo import analysis
from lessons.monte_carlo.spec import MonteCarloLesson


def nearest(value: float, choices: tuple[float, ...]) -> int:
    """Index of the choice nearest to `value` on a logarithmic scale."""
    return int(np.argmin([abs(np.log(value / choice)) for choice in choices]))


def gain(spec: MonteCarloLesson, few: int, many: int) -> float:
    """The typical error after `few` draws over that after `many`."""
    typical = analysis.estimates(spec).typical
    return float(typical[few - 1] / typical[min(many, spec.draws) - 1])


def _explain_four(spec: MonteCarloLesson) -> str:
    here = analysis.estimates(spec)
    few = spec.draws // 4
    return (
        f"After {few} draws the typical error over {spec.replications} repetitions is {here.typical[few - 1]:.3g}, "
        f"after {spec.draws} draws {here.typical[-1]:.3g}: a factor {gain(spec, few, spec.draws):.2f}. The variance of "
        "an average is σ²/n, so its standard deviation is σ/√n: one digit more costs a hundred times the draws."
    )


def _explain_infinite(spec: MonteCarloLesson) -> str:
    here = analysis.estimates(spec)
    return (
        f"From 10 to {min(1000, spec.draws)} draws the median error went from {here.typical[9]:.3g} to "
        f"{here.typical[min(1000, spec.draws) - 1]:.3g}, a factor {gain(spec, 10, 1000):.1f}. With σ finite it would "
        f"be 10; theory says 100 to the power {here.integral.rate:.2g} = {100**here.integral.rate:.1f}. The reported "
        f"band held the truth in {100 * here.coverage(spec.draws):.0f} % of the repetitions instead of 95 %."
    )


def spread(spec: MonteCarloLesson) -> float:
    """Interquartile range of the averages of all draws over that of single draws."""
    means = analysis.estimates(spec).runs.means
    wide = [float(np.subtract(*np.quantile(means[:, k], [0.75, 0.25]))) for k in (-1, 0)]
    return wide[0] / wide[1]


def _explain_cauchy(spec: MonteCarloLesson) -> str:
    return (
        f"The middle half of the averages of {spec.draws} draws is {spread(spec):.2f} times as wide as that of single "
        f"draws, over {spec.replications} repetitions. Theory says exactly 1: sums of Cauchy draws are Cauchy."
    )


QUESTIONS = [
    Question(
        "four",
        "Four times as many darts. By how much does the typical error shrink?",
        ["to a quarter", "to a half", "to about 0.7"],
        lambda spec: nearest(1.0 / gain(spec, spec.draws // 4, spec.draws), (0.25, 0.5, 0.7)),
        _explain_four,
        scenario="pi",
    ),
    Question(
        "infinite",
        "The variance is infinite. From 10 draws to 1 000: by what factor does the median error shrink?",
        ["about 10, like 1/√n", "about 4", "not at all"],
        lambda spec: nearest(gain(spec, 10, 1000), (10.0, 4.0, 1.0)),
        _explain_infinite,
        scenario="infinite",
    ),
    Question(
        "cauchy",
        "Averages of 1 000 Cauchy draws, compared with single draws: how spread are they?",
        ["about 32 times narrower", "about 4 times narrower", "just as wide"],
        lambda spec: nearest(spread(spec), (1 / 32, 1 / 4, 1.0)),
        _explain_cauchy,
        scenario="cauchy",
    ),
]
