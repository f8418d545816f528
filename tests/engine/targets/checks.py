"""What the tests of targets share: finite differences, and integrals by scipy (not by the engine's quadrature)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy.integrate import quad

from engine.targets import Target

Array = np.ndarray


def central_difference(f: Callable[[Array], float], q: Array, step: float = 1e-4) -> tuple[Array, Array]:
    """Gradient (dim,) by Richardson-extrapolated central differences, and an estimate of its error (dim,)."""
    slope, error = np.empty(q.size), np.empty(q.size)
    for i in range(q.size):
        direction = np.eye(q.size)[i]
        h = step * max(1.0, abs(q[i]))
        coarse = (f(q + h * direction) - f(q - h * direction)) / (2 * h)
        fine = (f(q + 0.5 * h * direction) - f(q - 0.5 * h * direction)) / h
        slope[i] = (4.0 * fine - coarse) / 3.0
        error[i] = abs(fine - coarse) + 1e-15 * abs(f(q)) / h
    return slope, error


def assert_gradient(target: Target, q: Array, tolerance: float = 1e-6) -> None:
    value, gradient = target.log_density_and_gradient(q)
    assert np.isfinite(value) and np.all(np.isfinite(gradient))
    slope, error = central_difference(target.log_density, q)
    assert np.all(np.abs(slope - gradient) <= tolerance * (1.0 + np.abs(gradient)) + error), (q, slope, gradient)


def integral(f: Callable[[Array], Array], low: float, high: float, power: int = 0, breaks: tuple[float, ...] = ()) -> float:
    """Integral of x**power f(x), by scipy."""
    edges = [low, *sorted(breaks), high]
    return sum(
        quad(lambda x: x**power * float(f(np.array([x]))[0]), a, b, limit=400, epsabs=1e-12, epsrel=1e-10)[0] for a, b in pairwise(edges)
    )
