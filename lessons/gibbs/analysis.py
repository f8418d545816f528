"""What the lesson computes: the updates of a run one by one, what is known about each target, checks, diagnostics."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import diagnostics, record, sample, ticket
from engine.diagnostics import autocorrelation
from engine.judge import FIRST, SECOND, Check, Kernel, Known, TransitionKernel, chains_checks, mean_check, sampled_apart, two_looks, unknown
from engine.judge.recordings import LATER
from engine.kept import kept
from engine.recording import Recording
from engine.samplers.gibbs import REACH, Gibbs
from engine.samplers.gibbs_theory import gaussian_autocorrelation, normal_gamma_lag_one
from engine.spec import MAX_SEED, SpecError
from engine.targets import gaussian
from engine.targets.conjugate import hierarchical_effect
from engine.targets.target import Target, TargetError, Truth
from lessons.gibbs.spec import WORDS, GibbsLesson

Array = NDArray[np.float64]
View = tuple[tuple[float, float], tuple[float, float]]

SHOWN = 2000  # updates on the stage at most
CURVE = 41  # points of a conditional's curve
WINDOW = 2 * REACH + 1  # points that a windowed update looks at
LOG_2PI = float(np.log(2 * np.pi))


# The run, update by update --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Walk:
    """The first updates of chain 1, N of them, `dim` to a sweep.

    coordinate : (N,), which one was updated
    before, after : (N, dim), the state
    kind, parameters : (N,), (N, 2), of the conditional it was drawn from, see `GibbsTransitions`
    proposal, log_ratio, uniform : (N,), of Metropolis, else NaN
    accepted : (N,), always true where a coordinate is drawn from its conditional
    """

    target: Target
    recording: Recording
    coordinate: NDArray[np.int64]
    before: Array
    after: Array
    kind: NDArray[np.int8]
    parameters: Array
    proposal: Array
    log_ratio: Array
    uniform: Array
    accepted: NDArray[np.bool_]

    @property
    def steps(self) -> int:
        return len(self.coordinate)

    @property
    def sweep_ends(self) -> NDArray[np.bool_]:
        """(N,), is this update the last of its sweep? Only then the state is a draw."""
        return np.arange(1, self.steps + 1) % self.target.dim == 0

    @property
    def value(self) -> Array:
        """(N,), what the updated coordinate became."""
        return self.after[np.arange(self.steps), self.coordinate]

    @property
    def old_value(self) -> Array:
        """(N,), what the updated coordinate was."""
        return self.before[np.arange(self.steps), self.coordinate]


def simulate(spec: GibbsLesson) -> Walk:
    """The run of `spec`; the same object for all ways of looking at it."""
    return _simulate(spec.simulation())


@kept
def _simulate(spec: GibbsLesson) -> Walk:
    try:
        alone = record(spec.replace(chains=1), detail="transitions")  # chain 1 is the same whatever their number
        recording = alone if spec.chains == 1 else record(spec)
    except TargetError as error:
        raise SpecError("start", str(error)) from error
    inside, dim = alone.transitions, alone.dim
    sweeps = min(spec.draws, SHOWN // dim)
    flat = {name: array[0, :sweeps].reshape(sweeps * dim, -1) for name, array in inside._asdict().items()}
    coordinate = flat["coordinate"][:, 0].astype(np.int64)
    after = _states(coordinate, flat["after"][:, 0], alone.start[0])
    with np.errstate(over="ignore", invalid="ignore"):
        accepted = np.exp(np.minimum(flat["log_ratio"][:, 0], 0.0)) > flat["uniform"][:, 0]
    return Walk(
        target=spec.build_target(),
        recording=recording,
        coordinate=coordinate,
        before=np.vstack([alone.start[:1], after[:-1]]),
        after=after,
        kind=flat["conditional"][:, 0],
        parameters=flat["parameters"],
        proposal=flat["proposal"][:, 0],
        log_ratio=flat["log_ratio"][:, 0],
        uniform=flat["uniform"][:, 0],
        accepted=accepted if spec.update == "metropolis" and spec.variant == "exact" else np.ones(len(after), bool),
    )


def _states(coordinate: NDArray[np.int64], values: Array, start: Array) -> Array:
    """(N, dim) the state after each update: every coordinate keeps its value until it is updated again."""
    at = np.arange(1, len(values) + 1)
    states = np.empty((len(values), len(start)))
    for j in range(len(start)):
        newest = np.maximum.accumulate(np.where(coordinate == j, at, 0))
        states[:, j] = np.concatenate([[start[j]], values])[newest]
    return states


# The two axes of the map ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Plane:
    """Two coordinates as they are drawn.

    coordinates : which of the target's
    names : of the axes
    view : ((low, high), (low, high)) of the axes
    marginals : exact densities on the axes' own scales, or None
    log_spread : the second axis is the log of the groups' sd, s = 1/√w, not the precision w itself
    """

    coordinates: tuple[int, int]
    names: tuple[str, str]
    view: View
    marginals: tuple[Callable[[Array], Array], Callable[[Array], Array]] | None
    log_spread: bool = False

    def axis_of(self, coordinate: int) -> int | None:
        """On which axis a coordinate of the target is drawn."""
        return self.coordinates.index(coordinate) if coordinate in self.coordinates else None

    def values(self, axis: int, values: Array) -> Array:
        """Values of a coordinate on the scale of its axis."""
        if self.log_spread and axis == 1:
            with np.errstate(divide="ignore", invalid="ignore"):
                return -0.5 * np.log(values)
        return values

    def points(self, states: Array) -> Array:
        """(N, 2) places of states (N, dim) on the map."""
        return np.column_stack([self.values(axis, states[:, j]) for axis, j in enumerate(self.coordinates)])


def plane(spec: GibbsLesson) -> Plane:
    """The axes of the map."""
    return _plane(spec.replace(**{name: GibbsLesson.default(name) for name in ("seed", "view", "draws", "chains")}))


@kept
def _plane(spec: GibbsLesson) -> Plane:
    target = spec.build_target()
    truth = target.truth
    if spec.target != "hierarchical":
        marginals = None if truth is None else (truth.marginals[0], truth.marginals[1])
        return Plane((0, 1), (target.labels[0], target.labels[1]), target.view, marginals)
    j = spec.group + 1
    low_s, high_s = _spread_range(target)
    known = target.known
    mean, sd = known.mean[j], float(np.sqrt(known.covariance[j, j]))
    return Plane(
        (j, 0),
        (target.labels[j], WORDS.phrase("stage.log_spread")),
        ((mean - 4.0 * sd, mean + 4.0 * sd), (low_s, high_s)),
        (known.marginals[j], lambda x: _spread_density(target, x)),
        log_spread=True,
    )


def _spread_density(target: Target, log_s: Array) -> Array:
    """Exact density of log s, s = 1/√w: that of w times |dw / d log s| = 2w."""
    w = np.exp(-2.0 * np.asarray(log_s, dtype=float))
    return np.asarray(target.known.marginals[0](w) * 2.0 * w)


def _spread_range(target: Target) -> tuple[float, float]:
    """Where log s has its probability, but for 1e-3 of the peak's height."""
    at = np.linspace(-6.0, 9.0, 1501)
    high = np.flatnonzero((density := _spread_density(target, at)) > 1e-3 * density.max())
    return float(at[high[0]]) - 0.1, float(at[high[-1]]) + 0.1


