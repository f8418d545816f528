"""Stages of what a model is: its rows, its prior, the sizes of its layers, its units that are dropped, conjugate pairs."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.kit.player.scene import Axis
from datasets import local, tables
from datasets.samples import counts, measurements
from datasets.six import six_points
from engine import network
from engine.conjugate import GammaNormal, GammaPoisson
from engine.networks.predictive import outputs
from engine.networks.prior import Prior
from engine.rejection import reject
from engine.training.ensemble import dropout_draws
from engine.training.train import outgoing_units
from engine.variational.convolution import STEYN, ConvolutionSpec, stages_of
from lessons.reproduce.andersen import AS_CODED, AS_TOLD, linear_errors, rows, rows_of
from lessons.reproduce.errata.blank import EXACT, RIGHT, WORDS, WRONG, blank, tell
from lessons.reproduce.steyn import sides

Array = NDArray[np.float64]

# Rows to test on ------------------------------------------------------------------------------------------------------

SPLITS, HELD_OUT = 150, 152  # splits, and 30 % of 506 rows
PRINTED = (28.480, 17.760)  # errors of the linear Bayesian model, on its rows and on the others


@cache
def as_told() -> Array:
    """(SPLITS, 2) errors of the linear Bayesian model where 30 % of the rows test, on its rows and on the others."""
    task = local.table("boston")
    n = len(task.y)
    return np.array([linear_errors(rows_of(task, *tables.split(task, n - HELD_OUT, HELD_OUT, seed))) for seed in range(SPLITS)])


def rows_that_test() -> bytes:
    """Splits as the text has them, beside that of the code, which gives what is printed."""
    told, coded = as_told(), linear_errors(rows("boston"))
    made = blank("text", SPLITS, WORDS.phrase("text.picture"), 20.0)
    panel = made.panel(
        "errors",
        title=WORDS.phrase("text.title"),
        x=Axis(WORDS.phrase("text.learnt"), 17.0, 33.0),
        y=Axis(WORDS.phrase("text.tested"), 10.0, 45.0),
        height=300,
    )
    panel.points(told, show="upto", role=WRONG, size=2.6, alpha=0.7, label=WORDS.phrase("text.told"))
    panel.points([coded], role=RIGHT, shape="diamond", size=5.0, label=WORDS.phrase("text.coded"))
    panel.rule(x=PRINTED[0], role=EXACT, dash=True, label=WORDS.phrase("text.printed"))
    panel.rule(y=PRINTED[1], role=EXACT, dash=True)
    tell(
        made,
        WORDS.phrase("text.said"),
        n=np.arange(1, SPLITS + 1),
        a=told[:, 0],
        b=told[:, 1],
        c=[coded[0]] * SPLITS,
        d=[coded[1]] * SPLITS,
    )
    return made.encode()


# A prior --------------------------------------------------------------------------------------------------------------

NETWORKS, AT_ONCE = 100_000, 1000  # as printed; so many a step
NOISE_SD = 0.1


class Search(NamedTuple):
    """The network that comes nearest to the six points, after each step: x (m,), its curves (steps, m), and its root mean
    squared distances from the points (steps,)."""

    x: Array
    curves: Array
    apart: Array


@cache
def nearest(prior: Prior) -> Search:
    """What is nearest among ever more networks of a prior."""
    points, x = six_points(), np.linspace(0.0, 1.0, 61)
    squares = reject(prior, points.x, points.y, NOISE_SD, NETWORKS, seed=1).squares[-1]
    lowest = np.minimum.accumulate(squares)[AT_ONCE - 1 :: AT_ONCE]
    numbers, step = np.unique(np.searchsorted(-np.minimum.accumulate(squares), -lowest), return_inverse=True)
    networks = reject(prior, points.x, points.y, NOISE_SD, NETWORKS, seed=1, show=numbers).shown
    return Search(x, prior.values(networks, x)[step], np.sqrt(lowest / len(points.x)))


def two_priors() -> bytes:
    """How near the networks of either prior come to the six points that they are to meet."""
    points, n = six_points(), np.arange(AT_ONCE, NETWORKS + 1.0, AT_ONCE)
    found = {"told": nearest(AS_TOLD), "coded": nearest(AS_CODED)}
    made = blank("prior", len(n), WORDS.phrase("prior.picture"), 12.0)
    made.layout("curves*6 near*6", 260)
    curves = made.panel("curves", title=WORDS.phrase("prior.curves"), x=Axis("x", 0.0, 1.0), y=Axis("y", -0.25, 1.25))
    networks, apart = Axis(WORDS.phrase("prior.networks"), 0.0, NETWORKS / 1000), Axis(WORDS.phrase("prior.apart"), 0.0, 0.3)
    near = made.panel("near", title=WORDS.phrase("prior.near"), x=networks, y=apart)
    for id, role in (("told", WRONG), ("coded", RIGHT)):
        curves.line(found[id].x, found[id].curves, show="at", role=role, label=WORDS.phrase(f"prior.{id}"))
        near.line(n / 1000, found[id].apart, show="upto", role=role, label=WORDS.phrase(f"prior.{id}"))
    curves.points(np.column_stack([points.x, points.y]), role="ink", label=WORDS.phrase("prior.points"))
    near.rule(y=NOISE_SD, role=EXACT, dash=True, label=WORDS.phrase("prior.noise"))
    tell(made, WORDS.phrase("prior.said"), n=n.astype(int), a=found["told"].apart, b=found["coded"].apart)
    return made.encode()


# Sizes of maps --------------------------------------------------------------------------------------------------------

FLAT = 288  # as printed
SIDE, FILTERS = 28, STEYN["filters"][0]


def maps(padding: str) -> tuple[int, ...]:
    """Sides of the image and of all maps behind it, by the engine's network of these filters and windows."""
    found = [SIDE]
    for stage in stages_of(SIDE, 1, ConvolutionSpec(**{**STEYN, "padding": padding})):
        found += [stage.places, stage.pooled]
    return tuple(found)


