"""Loss on held-out points as a scene: four trainings step by step, or one training more for each step of weight decay."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from app.kit import theme
from app.kit.player.scene import Axis, Scene, levels
from engine.networks import predictive
from lessons.perceptron import held_out
from lessons.perceptron.drawing import REACH, ROLES, SHAPES, VIEW, data_layer, plane, probability_map
from lessons.perceptron.held_out import COIN, LADDER, NAMES, REGULARISERS, SETS, Losses, mean_and_error
from lessons.perceptron.spec import WORDS, PerceptronLesson

Array = NDArray[np.float64]

CELLS = 32  # of a map, a side
FRAMES = 60  # maps of a training
HIGHEST = 3.0  # nats a point: of the axis, at most
USUAL = {"held": 2.0, "own": 1.0, "curve": 1.5}  # of the axis while no loss is known: so it stands still in the scenarios
CHAINS = {"nothing": 4, "decay": 0, "dropout": 1, "stopping": 3}  # colours, and dashes with them
DASHED = ("dropout", "stopping")


def stage(spec: PerceptronLesson) -> Scene:
    """The scene of the spec's view."""
    if spec.view == "ways":
        return _ways(spec, {name: held_out.course(spec, name) for name in REGULARISERS})
    return _curve(spec, held_out.ladder(spec))


def beginning(spec: PerceptronLesson) -> Scene | None:
    """As much of it as the first set tells at once; None where the whole is there."""
    if spec.view == "ways":
        courses = held_out.first_looks(spec)
        return None if courses is None else _ways(spec, courses)
    found = held_out.first_rungs(spec)
    return None if found is None else _curve(spec, found)


def cells(spec: PerceptronLesson, path: Array) -> NDArray[np.uint8]:
    """(F, CELLS, CELLS) P(class 1) over the plane under each of the parameters (F, dim)."""
    centres = np.linspace(-REACH, REACH, 2 * CELLS + 1)[1::2]
    grid = np.column_stack([np.tile(centres, CELLS), np.repeat(centres, CELLS)])
    return levels(predictive.probabilities(spec.network(), path, grid)[:, :, 1].reshape(-1, CELLS, CELLS), 1.0)


def _top(id: str, *losses: Array) -> float:
    seen = [loss[np.isfinite(loss)] for loss in losses]
    highest = max(float(loss.max(initial=-math.inf)) for loss in seen)
    if not math.isfinite(highest):
        return USUAL[id]
    return min(math.ceil(2.0 * highest) / 2.0, HIGHEST)  # coarse: the axis is there before the lock, and must not tell


def _shown(values: Array) -> Array:
    """What fits on the axis."""
    return np.where(values < HIGHEST, values, math.nan)


# Four ways ------------------------------------------------------------------------------------------------------------


def _ways(spec: PerceptronLesson, courses: Mapping[str, Losses]) -> Scene:
    whole, made = held_out.looks(spec), len(courses["nothing"].path)
    steps, total = whole[:made], len(whole) if made < len(whole) else None
    picture = Scene(run=repr(spec), steps=made, rate=10.0, total=total, theme=theme.palette(), label=WORDS.phrase("held_out.picture"))
    frames = np.unique(np.linspace(0, len(whole) - 1, min(len(whole), FRAMES)).round().astype(int))
    frames = frames[frames < made]
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
        y = Axis(WORDS.phrase("stage.nats_a_point"), 0.0, _top(id, *(mean + 2 * error for mean, error in curves.values())))
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
    _ways_words(picture, spec, courses, steps)
    return picture


def prior_sd(decay: ArrayLike, n: int) -> Array:
    """The sd of the normal prior under which `decay` leads to the most probable weights, with n points."""
    return np.asarray(1.0 / np.sqrt(np.asarray(decay) * n))


def _ways_words(picture: Scene, spec: PerceptronLesson, courses: Mapping[str, Losses], steps: NDArray[np.int64]) -> None:
    n = len(held_out.of(spec).y)
    sd = prior_sd(spec.decay, n)
    means = {name: course.held.mean(axis=0) for name, course in courses.items()}
    own = {name: course.loss.mean(axis=0) for name, course in courses.items()}
    picture.readout("held", WORDS.phrase("held_out.held_card", sets=SETS), s=steps, **means)
    picture.readout("gap", WORDS.phrase("held_out.gap_card"), **{name: means[name] - own[name] for name in REGULARISERS})
    some = round((1 - held_out.VALIDATION) * n)
    settings = WORDS.phrase("held_out.settings_card", decay=spec.decay, keep=spec.keep, some=some, points=n)
    picture.readout("settings", settings, sd=np.full(len(steps), sd))
    all_means = np.array(list(means.values()))
    best = np.argmin(np.nan_to_num(all_means, nan=np.inf), axis=0) if np.isfinite(all_means).any() else np.full(len(steps), math.nan)
    picture.say(WORDS.phrase("held_out.said", names="|".join(NAMES[name] for name in REGULARISERS)), s=steps, n=best)
    columns = {"step": steps}
    for name in REGULARISERS:
        columns |= {f"{NAMES[name]}: held out": means[name], f"{NAMES[name]}: own points": own[name]}
    picture.table(columns)


# The decay curve ------------------------------------------------------------------------------------------------------


def _curve(spec: PerceptronLesson, found: Losses) -> Scene:
    count = len(found.path)
    total = len(LADDER) if count < len(LADDER) else None
    picture = Scene(run=repr(spec), steps=count, rate=3.0, total=total, theme=theme.palette(), label=WORDS.phrase("decay.picture"))
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
        y=Axis(WORDS.phrase("stage.nats_a_point"), 0.0, _top("curve", *(mean + 2 * error for _, (mean, error), _, _ in curves))),
        place=(10, 1, 10, 1),
        height=230,
    )
    for name, (mean, error), role, dash in curves:
        panel.line(
            LADDER[:count], mean, show="upto", role=role, band=(mean - 2 * error, mean + 2 * error), dash=dash, width=2.4, label=name
        )
    panel.rule(y=COIN, role="truth", dash=True, label=WORDS.phrase("stage.coin"))
    _curve_words(picture, spec, found)
    return picture


def _curve_words(picture: Scene, spec: PerceptronLesson, found: Losses) -> None:
    (held, error), own = mean_and_error(found.held), found.loss.mean(axis=0)
    n = len(held_out.of(spec).y)
    size, decay = np.sqrt((found.path**2).sum(axis=1)), LADDER[: len(found.path)]
    picture.readout("loss", WORDS.phrase("decay.loss_card"), d=decay, h=held, e=2 * error, o=own)
    picture.readout("size", WORDS.phrase("decay.size_card"), s=size, p=0.5 * decay * size**2)
    picture.readout("prior", WORDS.phrase("decay.prior_card"), sd=prior_sd(decay, n), n=np.full(len(decay), n))
    picture.say(WORDS.phrase("decay.said"), d=decay, h=held, o=own)
    picture.table({"λ": decay, "held out (nats a point)": held, "± SE": error, "own points": own, "|θ|": size})
