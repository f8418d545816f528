"""What the lesson computes: the run with its warm-up, the ledger of dual averaging, sweeps over the target acceptance,
many short runs, checks and diagnostics.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine import diagnostics, ticket
from engine.judge import (
    ALONE,
    Z_LIMIT,
    Check,
    Kernel,
    Kind,
    Known,
    TransitionKernel,
    Verdict,
    chains_checks,
    dispersed_starts,
    gradient_check,
    unknown,
)
from engine.judge.looks import surprise
from engine.kept import kept, lazy
from engine.recording import Recording
from engine.samplers.adaptation import windows
from engine.samplers.dual_averaging import Ledger, dual_averaging
from engine.samplers.nuts import ADAPTED_MASSES, Nuts, NutsTransitions
from engine.samplers.run import Run
from engine.spec import SpecError
from engine.targets.target import Target, TargetError
from lessons.tuning.spec import WORDS, TuningLesson

BEGINNING = 100  # transitions of the first picture of one that grows

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Tuned:
    """A run and its warm-up, or as much of it as is there, one row a chain: arrays (chains, steps, ...), the warm-up first.

    step_size : used in each transition
    average : (steps,), ε̄ of chain 1 after each transition; the step size itself where it is not tuned
    windows : after how many transitions the mass is estimated
    inverse_mass : (1 + windows, dim, dim), of chain 1 at the start and after each window
    """

    spec: TuningLesson
    target: Target
    draws: Array
    accept: Array
    divergent: NDArray[np.bool_]
    gradients: Whole
    step_size: Array
    average: Array
    windows: tuple[int, ...]
    inverse_mass: Array
    seconds: float

    @property
    def steps(self) -> int:
        return self.draws.shape[1]

    @property
    def kept(self) -> slice:
        """The transitions after the warm-up."""
        return slice(self.spec.warmup, None)

    @lazy
    def mass_number(self) -> Whole:
        """(steps,): which of `inverse_mass` holds once a transition is settled."""
        return np.searchsorted(np.asarray(self.windows, dtype=int), np.arange(1, self.steps + 1), side="right")

    @property
    def adapts(self) -> bool:
        """Whether the step size is tuned."""
        return self.spec.tuning == "adapt" and self.spec.adapted > 0

    @lazy
    def ledger(self) -> Ledger | None:
        """The arithmetic of dual averaging in chain 1, None where the step size is not tuned."""
        spec = self.spec
        if not self.adapts:
            return None
        return dual_averaging(self.accept[0], self.step_size[0], self.windows, spec.target_accept, min(spec.adapted, self.steps))


def simulate(spec: TuningLesson) -> Tuned:
    """The run of `spec`; one run for all ways of looking at it."""
    return _simulate(spec.simulation())


@kept
def _simulate(spec: TuningLesson, upto: int | None = None) -> Tuned:
    """`upto` : transitions that are run, all by default."""
    everything = {"warmup": 0, "draws": spec.steps, "adapt": spec.adapted}
    tuning = {"warmup": max(spec.adapted, 1), "draws": 1, "adapt": spec.adapted, "keep_warmup": True}
    try:
        run = _run(spec, upto, chains=spec.chains, **everything)
        first = _run(spec, upto, chains=1, **tuning)  # the same chain 1 once more, with what it learns on the way
    except TargetError as error:
        raise SpecError("start", str(error)) from error
    recording, warm = run.recording(), first.recording().warmup
    step_size = recording.step_size
    assert step_size is not None and warm is not None and warm.adaptation is not None
    learnt, average = spec.mass in ADAPTED_MASSES, step_size[0].copy()
    if spec.tuning == "adapt":
        tuned = min(spec.adapted, len(average))
        average[:tuned] = warm.adaptation.step_size_average[0, :tuned]
    ends = tuple(end for end in warm.adaptation.windows if end <= len(average)) if learnt and spec.adapted else ()
    masses = warm.adaptation.inverse_mass[0, : 1 + len(ends)]
    if masses.shape[1] == 1:
        masses = masses[:, 0, :, None] * np.eye(masses.shape[2])
    return Tuned(
        spec,
        spec.build_target(),
        recording.draws,
        recording.accept_prob,
        recording.divergent,
        recording.gradient_evaluations.astype(np.int64),
        step_size,
        average,
        ends,
        masses,
        recording.seconds,
    )


def _run(spec: TuningLesson, upto: int | None = None, **size: Any) -> Run:
    """A run with the settings of `spec`, finished or `upto` so many transitions; `size` as in `Run`."""
    run = Run(spec.build_target(), Nuts(**spec.settings()), **{"seed": spec.seed, "init": spec.init(), **size})
    run.advance(run.total if upto is None else upto)
    return run


def side_by_side(spec: TuningLesson) -> list[Tuned]:
    """The runs on the stage: that of `spec`, or one for each target acceptance of its view."""
    return [simulate(spec.beside(delta)) for delta in spec.deltas()]


def beginnings(spec: TuningLesson) -> list[Tuned] | None:
    """The first transitions of those runs; None where they are short, or there already."""
    each = [spec.beside(delta) for delta in spec.deltas()]
    if spec.steps < 10 * BEGINNING or all(_simulate.peek(one) is not None for one in each):
        return None
    return [_simulate(one, BEGINNING) for one in each]


def inside(spec: TuningLesson, first: int, count: int, states: int) -> NutsTransitions:
    """The inside of `count` transitions of chain 1 from number `first` on, warm-up counted: arrays (count, ...), up to
    `states` new states of each.
    """
    run = Run(
        spec.build_target(),
        Nuts(**spec.settings(), max_leaves=states),
        chains=1,
        draws=count,
        warmup=first,
        seed=spec.seed,
        init=spec.init(),
        detail="transitions",
        adapt=spec.adapted,
    )
    run.advance(run.total)
    return NutsTransitions(*(array[0] for array in run.recording().transitions))


def ellipse(inverse_mass: Array, centre: Array, share: float = 0.95, nodes: int = 60) -> Array:
    """(nodes + 1, 2): the ellipse that would hold `share` of a Gaussian with covariance `inverse_mass` (2, 2)."""
    angle = np.linspace(0.0, 2.0 * np.pi, nodes + 1)
    circle = np.column_stack([np.cos(angle), np.sin(angle)]) * math.sqrt(-2.0 * math.log(1.0 - share))
    return np.asarray(centre + circle @ np.linalg.cholesky(inverse_mass).T)


def running(values: Array, span: int) -> Array:
    """Mean of the last `span` of `values` (n,), fewer at the start."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    at = np.arange(1, len(values) + 1)
    first = np.maximum(0, at - span)
    return np.asarray((sums[at] - sums[first]) / (at - first))


