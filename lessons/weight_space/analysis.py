"""What the lesson computes: the chains, functions and copies of their draws, R-hat along the run, verdicts, checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datasets.xor import xor
from engine import network
from engine import predicted as predictions
from engine.diagnostics import Summary, split_rhat, summarise
from engine.judge import (
    Average,
    Check,
    Kernel,
    Verdict,
    agreement_check,
    averages_check,
    divergence_check,
    energy_check,
    gradient_check,
    kernel_of,
    unknown,
)
from engine.kept import kept
from engine.networks import Network, symmetry
from engine.networks.predictive import outputs, probabilities
from engine.networks.quadrature import Mixture, one_unit
from engine.predicted import Predicted
from engine.recording import Recording
from engine.samplers.run import Run, start
from engine.ticket import Lock
from lessons.weight_space.spec import ORDERS, REACH, WORDS, WeightSpaceSpec

Array = NDArray[np.float64]

CORNER = 10  # XOR points around each corner
RADIUS = np.sqrt(0.5)  # of the circle through the four corners
DATA_NOISE = 0.2  # sd of the noise in the hump's points
KEPT = {1: 3000, 2: 2000, 3: 1500, 4: 1000}  # draws of each chain that diagnostics and signs use, by number of units
GRADIENTS = 4  # weights at which the gradient is tried
MAX_DEPTH = 8  # doublings of a NUTS trajectory: the picture waits for the chains
TARGET_ACCEPT = 0.95  # of NUTS: with longer steps paths break where a unit is steep
PIECE = 100  # transitions between two looks at the ticket
MARKS = 24  # times along the run at which R-hat is worked out
FEWEST = 8  # draws of each chain before anything is said about them
APART = 1.1  # split R-hat above which chains are said to be unmixed
SAMPLE = 400  # draws on which a symmetry is tried
ROUNDING = 1000.0  # units in the last place that sums in another order may differ by


# Data and network -----------------------------------------------------------------------------------------------------


def hump(x: Array) -> Array:
    """The curve behind the hump: a step up, and a step down."""
    return np.tanh(2.5 * (x + 0.9)) - np.tanh(2.5 * (x - 0.9)) - 1.0


@kept
def _data(data: str, points: tuple[tuple[float, float, int], ...]) -> tuple[Array, Array]:
    if data == "xor":
        clouds = xor(CORNER, seed=1)
        return clouds.x, clouds.y.astype(float)
    if data == "points":
        rows = np.array(points, dtype=float).reshape(-1, 3)
        return rows[:, :1], rows[:, 1]
    if data == "hump":
        x = np.linspace(-1.8, 1.8, 12)
        noise = np.random.Generator(np.random.SFC64(3)).standard_normal(len(x))
        return x[:, None], hump(x) + DATA_NOISE * noise
    if data == "gap":
        x = np.concatenate([np.linspace(-1.8, -0.8, 5), np.linspace(0.8, 1.8, 5)])
        return x[:, None], np.sign(x)
    x = np.concatenate([np.linspace(-1.8, -1.2, 4), np.linspace(-0.6, 0.6, 5), np.linspace(1.2, 1.8, 3)])
    return x[:, None], np.where(np.abs(x) < 1.0, 1.0, -1.0)


def data_of(spec: WeightSpaceSpec) -> tuple[Array, Array]:
    """Inputs (n, inputs) and targets (n,)."""
    return _data(spec.data, spec.points if spec.data == "points" else ())


def network_of(spec: WeightSpaceSpec) -> Network:
    """The network with its prior and likelihood."""
    shape: dict[str, Any] = {"width": spec.units, "activation": spec.activation, "prior_sd": spec.prior_sd}
    if spec.data == "xor":
        return network(2, 1, likelihood="bernoulli", **shape)
    return network(1, 1, likelihood="gaussian", noise_sd=spec.noise_sd, **shape)


def inputs_at(spec: WeightSpaceSpec, places: Array) -> Array:
    """Network inputs at places (m,) of the function's axis. For XOR a place is an angle in quarter turns, on the circle
    through the four corners."""
    if spec.data != "xor":
        return np.asarray(places, dtype=float)[:, None]
    angle = np.asarray(places) * np.pi / 2
    return RADIUS * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def function_at(spec: WeightSpaceSpec, draws: Array, places: Array) -> Array:
    """The function of every draw (..., dim) at every place (m,): (..., m). For XOR the probability of class 1."""
    flat, x, net = draws.reshape(-1, draws.shape[-1]), inputs_at(spec, places), network_of(spec)
    values = probabilities(net, flat, x)[:, :, 1] if net.classes else outputs(net, flat, x)[:, :, 0]
    return values.reshape(*draws.shape[:-1], len(x))


def watched(spec: WeightSpaceSpec) -> Array:
    """The fixed inputs at which the function is diagnosed: every half unit, on the circle each once."""
    places = np.linspace(-REACH, REACH, 9)
    return places[1:] if spec.data == "xor" else places


def column(spec: WeightSpaceSpec, weight: str) -> int:
    """Where a weight stands among the parameters of the network."""
    return order_of(spec)[spec.weights.index(weight)]


def order_of(spec: WeightSpaceSpec) -> list[int]:
    """The parameter's number of every weight of `spec.weights`."""
    parts, last = symmetry.by_unit(network_of(spec), np.arange(float(network_of(spec).dim)))
    return [*parts.ravel().astype(int), int(last)]


