"""Made-up regressions: a wave with a gap in it, and six inputs of which two matter."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from datasets.card import Card

Array = NDArray[np.float64]

INPUTS, RELEVANT = 6, 2


class Values(NamedTuple):
    """A regression data set.

    x : (n, inputs)
    y : (n,)
    card : where it comes from
    """

    x: Array
    y: Array
    card: Card


def wave(n: int = 20, noise_sd: float = 0.15, seed: int = 1) -> Values:
    """`n` points with normal noise on `wave_at`, none of them between -0.4 and 0.6."""
    rng = np.random.default_rng(seed)
    x = np.sort(np.where(rng.random(n) < 0.5, rng.uniform(-2.0, -0.4, n), rng.uniform(0.6, 2.0, n)))[:, None]
    return Values(x, wave_at(x) + noise_sd * rng.standard_normal(n), _made("a wave with a gap", seed))


def wave_at(x: Array) -> Array:
    """1.2 sin(2 x) at x (n, 1): (n,)."""
    return np.asarray(1.2 * np.sin(2.0 * x[:, 0]))


def six_inputs(n: int = 60, noise_sd: float = 0.2, seed: int = 1) -> Values:
    """`n` points with normal noise on `six_inputs_at`, inputs uniform on [-1.7, 1.7]: four of the six mean nothing."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.7, 1.7, (n, INPUTS))
    return Values(x, six_inputs_at(x) + noise_sd * rng.standard_normal(n), _made("six inputs, two matter", seed))


def six_inputs_at(x: Array) -> Array:
    """1.2 tanh(2 x1) + 0.7 x2 at x (n, 6): (n,)."""
    return np.asarray(1.2 * np.tanh(2.0 * x[:, 0]) + 0.7 * x[:, 1])


def _made(name: str, seed: int) -> Card:
    return Card(name, f"made by a formula with noise, seed {seed}", "none needed: random numbers", "none")
