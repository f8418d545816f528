"""What the lesson compares: the trained q and four NUTS chains on the same posterior, ratios with their errors,
regions, coverage, the evidence, and the checks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import ticket
from engine.diagnostics import Summary, summarise
from engine.evidence import Evidence, EvidenceSpec, log_evidence
from engine.judge import (
    ALONE,
    Z_LIMIT,
    Check,
    Kernel,
    TransitionKernel,
    Verdict,
    agreement_check,
    divergence_check,
    energy_check,
    joint_model,
    two_looks,
    unknown,
)
from engine.judge.looks import correlation_of, looked
from engine.judge.plant import STUCK, is_planted
from engine.kept import kept
from engine.recording import Recording
from engine.samplers import run as runs
from engine.samplers.run import Run
from engine.spec import SpecError
from engine.targets.target import TargetError
from engine.variational import NetworkRun
from lessons.weights import digits, training
from lessons.weights.spec import EDGE, WORDS, WeightsSpec
from lessons.weights.training import BAND, WARMUP, data_of, functions, model_of, of_q, places, posterior_of

Array = NDArray[np.float64]

CHAINS = 4
NETWORKS = 4000  # drawn from q, independently
PIECE = 50  # transitions between two looks at the ticket
SURE = 2.0  # standard errors beyond which a ratio is called different from 1
REGIONS = WORDS["regions"]

# q and NUTS -----------------------------------------------------------------------------------------------------------


@kept
def trained(spec: WeightsSpec) -> NetworkRun:
    """The training to its end: the same bytes as the last look's."""
    run = training.start(spec)
    run.advance(run.total)
    return run


def same_training(spec: WeightsSpec) -> WeightsSpec:
    """The settings without those of NUTS alone."""
    return spec.replace(draws=spec.default("draws"))


def same_posterior(spec: WeightsSpec) -> WeightsSpec:
    """The settings that NUTS depends on; those of q as they come."""
    names = ("estimator", "warm_up", "steps", "batch", "step_size", "initial_sd", "variant", "prior", "mixture_sd", "mixture_share")
    return spec.replace(**{name: spec.default(name) for name in names})


@dataclass(frozen=True, eq=False)
class Reference:
    """Four NUTS chains: the recording, their functions at `places` (chains, draws, m), diagnostics of some of those."""

    recording: Recording
    values: Array
    summary: Summary  # at every `WATCHED`-th place

    @property
    def rhat(self) -> float:
        worst = float(np.max(self.summary.rhat))
        return worst if math.isfinite(worst) else math.inf

    @property
    def ess(self) -> float:
        least = float(np.min(self.summary.ess_bulk))
        return least if math.isfinite(least) else 0.0


def reference(spec: WeightsSpec, cancel: Any) -> Reference:
    """The chains of `spec`. Raises InterruptedError when cancelled."""
    with ticket.holding(cancel):
        return _sample(same_posterior(spec))


@kept
def _sample(spec: WeightsSpec) -> Reference:
    run = runs.start(posterior_of(spec), "nuts", chains=CHAINS, draws=spec.draws, warmup=WARMUP, seed=spec.seed)
    while not run.done:
        ticket.look()
        run.advance(PIECE)
    found = run.recording()
    values = np.stack([functions(spec, chain) for chain in found.draws])
    return Reference(found, values, summarise(values[:, :, watched(spec)]))


def drawn(spec: WeightsSpec, count: int = NETWORKS) -> Array:
    """(count, dim) networks drawn from the trained q, in double precision."""
    mean, sd = of_q(trained(same_training(spec)))
    return mean + sd * training.noise(spec, count, len(mean))


def watched(spec: WeightsSpec) -> NDArray[np.int64]:
    """Rows of `places` at which chains are diagnosed: enough, as neighbours tell the same."""
    if spec.problem == "curve":
        return np.arange(0, training.NODES, 3)
    side = np.arange(1, training.CELLS, 3)
    return (training.CELLS * side[:, None] + side).ravel()


