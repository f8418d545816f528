"""How well networks predict, state by state: the points they learn from, and points that were held out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.kit.player.scene import Axis, Panel, Place, Scene

Array = NDArray[np.float64]

HIGHEST = 1.5  # nats a point: of the axis, at most
# Label, role, width and dash of a curve: on the points they learn from, unless it says otherwise.
LOOKS = {
    "present": ("present network", "muted", 1.2, False),
    "average": ("average", "posterior", 2.2, False),
    "held": ("average, held out", "likelihood", 2.2, True),
}
LEAST = 1e-300  # a probability below counts as this: its logarithm is finite


class Score(NamedTuple):
    """Of each state: points right in %, and mean -log p of their classes in nats a point; both (n,)."""

    right: Array
    loss: Array

    def at(self, which: NDArray[np.int64]) -> Score:
        """Of the states numbered `which`."""
        return Score(self.right[which], self.loss[which])


def score(p: Array, y: NDArray[np.int64]) -> Score:
    """Of probabilities p (n, m) of class 1 at m points of the classes y (m,), 0 or 1."""
    return Score(100.0 * ((p > 0.5) == y).mean(axis=1), -np.log(np.maximum(np.where(y == 1, p, 1.0 - p), LEAST)).mean(axis=1))


class Sums:
    """Running means over the states that count; before the first of them, the present state alone."""

    def __init__(self) -> None:
        self.total: Array | float = 0.0
        self.count = 0

    def running(self, values: Array, kept: NDArray[np.bool_]) -> tuple[Array, NDArray[np.int64]]:
        """The mean after each of the new `values` (n, columns), and over how many states it is taken."""
        counts = self.count + np.cumsum(kept)
        rows = np.where(kept[:, None], values, 0.0)
        # One sum after the other, from the last total on: the same bytes however the states come in pieces.
        totals = np.cumsum(np.concatenate([np.broadcast_to(self.total, (1, rows.shape[1])), rows]), axis=0)[1:]
        self.total, self.count = totals[-1], int(counts[-1])
        alone = counts == 0
        means = np.where(alone[:, None], values, totals / np.maximum(counts, 1)[:, None])
        return means, np.where(alone, 1, counts)


def score_panels(
    made: Scene, at: Array, x: Axis, curves: dict[str, Score], *, first: int, places: tuple[Place, Place], height: int
) -> list[Panel]:
    """Panels "right" and "loss" over the states `at` (n,), with a curve for each of `LOOKS` that is given.

    first : states of the first picture; the axes are those that it needs, so that they stay as the run grows
    """
    begun = [Score(one.right[:first], one.loss[:first]) for one in curves.values()]
    low = max(0.0, 10.0 * np.floor(min(min(one.right.min() for one in begun), 90.0) / 10.0))
    top = min(1.05 * max(float(one.loss.max()) for one in begun), HIGHEST)
    right = made.panel("right", title="Points right (%)", x=x, y=Axis("", low, 101), place=places[0], height=height)
    loss = made.panel("loss", title="Loss (nats a point)", x=x, y=Axis("", 0.0, top), place=places[1], height=height)
    for whose, one in curves.items():
        words, role, width, dash = LOOKS[whose]
        right.line(at, one.right, show="upto", role=role, width=width, dash=dash, label=words)
        loss.line(at, one.loss, show="upto", role=role, width=width, dash=dash)
    return [right, loss]
