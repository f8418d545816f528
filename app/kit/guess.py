"""A guess that the reader draws in a panel of the stage, and how far off it is.

    draw = {kind = "level", panel = "error", along = "y", near = 0.01}         # one number, as a line across the panel
    draw = {kind = "interval", panel = "curve", along = "y", at = 0.7, near = 0.3}      # two numbers, here at x = 0.7
    draw = {kind = "point", panel = "plane", near = 0.5}                       # a place
    draw = {kind = "curve", panel = "marginal-0", over = [-2, 0, 2], near = 0.05}       # a height at each of these x

A drawing is a row of numbers: of a level one, of an interval its ends, of a point x and y, of a curve the heights. The
right one is a row of the same length, computed from the run. How it is drawn: app/static/player/guess.js.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.kit.text import minus

KINDS = ("level", "interval", "point", "curve")
DIRECTIONS = {"x": ("far left", "far right"), "y": ("low", "high")}
FARTHEST = 1e12  # what no panel shows: a forged event

Row = tuple[float, ...]


class DrawnError(ValueError):
    """A drawing that cannot be asked for."""


@dataclass(frozen=True)
class Drawn:
    """What is drawn.

    kind : one of KINDS
    panel : in which panel, by id
    near : how far off the right one it may be, in the units of the panel, and still be called close
    along : the axis on which a level or an interval lies
    at : where on the other axis an interval stands; None: across the whole panel
    over : the places along x of a curve's heights
    unit : words behind a number
    """

    kind: str
    panel: str
    near: float
    along: str = "x"
    at: float | None = None
    over: Sequence[float] = ()
    unit: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise DrawnError(f"{self.kind!r} is not one of {', '.join(KINDS)}")
        if self.along not in DIRECTIONS:
            raise DrawnError(f"{self.along!r} is no axis")
        if (self.kind == "curve") != (len(self.over) > 1) or list(self.over) != sorted(set(self.over)):
            raise DrawnError("a curve, and only a curve, is drawn over two places or more, from left to right")

    @property
    def numbers(self) -> int:
        """How many numbers a drawing has."""
        return {"level": 1, "interval": 2, "point": 2, "curve": len(self.over)}[self.kind]

    def read(self, values: object) -> Row | None:
        """The drawing that an event of the browser brings; None if it is none."""
        if not isinstance(values, (list, tuple)) or len(values) != self.numbers:
            return None
        if not all(isinstance(value, (int, float)) and abs(value) < FARTHEST for value in values):
            return None
        row = tuple(float(value) for value in values)
        return tuple(sorted(row)) if self.kind == "interval" else row

    def off(self, drawn: Row, right: Row) -> float:
        """How far off it is: the distance, of an interval that of the worse end, of a curve the average over its places."""
        each = [abs(a - b) for a, b in zip(drawn, right, strict=True)]
        if self.kind == "point":
            return math.hypot(*each)
        return sum(each) / len(each) if self.kind == "curve" else max(each)

    def close(self, drawn: Row, right: Row) -> bool:
        """Whether it is as near as one may ask."""
        return self.off(drawn, right) <= self.near

    def said(self, row: Row) -> str:
        """A drawing in words."""
        if self.kind == "point":
            return f"({_number(row[0])}, {_number(row[1])})"
        if self.kind == "curve":
            top = max(range(len(row)), key=row.__getitem__)
            return f"a curve that is highest at {self.over[top]:g}, with {_number(row[top])}"
        return " to ".join(map(_number, row)) + self._unit

    def judged(self, drawn: Row, right: Row) -> str:
        """How far off it is, in words."""
        if self.kind == "curve":
            worst = max(range(len(right)), key=lambda k: abs(drawn[k] - right[k]))
            most = self._too("y", drawn[worst] - right[worst])
            return f"On average your curve is {_number(self.off(drawn, right))} off, most at {self.over[worst]:g}: {most}."
        told = f"You drew {self.said(drawn)}; the run says **{self.said(right)}**."
        if self.kind == "level":
            return f"{told} That is {self._too(self.along, drawn[0] - right[0])}."
        if self.kind == "interval":
            lower, upper = (self._too(self.along, a - b) for a, b in zip(drawn, right, strict=True))
            times = (drawn[1] - drawn[0]) / (right[1] - right[0]) if right[1] > right[0] else math.inf
            return f"{told} Your lower end is {lower}, your upper end {upper}; yours is {times:.2g} times as wide."
        sideways, upwards = (self._too(axis, a - b) for axis, a, b in zip("xy", drawn, right, strict=True))
        return f"{told} Yours is {_number(self.off(drawn, right))}{self._unit} away: {sideways}, {upwards}."

    def _too(self, axis: str, more: float) -> str:
        """ "0.4 too high"."""
        size = _number(abs(more))
        return f"{size}{self._unit} too {DIRECTIONS[axis][more > 0]}"

    @property
    def _unit(self) -> str:
        return f" {self.unit}" if self.unit else ""


def _number(value: float) -> str:
    """With the digits that a hand can draw."""
    digits = 2 if value == 0 else max(0, min(4, 2 - math.floor(math.log10(abs(value)))))
    return minus(f"{value:,.{digits}f}")
