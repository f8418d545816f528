"""Pairs for logistic regression with one input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from datasets.card import Card
from engine.spec import SpecError

TRUE_WEIGHTS = (1.0, 2.0)  # w0, w1
INPUT_SD = 1.5
TRAIN, PAIRS = 150, 200


class Pairs(NamedTuple):
    """Inputs and labels.

    x : (n,)
    y : (n,), 0 or 1
    card : where they come from
    """

    x: NDArray[np.float64]
    y: NDArray[np.int64]
    card: Card


def logistic_pairs(n: int = PAIRS, seed: int = 0, input_sd: float = INPUT_SD) -> Pairs:
    """`n` pairs with y ~ Bernoulli(1 / (1 + exp(-w0 - w1 x))), w = (1, 2), x ~ N(0, input_sd^2).

    Source: Steyn 2018, section 4.1.1: 200 pairs, the first 150 for training. How its x are spread is not stated; the
    normal distribution is a choice made here. The sign of its printed exponent is corrected.
    """
    if n < 0:
        raise SpecError("n", f"{n} is less than 0")
    rng = np.random.Generator(np.random.SFC64(seed))
    x = input_sd * rng.standard_normal(n)
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-(TRUE_WEIGHTS[0] + TRUE_WEIGHTS[1] * x)))).astype(np.int64)
    source = f"generated after Steyn 2018, section 4.1.1, with x ~ N(0, {input_sd:g}²) and seed {seed}"
    return Pairs(x, y, Card("logistic pairs", source, "none needed: random numbers", "none", ("0", "1")))


def own_pairs(points: Sequence[tuple[float, float, int]]) -> Pairs:
    """Points (x, anything, y) that someone placed. Raises SpecError for a label other than 0 and 1."""
    table = np.array(points, dtype=np.float64).reshape(-1, 3)
    for index, (x, _, label) in enumerate(table, start=1):
        if not np.isfinite(x):
            raise SpecError("points", f"point {index} has a coordinate that is not finite")
        if label not in (0.0, 1.0):
            raise SpecError("points", f"point {index} has the label {label:g}: labels are 0 and 1")
    card = Card("own pairs", "placed by hand", "yours", "none", ("0", "1"))
    return Pairs(table[:, 0].copy(), table[:, 2].astype(np.int64), card)
