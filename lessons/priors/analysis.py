"""What the lesson computes: the run on the stage, the same data under every prior, checks and diagnostics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import diagnostics
from engine import predicted as predictions
from engine.judge import Check, Kernel, agreement_check, divergence_check, energy_check, gradient_check, kernel_of, unknown
from engine.kept import kept
from engine.networks import NetworkRecording, NetworkRun, start_network
from engine.networks.scales import Groups, groups_of
from engine.predicted import Predicted
from engine.ticket import Lock
from lessons.priors.spec import REACH, WORDS, PriorsLesson

Array = NDArray[np.float64]

NODES = 61  # inputs of a curve
BAND = (0.05, 0.95)
PRIORS = ("fixed", "per_layer", "per_input", "per_weight", "own_mean")
NAMES = WORDS["names"]
CURVE = 61  # places of a density
BEGINNING = 10  # sweeps after the warm-up that are shown while the rest is made


def family_of(spec: PriorsLesson) -> Groups:
    """The layers' weights and biases, with six inputs the first weights input by input: what bars are drawn of,
    whatever is shared."""
    return groups_of(spec.network(), "per_layer" if spec.data == "wave" else "per_input")


def members(spec: PriorsLesson) -> NDArray[np.int64]:
    """Numbers of the weights that are looked at: a layer's, with six inputs those of the chosen one."""
    families = family_of(spec)
    name = f"W1[:,{spec.input}]" if spec.data == "inputs" and spec.look == "W1" else spec.look
    return np.flatnonzero(families.group == families.names.index(name))


def looked_at(spec: PriorsLesson) -> str:
    """Those weights in words."""
    if spec.look == "W1" and spec.data == "inputs":
        return WORDS.phrase("looked_at.of_input", input=spec.input)
    return WORDS.phrase(f"looked_at.{spec.look}")


@dataclass(frozen=True, eq=False)
class Run:
    """The chain on the stage, of T sweeps.

    theta, sd : (T, dim) weights and the prior sd that each saw in the *next* sweep; noise_sd : (T,)
    """

    recording: NetworkRecording
    theta: Array
    sd: Array
    noise_sd: Array


def simulate(spec: PriorsLesson) -> Run:
    """The run of `spec`; the same object for all ways of looking at it."""
    return _simulate(*_deciding(spec))


def beginning(spec: PriorsLesson) -> Run | None:
    """Its first sweeps, where all of them take long; None where they are there."""
    key = _deciding(spec)
    return None if _simulate.peek(*key) is not None else _run_of(_chain(*key).upto(BEGINNING))


def compared(spec: PriorsLesson, weights: str) -> Run:
    """One chain under another prior, on the same data with the same seed."""
    return _simulate(spec.simulation().replace(weights="per_layer", variant="exact"), weights)


def _deciding(spec: PriorsLesson) -> tuple[PriorsLesson, str]:
    return spec.simulation().replace(weights="per_layer"), spec.weights


@kept
def _simulate(spec: PriorsLesson, weights: str) -> Run:
    return _run_of(_chain(spec, weights).upto(spec.draws))


def _run_of(found: NetworkRecording) -> Run:
    return Run(found, found.draws[0], found.prior_sd[0], found.noise_sd[0])


class _Chain:
    """One chain, advanced as far as anybody asked."""

    def __init__(self, spec: PriorsLesson, weights: str):
        self._lock, self._run = Lock(), _start(spec, chains=1, weights=weights)

    def upto(self, draws: int) -> NetworkRecording:
        run = self._run
        with self._lock:
            run.advance(run.left(draws))
            return run.recording().first(draws)  # type: ignore[return-value]


_chain = kept(_Chain)


def sampled(spec: PriorsLesson, **changes: Any) -> NetworkRecording:
    """A recording with the settings of `spec`, some changed."""
    run = _start(spec, **changes)
    run.advance(run.total)
    return run.recording()


def _start(spec: PriorsLesson, **changes: Any) -> NetworkRun:
    data = spec.values()
    return start_network(spec.network(), data.x, data.y, **_fields(spec.sweep(**changes)))


def predicted(spec: PriorsLesson, recording: NetworkRecording) -> Predicted:
    """What the draws say of the data."""
    data = spec.values()
    return predictions.values(data.y, recording.outputs(data.x)[..., 0], recording.noise_sd, spec.seed)


def _fields(settings: Any) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in settings.declarations()}


# Functions ------------------------------------------------------------------------------------------------------------


