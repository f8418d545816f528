"""The questions of the Metropolis lesson. Answers and explanations are computed from the run."""

from __future__ import annotations

import numpy as np

from app.kit.frame import Question
from lessons.metropolis import analysis
from lessons.metropolis.spec import MetropolisLesson


def _extremes(spec: MetropolisLesson) -> tuple[float, float]:
    people = spec.people()
    return float(people.max()), float(people.min())


def king_answer(spec: MetropolisLesson) -> int:
    """Acceptance of a move from the most to the least peopled island: 1, one half, their ratio, or 0?"""
    most, least = _extremes(spec)
    return int(np.argmin(np.abs(np.array([1.0, 0.5, least / most, 0.0]) - min(1.0, least / most))))


def king_explain(spec: MetropolisLesson) -> str:
    """With the counts of the run."""
    most, least = _extremes(spec)
    people, visits = spec.people(), analysis.island_walk(spec).draws
    seen = [int(np.isin(visits, np.flatnonzero(people == size)).sum()) for size in (most, least)]
    return (
        f"$r = {least:g}/{most:g} = {least / most:.3f}$, and he goes if $u < r$. From {least:g} to {most:g} the "
        "ratio is above 1: he always goes. "
        f"The two flows balance when the big island is visited ${most / least:.3g}$ times as often. "
        f"In these {len(visits):,} transitions: {seen[0]} visits against {seen[1]}."
    )


def size_answer(spec: MetropolisLesson) -> int:
    """Which of the three walks has the most effective draws."""
    return int(np.argmax([analysis.effective(run) for run in analysis.three(spec)]))


def size_explain(spec: MetropolisLesson) -> str:
    """With acceptance and ESS of the three runs."""
    parts = [
        f"scale {run.scale:.3g}: {analysis.acceptance(run):.1%} accepted, ESS {analysis.effective(run):.0f}"
        for run in analysis.three(spec)
    ]
    return (
        f"Of {spec.draws:,} draws each – {'; '.join(parts)}. "
        "Acceptance alone says nothing: what counts is how far the walk gets between two draws."
    )


def _shift(spec: MetropolisLesson) -> tuple[float, float]:
    """(mean, sd) of the draws of x1 minus and over the true ones."""
    target, draws = analysis.plane_of(spec), analysis.after_burn_in(spec)[:, :, 0]
    assert target.truth is not None
    return float(draws.mean() - target.truth.mean[0]), float(draws.std() / np.sqrt(target.truth.covariance[0, 0]))


def hastings_answer(spec: MetropolisLesson) -> int:
    """Where the histogram ends up: left of the truth, on it, right of it."""
    shift, _ = _shift(spec)
    return 0 if shift < -0.25 else 2 if shift > 0.25 else 1


def hastings_explain(spec: MetropolisLesson) -> str:
    """With the exact prediction."""
    shift, _ = _shift(spec)
    prediction = analysis.predicted(spec)
    exact = (
        "" if prediction is None else f" The density it really samples has its mean at {prediction.moments(0)[0]:+.2f}."
    )
    return (
        f"The mean of $x_1$ is off by {shift:+.2f}.{exact} Steps to the right are proposed more often than steps "
        "back, and nothing pays for it. "
        "Set the sampler to “right”: the factor $q(x\\mid x')/q(x'\\mid x)$ makes up for the lean."
    )


def rejections_answer(spec: MetropolisLesson) -> int:
    """Too narrow, right, or too wide."""
    _, ratio = _shift(spec)
    return 0 if ratio < 0.95 else 2 if ratio > 1.05 else 1


def rejections_explain(spec: MetropolisLesson) -> str:
    """With the numbers of the run."""
    _, ratio = _shift(spec)
    tries = analysis.walk(spec).tries
    return (
        f"The sd of $x_1$ comes out {ratio:.2f} times the true one: {int(tries.sum() - len(tries)):,} rejections "
        "were thrown away, most of them at the top of the "
        "hill, where nearly every proposal leads down. Those were the visits that give the top its weight."
    )


QUESTIONS = (
    Question(
        "king",
        "The king is on the island with the most people, and the coin proposes the one with the fewest, seven times "
        "fewer. How often does he go?",
        ("always", "every second time", "one time in seven", "never"),
        king_answer,
        king_explain,
        scenario="king",
    ),
    Question(
        "sizes",
        "Three walks with the same random numbers: tiny steps, middling steps, huge steps. Which collects the most "
        "*effective* draws?",
        ("tiny steps: nearly all are accepted", "middling steps", "huge steps: they get far"),
        size_answer,
        size_explain,
        scenario="sizes",
    ),
    Question(
        "hastings",
        "The proposal leans to the right, and the sampler uses $\\pi(x')/\\pi(x)$ alone. Where does the histogram of "
        "$x_1$ end up?",
        ("left of the truth", "on the truth", "right of the truth"),
        hastings_answer,
        hastings_explain,
        scenario="hastings",
    ),
    Question(
        "rejections",
        "We record accepted moves only and forget each “stay”. How does the histogram come out?",
        ("too narrow", "just right", "too wide"),
        rejections_answer,
        rejections_explain,
        scenario="rejections",
    ),
)
