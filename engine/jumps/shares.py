"""Shares of sizes, widths or depths, among the draws of chains that jump between them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.diagnostics import ess_mean, rhat

Array = NDArray[np.float64]


class Shares(NamedTuple):
    """Shares of K sizes among draws. mean, mcse, ess : (K,); rhat : of the sizes themselves.

    mcse and ess are NaN for a size never visited.
    """

    mean: Array
    mcse: Array
    ess: Array
    rhat: float


def shares(sizes: ArrayLike, low: int, count: int) -> Shares:
    """How often each of low..low + count - 1 occurs in `sizes` (chains, draws), and how sure that is."""
    drawn = np.asarray(sizes)
    mean, ess = np.zeros(count), np.full(count, np.nan)
    for k in range(count):
        seen = (drawn == low + k).astype(np.float64)
        mean[k] = seen.mean()
        if 0.0 < mean[k] < 1.0:
            ess[k] = ess_mean(seen)
    return Shares(mean, np.sqrt(mean * (1.0 - mean) / ess), ess, rhat(drawn.astype(np.float64)))


def running_shares(sizes: ArrayLike, low: int, count: int, burn: int = 0) -> Array:
    """Shares of the sizes among all chains' draws so far, (draws, count): row t counts draws burn..t of `sizes`
    (chains, draws), and before the burn-in ends draw t alone.
    """
    drawn = np.asarray(sizes)
    each = (drawn[:, :, None] == np.arange(low, low + count)).mean(axis=0)
    result = each.copy()
    if burn < len(each):
        n = np.arange(1, len(each) - burn + 1)
        result[burn:] = np.cumsum(each[burn:], axis=0) / n[:, None]
    return result