# The ratio ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ratio:
    """sd of the function under q over that under NUTS, at `places`: (m,) each.

    low, high : ends of ± SURE standard errors of the log ratio, Monte Carlo of both sides, with the effective draws of
        the slowest watched place
    q, nuts : the sds; values, draws : (S, m), functions drawn from q and all NUTS draws
    """

    ratio: Array
    low: Array
    high: Array
    q: Array
    nuts: Array
    values: Array
    draws: Array

    @property
    def overconfident(self) -> NDArray[np.bool_]:
        """(m,) where q is narrower, beyond the error."""
        return self.high < 1.0

    @property
    def too_wide(self) -> NDArray[np.bool_]:
        """(m,) where q is wider, beyond the error."""
        return self.low > 1.0


def ratio(spec: WeightsSpec, cancel: Any) -> Ratio:
    """Where q is overconfident, and by how much."""
    chains = reference(spec, cancel)
    values = functions(spec, drawn(spec))
    q, q_error = _spread(values[None], float(len(values)))
    centred = chains.values - chains.values.mean(axis=(0, 1))
    least = float(np.nanmin(summarise(centred[:, :, watched(spec)] ** 2).ess_bulk))
    nuts, nuts_error = _spread(chains.values, least)
    found, error = q / nuts, SURE * np.hypot(q_error, nuts_error)
    return Ratio(found, found * np.exp(-error), found * np.exp(error), q, nuts, values, chains.values.reshape(-1, values.shape[1]))


def _spread(values: Array, effective: float) -> tuple[Array, Array]:
    """sd (m,) of values (chains, draws, m), and its relative standard error from effective draws of the square."""
    flat = values.reshape(-1, values.shape[2])
    squares = (flat - flat.mean(axis=0)) ** 2
    variance = np.maximum(squares.mean(axis=0), 1e-300)
    return np.sqrt(variance), 0.5 * squares.std(axis=0) / (variance * math.sqrt(max(effective, 1.0)))


def regions(spec: WeightsSpec) -> dict[str, NDArray[np.bool_]]:
    """Masks (m,) of `places` by name: where data are, where not, and the rest."""
    at, (x, _) = places(spec.problem), data_of(spec)
    if spec.problem == "curve":
        line, seen = at[:, 0], np.sort(x[:, 0])
        inside = (line >= seen[0]) & (line <= seen[-1])
        near = np.abs(line[:, None] - seen).min(axis=1) <= 0.25
        return {REGIONS["data"]: inside & near, REGIONS["between"]: inside & ~near, REGIONS["outside"]: ~inside}
    nearest = np.sqrt(((at[:, None] - x) ** 2).sum(axis=2)).min(axis=1)
    centre = np.sqrt((at**2).sum(axis=1)) < 0.3
    near = nearest <= 0.15
    return {REGIONS["data"]: near, REGIONS["centre"]: centre & ~near, REGIONS["elsewhere"]: ~near & ~centre}


@dataclass(frozen=True)
class Region:
    """One line of the comparison: sds and ratio by the median over the region; shares from 0 to 1.

    inside : of NUTS's draws that fall into q's 90 % band; q_truth, nuts_truth : share of the region's places where
    the true curve is inside each one's band, NaN where there is none
    """

    name: str
    places: int
    q: float
    nuts: float
    ratio: float
    low: float
    high: float
    inside: float
    q_truth: float
    nuts_truth: float


