"""The numbers behind the pictures: the runs, and what theory says they must show."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

import engine
from engine import diagnostics
from engine.judge import Kernel, Known, TransitionKernel, sampled_apart
from engine.kept import kept
from engine.recording import Recording
from engine.samplers import Metropolis
from engine.samplers.islands import Islands, stationary, transition_matrix, walk_islands
from engine.spec import SpecError
from engine.targets import Target, TargetError, gaussian
from lessons.metropolis.ring import RingKernel
from lessons.metropolis.spec import WORDS, MetropolisLesson

Array = NDArray[np.float64]
View = tuple[tuple[float, float], tuple[float, float]]


# Runs -----------------------------------------------------------------------------------------------------------------


def target_of(spec: MetropolisLesson) -> Target:
    """The target. A formula that is no density raises SpecError with the reason."""
    try:
        return spec.build_target()
    except TargetError as error:
        raise SpecError("formula" if spec.target == "formula" else "target", str(error)) from error


@kept
def record(spec: MetropolisLesson) -> Recording:
    """The chains of the plane. A start where the density is zero raises SpecError."""
    target_of(spec)
    try:
        return engine.record(spec)
    except TargetError as error:
        raise SpecError("start", str(error)) from error


def after_burn_in(spec: MetropolisLesson) -> Array:
    """The draws (chains, kept, dim) after the burn-in."""
    return record(spec).draws[:, spec.burn :]


@dataclass(frozen=True, eq=False)
class Walk:
    """One chain with the inside of every transition.

    before, draws, proposal : (n, dim), the state before the decision, after it, and the proposal
    log_before, log_proposal : (n,), log densities
    log_hastings, log_ratio, uniform : (n,), see `MetropolisTransitions`
    ratio : (n,), exp(log_ratio), at most 1e6 so that it can be shown
    accepted : (n,) bool
    tries : (n,), proposals made for this draw (more than 1 only where rejections are thrown away)
    dwell : (n,), how many draws in a row, this one included, are the present point
    """

    before: Array
    draws: Array
    proposal: Array
    log_before: Array
    log_proposal: Array
    log_hastings: Array
    log_ratio: Array
    ratio: Array
    uniform: Array
    accepted: NDArray[np.bool_]
    tries: NDArray[np.int32]
    dwell: NDArray[np.int64]


@kept
def walk(spec: MetropolisLesson, chain: int = 0) -> Walk:
    """One chain of the run again, with its inside."""
    recording = engine.replay(record(spec), chain=chain, first=0, count=spec.draws)
    inside = recording.transitions
    draws, accepted = recording.draws[0], recording.accepted[0]
    with np.errstate(over="ignore"):
        ratio = np.minimum(np.exp(inside.log_ratio[0]), 1e6)
    return Walk(
        before=np.vstack([recording.start[:1], draws[:-1]]),
        draws=draws,
        proposal=inside.proposal[0],
        log_before=np.append(recording.start_log_density[0], recording.log_density[0, :-1]),
        log_proposal=inside.proposal_log_density[0],
        log_hastings=inside.log_hastings[0],
        log_ratio=inside.log_ratio[0],
        ratio=ratio,
        uniform=inside.uniform[0],
        accepted=accepted,
        tries=recording.gradient_evaluations[0],
        dwell=dwell(accepted),
    )


def dwell(accepted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """(n,) how many draws in a row, up to each, are one and the same point."""
    at = np.arange(len(accepted))
    arrived = np.maximum.accumulate(np.where(accepted, at, 0))
    return at - arrived + 1


def three(spec: MetropolisLesson) -> list[MetropolisLesson]:
    """The runs of the triptych: same seed, so the same random numbers, and three step sizes, each within its range."""
    declared = spec.declarations()["scale"]
    return [spec.replace(scale=float(np.clip(scale, declared.low, declared.high)), chains=1) for scale in spec.scales()]


def acceptance(spec: MetropolisLesson) -> float:
    """Share of all proposals of the run that were accepted."""
    recording = record(spec)
    return float(recording.accepted.sum() / recording.gradient_evaluations.sum())


def effective(spec: MetropolisLesson) -> float:
    """Effective draws of the run for the worse of the first two coordinates; 0 when the chain never moved."""
    draws = after_burn_in(spec)
    sizes = [diagnostics.ess_mean(draws[:, :, j]) if np.ptp(draws[:, :, j]) else 0.0 for j in range(2)]
    return float(min(sizes))


@kept
def island_walk(spec: MetropolisLesson) -> Islands:
    """The walk over the islands."""
    return _walk_islands(spec, spec.draws, spec.seed)


def more_walkers(spec: MetropolisLesson, walkers: int, draws: int, *, again: bool = False) -> NDArray[np.int64]:
    """(walkers, draws) islands of further walkers with random numbers of their own; `again`: and of others."""
    seeds = np.random.SeedSequence([spec.seed, 2 if again else 1]).generate_state(walkers)
    return np.array([_walk_islands(spec, draws, int(seed)).draws for seed in seeds])


def _walk_islands(spec: MetropolisLesson, draws: int, seed: int) -> Islands:
    return walk_islands(spec.people(), draws, seed, p_right=spec.p_right, start=spec.first_island - 1, variant=spec.variant)


# What theory says -----------------------------------------------------------------------------------------------------


def shares(spec: MetropolisLesson) -> Array:
    """Each island's share of the people: what a right walk converges to."""
    people = spec.people()
    return people / people.sum()


