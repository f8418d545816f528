"""Powerball as Mullachery, Khera and Husain (2018) posed it: their models, and what each says over the urn itself.

One number x of a sorted draw is shown; was it the smallest, or the third? A model is its P(smallest | x) for x = 1, 2, …,
`balls`. As the urn is known, so are its accuracy and its log loss, without a test set.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datasets import powerball
from engine import ticket

Array = NDArray[np.float64]
Labels = NDArray[np.int64]

DRAWS, TEST = 810, 405  # of the urn, and rows held out: what the printed accuracies have in common
CUT = 14  # where the network is said to be torn
PRINTED = {"network": 81.23, "forest": 82.96, "boosted": 82.96, "process": 84.93}  # accuracies, %
TINY = 1e-12  # the least probability whose logarithm is taken


def forest(x: Array, y: Labels, balls: int, seed: int) -> Array:
    """(balls,) P(smallest | x) by ten trees of depth 5, from numbers x (n,) and y (n,), 1 for the smallest."""
    from sklearn.ensemble import RandomForestClassifier  # slow to import

    return _fitted(RandomForestClassifier(n_estimators=10, max_depth=5, random_state=seed), x, y, balls)


def boosted(x: Array, y: Labels, balls: int, seed: int) -> Array:
    """The same by AdaBoost with 50 stumps."""
    from sklearn.ensemble import AdaBoostClassifier

    return _fitted(AdaBoostClassifier(random_state=seed), x, y, balls)


def process(x: Array, y: Labels, balls: int, seed: int) -> Array:
    """The same by a Gaussian process, its length scale fitted. Raises InterruptedError once nobody wants it."""
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF

    kernel = 10.0 * RBF(15.0, (1.0, 100.0))
    return _fitted(GaussianProcessClassifier(kernel, optimizer=_climb, max_iter_predict=20, random_state=seed), x, y, balls)


def _climb(loss: Callable[[Array], Any], start: Array, bounds: Array) -> tuple[Array, float]:
    """scikit-learn's own search for the length scale, with a look at the ticket before each step."""
    from scipy.optimize import minimize

    def looked(theta: Array) -> Any:
        ticket.look()
        return loss(theta)

    found = minimize(looked, start, method="L-BFGS-B", jac=True, bounds=bounds)
    return found.x, found.fun


def _fitted(model: Any, x: Array, y: Labels, balls: int) -> Array:
    model.fit(x[:, None], y)
    return np.asarray(model.predict_proba(np.arange(1.0, balls + 1.0)[:, None])[:, 1])


RIVALS: dict[str, Callable[[Array, Labels, int, int], Array]] = {"forest": forest, "boosted": boosted, "process": process}


def expected(p: Array) -> tuple[float, float]:
    """Expected accuracy, in %, and log loss, in nats, of saying p (balls,) of the numbers: over the urn itself, not a
    sample of it."""
    third, smallest = powerball.probabilities(len(p)) / 2
    p = np.clip(p, TINY, 1 - TINY)
    right = np.where(p > 0.5, smallest, third).sum()
    return 100.0 * float(right), float(-(smallest * np.log(p) + third * np.log1p(-p)).sum())


def crossing(p: Array) -> float:
    """The number at which p (balls,) first falls through a half, between two numbers; NaN if it never does."""
    below = np.flatnonzero(p < 0.5)
    if not len(below) or below[0] == 0:
        return math.nan
    at = int(below[0])
    return at + float((p[at - 1] - 0.5) / (p[at - 1] - p[at]))


def error_of(accuracy: float, rows: int) -> float:
    """Standard error, in points, of an accuracy in % that was counted on so many rows, drawn each for itself."""
    return math.sqrt(accuracy * (100.0 - accuracy) / rows)
