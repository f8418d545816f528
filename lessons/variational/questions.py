"""The predictions, with answers computed from fits."""

from __future__ import annotations

import numpy as np

from app.kit.words import Said, say
from engine.judge.answers import nearest
from lessons.variational import analysis
from lessons.variational.spec import WORDS, VariationalLesson

# Two modes ------------------------------------------------------------------------------------------------------------


def _fitted(spec: VariationalLesson) -> tuple[float, ...]:
    """Density of the q that makes KL(q‖p) small, at the places of the curve."""
    mean, sd = analysis.descents(spec)["from_q"].path[-1]
    over = np.array(WORDS.drawn("where").over)
    return tuple(np.exp(-0.5 * ((over - mean) / sd) ** 2) / (sd * np.sqrt(2 * np.pi)))


def _where(spec: VariationalLesson) -> int:
    """0 in the left mode, 1 in the right one, 2 over both: of the q that makes KL(q‖p) small."""
    mean, sd = analysis.descents(spec)["from_q"].path[-1]
    half = 0.5 * spec.separation
    if sd > 1.5:
        return 2
    return 0 if abs(mean + half) < abs(mean - half) else 1


def _explain_where(spec: VariationalLesson) -> Said:
    found, where = analysis.descents(spec), _where(spec)
    (mean, sd), (wide_mean, wide_sd) = found["from_q"].path[-1], found["from_p"].path[-1]
    ends = dict(mean=mean, sd=sd, kl=found["from_q"].kl[-1], wide_mean=wide_mean, wide_sd=wide_sd)
    if where == 2:
        return say("ends", "below", **ends)
    return say("ends", "one_mode", "below", **ends, pays=-np.log(spec.weight if where == 0 else 1.0 - spec.weight))


# Mean-field -----------------------------------------------------------------------------------------------------------

RATIOS = (1.0, 0.66, 0.44, 0.19)


def sd_ratio(spec: VariationalLesson) -> float:
    """Sd of the fitted q over the exact one, first coordinate."""
    climb = analysis.simulate(spec)
    q = climb.final()
    _, sd = analysis.moments_of_q(spec, q.mean, q.sd)
    return float(sd[0] / np.sqrt(climb.target.known.covariance[0, 0]))


def _explain_ratio(spec: VariationalLesson) -> Said:
    if spec.target != "gaussian":
        return say("fit", sd_ratio=sd_ratio(spec))
    given = 1 - spec.correlation**2
    return say("fit", "best", sd_ratio=sd_ratio(spec), best=np.sqrt(given), gap=-0.5 * np.log(given))


# Score function -------------------------------------------------------------------------------------------------------

TIMES = (1.25, 5.0, 50.0)  # between the options


def noise_ratio(spec: VariationalLesson) -> float:
    """Sd of the score-function estimate over that of the reparameterised one, typical along the fit."""
    found = analysis.noise(spec).sd
    return float(np.exp(np.median(np.log(found["score"] / found["reparameterised"]))))


def _explain_noise(spec: VariationalLesson) -> Said:
    found, ratio = analysis.noise(spec).sd, noise_ratio(spec)
    if "score_control" not in found:
        return say("typical", sd_ratio=ratio, points=ratio**2)
    control_ratio = np.exp(np.median(np.log(found["score_control"] / found["reparameterised"])))
    return say("typical", "cure", sd_ratio=ratio, points=ratio**2, control_ratio=control_ratio)


# Jacobian -------------------------------------------------------------------------------------------------------------


def precision_means(spec: VariationalLesson) -> tuple[float, float]:
    """Mean of τ under the fitted q, and the exact one."""
    climb = analysis.simulate(spec)
    q = climb.final()
    mean, _ = analysis.moments_of_q(spec, q.mean, q.sd)
    return float(mean[1]), float(climb.target.known.mean[1])


def _which_way(spec: VariationalLesson) -> int:
    found, true = precision_means(spec)
    return 0 if found < 0.93 * true else 2 if found > 1.07 * true else 1


def _explain_jacobian(spec: VariationalLesson) -> Said:
    found, true = precision_means(spec)
    return say(found=found, true=true)


QUESTIONS = [
    WORDS.question("where", _fitted, _explain_where, scenario="modes"),
    WORDS.question("ratio", lambda spec: nearest(sd_ratio(spec), RATIOS), _explain_ratio, scenario="mean-field"),
    WORDS.question("noise", lambda spec: int(np.searchsorted(TIMES, noise_ratio(spec))), _explain_noise, scenario="score"),
    WORDS.question("jacobian", _which_way, _explain_jacobian, scenario="jacobian"),
]
