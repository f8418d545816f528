"""What the pictures of all parts are made of: images, maps and kernels as squares of cells."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from app.kit import theme
from app.kit.player.scene import Axis, Panel, Scene, levels, pixel_blocks
from app.kit.text import minus
from lessons.convolution.spec import WORDS, ConvolutionLesson
from lessons.convolution.training import LOOKS, PAD, SIDE, State, stand_in

Array = NDArray[np.float64]

CELLS = 48  # of a picture along an edge: the player smooths, and pixels should be seen as such


def begin(spec: ConvolutionLesson, state: State | None, steps: int, label: str, *, rate: float, total: int | None = None) -> Scene:
    """A scene of this part; a new stroke keeps the reader's place."""
    same = repr(spec.replace(drawing=()))
    made = Scene(
        run=hashlib.blake2b(same.encode(), digest_size=12).hexdigest(),
        steps=steps,
        rate=rate,
        total=total,
        theme=theme.palette(),
        label=label,
    )
    if state is not None and not state.done:
        so_far = "stage.learning_for" if spec.large else "stage.learning"
        made.readout("learning", WORDS.phrase(so_far, look=len(state.looks) - 1, looks=LOOKS, seconds=state.seconds))
    if instead := stand_in(spec):
        made.readout("data", instead)
    return made


def most(values: Array) -> float:
    """The end of a scale for values of either sign, in two digits."""
    return float(f"{max(float(np.abs(values).max()), 1e-3):.2g}")


def square(
    made: Scene,
    id: str,
    title: str,
    values: Array,
    *,
    low: float,
    high: float,
    at: NDArray[np.int64] | None = None,
    colours: str = "diverging",
    label: str | None = None,
    rim: int = 0,
    caption: str = "",
) -> Panel:
    """A panel with cells of values (h, w) or frames (F, h, w), the top row first.

    rim : cells of paper around it; caption : under it
    """
    side = values.shape[-1]
    panel = made.panel(id, title=title, x=edge(side, rim, caption), y=edge(side, rim), equal=True)
    cells = pixel_blocks(levels(values, high, low), -(-CELLS // side))
    panel.heatmap(cells, x=(0, side), y=(0, side), low=low, high=high, at=at, colormap=colours, label=label, colorbar=label is not None)
    return panel


def edge(side: int, rim: int = 0, label: str = "") -> Axis:
    """Along an edge of so many cells."""
    return Axis(label, -rim, side + rim, ticks=())


def pooling(pool: int) -> str:
    """What stands under a pooled map."""
    return WORDS.phrase("stage.largest_of", pool=pool) if pool > 1 else WORDS.phrase("stage.no_pooling")


def outline(row: Array | int, column: Array | int, size: int, side: int = SIDE) -> Array:
    """(..., 5, 2) corners of a square of cells whose top left one is in this row, counted from the top, and column."""
    left, top = np.asarray(column, dtype=np.float64), side - np.asarray(row, dtype=np.float64)
    corners = [(left, top), (left + size, top), (left + size, top - size), (left, top - size), (left, top)]
    return np.stack([np.stack(corner, axis=-1) for corner in corners], axis=-2)


def window_of(place: NDArray[np.int64] | int) -> Array:
    """(..., 5, 2) the pixels under the kernel at a place, counted row by row; it may hold the rim."""
    row, column = np.divmod(place, SIDE)
    return outline(row - PAD, column - PAD, 2 * PAD + 1)


def signed(value: float, digits: int = 2) -> str:
    """A weight in so many digits, with a minus that is one."""
    return minus(f"{value:.{digits}g}")