def place_of(spec: WeightSpaceSpec, weight: str) -> tuple[int, int] | None:
    """Unit and part of a weight, None for the output bias."""
    return None if weight == "c" else (int(weight[1:]) - 1, spec.kinds.index(weight[0]))


# The chains -----------------------------------------------------------------------------------------------------------


class _Chains:
    """One run, advanced as far as anybody asked."""

    def __init__(self, spec: WeightSpaceSpec):
        self.lock = Lock()
        target = network_of(spec).posterior(*data_of(spec))
        draws = KEPT[spec.units]
        kept: dict[str, Any] = {"chains": spec.chains, "warmup": spec.warmup, "seed": spec.seed}
        self.run: Run = start(target, "nuts", draws=draws, max_depth=MAX_DEPTH, target_accept=TARGET_ACCEPT, **kept)

    def upto(self, draws: int, cancel: Any = None) -> Recording:
        with self.lock:
            while self.run.completed < draws:
                if cancel is not None and cancel.is_set():
                    raise InterruptedError
                left = self.run.left(draws)
                self.run.advance(left if cancel is None else min(left, PIECE))
            return self.run.recording()


@kept
def _begun(spec: WeightSpaceSpec) -> _Chains:
    return _Chains(spec)


def _chains(spec: WeightSpaceSpec) -> _Chains:
    return _begun(spec.simulation())


def draws_of(spec: WeightSpaceSpec) -> Array:
    """The draws that are shown, (chains, draws, dim), as sampled."""
    return on_stage(spec).draws


def beginning(spec: WeightSpaceSpec) -> Array | None:
    """Their first draws, up to that where the picture begins; None where all that are shown are there."""
    chains, first = _chains(spec), start_of(spec) + 1
    return None if chains.run.completed >= spec.draws else chains.upto(first).first(first).draws


