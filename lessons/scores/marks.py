"""What the four views share: an empty scene, the image at the cursor, right and wrong along the score."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import theme
from app.kit.player.scene import Axis, Panel, Scene, levels, pixel_blocks
from lessons.scores import analysis
from lessons.scores.analysis import Reading
from lessons.scores.spec import WORDS, ScoresSpec

HEIGHT = 255
RATE = 6.0
MOST = 100  # steps, each with an image
CELLS = 40  # of an image along an edge: the player smooths, and pixels should be seen as such
CLASSES = 10
LEAST = 0.01  # probability that is drawn


def begun(spec: ScoresSpec, steps: int, label: str, start: int = 0) -> Scene:
    """An empty scene."""
    same = (spec.data, spec.view, spec.method, spec.learnt, spec.networks, spec.score, spec.split, spec.answered, spec.seed, steps)
    return Scene(
        run=hashlib.blake2b(repr(same).encode(), digest_size=12).hexdigest(),
        steps=steps,
        start=start,
        rate=RATE,
        theme=theme.palette(),
        label=label,
    )


def digit(made: Scene, spec: ScoresSpec, reading: Reading, shown: NDArray[np.int64], places: tuple, height: int = HEIGHT) -> None:
    """The test image `shown[t]` at step t, and its averaged probabilities."""
    which, at = np.unique(shown, return_inverse=True)
    data = analysis.data_of(spec)
    ink = levels(data.images_test[which], data.top)
    axis = Axis(WORDS.phrase("stage.pixels", side=data.side), 0, data.side, ticks=())
    blank = Axis("", 0, data.side, ticks=())
    panel = made.panel("image", title=WORDS.phrase("stage.image"), x=axis, y=blank, equal=True, place=places[0], height=height)
    extent = (0, data.side)
    panel.heatmap(
        pixel_blocks(ink, round(CELLS / data.side)), x=extent, y=extent, low=0.0, high=1.0, at=at, colormap="cividis", colorbar=False
    )

    panel = made.panel(
        "bars",
        title=WORDS.phrase("stage.bars"),
        x=Axis(WORDS.phrase("stage.digit"), -0.6, CLASSES - 0.4, ticks=_names()),
        y=Axis(WORDS.phrase("stage.probability"), 0.0, 1.08),
        place=places[1],
        height=height,
    )
    mean = reading.mean[which]
    low, high = np.quantile(reading.draws[:, which], [0.05, 0.95], axis=0)
    here = np.arange(len(shown))
    seen = np.where(mean > LEAST, mean, np.nan)
    panel.path(
        _uprights(np.zeros_like(mean), seen)[at], at=here, role="posterior", width=7.0, alpha=0.7, label=WORDS.phrase("stage.average")
    )
    panel.path(_uprights(low, high)[at], at=here, role="ink", width=1.6, label=WORDS.phrase("stage.interval"))
    label = np.column_stack([reading.y[shown], np.full(len(shown), 1.03)])
    panel.points(label, show="at", role="accept", shape="diamond", size=5.0, label=WORDS.phrase("stage.label"))


def _names() -> list[tuple[float, str]]:
    return [(k, str(k)) for k in range(CLASSES)]


def _uprights(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """(F, 3·classes, 2) a line from low to high over each class, broken in between."""
    frames, classes = low.shape
    made = np.full((frames, classes, 3, 2), np.nan)
    made[..., 0] = np.arange(classes)[:, None]
    made[:, :, 0, 1], made[:, :, 1, 1] = low, high
    return made.reshape(frames, -1, 2)


def strip(made: Scene, spec: ScoresSpec, score: NDArray, wrong: NDArray, place: tuple, height: int = HEIGHT) -> Panel:
    """Right and wrong predictions along the score."""
    low, high = float(score.min()), float(score.max())
    pad = 0.03 * (high - low) or 0.05
    name = analysis.NAMES[spec.score]
    if spec.score in ("total", "epistemic"):
        name = WORDS.phrase("stage.score_in_nats", score=name)
    panel = made.panel(
        "strip",
        title=WORDS.phrase("stage.strip"),
        x=Axis(name, low - pad, high + pad),
        y=Axis("", -0.1, 2.3, ticks=((0.5, WORDS.phrase("stage.right")), (1.75, WORDS.phrase("stage.wrong")))),
        place=place,
        height=height,
    )
    up = np.random.Generator(np.random.SFC64(0)).random(len(score))  # apart, so that equal scores are seen
    panel.points(
        np.column_stack([score, np.where(wrong, 1.4 + 0.7 * up, up)]),
        classes=wrong.astype(np.int64),
        role=("posterior", "reject"),
        shape=("circle", "cross"),
        label=(WORDS.phrase("stage.read_right"), WORDS.phrase("stage.read_wrong")),
        size=3.2,
        alpha=0.7,
    )
    return panel


def said(reading: Reading, shown: NDArray[np.int64]) -> dict[str, Any]:
    """What a card says of the image at each step."""
    return {"image": shown, "label": reading.y[shown], "read": reading.mean[shown].argmax(axis=1), "sure": reading.confidence[shown]}
