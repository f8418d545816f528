"""From the real line to the support of each coordinate, with the log-Jacobian.

q is a normal over zeta in R^dim; theta = T(zeta) is what the target sees. The density of zeta is that of theta times
|dT/dzeta|: log p(T(zeta)) + sum_i log T_i'(zeta_i). Without the second term one fits another distribution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels import kernel
from engine.spec import SpecError

Array = NDArray[np.float64]
Support = str | tuple[float, float]

REAL, POSITIVE, INTERVAL = 0, 1, 2


class Transform(NamedTuple):
    """One map per coordinate, as kernels take it.

    kind : (dim,) int64, `REAL` (theta = zeta), `POSITIVE` (low + exp zeta) or `INTERVAL` (low + width sigmoid(zeta))
    low, width : (dim,)
    """

    kind: NDArray[np.int64]
    low: Array
    width: Array


def transform(supports: Sequence[Support] | None, dim: int) -> Transform:
    """The maps for `supports`, one of "real", "positive" or (low, high) per coordinate; None means all real.

    An interval may be (low, inf). Raises SpecError.
    """
    entries: Sequence[Support] = ["real"] * dim if supports is None else supports
    if isinstance(entries, str) or len(entries) != dim:
        raise SpecError("supports", f"{supports!r} does not give one support for each of {dim} coordinates")
    kind, low, width = np.zeros(dim, dtype=np.int64), np.zeros(dim), np.ones(dim)
    for j, entry in enumerate(entries):
        if entry == "real":
            continue
        ends = (0.0, math.inf) if entry == "positive" else entry
        if isinstance(ends, str) or len(ends) != 2 or not (math.isfinite(ends[0]) and ends[0] < ends[1]):
            raise SpecError("supports", f'{entry!r} is not "real", "positive" or (low, high)')
        low[j] = ends[0]
        kind[j] = INTERVAL if math.isfinite(ends[1]) else POSITIVE
        width[j] = ends[1] - ends[0] if math.isfinite(ends[1]) else 1.0
    return Transform(kind, low, width)


@kernel
def constrain(maps, zeta, theta, slope, bend):
    """theta = T(zeta); slope = T'(zeta), bend = d log T' / dzeta, all (dim,). Returns the log-Jacobian, the sum of
    log T'.
    """
    total = 0.0
    for j in range(zeta.size):
        z = zeta[j]
        if maps.kind[j] == REAL:
            theta[j], slope[j], bend[j] = z, 1.0, 0.0
        elif maps.kind[j] == POSITIVE:
            grown = math.exp(z)
            theta[j], slope[j], bend[j] = maps.low[j] + grown, grown, 1.0
            total += z
        else:
            small = math.exp(-abs(z))
            rest = 1.0 / (1.0 + small)
            share = rest if z > 0.0 else small * rest
            theta[j] = maps.low[j] + maps.width[j] * share
            slope[j] = maps.width[j] * small * rest * rest
            bend[j] = 1.0 - 2.0 * share
            total += math.log(maps.width[j]) - abs(z) - 2.0 * math.log1p(small)
    return total


@kernel
def _constrain_many(maps, zeta, theta, log_jacobian):
    slope, bend = np.empty(zeta.shape[1]), np.empty(zeta.shape[1])
    for i in range(zeta.shape[0]):
        log_jacobian[i] = constrain(maps, zeta[i], theta[i], slope, bend)


def constrained(maps: Transform, zeta: Array) -> tuple[Array, Array]:
    """theta (n, dim) and log-Jacobian (n,) of rows of zeta (n, dim)."""
    rows = np.ascontiguousarray(zeta, dtype=np.float64)
    theta, log_jacobian = np.empty_like(rows), np.empty(len(rows))
    _constrain_many(maps, rows, theta, log_jacobian)
    return theta, log_jacobian


def unconstrained(maps: Transform, theta: Array) -> Array:
    """The zeta (n, dim) of rows of theta (n, dim); NaN outside the support."""
    rows = np.asarray(theta, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (rows - maps.low) / maps.width
        values = np.where(maps.kind == POSITIVE, np.log(share), np.log(share) - np.log1p(-share))
    return np.where(maps.kind == REAL, rows, values)
