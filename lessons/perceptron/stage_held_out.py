"""Loss on held-out points as a scene: four trainings step by step, or one training more for each step of weight decay."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from app.kit import theme
from app.kit.player.scene import Axis, Panel, Scene, levels
from engine.networks import predictive
from lessons.perceptron import held_out
from lessons.perceptron.drawing import REACH, ROLES, SHAPES, VIEW, data_layer, plane
from lessons.perceptron.held_out import COIN, LADDER, REGULARISERS, SETS, mean_and_error
from lessons.perceptron.spec import PerceptronLesson

Array = NDArray[np.float64]

CELLS = 32  # of a map, a side
FRAMES = 60  # maps of a training
HIGHEST = 3.0  # nats a point: of the axis, at most
CHAINS = {"nothing": 4, "weight decay": 0, "dropout": 1, "early stopping": 3}  # colours, and dashes with them
DASHED = ("dropout", "early stopping")
IDS = {"nothing": "map-nothing", "weight decay": "map-decay", "dropout": "map-dropout", "early stopping": "map-stopping"}


def stage(spec: PerceptronLesson) -> Scene:
    """The scene of the spec's view."""
    return _ways(spec) if spec.view == "ways" else _curve(spec)


def cells(spec: PerceptronLesson, path: Array) -> NDArray[np.uint8]:
    """(F, CELLS, CELLS) P(class 1) over the plane under each of the parameters (F, dim)."""
    centres = np.linspace(-REACH, REACH, 2 * CELLS + 1)[1::2]
    grid = np.column_stack([np.tile(centres, CELLS), np.repeat(centres, CELLS)])
    return levels(predictive.probabilities(spec.network(), path, grid)[:, :, 1].reshape(-1, CELLS, CELLS), 1.0)


def _map(panel: Panel, frames: NDArray[np.uint8], at: NDArray[np.int64]) -> None:
    panel.heatmap(frames, x=VIEW, y=VIEW, low=0.0, high=1.0, at=at, colormap="diverging", label="P(class 1)", colorbar=False, alpha=0.75)


def _top(*losses: Array) -> float:
    return min(1.08 * max(float(np.nanmax(np.where(np.isfinite(loss), loss, math.nan))) for loss in losses), HIGHEST)


def _shown(values: Array) -> Array:
    """What fits on the axis."""
    return np.where(values < HIGHEST, values, math.nan)


# Four ways ------------------------------------------------------------------------------------------------------------


def _ways(spec: PerceptronLesson) -> Scene:
    steps = held_out.looks(spec)
    courses = {name: held_out.course(spec, name) for name in REGULARISERS}
    picture = Scene(
        run=repr(spec),
        steps=len(steps),
        rate=10.0,
        theme=theme.palette(),
        label="One network is trained on the same points in four ways: with nothing against overfitting, with weight decay, with "
        "dropout, and stopped early. Maps of its probability of class 1, its loss on its own points and on points held out.",
    )
    frames = np.unique(np.linspace(0, len(steps) - 1, min(len(steps), FRAMES)).round().astype(int))
    at = np.searchsorted(frames, np.arange(len(steps)), side="right") - 1
    points = held_out.of(spec)
    for place, name in enumerate(REGULARISERS):
        x, y = (Axis("", *VIEW, ticks=[]) for _ in range(2))
        panel = picture.panel(IDS[name], title=name.capitalize(), x=x, y=y, place=(5 * place, 0, 5, 1), equal=True, height=210)
        _map(panel, cells(spec, courses[name].path[frames]), at)
        panel.points(points.x, classes=points.y, role=["surface", "surface"], shape=SHAPES, size=2.8, alpha=1.0)
        panel.points(points.x, classes=points.y, role=ROLES, shape=SHAPES, size=2.0, alpha=1.0)
    held = {name: mean_and_error(_shown(course.held)) for name, course in courses.items()}
    own = {name: mean_and_error(_shown(course.loss)) for name, course in courses.items()}
    for id, title, curves, left in (
        ("held", f"Loss on held-out points, {SETS} sets ± 2 SE", held, 0),
        ("own", "Loss on the points it learns from", own, 10),
    ):
        y = Axis("nats a point", 0.0, _top(*(mean + 2 * error for mean, error in curves.values())))
        panel = picture.panel(id, title=title, x=Axis("step", 0, spec.steps), y=y, place=(left, 1, 10, 1), height=260)
        for name, (mean, error) in curves.items():
            panel.line(
                steps.astype(float),
                mean,
                show="upto",
                chain=CHAINS[name],
                band=(mean - 2 * error, mean + 2 * error),
                dash=name in DASHED,
                width=2.2,
                label=name,
            )
        panel.rule(y=COIN, role="truth", dash=True, label="ln 2: a coin")
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
    keys = ("nothing", "decay", "dropout", "stopping")
    picture.readout(
        "held",
        "step {s:d}, held out, mean of "
        + f"{SETS} sets: nothing {{nothing:.3f}}, weight decay {{decay:.3f}}, dropout {{dropout:.3f}}, early stopping "
        + "{stopping:.3f} nats a point",
        s=steps,
        **{key: means[name] for key, name in zip(keys, REGULARISERS, strict=True)},
    )
    gaps = {key: means[name] - courses[name].loss.mean(axis=0) for key, name in zip(keys, REGULARISERS, strict=True)}
    picture.readout(
        "gap",
        "held out less its own points: nothing {nothing:.3f}, weight decay {decay:.3f}, dropout {dropout:.3f}, "
        "early stopping {stopping:.3f}",
        **gaps,
    )
    picture.readout(
        "settings",
        f"λ = {spec.decay:g}, as a prior N(0, σ²): σ = 1/√(λn) = {{sd:.2f}}; each unit is kept with p = {spec.keep:g}; early stopping "
        f"learns from {round((1 - held_out.VALIDATION) * n)} of {n} points and looks at the rest",
        sd=np.full(len(steps), sd),
    )
    best = np.argmin(np.nan_to_num(np.array(list(means.values())), nan=np.inf), axis=0)
    picture.say("Step {s:d}: lowest on held-out points is {n|" + "|".join(REGULARISERS) + "}.", s=steps, n=best)
    columns = {"step": steps}
    for name in REGULARISERS:
        columns |= {f"{name}: held out": means[name], f"{name}: own points": courses[name].loss.mean(axis=0)}
    picture.table(columns)


