"""The predictions, with answers computed from runs."""

from __future__ import annotations

import numpy as np

from app.kit.words import Said, say
from engine.diagnostics import autocorrelation
from engine.judge.answers import nearest
from engine.samplers.gibbs_theory import gaussian_efficiency
from lessons.gibbs import analysis
from lessons.gibbs.spec import WORDS, GibbsLesson

LONG = 20_000


def per_thousand(spec: GibbsLesson) -> float:
    """Effective draws per 1,000 sweeps, from a longer run."""
    return analysis.efficiency(spec, LONG)


def _explain_ridge(spec: GibbsLesson) -> Said:
    found = per_thousand(spec)
    if spec.target != "gaussian":
        return say("found", "no_sign", found=found)
    exact = 1000 * float(gaussian_efficiency(np.array(spec.correlation)))
    return say("found", "exact", "no_sign", found=found, exact=exact, lag_one=spec.correlation**2)


def _block_gain(spec: GibbsLesson) -> float:
    return per_thousand(spec.replace(block="yes")) / per_thousand(spec.replace(block="no"))


def _explain_block(spec: GibbsLesson) -> Said:
    with_block, without = (per_thousand(spec.replace(block=block)) for block in ("yes", "no"))
    return say(with_block=with_block, without=without)


def lag_one(spec: GibbsLesson) -> float:
    """Lag-one autocorrelation of the second coordinate, from a longer run."""
    return float(autocorrelation(analysis.long_run(spec.simulation(), LONG).draws[:, :, 1], 1, pooled=True)[1])


def _explain_precision(spec: GibbsLesson) -> Said:
    measured, exact = lag_one(spec), analysis.exact_lag_one(spec)
    if exact is None:
        return say("measured", "why", measured=measured)
    return say("measured", "exact", "why", measured=measured, exact=exact)


def _variance(spec: GibbsLesson) -> tuple[float, float]:
    """Variance of the first coordinate in a longer run, and the exact one."""
    truth = spec.build_target().truth
    found = float(analysis.long_run(spec.simulation(), LONG).draws[:, :, 0].var())
    return found, float(truth.covariance[0, 0]) if truth else float("nan")


def _middle(spec: GibbsLesson) -> tuple[float, float]:
    """Between which values 95 % of the draws of the first coordinate lie, in a longer run."""
    low, high = np.quantile(analysis.long_run(spec.simulation(), LONG).draws[:, :, 0], (0.025, 0.975))
    return float(low), float(high)


def _explain_window(spec: GibbsLesson) -> Said:
    found, true = _variance(spec)
    return say(found=found, true=true)


QUESTIONS = [
    WORDS.question("ridge", lambda spec: nearest(per_thousand(spec), (500.0, 150.0, 30.0)), _explain_ridge, scenario="ridge"),
    WORDS.question("block", lambda spec: nearest(_block_gain(spec), (1.0, 6.0, 33.0)), _explain_block, scenario="block"),
    WORDS.question(
        "precision",
        lambda spec: int(np.argmin(np.abs(np.array([0.0, 0.1, 0.5]) - lag_one(spec)))),
        _explain_precision,
        scenario="normal-gamma",
    ),
    WORDS.question("window", _middle, _explain_window, scenario="window"),
]
