"""Targets of `engine.targets` as plain functions of q, for the readable twins: log density and gradient."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from engine.targets import Target

Array = NDArray[np.float64]
Plain = Callable[[Array], tuple[float, Array]]


def banana(target: Target) -> Plain:
    """Log density -x^2 / (2 width^2) - (y - b (x^2 - width^2))^2 / 2, see `engine.targets.banana`."""
    constant, precision, b, square = target.data

    def log_pi(q: Array) -> tuple[float, Array]:
        x, y = q
        off = y - b * (x * x - square)
        return constant - 0.5 * (precision * x * x + off * off), np.array([x * (2.0 * b * off - precision), -off])

    return log_pi


def gaussian(target: Target) -> Plain:
    """Log density -q' C^-1 q / 2, see `engine.targets.gaussian`."""
    assert target.truth is not None
    precision = np.linalg.inv(target.truth.covariance)

    def log_pi(q: Array) -> tuple[float, Array]:
        pull = precision @ q
        return target.data[0] - 0.5 * q @ pull, -pull

    return log_pi


def student(target: Target) -> Plain:
    """Log density -(dof + dim) / 2 log(1 + q'q / dof), see `engine.targets.student`."""
    constant, dof = target.data
    top = 0.5 * (dof + target.dim)

    def log_pi(q: Array) -> tuple[float, Array]:
        total = q @ q
        return constant - top * math.log1p(total / dof), -2.0 * top * q / (dof + total)

    return log_pi


PLAIN: dict[str, Callable[[Target], Plain]] = {"banana": banana, "gaussian": gaussian, "student": student}


def gaussian_conditional(target: Target) -> Callable[[Array, int], tuple[str, float, float]]:
    """Of coordinate j of a Gaussian given the others: N(-sum_k P_jk x_k / P_jj, 1 / P_jj), k not j, P = C^-1."""
    assert target.truth is not None
    precision = np.linalg.inv(target.truth.covariance)

    def conditional(x: Array, j: int) -> tuple[str, float, float]:
        own = precision[j, j]
        return "normal", -(precision[j] @ x - own * x[j]) / own, 1.0 / math.sqrt(own)

    return conditional
