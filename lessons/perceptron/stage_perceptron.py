"""The perceptron as a scene: one visit to a point is one step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from app.kit import theme
from app.kit.player.scene import Axis, Phase, Scene, Show
from lessons.perceptron import analysis
from lessons.perceptron.drawing import data_layer, lines, plane
from lessons.perceptron.spec import WORDS, PerceptronLesson

PHASES = (Phase("look", WORDS.phrase("perceptron.look")), Phase("move", WORDS.phrase("perceptron.move")))
LOOK, MOVE = Show("all", phase=("look", "look")), Show("all", phase=("move", None))


def stage(spec: PerceptronLesson) -> Scene:
    """The scene of the run."""
    shown, (x, y) = analysis.visits(spec), analysis.data(spec)
    steps = len(shown.visited)
    picture = Scene(
        run=repr(spec),
        steps=steps,
        rate=min(12.0, max(2.0, steps / 12.0)),
        phases=PHASES,
        theme=theme.palette(),
        label=WORDS.phrase("perceptron.picture"),
    )
    panel = plane(picture, spec, WORDS.phrase("perceptron.plane"), (0, 0, 12, 2), 380)
    ends, at = lines(shown.weights), np.arange(steps)
    _sides(panel, shown.weights)
    if np.isfinite(shown.margin.direction).all():
        best = lines(shown.margin.direction[None])[0]
        panel.path(best, role="truth", dash=True, width=1.8, label=WORDS.phrase("perceptron.best"))
    panel.path(ends[:-1], at=at, show=LOOK, role="posterior", width=2.6, label=WORDS.phrase("perceptron.line"))
    panel.path(ends[:-1], at=at, show=MOVE, role="muted", width=1.2, dash=True, label=WORDS.phrase("perceptron.before"))
    panel.path(ends[1:], at=at, show=MOVE, role="posterior", width=2.6)
    data_layer(panel, spec)
    here = x[shown.visited]
    ring: dict[str, Any] = {"shape": "ring", "size": 9}
    panel.points(here, show="at", role="highlight", label=WORDS.phrase("perceptron.visited"), **ring)
    wrong = np.where(shown.mistake[:, None], here, np.nan)
    panel.points(wrong, show="at", role="reject", shape="cross", size=6, label=WORDS.phrase("perceptron.mistake"))
    _counts(picture, shown, steps)
    _traces(picture, shown, steps)
    _card(picture, shown, here, y)
    return picture


def _sides(panel, weights) -> None:
    """An arrow from the line into the side of class 1."""
    length = np.hypot(weights[:, 0], weights[:, 1])
    with np.errstate(divide="ignore", invalid="ignore"):
        normal = weights[:, :2] / length[:, None]
        foot = -(weights[:, 2] / length)[:, None] * normal
    foot[~(np.abs(foot).max(axis=1) < 1.4)] = np.nan
    tip = foot + 0.3 * normal
    for rows, phase in ((slice(None, -1), ("look", "look")), (slice(1, None), ("move", None))):
        label = WORDS.phrase("perceptron.side") if phase[1] is None else None
        panel.arrows(foot[rows], tip[rows], show=Show("at", phase=phase), role="class-1", width=2.2, label=label)


def _counts(picture: Scene, shown: analysis.Visits, steps: int) -> None:
    made, bound = np.cumsum(shown.mistake), shown.margin.bound
    top = float(made[-1]) if not made[-1] or not bound < 4.0 * made[-1] else bound
    panel = picture.panel(
        "mistakes",
        title=WORDS.phrase("perceptron.mistakes"),
        x=Axis(WORDS.phrase("perceptron.visit"), 0, steps),
        y=Axis(WORDS.phrase("perceptron.mistakes_axis"), 0.0, 1.08 * max(top, 1.0)),
        place=(12, 0, 8, 1),
        height=190,
    )
    panel.line(np.arange(1.0, steps + 1), made.astype(float), show="upto", role="reject", width=2.2)
    if bound <= top:
        panel.rule(y=bound, role="truth", dash=True, label=WORDS.phrase("perceptron.bound"))


def _traces(picture: Scene, shown: analysis.Visits, steps: int) -> None:
    values = shown.weights[1:]
    reach = 1.08 * max(float(np.abs(values).max()), 0.5)
    panel = picture.panel(
        "weights",
        title=WORDS.phrase("perceptron.weights"),
        x=Axis(WORDS.phrase("perceptron.visit"), 0, steps),
        y=Axis(WORDS.phrase("perceptron.value"), -reach, reach),
        place=(12, 1, 8, 1),
        height=190,
    )
    panel.rule(y=0.0, role="grid")
    at = np.arange(1.0, steps + 1)
    looks = (("w₁", "chain-0", False), ("w₂", "chain-2", True), ("b", "chain-3", False))
    for j, (name, role, dash) in enumerate(looks):
        panel.line(at, values[:, j], show="upto", role=role, dash=dash, width=1.2 + 0.5 * (j == 2), label=name)
    cycle = shown.run.cycle
    if cycle is not None:
        n = len(shown.run.visited) // (cycle[0] + cycle[1])
        for k in range(math.ceil((steps - cycle[0] * n) / (cycle[1] * n))):
            label = WORDS.phrase("perceptron.again") if k == 1 else None
            if k:
                panel.rule(x=float((cycle[0] + k * cycle[1]) * n), role="highlight", dash=True, label=label)


def _card(picture: Scene, shown: analysis.Visits, here, classes) -> None:
    steps, w, after = len(here), shown.weights[:-1], shown.weights[1:]
    sign = 2 * classes[shown.visited] - 1
    z = (w[:, :2] * here).sum(axis=1) + w[:, 2]
    picture.readout(
        "visit", WORDS.phrase("perceptron.visit_card"), i=shown.visited + 1, a=here[:, 0], b=here[:, 1], c=classes[shown.visited], y=sign
    )
    picture.readout(
        "sum",
        WORDS.phrase("perceptron.sum_card"),
        y=sign,
        u=w[:, 0],
        v=w[:, 1],
        a=here[:, 0],
        b=here[:, 1],
        c=w[:, 2],
        m=sign * z,
        bad=shown.mistake,
    )
    picture.readout(
        "update",
        WORDS.phrase("perceptron.update_card"),
        show=Show("at", phase=("move", None)),
        bad=shown.mistake,
        u=after[:, 0],
        v=after[:, 1],
        c=after[:, 2],
    )
    made = np.cumsum(shown.mistake)
    best = shown.margin
    if best.gamma:
        picture.readout(
            "bound",
            WORDS.phrase("perceptron.bound_card"),
            k=made,
            r=np.full(steps, best.radius),
            g=np.full(steps, best.gamma),
            m=np.full(steps, best.bound),
        )
    else:
        picture.readout("bound", WORDS.phrase("perceptron.no_bound_card"), k=made)
    picture.say(WORDS.phrase("perceptron.said"), i=shown.visited + 1, bad=shown.mistake, k=made)
    picture.table(
        {
            "point": shown.visited + 1,
            "x₁": here[:, 0],
            "x₂": here[:, 1],
            "class": classes[shown.visited],
            "mistake": shown.mistake,
            "w₁ after": after[:, 0],
            "w₂ after": after[:, 1],
            "b after": after[:, 2],
        }
    )
