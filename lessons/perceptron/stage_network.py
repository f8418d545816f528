"""A training as a scene: the probability of class 1 over the plane, the line of every hidden unit, the loss."""

from __future__ import annotations

import math

import numpy as np

from app.kit import theme
from app.kit.player.scene import Axis, Scene, levels
from engine.networks import predictive
from lessons.perceptron import analysis
from lessons.perceptron.drawing import VIEW, data_layer, lines, plane
from lessons.perceptron.spec import PerceptronLesson

CELLS = 41


def stage(spec: PerceptronLesson) -> Scene:
    """The scene of the training."""
    lesson, (x, _) = analysis.training(spec), analysis.data(spec)
    looks = len(lesson.steps)
    picture = Scene(
        run=repr(spec),
        steps=looks,
        rate=10.0,
        theme=theme.palette(),
        label=f"A network with {spec.units} hidden units in a layer is trained: map of its probability of class 1, "
        "the line of every hidden unit, its weights, and its loss.",
    )
    panel = plane(picture, spec, "P(class 1): blue 0, white ½, orange 1", (0, 0, 12, 2), 380)
    frames = np.linspace(0, looks - 1, min(looks, 100)).round().astype(int)
    centres = np.linspace(VIEW[0], VIEW[1], 2 * CELLS + 1)[1::2]
    grid = np.column_stack([np.tile(centres, CELLS), np.repeat(centres, CELLS)])
    cells = predictive.probabilities(lesson.network, lesson.path[frames], grid)[:, :, 1].reshape(-1, CELLS, CELLS)
    at = np.searchsorted(frames, np.arange(looks), side="right") - 1
    panel.heatmap(
        levels(cells, 1.0), x=VIEW, y=VIEW, low=0.0, high=1.0, at=at, colormap="diverging", label="P(class 1)", colorbar=False, alpha=0.75
    )
    weights, biases = lesson.network.unpack(lesson.path)[0]
    for unit in range(spec.units):
        row = np.column_stack([weights[:, unit], biases[:, unit]])
        label = "where a first-layer unit has z = 0" if unit == 0 else None
        panel.path(lines(row), at=np.arange(looks), role="ink", dash=True, width=1.5, label=label)
    data_layer(panel, spec)
    _network(picture, spec, lesson)
    _loss(picture, spec, lesson, len(x))
    _words(picture, lesson, len(x))
    return picture


def _network(picture: Scene, spec: PerceptronLesson, lesson: analysis.Training) -> None:
    panel = picture.panel("network", title="The network at this step", place=(12, 0, 8, 1), height=180)
    hidden = [None] * spec.depth
    panel.network(list(lesson.network.sizes), lesson.path, labels=[["x₁", "x₂"], *hidden, ["z"]])


def _loss(picture: Scene, spec: PerceptronLesson, lesson: analysis.Training, n: int) -> None:
    high = max(1.0, float(np.nanmax(np.where(np.isfinite(lesson.loss), lesson.loss, np.nan))))
    panel = picture.panel(
        "loss",
        title="Loss",
        x=Axis("step", 0, spec.steps),
        y=Axis("nats per point", 0.0, min(1.05 * high, 5.0)),
        place=(12, 1, 8, 1),
        height=200,
    )
    panel.line(lesson.steps.astype(float), lesson.loss, show="upto", role="posterior", width=2.4, label="of this network")
    panel.rule(y=math.log(2.0), role="truth", dash=True, label="log 2: a coin")
    share = np.bincount(analysis.data(spec)[1], minlength=2).max() / n
    if 0.6 < share < 1.0:  # nearer to a half it would lie on the coin
        base = -share * math.log(share) - (1 - share) * math.log(1 - share)
        panel.rule(y=base, role="muted", dash=True, label="the same answer everywhere")


def _words(picture: Scene, lesson: analysis.Training, n: int) -> None:
    gradient = np.gradient(lesson.loss, lesson.steps) if len(lesson.loss) > 1 else np.zeros(1)
    picture.readout(
        "loss",
        "step {s:d}: loss −mean log p(class) = {l:.4f} nats per point, slope {g:+.2g} a step",
        s=lesson.steps,
        l=lesson.loss,
        g=gradient,
    )
    picture.readout("right", "{k:d} of {n:d} points on the right side", k=lesson.right, n=np.full(len(lesson.steps), n))
    (weights, biases), *_, (out, bias) = lesson.network.unpack(lesson.path)
    picture.readout(
        "unit",
        "unit 1 of layer 1: h₁ = φ[({a:.2f})·x₁ + ({b:.2f})·x₂ + ({c:.2f})]; it enters the output with weight {w:.2f}"
        if len(lesson.network.sizes) == 3
        else "unit 1 of layer 1: h₁ = φ[({a:.2f})·x₁ + ({b:.2f})·x₂ + ({c:.2f})]; first output weight {w:.2f}",
        a=weights[:, 0, 0],
        b=weights[:, 0, 1],
        c=biases[:, 0],
        w=out[:, 0, 0],
    )
    picture.readout("output", "P(class 1) = 1 / (1 + exp(−z)), output bias {b:.2f}", b=bias[:, 0])
    picture.say("Step {s:d}: loss {l:.3f}, {k:d} points right.", s=lesson.steps, l=lesson.loss, k=lesson.right)
    picture.table({"step": lesson.steps, "loss (nats per point)": lesson.loss, "points right": lesson.right})
