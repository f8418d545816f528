"""What the lesson computes: data, every model, the Gibbs run, the mean-field fit, and the checks that compare them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.diagnostics import ess_mean
from engine.judge import (
    FIRST,
    SECOND,
    Z_LIMIT,
    Average,
    Check,
    Kernel,
    SelectionKernel,
    agreement_check,
    averages_check,
    two_looks,
    unknown,
)
from engine.judge.recordings import LATER
from engine.kept import kept
from engine.logistic import sigmoid
from engine.predicted import Predicted, classes, values
from engine.spec import MAX_SEED
from engine.spike_and_slab import (
    Enumeration,
    SelectionAscent,
    SelectionRecording,
    SelectionRun,
    SpikeAndSlab,
    ascend_selection,
    enumerate_models,
    sample_models,
    spike_and_slab,
)
from lessons.spike_and_slab import learning
from lessons.spike_and_slab.spec import WORDS, SpikeAndSlabSpec

Array = NDArray[np.float64]

LONG_CHAINS = 4
LONG_SWEEPS = {"linear": 10_000, "logistic": 4_000}
LONG_WARMUP = 200
RARE = 100  # expected sweeps on the rarer side below which a share is not judged
SAME = 1e-8  # conditional probabilities that agree to this are the same
CORRELATIONS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99)
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


@dataclass(frozen=True, eq=False)
class Setup:
    """The data's model, its exact posterior over models, and the mean-field fit.

    model : the right one; truth : every model weighed; field : coordinate ascent, its last row the fit
    effects : (p,), true coefficients
    """

    model: SpikeAndSlab
    truth: Enumeration
    field: SelectionAscent
    effects: Array

    @property
    def predictors(self) -> int:
        return self.model.predictors

    @property
    def labels(self) -> list[str]:
        return names("x", self.predictors)


def names(letter: str, number: int) -> list[str]:
    """x₁, x₂, …"""
    return [letter + str(j).translate(SUBSCRIPTS) for j in range(1, number + 1)]


def data(spec: SpikeAndSlabSpec) -> tuple[Array, Array]:
    """x (n, p) with unit variances, the first two columns correlated, and y (n,)."""
    effects = spec.true_effects()
    rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence(spec.data_seed)))
    x = rng.standard_normal((spec.rows, len(effects)))
    noise = rng.standard_normal(spec.rows)
    x[:, 1] = spec.correlation * x[:, 0] + np.sqrt(1.0 - spec.correlation**2) * x[:, 1]
    eta = x @ effects
    if spec.likelihood == "linear":
        return x, eta + spec.noise_sd * noise
    return x, (rng.random(spec.rows) < 1.0 / (1.0 + np.exp(-eta))).astype(np.float64)


def setup(spec: SpikeAndSlabSpec) -> Setup:
    """What is known before any sampling; the same object for settings that differ only in the run."""
    kept = {field: getattr(spec, field) for field in ("chains", "draws", "variant", "seed")}
    return _setup(spec.replace(**{field: spec.default(field) for field in kept}))


@kept
def _setup(spec: SpikeAndSlabSpec) -> Setup:
    x, y = data(spec)
    model = spike_and_slab(
        x, y, likelihood=spec.likelihood, inclusion=spec.inclusion, slab_sd=spec.slab_sd, noise_sd=spec.noise_sd, intercept=False
    )
    return Setup(model, enumerate_models(model), ascend_selection(model), spec.true_effects())


def _sampled(spec: SpikeAndSlabSpec) -> SpikeAndSlab:
    """The model as the sampler sees it: without the slab's constant, the odds of every predictor are too high."""
    model = setup(spec).model
    return dataclasses.replace(model, log_odds=model.log_odds + spec.log_odds_error)


def start(spec: SpikeAndSlabSpec) -> SelectionRun:
    """The run on the stage before its first sweep, which is kept."""
    return SelectionRun(_sampled(spec), chains=spec.chains, draws=spec.draws, warmup=0, seed=spec.seed)


