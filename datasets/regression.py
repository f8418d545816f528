"""A curve measured everywhere but in a gap, and a straight line measured likewise: where does a model know that it does
not know?
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from datasets.card import Card
from datasets.six import Curve
from engine.spec import SpecError

Array = NDArray[np.float64]

INPUTS = (-2.0, 2.0)  # where measurements are made …
GAP_CENTRE = 0.7  # … but for a gap around this: the curve has its top there
MOST_GAP = 2.0
MOST = 10_000  # observations


def true_curve(x: ArrayLike) -> Array:
    """x / 2 + sin 2x."""
    x = np.asarray(x, dtype=np.float64)
    return np.asarray(0.5 * x + np.sin(2.0 * x))


def true_line(x: ArrayLike) -> Array:
    """0.8 x + 0.3."""
    return np.asarray(0.8 * np.asarray(x, dtype=np.float64) + 0.3)


def curve_with_gap(observations: int = 24, noise_sd: float = 0.2, gap: float = 1.4, seed: int = 1) -> Curve:
    """Inputs uniform on [-2, 2] outside a gap of width `gap` around 0.7, sorted; y = x / 2 + sin 2x + noise.

    The noise is normal with standard deviation `noise_sd`, the same everywhere. Raises SpecError naming the argument.
    """
    return _measured(true_curve, "x / 2 + sin 2x", observations, noise_sd, gap, seed)


def line_with_gap(observations: int = 24, noise_sd: float = 0.2, gap: float = 1.4, seed: int = 1) -> Curve:
    """The same of the straight line y = 0.8 x + 0.3."""
    return _measured(true_line, "0.8 x + 0.3", observations, noise_sd, gap, seed)


def gap_of(gap: float) -> tuple[float, float]:
    """Where a gap of this width begins and ends."""
    return GAP_CENTRE - 0.5 * gap, GAP_CENTRE + 0.5 * gap


def _measured(function: Callable[[ArrayLike], Array], formula: str, observations: int, noise_sd: float, gap: float, seed: int) -> Curve:
    if not 0 <= observations <= MOST:
        raise SpecError("observations", f"{observations} is outside 0 to {MOST}")
    if not (np.isfinite(noise_sd) and noise_sd >= 0.0):
        raise SpecError("noise_sd", f"{noise_sd:g} is not a number from 0")
    if not 0.0 <= gap <= MOST_GAP:
        raise SpecError("gap", f"{gap:g} is outside 0 to {MOST_GAP:g}")
    rng = np.random.Generator(np.random.SFC64(seed))
    low, high = INPUTS
    x = low + (high - low - gap) * rng.random(observations)
    x = np.sort(np.where(x < gap_of(gap)[0], x, x + gap))
    y = function(x) + noise_sd * rng.standard_normal(observations)
    source = f"generated: y = {formula} + noise of sd {noise_sd:g}, inputs in [−2, 2], gap {gap:g}, seed {seed}"
    return Curve(x, y, Card("measurements with a gap", source, "none needed: random numbers", "none"))
