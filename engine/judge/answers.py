"""What numbers answer to a question with a few answers; those with errors, only where they can be sure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from engine.diagnostics import Z_LIMIT

if TYPE_CHECKING:
    from engine.evidence.probabilities import ModelProbabilities

UNSURE = -1  # the answer to a question that cannot be told yet


def nearest(value: float, choices: Sequence[float], *, log: bool = True) -> int:
    """Index of the choice nearest to `value`, on a logarithmic scale unless told otherwise."""
    scale: Callable[[float], float] = (lambda x: math.log(max(x, 1e-9))) if log else float
    return min(range(len(choices)), key=lambda i: abs(scale(value) - scale(choices[i])))


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
