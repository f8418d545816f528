"""From log evidences to model probabilities, errors carried along."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.spec import SpecError

Array = NDArray[np.float64]


class ModelProbabilities(NamedTuple):
    """p(model | y) of K models, and its standard error: both (K,)."""

    probability: Array
    error: Array


def model_probabilities(
    log_evidence: ArrayLike, error: ArrayLike = 0.0, log_prior: ArrayLike | None = None
) -> ModelProbabilities:
    """`p_k = exp(log_prior_k + log_evidence_k) / sum`, for K models.

    log_evidence : (K,)
    error : scalar or (K,), standard errors of the log evidences, independent of each other
    log_prior : (K,), up to a constant; default all the same

    The error is that of the linearised map: `d p_k / d log_evidence_j = p_k (delta_kj - p_j)`; it holds while the
    errors are well below 1. Raises SpecError naming a parameter that has a wrong shape or is not a number.
    """
    logs = np.asarray(log_evidence, dtype=np.float64)
    if logs.ndim != 1 or not len(logs) or np.any(np.isnan(logs)) or not -np.inf < logs.max() < np.inf:
        raise SpecError("log_evidence", "must be a list of numbers, with one finite at least")
    spread = _like("error", error, logs)
    prior = _like("log_prior", 0.0 if log_prior is None else log_prior, logs)
    if not (np.all(spread >= 0) and np.all(np.isfinite(spread[np.isfinite(logs)]))):
        raise SpecError("error", "every entry must be finite and not below 0")
    total = logs + prior
    p = np.exp(total - np.logaddexp.reduce(total))
    variance = np.where(p > 0, spread, 0.0) ** 2
    own = ((1.0 - p) ** 2 - p**2) * variance  # the sum over j counts j = k as p_k^2
    return ModelProbabilities(p, p * np.sqrt(np.maximum(own + p**2 @ variance, 0.0)))


def _like(name: str, values: ArrayLike, logs: Array) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.shape not in ((), logs.shape) or np.any(np.isnan(array)):
        raise SpecError(name, f"must be a number or {len(logs)} numbers, one a model")
    return np.broadcast_to(array, logs.shape)
