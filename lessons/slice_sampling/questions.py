"""The predictions, with answers computed from runs."""

from __future__ import annotations

import numpy as np

from app.kit.words import say
from lessons.slice_sampling import analysis
from lessons.slice_sampling.spec import WORDS, SliceSamplingLesson


def spent(spec: SliceSamplingLesson, factor: float) -> float:
    """Evaluations of the density in a transition, with w `factor` times as wide."""
    return float(analysis.simulate(spec.replace(w=factor * spec.w))[0].gradient_evaluations.mean())


def right_share(spec: SliceSamplingLesson) -> float:
    """Share of the draws of chain 1 on the right of 0."""
    return float((analysis.simulate(spec)[0].draws[0, :, 0] > 0).mean())


def off(spec: SliceSamplingLesson) -> float:
    """Error of the mean of the first coordinate over a long run, in sds."""
    truth = spec.build_target().truth
    assert truth is not None
    return float((analysis.long_run(spec).draws[:, :, 0].mean() - truth.mean[0]) / np.sqrt(truth.covariance[0, 0]))


def third(value: float, low: float, high: float) -> int:
    """0 below `low`, 2 above `high`, else 1."""
    return int(value > low) + int(value > high)


QUESTIONS = (
    WORDS.question(
        "width",
        lambda spec: third(spent(spec, 10.0) / spent(spec, 0.1), 0.7, 1.4),
        lambda spec: say(small=spent(spec, 0.1), now=spent(spec, 1.0), large=spent(spec, 10.0)),
        scenario="steps",
    ),
    WORDS.question(
        "narrow",
        lambda spec: third(right_share(spec), 0.02, 0.3),
        lambda spec: say(share=right_share(spec), due=1.0 - spec.weight),
        scenario="narrow",
    ),
    WORDS.question("no-test", lambda spec: third(off(spec), -0.05, 0.05), lambda spec: say(mean=off(spec)), scenario="no-test"),
)