def grid(spec: PriorsLesson) -> tuple[Array, Array]:
    """Places (NODES,) and inputs (NODES, inputs): the chosen input varied, the others 0."""
    x = np.linspace(-REACH[spec.data], REACH[spec.data], NODES)
    inputs = np.zeros((NODES, spec.network().inputs))
    inputs[:, spec.input - 1] = x
    return x, inputs


@dataclass(frozen=True, eq=False)
class Functions:
    """Curves (T, NODES) at x (NODES,), their 90 % band (2, NODES), the truth."""

    x: Array
    curves: Array
    band: Array
    truth: Array


@kept
def functions(spec: PriorsLesson, weights: str | None = None) -> Functions:
    """The functions of the run on the stage, or of the same run under another prior."""
    return functions_of(spec, simulate(spec) if weights in (None, spec.weights) else compared(spec, weights))


def functions_of(spec: PriorsLesson, run: Run) -> Functions:
    """Those of a run, or of its beginning."""
    x, inputs = grid(spec)
    curves = run.recording.outputs(inputs)[0, :, :, 0]
    return Functions(x, curves, np.quantile(curves, BAND, axis=0), spec.truth(inputs))


# Gibbs, one precision at a time ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GibbsDraw:
    """The draw of one precision in every sweep.

    count, squares : n weights in its group and the sum of their squares (T,), or of |w| where that is the mistake
    shape, rate : of the gamma distribution it was drawn from (T,)
    tau : (T,) what came out
    """

    count: int
    squares: Array
    shape: Array
    rate: Array
    tau: Array


def gibbs_draw(spec: PriorsLesson, run: Run) -> GibbsDraw:
    """The draws of the precision of the first weight looked at."""
    j = members(spec)[0]
    groups = run.recording.groups
    g = groups.group[j]
    mine = groups.group == g
    sizes = np.abs(run.theta[:, mine]) if spec.variant == "no_square" else run.theta[:, mine] ** 2
    squares = (groups.factor[mine] * sizes).sum(axis=1)
    count, learned = int(mine.sum()), spec.weights != "fixed"
    shape = spec.weight_shape + (0.0 if spec.variant == "no_half_count" else 0.5 * count)
    rate = spec.weight_rate + 0.5 * squares
    if spec.variant == "rate_as_scale":
        rate = 1.0 / rate
    tau = run.recording.precisions[0, :, g]
    return GibbsDraw(count, squares, np.full(len(tau), shape if learned else np.nan), rate, tau)


def log_sd_density(log10_sd: Array, shape: Array, rate: Array) -> Array:
    """Density of log10 s, s = 1/√τ, τ ~ Gamma(shape, rate), at places (n,): (T, n) for shapes and rates (T,)."""
    from scipy.special import gammaln

    log_tau = -2.0 * math.log(10.0) * log10_sd
    a, b = np.asarray(shape)[:, None], np.asarray(rate)[:, None]
    log_p = a * np.log(b) - gammaln(a) + a * log_tau - b * np.exp(log_tau)  # of log τ
    return np.asarray(2.0 * math.log(10.0) * np.exp(log_p))


def expected_sd(w: Array, others: float, count: int, shape: float, rate: float) -> Array:
    """Prior sd that a weight w sees: 1/√E[τ | w], with the mean square of the count − 1 others that share its τ."""
    squares = np.asarray(w) ** 2 + (count - 1) * others
    return np.asarray(np.sqrt((rate + 0.5 * squares) / (shape + 0.5 * count)))


def family_sds(spec: PriorsLesson, found: NetworkRecording) -> Array:
    """(chains, T, families): root mean square of the prior sds in each family."""
    families = family_of(spec)
    variance = found.prior_sd**2
    if found.means.size:
        variance = variance + found.means**2  # what the prior expects of w², its mean being its own
    return np.sqrt(np.stack([variance[:, :, families.group == g].mean(axis=2) for g in range(len(families.names))], -1))


# How well each prior predicts -----------------------------------------------------------------------------------------

TESTED = 400  # new points
LONG = {"chains": 2, "draws": 600, "warmup": 400}


@dataclass(frozen=True)
class Score:
    """Of one prior on new points: error of the mean, mean log predictive density, share inside the 90 % band; and the
    R-hat and the divergences behind them."""

    rmse: float
    log_score: float
    each: Array  # log predictive density of every new point
    coverage: float
    rhat: float
    divergent: float
    sds: Array


@kept
def scores(spec: PriorsLesson, weights: str) -> Score:
    """The score of one prior, from two longer chains."""
    return _scores(spec.simulation().replace(weights="per_layer", variant="exact"), weights)


