"""Dual averaging of a step size, sum by sum, worked out again from what was recorded: Hoffman and Gelman 2014, section
3.2, with the constants of `engine.samplers.adaptation`, whose kernel does it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.samplers.adaptation import GAMMA, KAPPA, T0

Array = NDArray[np.float64]


class Ledger(NamedTuple):
    """Dual averaging, one row a tuned transition: arrays (n,). `before` is the value that the update starts from.

    number : c, transitions since dual averaging was last begun, this one included
    mu : log(10 ε₀)
    weight, share : 1/(c + t0) and c^−kappa
    log_step, log_average : of the next ε and of ε̄
    restart : the mass was estimated here, and the step size was sought anew
    """

    number: NDArray[np.int64]
    mu: Array
    weight: Array
    share: Array
    accept: Array
    h_before: Array
    h: Array
    log_step: Array
    log_average_before: Array
    log_average: Array
    restart: NDArray[np.bool_]


def dual_averaging(accept: Array, step_size: Array, ends: Sequence[int], delta: float, adapted: int) -> Ledger:
    """The ledger of `adapted` transitions, from the acceptance statistics (n,) and from the step size (n,) with which
    each stretch between two windows begins; all the rest is arithmetic.
    """
    rows = []
    number, mu, h, log_average = 0, 0.0, 0.0, 0.0
    for j in range(adapted):
        if j == 0 or j in ends:
            number, h = 0, 0.0
            log_average = math.log(step_size[j])
            mu = math.log(10.0 * step_size[j])
        number += 1
        weight, share = 1.0 / (number + T0), number**-KAPPA
        h_before, before = h, log_average
        h += weight * (delta - accept[j] - h)
        log_step = mu - h * math.sqrt(number) / GAMMA
        log_average += share * (log_step - log_average)
        rows.append((number, mu, weight, share, accept[j], h_before, h, log_step, before, log_average, j + 1 in ends))
    return Ledger(*(np.array(column) for column in zip(*rows, strict=True)))