def compared(spec: WeightsSpec, cancel: Any) -> list[Region]:
    """The regions that hold any place."""
    found = ratio(spec, cancel)
    low, high = np.quantile(found.values, BAND, axis=0)
    bottom, top = np.quantile(found.draws, BAND, axis=0)
    held = ((found.draws >= low) & (found.draws <= high)).mean(axis=0)
    true = np.full(len(low), np.nan)
    if spec.problem == "curve" and spec.data == "made":
        line = places("curve")[:, 0]
        true[np.abs(line) <= EDGE] = training.truth(line[np.abs(line) <= EDGE])
    known = np.isfinite(true)
    lines = []
    for name, mask in regions(spec).items():
        if not mask.any():
            continue
        judged = mask & known
        q_truth, nuts_truth = (
            float(((true >= a) & (true <= b))[judged].mean()) if judged.any() else math.nan for a, b in ((low, high), (bottom, top))
        )
        q, nuts, ratio_, least, most, inside = (
            float(np.median(v[mask])) for v in (found.q, found.nuts, found.ratio, found.low, found.high, held)
        )
        lines.append(Region(name, int(mask.sum()), q, nuts, ratio_, least, most, inside, q_truth, nuts_truth))
    return lines


def right(spec: WeightsSpec, draws: Array) -> float:
    """Share of the data points of the plane that the average of `draws` (S, dim) gets right."""
    x, y = data_of(spec)
    return float(np.mean((functions(spec, draws, x).mean(axis=0) > 0.5) == (y > 0.5)))


# The evidence ---------------------------------------------------------------------------------------------------------


def evidence(spec: WeightsSpec, cancel: Any) -> Evidence:
    """log p(y) of the network with the normal prior, by annealing. Raises InterruptedError when cancelled."""
    with ticket.holding(cancel):
        return _anneal(same_posterior(spec).replace(draws=spec.default("draws")))


@kept
def _anneal(spec: WeightsSpec) -> Evidence:
    x, y = data_of(spec)
    target = model_of(spec).log_likelihood(x, y)
    settings = EvidenceSpec(particles=64, islands=8, seed=spec.seed)
    return log_evidence(target, settings, sd=spec.prior_sd, likelihood=True, stop=ticket.stopped)


def elbo(spec: WeightsSpec) -> tuple[float, float]:
    """ELBO of the trained q under the right objective, and its standard error, from `NETWORKS` draws."""
    draws = drawn(spec)
    mean, sd = of_q(trained(same_training(spec)))
    x, y = data_of(spec)
    likelihoods = model_of(spec).log_likelihood(x, y).log_density_many(draws)
    return (float(likelihoods.mean()) - training.divergence(spec, mean, sd, draws), float(likelihoods.std() / math.sqrt(NETWORKS)))


def copies(spec: WeightsSpec) -> float:
    """Log of the number of weight vectors that give one function: units may change places, and flip both signs."""
    return math.lgamma(spec.units + 1) + spec.units * math.log(2.0)


# Checks ---------------------------------------------------------------------------------------------------------------

ESTIMATES = 400  # gradients drawn from the training's own kernel, at a first look
AGAINST = 1600  # networks for the same gradient in double precision
SLOPES = 6000  # networks for the slope at the end
SETTLED = 1.0  # nats that the slope may still promise
LOST = 50.0  # nats whose promise says that training went nowhere


@kept
def _warmed(spec: WeightsSpec) -> Run:
    """The first of the chains at the end of its warm-up."""
    run = runs.start(posterior_of(spec), "nuts", chains=1, draws=1, warmup=WARMUP, seed=spec.seed)
    run.advance(WARMUP)
    return run


def kernels(spec: WeightsSpec) -> list[Kernel]:
    """NUTS on the right, with the step size and mass of its first chain; none where it does not run."""
    if spec.problem == "digits":
        return []
    run = _warmed(same_posterior(spec).replace(draws=spec.default("draws")))
    model = joint_model(run.target)
    return [] if model is None else [TransitionKernel(model, run.method, run.adaptation)]


def audit(spec: WeightsSpec, cancel: Any) -> list[Check]:
    """Is the gradient that trains q the ELBO's, and is the ELBO a bound?"""
    if spec.problem == "digits":
        return digits.audit(spec, cancel)
    found: list[Check] = []
    for make in (_gradient_check, _bound_check):
        if cancel.is_set():
            break
        found += make(spec, cancel)
    return found


