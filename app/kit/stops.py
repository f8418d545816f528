"""Where sliders stop: round steps, and round values on a logarithmic one."""

from __future__ import annotations

import math

from app.kit.text import number
from engine.spec import Declaration

STEPS = 100  # of a slider whose declaration names no step
_LADDER = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)  # values a log slider stops at, per decade


def log_stops(low: float, high: float, value: float, whole: bool = False) -> list[float]:
    """The stops of a logarithmic slider: round values from `low` to `high`, and `value` itself."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    ladder = (float(f"{rung}e{decade}") for decade in range(first, last + 1) for rung in _LADDER)
    stops = [stop for stop in ladder if low <= stop <= high and (not whole or stop == int(stop))]
    # the slider finds a stop by what it shows, so of stops that look the same only the last one here stays
    by_face = {number(stop, 4): stop for stop in (*stops, low, high, value)}
    return sorted(int(stop) if whole else stop for stop in by_face.values())


def slider_step(declaration: Declaration) -> float:
    """From one stop of a linear slider to the next."""
    whole = declaration.kind == "integer"
    step = declaration.step or round_step((declaration.high - declaration.low) / STEPS, whole=whole)
    return int(step) if whole else float(step)


def stops(declaration: Declaration, value: float) -> list[float]:
    """All stops of the slider of a field that is at `value`, rising."""
    whole = declaration.kind == "integer"
    if declaration.log:
        return log_stops(declaration.low, declaration.high, value, whole=whole)
    step = slider_step(declaration)
    count = math.floor((declaration.high - declaration.low) / step + 1e-9)
    found = [float(f"{declaration.low + k * step:.12g}") for k in range(count + 1)]
    return [int(stop) for stop in found] if whole else found


def round_step(step: float, whole: bool) -> float:
    """The nearest of 1, 2, 5 × a power of ten at or below `step`; at least 1 for whole numbers."""
    decade = 10.0 ** math.floor(math.log10(step)) if step > 0 else 1.0
    rung = next((r for r in (5, 2, 1) if r * decade <= step * (1 + 1e-9)), 1)
    return max(1, round(rung * decade)) if whole else float(f"{rung * decade:.3g}")