def shrinking() -> bytes:
    """Sides of the maps, drawn to scale, and the numbers that are left."""
    ways = {"right": maps("valid"), "same": maps("same"), "threes": sides(SIDE, STEYN["kernel"], 3)}
    roles = {"right": RIGHT, "same": "proposal", "threes": WRONG}
    steps = len(ways["right"])
    made = blank("flat", steps, WORDS.phrase("flat.picture"), 1.5)
    made.layout("maps*6 numbers*6", 260)
    scale = made.panel("maps", title=WORDS.phrase("flat.maps"), x=Axis(WORDS.phrase("flat.pixels"), 0.0, 30.0), y=Axis("", 0.0, 30.0))
    layer, side = Axis(WORDS.phrase("flat.layer"), 0.0, 4.0), Axis(WORDS.phrase("flat.side"), 0.0, 30.0)
    left = made.panel("numbers", title=WORDS.phrase("flat.numbers"), x=layer, y=side)
    corner = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]], dtype=np.float64)
    every = np.concatenate([np.vstack([corner * side, [[np.nan, np.nan]]]) for side in ways["right"]])
    scale.path(every, role="muted", width=1.0, alpha=0.5)
    for way, found in ways.items():
        name = WORDS.phrase(f"flat.{way}", side=found[-1], numbers=f"{FILTERS * found[-1] ** 2:,}")
        scale.path(corner * np.array(found)[:, None, None], at=np.arange(steps), role=roles[way], width=2.0, label=name)
        left.line(np.arange(float(steps)), np.array(found, dtype=np.float64), show="upto", role=roles[way], label=name)
    left.rule(y=(FLAT / FILTERS) ** 0.5, role=EXACT, dash=True, label=WORDS.phrase("flat.printed"))
    tell(made, WORDS.phrase("flat.said"), **{way: np.array(found) for way, found in ways.items()})
    return made.encode()


# Dropout --------------------------------------------------------------------------------------------------------------

KEEP, PASSES = 0.6, 400
AT = 1.0  # where the average is followed


class Passes(NamedTuple):
    """One network under masks: x (m,), its curve in use (m,), and its passes (PASSES, m), with the division and without."""

    x: Array
    whole: Array
    divided: Array
    bare: Array


@cache
def passes() -> Passes:
    """A network that is drawn once, and as many masks of its hidden units."""
    net, x = network(1, 1, width=12, likelihood="gaussian"), np.linspace(-2.0, 2.0, 81)
    theta = np.random.Generator(np.random.SFC64(11)).standard_normal(net.dim)
    unit, _ = outgoing_units(net)
    inputs = np.ascontiguousarray(x[:, None])
    drawn = [
        outputs(net, dropout_draws(net, here, KEEP, PASSES, seed=1), inputs)[:, :, 0]
        for here in (theta, np.where(unit >= 0, KEEP, 1.0) * theta)  # undoes the division
    ]
    return Passes(x, outputs(net, theta[None], inputs)[0, :, 0], *drawn)


