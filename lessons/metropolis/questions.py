"""The questions of the Metropolis lesson. Answers and explanations are computed from the run."""

from __future__ import annotations

from functools import partial

import numpy as np

from app.kit.words import Said, say
from lessons.metropolis import analysis
from lessons.metropolis.spec import WORDS, MetropolisLesson


def _extremes(spec: MetropolisLesson) -> tuple[float, float]:
    people = spec.people()
    return float(people.max()), float(people.min())


def king_answer(spec: MetropolisLesson) -> int:
    """Acceptance of a move from the most to the least peopled island: 1, one half, their ratio, or 0?"""
    most, least = _extremes(spec)
    return int(np.argmin(np.abs(np.array([1.0, 0.5, least / most, 0.0]) - min(1.0, least / most))))


def king_explain(spec: MetropolisLesson) -> Said:
    """With the counts of the run."""
    most, least = _extremes(spec)
    people, visits = spec.people(), analysis.island_walk(spec).draws
    most_visits, least_visits = (int(np.isin(visits, np.flatnonzero(people == size)).sum()) for size in (most, least))
    return say(
        least=least,
        most=most,
        ratio=least / most,
        inverse_ratio=most / least,
        transitions=len(visits),
        most_visits=most_visits,
        least_visits=least_visits,
    )


def size_answer(spec: MetropolisLesson) -> int:
    """Which of the three walks has the most effective draws."""
    return int(np.argmax([analysis.effective(run) for run in analysis.three(spec)]))


def size_explain(spec: MetropolisLesson) -> Said:
    """With acceptance and ESS of the three runs."""
    each = [
        WORDS.phrase("questions.sizes.each", scale=run.scale, accepted=analysis.acceptance(run), ess=analysis.effective(run))
        for run in analysis.three(spec)
    ]
    return say(draws=spec.draws, walks="; ".join(each))


def _shift(spec: MetropolisLesson) -> tuple[float, float]:
    """(mean, sd) of the draws of x1 minus and over the true ones."""
    target, draws = analysis.plane_of(spec), analysis.after_burn_in(spec)[:, :, 0]
    assert target.truth is not None
    return float(draws.mean() - target.truth.mean[0]), float(draws.std() / np.sqrt(target.truth.covariance[0, 0]))


def heights(question: str, spec: MetropolisLesson) -> tuple[float, ...]:
    """Of the histogram of x1, at the places of that question's curve."""
    drawn, draws = WORDS.drawn(question), analysis.after_burn_in(spec)[:, :, 0]
    width = min(np.diff(drawn.over))
    return tuple(float(np.mean(np.abs(draws - x) < width / 2) / width) for x in drawn.over)


def hastings_explain(spec: MetropolisLesson) -> Said:
    """With the exact prediction where there is one."""
    shift, _ = _shift(spec)
    prediction = analysis.predicted(spec)
    if prediction is None:
        return say("shift", "why", shift=shift)
    return say("shift", "sampled", "why", shift=shift, sampled_mean=prediction.moments(0)[0])


def rejections_explain(spec: MetropolisLesson) -> Said:
    """With the numbers of the run."""
    _, sd_ratio = _shift(spec)
    tries = analysis.walk(spec).tries
    return say(sd_ratio=sd_ratio, rejections=int(tries.sum() - len(tries)))


def high_answer(spec: MetropolisLesson) -> int:
    """About all, half or three in a hundred accepted, on a log scale."""
    return int(np.argmin(np.abs(np.log([1.0, 0.5, 0.03]) - np.log(analysis.acceptance(spec)))))


def high_explain(spec: MetropolisLesson) -> Said:
    """With the share of the run, and the scale of the rule of thumb (Roberts, Gelman and Gilks 1997)."""
    best = 2.38 / np.sqrt(spec.dimension)
    return say(accepted=analysis.acceptance(spec), draws=spec.draws, best=best)


QUESTIONS = (
    WORDS.question("king", king_answer, king_explain, scenario="king"),
    WORDS.question("sizes", size_answer, size_explain, scenario="sizes"),
    WORDS.question("hastings", partial(heights, "hastings"), hastings_explain, scenario="hastings"),
    WORDS.question("rejections", partial(heights, "rejections"), rejections_explain, scenario="rejections"),
    WORDS.question("high", high_answer, high_explain, scenario="high"),
)
