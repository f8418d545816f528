"""The predictions, with answers computed from fits."""

from __future__ import annotations

import numpy as np

from app.kit.frame import Question
from lessons.variational import analysis
from lessons.variational.spec import VariationalLesson


def nearest(value: float, choices: tuple[float, ...]) -> int:
    """Index of the choice nearest to `value` on a logarithmic scale."""
    return int(np.argmin([abs(np.log(max(value, 1e-9) / choice)) for choice in choices]))


# Two modes ------------------------------------------------------------------------------------------------------------


def _where(spec: VariationalLesson) -> int:
    """0 in the left mode, 1 in the right one, 2 over both: of the q that makes KL(q‖p) small."""
    mean, sd = analysis.descents(spec)["from_q"].path[-1]
    half = 0.5 * spec.separation
    if sd > 1.5:
        return 2
    return 0 if abs(mean + half) < abs(mean - half) else 1


def _explain_where(spec: VariationalLesson) -> str:
    found = analysis.descents(spec)
    (m, s), (c, d) = found["from_q"].path[-1], found["from_p"].path[-1]
    text = (
        f"KL(q‖p) ends at mean {m:.2f}, sd {s:.2f}, with {found['from_q'].kl[-1]:.2f} nats; KL(p‖q) at mean {c:.2f}, "
        f"sd {d:.2f}, the mean and sd of p."
    )
    if _where(spec) < 2:
        share = spec.weight if _where(spec) == 0 else 1.0 - spec.weight
        text += (
            f" A q inside one of two far modes misses the rest and pays only −log of its weight: {-np.log(share):.2f}."
        )
    return text + " All of variational inference below makes KL(q‖p) small, since it needs averages over q only."


# Mean-field -----------------------------------------------------------------------------------------------------------

RATIOS = (1.0, 0.66, 0.44, 0.19)


def sd_ratio(spec: VariationalLesson) -> float:
    """Sd of the fitted q over the exact one, first coordinate."""
    climb = analysis.simulate(spec)
    q = climb.final()
    _, sd = analysis.moments_of_q(spec, q.mean, q.sd)
    return float(sd[0] / np.sqrt(climb.target.truth.covariance[0, 0]))


def _explain_ratio(spec: VariationalLesson) -> str:
    text = f"This fit: {sd_ratio(spec):.2f} of the exact sd."
    if spec.target == "gaussian":
        rho = spec.correlation
        text += (
            f" The best there is: $\\sqrt{{1-\\rho^2}} = {np.sqrt(1 - rho**2):.2f}$ for mean-field, the sd of a "
            f"coordinate given the other. It leaves a gap of $-\\tfrac12\\log(1-\\rho^2) = "
            f"{-0.5 * np.log(1 - rho**2):.2f}$ nats."
        )
    return text


# Score function -------------------------------------------------------------------------------------------------------

TIMES = (1.0, 5.0, 25.0, 125.0)


def noise_ratio(spec: VariationalLesson) -> float:
    """Sd of the score-function estimate over that of the reparameterised one, typical along the fit."""
    found = analysis.noise(spec).sd
    return float(np.exp(np.median(np.log(found["score"] / found["reparameterised"]))))


def _explain_noise(spec: VariationalLesson) -> str:
    found, ratio = analysis.noise(spec).sd, noise_ratio(spec)
    text = (
        f"Along this fit the sd is typically {ratio:.1f} times as large, so the same precision would take about "
        f"{ratio**2:,.0f} times as many points."
    )
    if "score_control" in found:
        cure = float(np.exp(np.median(np.log(found["score_control"] / found["reparameterised"]))))
        text += f" With a control variate it is {cure:.1f} times: subtracting the other points' average costs nothing."
    return text


# Jacobian -------------------------------------------------------------------------------------------------------------


def precision_means(spec: VariationalLesson) -> tuple[float, float]:
    """Mean of τ under the fitted q, and the exact one."""
    climb = analysis.simulate(spec)
    q = climb.final()
    mean, _ = analysis.moments_of_q(spec, q.mean, q.sd)
    return float(mean[1]), float(climb.target.truth.mean[1])


def _which_way(spec: VariationalLesson) -> int:
    found, true = precision_means(spec)
    return 0 if found < 0.93 * true else 2 if found > 1.07 * true else 1


def _explain_jacobian(spec: VariationalLesson) -> str:
    found, true = precision_means(spec)
    return (
        f"E[τ] under this q is {found:.3f}, exact {true:.3f}. The forgotten factor is τ itself: without it the fit "
        "sees p(μ, τ)/τ. Switch the mistake off under **Break it** and compare."
    )


QUESTIONS = [
    Question(
        "where",
        "One normal q, two modes of weights 0.6 and 0.4, a start between them, a little to the right. Where does the q "
        "end that makes KL(q‖p) small?",
        ("in the left mode, the heavier", "in the right mode, the lighter", "wide, over both"),
        _where,
        _explain_where,
        scenario="modes",
    ),
    Question(
        "ratio",
        "Correlation 0.9, q without correlation. How large is q's sd beside the exact one?",
        ("the same", "about two thirds", "a bit less than half", "a fifth"),
        lambda spec: nearest(sd_ratio(spec), RATIOS),
        _explain_ratio,
        scenario="mean-field",
    ),
    Question(
        "noise",
        "Two unbiased estimates of the same slope from the same number of points. How much noisier is the score "
        "function's than the one that passes through the points?",
        ("equally noisy", "about 5 times", "about 25 times", "about 125 times"),
        lambda spec: nearest(noise_ratio(spec), TIMES),
        _explain_noise,
        scenario="score",
    ),
    Question(
        "jacobian",
        "The factor τ of the transformation is forgotten. What becomes of the mean of τ?",
        ("too small", "right", "too large"),
        _which_way,
        _explain_jacobian,
        scenario="jacobian",
    ),
]
