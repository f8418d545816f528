"""Monte Carlo integration: integrals with known answers, independent draws, running averages.

An integral is the mean of a value over draws from a proposal. Where the proposal is not the distribution itself, each
value carries the weight p/q of importance sampling.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from engine.spec import SpecError

Array = NDArray[np.float64]

MAX_VALUES = 20_000_000  # of one call, all replications together


@dataclass(frozen=True)
class Integral:
    """An integral as the mean of `value` over draws.

    name : identifier
    dim : coordinates of one draw
    mean : the exact integral, NaN where it does not exist
    variance : of one value, exact; inf where it is infinite, NaN where not even the mean exists
    tail : index t with P(value > v) ~ v**-t for large v; inf for lighter tails. The error falls like n**-(1 - 1/t) for
        1 < t < 2, like n**-(1/2) above, and not at all below 1
    draw : (rng, n) -> (n, dim) independent points
    value : points (n, dim) -> (n,), weight included
    unweighted : the same with the weight p/q forgotten; the same function where there is no weight
    unweighted_mean : what its average converges to
    """

    name: str
    dim: int
    mean: float
    variance: float
    tail: float
    draw: Callable[[np.random.Generator, int], Array]
    value: Callable[[Array], Array]
    unweighted: Callable[[Array], Array]
    unweighted_mean: float

    @property
    def weighted(self) -> bool:
        """Is there a weight to forget?"""
        return self.unweighted is not self.value

    @property
    def rate(self) -> float:
        """The power r of the error's n**-r: 1/2 where the variance is finite, less where it is not."""
        return 0.5 if self.tail >= 2.0 else max(0.0, 1.0 - 1.0 / self.tail)


def ball(dimension: int = 2) -> Integral:
    """Volume of the ball of radius 1, by darts at the cube [-1, 1]**dimension around it: 2**dimension where a dart
    hits, else 0. In the plane it is pi.
    """
    _whole("dimension", dimension, 1, 50)
    cube = 2.0**dimension
    volume = math.pi ** (0.5 * dimension) / math.gamma(0.5 * dimension + 1.0)

    def value(x: Array) -> Array:
        return np.where(sum((x * x).T) <= 1.0, cube, 0.0)  # column by column: NumPy's own sum of few takes thrice as long

    def draw(rng: np.random.Generator, n: int) -> Array:
        return 2.0 * rng.random((n, dimension)) - 1.0

    variance = volume * (cube - volume)
    return Integral("ball", dimension, volume, variance, math.inf, draw, value, value, volume)


def power(a: float = 0.4, b: float = 0.0) -> Integral:
    """The integral of x**-a over (0, 1), 1 / (1 - a), with draws of density (1 - b) x**-b.

    The variance is finite where 2 a - b < 1, and zero for b = a.
    """
    _between("a", a, 0.0, 0.99)
    _between("b", b, 0.0, 0.99)
    second = math.inf if 2.0 * a - b > 1.0 - 1e-9 else 1.0 / ((1.0 - b) * (1.0 - 2.0 * a + b))
    tail = (1.0 - b) / (a - b) if a > b else math.inf

    def draw(rng: np.random.Generator, n: int) -> Array:
        return (1.0 - rng.random((n, 1))) ** (1.0 / (1.0 - b))

    def value(x: Array) -> Array:
        return x[:, 0] ** (b - a) / (1.0 - b)

    def unweighted(x: Array) -> Array:
        return x[:, 0] ** -a

    mean = 1.0 / (1.0 - a)
    forgotten = (1.0 - b) / (1.0 - a - b) if a + b < 1.0 else math.inf
    variance = max(0.0, second - mean * mean)
    return Integral("power", 1, mean, variance, tail, draw, value, unweighted if b else value, forgotten)


def rare(threshold: float = 3.0, shift: float = 0.0) -> Integral:
    """P(z > threshold) of a standard normal, with draws of N(shift, 1)."""
    _between("threshold", threshold, 0.0, 8.0)
    _between("shift", shift, 0.0, 10.0)
    mean = _above(threshold)

    def draw(rng: np.random.Generator, n: int) -> Array:
        return shift + rng.standard_normal((n, 1))

    def value(x: Array) -> Array:
        return np.where(x[:, 0] > threshold, np.exp(shift * (0.5 * shift - x[:, 0])), 0.0)

    def unweighted(x: Array) -> Array:
        return (x[:, 0] > threshold).astype(np.float64)

    variance = math.exp(shift * shift) * _above(threshold + shift) - mean * mean
    return Integral("rare", 1, mean, variance, math.inf, draw, value, unweighted if shift else value, _above(threshold - shift))


