"""What the lesson computes: the jumps of a run one by one, the exact answer, long runs, the checks. No pictures."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import diagnostics
from engine.judge import (
    FIRST,
    SECOND,
    Average,
    Check,
    Kernel,
    NestedKernel,
    Verdict,
    agreement_check,
    averages_check,
    trips_check,
    two_looks,
    unknown,
)
from engine.jumps import toy
from engine.jumps.nested import Nested, append_maps, group_designs, legendre_designs, nested, split_maps
from engine.jumps.shares import Shares, shares
from engine.jumps.toy import Ledger, ToyRecording, ToySpec
from engine.kept import kept
from engine.spec import MAX_SEED
from lessons.dimensions.spec import WORDS, DimensionsLesson

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

LOG_2PI = math.log(2.0 * math.pi)


# Data and models ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Data:
    """The measurements y (n,) at x (n,), the designs X_k (n, k) of every model, and what is true where that is known:
    the expectation of y (n,).
    """

    x: Array
    y: Array
    designs: list[Array]
    true_mean: Array | None


@kept
def data_of(spec: DimensionsLesson) -> Data:
    """The measurements on the stage; made also where the likelihood is off."""
    y = spec.measured()
    if y is None:
        return Data(*toy.data_of(spec))
    x = np.linspace(-1.0, 1.0, len(y))
    return Data(x, y, designs_at(spec, x), None)


def designs_at(spec: DimensionsLesson, x: Array) -> list[Array]:
    """X_k (n, k) of every model at places x (n,)."""
    return group_designs(len(x), spec.models) if spec.family == "means" else legendre_designs(x, spec.models)


@kept
def models_of(spec: DimensionsLesson) -> Nested:
    """The models, solved. Read only."""
    if not spec.own:
        return toy.models_of(spec.toy())
    data, nothing = data_of(spec), toy.models_of(spec.toy(likelihood="off"))
    if spec.likelihood == "off":
        return nothing
    maps = split_maps if spec.family == "means" else append_maps
    return nested(data.designs, data.y, maps(spec.models, spec.spread), nothing.log_prior, noise_sd=spec.noise_sd, prior_sd=spec.prior_sd)


@kept
def exact(spec: DimensionsLesson) -> Array:
    """(K,) p(k | y), in closed form."""
    models = models_of(spec)
    log_p = models.log_prior + models.log_evidence
    return np.asarray(np.exp(log_p - np.logaddexp.reduce(log_p)))


def limit(spec: DimensionsLesson) -> Array | None:
    """(K,) what the sampler's shares tend to; None where no closed form is known.

    A forgotten factor that depends on k alone tilts the probabilities by something that does not depend on the data, so
    it can be had from the toy without data.
    """
    blank = spec.toy(likelihood="off")
    reached = toy.limit(blank)
    if reached is None:
        return None
    tilted = exact(spec) * reached / toy.exact(blank).probability
    return np.asarray(tilted / tilted.sum())


@kept
def settles(spec: DimensionsLesson) -> Array:
    """(K,) where the sampler's shares settle: in closed form, or measured by a long run."""
    known = limit(spec)
    if known is not None:
        return known
    model = long_run(spec, spec.likelihood).model
    return np.bincount(model.ravel(), minlength=spec.models + 1)[1:] / model.size


# Runs -----------------------------------------------------------------------------------------------------------------


class Run(toy.ToyRun):
    """The toy on given models: for data that its spec does not make."""

    def __init__(self, spec: ToySpec, models: Nested, *, detail: str):
        super().__init__(spec, detail=detail)
        self._models = models
        self._chains = [self._start(seed) for seed in np.random.SeedSequence(spec.seed).spawn(spec.chains)]
        self._first = np.stack([chain.theta for chain in self._chains])


def _run(spec: DimensionsLesson, *, detail: str = "draws", **changes: Any) -> ToyRecording:
    settings = spec.toy(**changes)
    run = Run(settings, models_of(spec.replace(likelihood=settings.likelihood)), detail=detail)
    run.advance(run.total)
    return run.recording()


@kept
def recorded(spec: DimensionsLesson) -> ToyRecording:
    """The run on the stage, with its ledger."""
    return _run(spec, detail="jumps")


LONG_CHAINS, LONG = 4, 50_000


@dataclass(frozen=True, eq=False)
class LongRun:
    """The same sampler run longer than a picture: four chains of 50,000 sweeps, and the seconds they took."""

    model: Whole
    accepted: NDArray[np.bool_]
    seconds: float


