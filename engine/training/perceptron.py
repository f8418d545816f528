"""Rosenblatt's perceptron: a line that is moved by every point it gets wrong.

The unit says class 1 where w . x + b > 0 and class 0 elsewhere. Points are visited in order, again and again; a point
with y (w . x + b) <= 0, y = +1 or -1, is a mistake, and w becomes w + y x, b becomes b + y.

- If some line separates the classes, the number of mistakes is at most (R / gamma)^2 (Novikoff 1962): R is the length
  of the longest point with a 1 appended, gamma the margin, the distance of the nearest such point from the best
  separating plane through 0.
- If none does, it never ends. All numbers are multiples of a power of two, and are kept as whole numbers: when the
  weights at the start of an epoch have been there before, the run repeats itself exactly, for ever. (It must come back:
  the weights stay bounded, Minsky and Papert 1969, Block and Levin 1970.)

Sources: Rosenblatt 1958; Novikoff 1962.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import nnls

from engine.samplers.run import whole_number
from engine.targets.target import TargetError

Array = NDArray[np.float64]

SEPARABLE = 1e-9  # a margin below this share of R counts as none


@dataclass(frozen=True, eq=False)
class PerceptronRun:
    """Every visit of a perceptron to a point, V of them.

    weights : (V + 1, d + 1) w and then b, before each visit and after the last
    visited : (V,) int64, which point
    mistake : (V,) bool, whether it was on the wrong side, or on the line
    converged : whether the last epoch had no mistake
    cycle : (first, length) in epochs: the weights at the start of epoch `first` (from 0) come back after `length`
        epochs, so that the run repeats itself for ever; None where it did not, or was cut off before
    """

    weights: Array
    visited: NDArray[np.int64]
    mistake: NDArray[np.bool_]
    converged: bool
    cycle: tuple[int, int] | None

    @property
    def mistakes(self) -> int:
        """Number of mistakes, which is the number of updates."""
        return int(self.mistake.sum())


@dataclass(frozen=True, eq=False)
class Margin:
    """How well the best plane through 0 separates points that have a 1 appended.

    gamma : distance of the nearest point from it, 0 where no plane separates the classes
    radius : R, length of the longest point
    direction : (d + 1,) unit normal of that plane, NaN where there is none
    """

    gamma: float
    radius: float
    direction: Array

    @property
    def bound(self) -> float:
        """Novikoff's: the perceptron makes at most so many mistakes; infinite where the classes are not separable."""
        return (self.radius / self.gamma) ** 2 if self.gamma else math.inf


def learn(x: ArrayLike, y: ArrayLike, *, epochs: int = 100, start: ArrayLike | None = None) -> PerceptronRun:
    """Run the perceptron until an epoch has no mistake, the run is known to repeat, or `epochs` are over.

    x : (n, d) points, y : (n,) classes 0 and 1, n >= 1
    start : (d + 1,) w and b to begin with, default 0

    Raises TargetError when x, y or start does not fit.
    """
    points, sign = _signed(x, y)
    whole_number("epochs", epochs, 1, 1_000_000)
    begin = np.zeros(points.shape[1]) if start is None else np.asarray(start, dtype=np.float64)
    if begin.shape != (points.shape[1],) or not np.all(np.isfinite(begin)):
        raise TargetError(f"start should be {points.shape[1]} finite numbers, w and then b")
    # Every float is a whole number over a power of two: with the largest of these as unit, no sum ever rounds.
    unit = max(Fraction(v).denominator for v in (*points.ravel().tolist(), *begin.tolist()))
    whole = [[int(Fraction(v) * unit) for v in row] for row in points.tolist()]
    w = [int(Fraction(v) * unit) for v in begin.tolist()]
    weights, visited, mistake = [[v / unit for v in w]], [], []
    seen, cycle, converged = {tuple(w): 0}, None, False
    for epoch in range(epochs):
        wrong = 0
        for i, row in enumerate(whole):
            missed = sign[i] * sum(a * b for a, b in zip(w, row, strict=True)) <= 0
            if missed:
                w = [a + sign[i] * b for a, b in zip(w, row, strict=True)]
                wrong += 1
            weights.append([v / unit for v in w])
            visited.append(i)
            mistake.append(missed)
        if not wrong:
            converged = True
            break
        before = seen.setdefault(tuple(w), epoch + 1)
        if before <= epoch:
            cycle = before, epoch + 1 - before
            break
    return PerceptronRun(np.array(weights), np.array(visited), np.array(mistake), converged, cycle)


def margin(x: ArrayLike, y: ArrayLike) -> Margin:
    """The largest margin of points x (n, d) with classes y (n,) of 0 and 1.

    The shortest w with y_i w . (x_i, 1) >= 1 for all i, found as a non-negative least squares problem (Lawson and
    Hanson 1974, chapter 23); gamma is 1 / |w|.
    """
    points, sign = _signed(x, y)
    radius = float(np.sqrt((points**2).sum(axis=1)).max())
    rows = np.array(sign)[:, None] * points / radius
    solution, _ = nnls(np.vstack([rows.T, np.ones(len(rows))]), np.append(np.zeros(points.shape[1]), 1.0))
    residual = rows.T @ solution
    length = float(np.linalg.norm(residual))
    if length > 0.0:  # it is 0 up to rounding where nothing separates: then the direction is noise, and fails below
        direction = residual / length
        gamma = radius * float((rows @ direction).min())
        if gamma > SEPARABLE * radius:
            return Margin(gamma, radius, direction)
    return Margin(0.0, radius, np.full(points.shape[1], math.nan))


def _signed(x: ArrayLike, y: ArrayLike) -> tuple[Array, list[int]]:
    """Points with a 1 appended (n, d + 1), and classes as signs."""
    points, labels = np.asarray(x, dtype=np.float64), np.asarray(y)
    if points.ndim != 2 or not points.size or labels.shape != points.shape[:1]:
        raise TargetError(f"x must be (n, d) and y (n,), got {points.shape} and {labels.shape}")
    if not np.all(np.isfinite(points)):
        raise TargetError("x must be finite")
    if not np.all(np.isin(labels, (0, 1))):
        raise TargetError("y must be classes 0 and 1")
    return np.hstack([points, np.ones((len(points), 1))]), [2 * int(label) - 1 for label in labels]
