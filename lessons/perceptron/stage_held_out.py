"""Loss on held-out points as a scene: four trainings step by step, or one training more for each step of weight decay."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from app.kit import theme
from app.kit.player.scene import Axis, Scene, levels
from engine.networks import predictive
from lessons.perceptron import held_out
from lessons.perceptron.drawing import REACH, ROLES, SHAPES, VIEW, data_layer, plane, probability_map
from lessons.perceptron.held_out import COIN, LADDER, NAMES, REGULARISERS, SETS, mean_and_error
from lessons.perceptron.spec import WORDS, PerceptronLesson

Array = NDArray[np.float64]

CELLS = 32  # of a map, a side
FRAMES = 60  # maps of a training
HIGHEST = 3.0  # nats a point: of the axis, at most
CHAINS = {"nothing": 4, "decay": 0, "dropout": 1, "stopping": 3}  # colours, and dashes with them
DASHED = ("dropout", "stopping")


def stage(spec: PerceptronLesson) -> Scene:
    """The scene of the spec's view."""
    return _ways(spec) if spec.view == "ways" else _curve(spec)


def cells(spec: PerceptronLesson, path: Array) -> NDArray[np.uint8]:
    """(F, CELLS, CELLS) P(class 1) over the plane under each of the parameters (F, dim)."""
    centres = np.linspace(-REACH, REACH, 2 * CELLS + 1)[1::2]
    grid = np.column_stack([np.tile(centres, CELLS), np.repeat(centres, CELLS)])
    return levels(predictive.probabilities(spec.network(), path, grid)[:, :, 1].reshape(-1, CELLS, CELLS), 1.0)


def _top(*losses: Array) -> float:
    highest = max(float(np.nanmax(np.where(np.isfinite(loss), loss, math.nan))) for loss in losses)
    return min(math.ceil(2.0 * highest) / 2.0, HIGHEST)  # coarse: the axis is there before the lock, and must not tell


def _shown(values: Array) -> Array:
    """What fits on the axis."""
    return np.where(values < HIGHEST, values, math.nan)


# Four ways ------------------------------------------------------------------------------------------------------------


def _ways(spec: PerceptronLesson) -> Scene:
    steps = held_out.looks(spec)
    courses = {name: held_out.course(spec, name) for name in REGULARISERS}
    picture = Scene(run=repr(spec), steps=len(steps), rate=10.0, theme=theme.palette(), label=WORDS.phrase("held_out.picture"))
    frames = np.unique(np.linspace(0, len(steps) - 1, min(len(steps), FRAMES)).round().astype(int))
    at = np.searchsorted(frames, np.arange(len(steps)), side="right") - 1
    points = held_out.of(spec)
    for place, name in enumerate(REGULARISERS):
        x, y = (Axis("", *VIEW, ticks=[]) for _ in range(2))
        panel = picture.panel(f"map-{name}", title=NAMES[name].capitalize(), x=x, y=y, place=(5 * place, 0, 5, 1), equal=True, height=210)
        probability_map(panel, cells(spec, courses[name].path[frames]), at)
        panel.points(points.x, classes=points.y, role=["surface", "surface"], shape=SHAPES, size=2.8, alpha=1.0)
        panel.points(points.x, classes=points.y, role=ROLES, shape=SHAPES, size=2.0, alpha=1.0)
    held = {name: mean_and_error(_shown(course.held)) for name, course in courses.items()}
    own = {name: mean_and_error(_shown(course.loss)) for name, course in courses.items()}
    x = Axis(WORDS.phrase("stage.step"), 0, spec.steps)
    for id, curves, left in (("held", held, 0), ("own", own, 10)):
        title = WORDS.phrase(f"held_out.{id}", sets=SETS)
        y = Axis(WORDS.phrase("stage.nats_a_point"), 0.0, _top(*(mean + 2 * error for mean, error in curves.values())))
        panel = picture.panel(id, title=title, x=x, y=y, place=(left, 1, 10, 1), height=260)
        for name, (mean, error) in curves.items():
            panel.line(
                steps.astype(float),
                mean,
                show="upto",
                chain=CHAINS[name],
                band=(mean - 2 * error, mean + 2 * error),
                dash=name in DASHED,
                width=2.2,
                label=NAMES[name],
            )
        panel.rule(y=COIN, role="truth", dash=True, label=WORDS.phrase("stage.coin"))
    _ways_words(picture, spec, courses)
    return picture


