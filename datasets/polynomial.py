"""A curve that no polynomial is: the data on which degrees are compared."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from datasets.card import Card
from datasets.six import Curve
from engine.spec import SpecError

OBSERVATIONS, NOISE_SD, SEED = 30, 0.1, 0  # of the figure
MOST = 1000  # observations


def true_curve(x: ArrayLike) -> NDArray[np.float64]:
    """cos(1.5 pi x), what the measurements scatter about."""
    return np.cos(1.5 * np.pi * np.asarray(x, dtype=np.float64))


def cosine(observations: int = OBSERVATIONS, noise_sd: float = NOISE_SD, seed: int = SEED) -> Curve:
    """Inputs uniform on [0, 1], sorted, and y = cos(1.5 pi x) + noise of standard deviation `noise_sd`.

    With the defaults these are the 30 points of the figure, number for number. Raises SpecError that names the
    argument.
    Source: Andersen and Roed-Sørensen 2021, figure 2.1 (appendix .1, `np.random.seed(0)`).
    """
    if not 1 <= observations <= MOST:
        raise SpecError("observations", f"{observations} is outside 1 to {MOST}")
    if not (np.isfinite(noise_sd) and noise_sd >= 0.0):
        raise SpecError("noise_sd", f"{noise_sd:g} is not a number from 0")
    rng = np.random.RandomState(seed)
    x = np.sort(rng.rand(observations))
    y = true_curve(x) + noise_sd * rng.randn(observations)
    source = (
        f"Andersen and Roed-Sørensen 2021, figure 2.1: cos(1.5 π x) at {observations} uniform random inputs, "
        f"noise sd {noise_sd:g}, seed {seed}"
    )
    return Curve(x, y, Card("a cosine with noise", source, "none needed: random numbers", "none"))
