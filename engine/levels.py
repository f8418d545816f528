"""Grey levels of many images, read where they are looked at: a byte a pixel in memory, or on the disk where they are
mapped, and float32 only for the rows that are asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.spec import SpecError


class Levels:
    """Inputs (n, pixels) from 0 to 1, to learn from as an array of float32 is: `x[rows]` are the same numbers.

    values : (n, pixels) uint8; top : the level that is 1

    Raises SpecError for values of another kind.
    """

    def __init__(self, values: NDArray[np.uint8], top: int):
        if values.dtype != np.uint8 or values.ndim != 2 or not values.size:
            raise SpecError("x", f"{values.dtype} of shape {values.shape} is not uint8 of (samples, pixels)")
        if top < 1:
            raise SpecError("x", f"{top} is no level of full ink")
        self.values, self.top = values, top

    @property
    def shape(self) -> tuple[int, ...]:
        """(n, pixels)."""
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> NDArray[np.float32]:
        """(m, pixels) of a slice or of indices (m,)."""
        return self.values[rows].astype(np.float32) / np.float32(self.top)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """All of them."""
        return self[:].astype(dtype or np.float32, copy=False)
