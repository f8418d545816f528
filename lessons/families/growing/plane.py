"""The plane of the two inputs: its points, and its maps of what networks predict."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.kit.player.scene import levels

Array = NDArray[np.float64]
Bytes = NDArray[np.uint8]

SHAPES = ["circle", "square"]
ROLES = ["class-0", "class-1"]
MAX_POINTS = 200
REACH = 1.5  # the plane is shown from -REACH to REACH in both inputs
VIEW = (-REACH, REACH)
CELLS = 32  # of a map, a side
LN2 = float(np.log(2.0))


def plane() -> Array:
    """Midpoints of the cells of the plane, (CELLS², 2), row by row from the lowest x₂."""
    middles = REACH * (2 * np.arange(CELLS) + 1 - CELLS) / CELLS
    return np.stack(np.meshgrid(middles, middles), axis=-1).reshape(-1, 2)


def quantised(values: Array, high: float) -> Bytes:
    """Values from 0 to `high` as whole numbers from 0 to 255, cells of the plane, as heat maps travel."""
    return levels(values, high).reshape(CELLS, CELLS)
