"""Predict → lock → run → explain. Every answer is computed from the run."""

from __future__ import annotations

import numpy as np

from app.kit.words import Said, say
from engine.judge.answers import nearest
from lessons.regression import analysis
from lessons.regression.analysis import GRID
from lessons.regression.scenes import NAMES
from lessons.regression.spec import WORDS, RegressionLesson

SHARES = (0.85, 0.7, 0.55, 0.0)  # the least of each answer
RIVALS = ("map", "ensemble", "dropout", "laplace")
MANY = 60  # measurements instead of the spec's


def places(spec: RegressionLesson) -> tuple[float, float, float]:
    """Mean epistemic sd where there are data, within 0.3 of the middle of the gap, and beyond ±2.7."""
    epistemic = analysis.answer(spec, "nuts").epistemic
    gap, ends = np.abs(GRID - 0.7) < 0.3, np.abs(GRID) > 2.7
    data = analysis.has_data(spec, GRID) & ~gap
    inside, within, beyond = (float(epistemic[where].mean()) for where in (data, gap, ends))
    return inside, within, beyond


def _where(spec: RegressionLesson) -> int:
    return int(np.argmax(places(spec)))


def _where_why(spec: RegressionLesson) -> Said:
    at_data, in_gap, at_ends = places(spec)
    return say(at_data=at_data, in_gap=in_gap, at_ends=at_ends)


def held(spec: RegressionLesson) -> float:
    """Share of fresh measurements in the 90 % band."""
    return analysis.covered(analysis.answer(spec, "nuts")).new


def _share(spec: RegressionLesson) -> int:
    share = held(spec)
    return next(i for i, least in enumerate(SHARES) if share >= least)


def _share_why(spec: RegressionLesson) -> Said:
    right = spec.replace(noise_sd=spec.data_noise)
    return say(
        held=held(spec),
        fresh=analysis.FRESH,
        too_small=spec.data_noise / spec.noise_sd,
        true_noise_sd=spec.data_noise,
        held_with_true=held(right),
    )


def shrink(spec: RegressionLesson) -> tuple[float, float, float, float]:
    """Epistemic sd on the data and aleatoric sd, now and with MANY measurements."""
    found = []
    for one in (spec, spec.replace(observations=MANY)):
        answer = analysis.answer(one, "nuts")
        found += [float(answer.epistemic[analysis.has_data(one, GRID)].mean()), answer.aleatoric]
    return found[0], found[1], found[2], found[3]


def _shrinks(spec: RegressionLesson) -> int:
    epistemic, aleatoric, later_epistemic, later_aleatoric = shrink(spec)
    e, a = later_epistemic < 0.85 * epistemic, later_aleatoric < 0.85 * aleatoric
    return 0 if e and a else 1 if e else 2 if a else 3


def _shrinks_why(spec: RegressionLesson) -> Said:
    epistemic, aleatoric, later_epistemic, later_aleatoric = shrink(spec)
    return say(
        observations=spec.observations,
        epistemic=epistemic,
        later_epistemic=later_epistemic,
        aleatoric=aleatoric,
        later_aleatoric=later_aleatoric,
    )


def gap_ratios(spec: RegressionLesson) -> dict[str, float]:
    """Epistemic sd of each rival in the gap, over the posterior's."""
    gap = np.abs(GRID - 0.7) < 0.3
    true = analysis.answer(spec, "nuts").epistemic[gap].mean()
    return {method: float(analysis.answer(spec, method).epistemic[gap].mean() / true) for method in RIVALS}


def _nearest(spec: RegressionLesson) -> int:
    return nearest(1.0, list(gap_ratios(spec).values()))


def _nearest_why(spec: RegressionLesson) -> Said:
    return say(ratios=", ".join(f"{NAMES[method]} {ratio:.2f}" for method, ratio in gap_ratios(spec).items()))


QUESTIONS = [
    WORDS.question("where", _where, _where_why, scenario="gap"),
    WORDS.question("rivals", _nearest, _nearest_why, scenario="compare", options=[NAMES[method] for method in RIVALS]),
    WORDS.question("share", _share, _share_why, scenario="wrong-noise"),
    WORDS.question("shrink", _shrinks, _shrinks_why, scenario="learned-noise", many=MANY),
]