def island_matrix(spec: MetropolisLesson) -> Array:
    """The transition matrix of the walk as it is run, mistakes included."""
    return transition_matrix(spec.people(), p_right=spec.p_right, variant=spec.variant)


def long_run(spec: MetropolisLesson) -> Array:
    """What the walk as it is run converges to: the stationary distribution of its transition matrix."""
    return stationary(island_matrix(spec))


def running_distance(spec: MetropolisLesson) -> Array:
    """(draws,) total variation distance between the shares of visits so far and the shares of people."""
    visits = np.cumsum(island_walk(spec).draws[:, None] == np.arange(len(spec.people())), axis=0)
    return distance(visits / np.arange(1, spec.draws + 1)[:, None], shares(spec))


def distance(a: Array, b: Array) -> Array:
    """Total variation distance: half the sum of the differences."""
    return 0.5 * np.abs(a - b).sum(axis=-1)


def crowd_distance(spec: MetropolisLesson, steps: int) -> Array:
    """(steps + 1,) exact distance between the people's shares and where a crowd is that began on the first island."""
    matrix, crowd, truth = island_matrix(spec), np.eye(len(spec.people()))[spec.first_island - 1], shares(spec)
    distances = [float(distance(crowd, truth))]
    for _ in range(steps):
        crowd = crowd @ matrix
        distances.append(float(distance(crowd, truth)))
    return np.array(distances)


def plane_of(spec: MetropolisLesson) -> Target:
    """The exact distribution of the first two coordinates, as a target in the plane."""
    target = target_of(spec)
    return target.plane or target


@dataclass(frozen=True, eq=False)
class Prediction:
    """The distribution that a wrong sampler draws from, on a grid.

    xs, ys : the grid; values : (len(ys), len(xs)), its density
    """

    xs: Array
    ys: Array
    values: Array

    def marginal(self, coordinate: int) -> tuple[Array, Array]:
        """Points and density of one coordinate."""
        if coordinate == 0:
            return self.xs, self.values.sum(axis=0) * (self.ys[1] - self.ys[0])
        return self.ys, self.values.sum(axis=1) * (self.xs[1] - self.xs[0])

    def moments(self, coordinate: int) -> tuple[float, float]:
        """Mean and sd of one coordinate."""
        at, density = self.marginal(coordinate)
        weight = density / density.sum()
        mean = float(at @ weight)
        return mean, float(np.sqrt(((at - mean) ** 2) @ weight))