# What is estimated ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Quantity:
    """The second coordinate's squared distance from its exact mean over its exact variance, whose mean is 1; for a
    target without a finite variance the coordinate's arctangent, whose mean is not known here.

    exact : its mean, None if unknown
    """

    name: str
    exact: float | None
    centre: float
    scale: float

    def __call__(self, draws: Array) -> Array:
        """Of draws (..., dim)."""
        second = draws[..., 1]
        if self.exact is None:
            return np.arctan(second)
        return np.asarray((second - self.centre) ** 2 / self.scale)


def quantity(target: Target) -> Quantity:
    """What the running average follows."""
    name, truth = target.labels[1], target.truth
    if truth is None or not np.isfinite(truth.covariance[1, 1]):
        return Quantity(f"arctan {name}", None, 0.0, 1.0)
    centre = float(truth.mean[1])
    inner = name if centre == 0.0 else f"({name} − {centre:.3g})"
    return Quantity(f"{inner}² / Var {name}", 1.0, centre, float(truth.covariance[1, 1]))


def estimates(tuned: Tuned, spec: TuningLesson) -> Array:
    """Running average of the quantity in each chain, (chains, steps); NaN before the first transition that counts."""
    begin = 0 if spec.count == "all" else spec.warmup
    values = quantity(tuned.target)(tuned.draws)
    found = np.full(values.shape, np.nan)
    found[:, begin:] = np.cumsum(values[:, begin:], axis=1) / np.arange(1, values.shape[1] - begin + 1)
    return found


# Sweep over the target acceptance -------------------------------------------------------------------------------------

SWEEP = (0.6, 0.8, 0.9, 0.95, 0.99)
SWEEP_CHAINS, SWEEP_SETS = 4, 3
SWEEP_GRADIENTS = 250_000  # of one set of chains, about


@dataclass(frozen=True, eq=False)
class Sweep:
    """Long runs at several target acceptances: arrays (deltas, sets of chains).

    draws : of each chain, the same for all
    ess_least : effective draws of the slowest of all coordinates and their squares, all chains of a set
    gradients : per draw, after the warm-up
    step_size : (deltas, sets, chains)
    """

    deltas: tuple[float, ...]
    draws: int
    ess_least: Array
    gradients: Array
    step_size: Array
    divergent: Array

    @property
    def efficiency(self) -> Array:
        """Effective draws of the slowest quantity per 1,000 gradients, geometric mean over the sets, (deltas,)."""
        yield_ = 1000.0 * self.ess_least / (self.gradients * self.draws * SWEEP_CHAINS)
        with np.errstate(divide="ignore"):
            return np.asarray(np.exp(np.log(yield_).mean(axis=1)))


