"""The predictions, with answers computed from runs."""

from __future__ import annotations

import numpy as np

from app.kit.words import Said, say
from engine.judge.answers import nearest
from lessons.priors import analysis
from lessons.priors.spec import WORDS, PriorsLesson

RATIOS = (1.0, 3.0, 10.0)
LOOSE = (0.5, 1.0, 3.0)


def relevance(spec: PriorsLesson, weights: str) -> float:
    """Prior sd of the first input's weights over that of the median input that means nothing."""
    sds = analysis.scores(spec, weights).sds
    return float(sds[0] / np.median(sds[2:6]))


def _explain_inputs(spec: PriorsLesson) -> Said:
    return say(per_input=relevance(spec, "per_input"), per_layer=relevance(spec, "per_layer"), per_weight=relevance(spec, "per_weight"))


def held(spec: PriorsLesson) -> tuple[float, float]:
    """Prior sd that one weight of 4 sees among eleven of 0.1, sharing one τ and with a τ of its own."""
    w, a, b = np.array([4.0]), spec.weight_shape, spec.weight_rate
    return tuple(float(analysis.expected_sd(w, 0.01, n, a, b)[0]) for n in (12, 1))  # type: ignore[return-value]


def _explain_held(spec: PriorsLesson) -> Said:
    shared, own = held(spec)
    return say(shared_sd=shared, own_sd=own, shared_distance=4 / shared, own_distance=4 / own)


def loosened(spec: PriorsLesson) -> float:
    """Median prior sd of the input weights in the run of `spec`, over that of the exact run."""
    wrong, right = (
        np.median(analysis.family_sds(s, analysis.simulate(s).recording)[..., 0]) for s in (spec, spec.replace(variant="exact"))
    )
    return float(wrong / right)


def _explain_forgot(spec: PriorsLesson) -> Said:
    return say(sd_ratio=loosened(spec))


QUESTIONS = [
    WORDS.question("held", lambda spec: nearest(held(spec)[0], (0.3, 1.0, 4.0)), _explain_held, scenario="own"),
    WORDS.question("inputs", lambda spec: nearest(relevance(spec, "per_input"), RATIOS), _explain_inputs, scenario="inputs"),
    WORDS.question("forgot", lambda spec: nearest(loosened(spec), LOOSE), _explain_forgot, scenario="forgot-count"),
]
