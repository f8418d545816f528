"""The exact prediction of a curve with one hidden unit: v and c are integrated out in closed form, w and b on a grid.

Given w and b, f(x) = v φ(wx + b) + c is linear in v and c, whose posterior is then normal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.kept import kept

Array = NDArray[np.float64]

NODES = 192  # of the grid along w; twice as many along b
EDGE = 4.0  # prior standard deviations that the grid holds
GROUPS = 500  # components of a mixture
NEGLIGIBLE = 1e-9  # nodes of less weight, relative to the heaviest, are left out
TOLERANCE = 5e-3  # change of mean, sd or a probability when the grid is halved; beyond it the answer is not known


@dataclass(frozen=True, eq=False)
class Mixture:
    """The posterior of f at one input, as a mixture of normals.

    weight, mean, sd : (components,)
    """

    weight: Array
    mean: Array
    sd: Array

    @property
    def expectation(self) -> float:
        """Posterior mean of f."""
        return float(self.weight @ self.mean)

    @property
    def spread(self) -> float:
        """Posterior standard deviation of f."""
        return float(np.sqrt(self.weight @ (self.mean**2 + self.sd**2) - (self.weight @ self.mean) ** 2))

    def share_above(self, value: float) -> float:
        """Posterior probability that f is above `value`."""
        z = (value - self.mean) / (self.sd * math.sqrt(2.0))
        return float(self.weight @ np.array([0.5 * math.erfc(each) for each in z]))

    def density(self, values: Array) -> Array:
        """Density of f at `values` (m,)."""
        z = (np.asarray(values)[:, None] - self.mean) / self.sd
        return np.exp(-0.5 * z * z) @ (self.weight / (np.sqrt(2 * np.pi) * self.sd))


@dataclass(frozen=True, eq=False)
class _Grid:
    """The posterior of (w, b) on the nodes that count, and of v, c given each: means and covariances, (nodes,)."""

    weight: Array
    bend: Array
    shift: Array
    v: Array
    c: Array
    var_v: Array
    cov: Array
    var_c: Array


@kept
def one_unit(x: tuple[float, ...], y: tuple[float, ...], at: float, activation: str, prior_sd: float, noise_sd: float) -> Mixture | None:
    """The posterior of f(at) under data x, y; None where the grid is too coarse to know it.

    activation : "tanh" or "relu"
    """
    grids = (_grid(x, y, activation, prior_sd, noise_sd, nodes) for nodes in (NODES, NODES // 2))
    fine, coarse = (_mixture(grid, at, activation) for grid in grids)
    places = fine.expectation + fine.spread * np.linspace(-1.25, 1.25, 6)
    error = [fine.share_above(place) - coarse.share_above(place) for place in places]
    error += [fine.expectation - coarse.expectation, fine.spread - coarse.spread]
    return fine if np.abs(error).max() < TOLERANCE else None


def _mixture(grid: _Grid, at: float, activation: str) -> Mixture:
    """The posterior of f(at). Components of nearly the same mean are one, with the same weight, mean and variance as
    they had together: thousands would only take time to draw.
    """
    phi = _phi(activation, grid.bend * at + grid.shift)
    mean, variance = grid.v * phi + grid.c, grid.var_v * phi**2 + 2 * grid.cov * phi + grid.var_c
    low, high = mean.min(), mean.max()
    group = ((mean - low) / max(high - low, 1e-12) * (GROUPS - 1)).astype(int)
    weight, first, second = (
        np.bincount(group, grid.weight * moment, GROUPS).astype(np.float64, copy=False) for moment in (1.0, mean, mean**2 + variance)
    )
    used = weight > 0.0
    middle = first[used] / weight[used]
    return Mixture(weight[used], middle, np.sqrt(second[used] / weight[used] - middle**2))


@kept
def _grid(x: tuple[float, ...], y: tuple[float, ...], activation: str, prior_sd: float, noise_sd: float, nodes: int) -> _Grid:
    edge = EDGE * prior_sd
    # With an odd activation (w, b) and (−w, −b) say the same: half the plane is enough.
    w = (np.arange(nodes) + 0.5) * edge / nodes if activation == "tanh" else np.linspace(-edge, edge, 2 * nodes)
    b = np.linspace(-edge, edge, 2 * nodes)
    bend, shift = (axis.ravel() for axis in np.meshgrid(w, b, indexing="ij"))
    phi, targets = _phi(activation, bend[:, None] * np.array(x) + shift[:, None]), np.array(y)
    noise, prior = 1.0 / noise_sd**2, 1.0 / prior_sd**2
    vv, vc, cc = noise * (phi**2).sum(axis=1) + prior, noise * phi.sum(axis=1), noise * len(x) + prior
    hv, hc = noise * (phi @ targets), noise * targets.sum()
    determinant = vv * cc - vc**2
    v, c = (cc * hv - vc * hc) / determinant, (vv * hc - vc * hv) / determinant
    log_weight = 0.5 * (v * hv + c * hc) - 0.5 * np.log(determinant) - 0.5 * prior * (bend**2 + shift**2)
    weight = np.exp(log_weight - log_weight.max())
    keep = weight > NEGLIGIBLE
    columns = (bend, shift, v, c, cc / determinant, -vc / determinant, vv / determinant)
    return _Grid(weight[keep] / weight[keep].sum(), *(column[keep] for column in columns))


def _phi(activation: str, a: Array) -> Array:
    return np.tanh(a) if activation == "tanh" else np.maximum(a, 0.0)
