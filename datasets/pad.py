"""From a drawing to an image like those of a data set: cropped, scaled and centred as MNIST and OptDigits are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.spec import SpecError

Image = NDArray[np.float32]

RASTER = 112  # pixels along an edge of a drawing before it is scaled: four of MNIST's
BOX = 20 / 28  # MNIST: the longer edge of a digit against the edge of the image
PEN = 0.16  # width of the pen against the longer edge of the drawing: as much ink as MNIST's digits have
THICK_PEN = 0.22  # the same for OptDigits
BLOCKS = 4  # OptDigits: dark points are counted over 4 × 4
MOST_SIDE = 2000  # pixels along an edge of a bitmap
INK = 1 / 255  # less than this is paper


def rasterise(points: Sequence[tuple[float, float, int]], size: int = RASTER, pen: float = PEN) -> Image:
    """(size, size) a drawing as ink from 0 to 1, with smooth edges.

    points : (x, y, stroke) in the order drawn; x to the right and y down, from 0 to 1; points of one stroke are joined
        by straight lines, a stroke of one point is a dot
    pen : width of the pen against the longer edge of the drawing, so that small digits get no fat strokes

    Raises SpecError for a point that is not finite or lies outside.
    """
    table = np.array(points, dtype=np.float64).reshape(-1, 3)
    if not np.isfinite(table).all() or (table[:, :2] < 0.0).any() or (table[:, :2] > 1.0).any():
        raise SpecError("drawing", "a point is not finite or lies outside 0 to 1")
    if not len(table):
        return np.zeros((size, size), dtype=np.float32)
    xy, stroke = table[:, :2] * (size - 1), table[:, 2]
    radius = 0.5 * pen * max(float(np.ptp(xy, axis=0).max()), 0.3 * size)
    grid = np.arange(size, dtype=np.float64)
    nearest = np.full((size, size), np.inf)
    # Each point joined to the next of its stroke; a point that stands alone, or ends its stroke, is joined to itself.
    ends = np.append(stroke[1:] == stroke[:-1], False)
    for here, there in zip(xy, np.where(ends[:, None], np.roll(xy, -1, axis=0), xy), strict=True):
        low = np.floor(np.minimum(here, there) - radius - 2).clip(0, size - 1).astype(int)
        high = np.ceil(np.maximum(here, there) + radius + 2).clip(0, size - 1).astype(int) + 1
        x, y = grid[None, low[0] : high[0]], grid[low[1] : high[1], None]
        along = there - here
        length = float(along @ along)
        t = ((x - here[0]) * along[0] + (y - here[1]) * along[1]) / length if length > 0.0 else np.zeros((1, 1))
        t = np.clip(t, 0.0, 1.0)
        distance = np.hypot(x - here[0] - t * along[0], y - here[1] - t * along[1])
        part = nearest[low[1] : high[1], low[0] : high[0]]
        np.minimum(part, distance, out=part)
    return np.clip(radius + 0.5 - nearest, 0.0, 1.0).astype(np.float32)


def normalise(bitmap: ArrayLike, side: int = 28) -> Image:
    """(side, side) a drawing as the data sets hold theirs, ink from 0 to 1.

    bitmap : (height, width) ink from 0 to 1 (or True where there is ink)

    MNIST (and any side but 8): the ink's box is scaled, keeping its shape, until its longer edge takes 20 of 28 pixels,
    and shifted by whole pixels so that its centre of mass stands at pixel side/2, counted from 0. OptDigits (side 8):
    scaled to the height of 32 points, centred, and ink counted over 4 × 4 of them, in 16 levels. An empty bitmap gives
    an empty image. Sources: LeCun, Cortes and Burges, The MNIST database; Garris et al., NIST form-based handprint
    recognition system, as OptDigits describes it. Raises SpecError.
    """
    ink = np.asarray(bitmap, dtype=np.float64)
    if ink.ndim != 2 or min(ink.shape) < 1 or max(ink.shape) > MOST_SIDE:
        raise SpecError("drawing", f"its shape is {ink.shape}, not (height, width) of at most {MOST_SIDE}")
    if not np.isfinite(ink).all() or ink.min() < 0.0 or ink.max() > 1.0:
        raise SpecError("drawing", "its ink is not all finite and from 0 to 1")
    held = ink >= INK
    if not held.any():
        return np.zeros((side, side), dtype=np.float32)
    rows, columns = np.flatnonzero(held.any(axis=1)), np.flatnonzero(held.any(axis=0))
    cropped = ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    if side == 8:
        points = _placed(_scaled(cropped, 8 * BLOCKS), 8 * BLOCKS, (0.5 * (8 * BLOCKS - 1), None))
        counted = points.reshape(8, BLOCKS, 8, BLOCKS).mean(axis=(1, 3))
        return (np.rint(16.0 * counted) / 16.0).astype(np.float32)
    return _placed(_scaled(cropped, round(BOX * side)), side, (side / 2, side / 2)).astype(np.float32)


def drawn(points: Sequence[tuple[float, float, int]], side: int) -> Image:
    """(side, side) what networks see of a drawing: `rasterise` with the pen of the data set, then `normalise`."""
    return normalise(rasterise(points, pen=THICK_PEN if side == 8 else PEN), side)


def centre_of_mass(image: ArrayLike) -> tuple[float, float]:
    """(x, y) in pixels counted from 0. Of an empty image: its middle."""
    ink = np.asarray(image, dtype=np.float64)
    total = ink.sum()
    if total <= 0.0:
        return 0.5 * (ink.shape[1] - 1), 0.5 * (ink.shape[0] - 1)
    return (float(ink.sum(axis=0) @ np.arange(ink.shape[1]) / total), float(ink.sum(axis=1) @ np.arange(ink.shape[0]) / total))


def _scaled(ink: NDArray[np.float64], box: int) -> NDArray[np.float64]:
    """The longer edge becomes `box` pixels; each new pixel is the mean of the area that it covers."""
    factor = box / max(ink.shape)
    height, width = (max(1, round(factor * edge)) for edge in ink.shape)
    return _area(ink.shape[0], height) @ ink @ _area(ink.shape[1], width).T


def _area(old: int, new: int) -> NDArray[np.float64]:
    """(new, old) share of each old pixel in each new one."""
    edges = np.arange(new + 1) * (old / new)
    low, high = edges[:-1, None], edges[1:, None]
    pixel = np.arange(old)[None, :]
    return np.clip(np.minimum(high, pixel + 1) - np.maximum(low, pixel), 0.0, None) * (new / old)


def _placed(ink: NDArray[np.float64], side: int, centre: tuple[float | None, float | None]) -> NDArray[np.float64]:
    """`ink` in a square, shifted by whole pixels so that its centre of mass (x, y) is as near as can be to `centre`;
    None: in the middle. Never shifted out of the square.
    """
    image = np.zeros((side, side))
    corner = []
    for wanted, found, edge in zip(centre, centre_of_mass(ink), (ink.shape[1], ink.shape[0]), strict=True):
        offset = round(wanted - found) if wanted is not None else (side - edge) // 2
        corner.append(min(max(offset, 0), side - edge))
    x, y = corner
    image[y : y + ink.shape[0], x : x + ink.shape[1]] = ink
    return image
