"""Every model, one by one: 2**p of them, for up to 12 predictors. The truth that samplers and fits are held against.

The linear model's evidence is closed form. The logistic model's is an integral over the coefficients: Laplace's
approximation at the mode, corrected by importance sampling from a Student t around it, whose tails are heavier than
those of the posterior, so that the weights are bounded. Draws come in antithetic pairs; the error is that of their
averages, independent between models.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.kernels import kernel
from engine.samplers.run import whole_number
from engine.spec import MAX_SEED, SpecError
from engine.spike_and_slab.model import SpikeAndSlab, back_substitute, factorise
from engine.targets.densities import LOG_2PI

Array = NDArray[np.float64]

MOST_PREDICTORS = 12
DOF = 8.0  # of the Student t


@dataclass(frozen=True, eq=False)
class Enumeration:
    """The exact posterior over models, M = 2**p; row m has predictor j in where bit j of m is set.

    models : (M, p) bool
    log_evidence : (M,), log p(y | model); laplace : (M,), what Laplace's approximation alone says (the same for the
        linear model)
    error : (M,), standard error of log_evidence, 0 for the linear model
    probability : (M,), p(model | y)
    inclusion, inclusion_error : (p,), p(gamma_j = 1 | y) and its standard error
    coefficients : (K,), posterior mean of the coefficients, those out counting as 0
    log_total, log_total_error : log p(y), all models averaged over their prior, and its standard error
    """

    models: NDArray[np.bool_]
    log_evidence: Array
    laplace: Array
    error: Array
    probability: Array
    inclusion: Array
    inclusion_error: Array
    coefficients: Array
    log_total: float
    log_total_error: float


def enumerate_models(model: SpikeAndSlab, *, pairs: int = 100, seed: int = 0) -> Enumeration:
    """All models. pairs : of importance draws for each logistic evidence.

    Raises SpecError for more than 12 predictors.
    """
    p, always = model.predictors, model.always
    if p > MOST_PREDICTORS:
        raise SpecError("x", f"{p} predictors make {2**p:,} models: at most {MOST_PREDICTORS} are enumerated")
    M, K = 2**p, p + always
    models = ((np.arange(M)[:, None] >> np.arange(p)) & 1).astype(np.bool_)
    log_evidence, laplace, error, means = np.empty(M), np.empty(M), np.zeros(M), np.zeros((M, K))
    whole_number("pairs", pairs, 2)
    if model.likelihood == "linear":
        gram = model.design.T @ model.design / model.noise_sd**2
        _linear(gram, model.moment, model.precision, always, models, log_evidence, means)
        log_evidence += model.log_constant
        laplace[:] = log_evidence
    else:
        rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence(whole_number("seed", seed, 0, MAX_SEED))))
        _logistic(model.design, model.y, model.precision, always, models, pairs, rng, log_evidence, laplace, error, means)
    inside = models.astype(np.float64)
    log_prior = inside @ model.log_odds - np.logaddexp(0.0, model.log_odds).sum()
    joint = log_evidence + log_prior
    total = float(np.logaddexp.reduce(joint))
    probability = np.exp(joint - total)
    inclusion = probability @ inside
    shares = probability * error
    return Enumeration(
        models,
        log_evidence,
        laplace,
        error,
        probability,
        inclusion,
        np.sqrt((shares**2) @ (inside - inclusion) ** 2),
        probability @ means,
        total,
        float(np.sqrt((shares**2).sum())),
    )


@kernel
def _columns(models, m, always, index):
    """The columns of model m. Returns how many."""
    k = always
    for j in range(always):
        index[j] = j
    for j in range(models.shape[1]):
        if models[m, j]:
            index[k] = always + j
            k += 1
    return k


@kernel
def _linear(gram, moment, precision, always, models, log_evidence, means):
    K = precision.size
    index, root, half, beta = np.empty(K, np.int64), np.empty((K, K)), np.empty(K), np.empty(K)
    for m in range(models.shape[0]):
        k = _columns(models, m, always, index)
        log_evidence[m] = factorise(gram, moment, precision, index, k, root, half)
        back_substitute(root, k, half, beta)
        for i in range(k):
            means[m, index[i]] = beta[i]


@kernel
def _log_joint(design, y, precision, index, k, beta):
    """Log likelihood plus log prior of a logistic model."""
    value = 0.0
    for i in range(k):
        value += 0.5 * (math.log(precision[index[i]]) - LOG_2PI - precision[index[i]] * beta[i] * beta[i])
    for r in range(y.size):
        eta = 0.0
        for i in range(k):
            eta += design[r, index[i]] * beta[i]
        value += (y[r] - 1.0) * eta - math.log1p(math.exp(-abs(eta))) + min(eta, 0.0)
    return value


@kernel
def _mode(design, y, precision, index, k, beta, gram, moment, root, half, trial):
    """Newton's climb to the mode, steps halved while they do not climb. Leaves the root of minus the Hessian there."""
    for i in range(k):
        beta[i] = 0.0
    value = _log_joint(design, y, precision, index, k, beta)
    for _ in range(100):
        for i in range(k):
            moment[index[i]] = -precision[index[i]] * beta[i]
            for j in range(i + 1):
                gram[index[i], index[j]] = 0.0
        for r in range(y.size):
            eta = 0.0
            for i in range(k):
                eta += design[r, index[i]] * beta[i]
            p = 1.0 / (1.0 + math.exp(-eta))
            for i in range(k):
                moment[index[i]] += design[r, index[i]] * (y[r] - p)
                for j in range(i + 1):
                    gram[index[i], index[j]] += p * (1.0 - p) * design[r, index[i]] * design[r, index[j]]
        factorise(gram, moment, precision, index, k, root, half)
        back_substitute(root, k, half, trial)
        largest = 0.0
        for i in range(k):
            largest = max(largest, abs(trial[i]))
        if largest < 1e-9:
            break
        length, step = 1.0, 0
        while step < 40:
            for i in range(k):
                half[i] = beta[i] + length * trial[i]
            new = _log_joint(design, y, precision, index, k, half)
            if new > value - 1e-12:
                break
            length, step = 0.5 * length, step + 1
        for i in range(k):
            beta[i] = half[i]
        value = new
    return value


