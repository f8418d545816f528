"""The predictions, with answers computed from runs."""

from __future__ import annotations

import numpy as np

from app.kit.frame import Question
from lessons.tuning import analysis
from lessons.tuning.analysis import LONG_CHAINS, LONG_DRAWS, LONG_SETS
from lessons.tuning.spec import SEVERAL, TuningLesson


def nearest(value: float, choices: tuple[float, ...]) -> int:
    """Index of the choice nearest to `value` on a logarithmic scale."""
    return int(np.argmin([abs(np.log(value / choice)) for choice in choices]))


def yields(spec: TuningLesson) -> list[float]:
    """Effective draws per 1,000 gradients of the three target acceptances of the view."""
    found = analysis.sweep(spec)
    assert found is not None  # only a cancelled sweep is None
    return [float(found.efficiency[found.deltas.index(delta)]) for delta in SEVERAL["three"]]


def _explain_delta(spec: TuningLesson) -> str:
    told = ", ".join(
        f"{value:.3g} at δ = {delta:g}" for delta, value in zip(SEVERAL["three"], yields(spec), strict=True)
    )
    return (
        f"Effective draws per 1 000 gradients: {told}. On a target as mild as this long steps are the cheap ones. The "
        "usual 0.8 pays a little for safety, and 0.95 pays more; the banana shows what it buys."
    )


BEFORE = 75  # transitions of the first stretch, in which only the step size is tuned


def gain(spec: TuningLesson) -> tuple[float, float]:
    """Mean gradients of a transition of all chains, with the identity as mass (once ε is found) and after warm-up."""
    gradients = analysis.simulate(spec).gradients
    return float(gradients[:, BEFORE // 3 : BEFORE].mean()), float(gradients[:, spec.warmup :].mean())


def _explain_gain(spec: TuningLesson) -> str:
    before, after = gain(spec)
    ledger = analysis.simulate(spec)
    return (
        f"{before:.0f} gradients per transition before the first window ends, {after:.1f} after the warm-up: "
        f"{before / after:.0f} times fewer. ε must fit the narrowest width, in units of what the mass believes; it "
        f"went from {ledger.step_size[0, BEFORE - 1]:.3g} to {ledger.step_size[0, -1]:.3g}."
    )


def tilt_gain(spec: TuningLesson) -> tuple[float, float]:
    """Mean gradients of a draw with the diagonal and with the dense mass."""
    masses = ("diagonal", "dense")
    runs = [analysis.simulate(spec.replace(mass=mass)) for mass in masses]
    diagonal, dense = (float(run.gradients[:, run.kept].mean()) for run in runs)
    return diagonal, dense


def _explain_tilt(spec: TuningLesson) -> str:
    diagonal, dense = tilt_gain(spec)
    return (
        f"{diagonal:.1f} gradients per draw with the diagonal mass, {dense:.1f} with the dense one: "
        f"{diagonal / dense:.1f} times fewer. A diagonal matrix can stretch the axes but not turn them. The price of "
        "a dense one: its numbers to learn and the work of each step grow like the square of the dimension."
    )


def _explain_banana(spec: TuningLesson) -> str:
    low, high = SEVERAL["pair"]
    poor, good = analysis.long_runs(spec, low), analysis.long_runs(spec, high)
    each = ", ".join(f"{a:,.0f} against {b:,.0f}" for a, b in zip(poor.ess, good.ess, strict=True))
    return (
        f"{LONG_SETS} sets of {LONG_CHAINS} chains of {LONG_DRAWS:,} draws give effective draws of x₂²: {each}. "
        f"That is {analysis.ess_ratio(spec, high, low):.0f} times (geometric mean). A draw at {high:g} costs "
        f"{good.gradients.mean() / poor.gradients.mean():.1f} times the gradients, so it is still much cheaper. "
        f"Divergent transitions: {int(poor.divergent.sum()):,} against {int(good.divergent.sum()):,}; they were the "
        "warning."
    )


def _which_way(spec: TuningLesson) -> int:
    short = analysis.short_runs(spec, "adapting")
    assert short is not None
    return 1 if abs(short.z) < 4.0 else 0 if short.mean < short.exact else 2


def _explain_for_ever(spec: TuningLesson) -> str:
    never, frozen = analysis.short_runs(spec, "adapting"), analysis.short_runs(spec, "frozen")
    assert never is not None and frozen is not None
    agreement = analysis.diagnose(spec).summary.rhat[-1]
    return (
        f"{never.runs} runs of this length from exact draws: the variance comes out {never.mean:.3f} times the exact "
        f"one ({abs(never.z):.0f} standard errors off) if tuning never stops, {frozen.mean:.3f} times "
        f"({abs(frozen.z):.1f}) if it stops after the warm-up. All chains make the same mistake, so comparing them "
        f"cannot show it: R-hat of x₂² is {agreement:.3f}."
    )


QUESTIONS = [
    Question(
        "delta",
        "Which target acceptance gives the most effective draws per gradient on this mild Gaussian?",
        ["δ = 0.6", "δ = 0.8", "δ = 0.95"],
        lambda spec: int(np.argmax(yields(spec))),
        _explain_delta,
        scenario="deltas",
    ),
    Question(
        "scales",
        "Widths 100 : 1. Once the windows have taught the mass, how many times fewer gradients does a transition take?",
        ["About 2 times", "About 20 times", "About 200 times"],
        lambda spec: nearest(gain(spec)[0] / gain(spec)[1], (2.0, 20.0, 200.0)),
        _explain_gain,
        scenario="scales",
    ),
    Question(
        "dense",
        "Correlation 0.99, equal widths. Gradients per draw with a dense mass against a diagonal one?",
        ["About the same", "About five times fewer", "About 25 times fewer"],
        lambda spec: nearest(tilt_gain(spec)[0] / tilt_gain(spec)[1], (1.0, 5.0, 25.0)),
        _explain_tilt,
        scenario="dense",
    ),
    Question(
        "banana",
        f"{LONG_CHAINS * LONG_DRAWS:,} draws at δ = 0.8 and as many at δ = 0.99. How many times as many effective "
        "draws of x₂² does 0.99 give?",
        ["About as many", "About 10 times", "About 100 times"],
        lambda spec: nearest(analysis.ess_ratio(spec, 0.99, 0.8), (1.0, 10.0, 100.0)),
        _explain_banana,
        scenario="banana",
    ),
    Question(
        "for-ever",
        "Never stop tuning. What does the variance of x₂ come out as?",
        ["Too small", "Right", "Too large"],
        _which_way,
        _explain_for_ever,
        scenario="for-ever",
    ),
]