@kept
def _scores(spec: PriorsLesson, weights: str) -> Score:
    found = sampled(spec, weights=weights, **LONG)
    fresh = spec.replace(points=100, data_seed=(spec.data_seed + 5000) % 10_000)
    parts = [fresh.replace(data_seed=(fresh.data_seed + i) % 10_000).values() for i in range(TESTED // 100)]
    x, y = np.concatenate([part.x for part in parts]), np.concatenate([part.y for part in parts])
    low, high = found.quantiles(x, BAND, noise=True, seed=spec.seed)[:, :, 0]
    mean = found.bands(x).mean[:, 0]
    places = grid(spec)[1][:: NODES // 6]
    each = found.log_score(x, y).ravel()
    return Score(
        rmse=float(np.sqrt(np.mean((y - mean) ** 2))),
        log_score=float(each.mean()),
        each=each,
        coverage=float(np.mean((low <= y) & (y <= high))),
        rhat=float(np.nanmax(found.function_diagnostics(places).rhat)),
        divergent=float(found.divergent.mean()),
        sds=np.median(family_sds(spec, found), axis=(0, 1)),
    )


# Checks and diagnostics -----------------------------------------------------------------------------------------------


JUDGED = {"chains": 4, "draws": 4000, "warmup": 500}
PIECE = 100  # sweeps between two looks at the ticket
MISTAKES = WORDS["mistakes"]


def kernels(spec: PriorsLesson) -> list[Kernel]:
    """The sweep of the chain on the stage, NUTS and Gibbs in turns."""
    found = kernel_of(simulate(spec).recording, MISTAKES.get(spec.variant, ""))
    return [found] if found is not None else []


def audit(spec: PriorsLesson, cancel: Any = None) -> Sequence[Check]:
    """The gradient against differences."""
    data, net = spec.values(), spec.network()
    return [gradient_check(net.posterior(data.x, data.y), net.prior_draws(5, spec.seed))]


def checks(spec: PriorsLesson, cancel: Any = None) -> Sequence[Check]:
    """Longer chains with the settings of the stage: do they agree on the function and on the prior's unknowns?"""
    run = _start(spec, **JUDGED)
    while not run.done:
        if cancel is not None and cancel.is_set():
            raise InterruptedError
        run.advance(PIECE)
    found = run.recording()
    assert found.energy is not None
    names, values = diagnosed(spec, found)
    values = np.concatenate([values, found.log_density[:, :, None]], axis=2)
    told = [agreement_check(values, [*names, WORDS.phrase("checks.log_density")]), divergence_check(found.divergent)]
    words = WORDS.phrase("checks.no_answer")
    return [*told, energy_check(found.energy), unknown(WORDS.phrase("checks.answer"), words, kind="numbers")]


@dataclass(frozen=True, eq=False)
class Diagnosed:
    """A longer run: f at three inputs, log10 of the families' sds, log10 of the noise sd; what it cost."""

    names: tuple[str, ...]
    summary: diagnostics.Summary
    gradients: int
    seconds: float
    divergent: float
    sweeps: int


@kept
def _diagnose(spec: PriorsLesson) -> Diagnosed:
    found = sampled(spec, draws=500)
    names, values = diagnosed(spec, found)
    gradients = int(found.gradient_evaluations.sum() + found.warmup_gradient_evaluations.sum())
    return Diagnosed(
        tuple(names), diagnostics.summarise(values), gradients, found.seconds, float(found.divergent.mean()), found.divergent.size
    )


def diagnosed(spec: PriorsLesson, found: NetworkRecording) -> tuple[list[str], Array]:
    """What chains are compared by: names, and values (chains, draws, q)."""
    x, inputs = grid(spec)
    at = [NODES // 6, NODES // 2, NODES - 1 - NODES // 6]
    names, parts = [WORDS.phrase("checks.function", x=x[i]) for i in at], [found.outputs(inputs[at])[..., 0]]
    if spec.weights != "fixed":
        families = family_of(spec).names
        names += [WORDS.phrase("checks.sd", name=name) for name in families]
        parts.append(np.log10(family_sds(spec, found)))
    if spec.noise == "learned":
        names.append(WORDS.phrase("checks.noise"))
        parts.append(np.log10(found.noise_sd)[..., None])
    return names, np.concatenate(parts, axis=2)


def diagnose(spec: PriorsLesson) -> Diagnosed:
    """R-hat and effective draws of what does not depend on the order of the hidden units."""
    return _diagnose(spec.simulation())
