"""The race: four samplers on one target with one budget, and their errors against the exact answer."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from engine import diagnostics, sample
from engine.judge import Check, Kernel, chains_checks, dispersed_starts, gradient_check, kernel_of
from engine.kept import kept
from engine.recording import Recording
from engine.samplers.run import METHODS, Run
from engine.spec import SpecError
from engine.targets.target import Target, TargetError, Truth
from lessons.race.spec import RACERS, WORDS, RaceLesson

Array = NDArray[np.float64]

STEPS = 400  # checkpoints of a race
BEGINNING, AT_ONCE = 20, 400  # of them, in the first picture, or fewer: those within so many evaluations
CHUNK, LEAST = 200, 50  # transitions between two looks at the meter, of a whole race and of its beginning
WATCHED = 4  # coordinates whose effective draws are counted
TIMED = 5  # repetitions, of which the fastest counts
SUMMED_PAIRS = 6  # races whose draws give the effective sample size
TOGETHER = 2**21  # numbers in the draws of the pairs that are run at once, about


def names(spec: RaceLesson) -> dict[str, str]:
    """The racers' names for people."""
    called = WORDS["racers"]
    return {racer: called["single" if racer == "gibbs" and not spec.has_conditionals else racer] for racer in RACERS}


# What is scored -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Features:
    """Two functions of a draw whose averages are scored, for each coordinate.

    kinds : their names
    expected, scale : (2, dim), the exact expectations, and what an error of each counts in
    centre, edges : (dim,), (dim, 2), what the functions need
    shares : indicator functions stand in for moments, whose averages hang on a few draws (heavy tails)
    """

    kinds: tuple[str, str]
    expected: Array
    scale: Array
    centre: Array
    edges: Array
    shares: bool

    def of(self, draws: Array) -> tuple[Array, Array]:
        """Both, (n, dim), of draws (n, dim)."""
        if self.shares:
            inside = (draws > self.edges[:, 0]) & (draws < self.edges[:, 1])
            return (draws < self.centre).astype(np.float64), inside.astype(np.float64)
        return draws, (draws - self.centre) ** 2


@kept
def features(target: Target) -> Features:
    """Mean and second central moment, in units of sd and variance; with heavy tails the share below the median and the
    share between the quartiles, in units of the sd of one indicator."""
    truth = target.known
    if not truth.heavy_tails and np.all(np.isfinite(truth.covariance)):
        variance = np.diag(truth.covariance)
        return Features(
            (WORDS.phrase("scores.mean"), WORDS.phrase("scores.variance")),
            np.stack([truth.mean, variance]),
            np.stack([np.sqrt(variance), variance]),
            truth.mean,
            np.empty((0, 2)),
            False,
        )
    quartiles = np.array([_quartiles(density) for density in truth.marginals])
    half = np.full((2, target.dim), 0.5)
    kinds = WORDS.phrase("scores.below"), WORDS.phrase("scores.between")
    return Features(kinds, half, half, quartiles[:, 1], quartiles[:, ::2], True)


def _quartiles(density: Callable[[Array], Array]) -> Array:
    """(3,) by the trapezoidal rule on a grid that is dense in the middle and reaches far out."""
    x = np.sinh(np.linspace(-16.0, 16.0, 40_001))
    values = density(x)
    mass = np.concatenate([[0.0], np.cumsum(0.5 * (values[1:] + values[:-1]) * np.diff(x))])
    return np.asarray(np.interp(np.array([0.25, 0.5, 0.75]) * mass[-1], mass, x))


# The race -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Lane:
    """One racer over all pairs, up to a checkpoint, which is the last of a whole race.

    error : (2, pairs, checkpoints), root mean square over coordinates of the error of each feature's running average
    draws, evaluations, tuning : (pairs,), draws made within the budget, calls of the target for them, and before them
    place : (checkpoints, dim), pair 1: the newest state at each checkpoint
    running : (2, checkpoints), pair 1: running averages of both features of the first coordinate
    count : (checkpoints,), pair 1: draws so far
    acceptance, divergences : over all pairs
    watched : (SUMMED_PAIRS, n, WATCHED * 2), features of some coordinates for the effective sample size
    step_size : of NUTS after its tuning, median over pairs; NaN for the others, and before its first draw
    """

    error: Array
    draws: NDArray[np.int64]
    evaluations: NDArray[np.int64]
    tuning: NDArray[np.int64]
    place: Array
    running: Array
    count: NDArray[np.int64]
    acceptance: float
    divergences: int
    watched: Array
    step_size: float

    @property
    def both(self) -> Array:
        """(pairs, checkpoints), the two errors in one: their root mean square."""
        return np.sqrt((self.error**2).mean(axis=0))