def log_density(spec: GibbsLesson, xs: Array, ys: Array) -> Array:
    """(len(ys), len(xs)) exact log density of the two coordinates of the map, up to a constant."""
    target = spec.build_target()
    if spec.target != "hierarchical":
        return target.density_grid(xs, ys)
    w = np.exp(-2.0 * ys)
    mean, variance = effect_given_spread(spec, spec.group - 1, w)
    with np.errstate(divide="ignore"):
        of_spread = np.log(_spread_density(target, ys))
    return of_spread[:, None] - 0.5 * ((xs - mean[:, None]) ** 2 / variance[:, None] + np.log(variance[:, None]))


def effect_given_spread(spec: GibbsLesson, group: int, w: Array) -> tuple[Array, Array]:
    """Mean and variance, each as `w`, of a group's effect given the precision w between groups."""
    return hierarchical_effect(*spec.groups(), group, w, prior_sd=spec.prior_sd)


def conditional_curve(kind: int, parameters: Array, *, log_spread: bool = False, points: int = CURVE) -> tuple[Array, Array]:
    """Places (points,) and density (points,), highest 1, of a normal or gamma conditional over where it has its mass.

    log_spread : of log s = −½ log w instead of the precision w
    """
    a, b = parameters
    if kind == 0:
        x = a + b * np.linspace(-3.5, 3.5, points)
        return x, np.exp(-0.5 * ((x - a) / b) ** 2)
    if log_spread:  # log w has its mode at log(shape / rate), curvature `shape`
        log_w = np.log(a / b) + np.linspace(-5.0, 4.0, points) / np.sqrt(a)
        log_p = a * log_w - b * np.exp(log_w)
        return (-0.5 * log_w)[::-1], np.exp(log_p - log_p.max())[::-1]
    x = np.linspace(max(a - 4.0 * np.sqrt(a), 1e-3), a + 5.0 * np.sqrt(a), points) / b
    log_p = (a - 1.0) * np.log(x) - b * x
    return x, np.exp(log_p - log_p.max())


