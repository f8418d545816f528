"""Six points on a sine: the smallest regression problem that a network can be asked to learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from datasets.card import Card
from engine.spec import SpecError


class Curve(NamedTuple):
    """A regression data set with one input.

    x : (n,), rising
    y : (n,)
    card : where it comes from
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    card: Card


SIX = 6


def six_points() -> Curve:
    """Six inputs uniform on [0, 1], sorted, and y = sin(3x) without noise.

    Source: Andersen and Roed-Sørensen 2021, figure 4.1 (appendix .3, `np.random.seed(42)`). The first two inputs are
    2e-5 apart.
    """
    x = np.sort(np.random.RandomState(42).rand(SIX))
    source = "Andersen and Roed-Sørensen 2021, figure 4.1: sin(3x) at six uniform random inputs, seed 42, no noise"
    return Curve(x, np.sin(3.0 * x), Card("six points on a sine", source, "none needed: random numbers", "none"))


def own_curve(points: Sequence[tuple[float, float, int]]) -> Curve:
    """Points (x, y, 0) that someone placed, in the order of x. Raises SpecError for a coordinate that is not finite."""
    table = np.array(points, dtype=np.float64).reshape(-1, 3)
    for index, (x, y, _) in enumerate(table, start=1):
        if not (np.isfinite(x) and np.isfinite(y)):
            raise SpecError("points", f"point {index} has a coordinate that is not finite")
    table = table[np.argsort(table[:, 0], kind="stable")]
    return Curve(table[:, 0].copy(), table[:, 1].copy(), Card("own points", "placed by hand", "yours", "none"))