@dataclass(frozen=True, eq=False)
class Race:
    """cost : (checkpoints,), what has been spent at each, in evaluations of the density."""

    target: Target
    cost: Array
    lanes: dict[str, Lane]

    def final(self, racer: str) -> Array:
        """(pairs,) error of both moments at the end; infinite for a racer that has no draw yet."""
        last = self.lanes[racer].both[:, -1]
        return np.where(np.isnan(last), np.inf, last)

    def winner(self) -> str:
        """The racer with the smallest median error at the end."""
        return min(RACERS, key=lambda racer: float(np.median(self.final(racer))))

    def wins(self) -> dict[str, float]:
        """The share of pairs that each racer wins."""
        best = np.argmin(np.stack([self.final(racer) for racer in RACERS]), axis=0)
        return {racer: float((best == k).mean()) for k, racer in enumerate(RACERS)}


def costs(spec: RaceLesson) -> Array:
    """(STEPS,) what has been spent at each checkpoint of a whole race."""
    return spec.budget * np.arange(1, STEPS + 1) / STEPS


def beginning(spec: RaceLesson) -> int:
    """Checkpoints of the first picture."""
    return min(BEGINNING, AT_ONCE * STEPS // spec.budget)


@kept
def race(spec: RaceLesson, upto: int = STEPS) -> Race:
    """Run it, as far as a checkpoint. The same spec gives the same bytes; nothing here is timed."""
    target = spec.build_target()
    cost = costs(spec)[:upto]
    return Race(target, cost, {racer: _lane(spec, target, racer, cost) for racer in RACERS})


def _lane(spec: RaceLesson, target: Target, racer: str, cost: Array) -> Lane:
    scored = features(target)
    error = np.full((2, spec.pairs, len(cost)), np.nan)
    draws, evaluations, tuning = np.zeros((3, spec.pairs), dtype=np.int64)
    accept, sizes = np.full((2, spec.pairs), math.nan)
    divergences = 0
    watched: dict[int, Array] = {}
    place, running, count = np.empty(0), np.empty(0), np.empty(0, dtype=np.int64)
    some = np.unique(np.linspace(0, target.dim - 1, min(WATCHED, target.dim)).astype(int))
    for recording, first in _runs(spec, target, racer, float(cost[-1])):
        called = calls(recording, racer)
        spent = np.cumsum(called * price_of_a_call(spec, racer), axis=1)
        if spec.tuning == "charged":
            spent = spent + _tuning(spec, recording, racer)[:, None]
        for chains, made in _alike(spent, cost):
            pairs, n = [first + c for c in chains], int(made[-1])
            values = scored.of(recording.draws[chains, :n])
            sums = np.stack([_sums(each, made) for each in values])
            with np.errstate(invalid="ignore", divide="ignore"):
                averages = sums / made[:, None]
                off = (averages - scored.expected[:, None, None]) / scored.scale[:, None, None]
            error[:, pairs] = np.sqrt((off**2).mean(axis=3))
            draws[pairs], evaluations[pairs] = n, called[chains, :n].sum(axis=1)
            if n:
                accept[pairs] = recording.accept_prob[chains, :n].mean(axis=1)
            divergences += int(recording.divergent[chains, :n].sum())
            if racer == "nuts":
                tuning[pairs] = recording.warmup_gradient_evaluations[chains]
                if recording.draws.shape[1]:
                    assert recording.step_size is not None  # NUTS notes it
                    sizes[pairs] = recording.step_size[chains, -1]
            summed = {pair: c for c, pair in enumerate(pairs) if pair < SUMMED_PAIRS}
            watched |= {pair: np.concatenate([each[c][:, some] for each in values], axis=1) for pair, c in summed.items()}
            if 0 in pairs:
                states = np.vstack([recording.start[:1], recording.draws[0, :n]])
                place, running, count = states[made], averages[:, pairs.index(0), :, 0], made
    shortest = min(len(rows) for rows in watched.values())
    return Lane(
        error,
        draws,
        evaluations,
        tuning,
        place,
        running,
        count,
        float(np.nanmean(accept)) if np.isfinite(accept).any() else math.nan,
        divergences,
        np.stack([watched[pair][:shortest] for pair in sorted(watched)]),
        float(np.nanmedian(sizes)) if np.isfinite(sizes).any() else math.nan,
    )


def _alike(spent: Array, cost: Array) -> Iterator[tuple[list[int], NDArray[np.int64]]]:
    """The chains of `spent` (chains, draws) that had made as many draws as one another at every checkpoint of `cost`, and
    how many those are.
    """
    found: dict[bytes, list[int]] = {}
    made = [np.searchsorted(each, cost, side="right").astype(np.int64) for each in spent]
    for c, each in enumerate(made):
        found.setdefault(each.tobytes(), []).append(c)
    yield from ((chains, made[chains[0]]) for chains in found.values())


def _sums(values: Array, counts: NDArray[np.int64]) -> Array:
    """Of the first rows of `values` (chains, n, dim), as many as each of the rising `counts`, the last of which is n."""
    ends = counts[np.diff(counts, prepend=0) > 0]
    total = np.zeros((len(values), len(ends) + 1, values.shape[2]))
    if len(ends):
        np.cumsum(np.add.reduceat(values, np.concatenate([[0], ends[:-1]]), axis=1), axis=1, out=total[:, 1:])
    return total[:, np.searchsorted(ends, counts, side="right")]


def _runs(spec: RaceLesson, target: Target, racer: str, spent: float) -> Iterator[tuple[Recording, int]]:
    """The recordings that hold all pairs, a chain each, and the pair of the first chain of each."""
    size = max(1, int(TOGETHER / (spent * target.dim)))
    for first in range(0, spec.pairs, size):
        yield _run(spec, target, racer, range(first, min(first + size, spec.pairs)), spent), first


def _run(spec: RaceLesson, target: Target, racer: str, pairs: range, spent: float | None = None) -> Recording:
    """One racer in some pairs, each a chain, until all have spent so much of their budget, all of it by default. Chain c of
    every racer has the same start and the same seed.
    """
    budget = spec.budget if spent is None else spent
    try:
        run = Run(
            target,
            METHODS[racer](**spec.settings(racer)),
            chains=len(pairs),
            first_chain=pairs.start,
            draws=spec.budget,
            warmup=spec.warmup if racer == "nuts" else 0,
            seed=spec.seed,
            init=_starts(spec, target, pairs.stop),
        )
    except TargetError as error:
        raise SpecError("begin", str(error)) from error
    left, whole, piece = np.full(len(pairs), float(budget)), budget == spec.budget, max(LEAST, round(CHUNK * budget / spec.budget))
    while run.warmed_up < run.warmup and (whole or left.max() > 0):
        run.advance(min(piece, run.warmup - run.warmed_up))
        left = budget - (_tuning(spec, run.recording(), racer) if spec.tuning == "charged" else np.zeros(len(pairs)))
    while left.max() > 0 and not run.done:
        done = run.completed
        run.advance(piece if racer == "nuts" else max(piece, math.ceil(left.max() / price_of(spec, target, racer))))
        left -= calls(run.recording(), racer)[:, done:].sum(axis=1) * price_of_a_call(spec, racer)
    if whole and run.completed == 0:  # tuning has eaten the budget: one draw to know the step size by, which does not count
        run.advance(1)
    return run.recording()


@kept
def _starts(spec: RaceLesson, target: Target, pairs: int) -> Array | None:
    """(pairs, dim) starts of the first pairs; None where they are drawn at random."""
    if spec.begin == "random" or (draw := target.known.draw) is None:
        return None
    return np.concatenate([draw(np.random.Generator(np.random.SFC64([spec.seed, pair])), 1) for pair in range(pairs)])


def calls(recording: Recording, racer: str) -> NDArray[np.int32]:
    """(chains, draws) charged calls of the target of each transition. A draw from a conditional counts as one call, though
    it makes none: a sweep of Gibbs then costs as many as there are coordinates."""
    settings = recording.run.method
    if racer == "gibbs" and settings.update == "conditional":
        return np.broadcast_to(np.int32(recording.dim), recording.draws.shape[:2])
    return recording.gradient_evaluations


def price_of_a_call(spec: RaceLesson, racer: str) -> float:
    """What one charged call costs: that of the density 1."""
    return spec.gradient_price if racer in ("hmc", "nuts") else 1.0


def price_of(spec: RaceLesson, target: Target, racer: str) -> float:
    """What one transition costs at most, NUTS aside."""
    return {"metropolis": 1.0, "gibbs": float(target.dim), "hmc": spec.steps * spec.gradient_price}.get(racer, 1.0)


def _tuning(spec: RaceLesson, recording: Recording, racer: str) -> Array:
    """(chains,) what the tuning has cost."""
    return recording.warmup_gradient_evaluations.astype(np.float64) * (spec.gradient_price if racer == "nuts" else 0.0)


# Effective draws and the clock ----------------------------------------------------------------------------------------


def effective_per_thousand(found: Race, racer: str) -> float:
    """Effective draws of the worst of the watched features per 1,000 calls; 0 where a racer stood still."""
    lane = found.lanes[racer]
    values = lane.watched
    if values.shape[1] < 8 or any(np.ptp(values[:, :, k]) == 0.0 for k in range(values.shape[2])):
        return 0.0
    ess = min(diagnostics.ess_mean(values[:, :, k]) for k in range(values.shape[2]))
    share = values.shape[1] / float(lane.draws[: len(values)].mean())
    return 1000.0 * ess / (float(lane.evaluations[: len(values)].sum()) * share) if math.isfinite(ess) else 0.0


@kept
def clock(spec: RaceLesson) -> dict[str, float]:
    """Seconds of each racer's pair 1 for its whole budget, the fastest of a few runs on this machine. Another run of
    this function gives other numbers."""
    target, seconds = spec.build_target(), {}
    for racer in RACERS:
        n = max(int(race(spec).lanes[racer].draws[0]), 1)
        taken = []
        for _ in range(TIMED):
            recording = sample(
                target,
                racer,
                chains=1,
                draws=n,
                warmup=spec.warmup if racer == "nuts" else 0,
                seed=spec.seed,
                init=_starts(spec, target, 1),
                **spec.settings(racer),
            )
            taken.append(recording.seconds)
        seconds[racer] = min(taken)
    return seconds


def error_in_time(spec: RaceLesson) -> dict[str, tuple[Array, Array]]:
    """(seconds (STEPS,), median error of both moments (STEPS,)) of each racer: the clock runs evenly over the budget.

    What NUTS spends on its tuning is on its clock even where it is free of charge.
    """
    found, seconds = race(spec), clock(spec)
    with np.errstate(invalid="ignore"):
        return {racer: (seconds[racer] * np.arange(1, STEPS + 1) / STEPS, _median(found.lanes[racer].both)) for racer in RACERS}


def _median(values: Array) -> Array:
    """Median over pairs; NaN while most pairs have no draw yet."""
    return np.median(np.where(np.isnan(values), np.inf, values), axis=0)


def band(values: Array) -> tuple[Array, Array, Array]:
    """(median, lower quartile, upper quartile) over pairs (pairs, STEPS); NaN while some have no draw yet."""
    missing = np.isnan(values).any(axis=0)
    filled = np.where(np.isnan(values), 1.0, values)
    middle, lower, upper = np.where(missing, np.nan, np.quantile(filled, (0.5, 0.25, 0.75), axis=0))
    return middle, lower, upper


def fastest(spec: RaceLesson) -> tuple[str, dict[str, float]]:
    """Who has the smallest error when the first racer to finish stops the clock, and each one's error then."""
    curves = error_in_time(spec)
    stop = min(float(seconds[-1]) for seconds, _ in curves.values())
    then = {}
    for racer, (seconds, error) in curves.items():
        k = int(np.searchsorted(seconds, stop, side="right")) - 1
        then[racer] = float(error[k]) if k >= 0 else math.inf
    return min(then, key=lambda racer: then[racer]), then


# Checks ---------------------------------------------------------------------------------------------------------------

CHECK_CHAINS = 4
CHECK_EVALUATIONS = 200_000  # of each chain
CHECK_MOST_DRAWS = 5_000  # of each chain that are looked at
TABLE, TABLE_REACH = 4001, 12.0  # nodes of a tabulated marginal, and how many sds it reaches
PLACES = 12  # at which the gradient is checked
_interp: Callable[..., Array] = np.interp  # of arrays
CHEATS = WORDS.phrase("checks.cheats")


def kernels(spec: RaceLesson) -> list[Kernel]:
    """Each racer as it ran in pair 1: NUTS with the step size and the mass that it found there."""
    return [found for racer in RACERS if (found := kernel_of(_first_pair(spec, racer), mistake(spec, racer)))]


def mistake(spec: RaceLesson, racer: str) -> str:
    """What is wrong on purpose with a racer."""
    return CHEATS if spec.cheat == "on" and racer == "hmc" else ""


@kept
def _first_pair(spec: RaceLesson, racer: str) -> Recording:
    return _run(spec, spec.build_target(), racer, range(1))


def audit(spec: RaceLesson, cancel: object = None) -> Sequence[Check]:
    """The gradient that HMC and NUTS follow, where Metropolis has been."""
    draws = _first_pair(spec, "metropolis").draws[0]
    return [gradient_check(spec.build_target(), draws[np.linspace(0, len(draws) - 1, PLACES).astype(int)])]


def checks(spec: RaceLesson, cancel: object = None) -> Sequence[Check]:
    """Each racer run longer, from starts far apart: do its chains agree, and with the truth?"""
    found: list[Check] = []
    for racer, name in names(spec).items():
        if cancel is not None and cancel.is_set():  # type: ignore[attr-defined]
            return found
        truth = _tabulated(spec.build_target())
        for check in chains_checks(partial(longer, spec, racer), spec.seed, truth):
            found.append(dataclasses.replace(check, name=f"{name}, {check.name}"))
    return found


def longer(spec: RaceLesson, racer: str, seed: int, work: int) -> Recording:
    """Chains of a racer from starts far apart, `work` times as long as a first look needs; every few draws are kept."""
    target, lane = spec.build_target(), race(spec).lanes[racer]
    each = max(1.0, float(lane.evaluations.sum()) / max(1, int(lane.draws.sum())))
    draws = int(np.clip(CHECK_EVALUATIONS / each, 500, CHECK_EVALUATIONS))
    found = sample(
        target,
        racer,
        chains=CHECK_CHAINS,
        draws=work * draws,
        warmup=max(300, draws // 20),
        seed=seed,
        init=dispersed_starts(target.truth, CHECK_CHAINS, seed),
        **spec.settings(racer),
    )
    every = max(1, draws // CHECK_MOST_DRAWS)
    return dataclasses.replace(found, draws=found.draws[:, ::every], log_density=found.log_density[:, ::every])


@kept
def _tabulated(target: Target) -> Truth:
    """The truth of the first coordinates, with tables for those marginals whose every value is an integral, since the
    checks ask for thousands. Linear between nodes, which is far below the Monte Carlo error of a check."""
    truth, few = target.known, min(target.dim, WATCHED)
    marginals = list(truth.marginals[:few])
    if truth.source != "exact" and not truth.heavy_tails and np.all(np.isfinite(truth.covariance)):
        for j in range(1 if target.name == "hierarchical_normal" else 0, few):
            reach = TABLE_REACH * math.sqrt(truth.covariance[j, j])
            x = np.linspace(truth.mean[j] - reach, truth.mean[j] + reach, TABLE)
            marginals[j] = partial(_interp, xp=x, fp=marginals[j](x), left=0.0, right=0.0)
    return dataclasses.replace(truth, mean=truth.mean[:few], covariance=truth.covariance[:few, :few], marginals=tuple(marginals))
