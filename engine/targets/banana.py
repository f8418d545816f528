"""Banana: a Gaussian bent along a parabola."""

from __future__ import annotations

import math

import numpy as np

from engine.kernels import target_kernel
from engine.targets.densities import LOG_2PI, Array, Density, gauss_legendre, normal_density
from engine.targets.target import Target, TargetError, Truth


@target_kernel
def _banana(q, grad, dim, data, ints, scratch):
    """data: log constant, 1 / width**2, curvature, width**2"""
    precision, curvature = data[1], data[2]
    x, y = q[0], q[1]
    off = y - curvature * (x * x - data[3])
    grad[0] = x * (2.0 * curvature * off - precision)
    grad[1] = -off
    return data[0] - 0.5 * (precision * x * x + off * off)


def banana(*, width: float = 1.5, curvature: float = 0.5) -> Target:
    """x1 ~ N(0, width**2), x2 given x1 ~ N(curvature * (x1**2 - width**2), 1): two coordinates, mean 0, uncorrelated,
    yet dependent.

    width : > 0
    curvature : any finite number; 0 gives a Gaussian

    Normalised. Moments are exact, the marginal of x2 is by quadrature (relative error below 1e-10).
    Source: Haario, Saksman & Tamminen 1999 ("twisted" Gaussian), shifted to have mean 0.
    """
    if not (0.0 < width < math.inf and math.isfinite(curvature)):
        raise TargetError(f"no banana has width {width:g} and curvature {curvature:g}")
    bend = curvature * width * width

    def draw(rng: np.random.Generator, n: int) -> Array:
        x, noise = rng.standard_normal((2, n))
        return np.column_stack([width * x, bend * (x * x - 1.0) + noise])

    low, high = sorted((-bend, curvature * (2.2 * width) ** 2 - bend))
    return Target(
        name="banana",
        dim=2,
        owner=_banana,
        data=np.array([-LOG_2PI - math.log(width), 1.0 / width**2, curvature, width**2]),
        ints=np.zeros(1, dtype=np.int64),
        view=((-3.2 * width, 3.2 * width), (low - 3.0, high + 3.0)),
        truth=Truth(
            np.zeros(2),
            np.diag([width**2, 1.0 + 2.0 * bend**2]),
            (normal_density(0.0, width), _bent(bend)),
            source="quadrature" if bend else "exact",
            log_normaliser=0.0,
            draw=draw,
        ),
    )


def _bent(bend: float) -> Density:
    """Density of bend * (z**2 - 1) + e with z, e ~ N(0, 1) independent.

    In u = z**2 the log of the integrand is the parabola -u/2 - (y + b - b*u)**2 / 2. The nodes span the part of u >= 0
    within 50 of its largest value, so that the relative error stays small in the far tails too.
    """
    if bend == 0.0:
        return normal_density(0.0, 1.0)
    b, sign = abs(bend), math.copysign(1.0, bend)
    nodes, weights = gauss_legendre(256)

    def density(x: Array) -> Array:
        at = np.asarray(x, dtype=np.float64)
        offset = sign * at.ravel()[:, None] + b
        top = np.maximum(0.0, (offset - 0.5 / b) / b)
        slope = np.maximum(0.0, 0.5 - b * offset)  # fall per unit u at u = 0 when the parabola's own top lies below 0
        reach = 100.0 / (slope + np.sqrt(slope * slope + 100.0 * b * b))
        low, high = np.sqrt(np.maximum(0.0, top - reach)), np.sqrt(top + reach)
        z = low + (high - low) * nodes
        values = np.exp(-0.5 * (z * z + (offset - b * z * z) ** 2) - LOG_2PI)
        return np.asarray((2.0 * (high - low)[:, 0] * (values @ weights)).reshape(at.shape))

    return density