def masks() -> bytes:
    """What the units say on average, with the division and without."""
    found, n = passes(), np.arange(1.0, PASSES + 1.0)
    made = blank("keep", PASSES, WORDS.phrase("keep.picture"), 40.0)
    made.layout("curves*6 average*6", 260)
    curves = made.panel("curves", title=WORDS.phrase("keep.curves"), x=Axis("x", -2.0, 2.0), y=Axis(WORDS.phrase("keep.output")))
    place = int(np.argmin(np.abs(found.x - AT)))
    average = made.panel("average", title=WORDS.phrase("keep.average", at=AT), x=WORDS.phrase("keep.passes"), y=WORDS.phrase("keep.output"))
    said = {}
    curves.line(found.x, found.divided, show="at", role="muted", width=1.0, label=WORDS.phrase("keep.one"))
    for name, drawn, role in (("divided", found.divided, RIGHT), ("bare", found.bare, WRONG)):
        means = np.cumsum(drawn, axis=0) / n[:, None]
        curves.line(found.x, means, show="at", role=role, label=WORDS.phrase(f"keep.{name}"))
        average.line(n, means[:, place], show="upto", role=role, label=WORDS.phrase(f"keep.{name}"))
        said[name] = means[:, place]
    curves.line(found.x, found.whole, role=EXACT, dash=True, label=WORDS.phrase("keep.use"))
    average.rule(y=float(found.whole[place]), role=EXACT, dash=True, label=WORDS.phrase("keep.use"))
    tell(made, WORDS.phrase("keep.said"), n=n.astype(int), a=said["divided"], b=said["bare"], c=np.full(PASSES, found.whole[place]))
    return made.encode()


# Conjugate pairs ------------------------------------------------------------------------------------------------------

CENTRE = 5.0  # the mean of the measurements, known
SEEN = 100  # counts, and measurements


class Course(NamedTuple):
    """Two numbers (SEEN + 1,) that the posteriors of a pair claim after each observation: right, and as printed."""

    right: Array
    printed: Array


def horse_kicks() -> Course:
    """Posterior means of a Poisson's rate: with the sum of the counts, and with a sum of ones."""
    x, prior = counts().x[:SEEN], GammaPoisson(alpha=2.0, beta=1.0)
    right = [prior.update(x[:n]) for n in range(SEEN + 1)]
    ones = [GammaPoisson(alpha=prior.alpha + n, beta=prior.beta + n) for n in range(SEEN + 1)]
    return Course(*(np.array([float(belief.mean()[0]) for belief in course]) for course in (right, ones)))


def precisions() -> Course:
    """Posterior means of a precision: with the squares of the deviations, and with the deviations as they are, NaN where
    these leave no distribution."""
    x, prior = measurements(SEEN, CENTRE, 1.0, seed=1).x, GammaNormal(alpha=2.0, beta=2.0, centre=CENTRE)
    right = np.array([float(prior.update(x[:n]).mean()[0]) for n in range(SEEN + 1)])
    rate = prior.beta + 0.5 * np.concatenate([[0.0], np.cumsum(x - CENTRE)])
    with np.errstate(divide="ignore", invalid="ignore"):
        return Course(right, np.where(rate > 0.0, (prior.alpha + 0.5 * np.arange(SEEN + 1)) / rate, np.nan))


def two_rows() -> bytes:
    """Two rows of the table, as data come in."""
    rate, precision, n = horse_kicks(), precisions(), np.arange(SEEN + 1.0)
    made = blank("pairs-of-laws", SEEN + 1, WORDS.phrase("pairs-of-laws.picture"), 12.0)
    made.layout("rate*6 precision*6", 260)
    x, mean = WORDS.phrase("pairs-of-laws.seen"), WORDS.phrase("pairs-of-laws.mean")
    left = made.panel("rate", title=WORDS.phrase("pairs-of-laws.rate"), x=x, y=Axis(mean, 0.0, 2.1))
    right = made.panel("precision", title=WORDS.phrase("pairs-of-laws.precision"), x=x, y=Axis(mean, 0.0, 9.0))
    for panel, course, wrong, role in ((left, rate, "ones", WRONG), (right, precision, "bare", "proposal")):
        panel.line(n, course.right, show="upto", role=RIGHT, label=WORDS.phrase("pairs-of-laws.right"))
        panel.line(n, course.printed, show="upto", role=role, label=WORDS.phrase(f"pairs-of-laws.{wrong}"))
    left.rule(y=float(counts().x.mean()), role=EXACT, dash=True, label=WORDS.phrase("pairs-of-laws.kicks"))
    right.rule(y=1.0, role=EXACT, dash=True, label=WORDS.phrase("pairs-of-laws.made"))
    tell(made, WORDS.phrase("pairs-of-laws.said"), n=n.astype(int), a=rate.right, b=rate.printed, c=precision.right, d=precision.printed)
    return made.encode()