# The decay curve ------------------------------------------------------------------------------------------------------


def _curve(spec: PerceptronLesson) -> Scene:
    found, count = held_out.ladder(spec), len(LADDER)
    picture = Scene(
        run=repr(spec),
        steps=count,
        rate=3.0,
        theme=theme.palette(),
        label="One network is trained anew for each weight decay, weak to strong: map of its probability of class 1, its weights, "
        "and its loss on its own points and on points held out.",
    )
    panel = plane(picture, spec, "P(class 1): blue 0, white ½, orange 1", (0, 0, 10, 2), 380)
    _map(panel, cells(spec, found.path), np.arange(count))
    data_layer(panel, spec)
    network = picture.panel("network", title="The network at this λ", place=(10, 0, 10, 1), height=150)
    network.network(list(spec.network().sizes), found.path, labels=[["x₁", "x₂"], *[None] * spec.depth, ["z"]])
    curves = (
        ("held out", mean_and_error(_shown(found.held)), "posterior", False),
        ("its own points", mean_and_error(found.loss), "likelihood", True),
    )
    panel = picture.panel(
        "curve",
        title=f"Loss at the end of training, {SETS} sets ± 2 SE",
        x=Axis("weight decay λ (logarithmic)", float(LADDER[0]), float(LADDER[-1]), log=True),
        y=Axis("nats a point", 0.0, _top(*(mean + 2 * error for _, (mean, error), _, _ in curves))),
        place=(10, 1, 10, 1),
        height=230,
    )
    for name, (mean, error), role, dash in curves:
        panel.line(LADDER, mean, show="upto", role=role, band=(mean - 2 * error, mean + 2 * error), dash=dash, width=2.4, label=name)
    panel.rule(y=COIN, role="truth", dash=True, label="ln 2: a coin")
    _curve_words(picture, spec, found)
    return picture


def _curve_words(picture: Scene, spec: PerceptronLesson, found: held_out.Ladder) -> None:
    (held, error), own = mean_and_error(found.held), found.loss.mean(axis=0)
    n = len(held_out.of(spec).y)
    size = np.sqrt((found.path**2).sum(axis=1))
    picture.readout(
        "loss", "λ = {d:.2g}: held out {h:.3f} ± {e:.3f} (2 SE), its own points {o:.3f} nats a point", d=LADDER, h=held, e=2 * error, o=own
    )
    picture.readout(
        "size", "length of all weights and biases |θ| = {s:.3g}: λ|θ|²/2 = {p:.3f} joins the loss", s=size, p=0.5 * LADDER * size**2
    )
    picture.readout(
        "prior", "as a prior N(0, σ²): σ = 1/√(λn) = {sd:.2f}, n = {n:d} points", sd=prior_sd(LADDER, n), n=np.full(len(LADDER), n)
    )
    picture.say("Weight decay {d:.2g}: held-out loss {h:.3f}, its own points {o:.3f}.", d=LADDER, h=held, o=own)
    picture.table({"λ": LADDER, "held out (nats a point)": held, "± SE": error, "own points": own, "|θ|": size})
