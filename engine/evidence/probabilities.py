"""From log evidences to model probabilities, errors carried along."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.spec import SpecError

Array = NDArray[np.float64]

DRAWS = 1024  # pairs of errors, from which the error of the probabilities is read


class ModelProbabilities(NamedTuple):
    """p(model | y) of K models, and its standard error: both (K,)."""

    probability: Array
    error: Array


def model_probabilities(log_evidence: ArrayLike, error: ArrayLike = 0.0, log_prior: ArrayLike | None = None) -> ModelProbabilities:
    """`p_k = exp(log_prior_k + log_evidence_k) / sum`, for K models.

    log_evidence : (K,)
    error : scalar or (K,), standard errors of the log evidences, independent of each other
    log_prior : (K,), up to a constant; default all the same

    The error is the root mean square change of p over normal errors of the log evidences, so that it holds for large
    ones, too. Raises SpecError naming a parameter that has a wrong shape or is not a number.
    """
    p, draws = _softmax_draws(log_evidence, error, log_prior)
    return ModelProbabilities(p, np.sqrt(((draws - p) ** 2).mean(axis=0)))


def group_probabilities(
    groups: ArrayLike, log_evidence: ArrayLike, error: ArrayLike = 0.0, log_prior: ArrayLike | None = None
) -> ModelProbabilities:
    """Probabilities of groups of models, both (G,). groups : (K,), the group of each model, from 0; the rest as
    `model_probabilities`.
    """
    p, draws = _softmax_draws(log_evidence, error, log_prior)
    member = np.equal.outer(np.arange(np.max(groups) + 1), groups)
    return ModelProbabilities(member @ p, np.sqrt((((draws - p) @ member.T) ** 2).mean(axis=0)))


def _softmax_draws(log_evidence: ArrayLike, error: ArrayLike, log_prior: ArrayLike | None) -> tuple[Array, Array]:
    """p (K,), and what it would be with other errors of the log evidences (2 DRAWS, K)."""
    logs = np.asarray(log_evidence, dtype=np.float64)
    if logs.ndim != 1 or not len(logs) or np.any(np.isnan(logs)) or not -np.inf < logs.max() < np.inf:
        raise SpecError("log_evidence", "must be a list of numbers, with one finite at least")
    spread = _like("error", error, logs)
    prior = _like("log_prior", 0.0 if log_prior is None else log_prior, logs)
    if not (np.all(spread >= 0) and np.all(np.isfinite(spread[np.isfinite(logs)]))):
        raise SpecError("error", "every entry must be finite and not below 0")
    total = logs + prior
    return _softmax(total), _softmax(total + np.where(np.isfinite(logs), spread, 0.0) * _deviates(len(logs)))


def _softmax(logs: Array) -> Array:
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


@functools.cache
def _deviates(count: int) -> Array:
    """Normal deviates (2 DRAWS, count), always the same: in pairs of opposite sign and with unit covariance exactly, so
    that small errors come out as linear theory has them.
    """
    rng = np.random.Generator(np.random.SFC64(1))
    rows = max(DRAWS, count)
    half = np.linalg.qr(rng.standard_normal((rows, count)))[0] * np.sqrt(rows)
    return np.concatenate([half, -half])


def _like(name: str, values: ArrayLike, logs: Array) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.shape not in ((), logs.shape) or np.any(np.isnan(array)):
        raise SpecError(name, f"must be a number or {len(logs)} numbers, one a model")
    return np.broadcast_to(array, logs.shape)
