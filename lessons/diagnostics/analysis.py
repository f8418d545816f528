"""What the lesson computes: the chains, what is known about the watched quantity, running diagnostics, checks."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine import diagnostics, sample
from engine.array_stats import array_stats
from engine.judge import Check, Kernel, Kind, agreement_check, chains_checks, dispersed_starts, gradient_check, kernel_of, unknown
from engine.kept import kept
from engine.recording import Recording
from engine.spec import SpecError
from engine.targets.densities import Density
from engine.targets.target import Target, TargetError
from lessons.diagnostics.patients import case
from lessons.diagnostics.spec import WORDS, DiagnosticsLesson

Array = NDArray[np.float64]

N = TypeVar("N", bound=np.generic)

FIRST_PICTURE = (array_stats,)  # that it loads
FEWEST = 10  # kept draws of each chain before anything is said about them
MARKS, FIRST_MARKS = 14, 2  # times at which the slower diagnostics are worked out along a run; in the first picture, …
FIRST_OF_PATIENT = 1  # … and in that of a patient, which is shown from its end


def simulate(spec: DiagnosticsLesson) -> Recording:
    """The chains of `spec`; the same object for all ways of looking at them."""
    return _simulate(case(spec).simulation())


@kept
def _simulate(spec: DiagnosticsLesson) -> Recording:
    return _sample(spec, spec.chains, spec.starts())


def _sample(spec: DiagnosticsLesson, chains: int, starts: Array | None, **changes: int) -> Recording:
    """Chains of the case `spec`, begun at `starts` (chains, dim)."""
    size: dict[str, Any] = {"draws": spec.draws, "warmup": 0, "seed": spec.seed} | changes
    try:
        return sample(spec.build_target(), spec.sampler, chains=chains, init=starts, **size, **spec.settings())
    except TargetError as error:
        raise SpecError("start_x", f"a chain cannot start there: {error}") from error


@kept
def seconds(spec: DiagnosticsLesson) -> float:
    """Wall time of the transitions, timed once more: the first run may have waited for a compiler."""
    setup = case(spec).simulation()
    return _sample(setup, setup.chains, setup.starts()).seconds


def target_of(spec: DiagnosticsLesson) -> Target:
    """The density that is sampled."""
    return case(spec).build_target()


def describe(spec: DiagnosticsLesson) -> str:
    """Sampler, settings and target of a run in a few words."""
    setup = case(spec)
    return WORDS.phrase(
        "runs.wrong" if setup.broken == "yes" else "runs.right",
        sampler=WORDS.options("sampler")[setup.sampler],
        settings=_settings(setup),
        target=setup.target.replace("_", " "),
    )


def _settings(setup: DiagnosticsLesson) -> str:
    if setup.sampler == "hmc":
        return WORDS.phrase("runs.hmc", step_size=setup.step_size, steps=setup.steps)
    if setup.sampler == "nuts":
        return WORDS.phrase("runs.nuts", step_size=setup.step_size)
    if setup.sampler == "gibbs" and setup.build_target().conditionals is not None:
        return WORDS.phrase("runs.conditionals")
    return WORDS.phrase("runs.scale", scale=setup.scale)


# The watched quantity -------------------------------------------------------------------------------------------------


def coordinate(spec: DiagnosticsLesson) -> int:
    """The coordinate that is watched, or whose square is."""
    return 1 if spec.quantity == "second" else 0


def watched(spec: DiagnosticsLesson, draws: Array) -> Array:
    """The watched quantity of draws (..., dim), shape (...)."""
    values = draws[..., coordinate(spec)]
    return values**2 if spec.quantity == "square" else values


def name_of(spec: DiagnosticsLesson) -> str:
    """The watched quantity's symbol. A sealed file does not tell a coordinate's own name."""
    target = target_of(spec)
    label = ("x₁", "x₂")[coordinate(spec)] if spec.sealed else target.labels[coordinate(spec)]
    return f"{label}²" if spec.quantity == "square" else label


@dataclass(frozen=True, eq=False)
class Exact:
    """What is known of the watched quantity without sampling: NaN or None where nothing is."""

    mean: float = float("nan")
    sd: float = float("nan")
    density: Density | None = None


def exact(spec: DiagnosticsLesson) -> Exact:
    """The truth, or nothing while the file is sealed."""
    truth = target_of(spec).truth
    if truth is None or spec.sealed:
        return Exact()
    j = coordinate(spec)
    mean, variance = float(truth.mean[j]), float(truth.covariance[j, j])
    if spec.quantity == "square":
        square = mean**2 + variance
        return Exact(square if np.isfinite(square) else float("nan"))
    return Exact(mean, float(np.sqrt(variance)) if np.isfinite(variance) else float("nan"), truth.marginals[j])


def counted(spec: DiagnosticsLesson, draws: NDArray[N]) -> NDArray[N]:
    """Of (chains, draws, ...) those that burn-in and thinning leave."""
    return draws[:, spec.burn :: spec.thin]


# Along the run --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Classic:
    """The first R-hat, after each transition; (draws,) but for the first two. NaN before there are two kept draws.

    means, variances : (chains, draws), of the kept draws of each chain so far
    count : kept draws of each chain so far
    within : W, the mean of the variances
    between : B/n, the variance of the means
    pooled : (n - 1)/n W + B/n
    rhat : square root of pooled / within. Source: Gelman & Rubin 1992, without their correction for degrees of freedom.
    """

    means: Array
    variances: Array
    count: NDArray[np.int64]
    within: Array
    between: Array
    pooled: Array
    rhat: Array


@kept
def classic(spec: DiagnosticsLesson) -> Classic:
    """Within and between variance of the watched quantity along the run."""
    values = counted(spec, watched(spec, simulate(spec).draws))
    centre = values.mean()  # sums of squares around it lose no digits
    count = np.arange(1.0, values.shape[1] + 1)
    means = np.cumsum(values - centre, axis=1) / count
    with np.errstate(all="ignore"):
        variances = (np.cumsum((values - centre) ** 2, axis=1) - count * means**2) / (count - 1.0)
        within, between = np.maximum(variances, 0.0).mean(axis=0), means.var(axis=0, ddof=1)
        pooled = (count - 1.0) / count * within + between
        rhat = np.where(within > 0.0, np.sqrt(pooled / within), np.nan)
    at = kept_so_far(spec)
    before = at < 2
    rows = np.maximum(at, 1) - 1

    def along(array: Array) -> Array:
        return np.where(before, np.nan, array[..., rows])

    return Classic(along(means + centre), along(variances), at, along(within), along(between), along(pooled), along(rhat))


def kept_so_far(spec: DiagnosticsLesson) -> NDArray[np.int64]:
    """How many draws of each chain are kept after each transition, (draws,)."""
    return np.maximum(np.arange(spec.draws) - spec.burn + spec.thin, 0) // spec.thin


@dataclass(frozen=True, eq=False)
class Running:
    """Today's diagnostics of the kept draws so far, (draws,), worked out at some times and held until the next.

    rhat : rank-normalised split R-hat
    ess_bulk, ess_tail : effective draws, all chains together
    mean, mcse : of all chains together, and the Monte Carlo standard error
    at : kept draws of each chain at the time
    """

    rhat: Array
    ess_bulk: Array
    ess_tail: Array
    mean: Array
    mcse: Array
    at: NDArray[np.int64]


@kept
def running(spec: DiagnosticsLesson, marks: int = MARKS) -> Running:
    """The diagnostics of arviz-stats along the run, worked out at so many times; if once, at its end."""
    values = counted(spec, watched(spec, simulate(spec).draws))
    n = values.shape[1]
    times = np.unique(np.linspace(max(FEWEST, n // MARKS), n, max(marks, 2)).astype(int))[-marks:]
    found = [_look(values[:, :time]) for time in times]
    held = np.searchsorted(times, kept_so_far(spec), side="right") - 1
    rhat, bulk, tail, mean, mcse = (np.where(held < 0, np.nan, np.array(column)[held]) for column in zip(*found, strict=True))
    return Running(rhat, bulk, tail, mean, mcse, at=np.where(held < 0, 0, times[held]))


def _look(values: Array) -> tuple[float, float, float, float, float]:
    summary = diagnostics.summarise(values[:, :, None])
    told = (summary.rhat, summary.ess_bulk, summary.ess_tail, summary.mean, summary.mcse_mean)
    rhat, bulk, tail, mean, mcse = (float(x[0]) for x in told)
    return rhat, bulk, tail, mean, mcse


# Burn-in and thinning -------------------------------------------------------------------------------------------------

REPEATS, CHEAP_REPEATS = 32, 128  # runs behind bias and typical error; of Metropolis, which costs one density a step
LEAST_THINNED = 20  # draws of each chain that a point of the thinning figure has


@dataclass(frozen=True, eq=False)
class BurnIn:
    """Error of the mean of the watched quantity against the number of draws left out, over many runs.

    discarded : draws of each chain left out
    error : of the run on screen
    bias : mean error of all runs
    rmse : root of the mean squared error of all runs
    repeats : how many runs
    """

    discarded: NDArray[np.int64]
    error: Array
    bias: Array
    rmse: Array
    repeats: int


@kept
def burn_in(spec: DiagnosticsLesson) -> BurnIn | None:
    """The same run repeated with other random numbers; None where the true mean is not known."""
    true = exact(spec).mean
    if not np.isfinite(true):
        return None
    setup = case(spec)
    repeats = CHEAP_REPEATS if setup.sampler == "metropolis" else REPEATS
    again = _sample(setup, repeats * spec.chains, np.tile(setup.starts(), (repeats, 1)), seed=spec.seed + 1)
    values = watched(spec, again.draws).reshape(repeats, spec.chains, spec.draws).mean(axis=1)
    shown = watched(spec, simulate(spec).draws).mean(axis=0)
    discarded = np.unique(np.linspace(0, 0.9 * spec.draws, 46).astype(int))
    errors = np.array([values[:, k:].mean(axis=1) - true for k in discarded])
    return BurnIn(
        discarded, np.array([shown[k:].mean() - true for k in discarded]), errors.mean(axis=1), np.sqrt((errors**2).mean(axis=1)), repeats
    )


@dataclass(frozen=True, eq=False)
class Thinning:
    """Bulk ESS of the draws after the burn-in when every so many-th is kept, and how many are kept (all chains)."""

    every: NDArray[np.int64]
    ess: Array
    draws: NDArray[np.int64]


@kept
def thinning(spec: DiagnosticsLesson) -> Thinning:
    """ESS against thinning, of the run on screen."""
    values = watched(spec, simulate(spec).draws)[:, spec.burn :]
    every = np.array([k for k in (1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 30) if values.shape[1] >= k * LEAST_THINNED])
    parts = [values[:, ::k] for k in every]
    ess = np.array([diagnostics.summarise(part[:, :, None]).ess_bulk[0] for part in parts])
    return Thinning(every, ess, np.array([part.size for part in parts]))


# Checks and diagnostics -----------------------------------------------------------------------------------------------

CHECK_CHAINS, CHECK_DRAWS = 4, 10_000
CHECK_EVALUATIONS = 1_500_000
WAITS = WORDS.phrase("checks.waits")


def _waits(kind: Kind) -> Check:
    return unknown(WORDS.phrase("checks.sealed"), WAITS, kind=kind)


def kernels(spec: DiagnosticsLesson) -> list[Kernel]:
    """The kernel of the chains on screen; none while the file is sealed."""
    if spec.sealed:
        return []
    kernel = kernel_of(simulate(spec), WORDS.phrase("checks.wrong") if case(spec).broken == "yes" else "")
    return [] if kernel is None else [kernel]


def audit(spec: DiagnosticsLesson, cancel: object = None) -> Sequence[Check]:
    """The gradient at points of the run, where the sampler follows it."""
    if spec.sealed:
        return [_waits("kernel")]
    if case(spec).sampler not in ("hmc", "nuts"):
        return []
    draws = simulate(spec).draws[0]
    return [gradient_check(target_of(spec), draws[np.linspace(0, len(draws) - 1, 12).astype(int)])]


def checks(spec: DiagnosticsLesson, cancel: object = None) -> Sequence[Check]:
    """The chains on screen, as burn-in and thinning leave them; then chains of the same kernel from starts far apart,
    run longer: what they say of each other, and their numbers.
    """
    if spec.sealed:
        return [_waits("run"), _waits("numbers")]
    shown = on_screen(spec)
    found = [shown]
    if shown.verdict != "pass":
        found.append(unknown(WORDS.phrase("checks.on_screen"), WORDS.phrase("checks.not_believed"), kind="numbers"))
    for check in chains_checks(partial(longer, spec), spec.seed):
        found.append(dataclasses.replace(check, name=WORDS.phrase("checks.from_far", check=check.name)))
    return found


def on_screen(spec: DiagnosticsLesson) -> Check:
    """Do the kept draws agree, in every coordinate and in the log density?"""
    run = simulate(spec)
    values = counted(spec, np.concatenate([run.draws, run.log_density[:, :, None]], axis=2))
    names = [*target_of(spec).labels, WORDS.phrase("checks.log_density")]
    return agreement_check(values, names, WORDS.phrase("checks.agree"))


def longer(spec: DiagnosticsLesson, seed: int, work: int) -> Recording:
    """Chains of the kernel on screen from starts far apart, `work` times as long as a first look needs."""
    setup = case(spec)
    starts = dispersed_starts(setup.build_target().truth, CHECK_CHAINS, seed)
    cost = float(simulate(spec).gradient_evaluations.mean())
    draws = work * int(np.clip(CHECK_EVALUATIONS / (CHECK_CHAINS * max(cost, 1.0)), 500, CHECK_DRAWS))
    starts = setup.replace(chains=CHECK_CHAINS).starts() if starts is None else starts
    return _sample(setup, CHECK_CHAINS, starts, draws=draws, warmup=draws // 10, seed=seed)
