"""AIC and BIC of every model, beside what each of them approximates.

AIC estimates the deviance that new y would have; BIC approximates -2 log p(y | model) under a prior that is worth as
much as one row. Neither is a probability of a model, and neither knows the slab.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.kept import kept
from lessons.spike_and_slab.analysis import Setup

Array = NDArray[np.float64]

STEPS, HALVINGS = 60, 30  # of Newton's climb at most
SETTLED = 1e-9  # a step in deviance below which it ends


@dataclass(frozen=True, eq=False)
class Criteria:
    """Of every model, (M,) each, in the order of the enumeration; all on the scale of a deviance, -2 log p.

    aic, bic : 2 k and k log n above the least deviance that the model's coefficients can reach
    expected : mean deviance of new y at the same x, with the coefficients fitted to y; what AIC estimates. It is known
        here because the true coefficients are
    evidence : -2 log p(y | model) under the slab
    unit_information : -2 log p(y | model) under the prior N(0, n x the inverse information of y); what BIC
        approximates. NaN for the logistic model, and where a model has more coefficients than rows
    from_aic, from_bic : probabilities of the models that exp(-AIC / 2) and exp(-BIC / 2) would give, with the prior
    """

    aic: Array
    bic: Array
    expected: Array
    evidence: Array
    unit_information: Array
    from_aic: Array
    from_bic: Array


@kept
def criteria(here: Setup) -> Criteria:
    """Those of all models that were weighed."""
    model, models = here.model, here.truth.models
    x, y, linear = model.design, model.y, model.likelihood == "linear"
    truth = x @ here.effects
    deviance, expected = np.empty(len(models)), np.empty(len(models))
    constant = 2.0 * np.log(model.noise_sd) + np.log(2.0 * np.pi)  # of a row
    for m, inside in enumerate(models):
        if linear:
            fitted = least_squares(x[:, inside], y)
            deviance[m] = y.size * constant + ((y - fitted) ** 2).sum() / model.noise_sd**2
            expected[m] = y.size * (constant + 1.0) + ((truth - fitted) ** 2).sum() / model.noise_sd**2
        else:
            fitted = most_likely(x[:, inside], y)
            deviance[m] = yes_and_no(fitted, y)
            expected[m] = yes_and_no(fitted, probability(truth))
    size, n = models.sum(axis=1), y.size
    aic, bic = deviance + 2.0 * size, deviance + size * np.log(n)
    # the prior takes n / (n + 1) of what a fit gains over no predictors, and log(n + 1) for each coefficient
    unit = deviance + (deviance[0] - deviance) / (n + 1.0) + size * np.log(n + 1.0)
    unit[size > n if linear else slice(None)] = np.nan
    prior = models @ model.log_odds
    return Criteria(aic, bic, expected, -2.0 * here.truth.log_evidence, unit, shares(prior - 0.5 * aic), shares(prior - 0.5 * bic))


def shares(logs: Array) -> Array:
    """Probabilities in proportion to exp(logs)."""
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def distance(one: Array, other: Array) -> float:
    """Total variation distance of two distributions: the most by which the probability of any set of models differs."""
    return 0.5 * float(np.abs(one - other).sum())


def least_squares(x: Array, y: Array) -> Array:
    """(n,) the point nearest to y that the columns of x (n, k) reach."""
    if not x.shape[1]:
        return np.zeros_like(y)
    return np.asarray(x @ np.linalg.lstsq(x, y, rcond=None)[0])


def yes_and_no(eta: Array, y: Array) -> float:
    """Deviance of outcomes y of 0 and 1, or of their probabilities, where the log odds of a yes are eta."""
    return 2.0 * float((np.logaddexp(0.0, eta) - y * eta).sum())


def probability(eta: Array) -> Array:
    """Of a yes, where its log odds are eta."""
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * eta))


def most_likely(x: Array, y: Array) -> Array:
    """(n,) log odds at the maximum of a logistic likelihood, by Newton's steps, halved while they do not climb. Where
    the columns of x (n, k) divide the classes there is no maximum, and the climb ends close below its limit.
    """
    beta = np.zeros(x.shape[1])
    value = yes_and_no(x @ beta, y)
    for _ in range(STEPS if x.shape[1] else 0):
        p = probability(x @ beta)
        curvature = (x.T * (p * (1.0 - p))) @ x + 1e-10 * np.eye(x.shape[1])
        step, before = np.linalg.solve(curvature, x.T @ (y - p)), value
        for halving in range(HALVINGS):
            trial = beta + 0.5**halving * step
            found = yes_and_no(x @ trial, y)
            if found < value:
                beta, value = trial, found
                break
        if before - value < SETTLED:
            break
    return np.asarray(x @ beta)
