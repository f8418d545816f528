"""What the lesson computes from the engine: functions of the prior, their exact kernel, rejection and the walk."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from datasets.six import SIX, Curve, own_curve, six_points
from engine.diagnostics import Summary, summarise
from engine.kept import kept
from engine.networks.prior import CHUNK, Prior
from engine.networks.process import LimitPosterior, limit_posterior
from engine.rejection import Rejection, Walk, Weighted, importance, reject, walk
from engine.ticket import each
from lessons.prior_predictive.spec import REACH, X_RANGE, PriorSpec

Array = NDArray[np.float64]

NODES = 61  # inputs of a curve
SLICE = 41  # of a slice through the kernel
COMPARED = ((4, 1), (16, 1), (64, 1), (4, 3), (16, 3), (64, 3))  # (width, depth) of the six networks
FIRST = 60  # networks of a rejection run that are shown one by one
BATCHES = 90  # and so many steps for all others
BEGINNING = CHUNK  # of them, in the first picture of one that grows
CHAINS = 4
WARM = 0.2  # of a walk
KEPT = 500  # states of each chain
LONGER = 5  # times, the chains that are judged
STEPS, PER_STEP = 100, 20  # of the picture of the wide limit, and states of the chains that each adds
WATCHED = (0.15, 0.5, 0.9)  # inputs where posteriors are compared
WEIGHTED = 400_000  # networks of the importance-sampling estimate
FAR = 60.0  # -log of a likelihood ratio that adds nothing to a mean


# Functions of the prior -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Functions:
    """Networks drawn from a prior and the functions they compute.

    theta (n, dim); curves (n, NODES) at `grid`; pair (n, 2) at the inputs a and b; slices (n, SLICE): f at `at`
    """

    prior: Prior
    theta: Array
    grid: Array
    curves: Array
    pair: Array
    at: Array
    slices: Array


def meant(spec: PriorSpec) -> Prior:
    """The prior as it was meant: with 1/√k."""
    return spec.prior().replace(scaling="sqrt")


@kept
def functions(spec: PriorSpec) -> Functions:
    """The draws on the stage."""
    prior = spec.prior()
    theta = prior.draw(spec.draws, spec.seed)
    grid, at = np.linspace(-REACH, REACH, NODES), np.linspace(-REACH, REACH, SLICE)
    everything = prior.values(theta, np.concatenate([grid, [spec.at_a, spec.at_b], at]))
    curves, pair, slices = np.split(everything, [NODES, NODES + 2], axis=1)
    return Functions(prior, theta, grid, curves, pair, at, slices)


@kept
def limit(prior: Prior, a: float, b: float) -> tuple[Array, Array, Array]:
    """The exact kernel: sd (NODES,) along the grid, covariance (2, 2) at a and b, slice (SLICE,) of a with all x."""
    grid, at = np.linspace(-REACH, REACH, NODES), np.linspace(-REACH, REACH, SLICE)
    places = [a, b]
    return np.sqrt(prior.variance(grid)), prior.covariance(places, places), prior.covariance([a], at)[0]


@kept
def compared(spec: PriorSpec) -> list[Functions]:
    """The six networks of the comparison: the same sds on weights, other widths and depths."""
    largest_first = each(lambda size: functions(spec.replace(view="functions", width=size[0], depth=size[1])), COMPARED[::-1])
    return largest_first[::-1]


# Rejection ------------------------------------------------------------------------------------------------------------


def data_of(spec: PriorSpec) -> Curve:
    """The points that are used."""
    if spec.data == "points":
        return own_curve(spec.points)
    six = six_points()
    return Curve(six.x[: spec.used], six.y[: spec.used], six.card)


def left_out(spec: PriorSpec) -> Curve | None:
    """The points of the six that are not used yet."""
    if spec.data == "points" or spec.used == SIX:
        return None
    six = six_points()
    return Curve(six.x[spec.used :], six.y[spec.used :], six.card)


def wide_grid() -> Array:
    """Inputs (NODES,) of the picture with data."""
    return np.linspace(*X_RANGE, NODES)


def times(tries: int) -> NDArray[np.int64]:
    """How many networks have been tested after each step: one by one at first, then ever more a step."""
    growing = np.unique(np.geomspace(FIRST, tries, BATCHES + 1).round().astype(np.int64))
    return np.concatenate([np.arange(1, FIRST, dtype=np.int64), growing])


@dataclass(frozen=True, eq=False)
class Tested:
    """A rejection run and what the stage needs of it.

    times (steps,): networks tested after each step; candidates (steps, NODES): the curve of the last one of each step,
    residual_ends (steps, points) its values at the points; accepted_curves (kept, NODES); seconds : of the run
    """

    run: Rejection
    times: NDArray[np.int64]
    candidates: Array
    residual_ends: Array
    accepted_curves: Array
    seconds: float

    @property
    def number(self) -> int:
        """Networks accepted."""
        return int(self.run.accepted.sum())


@kept
def tested(spec: PriorSpec) -> Tested:
    """The rejection run of the page."""
    return _tested(spec, spec.tries)


def beginning(spec: PriorSpec) -> Tested:
    """As much of the run as is known at once. A bound that is observed may only rise as more are tested: what it rejects
    stays rejected, and only that is shown.
    """
    if spec.tries <= BEGINNING:
        return tested(spec)
    first = _tested(spec, BEGINNING)
    if spec.bound != "observed":
        return first
    steps = int(np.searchsorted(first.times, np.argmax(first.run.accepted), side="right"))
    if not steps:
        return tested(spec)
    shown = first.times[:steps], first.candidates[:steps], first.residual_ends[:steps], first.accepted_curves[:0]
    return Tested(first.run, *shown, first.seconds)


def _tested(spec: PriorSpec, tries: int) -> Tested:
    prior, data, at = spec.prior(), data_of(spec), times(spec.tries)
    at = at[at <= tries]
    begin = time.perf_counter()
    run = reject(prior, data.x, data.y, spec.noise_sd, tries, spec.seed, spec.bound, at - 1)
    seconds = time.perf_counter() - begin
    grid = wide_grid()
    ends = prior.values(run.shown, data.x) if len(data.x) else np.empty((len(at), 0))
    return Tested(run, at, prior.values(run.shown, grid), ends, prior.values(run.weights, grid), seconds)


@dataclass(frozen=True, eq=False)
class Chains:
    """The walk with as many networks as the rejection run.

    watched (chains, kept, places): f there in every kept state, one in `thin`; mean, sd (NODES,) of f
    """

    run: Walk
    watched: Array
    mean: Array
    sd: Array
    seconds: float
    thin: int


@kept
def chains(spec: PriorSpec) -> Chains:
    """Chains over the same posterior, with as many likelihoods as the rejection run has."""
    return _chains(spec, spec.tries, spec.seed)


@kept
def long_chains(spec: PriorSpec) -> tuple[Chains, Summary]:
    """Longer chains from other starts, to compare with the importance sampler."""
    made = _chains(spec, LONGER * spec.tries, spec.seed ^ 0x77777777)
    return made, summarise(made.watched)


def _chains(spec: PriorSpec, tries: int, seed: int) -> Chains:
    prior, data = spec.prior(), data_of(spec)
    of_each = tries // CHAINS
    warmup = int(WARM * of_each)
    begin = time.perf_counter()
    thin = max(1, (of_each - warmup) // KEPT)
    run = walk(prior, data.x, data.y, spec.noise_sd, chains=CHAINS, steps=of_each - warmup, warmup=warmup, thin=thin, seed=seed)
    seconds = time.perf_counter() - begin
    flat = prior.values(run.weights.reshape(-1, prior.dim), np.concatenate([wide_grid(), WATCHED]))
    curves, watched = np.split(flat, [NODES], axis=1)
    return Chains(run, watched.reshape(*run.weights.shape[:2], -1), curves.mean(axis=0), curves.std(axis=0), seconds, thin)


# The wide limit, given data ---------------------------------------------------------------------------------------------


def at_width(spec: PriorSpec, width: int) -> PriorSpec:
    """The spec whose walk is that of networks with `width` units, of those that are held against the wide limit."""
    return spec.replace(view="rejection", width=width, squash="none")


def limit_of(spec: PriorSpec, at: Array) -> LimitPosterior:
    """The posterior of the wide limit at inputs `at` (m,), of the prior as it was meant: the same for all seeds."""
    return _limit_of(spec.replace(seed=spec.default("seed")), tuple(at))


@kept
def _limit_of(spec: PriorSpec, at: tuple[float, ...]) -> LimitPosterior:
    data = data_of(spec)
    return limit_posterior(meant(spec), data.x, data.y, spec.noise_sd, np.array(at))


@dataclass(frozen=True, eq=False)
class Walked:
    """States of the chains over networks of one width, all chains in turn.

    curves (steps, NODES): the last one of each step; mean, sd (steps, NODES): of f, over all so far; count (steps,)
    """

    width: int
    curves: Array
    mean: Array
    sd: Array
    count: NDArray[np.int64]


@kept
def walked(spec: PriorSpec, width: int) -> Walked:
    """What the chains over networks of `width` units say of f, as their states come in."""
    one = at_width(spec, width)
    weights = chains(one).run.weights.swapaxes(0, 1).reshape(-1, one.prior().dim)[: STEPS * PER_STEP]
    curves = one.prior().values(weights, wide_grid())
    count = np.arange(PER_STEP, len(curves) + 1, PER_STEP)
    once, twice = (np.cumsum(values, axis=0)[count - 1] / count[:, None] for values in (curves, curves**2))
    return Walked(width, curves[count - 1], once, np.sqrt(np.maximum(twice - once**2, 0.0)), count)


def distances(walked: Walked, limit: LimitPosterior) -> Array:
    """(steps, 2): how far mean and sd of f are from those of the limit, root mean squares over the grid."""
    gaps = (walked.mean - limit.mean, walked.sd - limit.sd)
    return np.column_stack([np.sqrt(np.mean(gap**2, axis=1)) for gap in gaps])


@kept
def weighted(spec: PriorSpec) -> Weighted:
    """The same posterior by importance sampling with other networks: another seed, far more draws."""
    prior, data = spec.prior(), data_of(spec)
    number = int(min(WEIGHTED, 8e7 / prior.dim))
    return importance(prior, data.x, data.y, spec.noise_sd, number, spec.seed ^ 0x5EED5EED, np.array(WATCHED))


def expected_survivors(run: Rejection, noise_sd: float, tries: int) -> Array:
    """(points + 1,) survivors to expect of `tries` networks after 0, 1, ... points, by the exact bound."""
    return np.array([_share(squares, noise_sd) for squares in run.squares]) * tries


def survivors_by_noise(run: Rejection, noise: Array, tries: int) -> Array:
    """Survivors to expect of `tries` networks, by all points and the exact bound, for each noise sd (n,)."""
    return np.array([_share(run.squares[-1], float(sd)) for sd in noise]) * tries


def _share(squares: Array, sd: float) -> float:
    """Mean likelihood over its largest possible value, of networks with these sums of squares (n,)."""
    near = squares[squares < FAR * 2.0 * sd**2]
    return float(np.exp(-near / (2.0 * sd**2)).sum()) / len(squares)


@kept
def summary(spec: PriorSpec) -> Summary:
    """R-hat and effective draws of the chains at the watched inputs."""
    return summarise(chains(spec).watched)
