"""The race of optimisers as a scene."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.kit import pictures, theme
from app.kit.player.scene import Axis, Scene
from lessons.perceptron import analysis
from lessons.perceptron.analysis import GOAL, RUNNERS
from lessons.perceptron.spec import WORDS, PerceptronLesson

LOOKS = {"sgd": 0, "momentum": 1, "nesterov": 2, "rmsprop": 3, "adagrad": 4, "adam": 5}  # chain colours, markers with them
FLOOR = 1e-8


def stage(spec: PerceptronLesson) -> Scene:
    """The scene of all runners."""
    found = analysis.race(spec)
    steps = spec.racing
    picture = Scene(run=repr(spec), steps=steps, rate=max(6.0, steps / 12.0), theme=theme.palette(), label=WORDS.phrase("race.picture"))
    target = found.target
    view = _view(spec, found)
    stacked = view[0][1] - view[0][0] > 1.5 * (view[1][1] - view[1][0])
    places = ((0, 0, 20, 1), (0, 1, 20, 1)) if stacked else ((0, 0, 12, 1), (12, 0, 8, 1))
    heights = (300, 220) if stacked else (440, 440)
    panel = pictures.density_panel(
        picture, target, title=WORDS.phrase("race.surface"), place=places[0], height=heights[0], view=view, equal=True
    )
    for name in RUNNERS:
        path = _inside(found.descents[name].path[1:], view)
        chain = LOOKS[name]
        panel.path(path, show="upto", chain=chain, width=1.8, alpha=0.85, dash=name in ("momentum", "rmsprop"))
        panel.points(path, show="at", chain=chain, shape=theme.MARKERS[chain], size=6, label=name)
    panel.points(np.array([[spec.start_x, spec.start_y]]), role="ink", shape="ring", size=6, label=WORDS.phrase("race.start"))
    _heights(picture, found, steps, places[1], heights[1])
    _card(picture, found, steps)
    return picture


def _view(spec: PerceptronLesson, found: analysis.Race) -> pictures.View:
    """What is shown: the target's view, of a ravine only 3.2 sd to each side, and always the start."""
    view = found.target.view
    if spec.target == "gaussian":
        x, y = ((-3.2 * sd, 3.2 * sd) for sd in np.sqrt(np.diag(found.target.known.covariance)))
        view = x, y
    (x_low, x_high), (y_low, y_high) = view
    return (
        (min(x_low, spec.start_x - 0.3), max(x_high, spec.start_x + 0.3)),
        (min(y_low, spec.start_y - 0.3), max(y_high, spec.start_y + 0.3)),
    )


def _inside(path, view):
    """The path, NaN where it is far outside the view: a line must not be drawn from there."""
    far = np.zeros(len(path), dtype=bool)
    for axis, (low, high) in enumerate(view):
        far |= ~(np.abs(path[:, axis] - 0.5 * (low + high)) < 2.0 * (high - low))
    return np.where(far[:, None], np.nan, path)


def _heights(picture: Scene, found: analysis.Race, steps: int, place: pictures.Place, height: int) -> None:
    panel = picture.panel(
        "height",
        title=WORDS.phrase("race.height"),
        x=Axis(WORDS.phrase("stage.step"), 0, steps),
        y=Axis(WORDS.phrase("race.nats"), FLOOR, 1e3, log=True),
        place=place,
        height=height,
    )
    at = np.arange(1.0, steps + 1)
    for name in RUNNERS:
        above, chain = found.above(name)[1:], LOOKS[name]
        above = np.where(above < 1e3, np.maximum(above, FLOOR), np.nan)
        panel.line(at, above, show="upto", chain=chain, width=2.0, dash=name in ("momentum", "rmsprop"))
        panel.points(np.column_stack([at, above]), show="at", chain=chain, shape=theme.MARKERS[chain], size=5)
    panel.rule(y=GOAL, role="truth", dash=True, label=WORDS.phrase("race.arrived", goal=GOAL))


def _card(picture: Scene, found: analysis.Race, steps: int) -> None:
    low, high = found.curvature
    picture.readout(
        "curvature",
        WORDS.phrase("race.curvature_card"),
        a=np.full(steps, low),
        b=np.full(steps, high),
        r=np.full(steps, high / low),
        e=np.full(steps, found.step),
        m=np.full(steps, found.step * high),
    )
    columns: dict[str, Any] = {}
    for name in RUNNERS:
        path, above = found.descents[name].path[1:], found.above(name)[1:]
        fine, near = np.where(above < 1e6, above, np.nan), np.where(np.abs(path) < 1e4, path, np.nan)
        picture.readout(name, WORDS.phrase("race.runner_card", name=name), x=near[:, 0], y=near[:, 1], h=fine, show="at")
        columns |= {f"{name} x": path[:, 0], f"{name} y": path[:, 1], f"{name} height": above}
    heights = np.array([np.nan_to_num(found.above(name)[1:], nan=np.inf) for name in RUNNERS])
    picture.say(WORDS.phrase("race.said", names="|".join(RUNNERS)), n=heights.argmin(axis=0))
    picture.table(columns)
