"""A training as a scene: the probability of class 1 over the plane, the line of every hidden unit, the loss."""

from __future__ import annotations

import math

import numpy as np

from app.kit import theme
from app.kit.player.scene import Axis, Scene, levels
from engine.networks import predictive
from lessons.perceptron import analysis
from lessons.perceptron.drawing import VIEW, data_layer, lines, plane, probability_map
from lessons.perceptron.spec import WORDS, PerceptronLesson

CELLS = 41


def stage(spec: PerceptronLesson) -> Scene:
    """The scene of the training."""
    lesson, (x, _) = analysis.training(spec), analysis.data(spec)
    looks = len(lesson.steps)
    picture = Scene(run=repr(spec), steps=looks, rate=10.0, theme=theme.palette(), label=WORDS.phrase("network.picture", units=spec.units))
    panel = plane(picture, spec, WORDS.phrase("stage.map"), (0, 0, 12, 2), 380)
    frames = np.linspace(0, looks - 1, min(looks, 100)).round().astype(int)
    centres = np.linspace(VIEW[0], VIEW[1], 2 * CELLS + 1)[1::2]
    grid = np.column_stack([np.tile(centres, CELLS), np.repeat(centres, CELLS)])
    cells = predictive.probabilities(lesson.network, lesson.path[frames], grid)[:, :, 1].reshape(-1, CELLS, CELLS)
    at = np.searchsorted(frames, np.arange(looks), side="right") - 1
    probability_map(panel, levels(cells, 1.0), at)
    weights, biases = lesson.network.unpack(lesson.path)[0]
    for unit in range(spec.units):
        row = np.column_stack([weights[:, unit], biases[:, unit]])
        label = WORDS.phrase("network.line") if unit == 0 else None
        panel.path(lines(row), at=np.arange(looks), role="ink", dash=True, width=1.5, label=label)
    data_layer(panel, spec)
    _network(picture, spec, lesson)
    _loss(picture, spec, lesson, len(x))
    _words(picture, lesson, len(x))
    return picture


def _network(picture: Scene, spec: PerceptronLesson, lesson: analysis.Training) -> None:
    panel = picture.panel("network", title=WORDS.phrase("network.network"), place=(12, 0, 8, 1), height=180)
    hidden = [None] * spec.depth
    panel.network(list(lesson.network.sizes), lesson.path, labels=[["x₁", "x₂"], *hidden, ["z"]])


def _loss(picture: Scene, spec: PerceptronLesson, lesson: analysis.Training, n: int) -> None:
    high = max(1.0, float(np.nanmax(np.where(np.isfinite(lesson.loss), lesson.loss, np.nan))))
    panel = picture.panel(
        "loss",
        title=WORDS.phrase("network.loss"),
        x=Axis(WORDS.phrase("stage.step"), 0, spec.steps),
        y=Axis(WORDS.phrase("network.nats"), 0.0, min(1.05 * high, 5.0)),
        place=(12, 1, 8, 1),
        height=200,
    )
    panel.line(lesson.steps.astype(float), lesson.loss, show="upto", role="posterior", width=2.4, label=WORDS.phrase("network.of_this"))
    panel.rule(y=math.log(2.0), role="truth", dash=True, label=WORDS.phrase("network.coin"))
    share = np.bincount(analysis.data(spec)[1], minlength=2).max() / n
    if 0.6 < share < 1.0:  # nearer to a half it would lie on the coin
        base = -share * math.log(share) - (1 - share) * math.log(1 - share)
        panel.rule(y=base, role="muted", dash=True, label=WORDS.phrase("network.same_answer"))


def _words(picture: Scene, lesson: analysis.Training, n: int) -> None:
    gradient = np.gradient(lesson.loss, lesson.steps) if len(lesson.loss) > 1 else np.zeros(1)
    picture.readout("loss", WORDS.phrase("network.loss_card"), s=lesson.steps, l=lesson.loss, g=gradient)
    picture.readout("right", WORDS.phrase("network.right_card"), k=lesson.right, n=np.full(len(lesson.steps), n))
    (weights, biases), *_, (out, bias) = lesson.network.unpack(lesson.path)
    picture.readout(
        "unit",
        WORDS.phrase("network.unit_card" if len(lesson.network.sizes) == 3 else "network.unit_of_two_layers_card"),
        a=weights[:, 0, 0],
        b=weights[:, 0, 1],
        c=biases[:, 0],
        w=out[:, 0, 0],
    )
    picture.readout("output", WORDS.phrase("network.output_card"), b=bias[:, 0])
    picture.say(WORDS.phrase("network.said"), s=lesson.steps, l=lesson.loss, k=lesson.right)
    picture.table({"step": lesson.steps, "loss (nats per point)": lesson.loss, "points right": lesson.right})
