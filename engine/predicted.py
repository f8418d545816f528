"""What a run says of the data that it has seen, datum by datum: their log likelihoods, and data drawn from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.leave_one_out import normal_log_density

Array = NDArray[np.float64]

LEAST = 1e-12  # probability that a class is given


@dataclass(frozen=True, eq=False)
class Predicted:
    """Each datum under each draw.

    y : (n,), the data
    log_likelihood : (chains, draws, n), nats
    replicated : (chains, draws, n), a data set drawn from each draw: the posterior predictive
    """

    y: Array
    log_likelihood: Array
    replicated: Array


def values(y: ArrayLike, means: ArrayLike, noise_sd: ArrayLike, seed: int) -> Predicted:
    """Of values with normal noise. y : (n,); means : (chains, draws, n); noise_sd : (chains, draws), or one for all."""
    y, means = np.asarray(y, dtype=np.float64), np.asarray(means, dtype=np.float64)
    noise = np.broadcast_to(noise_sd, means.shape[:2])[:, :, None]
    rng = np.random.Generator(np.random.SFC64([seed, len(y)]))
    return Predicted(y, normal_log_density(y, means, noise), rng.normal(means, noise))


def classes(y: ArrayLike, p: ArrayLike, seed: int) -> Predicted:
    """Of classes 0 and 1. y : (n,); p : (chains, draws, n), probability of class 1."""
    y = np.asarray(y, dtype=np.float64)
    chances = np.clip(np.asarray(p, dtype=np.float64), LEAST, 1.0 - LEAST)
    rng = np.random.Generator(np.random.SFC64([seed, len(y)]))
    drawn = rng.random(chances.shape) < chances
    return Predicted(y, np.where(y == 1.0, np.log(chances), np.log1p(-chances)), drawn.astype(np.float64))
