"""Two modes far apart, of unequal weight."""

from __future__ import annotations

import math

import numpy as np

from engine.kernels import arguments_apart, target_kernel
from engine.targets.densities import LOG_2PI, Array, Density, normal_density
from engine.targets.target import Target, TargetError, Truth


@target_kernel
def _two_modes(q, grad, dim, data, ints, scratch):
    """data: log constant, half the separation, log(weight of the left mode / weight of the right one)"""
    arguments_apart()
    half = data[1]
    x = q[0]
    log_odds = data[2] - 2.0 * half * x  # of the left mode against the right one, here
    small = math.exp(-abs(log_odds))
    if small < 1e-9:  # nearly always: to double precision log(1 + s) = s and 1 / (1 + s) = 1 - s
        likely, extra = 1.0 - small, small
    else:
        likely, extra = 1.0 / (1.0 + small), math.log(1.0 + small)
    left = likely if log_odds > 0.0 else 1.0 - likely
    value = data[0] - 0.5 * (x - half) * (x - half) + max(log_odds, 0.0) + extra
    grad[0] = -x + half * (1.0 - 2.0 * left)
    for j in range(1, dim):
        value -= 0.5 * q[j] * q[j]
        grad[j] = -q[j]
    return value


def two_modes(*, dimension: int = 2, separation: float = 6.0, weight: float = 0.7) -> Target:
    """weight * N(-separation/2 * e1, I) + (1 - weight) * N(+separation/2 * e1, I), e1 the first axis.

    dimension : >= 1
    separation : distance of the modes in standard deviations, >= 0
    weight : probability of the left mode, in (0, 1)

    Normalised. The truth is exact.
    """
    if not (dimension >= 1 and 0.0 <= separation < math.inf and 0.0 < weight < 1.0):
        raise TargetError(f"no two modes have dimension {dimension}, separation {separation:g} and weight {weight:g}")
    half = 0.5 * separation
    mean, covariance = np.zeros(dimension), np.eye(dimension)
    mean[0] = half * (1.0 - 2.0 * weight)
    covariance[0, 0] += weight * (1.0 - weight) * separation**2

    def draw(rng: np.random.Generator, n: int) -> Array:
        points = rng.standard_normal((n, dimension))
        points[:, 0] += np.where(rng.random(n) < weight, -half, half)
        return points

    return Target(
        name="two_modes",
        dim=dimension,
        owner=_two_modes,
        data=np.array([math.log1p(-weight) - 0.5 * dimension * LOG_2PI, half, math.log(weight) - math.log1p(-weight)]),
        ints=np.zeros(1, dtype=np.int64),
        view=((-half - 3.5, half + 3.5), (-3.5, 3.5)),
        truth=Truth(
            mean, covariance, (_mixture(half, weight), *[normal_density(0.0, 1.0)] * (dimension - 1)), log_normaliser=0.0, draw=draw
        ),
        plane=two_modes(separation=separation, weight=weight) if dimension > 2 else None,
    )


def _mixture(half: float, weight: float) -> Density:
    left, right = normal_density(-half, 1.0), normal_density(half, 1.0)

    def density(x: Array) -> Array:
        return weight * left(x) + (1.0 - weight) * right(x)

    return density
