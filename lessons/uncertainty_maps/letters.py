"""Letters as strokes, and many variations of one drawing: what nobody taught the networks to read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from datasets import pad
from engine.kept import kept
from engine.spec import SpecError

Strokes = tuple[tuple[float, float, int], ...]
Stack = NDArray[np.float32]

VARIATIONS = 10  # of each letter
OF_A_DRAWING = 100  # of the reader's own
TURN, SHEAR, STRETCH, SHAKE = 12.0, 0.15, 0.15, 0.012  # degrees; shares of the pad's edge


def _strokes(*lines: tuple[tuple[int, int], ...]) -> Strokes:
    """Lines of (x, y) in hundredths of the pad's edge, y down."""
    return tuple((x / 100, y / 100, stroke) for stroke, line in enumerate(lines) for x, y in line)


LETTERS: dict[str, Strokes] = {
    "A": _strokes(((18, 86), (50, 14), (82, 86)), ((30, 60), (70, 60))),
    "E": _strokes(((74, 15), (28, 15), (28, 85), (74, 85)), ((28, 50), (66, 50))),
    "F": _strokes(((74, 15), (28, 15), (28, 85)), ((28, 48), (66, 48))),
    "H": _strokes(((24, 14), (24, 86)), ((76, 14), (76, 86)), ((24, 50), (76, 50))),
    "K": _strokes(((26, 14), (26, 86)), ((74, 14), (26, 52), (76, 86))),
    "M": _strokes(((18, 86), (22, 14), (50, 60), (78, 14), (82, 86))),
    "N": _strokes(((24, 86), (24, 14), (76, 86), (76, 14))),
    "R": _strokes(((26, 86), (26, 14), (60, 14), (72, 24), (72, 40), (60, 50), (26, 50)), ((52, 50), (76, 86))),
    "W": _strokes(((16, 14), (32, 86), (50, 40), (68, 86), (84, 14))),
    "X": _strokes(((20, 14), (80, 86)), ((80, 14), (20, 86))),
}
O = _strokes(((50, 14), (32, 20), (22, 40), (22, 60), (32, 80), (50, 86), (68, 80), (78, 60), (78, 40), (68, 20), (50, 14)))


@kept
def population(drawing: Strokes, side: int, seed: int) -> tuple[Stack, NDArray[np.int64], tuple[str, ...]]:
    """Images (m, side, side), which drawing each goes back to (m,), and the names of the drawings: variations of
    `drawing`, which has none, or of ten letters where it is empty. The order is a random one, so that the first few are of all kinds.
    Raises SpecError where a drawing is a dot.
    """
    return beginning(drawing, side, seed, None)


def beginning(drawing: Strokes, side: int, seed: int, count: int | None) -> tuple[Stack, NDArray[np.int64], tuple[str, ...]]:
    """The first `count` images of `population`: to draw them all takes longer than to read them."""
    rng = np.random.Generator(np.random.SFC64(seed))
    kinds = {"": drawing} if drawing else LETTERS
    each = OF_A_DRAWING if drawing else VARIATIONS
    ways = [(strokes, _way(len(strokes), rng)) for strokes in kinds.values() for _ in range(each)]
    order = rng.permutation(len(ways))[:count]
    images = np.stack([_image(_varied(*ways[number]), side) for number in order])
    return images, np.repeat(np.arange(len(kinds)), each)[order], tuple(kinds)


def _image(strokes: Strokes, side: int) -> Stack:
    image = pad.drawn(strokes, side)
    if not image.any():
        raise SpecError("drawing", "there is no ink in it; draw a letter, or clear the pad for ten letters")
    return image


class _Way(NamedTuple):
    """How a drawing is varied: an angle, two shares of the pad's edge, and how far each point is shaken (points, 2)."""

    angle: float
    stretch: float
    shear: float
    shake: NDArray[np.float64]


def _way(points: int, rng: np.random.Generator) -> _Way:
    turn, stretch, shear = (rng.uniform(-most, most) for most in (TURN, STRETCH, SHEAR))
    return _Way(np.deg2rad(turn), stretch, shear, SHAKE * rng.standard_normal((points, 2)))


def _varied(strokes: Strokes, way: _Way) -> Strokes:
    """Turned, sheared, stretched and shaken a little."""
    turn = np.array([[np.cos(way.angle), -np.sin(way.angle)], [np.sin(way.angle), np.cos(way.angle)]])
    shape = np.array([[1.0 + way.stretch, way.shear], [0.0, 1.0]])
    where = np.array([(x, y) for x, y, _ in strokes]) - 0.5
    moved = np.clip(0.5 + 0.8 * where @ (turn @ shape).T + way.shake, 0.0, 1.0)
    return tuple((float(x), float(y), stroke) for (x, y), (_, _, stroke) in zip(moved, strokes, strict=True))