@kept
def long_run(spec: DimensionsLesson, likelihood: str = "on") -> LongRun:
    """The long run, with data or without."""
    begun = time.perf_counter()
    recording = _run(spec, chains=LONG_CHAINS, draws=LONG, likelihood=likelihood)
    return LongRun(recording.model, recording.accepted, time.perf_counter() - begun)


@kept
def long_shares(spec: DimensionsLesson) -> Shares:
    """Share of the long run's sweeps spent in each model, and how sure that is."""
    return shares(long_run(spec, spec.likelihood).model, 1, spec.models)


def efficiency(spec: DimensionsLesson) -> tuple[float, float]:
    """Of the long run: share of jumps accepted, and effective draws of k per 1,000 sweeps (0 if k never changed)."""
    run = long_run(spec, spec.likelihood)
    k = run.model.astype(float)
    effective = 1000.0 * diagnostics.ess_mean(k) / k.size if np.ptp(k) else 0.0
    return float(run.accepted.mean()), effective


# The jumps, one by one ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Walk:
    """The jumps of chain 1, N of them, and what went into each; a `Ledger` of (N,) arrays in `jump`.

    Of a birth from k, or of the death that undoes it, `low` = k. The map of a jump moves two numbers: one parameter of
    the small model and u, and two of the large one.

    low : (N,)
    accepted : (N,) bool
    after : (N,) model after the sweep
    theta : (N, K) parameters after the sweep, NaN beyond the model's
    small : (N,) the parameter of the small model that the map moves
    large : (N, 2) the two of the large model
    factors : (N, 6), their logs, whether the sampler counts them or not
    counts : (N, 6) bool, does it?
    terms : name → (N,), what the factors are made of
    """

    spec: DimensionsLesson
    jump: Ledger
    low: Whole
    accepted: NDArray[np.bool_]
    after: Whole
    theta: Array
    small: Array
    large: Array
    factors: Array
    counts: NDArray[np.bool_]
    terms: dict[str, Array]

    @property
    def steps(self) -> int:
        return len(self.low)


@kept
def walk(spec: DimensionsLesson) -> Walk:
    """The jumps on the stage."""
    recording = recorded(spec)
    assert recording.ledger is not None
    jump = recording.ledger.at(0)
    low = np.minimum(jump.source, jump.destination)
    birth = jump.birth[:, None]
    smaller, larger = np.where(birth, jump.before, jump.proposed), np.where(birth, jump.proposed, jump.before)
    first = moved(spec, low)
    rows = np.arange(len(low))
    return Walk(
        spec,
        jump,
        low,
        recording.accepted[0],
        recording.model[0],
        recording.theta[0],
        smaller[rows, first],
        np.column_stack([larger[rows, first], larger[rows, first + 1]]),
        jump.factors + jump.forgotten,
        toy.counted(spec.variant)[np.where(jump.birth, 0, 1)],
        _terms(spec, jump, low),
    )


def moved(spec: DimensionsLesson, low: Whole) -> Whole:
    """Index of the parameter that the map of a jump between `low` and low + 1 moves; in the large model it and the
    next one: the split mean comes first, a new coefficient comes last.
    """
    return np.zeros_like(low) if spec.family == "means" else low - 1


def _terms(spec: DimensionsLesson, jump: Ledger, low: Whole) -> dict[str, Array]:
    """Both sides of each ratio, worked out from the densities themselves and not from the sampler's sums."""
    models = models_of(spec)
    births, deaths = move_probabilities(spec)
    terms = {"q": -0.5 * (jump.u**2 + LOG_2PI), "b": np.log(births[low - 1]), "d": np.log(deaths[low])}
    terms["J"] = np.array([np.linalg.slogdet(models.maps[k, : k + 2, : k + 2])[1] for k in range(spec.models - 1)])[low - 1]
    for side, k, theta in (("before", jump.source, jump.before), ("proposed", jump.destination, jump.proposed)):
        terms[f"likelihood {side}"] = log_likelihood(spec, k, theta)
        terms[f"model {side}"] = models.log_prior[k - 1]
        terms[f"parameters {side}"] = np.nansum(-0.5 * (theta / spec.prior_sd) ** 2 - math.log(spec.prior_sd) - 0.5 * LOG_2PI, axis=1)
    return terms


def log_likelihood(spec: DimensionsLesson, k: Whole, theta: Array) -> Array:
    """(N,) log p(y | theta) of models k (N,) with theta (N, K); 0 without data."""
    if spec.likelihood == "off":
        return np.zeros(len(k))
    residual = data_of(spec).y - fitted(data_of(spec).designs, k, theta)
    return np.asarray(-0.5 * np.sum((residual / spec.noise_sd) ** 2 + LOG_2PI, axis=1) - residual.shape[1] * math.log(spec.noise_sd))