def square(scale: float = 1.0) -> Integral:
    """E[z**2] = 1 of a standard normal, with draws of N(0, scale**2). The variance is infinite for scale**2 <= 1/2."""
    _between("scale", scale, 0.1, 10.0)
    excess = 2.0 - scale**-2
    second = 3.0 * scale * excess**-2.5 if excess > 0.0 else math.inf

    def draw(rng: np.random.Generator, n: int) -> Array:
        return scale * rng.standard_normal((n, 1))

    def value(x: Array) -> Array:
        z2 = x[:, 0] ** 2
        return z2 * scale * np.exp(-0.5 * z2 * (1.0 - scale**-2))

    def unweighted(x: Array) -> Array:
        return x[:, 0] ** 2

    # w grows like exp(z2 (1/scale**2 - 1) / 2) and z2 has the tail exp(-z2 / (2 scale**2)): powers up to logarithms
    tail = 1.0 / (1.0 - scale**2) if scale < 1.0 else math.inf
    return Integral("square", 1, 1.0, second - 1.0, tail, draw, value, value if scale == 1.0 else unweighted, scale**2)


def cauchy() -> Integral:
    """The mean of a Cauchy, which does not exist: the average of n draws is as spread as one of them."""

    def draw(rng: np.random.Generator, n: int) -> Array:
        return rng.standard_cauchy((n, 1))

    def value(x: Array) -> Array:
        return x[:, 0].copy()

    return Integral("cauchy", 1, math.nan, math.nan, 1.0, draw, value, value, math.nan)


@dataclass(frozen=True, eq=False)
class Replications:
    """Independent repetitions of one Monte Carlo estimate.

    points : (draws, dim) of the first
    values : (replications, draws)
    means : (replications, draws), running averages
    """

    points: Array
    values: Array
    means: Array

    def standard_errors(self, some: slice = slice(None)) -> Array:
        """(replications, draws) estimated standard errors of the running means, s/√n, of some of the replications; NaN for
        one draw.
        """
        values = self.values[some]
        n = np.arange(1.0, values.shape[1] + 1.0)
        off = values - values[:, :1]
        with np.errstate(invalid="ignore", divide="ignore"):
            variance = (np.cumsum(off * off, axis=1) - np.cumsum(off, axis=1) ** 2 / n) / (n - 1.0)
            return np.sqrt(np.maximum(variance, 0.0) / n)


def replicate(integral: Integral, *, replications: int, draws: int, seed: int, weighted: bool = True) -> Replications:
    """Repeat the estimate. Replication r of a seed is the same whatever the number of replications.

    weighted : False forgets the weight, which is wrong wherever there is one
    """
    _whole("replications", replications, 1, 100_000)
    _whole("draws", draws, 1, 10_000_000)
    if replications * draws > MAX_VALUES:
        raise SpecError("draws", f"{replications} × {draws:,} values are more than the {MAX_VALUES:,} allowed")
    function = integral.value if weighted else integral.unweighted
    values = np.empty((replications, draws))
    first = np.empty((0, integral.dim))
    for r, stream in enumerate(np.random.SeedSequence(seed).spawn(replications)):
        points = integral.draw(np.random.Generator(np.random.SFC64(stream)), draws)
        values[r] = function(points)
        first = points if r == 0 else first
    means = np.cumsum(values, axis=1)
    means /= np.arange(1.0, draws + 1.0)
    return Replications(first, values, means)


def midpoint(integral: Integral, points: int) -> tuple[float, int]:
    """The volume of the ball by the midpoint rule on a regular grid of at most `points` cells: (estimate, cells)."""
    return _midpoint(integral.dim, max(1, int(points ** (1.0 / integral.dim) + 1e-9)))


@lru_cache(256)
def _midpoint(dim: int, side: int) -> tuple[float, int]:
    """The same with so many cells along an edge."""
    squares = ((np.arange(side) + 0.5) * (2.0 / side) - 1.0) ** 2
    total, counts = np.zeros(1), np.ones(1, dtype=np.int64)
    for _ in range(dim):
        sums = (total[:, None] + squares).ravel()
        total, index = np.unique(np.round(sums, 12), return_inverse=True)
        counts = np.bincount(index.ravel(), weights=np.repeat(counts, side)).astype(np.int64)
    inside = float(counts[total <= 1.0].sum())
    return inside * (2.0 / side) ** dim, side**dim


def _above(z: float) -> float:
    return 0.5 * math.erfc(z / math.sqrt(2.0))


def _between(name: str, value: float, low: float, high: float) -> None:
    if not (math.isfinite(value) and low <= value <= high):
        raise SpecError(name, f"{value} is not a number from {low:g} to {high:g}")


def _whole(name: str, value: int, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not low <= value <= high:
        raise SpecError(name, f"{value!r} is not a whole number from {low:,} to {high:,}")