def predicted(spec: MetropolisLesson) -> Prediction | None:
    """What the sampler converges to when it is wrong; None where it is right, or where nothing is known."""
    return _predicted(spec.replace(seed=spec.default("seed"))) if _wrong(spec) else None


@kept
def _predicted(spec: MetropolisLesson) -> Prediction | None:
    if spec.variant == "no_hastings" and spec.drift != 0.0:
        return _tilted(plane_of(spec), 2.0 * spec.drift / spec.scale)
    if spec.variant == "drop_rejections" and target_of(spec).dim == 2:
        return _movers(plane_of(spec), spec.scale, spec.drift * spec.scale)
    return None


def _tilted(plane: Target, tilt: float) -> Prediction | None:
    """pi(x) exp(tilt x1), normalised; None if its integral does not converge (heavy tails)."""
    view = _wider(plane.view, 1.5)
    for _ in range(8):
        xs, ys, log_density = _on_grid(plane, view, 201)
        values = _normalised(xs, ys, log_density + tilt * xs)
        edge = max(values[:, 0].sum(), values[:, -1].sum(), values[0].sum(), values[-1].sum()) / values.sum()
        if edge < 1e-6:
            return Prediction(xs, ys, values)
        view = _wider(view, 1.6)
    return None


def _movers(plane: Target, scale: float, drift: float) -> Prediction:
    """pi(x) a(x), normalised, with a(x) the mean acceptance at x.

    The mean is over 14 x 14 proposals, at the middles of equally likely cells.
    """
    xs, ys, log_density = _on_grid(plane, _wider(plane.view, 1.2), 49)
    z = np.array([NormalDist().inv_cdf((i + 0.5) / 14) for i in range(14)]) * scale
    acceptance = np.zeros_like(log_density)
    with np.errstate(over="ignore", invalid="ignore"):
        for dx in z:
            hastings = -2.0 * drift * (drift + dx) / scale**2
            for dy in z:
                ratio = np.exp(plane.density_grid(xs + drift + dx, ys + dy) - log_density + hastings)
                acceptance += np.minimum(np.nan_to_num(ratio, nan=0.0, posinf=1.0), 1.0)
    return Prediction(xs, ys, _normalised(xs, ys, log_density + np.log(np.maximum(acceptance, 1e-300))))


def _on_grid(plane: Target, view: View, number: int) -> tuple[Array, Array, Array]:
    xs, ys = (np.linspace(*side, number) for side in view)
    values = plane.density_grid(xs, ys)
    return xs, ys, np.where(np.isfinite(values), values, -np.inf)


def _normalised(xs: Array, ys: Array, log_density: Array) -> Array:
    values = np.exp(log_density - log_density.max())
    return values / (values.sum() * (xs[1] - xs[0]) * (ys[1] - ys[0]))


def _wider(view: View, factor: float) -> View:
    return tuple((0.5 * (a + b) - 0.5 * factor * (b - a), 0.5 * (a + b) + 0.5 * factor * (b - a)) for a, b in view)  # type: ignore[return-value]


# Sweeps ---------------------------------------------------------------------------------------------------------------

DIMENSIONS = (1, 2, 5, 10, 20, 50)
SWEEP_CHAINS, SWEEP_DRAWS = 4, 4000
BEST = 2.38  # over √d, in sd of the target: the best scale for a Gaussian in many dimensions (Roberts, Gelman, Gilks 1997)


@dataclass(frozen=True)
class Efficiency:
    """Of one setting: the share of proposals accepted, and effective draws per 1000 (NaN when a chain never moved)."""

    acceptance: float
    effective: float


def dimension_sweep(spec: MetropolisLesson) -> Iterator[tuple[int, Efficiency, Efficiency]]:
    """(dimension, with the present scale, with 2.38/√d) on independent standard normals, symmetric proposal."""
    for dimension in DIMENSIONS:
        target = gaussian(dimension=dimension, correlation=0.0)
        yield (dimension, _efficiency(target, spec.scale, spec.seed), _efficiency(target, BEST / np.sqrt(dimension), spec.seed))