@kept
def record(spec: SpikeAndSlabSpec) -> SelectionRecording:
    """The run on the stage, to its end."""
    run = start(spec)
    run.advance(run.total)
    return run.recording()


def predicted(spec: SpikeAndSlabSpec) -> Predicted:
    """What the run on the stage says of its data, averaged over the models that it visits."""
    x, y = data(spec)
    means = record(spec).coefficients @ x.T
    if spec.likelihood == "linear":
        return values(y, means, spec.noise_sd, spec.seed)
    return classes(y, sigmoid(means), spec.seed)


@kept
def long_run(spec: SpikeAndSlabSpec, number: int = 1, work: int = 1) -> SelectionRecording:
    """The same kernel run longer, to judge it by; look `number` with so many times the work."""
    sweeps, seed = work * LONG_SWEEPS[spec.likelihood], (spec.seed + LATER * (number - 1)) % (MAX_SEED + 1)
    return sample_models(_sampled(spec), chains=LONG_CHAINS, draws=sweeps, warmup=LONG_WARMUP, seed=seed)


def model_number(included: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Row of the enumeration, of models (..., p)."""
    return included.astype(np.int64) @ (1 << np.arange(included.shape[-1]))


def product_probability(truth: Enumeration, inclusion: Array) -> Array:
    """(M,) probability of every model under independent inclusions (p,): what a factorised q says."""
    inside = truth.models
    return np.asarray(np.prod(np.where(inside, inclusion, 1.0 - inclusion), axis=1))


def expected_size(spec: SpikeAndSlabSpec) -> float:
    """Exact posterior mean of the number of predictors that are in."""
    return float(setup(spec).truth.inclusion.sum())


@dataclass(frozen=True, eq=False)
class Sweep:
    """Inclusion of the first two predictors as their correlation grows: (len(CORRELATIONS), 2) each."""

    exact: Array
    field: Array


def correlation_sweep(spec: SpikeAndSlabSpec, cancel: Any) -> Sweep:
    """The same random numbers at other correlations."""
    exact = np.full((len(CORRELATIONS), 2), np.nan)
    field = exact.copy()
    for row, correlation in enumerate(CORRELATIONS):
        if cancel.is_set():
            break
        here = setup(spec.replace(correlation=correlation))
        exact[row], field[row] = here.truth.inclusion[:2], here.field.inclusion[-1, :2]
    return Sweep(exact, field)


# Checks ---------------------------------------------------------------------------------------------------------------


def kernels(spec: SpikeAndSlabSpec) -> list[Kernel]:
    """The Gibbs sampler as it is told; none of a network."""
    if spec.part == "network":
        return []
    model = setup(spec).model
    if spec.variant == "exact":
        return [SelectionKernel(model)]
    return [SelectionKernel(model, _sampled(spec), WORDS.phrase("checks.left_out"))]


def audit(spec: SpikeAndSlabSpec, cancel: Any) -> list[Check]:
    """Every coin of the picture worked out again, and the ELBO below the evidence; of a network its masks, its KL and
    the gradient that trains it.
    """
    if spec.part == "network":
        return learning.audit(spec, cancel)
    return [*([_conditional_check(spec)] if spec.likelihood == "linear" else []), _bound_check(spec)]


def checks(spec: SpikeAndSlabSpec, cancel: Any) -> list[Check]:
    """The same sampler run longer: do its chains agree, with each other and with every model weighed?"""
    if spec.part == "network":
        return learning.checks(spec, cancel)
    return [_agreement_check(spec), two_looks(lambda number, work: _inclusion_check(spec, number, work))]


def faults(spec: SpikeAndSlabSpec) -> dict[str, SpikeAndSlabSpec]:
    """The page's switch."""
    if spec.part == "network" or spec.variant != "exact":
        return {}
    return {WORDS.phrase("mistakes.no_normaliser"): spec.replace(variant="no_normaliser")}


def _agreement_check(spec: SpikeAndSlabSpec) -> Check:
    run = long_run(spec)
    size = run.included.sum(axis=2)
    square = (run.coefficients[:, :, setup(spec).model.always :] ** 2).mean(axis=2)
    values = np.concatenate([size[:, :, None], square[:, :, None], run.included], axis=2, dtype=np.float64)
    inside = (WORDS.phrase("checks.is_in", predictor=label) for label in setup(spec).labels)
    return agreement_check(values, [WORDS.phrase("checks.size"), WORDS.phrase("checks.square"), *inside])


def _inclusion_check(spec: SpikeAndSlabSpec, number: int, work: int) -> Check:
    here, run = setup(spec), long_run(spec, number, work)
    averages = []
    for j, label in enumerate(here.labels):
        true, values = float(here.truth.inclusion[j]), run.included[:, :, j].astype(np.float64)
        if min(true, 1.0 - true) * values.size < RARE and not abs(values.mean() - true) > 0.01:
            continue  # as good as certain, and the chain agrees: too few sweeps on the rarer side for an error bar
        # the error of the exact value itself (importance sampling, logistic) is added to that of the chain
        effective = ess_mean(values)
        blur = float(here.truth.inclusion_error[j]) ** 2 * (effective if np.isfinite(effective) else 0.0)
        sd = float(np.sqrt(max(true * (1.0 - true), 1.0 / values.size) + blur))
        averages.append(Average(WORDS.phrase("checks.share", predictor=label), values, true, sd))
    name = WORDS.phrase("checks.inclusion")
    words = WORDS.phrase("checks.longer", chains=run.included.shape[0], sweeps=run.included.shape[1])
    if not averages:
        return unknown(name, f"{words} {WORDS.phrase('checks.certain')}", kind="numbers")
    found = averages_check(name, averages, level=FIRST if number == 1 else SECOND)
    return dataclasses.replace(found, sentence=f"{words} {found.sentence}")


def _conditional_check(spec: SpikeAndSlabSpec) -> Check:
    """Every probability that chain 1 drew with, against two of the enumerated models."""
    truth, run = setup(spec).truth, record(spec)
    included, used = run.included[0], run.conditional[0]
    p = included.shape[1]
    largest = 0.0
    for j in range(p):
        # when predictor j of sweep t is drawn, those before it are new and those after it are of sweep t − 1
        rest = np.concatenate([included[1:, :j], np.zeros((len(included) - 1, 1), bool), included[:-1, j + 1 :]], axis=1)
        outside = truth.probability[model_number(rest)]
        inside = truth.probability[model_number(rest) + (1 << j)]
        total = inside + outside
        known = total > 1e-200
        exact = inside[known] / total[known]
        largest = max(largest, float(np.max(np.abs(used[1:, j][known] - exact), initial=0.0)))
    sentence = WORDS.phrase("checks.conditionals_sentence", probabilities=p * (len(included) - 1), largest=largest)
    return Check(WORDS.phrase("checks.conditionals"), "pass" if largest < SAME else "fail", largest, SAME, sentence, kind="kernel")


def _bound_check(spec: SpikeAndSlabSpec) -> Check:
    """The ELBO must stay below the log evidence. Mean-field's bias is told here; it is no fault of the sampler."""
    here = setup(spec)
    above = float(here.field.elbo.max() - here.truth.log_total)
    slack = 1e-6 + Z_LIMIT * here.truth.log_total_error  # of importance sampling (logistic)
    off = np.abs(here.field.inclusion[-1] - here.truth.inclusion)
    sentence = WORDS.phrase("checks.bound_sentence", below=-above, off=off.max(), predictor=here.labels[int(off.argmax())])
    return Check(WORDS.phrase("checks.bound"), "pass" if above < slack else "fail", above, slack, sentence, "nats", kind="kernel")