def sweep(spec: TuningLesson, cancel: Any = None) -> Sweep | None:
    """The sweep of this target and mass; None if it was cancelled."""
    key = spec.simulation().replace(target_accept=0.8, chains=1, draws=300, after="frozen", tuning="adapt", step_size=0.2)
    try:
        with ticket.holding(cancel):
            return _sweep(key)
    except InterruptedError:
        return None


def sweep_draws(spec: TuningLesson) -> int:
    """Draws of each chain of a sweep: as many as a budget of gradients allows, judged at the middle target."""
    per_draw = simulate(spec.replace(chains=1, draws=300, target_accept=0.8)).gradients[0, spec.warmup :].mean()
    return int(np.clip(SWEEP_GRADIENTS / SWEEP_CHAINS / per_draw, 2000, 10_000) // 1000 * 1000)


@kept
def _sweep(spec: TuningLesson) -> Sweep:
    draws = sweep_draws(spec)
    shape = (len(SWEEP), SWEEP_SETS)
    least, gradients, divergent = (np.empty(shape) for _ in range(3))
    step_size = np.empty((*shape, SWEEP_CHAINS))
    for i, delta in enumerate(SWEEP):
        for k in range(SWEEP_SETS):
            ticket.look()
            seed = (spec.seed + 1000 * k) % 2**32
            run = _long(spec.replace(target_accept=delta), chains=SWEEP_CHAINS, draws=draws, seed=seed)
            least[i, k] = least_ess(run.draws)
            gradients[i, k] = run.gradient_evaluations.mean()
            step_size[i, k] = run.step_size[:, 0]  # type: ignore[index]
            divergent[i, k] = run.divergent.sum()
    return Sweep(SWEEP, draws, least, gradients, step_size, divergent)


def _long(spec: TuningLesson, **size: Any) -> Recording:
    """A recording of frozen transitions after the warm-up; `size` as in `Run`."""
    return _run(spec, warmup=spec.warmup, **size).recording()


def _ess(values: Array) -> float:
    if np.ptp(values) == 0.0:
        return 1.0
    found = diagnostics.ess_mean(values)
    return float(found) if np.isfinite(found) else 1.0


def least_ess(draws: Array) -> float:
    """The least effective draws of any coordinate or its square, at least 1."""
    centred = draws - draws.mean(axis=(0, 1))
    return min(_ess(f[:, :, j]) for f in (centred, centred**2) for j in range(draws.shape[2]))


LONG_CHAINS, LONG_DRAWS, LONG_SETS = 4, 50_000, 3


class Long(NamedTuple):
    """Long runs at one target acceptance, by sets of chains, arrays (sets,): effective draws of the quantity, its mean,
    gradients per draw, divergent transitions, and the step sizes (sets, chains).
    """

    ess: Array
    mean: Array
    gradients: Array
    divergent: Array
    step_size: Array


def long_runs(spec: TuningLesson, delta: float) -> Long:
    """`LONG_SETS` sets of `LONG_CHAINS` chains of `LONG_DRAWS` draws, after the warm-up of `spec`."""
    return _long_runs(spec.simulation().replace(target_accept=delta, chains=1, draws=300, after="frozen"))


@kept
def _long_runs(spec: TuningLesson) -> Long:
    rows = []
    for k in range(LONG_SETS):
        run = _long(spec, chains=LONG_CHAINS, draws=LONG_DRAWS, seed=(spec.seed + 1000 * k) % 2**32)
        values = quantity(spec.build_target())(run.draws)
        assert run.step_size is not None
        rows.append((_ess(values), values.mean(), run.gradient_evaluations.mean(), run.divergent.sum(), run.step_size[:, 0]))
    return Long(*(np.array(column) for column in zip(*rows, strict=True)))


def ess_ratio(spec: TuningLesson, high: float, low: float) -> float:
    """How many times as many effective draws of the quantity `high` gives as `low`: geometric mean over the sets."""
    return float(np.exp(np.log(long_runs(spec, high).ess / long_runs(spec, low).ess).mean()))


# Many short runs ------------------------------------------------------------------------------------------------------

SHORT_RUNS, SHORT_GRADIENTS = 400, 3_000_000  # at most; at least a tenth of the runs
WAYS = ("frozen", "counted", "adapting")


class Short(NamedTuple):
    """Averages over `runs` short runs: `mean` and its standard error `se`, exact value, all of the same quantity."""

    runs: int
    mean: float
    se: float
    exact: float

    @property
    def z(self) -> float:
        return (self.mean - self.exact) / self.se


def short_runs(spec: TuningLesson, way: str) -> Short | None:
    """The average of the quantity over up to `SHORT_RUNS` independent runs from exact draws, with the warm-up and draws
    of `spec`; None where exact draws or the exact value are not known.

    way : "frozen" as it should be, "counted" with the warm-up counted as draws, "adapting" never frozen
    """
    return _short_runs(spec.simulation().replace(chains=1), way)


@kept
def _short_runs(spec: TuningLesson, way: str) -> Short | None:
    target = spec.build_target()
    wanted = quantity(target)
    if target.truth is None or target.truth.draw is None or wanted.exact is None:
        return None
    each_costs = float(simulate(spec.replace(after="frozen")).gradients.sum())
    runs = int(np.clip(SHORT_GRADIENTS / each_costs, SHORT_RUNS // 10, SHORT_RUNS))
    starts = target.truth.draw(np.random.Generator(np.random.SFC64(spec.seed)), runs)
    run = _run(
        spec,
        chains=runs,
        draws=spec.steps,
        warmup=0,
        init=starts if spec.start == "random" else spec.init(),
        adapt=spec.steps if way == "adapting" else spec.warmup,
    )
    draws = run.recording().draws[:, 0 if way == "counted" else spec.warmup :]
    each = wanted(draws).mean(axis=1)
    return Short(runs, float(each.mean()), float(each.std(ddof=1) / math.sqrt(runs)), wanted.exact)


# Checks and diagnostics -----------------------------------------------------------------------------------------------

CHECK_CHAINS, CHECK_GRADIENTS, CHECK_DRAWS = 4, 2_000_000, 20_000  # gradients of all chains on the stage together
NEVER_STOPS = WORDS.phrase("checks.never_stops")


def kernels(spec: TuningLesson) -> list[Kernel]:
    """Each sampler on the stage as its chain 1 left its warm-up: ε̄ and the mass are numbers now."""
    target = spec.build_target()
    if target.truth is None or target.truth.draw is None:
        return []
    mistake = NEVER_STOPS if spec.after == "adapting" else ""
    each = [spec.beside(delta) for delta in spec.deltas()]
    return [TransitionKernel(Known(target), Nuts(**one.settings()), _learnt(one), mistake) for one in each]


@kept
def _learnt(spec: TuningLesson) -> Array:
    """What chain 1 knows after the transitions that tune it."""
    return _run(spec, chains=1, warmup=spec.adapted, draws=1).adaptation


def audit(spec: TuningLesson, cancel: object = None) -> Sequence[Check]:
    """The gradient at points of the run, the arithmetic of dual averaging, and what tuning for ever does."""
    tuned = simulate(spec.beside(spec.deltas()[0]))
    found = [gradient_check(tuned.target, tuned.draws[0, np.linspace(0, tuned.steps - 1, 12).astype(int)])]
    if tuned.ledger is not None:
        found.append(ledger_check(tuned))
    if spec.after == "adapting":
        found.append(wrong_use(spec, "adapting", WORDS.phrase("checks.adapting"), kind="kernel"))
    return found


def checks(spec: TuningLesson, cancel: object = None) -> Sequence[Check]:
    """Each sampler on the stage run longer, from starts far apart: do its chains agree, and with the truth? And what
    counting the warm-up does to averages.
    """
    found: list[Check] = []
    if spec.count == "all":
        found.append(wrong_use(spec, "counted", WORDS.phrase("checks.counted"), kind="numbers"))
    for delta in spec.deltas():
        if cancel is not None and cancel.is_set():  # type: ignore[attr-defined]
            return found
        one = spec.beside(delta)
        named = f"δ = {delta:g}, " if len(spec.deltas()) > 1 else ""
        share = CHECK_GRADIENTS // len(spec.deltas())
        for check in chains_checks(partial(longer, one, gradients=share), spec.seed):
            found.append(dataclasses.replace(check, name=f"{named}{check.name}"))
    return found


def longer(spec: TuningLesson, seed: int, work: int, gradients: int) -> Recording:
    """Chains from starts far apart, `work` times as long as about `gradients` allow, tuned and used as those on the
    stage.
    """
    tuned = simulate(spec)
    per_draw = float(tuned.gradients[:, tuned.kept].mean())
    draws = work * int(np.clip(gradients / CHECK_CHAINS / per_draw, 500, CHECK_DRAWS))
    starts = dispersed_starts(tuned.target.truth, CHECK_CHAINS, seed)
    return _run(
        spec,
        chains=CHECK_CHAINS,
        draws=draws,
        warmup=spec.warmup,
        seed=seed,
        init=spec.init() if starts is None else starts,
        adapt=spec.warmup + (draws if spec.after == "adapting" else 0),
    ).recording()


def wrong_use(spec: TuningLesson, way: str, what: str, *, kind: Kind) -> Check:
    """A use of the warm-up that is wrong on purpose: fails if its bias is seen, is never called a pass."""
    name, short = WORDS.phrase("checks.wrong_use"), short_runs(spec, way)
    if short is None:
        return unknown(name, WORDS.phrase("checks.no_answer", what=what), kind=kind, unit="SE")
    p = surprise(np.array([short.z])).p
    sentence = WORDS.phrase(
        "checks.off",
        what=what,
        runs=short.runs,
        start=_from(spec),
        name=quantity(spec.build_target()).name,
        mean=short.mean,
        exact=short.exact,
        z=abs(short.z),
    )
    if p >= ALONE:
        sentence = f"{sentence} {WORDS.phrase('checks.too_little')}"
    return Check(name, "fail" if p < ALONE else "unknown", short.z, Z_LIMIT, sentence, "SE", kind=kind, p=p)


def _from(spec: TuningLesson) -> str:
    """Where the short runs start, in words."""
    return WORDS.phrase("checks.from_exact") if spec.start == "random" else WORDS.phrase("checks.from_start")


def ledger_check(tuned: Tuned) -> Check:
    """Does the arithmetic on the card give the step sizes that the kernel used?"""
    ledger = tuned.ledger
    assert ledger is not None
    begins = {0, *tuned.windows}
    n = len(ledger.number)
    follow = [j for j in range(1, n) if j not in begins]
    pairs = [(math.exp(ledger.log_step[j - 1]), tuned.step_size[0, j]) for j in follow]
    pairs += [(math.exp(ledger.log_average[j]), tuned.average[j]) for j in range(n) if not ledger.restart[j]]
    worst = max((abs(mine / kernel - 1.0) for mine, kernel in pairs), default=0.0)
    sentence = WORDS.phrase("checks.recomputed", worst=worst)
    verdict: Verdict = "pass" if worst < 1e-9 else "fail"
    return Check(
        WORDS.phrase("checks.dual_averaging"), verdict, worst, 1e-9, sentence, WORDS.phrase("checks.relative_error"), kind="kernel"
    )


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """Diagnostics of the transitions that count: of each coordinate, then of the quantity."""

    labels: tuple[str, ...]
    exact: tuple[float, ...]
    exact_sd: tuple[float, ...]
    summary: diagnostics.Summary
    gradients_warm: int
    gradients: int
    seconds: float


def diagnose(spec: TuningLesson) -> Diagnostics:
    """R-hat, ESS and cost of the run."""
    return _diagnose(spec.simulation().replace(count=spec.count))


@kept
def _diagnose(spec: TuningLesson) -> Diagnostics:
    tuned, begin = simulate(spec), 0 if spec.count == "all" else spec.warmup
    wanted, truth = quantity(tuned.target), tuned.target.truth
    drawn = tuned.draws[:, begin:]
    values = np.concatenate([drawn, wanted(drawn)[:, :, None]], axis=2)
    dim = tuned.target.dim
    means = [float(truth.mean[j]) if truth else math.nan for j in range(dim)]
    sds = [math.sqrt(float(truth.covariance[j, j])) if truth else math.nan for j in range(dim)]
    return Diagnostics(
        (*tuned.target.labels, wanted.name),
        (*means, math.nan if wanted.exact is None else wanted.exact),
        (*sds, math.nan),
        diagnostics.summarise(values),
        int(tuned.gradients[:, : spec.warmup].sum()),
        int(tuned.gradients[:, spec.warmup :].sum()),
        tuned.seconds,
    )


def windows_of(spec: TuningLesson) -> tuple[int, tuple[int, ...]]:
    """First transition whose draw teaches the mass, and the ends of the windows; none where the mass is fixed."""
    return windows(spec.adapted) if spec.mass in ADAPTED_MASSES else (spec.adapted, ())