def checks(spec: WeightsSpec, cancel: Any) -> list[Check]:
    """Has training come to rest, do the chains agree? How far q is from them is shown, and no mistake."""
    if spec.problem == "digits":
        return digits.checks(spec, cancel)
    found = [_settled_check(spec, cancel)]
    if not cancel.is_set():
        found += [*chains_checks(spec, cancel), _distance_check(spec, cancel)]
    return found


def faults(spec: WeightsSpec) -> dict[str, WeightsSpec]:
    """The mistakes in the objective; a forgotten n/B needs minibatches of the curve."""
    if spec.problem == "digits":
        return {}
    found = {WORDS.phrase("faults.light_kl"): spec.replace(variant="light_kl")}
    if spec.problem == "curve" and spec.size > 3:
        batch = spec.batch if spec.minibatch < spec.size else spec.size // 3
        found[WORDS.phrase("faults.no_scaling")] = spec.replace(variant="no_scaling", batch=batch)
    return {name: planted for name, planted in found.items() if planted.variant != spec.variant}


def exact_gradient(spec: WeightsSpec, mean: Array, sd: Array, count: int, seed: int) -> tuple[Array, Array]:
    """Gradient of the right ELBO with respect to means and ρ, (2 dim,), and the covariance of its error: averaged over
    `count` networks in double precision by the posterior that NUTS uses, with random numbers of its own.
    """
    rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence([seed, 13])))
    eps = rng.standard_normal((count, len(mean)))
    x, y = data_of(spec)
    likelihood = model_of(spec).log_likelihood(x, y)
    slopes = np.stack([likelihood.log_density_and_gradient(w)[1] for w in mean + sd * eps])
    if spec.prior == "mixture":
        slopes = slopes + training.prior_slope(spec, mean + sd * eps)
        at_mean, at_sd = np.zeros_like(mean), 1.0 / sd
    else:
        at_mean, at_sd = -mean / spec.prior_sd**2, 1.0 / sd - sd / spec.prior_sd**2
    each = np.concatenate([slopes + at_mean, (slopes * eps + at_sd) * -np.expm1(-sd)], axis=1)
    return each.mean(axis=0), np.cov(each.T) / count


def _gradient_check(spec: WeightsSpec, cancel: Any) -> list[Check]:
    """The training's own kernel against the gradient of the ELBO, at the start and at the end."""
    from scipy.linalg import block_diag  # slow to import

    places = []
    for last in (False, True):
        run = training.start(spec)
        if last:
            run.advance(run.total, cancel.is_set)
        places.append((run, *of_q(run)))
    factor = 1.0 / training.LIGHT if spec.variant == "light_kl" else 1.0

    def look(number: int, work: int) -> Check:
        z, blocks = [], []
        for place, (run, mean, sd) in enumerate(places):
            if cancel.is_set():
                raise InterruptedError
            count = ESTIMATES * work
            drawn = run.gradient_estimates(count, 1_000_000 * (1 + number)).astype(np.float64).reshape(count, 2, -1)
            own = factor * np.stack([_in_order(run, each) for each in ticket.looking(drawn)])
            seed = spec.seed + 1_000_003 * (2 * number + place)
            right_, covariance = exact_gradient(spec, mean, sd, AGAINST * work, seed)
            covariance = covariance + np.cov(own.T) / count + np.diag((1e-4 * (1.0 + np.abs(right_))) ** 2)  # singles
            z.append((own.mean(axis=0) - right_) / np.sqrt(np.diag(covariance)))
            blocks.append(correlation_of(covariance))
        words = WORDS.phrase("checks.gradient", estimates=ESTIMATES * work, components=sum(map(len, z)))
        return looked(number, "gradient", np.concatenate(z), block_diag(*blocks), words, kind="kernel")

    return [two_looks(look)]


def _in_order(run: NetworkRun, gradient: Array) -> Array:
    """(2 dim,) of a gradient (2, weights) in means and ρ, in the order of `Network`."""
    return np.concatenate([training.ordered(run, part) for part in gradient])