@kernel
def _logistic(design, y, precision, always, models, pairs, rng, log_evidence, laplace, error, means):
    K = precision.size
    index, root, gram = np.empty(K, np.int64), np.empty((K, K)), np.empty((K, K))
    moment, half, trial, mode = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    noise, step, total = np.empty(K), np.empty(K), np.empty(K)
    logs = np.empty(pairs)
    for m in range(models.shape[0]):
        k = _columns(models, m, always, index)
        top = _mode(design, y, precision, index, k, mode, gram, moment, root, half, trial)
        log_determinant = 0.0
        for i in range(k):
            log_determinant += math.log(root[i, i])
        laplace[m] = top + 0.5 * k * LOG_2PI - log_determinant
        log_t = math.lgamma(0.5 * (DOF + k)) - math.lgamma(0.5 * DOF) - 0.5 * k * math.log(DOF * math.pi)
        log_t += log_determinant
        weights, squares = 0.0, 0.0
        for i in range(k):
            total[i] = 0.0
        for d in range(pairs):
            length = math.sqrt(DOF / (2.0 * rng.standard_gamma(0.5 * DOF)))
            distance = 0.0
            for i in range(k):
                noise[i] = length * rng.standard_normal()
                distance += noise[i] * noise[i]
            back_substitute(root, k, noise, step)
            log_q = log_t - 0.5 * (DOF + k) * math.log1p(distance / DOF)
            pair = 0.0
            for side in range(2):
                for i in range(k):
                    trial[i] = mode[i] + (step[i] if side == 0 else -step[i])
                w = math.exp(_log_joint(design, y, precision, index, k, trial) - log_q - laplace[m])
                pair += 0.5 * w
                for i in range(k):
                    total[i] += 0.5 * w * trial[i]
            logs[d] = pair
            weights += pair
        mean = weights / pairs
        for d in range(pairs):
            squares += (logs[d] - mean) ** 2
        log_evidence[m] = laplace[m] + math.log(mean)
        error[m] = math.sqrt(squares / (pairs * (pairs - 1.0))) / mean
        for i in range(k):
            means[m, index[i]] = total[i] / weights