def start_of(spec: WeightSpaceSpec) -> int:
    """The draw that is shown first, from 0."""
    return min(spec.draws - 1, spec.draws // 4)


def on_stage(spec: WeightSpaceSpec) -> Recording:
    """The chains as far as they are shown."""
    return _chains(spec).upto(spec.draws).first(spec.draws)


def predicted(spec: WeightSpaceSpec, draws: Array) -> Predicted | None:
    """What draws (chains, draws, dim) say of the data; None without any."""
    (x, y), net, flat = data_of(spec), network_of(spec), draws.reshape(-1, draws.shape[2])
    if not len(y):
        return None
    shape = (*draws.shape[:2], len(y))
    if net.classes:
        return predictions.classes(y, probabilities(net, flat, x)[:, :, 1].reshape(shape), spec.seed)
    return predictions.values(y, outputs(net, flat, x)[:, :, 0].reshape(shape), net.noise_sd, spec.seed)


def longer(spec: WeightSpaceSpec, cancel: Any) -> Recording:
    """The same chains sampled on, `KEPT` draws each. Raises InterruptedError when cancelled."""
    return _chains(spec).upto(KEPT[spec.units], cancel)


def compared(spec: WeightSpaceSpec, draws: Array) -> Array:
    """Draws (chains, n, dim) with their units sorted by the rule of the spec."""
    return symmetry.ordered(network_of(spec), draws, spec.order)


# R-hat along the run --------------------------------------------------------------------------------------------------


def running_rhat(values: Array, draws: int) -> Array:
    """`split_rhat` after each of the first n of `draws` draws, (n, q): worked out at some `MARKS` times and held between.
    NaN before `FEWEST`.
    """
    n = values.shape[1]
    marks = np.unique(np.linspace(FEWEST, draws, MARKS).astype(int))
    found = np.stack([np.full(values.shape[2], np.nan), *(split_rhat(values[:, :mark]) for mark in marks[marks <= n])])
    return found[np.searchsorted(marks, np.arange(1, n + 1), side="right")]


# The copy of each draw ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Copied:
    """Draws of one chain and what the chosen operation makes of them.

    before, after : (n, dim)
    log_density, log_density_after : (n,), log p(y, θ) in nats
    ulps : (n,), their difference in units in the last place of the first
    function_error : (n,), largest change of the function on the shown range
    """

    before: Array
    after: Array
    log_density: Array
    log_density_after: Array
    ulps: Array
    function_error: Array


GRID = np.linspace(-REACH, REACH, 61)  # where a function is drawn …
COARSE_GRID = np.linspace(-REACH, REACH, 41)  # … and where those of many chains are


def copied(spec: WeightSpaceSpec, draws: Array, seed: int | None = None) -> Copied:
    """Apply the symmetry of the spec, or what is made of it by mistake, to draws (n, dim)."""
    net = network_of(spec)
    places, signs = symmetry.chosen(net, spec.symmetry, len(draws), spec.seed if seed is None else seed)
    after = symmetry.act(net, draws, places, signs, spec.mistake)
    target = net.posterior(*data_of(spec))
    first, second = (target.log_density_many(np.ascontiguousarray(theta)) for theta in (draws, after))
    change = np.abs(function_at(spec, after, GRID) - function_at(spec, draws, GRID)).max(axis=1)
    return Copied(draws, after, first, second, np.abs(second - first) / np.spacing(np.abs(first)), change)


def is_symmetry(spec: WeightSpaceSpec) -> bool:
    """Whether mathematics says that the chosen operation changes nothing."""
    return spec.mistake == "none" and not (spec.symmetry == "flip" and spec.activation != "tanh")


# The prediction at one input ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Prediction:
    """f(x′) of all chains, (chains, n), and what it looks like.

    cut : between the two halves of the pooled draws, each nearest to its own mean
    humps : 1 or 2 in the histogram of all chains together
    upper : (chains,), share of each chain's draws above the cut
    rhat : split R-hat of f(x′)
    verdict : "one_hump", "uncertainty", "unmixed" or "open"
    """

    values: Array
    cut: float
    humps: int
    upper: Array
    rhat: float
    verdict: str


VERDICTS = ("one_hump", "uncertainty", "unmixed", "open")


def prediction(values: Array) -> Prediction:
    """Judge predictions (chains, n) at one input."""
    cut = _cut(values.ravel())
    humps = _humps(values.ravel(), cut)
    found = float(split_rhat(values[:, :, None])[0])
    upper = (values > cut).mean(axis=1)
    if humps == 1:
        verdict = "one_hump"
    elif not found < APART:
        verdict = "unmixed"
    else:
        verdict = "uncertainty" if upper.min() > 0.0 and upper.max() < 1.0 else "open"
    return Prediction(values, cut, humps, upper, found, verdict)


def _cut(values: Array) -> float:
    """Half-way between the means of the values below and above it: two means, iterated to rest."""
    cut = 0.5 * float(values.min() + values.max())
    for _ in range(100):
        low, high = values[values <= cut], values[values > cut]
        if not len(low) or not len(high):
            break
        cut, last = 0.5 * float(low.mean() + high.mean()), cut
        if cut == last:
            break
    return cut


def _humps(values: Array, cut: float) -> int:
    """2 if the histogram has a valley at the cut: fewer draws there than three quarters of the lower of two peaks."""
    width = 0.35 * max(float(np.std(values)), 1e-12)

    def near(at: float) -> float:
        return float(np.mean(np.abs(values - at) < width))

    low, high = values[values <= cut], values[values > cut]
    if min(len(low), len(high)) < 0.02 * len(values):
        return 1
    peaks = min(max(near(at) for at in np.quantile(side, np.linspace(0.1, 0.9, 9))) for side in (low, high))
    return 2 if near(cut) < 0.75 * peaks else 1


def exact_prediction(spec: WeightSpaceSpec, at: float | None = None) -> Mixture | None:
    """The posterior of f(x′) by quadrature: one hidden unit and a curve. None elsewhere."""
    if spec.units != 1 or spec.data == "xor":
        return None
    x, y = data_of(spec)
    place = spec.at if at is None else at
    return one_unit(tuple(x[:, 0]), tuple(y), place, spec.activation, spec.prior_sd, spec.noise_sd)


# The study: longer chains, diagnosed ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Study:
    """The same chains sampled on, and their diagnostics by arviz-stats.

    draws : (chains, n, dim)
    function : (chains, n, m), at `watched`
    weights : R-hat and ESS of `spec.weights` as sampled; those of the sorted draws by rule in `sorted`
    functions : R-hat and ESS of the function
    step_size : of NUTS, mean over the chains; divergent : (chains,), divergent transitions
    gradients, seconds : what all of it cost, warm-up included
    """

    draws: Array
    function: Array
    weights: Summary
    sorted: dict[str, Summary]
    functions: Summary
    step_size: float
    divergent: NDArray[np.int64]
    gradients: int
    seconds: float


@kept
def _studied(spec: WeightSpaceSpec) -> Study:
    run = longer(spec, None)
    net, some = network_of(spec), order_of(spec)
    function = function_at(spec, run.draws, watched(spec))
    arranged = {rule: summarise(symmetry.ordered(net, run.draws, rule)[..., some]) for rule in ORDERS}
    gradients = int(run.gradient_evaluations.sum() + run.warmup_gradient_evaluations.sum())
    assert run.step_size is not None  # NUTS notes it
    return Study(
        run.draws,
        function,
        arranged["none"],
        arranged,
        summarise(function),
        float(run.step_size.mean()),
        run.divergent.sum(axis=1),
        gradients,
        run.seconds,
    )


def study(spec: WeightSpaceSpec, cancel: Any) -> Study:
    """The longer chains of `spec`. Raises InterruptedError when cancelled."""
    longer(spec, cancel)
    return _studied(spec.simulation())


# Checks ---------------------------------------------------------------------------------------------------------------


def kernels(spec: WeightSpaceSpec) -> list[Kernel]:
    """NUTS with the step size and mass of the first chain on the stage."""
    found = kernel_of(_chains(spec).upto(spec.draws))
    return [found] if found is not None else []


def audit(spec: WeightSpaceSpec, cancel: Any) -> Sequence[Check]:
    """The gradient against differences; the operation on draws."""
    net, draws = network_of(spec), draws_of(spec)
    gentle = min(1.0, 1.0 / spec.prior_sd) * net.prior_draws(GRADIENTS, spec.seed)
    return [gradient_check(net.posterior(*data_of(spec)), gentle), symmetry_check(spec, draws)]


def checks(spec: WeightSpaceSpec, cancel: Any) -> Sequence[Check]:
    """The chains in function space, and the function against what is exact."""
    found = study(spec, cancel)
    run = longer(spec, cancel)
    assert run.energy is not None
    values = np.concatenate([found.function, run.log_density[:, :, None]], axis=2)
    names = [*(f"f({at:g})" for at in watched(spec)), WORDS.phrase("checks.log_density")]
    told = [agreement_check(values, names), divergence_check(run.divergent), energy_check(run.energy)]
    return [*told, truth_check(spec, found)]


def symmetry_check(spec: WeightSpaceSpec, draws: Array) -> Check:
    """Does the operation leave log p(y, θ) as it was, on draws of all chains?"""
    flat = draws.reshape(-1, draws.shape[-1])
    some = flat[np.linspace(0, len(flat) - 1, SAMPLE).astype(int)]
    made = copied(spec, some, seed=spec.seed + 1)
    error = float(np.abs(made.log_density_after - made.log_density).max())
    limit = ROUNDING * float(np.spacing(np.abs(made.log_density).max()))
    moved = float(made.function_error.max())
    sentence = WORDS.phrase("checks.symmetry_sentence", draws=SAMPLE, error=error, ulps=np.median(made.ulps), moved=moved)
    verdict: Verdict = "pass"
    if not is_symmetry(spec):
        sentence = f"{sentence} {WORDS.phrase('checks.no_symmetry')}"
        verdict = "unknown"
    if error > limit or moved >= 1e-9:
        verdict = "fail"
    return Check(WORDS.phrase("checks.symmetry"), verdict, error, limit, sentence, "nats", kind="kernel")


def truth_check(spec: WeightSpaceSpec, found: Study) -> Check:
    """Mean and mean square of the function at the watched inputs against quadrature: one hidden unit and a curve."""
    name = WORDS.phrase("checks.prediction")
    if spec.units > 1 or spec.data == "xor":
        return unknown(name, WORDS.phrase("checks.no_answer"), kind="numbers")
    truths = [exact_prediction(spec, float(at)) for at in watched(spec)]
    averages = []
    for j, (at, truth) in enumerate(zip(watched(spec), truths, strict=True)):
        if truth is None:
            return unknown(name, WORDS.phrase("checks.too_coarse"), kind="numbers")
        values, what = found.function[:, :, j], f"f({at:g})"
        averages.append(Average(WORDS.phrase("checks.mean", function=what), values, truth.expectation))
        square = truth.spread**2 + truth.expectation**2
        averages.append(Average(WORDS.phrase("checks.mean_square", function=what), values**2, square))
    return averages_check(name, averages)
