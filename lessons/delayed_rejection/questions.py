"""The predictions, with answers computed from runs."""

from __future__ import annotations

import numpy as np

from app.kit.frame import Question
from lessons.delayed_rejection import analysis
from lessons.delayed_rejection.analysis import Efficiency
from lessons.delayed_rejection.spec import DelayedRejectionLesson


def both(spec: DelayedRejectionLesson) -> tuple[Efficiency, Efficiency]:
    """Plain Metropolis and the present number of tries, at least two, at the same scale."""
    plain = analysis.efficiency(spec.replace(stages=1))
    return plain, analysis.efficiency(spec.replace(stages=max(2, spec.stages)))


def gain(spec: DelayedRejectionLesson) -> float:
    """Effective draws per evaluation of the present run over those of plain Metropolis at the same scale."""
    plain, more = both(spec)
    return more.per_evaluation / plain.per_evaluation


def nearest(value: float, choices: tuple[float, ...]) -> int:
    """Index of the choice nearest to `value` on a logarithmic scale."""
    return int(np.argmin([abs(np.log(value / choice)) for choice in choices]))


def way_back_answer(spec: DelayedRejectionLesson) -> int:
    """What a first try that would surely be accepted on the way back does to alpha 2: it makes it 0."""
    inside = analysis.simulate(spec.replace(variant="exact", stages=2)).inside
    sure = inside.back[:, 1, 0] == 1.0
    return 0 if not sure.any() or np.all(inside.accept_prob[sure, 1] == 0.0) else 1


def _explain_way_back(spec: DelayedRejectionLesson) -> str:
    inside = analysis.simulate(spec.replace(variant="exact", stages=2)).inside
    tried, sure = inside.stages > 1, inside.back[:, 1, 0] == 1.0
    return (
        "The way back starts at $y_2$, proposes the same $y_1$, and must see it **fail**, with probability "
        "$1-\\alpha_1(y_2, y_1)$. If $y_1$ is higher than $y_2$, that is $1 - 1 = 0$: nobody can come back along this "
        "path, so nobody may go. "
        f"In this run {int(tried.sum())} second tries were made, and in {int(sure.sum())} of them it was so."
    )


def _explain_tuned(spec: DelayedRejectionLesson) -> str:
    plain, more = both(spec)
    return (
        f"Metropolis accepts {plain.shares[0]:.0%}, with a second try {sum(more.shares):.0%} of transitions end in a "
        f"move. Per 1 000 transitions that gives {more.per_transition:.3g} effective draws instead of "
        f"{plain.per_transition:.3g}; per 1 000 *evaluations of the density* {more.per_evaluation:.3g} instead of "
        f"{plain.per_evaluation:.3g}. Timid moves are cheap to accept and bring little news."
    )


def _explain_bold(spec: DelayedRejectionLesson) -> str:
    plain, more = both(spec)
    return (
        f"Per 1 000 evaluations: {plain.per_evaluation:.3g} effective draws with one try, {more.per_evaluation:.3g} "
        f"with two, {gain(spec):.2g} times as many. The figures below show the same over all scales: delayed rejection "
        "is an insurance against a scale that is too large. Metropolis at its best scale is about as good or better."
    )


def _explain_leap(spec: DelayedRejectionLesson) -> str:
    timid = analysis.efficiency(spec.replace(pull=0.0))
    leap = analysis.efficiency(spec)
    return (
        f"Per 1 000 evaluations: {timid.per_evaluation:.2g} effective draws with the timid second try around $x$, "
        f"{leap.per_evaluation:.2g} with the one through $y_1$, though it accepts fewer: "
        f"{leap.shares[1]:.1%} of transitions instead of {timid.shares[1]:.1%}. Leaps are rare, but they cross the "
        "valley; timid moves hardly ever do."
    )


def leap_gain(spec: DelayedRejectionLesson) -> float:
    """Effective draws per evaluation with the present pull over those with none."""
    timid = analysis.efficiency(spec.replace(pull=0.0)).per_evaluation
    return analysis.efficiency(spec).per_evaluation / timid


def spread(spec: DelayedRejectionLesson) -> float:
    """sd of the first coordinate over a long run of this very sampler, as a multiple of the exact one."""
    truth = spec.build_target().truth
    assert truth is not None
    squares = (analysis.long_run(spec)[:, :, 0] - truth.mean[0]) ** 2
    return float(np.sqrt(squares.mean() / truth.covariance[0, 0]))


def spread_answer(spec: DelayedRejectionLesson) -> int:
    """Too narrow, right, too wide."""
    found = spread(spec)
    return 0 if found < 0.97 else 2 if found > 1.03 else 1


def _explain_spread(spec: DelayedRejectionLesson) -> str:
    return (
        f"Over a long run the sd of the first coordinate is {spread(spec):.2f} times the true one. A second try that "
        "leads downhill is a path whose way back is seldom walked: from below, the first try $y_1$ is more often "
        "accepted and does not fail. The factor $1-\\alpha_1$ knows that, and it was left out."
    )


QUESTIONS = (
    Question(
        "way-back",
        "The second try lands at $y_2$, and the rejected $y_1$ is *higher* than $y_2$. What is $\\alpha_2$?",
        ("0: it may not be accepted", "The ratio of the densities, as always", "1"),
        way_back_answer,
        _explain_way_back,
        scenario="bold",
    ),
    Question(
        "bold",
        "The first try is far too bold. How many effective draws does the second try give for the same number of "
        "density evaluations?",
        ("half as many: each transition costs twice", "about as many", "at least twice as many"),
        lambda spec: nearest(gain(spec), (0.5, 1.0, 2.5)),
        _explain_bold,
        scenario="bold",
    ),
    Question(
        "tuned",
        "The scale is about the best one for plain Metropolis. Does a second try give more effective draws for the "
        "same number of density evaluations?",
        ("fewer", "the same", "more"),
        lambda spec: nearest(gain(spec), (0.7, 1.0, 1.4)),
        _explain_tuned,
        scenario="tuned",
    ),
    Question(
        "leap",
        "Two modes. A timid second try around $x$ against one that goes on through the point just rejected. Which "
        "gives more effective draws per evaluation?",
        ("the timid one, it is accepted more often", "about the same", "the leap, though it is accepted less often"),
        lambda spec: nearest(leap_gain(spec), (0.4, 1.0, 2.5)),
        _explain_leap,
        scenario="leap",
    ),
    Question(
        "forgot",
        "The factors $1-\\alpha$ are left out. How does the histogram come out?",
        ("too narrow", "just right", "too wide"),
        spread_answer,
        _explain_spread,
        scenario="forgot",
    ),
)
