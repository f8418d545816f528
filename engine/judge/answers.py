"""What numbers with errors answer to a question with a few answers, where they can be sure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from engine.evidence.probabilities import ModelProbabilities
from engine.judge.numbers import Z_LIMIT

UNSURE = -1  # the answer to a question that cannot be told yet


def leader(values: ArrayLike, errors: ArrayLike) -> int:
    """The place of the largest of `values` (G,), if it leads every other by `Z_LIMIT` standard errors; else UNSURE.
    The values may depend on each other: errors are added, not squared first.
    """
    v, e = np.asarray(values, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    first = int(v.argmax())
    others = np.arange(len(v)) != first
    return first if np.all(v[first] - v[others] > Z_LIMIT * (e[first] + e[others])) else UNSURE


def mode_band(exact: ModelProbabilities, low: int, bands: Sequence[tuple[int, int]]) -> int:
    """Which of `bands`, each (first size, last size), holds the most probable size, if that is sure; else UNSURE."""
    sizes = low + np.arange(len(exact.probability))
    inside = [(sizes >= first) & (sizes <= last) for first, last in bands]
    tops = [int(np.where(here, exact.probability, -1.0).argmax()) for here in inside]
    held = [band for band, here in enumerate(inside) if here.any()]
    first = leader(*([values[tops[band]] for band in held] for values in exact))
    return UNSURE if first == UNSURE else held[first]


def side(difference: float, error: float, close: float) -> int:
    """0 where a difference is above `close`, 1 within ± `close`, 2 below, if its error leaves no doubt; else UNSURE."""
    if not abs(abs(difference) - close) >= Z_LIMIT * error:  # nor if either is no number
        return UNSURE
    return 1 if abs(difference) < close else 0 if difference > 0 else 2