def _settled_check(spec: WeightsSpec, cancel: Any) -> Check:
    """What the slope of the ELBO at the last q still promises: a Newton step's gain, with the curvature that q would
    have at its best: 1/sd² in a mean, 2 in the log of an sd. Steps that shrink come to rest wherever they are.
    """
    mean, sd = of_q(trained(same_training(spec)))
    if is_planted(STUCK):
        mean, sd = of_q(training.start(spec))
    if not (np.all(np.isfinite(mean)) and np.all(np.isfinite(sd))):
        return Check("settled", "fail", math.inf, SETTLED, WORDS.phrase("checks.broken"), "nats", kind="run")
    slope, covariance = exact_gradient(spec, mean, sd, SLOPES, spec.seed + 1)
    scale = np.concatenate([sd, math.sqrt(0.5) * sd / -np.expm1(-sd)])  # of a mean; of ρ, by way of log sd
    gain = 0.5 * float((scale**2 * (slope**2 - np.diag(covariance))).sum())
    verdict: Verdict = "pass" if gain < SETTLED else "fail" if spec.variant == "exact" and gain > LOST else "unknown"
    rest = {"pass": "at_rest", "fail": "lost"}.get(verdict, "on_the_way" if spec.variant == "exact" else "elsewhere")
    sentence = f"{WORDS.phrase('checks.promise', gain=max(gain, 0.0))}{WORDS.phrase(f'checks.{rest}')}"
    return Check("settled", verdict, gain, SETTLED, sentence, "nats", kind="run")


def chains_checks(spec: WeightsSpec, cancel: Any) -> list[Check]:
    """Whether NUTS can stand as the truth: agreement on functions and the log density, never on weights."""
    found = reference(spec, cancel)
    at = watched(spec)
    values = np.concatenate([found.values[:, :, at], found.recording.log_density[:, :, None]], axis=2)
    names = [WORDS.phrase("checks.function", place=_place(spec, row)) for row in at]
    assert found.recording.energy is not None
    return [
        agreement_check(values, [*names, WORDS.phrase("checks.log_density")], WORDS.phrase("checks.agree")),
        divergence_check(found.recording.divergent),
        energy_check(found.recording.energy),
    ]


def _place(spec: WeightsSpec, row: int) -> str:
    return "x = " + ", ".join(f"{value:.2g}" for value in places(spec.problem)[row])


def _distance_check(spec: WeightsSpec, cancel: Any) -> Check:
    """How far q is from the posterior, told and not judged."""
    name = WORDS.phrase("checks.from_posterior")
    if spec.prior == "mixture":
        return unknown(name, WORDS.phrase("checks.other_prior"), kind="numbers")
    told = ", ".join(f"{line.ratio:.2g} {line.name}" for line in compared(spec, cancel))
    return unknown(name, WORDS.phrase("checks.ratios", told=told), kind="numbers")


def _bound_check(spec: WeightsSpec, cancel: Any) -> list[Check]:
    """No q has an ELBO above the log evidence."""
    if spec.prior == "mixture":
        return []  # its evidence is not computed here
    try:
        found = evidence(spec, cancel)
    except (TargetError, SpecError) as error:
        return [unknown("bound", WORDS.phrase("checks.no_evidence", error=error), kind="kernel")]
    value, wobble = elbo(spec)
    above = value - found.log_evidence
    z = above / max(math.hypot(wobble, found.error), 1e-9)
    p = 0.5 * math.erfc(z / math.sqrt(2.0))
    sentence = WORDS.phrase(
        "checks.bound",
        elbo=value,
        wobble=wobble,
        evidence=found.log_evidence,
        error=found.error,
        gap=-above,
        copies=math.exp(copies(spec)),
        below=copies(spec),
    )
    return [Check("bound", "pass" if p >= ALONE else "fail", z, Z_LIMIT, sentence, "SE", kind="kernel", p=p)]
