"""What every data set carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Card:
    """Where a data set comes from and what its numbers mean.

    name : short title
    source : who made it, or how it is generated
    licence : what may be done with it
    units : of the inputs
    classes : what label 0, 1, ... stand for; empty when y is a number
    """

    name: str
    source: str
    licence: str
    units: str
    classes: tuple[str, ...] = ()


class Classes(NamedTuple):
    """A classification data set.

    x : (n, inputs)
    y : (n,), labels 0, 1, ...
    card : where it comes from
    """

    x: NDArray[np.float64]
    y: NDArray[np.int64]
    card: Card
