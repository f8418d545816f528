"""How fast this machine is now, beside the one that bounds in seconds were set on."""

from __future__ import annotations

import time
from collections.abc import Callable

LOOPS, LOOP = 1_000_000, 0.05  # turns of the loop below, and the seconds that they took there when it was quiet


def slower(clock: Callable[[], float] = time.perf_counter) -> float:
    """How many times longer a computation takes now, by this clock; at least 1. CPU seconds grow, too, where two
    threads share a core.
    """
    begin, total = clock(), 0
    for i in range(LOOPS):
        total += i * i
    return max((clock() - begin) / LOOP, 1.0)