def slice_curve(target: Target, state: Array, coordinate: int, low: float, high: float) -> tuple[Array, Array]:
    """Places and density (CURVE,), highest 1, of the target along one coordinate through `state`."""
    x = np.linspace(low, high, CURVE)
    points = np.tile(state, (CURVE, 1))
    points[:, coordinate] = x
    values = target.log_density_many(points)
    values = np.where(np.isfinite(values), values, -np.inf)
    top = values.max()
    return x, np.exp(values - top) if np.isfinite(top) else np.zeros(CURVE)


# What theory says -----------------------------------------------------------------------------------------------------


def exact_autocorrelation(spec: GibbsLesson, lags: int) -> Array | None:
    """(lags + 1,) of the first coordinate, draw by draw: known for the bivariate Gaussian and conditional updates, else
    None.
    """
    if spec.target != "gaussian" or not spec.by_conditional:
        return None
    return gaussian_autocorrelation(spec.correlation, lags, scan=spec.scan, blocked=spec.blocked)


def exact_lag_one(spec: GibbsLesson) -> float | None:
    """Lag-one autocorrelation of the precision of the Normal-Gamma under systematic Gibbs, else None."""
    if spec.target != "normal_gamma" or not spec.by_conditional or spec.scan != "systematic":
        return None
    return normal_gamma_lag_one(float(spec.build_target().data[3]))


# Longer runs ----------------------------------------------------------------------------------------------------------

LONG_CHAINS, LONG_SWEEPS = 4, 5000


def long_run(spec: GibbsLesson, sweeps: int) -> Recording:
    """Four chains with the settings of `spec`, from exact starts far apart where those are known."""
    return _longer(spec.simulation(), sweeps)


@kept
def _longer(spec: GibbsLesson, sweeps: int) -> Recording:
    settings = {"draws": sweeps, "warmup": sweeps // 10, **spec.settings()}
    return sampled_apart(spec.build_target(), spec.method, spec.init(), chains=LONG_CHAINS, seed=spec.seed, **settings)


def efficiency(spec: GibbsLesson, sweeps: int = LONG_SWEEPS) -> float:
    """Effective draws per 1,000 sweeps for the mean of the worst coordinate."""
    draws = long_run(spec.simulation(), sweeps).draws
    ess = [diagnostics.ess_mean(draws[:, :, j]) for j in range(draws.shape[2])]
    return 1000.0 * float(min(ess)) / draws[:, :, 0].size


CORRELATIONS = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)


@dataclass(frozen=True, eq=False)
class Sweep:
    """Of each correlation and each sampler: lag-one autocorrelation and effective draws per sweep, (correlations,)."""

    correlations: Array
    lag_one: dict[str, Array]
    efficiency: dict[str, Array]


SAMPLERS: dict[str, dict[str, Any]] = {"gibbs": {}, "block": {"block": True}, "metropolis": {"update": "metropolis"}}


@kept
def correlation_sweep(seed: int, scale: float) -> Sweep:
    """Three samplers over a range of correlations: a bivariate Gaussian with unit variances."""
    lag_one = {name: np.empty(len(CORRELATIONS)) for name in SAMPLERS}
    effective = {name: np.empty(len(CORRELATIONS)) for name in SAMPLERS}
    for name, settings in SAMPLERS.items():
        for i, rho in enumerate(CORRELATIONS):
            target = gaussian(correlation=rho)
            x = sample(target, "gibbs", chains=LONG_CHAINS, draws=LONG_SWEEPS, warmup=500, seed=seed, scale=scale, **settings).draws[
                :, :, 0
            ]
            lag_one[name][i] = autocorrelation(x, 1, pooled=True)[1]
            effective[name][i] = diagnostics.ess_mean(x) / x.size
    return Sweep(np.array(CORRELATIONS), lag_one, effective)


# Checks and diagnostics -----------------------------------------------------------------------------------------------

CHECK_SWEEPS = {2: 40_000}  # of each chain, by dimension
CHECK_SWEEPS_OF_MANY = 20_000
_interp: Callable[..., Array] = np.interp  # of arrays