def prior_sd(decay: ArrayLike, n: int) -> Array:
    """The sd of the normal prior under which `decay` leads to the most probable weights, with n points."""
    return np.asarray(1.0 / np.sqrt(np.asarray(decay) * n))


def _ways_words(picture: Scene, spec: PerceptronLesson, courses: dict[str, held_out.Course]) -> None:
    steps = held_out.looks(spec)
    n = len(held_out.of(spec).y)
    sd = prior_sd(spec.decay, n)
    means = {name: course.held.mean(axis=0) for name, course in courses.items()}
    own = {name: course.loss.mean(axis=0) for name, course in courses.items()}
    picture.readout("held", WORDS.phrase("held_out.held_card", sets=SETS), s=steps, **means)
    picture.readout("gap", WORDS.phrase("held_out.gap_card"), **{name: means[name] - own[name] for name in REGULARISERS})
    some = round((1 - held_out.VALIDATION) * n)
    settings = WORDS.phrase("held_out.settings_card", decay=spec.decay, keep=spec.keep, some=some, points=n)
    picture.readout("settings", settings, sd=np.full(len(steps), sd))
    best = np.argmin(np.nan_to_num(np.array(list(means.values())), nan=np.inf), axis=0)
    picture.say(WORDS.phrase("held_out.said", names="|".join(NAMES[name] for name in REGULARISERS)), s=steps, n=best)
    columns = {"step": steps}
    for name in REGULARISERS:
        columns |= {f"{NAMES[name]}: held out": means[name], f"{NAMES[name]}: own points": own[name]}
    picture.table(columns)


# The decay curve ------------------------------------------------------------------------------------------------------


def _curve(spec: PerceptronLesson) -> Scene:
    found, count = held_out.ladder(spec), len(LADDER)
    picture = Scene(run=repr(spec), steps=count, rate=3.0, theme=theme.palette(), label=WORDS.phrase("decay.picture"))
    panel = plane(picture, spec, WORDS.phrase("stage.map"), (0, 0, 10, 2), 380)
    probability_map(panel, cells(spec, found.path), np.arange(count))
    data_layer(panel, spec)
    network = picture.panel("network", title=WORDS.phrase("decay.network"), place=(10, 0, 10, 1), height=150)
    network.network(list(spec.network().sizes), found.path, labels=[["x₁", "x₂"], *[None] * spec.depth, ["z"]])
    curves = (
        (WORDS.phrase("decay.held"), mean_and_error(_shown(found.held)), "posterior", False),
        (WORDS.phrase("decay.own"), mean_and_error(found.loss), "likelihood", True),
    )
    panel = picture.panel(
        "curve",
        title=WORDS.phrase("decay.curve", sets=SETS),
        x=Axis(WORDS.phrase("decay.axis"), float(LADDER[0]), float(LADDER[-1]), log=True),
        y=Axis(WORDS.phrase("stage.nats_a_point"), 0.0, _top(*(mean + 2 * error for _, (mean, error), _, _ in curves))),
        place=(10, 1, 10, 1),
        height=230,
    )
    for name, (mean, error), role, dash in curves:
        panel.line(LADDER, mean, show="upto", role=role, band=(mean - 2 * error, mean + 2 * error), dash=dash, width=2.4, label=name)
    panel.rule(y=COIN, role="truth", dash=True, label=WORDS.phrase("stage.coin"))
    _curve_words(picture, spec, found)
    return picture


def _curve_words(picture: Scene, spec: PerceptronLesson, found: held_out.Ladder) -> None:
    (held, error), own = mean_and_error(found.held), found.loss.mean(axis=0)
    n = len(held_out.of(spec).y)
    size = np.sqrt((found.path**2).sum(axis=1))
    picture.readout("loss", WORDS.phrase("decay.loss_card"), d=LADDER, h=held, e=2 * error, o=own)
    picture.readout("size", WORDS.phrase("decay.size_card"), s=size, p=0.5 * LADDER * size**2)
    picture.readout("prior", WORDS.phrase("decay.prior_card"), sd=prior_sd(LADDER, n), n=np.full(len(LADDER), n))
    picture.say(WORDS.phrase("decay.said"), d=LADDER, h=held, o=own)
    picture.table({"λ": LADDER, "held out (nats a point)": held, "± SE": error, "own points": own, "|θ|": size})
