"""What a reader does on the stage, as lessons take it up."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

Points = tuple[tuple[float, float, int], ...]
ALL = (-math.inf, math.inf)


def placed(
    event: Mapping[str, Any],
    *panels: str,
    x: tuple[float, float] = ALL,
    y: tuple[float, float] = ALL,
    label: int | None = None,
    most: int | None = None,
) -> Points | None:
    """The points (x, y, class) in one of these panels after a reader has placed, moved or removed some, to thousandths;
    None for another event.

    x, y : ranges, into which they are put
    label : the class of all, where there is but one
    most : so many are taken
    """
    if event.get("kind") != "points" or event.get("panel") not in panels:
        return None
    rows = event["points"][:most]
    return tuple((_put(across, x), _put(up, y), int(own) if label is None else label) for across, up, own, *_ in rows)


def _put(value: float, between: tuple[float, float]) -> float:
    return round(min(max(float(value), between[0]), between[1]), 3)


def to_edit(x: ArrayLike, y: ArrayLike, *, most: int, reach: float) -> Points:
    """Points x (n, 2) with their classes y (n,) as a reader may edit them: all of them, or `most` where they are more, to
    thousandths, and from -reach to reach in both coordinates.
    """
    places, classes = np.asarray(x, dtype=np.float64), np.asarray(y)
    chosen = np.linspace(0, len(places) - 1, min(len(places), most)).astype(int)
    inside = np.clip(np.round(places[chosen], 3), -reach, reach)
    return tuple((float(across), float(up), int(own)) for (across, up), own in zip(inside, classes[chosen], strict=True))
