"""Predict → lock → run → explain. Every answer is computed from the run."""

from __future__ import annotations

import threading

import numpy as np

from app.kit.predict import Question
from lessons.regression import analysis
from lessons.regression.analysis import GRID
from lessons.regression.scenes import NAMES
from lessons.regression.spec import RegressionLesson

NEVER = threading.Event()
PLACES = ("on the data", "in the gap, near x = 0.7", "at the ends, near x = ±3")
SHARES = ((0.85, "about 90"), (0.7, "70 to 85"), (0.55, "55 to 70"), (0.0, "fewer than 55"))
RIVALS = ("map", "ensemble", "dropout", "laplace")
MANY = 60  # measurements instead of the spec's


def places(spec: RegressionLesson) -> tuple[float, float, float]:
    """Mean epistemic sd where there are data, within 0.3 of the middle of the gap, and beyond ±2.7."""
    epistemic = analysis.answer(spec, "nuts").epistemic
    gap, ends = np.abs(GRID - 0.7) < 0.3, np.abs(GRID) > 2.7
    data = analysis.has_data(spec, GRID) & ~gap
    return tuple(float(epistemic[where].mean()) for where in (data, gap, ends))


def _where(spec: RegressionLesson) -> int:
    return int(np.argmax(places(spec)))


def _where_why(spec: RegressionLesson) -> str:
    data, gap, ends = places(spec)
    return (
        f"The sd over the curves is {data:.2f} on the data, {gap:.2f} in the gap and {ends:.2f} at the ends. On the "
        "data every curve that strays is punished by the likelihood. In the gap the curves are held from both sides, "
        "at the ends from one only. Far out it is the prior that decides how far they may go."
    )


def held(spec: RegressionLesson) -> float:
    """Share of fresh measurements in the 90 % band."""
    return analysis.covered(analysis.answer(spec, "nuts")).new


def _share(spec: RegressionLesson) -> int:
    share = held(spec)
    return next(i for i, (low, _) in enumerate(SHARES) if share >= low)


def _share_why(spec: RegressionLesson) -> str:
    right = spec.replace(noise_sd=spec.data_noise)
    return (
        f"It holds {held(spec):.0%} of {analysis.FRESH} fresh measurements. The band is ± 1.64 σ and a little more, "
        f"and σ is {spec.data_noise / spec.noise_sd:.0f} times too small. Told the true σ = {spec.data_noise:g}, the "
        f"same model on the same data holds {held(right):.0%}. Check a fixed σ against the errors that you see."
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


def _shrinks_why(spec: RegressionLesson) -> str:
    epistemic, aleatoric, later_epistemic, later_aleatoric = shrink(spec)
    return (
        f"With {MANY} in place of {spec.observations} measurements the epistemic sd where there are data goes from "
        f"{epistemic:.3f} to {later_epistemic:.3f}, the aleatoric from {aleatoric:.3f} to {later_aleatoric:.3f}. "
        "Ignorance is cured by data, noise is not: learning σ makes its value *known*, not small."
    )


def nearest(spec: RegressionLesson) -> dict[str, float]:
    """Epistemic sd of each rival in the gap, over the posterior's."""
    gap = np.abs(GRID - 0.7) < 0.3
    true = analysis.answer(spec, "nuts").epistemic[gap].mean()
    return {method: float(analysis.answer(spec, method).epistemic[gap].mean() / true) for method in RIVALS}


def _nearest(spec: RegressionLesson) -> int:
    off = [abs(np.log(max(ratio, 1e-6))) for ratio in nearest(spec).values()]
    return int(np.argmin(off))


def _nearest_why(spec: RegressionLesson) -> str:
    told = ", ".join(f"{NAMES[method]} {ratio:.2f}" for method, ratio in nearest(spec).items())
    return (
        f"Spread in the gap, as a share of the posterior's: {told}. One network has none. The ensemble's members are "
        "climbers: where the prior leaves one clear top, they meet there. Dropout's spread is made by leaving out "
        "units, wherever the input lies. Laplace takes the curvature at one top for the whole landscape."
    )


QUESTIONS = [
    Question("where", "Where will the curves differ most?", PLACES, _where, _where_why, scenario="gap"),
    Question(
        "rivals",
        "Which comes nearest to the posterior's spread in the gap?",
        [NAMES[method] for method in RIVALS],
        _nearest,
        _nearest_why,
        scenario="compare",
    ),
    Question(
        "share",
        "Of 100 fresh measurements, how many will this 90 % band hold?",
        [words for _, words in SHARES],
        _share,
        _share_why,
        scenario="wrong-noise",
    ),
    Question(
        "shrink",
        f"With {MANY} measurements in place of 30, what shrinks by more than 15 %?",
        ("both kinds", "the epistemic part only", "the aleatoric part only", "neither"),
        _shrinks,
        _shrinks_why,
        scenario="learned-noise",
    ),
]