def scale_sweep(spec: MetropolisLesson, number: int = 13) -> Iterator[tuple[float, Efficiency]]:
    """(scale, efficiency) on the present target around the present scale, a factor 30 either way."""
    target = target_of(spec)
    for scale in spec.scale * np.geomspace(1 / 30, 30, number):
        yield float(scale), _efficiency(target, scale, spec.seed, drift=spec.drift * scale)


def _efficiency(target: Target, scale: float, seed: int, drift: float = 0.0) -> Efficiency:
    recording = engine.sample(
        target, "metropolis", chains=SWEEP_CHAINS, draws=SWEEP_DRAWS, warmup=1000, seed=seed, scale=scale, drift=drift
    )
    stuck = not np.all(recording.accepted.any(axis=1))
    least = np.nan if stuck else min(diagnostics.ess_mean(recording.draws[:, :, j]) for j in range(min(target.dim, 2)))
    return Efficiency(float(recording.accept_prob.mean()), least / (SWEEP_CHAINS * SWEEP_DRAWS) * 1000)


CHECK_CHAINS, CHECK_DRAWS, CHECK_NUMBERS = 4, 40_000, 400_000  # of longer runs; draws times coordinates at most


def kernels(spec: MetropolisLesson) -> list[Kernel]:
    """The kernels that run: the ring's, one in the plane, or three that differ in their step size."""
    mistake = WORDS.phrase(f"checks.{spec.variant}") if _wrong(spec) else ""
    if spec.part == "islands":
        return [RingKernel(tuple(spec.people()), spec.p_right, spec.variant, mistake)]
    target = target_of(spec)
    if target.truth is None or target.truth.draw is None:
        return []
    runs = three(spec) if spec.part == "triptych" else [spec]
    return [TransitionKernel(Known(target), Metropolis(**run.settings()), mistake=mistake) for run in runs]


def symmetric(spec: MetropolisLesson) -> bool:
    """Is the proposal as likely there as back? Then the Hastings ratio is 1."""
    return spec.p_right == 0.5 if spec.part == "islands" else spec.drift == 0.0


def _wrong(spec: MetropolisLesson) -> bool:
    """Does the mistake that was chosen, if any, change anything?"""
    return spec.variant == "drop_rejections" or (spec.variant == "no_hastings" and not symmetric(spec))


def longer(spec: MetropolisLesson, seed: int, work: int) -> Recording:
    """Chains of the same kernel from starts far apart, `work` times as long as a first look needs."""
    target = target_of(spec)
    draws = min(CHECK_DRAWS, CHECK_NUMBERS // target.dim)
    settings = {"draws": work * draws, "warmup": draws // 10, **spec.settings()}
    return sampled_apart(target, "metropolis", spec.init(), chains=CHECK_CHAINS, seed=seed, **settings)


def shown(target: Target, view: View) -> Target:
    """The target, looked at in another view."""
    return dataclasses.replace(target, view=view)


# Words ----------------------------------------------------------------------------------------------------------------


def runs(spec: MetropolisLesson) -> str:
    """Which kernel runs."""
    kernel = WORDS.phrase("runs.islands") if spec.part == "islands" else WORDS.phrase("runs.plane", target=target_of(spec).name)
    return WORDS.phrase(f"runs.{spec.variant}", kernel=kernel)


def remarks(spec: MetropolisLesson) -> list[str]:
    """What a reader of these settings should know: notes of the words, by name."""
    if spec.variant == "no_hastings" and symmetric(spec):
        return ["fair_coin" if spec.part == "islands" else "no_drift"]
    if spec.part == "plane" and _wrong(spec) and predicted(spec) is None:
        return ["no_limit" if spec.variant == "no_hastings" else "two_dimensions"]
    return []
