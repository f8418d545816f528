"""Ring: the radius is nearly known, the angle not at all."""

from __future__ import annotations

import math

import numpy as np

from engine.kernels import target_kernel
from engine.targets.densities import Array, Density, gauss_legendre
from engine.targets.target import Target, TargetError, Truth


@target_kernel
def _ring(q, grad, dim, data, ints, scratch):
    """data: log constant, radius, 1 / thickness**2. The centre is the tip of a cone: its gradient is set to 0."""
    r = math.sqrt(q[0] * q[0] + q[1] * q[1])
    off = r - data[1]
    pull = data[2] * off / r if r > 0.0 else 0.0
    grad[0] = -pull * q[0]
    grad[1] = -pull * q[1]
    return data[0] - 0.5 * data[2] * off * off


def ring(*, radius: float = 3.0, thickness: float = 0.3) -> Target:
    """Density proportional to exp(-(r - radius)**2 / (2 thickness**2)) in the plane, r the distance from 0.

    radius : >= 0
    thickness : > 0

    Normalised. Moments are exact; the marginals, equal for both coordinates, are by quadrature (relative error below
    1e-9).
    """
    if not (0.0 <= radius < math.inf and 0.0 < thickness < math.inf):
        raise TargetError(f"no ring has radius {radius:g} and thickness {thickness:g}")
    # m_k = integral of r**k exp(-(r - R)**2 / 2t**2) over r > 0: m_{k+1} = R m_k + k t**2 m_{k-1}, with a border term
    # for k = 0.
    t2 = thickness**2
    m0 = thickness * math.sqrt(0.5 * math.pi) * math.erfc(-radius / (thickness * math.sqrt(2.0)))
    m1 = radius * m0 + t2 * math.exp(-0.5 * radius**2 / t2)
    m2 = radius * m1 + t2 * m0
    m3 = radius * m2 + 2.0 * t2 * m1
    log_constant = -math.log(2.0 * math.pi * m1)
    half = 1.1 * (radius + 3.5 * thickness)
    marginal = _shadow(radius, thickness, log_constant)

    def draw(rng: np.random.Generator, n: int) -> Array:
        # r exp(-(r - R)**2 / 2t**2) by rejection from the Gaussian; beyond the cap lies less than 1e-14
        cap, r = radius + 8.0 * thickness, np.empty(0)
        while len(r) < n:
            proposal = radius + thickness * rng.standard_normal(2 * n)
            r = np.append(r, proposal[rng.random(2 * n) * cap < proposal])
        angle = rng.uniform(0.0, 2.0 * math.pi, n)
        return r[:n, None] * np.column_stack([np.cos(angle), np.sin(angle)])

    return Target(
        name="ring",
        dim=2,
        owner=_ring,
        data=np.array([log_constant, radius, 1.0 / t2]),
        ints=np.zeros(1, dtype=np.int64),
        view=((-half, half), (-half, half)),
        truth=Truth(np.zeros(2), np.eye(2) * (0.5 * m3 / m1), (marginal, marginal), source="quadrature", log_normaliser=0.0, draw=draw),
    )


def _shadow(radius: float, thickness: float, log_constant: float) -> Density:
    """Density of one coordinate: the integral over the other one.

    With y = |x| sinh(s), r = |x| cosh(s) and dy = r ds, the integrand is smooth in s even where the line x = const
    touches the ring.
    """
    nodes, weights = gauss_legendre(512)

    def density(x: Array) -> Array:
        at = np.asarray(x, dtype=np.float64)
        far = max(radius, thickness)
        distance = np.maximum(np.abs(at.ravel()), 1e-12 * far)[:, None]
        high = np.maximum(distance, radius) + 9.0 * thickness
        low = np.maximum(distance, max(radius - 9.0 * thickness, 1e-10 * far))
        start, end = np.arccosh(low / distance), np.arccosh(high / distance)
        r = distance * np.cosh(start + (end - start) * nodes)
        values = r * np.exp(log_constant - 0.5 * ((r - radius) / thickness) ** 2)
        return np.asarray((2.0 * (end - start)[:, 0] * (values @ weights)).reshape(at.shape))

    return density
