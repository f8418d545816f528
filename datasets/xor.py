"""XOR as four clouds of points: the smallest problem that no straight line solves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from datasets.card import Card, Classes
from engine.spec import SpecError

CORNERS = np.array([[-0.5, -0.5], [0.5, 0.5], [-0.5, 0.5], [0.5, -0.5]])
LABELS = np.array([0, 0, 1, 1])  # of the corners: 1 where the signs of the coordinates differ
VARIANCE, NOISY_VARIANCE = 0.015, 0.1
EIGHT_POINTS = (  # placed by hand, two near each corner: (x, y, class)
    (-0.6, -0.5, 0),
    (-0.4, -0.6, 0),
    (0.5, 0.4, 0),
    (0.6, 0.6, 0),
    (-0.5, 0.6, 1),
    (-0.6, 0.4, 1),
    (0.4, -0.5, 1),
    (0.6, -0.4, 1),
)


def xor(corner: int = 50, variance: float = VARIANCE, seed: int = 0) -> Classes:
    """`corner` points around each of the four corners (±0.5, ±0.5), Gaussian with `variance` in each coordinate.

    Source: Berezowski 2021, sections 5.5 and 5.6, and appendix A, which says 200 points. The corners and the variances,
    0.015 and for noisy XOR 0.1, are those of its public code.
    Raises SpecError naming the parameter.
    """
    if corner < 0:
        raise SpecError("corner", f"{corner} is less than 0")
    if not (np.isfinite(variance) and variance >= 0):
        raise SpecError("variance", f"{variance} is not a finite number from 0")
    rng = np.random.Generator(np.random.SFC64(seed))
    noise = np.sqrt(variance) * rng.standard_normal((4, corner, 2))
    source = f"generated after Berezowski 2021, sections 5.5 and 5.6, with variance {variance:g} and seed {seed}"
    card = Card("XOR clouds", source, "none needed: random numbers", "none", ("same sign", "different signs"))
    return Classes((CORNERS[:, None] + noise).reshape(-1, 2), np.repeat(LABELS, corner), card)


def held_out(data: str, seed: int, corner: int = 50) -> Classes | None:
    """Points of the clouds that `chosen` gives for `data` and `seed`, to test with: other draws, the same law. None where
    it is not known from which more could be drawn.
    """
    if data not in ("xor", "noisy"):
        return None
    other = int(np.random.SeedSequence([seed, 1]).generate_state(1)[0])
    return xor(corner, NOISY_VARIANCE if data == "noisy" else VARIANCE, other)


def own_points(points: Sequence[tuple[float, float, int]]) -> Classes:
    """Points (x, y, class) that someone placed.

    Raises SpecError for a class other than 0 and 1 or a coordinate that is not finite.
    """
    table = np.array(points, dtype=np.float64).reshape(-1, 3)
    for index, (x, y, label) in enumerate(table, start=1):
        if not (np.isfinite(x) and np.isfinite(y)):
            raise SpecError("points", f"point {index} has a coordinate that is not finite")
        if label not in (0.0, 1.0):
            raise SpecError("points", f"point {index} has the class {label:g}: classes are 0 and 1")
    card = Card("own points", "placed by hand", "yours", "none", ("class 0", "class 1"))
    return Classes(table[:, :2].copy(), table[:, 2].astype(np.int64), card)


def chosen(data: str, points: Sequence[tuple[float, float, int]], corner: int, seed: int) -> Classes:
    """What a lesson's choice `data` stands for: "xor", "noisy", or "points" that someone placed.

    Raises SpecError as `xor` and `own_points` do.
    """
    if data == "points":
        return own_points(points)
    return xor(corner, NOISY_VARIANCE if data == "noisy" else VARIANCE, seed)