def kernels(spec: GibbsLesson) -> list[Kernel]:
    """The sampler with the present settings."""
    target = spec.build_target()
    if target.truth is None or target.truth.draw is None:
        return []
    mistake = "" if spec.variant == "exact" else WORDS.phrase("checks.window")
    return [TransitionKernel(Known(target, wrong_targets(spec)), Gibbs(**spec.settings()), mistake=mistake)]


def wrong_targets(spec: GibbsLesson) -> dict[str, Target]:
    """Mistakes in the conditionals that can be planted: of one model too many, of a prior forgotten."""
    if not spec.by_conditional:
        return {}
    if spec.target == "gaussian":
        return {"wrong_conditional": spec.replace(correlation=0.8 * spec.correlation - 0.1).build_target()}
    return {"wrong_conditional": spec.replace(shape=min(spec.shape + 0.5, 20.0), rate=0.5 * spec.rate).build_target()}


def audit(spec: GibbsLesson, cancel: object = None) -> Sequence[Check]:
    """What the kernel's own audit leaves open: nothing, unless there are no exact draws."""
    return [] if kernels(spec) else [unknown(WORDS.phrase("checks.exact"), WORDS.phrase("checks.no_draws"), kind="kernel")]


def checks(spec: GibbsLesson, cancel: object = None) -> Sequence[Check]:
    """Longer chains of the same kernel: do they agree, and with the exact answer?"""
    target = spec.build_target()
    truth = _tabulated(target) if spec.target == "hierarchical" else target.truth
    found = chains_checks(lambda seed, work: longer(spec, seed, work), spec.seed, truth)
    exact = exact_autocorrelation(spec, 1)
    if exact is not None:
        found.append(two_looks(lambda number, work: lag_check(spec, float(exact[1]), number, work)))
    return found


def longer(spec: GibbsLesson, seed: int, work: int) -> Recording:
    """Chains from starts far apart, `work` times as long as a first look needs."""
    dim = spec.build_target().dim
    return _longer(spec.simulation().replace(seed=seed), work * CHECK_SWEEPS.get(dim, CHECK_SWEEPS_OF_MANY))


def lag_check(spec: GibbsLesson, exact: float, number: int, work: int) -> Check:
    """Does the walk forget as fast as theory says? Products of neighbouring draws; the truth has mean 0, variance 1."""
    x = longer(spec, spec.seed if number == 1 else (spec.seed + LATER) % (MAX_SEED + 1), work).draws[:, :, 0]
    what = WORDS.phrase("checks.lag_one", name=spec.build_target().labels[0])
    level = FIRST if number == 1 else SECOND
    return mean_check(WORDS.phrase("checks.memory"), what, x[:, 1:] * x[:, :-1], exact, level=level)


@kept
def _tabulated(target: Target) -> Truth:
    """The truth of the hierarchical model with tables for the marginals of μ and θ, each value of which is a mixture of
    thousands of normals; the checks ask for many. Linear between nodes, far below the Monte Carlo error of a check."""
    truth = target.known
    tables = []
    for j in range(1, target.dim):
        reach = 12.0 * np.sqrt(truth.covariance[j, j])
        x = np.linspace(truth.mean[j] - reach, truth.mean[j] + reach, 2001)
        parts = []
        for part in np.array_split(x, 40):
            ticket.look()
            parts.append(truth.marginals[j](part))
        tables.append(partial(_interp, xp=x, fp=np.concatenate(parts), left=0.0, right=0.0))
    return dataclasses.replace(truth, marginals=(truth.marginals[0], *tables))


def window_ends(walk: Walk) -> Array:
    """(N, WINDOW) the grid points of each windowed update."""
    return np.linspace(walk.parameters[:, 0], walk.parameters[:, 1], WINDOW, axis=1)


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """Diagnostics of the run on screen. acceptance : (dim,) share of updates accepted, of chain 1."""

    summary: diagnostics.Summary
    cost: diagnostics.Cost
    acceptance: Array


@kept
def _diagnose(spec: GibbsLesson) -> Diagnostics:
    walk = simulate(spec)
    summary = diagnostics.summarise(walk.recording.draws)
    share = [float(walk.accepted[walk.coordinate == j].mean()) for j in range(walk.target.dim)]
    return Diagnostics(summary, diagnostics.cost(record(spec), summary), np.array(share))


def diagnose(spec: GibbsLesson) -> Diagnostics:
    """R-hat, ESS, cost and acceptance of the run."""
    return _diagnose(spec.simulation())
