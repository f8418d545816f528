"""What the stages of this lesson share: the plane with its points, and lines across it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.kit.player.scene import Axis, Editable, Panel, Scene
from lessons.perceptron import analysis
from lessons.perceptron.spec import CLASSES, MAX_POINTS, REACH, WORDS, PerceptronLesson

Array = NDArray[np.float64]

VIEW = (-REACH, REACH)
SHAPES = ["circle", "square"]
ROLES = ["class-0", "class-1"]


def plane(picture: Scene, spec: PerceptronLesson, title: str, place: tuple[int, int, int, int], height: int) -> Panel:
    """The plane of the two inputs; own points can be edited in it."""
    editable = None
    if spec.data == "points":
        editable = Editable(points=np.array(spec.points, dtype=float), classes=CLASSES, limit=MAX_POINTS)
    x, y = Axis(WORDS.phrase("stage.x1"), *VIEW), Axis(WORDS.phrase("stage.x2"), *VIEW)
    return picture.panel("plane", title=title, x=x, y=y, place=place, equal=True, height=height, editable=editable)


def data_layer(panel: Panel, spec: PerceptronLesson) -> None:
    """The points, class by shape and colour, on a rim of the background's colour."""
    if spec.data == "points":
        return  # the player draws what can be edited
    x, y = analysis.data(spec)
    panel.points(x, classes=y, role=["surface", "surface"], shape=SHAPES, size=5.4, alpha=1.0)
    panel.points(x, classes=y, role=ROLES, shape=SHAPES, size=4.4, alpha=1.0, label=list(CLASSES))


def probability_map(panel: Panel, frames: NDArray[np.uint8], at: NDArray[np.int64]) -> None:
    """P(class 1) over the plane: frames (F, cells, cells), and which of them is seen at each step, `at` (T,)."""
    label = WORDS.phrase("stage.probability")
    panel.heatmap(frames, x=VIEW, y=VIEW, low=0.0, high=1.0, at=at, colormap="diverging", label=label, colorbar=False, alpha=0.75)


def lines(weights: Array) -> Array:
    """The line w . x + b = 0 of every row (w₁, w₂, b) within the view: (N, 2, 2), NaN where there is none."""
    length, shift = np.hypot(weights[:, 0], weights[:, 1]), weights[:, 2]
    with np.errstate(divide="ignore", invalid="ignore"):
        normal = weights[:, :2] / length[:, None]
        foot, along = (-shift / length)[:, None] * normal, normal[:, ::-1] * [-1.0, 1.0]
        reach = np.sort([(side - foot) / along for side in VIEW], axis=0)  # where it meets the four sides
        met = np.isfinite(reach)
        low, high = np.where(met[0], reach[0], -np.inf).max(axis=1), np.where(met[1], reach[1], np.inf).min(axis=1)
        seen = (length > 0.0) & (np.abs(shift) < 1e6 * length) & (low < high)
        seen &= np.all(np.abs(foot + (0.5 * (low + high))[:, None] * along) <= REACH, axis=1)
        ends = foot[:, None] + np.stack([low, high], axis=1)[:, :, None] * along[:, None]
    return np.where(seen[:, None, None], ends, np.nan)