def fitted(designs: Sequence[Array], k: Whole, theta: Array) -> Array:
    """(N, n) expectations of models k (N,) with theta (N, K), on designs X_k (n, k)."""
    values = np.empty((len(k), len(designs[0])))
    for i, design in enumerate(designs, 1):
        values[k == i] = theta[k == i, :i] @ design.T
    return values


def move_probabilities(spec: DimensionsLesson) -> tuple[Array, Array]:
    """b_k and d_k, (K,) each: of trying a birth and a death."""
    births = np.full(spec.models, spec.birth)
    births[0], births[-1] = 1.0, 0.0
    return births, 1.0 - births


def right_factors(walk: Walk) -> Array:
    """(N, 6) the logs of all `FACTORS`, from the formula."""
    terms, sign = walk.terms, np.where(walk.jump.birth, 1.0, -1.0)
    ratios = [terms[f"{name} proposed"] - terms[f"{name} before"] for name in ("likelihood", "model", "parameters")]
    return np.column_stack([*ratios, -sign * terms["q"], sign * (terms["d"] - terms["b"]), sign * terms["J"]])


# Checks ---------------------------------------------------------------------------------------------------------------

LEDGER_LIMIT = 1e-8
RARE = 0.002  # a model with less probability is visited too seldom to be judged
LATER = 1_000_003  # added to the seed for a second look


def kernels(spec: DimensionsLesson) -> list[Kernel]:
    """The sweep, on as many measurements as there are."""
    stretch = 2 * spec.spread if spec.family == "means" else spec.spread
    missing = spec.variant != "exact" and not (spec.variant == "no_jacobian" and stretch == 1.0)
    mistake = WORDS.phrase("checks.forgotten") if missing else ""
    return [NestedKernel(spec.toy(observations=len(data_of(spec).y)), mistake)]


def audit(spec: DimensionsLesson, cancel: Any = None) -> list[Check]:
    """The books of the jumps on the stage."""
    return [ledger_check(spec)]


def checks(spec: DimensionsLesson, cancel: Any = None) -> list[Check]:
    """The sampler with the present settings, run longer than the picture."""
    first = long_run(spec, spec.likelihood)

    def look(number: int, work: int) -> Check:
        return shares_check(spec, first.model if number == 1 else again(spec, work), FIRST if number == 1 else SECOND)

    k = first.model.astype(np.float64)
    return [agreement_check(k[:, :, None], ["k"]), trips_check(first.model, "k"), two_looks(look)]


def again(spec: DimensionsLesson, work: int) -> Whole:
    """Models of another long run, `work` times as long as the first."""
    seed = (spec.seed + LATER) % (MAX_SEED + 1)
    return _run(spec, chains=LONG_CHAINS, draws=work * LONG, likelihood=spec.likelihood, seed=seed).model


def shares_check(spec: DimensionsLesson, model: Whole, level: float) -> Check:
    """Shares of the models among draws (chains, sweeps) against the exact ones."""
    name = WORDS.phrase("checks.probabilities")
    judged = [(k, float(p)) for k, p in enumerate(exact(spec), 1) if RARE < p < 1.0 - RARE]
    if not judged:
        return unknown(name, WORDS.phrase("checks.one_model"), kind="numbers", unit=WORDS.phrase("checks.mcse"))
    given = WORDS.phrase("checks.given_data" if spec.likelihood == "on" else "checks.prior")
    averages = [
        Average(WORDS.phrase("checks.share", k=k, given=given), (model == k).astype(float), p, math.sqrt(p * (1.0 - p))) for k, p in judged
    ]
    found = averages_check(name, averages, level=level)
    sentence = WORDS.phrase("checks.sweeps", chains=model.shape[0], sweeps=model.shape[1], found=found.sentence)
    return dataclasses.replace(found, sentence=sentence)


def ledger_check(spec: DimensionsLesson) -> Check:
    """Is the log ratio of every jump on the stage what the formula says?"""
    here = walk(spec)
    right = right_factors(here).sum(axis=1)
    off = float(np.max(np.abs(here.jump.log_ratio - right) / np.maximum(1.0, np.abs(right))))
    verdict: Verdict = "pass" if off < LEDGER_LIMIT else "fail"
    sentence = WORDS.phrase("checks.reckoned", jumps=here.steps, off=off)
    return Check(WORDS.phrase("checks.ledger"), verdict, off, LEDGER_LIMIT, sentence, WORDS.phrase("checks.relative_error"), kind="kernel")
