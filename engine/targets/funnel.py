"""Neal's funnel: the scale of some coordinates is the exponential of another one."""

from __future__ import annotations

import math

import numpy as np

from engine.kernels import arguments_apart, target_kernel
from engine.targets.densities import LOG_2PI, Array, Density, normal_density
from engine.targets.target import Target, TargetError, Truth


@target_kernel
def _funnel(q, grad, dim, data, ints, scratch):
    """data: log constant, 1 / neck**2"""
    arguments_apart()
    v = q[0]
    precision = math.exp(-v)
    total = 0.0
    for j in range(1, dim):
        total += q[j] * q[j]
        grad[j] = -precision * q[j]
    energy = 0.5 * precision * total
    grad[0] = energy - v * data[1] - 0.5 * (dim - 1)
    return data[0] - 0.5 * v * (v * data[1] + (dim - 1)) - energy


def funnel(*, dimension: int = 2, neck: float = 3.0) -> Target:
    """v ~ N(0, neck**2), and given v every x_j ~ N(0, exp(v)), j = 1..dimension-1. The first coordinate is v.

    dimension : >= 2
    neck : standard deviation of v, > 0. Neal has 3: the width of the funnel then changes by a factor 400 within 4 sd
        of v.

    Normalised. Moments are exact: Var x = exp(neck**2 / 2). The marginal of x is by quadrature (relative error below
    1e-9). Source: Neal 2003, Slice sampling, section 8.
    """
    if not (dimension >= 2 and 0.0 < neck < math.inf):
        raise TargetError(f"no funnel has dimension {dimension} and neck {neck:g}")
    log_constant = -0.5 * dimension * LOG_2PI - math.log(neck)
    variance = math.exp(0.5 * neck * neck)
    mouth = 3.0 * math.exp(0.5 * neck)  # three sd of x where v is one sd up

    def draw(rng: np.random.Generator, n: int) -> Array:
        v = neck * rng.standard_normal((n, 1))
        return np.hstack([v, np.exp(0.5 * v) * rng.standard_normal((n, dimension - 1))])

    return Target(
        name="funnel",
        dim=dimension,
        owner=_funnel,
        data=np.array([log_constant, 1.0 / neck**2]),
        ints=np.zeros(1, dtype=np.int64),
        labels=("v", *(f"x{str(j).translate(_SUBSCRIPTS)}" for j in range(1, dimension))),
        view=((-3.0 * neck, 3.0 * neck), (-mouth, mouth)),
        truth=Truth(
            np.zeros(dimension),
            np.diag([neck**2, *[variance] * (dimension - 1)]),
            (normal_density(0.0, neck), *[_scale_mixture(neck)] * (dimension - 1)),
            source="quadrature",
            log_normaliser=0.0,
            draw=draw,
            heavy_tails=True,
        ),
        plane=funnel(neck=neck) if dimension > 2 else None,
    )


_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def _scale_mixture(neck: float) -> Density:
    """Density of x: the integral over v of N(v; 0, neck**2) N(x; 0, exp(v)).

    Trapezoidal rule on an analytic integrand: the error falls as exp(-pi**2 / step) for the double exponential in v
    and as exp(-2 (pi neck / step)**2) for the Gaussian.
    """
    step = min(0.3, 0.5 * neck)

    def density(x: Array) -> Array:
        at = np.asarray(x, dtype=np.float64)
        squares = at.ravel()[:, None] ** 2
        # The integrand peaks between -neck**2 / 2 (at x = 0) and log(x**2).
        top = max(0.0, math.log(max(1.0, float(squares.max(initial=0.0)))))
        v = np.arange(-0.5 * neck**2 - 9.0 * neck, top + 9.0 * neck, step)
        # exp(-v) times a square may overflow to infinity: the term is then 0, as it should be
        with np.errstate(over="ignore"):
            values = np.exp(-0.5 * (v * v / neck**2 + v + squares * np.exp(-v)) - LOG_2PI - math.log(neck))
        return np.asarray((step * values.sum(axis=1)).reshape(at.shape))

    return density
