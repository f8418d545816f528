"""The predictions, with answers computed from runs."""

from __future__ import annotations

import numpy as np

from app.kit.frame import Question
from lessons.gibbs import analysis
from lessons.gibbs.spec import GibbsLesson

LONG = 20_000


def nearest(value: float, choices: tuple[float, ...]) -> int:
    """Index of the choice nearest to `value` on a logarithmic scale."""
    return int(np.argmin([abs(np.log(max(value, 1e-9) / choice)) for choice in choices]))


def per_thousand(spec: GibbsLesson) -> float:
    """Effective draws per 1,000 sweeps, from a longer run."""
    return analysis.efficiency(spec, LONG)


def _explain_ridge(spec: GibbsLesson) -> str:
    found = per_thousand(spec)
    text = f"{found:.0f} effective draws per 1 000 sweeps, from a longer run."
    if spec.target == "gaussian":
        exact = 1000 * float(analysis.exact_efficiency(np.array(spec.correlation)))
        text += (
            f" Exact for this scan: $1000\\,(1-\\rho^2)/(1+\\rho^2) = {exact:.0f}$. Neighbouring draws have "
            f"correlation "
            f"$\\rho^2 = {spec.correlation**2:.3f}$."
        )
    return text + " Not one step was rejected: **acceptance 100 % is no sign of good mixing**."


def _block_gain(spec: GibbsLesson) -> float:
    return per_thousand(spec.replace(block="yes")) / per_thousand(spec.replace(block="no"))


def _explain_block(spec: GibbsLesson) -> str:
    with_block, without = (per_thousand(spec.replace(block=block)) for block in ("yes", "no"))
    return (
        f"{with_block:.0f} effective draws per 1 000 sweeps as a block, {without:.0f} one at a time. The block costs "
        f"the "
        "same two normal draws; what it needs is algebra: the marginal of x₁ with x₂ integrated out."
    )


def lag_one(spec: GibbsLesson) -> float:
    """Lag-one autocorrelation of the second coordinate, from a longer run."""
    return float(analysis.autocorrelation(analysis.long_run(spec.simulation(), LONG).draws[:, :, 1], 1)[1])


def _explain_precision(spec: GibbsLesson) -> str:
    exact = analysis.exact_lag_one(spec)
    text = f"Measured {lag_one(spec):.3f}."
    if exact is not None:
        text += f" Exact: $1/(2a+3) = {exact:.3f}$ with $a$ the shape of τ's posterior."
    return (
        text
        + " A correlation of 0 between μ and τ does not make them independent: how far out μ lies tells about τ. But "
        "it tells little, so Gibbs mixes well here."
    )


def _variance(spec: GibbsLesson) -> tuple[float, float]:
    """Variance of the first coordinate in a longer run, and the exact one."""
    truth = spec.build_target().truth
    found = float(analysis.long_run(spec.simulation(), LONG).draws[:, :, 0].var())
    return found, float(truth.covariance[0, 0]) if truth else float("nan")


def _which_way(spec: GibbsLesson) -> int:
    found, true = _variance(spec)
    return 0 if found < 0.95 * true else 2 if found > 1.05 * true else 1


def _explain_window(spec: GibbsLesson) -> str:
    found, true = _variance(spec)
    return (
        f"Variance of $x_1$: {found:.3f}, true {true:.3f}. Every step was accepted, the trace looks healthy, and "
        f"chains "
        "agree with each other. More draws do not help: they settle on the wrong density. Try other sizes of the "
        "grid's "
        "step."
    )


QUESTIONS = [
    Question(
        "ridge",
        "Correlation 0.97, every step accepted. How many effective draws do 1 000 sweeps give?",
        ["About 500", "About 150", "About 30"],
        lambda spec: nearest(per_thousand(spec), (500.0, 150.0, 30.0)),
        _explain_ridge,
        scenario="ridge",
    ),
    Question(
        "block",
        "The same ridge, but x₁ and x₂ are drawn together. How many times as many effective draws?",
        ["About the same", "About 6 times", "About 33 times"],
        lambda spec: nearest(_block_gain(spec), (1.0, 6.0, 33.0)),
        _explain_block,
        scenario="block",
    ),
    Question(
        "precision",
        "μ and τ are uncorrelated in this posterior. What is the correlation between one draw of τ and the next?",
        ["Exactly 0", "About 0.1", "About 0.5"],
        lambda spec: int(np.argmin(np.abs(np.array([0.0, 0.1, 0.5]) - lag_one(spec)))),
        _explain_precision,
        scenario="normal-gamma",
    ),
    Question(
        "window",
        "A grid of 11 points around the present value, weights from the true density, always accepted. What does the "
        "variance of the draws become?",
        ["Too small", "Right", "Too large"],
        _which_way,
        _explain_window,
        scenario="window",
    ),
]
