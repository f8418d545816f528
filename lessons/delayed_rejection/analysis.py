"""The numbers behind the pictures: the run and its inside, what a try more gains, what a forgotten factor does, and
whether the run is right.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import engine
from app.kit import pictures
from engine import diagnostics, ticket
from engine.judge import Check, Kernel, Known, TransitionKernel, chains_checks, sampled_apart, unknown
from engine.judge.audit import check, delayed_rejection
from engine.kept import kept, lazy
from engine.recording import Recording
from engine.samplers import DelayedRejection, DelayedRejectionTransitions
from engine.spec import SpecError
from engine.targets.target import Target, TargetError
from lessons.delayed_rejection.spec import WORDS, DelayedRejectionLesson

Array = NDArray[np.float64]


# The run --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Walk:
    """A run as the lesson shows it.

    recording : all chains
    inside : the inside of chain 1, arrays (transitions, ...)
    before : (transitions, 2), the state that each transition of chain 1 starts from
    log_before : (transitions,), its log density
    """

    spec: DelayedRejectionLesson
    target: Target
    recording: Recording
    inside: DelayedRejectionTransitions
    before: Array
    log_before: Array

    @property
    def steps(self) -> int:
        return len(self.before)

    @property
    def accepted(self) -> NDArray[np.bool_]:
        """(transitions,) of chain 1."""
        return self.recording.accepted[0]

    @lazy
    def ending(self) -> NDArray[np.int64]:
        """(transitions,) which try was accepted, counted from 0; `stages` where none was."""
        return np.where(self.accepted, self.inside.stages.astype(np.int64) - 1, self.spec.stages)


@kept
def simulate(spec: DelayedRejectionLesson) -> Walk:
    """The run of `spec`. A start where the density is zero raises SpecError."""
    try:
        alone = engine.record(spec.replace(chains=1), detail="transitions")  # chain 1 is the same among others
        recording = alone if spec.chains == 1 else engine.record(spec)
    except TargetError as error:
        raise SpecError("start", str(error)) from error
    inside = DelayedRejectionTransitions(*(array[0] for array in alone.transitions))
    before = np.vstack([alone.start[:1], alone.draws[0, :-1]])
    log_before = np.append(alone.start_log_density[0], alone.log_density[0, :-1])
    return Walk(spec, spec.build_target(), recording, inside, before, log_before)


# What the sampler draws from ------------------------------------------------------------------------------------------

LONG_CHAINS, LONG_DRAWS, BOOKED = 4, 30_000, 300


def long_run(spec: DelayedRejectionLesson) -> Array:
    """(4, 30 000, 2) draws of the same kernel run longer, from starts far apart."""
    return _long(spec, 1).draws


@kept
def _long(spec: DelayedRejectionLesson, work: int) -> Recording:
    return _sample(spec, work * LONG_DRAWS, LONG_DRAWS // 10)


def _sample(spec: DelayedRejectionLesson, draws: int, warmup: int) -> Recording:
    settings = {"draws": draws, "warmup": warmup, **spec.settings()}
    return sampled_apart(spec.build_target(), "delayed_rejection", spec.init(), chains=LONG_CHAINS, seed=spec.seed, **settings)


@kept
def drawn_from(spec: DelayedRejectionLesson, coordinate: int) -> tuple[Array, Array]:
    """Midpoints and heights of a histogram of the long run: what the kernel really draws from, as near as it tells."""
    return pictures.heights(long_run(spec)[:, :, coordinate], spec.build_target().view[coordinate])


# What a try more gains ------------------------------------------------------------------------------------------------

SCALES = tuple(float(scale) for scale in np.geomspace(0.2, 30.0, 9))
SWEEP_DRAWS, SWEEP_WARMUP = 10_000, 500
FEWEST = 30.0  # effective draws below which their number itself is too uncertain to show
TRIES = (1, 2, 3)


@dataclass(frozen=True)
class Efficiency:
    """Of one setting: effective draws per 1 000 transitions and per 1 000 evaluations of the density, for the worst of
    coordinates and their squares, and the share of transitions that each try ended.
    """

    per_transition: float
    per_evaluation: float
    shares: tuple[float, ...]


@kept
def efficiency(spec: DelayedRejectionLesson) -> Efficiency:
    """Measured with four chains of the right sampler with these settings; NaN where they hardly moved."""
    spec = spec.replace(variant="exact", chains=1, draws=100, warmup=0)
    run = _sample(spec, SWEEP_DRAWS, SWEEP_WARMUP)
    truth = spec.build_target().truth
    heavy = truth is not None and truth.heavy_tails
    ess = diagnostics.least_ess(np.arctan(run.draws) if heavy else run.draws)
    ess = ess if ess >= FEWEST else np.nan
    tried = run.gradient_evaluations
    shares = tuple(float((run.accepted & (tried == stage + 1)).mean()) for stage in range(spec.stages))
    return Efficiency(1000.0 * ess / tried.size, 1000.0 * ess / float(tried.sum()), shares)


@dataclass(frozen=True)
class Sweep:
    """Efficiencies over `scales`, by number of tries."""

    scales: Array
    by_tries: dict[int, list[Efficiency]]

    def gain(self, tries: int, per: str) -> Array:
        """Effective draws over those of one try: `per` "per_evaluation" or "per_transition"."""
        return self.of(tries, per) / self.of(1, per)

    def of(self, tries: int, per: str) -> Array:
        """Effective draws per 1 000 of one number of tries."""
        return np.array([getattr(found, per) for found in self.by_tries[tries]])


def sweep(spec: DelayedRejectionLesson, cancel: Any = None) -> Sweep:
    """One to three tries over a range of scales, the rest as in `spec`; shorter if it is cancelled."""
    rows: dict[int, list[Efficiency]] = {tries: [] for tries in TRIES}
    base = spec.replace(variant="exact", chains=1, draws=100, warmup=0)
    for scale in SCALES:
        if rows[1] and cancel is not None and cancel.is_set():
            break
        for tries in TRIES:
            rows[tries].append(efficiency(base.replace(scale=scale, stages=tries)))
    return Sweep(np.array(SCALES[: len(rows[1])]), rows)


# What forgetting does -------------------------------------------------------------------------------------------------

BIAS_SCALES, BIAS_DRAWS = (0.3, 0.6, 1.2, 2.5, 5.0, 10.0), 20_000


@dataclass(frozen=True)
class Bias:
    """Of one setting: how much too large the sd of the first coordinate comes out, and the Monte Carlo standard error
    of that, both as a share of the exact sd.
    """

    error: float
    mcse: float


def bias(spec: DelayedRejectionLesson, scale: float, variant: str) -> Bias:
    """Measured with four chains. The target's variance must be finite and known."""
    target = spec.build_target()
    assert target.truth is not None
    variance = float(target.truth.covariance[0, 0])
    draws = _sample(spec.replace(scale=scale, variant=variant), BIAS_DRAWS, BIAS_DRAWS // 10).draws[:, :, 0]
    squares = (draws - float(target.truth.mean[0])) ** 2 / variance
    ess = max(diagnostics.ess_mean(squares), 1.0)
    # d(sd) / sd = d(variance) / (2 variance)
    return Bias(float(np.sqrt(squares.mean()) - 1.0), float(0.5 * squares.std() / np.sqrt(ess)))


def biases(spec: DelayedRejectionLesson, cancel: Any = None) -> Iterator[tuple[float, Bias, Bias]]:
    """(scale, right sampler, wrong sampler) over a range of scales."""
    for scale in BIAS_SCALES:
        yield scale, bias(spec, scale, "exact"), bias(spec, scale, "no_rejection_terms")
        if cancel is not None and cancel.is_set():
            return


def spread_is_known(target: Target) -> bool:
    """Whether the variance of the first coordinate is known, finite, and can be measured from draws."""
    truth = target.truth
    return truth is not None and not truth.heavy_tails and bool(np.isfinite(truth.covariance[0, 0]))


# Checks ---------------------------------------------------------------------------------------------------------------

MISTAKE = WORDS.phrase("checks.mistake")
NO_DRAWS = WORDS.phrase("checks.no_draws")


def kernels(spec: DelayedRejectionLesson) -> list[Kernel]:
    """The sampler with the present settings."""
    target = spec.build_target()
    if target.truth is None or target.truth.draw is None:
        return []
    method = DelayedRejection(**spec.settings())
    return [TransitionKernel(Known(target), method, mistake=MISTAKE if spec.forgets else "")]


def audit(spec: DelayedRejectionLesson, cancel: Any = None) -> list[Check]:
    """The books of the run on stage."""
    found = [ledger_check(simulate(spec))]
    return found if kernels(spec) else [*found, unknown(WORDS.phrase("checks.exact"), NO_DRAWS, kind="kernel")]


def checks(spec: DelayedRejectionLesson, cancel: Any = None) -> list[Check]:
    """The kernel run longer than the picture, from starts far apart: do its chains agree, and with the truth?"""
    return chains_checks(lambda seed, work: _long(spec.replace(seed=seed), work), spec.seed)


def ledger_check(walk: Walk) -> Check:
    """Is the probability that decided each transition of chain 1 the one that the formula gives?"""
    inside, errors = walk.inside, []
    for t in ticket.looking(range(min(walk.steps, BOOKED))):
        row = type(inside)(*(array[t] for array in inside))
        errors += delayed_rejection(walk.target, walk.spec, walk.before[t], walk.recording.draws[0, t], row)
    found = check(errors, len(errors), WORDS.phrase("checks.chain_1"))
    if walk.spec.forgets and found.verdict == "pass":
        return dataclasses.replace(found, name="ledger", verdict="unknown", sentence=f"{found.sentence} {MISTAKE}")
    return dataclasses.replace(found, name="ledger")


# Words ----------------------------------------------------------------------------------------------------------------


def runs(spec: DelayedRejectionLesson) -> str:
    """Which kernel runs."""
    if spec.stages == 1:
        return WORDS.phrase("runs.one")
    how = WORDS.phrase("runs.wrong") if spec.forgets else WORDS.phrase("runs.right")
    return WORDS.phrase("runs.several", tries=WORDS.phrase("runs.two" if spec.stages == 2 else "runs.three"), how=how)
