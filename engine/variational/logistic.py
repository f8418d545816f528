"""Logistic regression on one input, whose posterior is known."""

from __future__ import annotations

import dataclasses
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.logistic import NODES, exact
from engine.targets.target import Target, Truth
from engine.variational.rows import logistic_regression

Array = NDArray[np.float64]

SHOWN = 4.2  # standard deviations of a weight to either side of its mean


def simple_logistic_regression(x: ArrayLike, y: ArrayLike, *, prior_sd: float, nodes: int = NODES) -> Target:
    """`logistic_regression` with weights w0 of a column of ones and w1 of x (n,), its truth added up on a grid of
    `nodes` a side.
    """
    design = np.column_stack([np.ones(len(np.asarray(x))), x])
    grid = exact(x, y, prior_sd, nodes=nodes)
    truth = Truth(
        grid.mean, grid.covariance, tuple(partial(_interpolated, *grid.marginal(j)) for j in (0, 1)), "quadrature", grid.log_evidence
    )
    sd = SHOWN * np.sqrt(np.diag(grid.covariance))
    first, second = ((m - s, m + s) for m, s in zip(grid.mean.tolist(), sd.tolist(), strict=True))
    target = logistic_regression(design, y, prior_sd=prior_sd)
    return dataclasses.replace(target, labels=("w₀", "w₁"), view=(first, second), truth=truth)


def _interpolated(nodes: Array, density: Array, x: Array) -> Array:
    """A marginal between the nodes of its grid: cubic in the log."""
    from scipy.interpolate import CubicSpline

    inside = np.exp(CubicSpline(nodes, np.log(np.maximum(density, 1e-300)))(np.clip(x, nodes[0], nodes[-1])))
    return np.where((x >= nodes[0]) & (x <= nodes[-1]), inside, 0.0)
