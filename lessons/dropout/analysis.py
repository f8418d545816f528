"""What the lesson computes: data, the trained network, every mask counted, single passes, the posterior, the checks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datasets.images import Images
from datasets.xor import xor
from engine import ticket
from engine.diagnostics import Summary, summarise
from engine.judge import Check, Kernel, TransitionKernel, agreement_check, divergence_check, energy_check, joint_model, two_looks, unknown
from engine.judge.looks import correlation_of, looked
from engine.judge.recordings import LATER
from engine.judge.training import rest_check, training_gradient_check
from engine.kept import kept
from engine.networks import Network, network
from engine.networks.predictive import outputs
from engine.recording import Recording
from engine.samplers import run as runs
from engine.samplers.run import Run
from engine.training import activation
from engine.variational import NetworkFit, NetworkRun, start_network
from lessons.dropout import digits
from lessons.dropout.spec import PLANE, REACH, WORDS, DropoutSpec, factor
from lessons.families.digit_posteriors.training import inputs

Array = NDArray[np.float64]

GRID = 121  # places of a curve
CELLS = 32  # of a map, a side
GAP, EDGE = 0.7, 2.0  # data of the curve lie where GAP < |x| < EDGE
CHECKED = 8000  # passes that are compared with the sum over all masks, at a first look
CHAINS, WARMUP, DRAWS, DEPTH = 4, 300, 500, 7  # of NUTS
SIDE = 0.15  # of the probability, that a heap of masks must hold to be told of
STILL = 1e-5  # outputs that differ by less are the same
AT_DATA, IN_GAP, AT_CENTRE, FAR_AWAY = (WORDS.phrase(f"regions.{name}") for name in ("data", "gap", "centre", "far"))
REPORTS = 100  # of a training
SAME = 1e-4  # the mean network in single precision against a sum over masks: relative


# Data and network -----------------------------------------------------------------------------------------------------


def curve(x: Array) -> Array:
    """The function behind the regression data."""
    return np.sin(2.0 * x)


def data(spec: DropoutSpec) -> tuple[Array, Array]:
    """x (n, inputs) and y (n,): values, or classes 0 and 1."""
    if spec.classifies:
        clouds = xor(max(1, spec.rows // 4), seed=spec.seed)
        return clouds.x, clouds.y.astype(np.float64)
    if spec.data == "points":
        table = np.array(spec.points, dtype=np.float64)
        return np.ascontiguousarray(table[:, :1]), np.ascontiguousarray(table[:, 1])
    rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence([spec.seed, 1])))
    side = np.where(np.arange(spec.rows) % 2, 1.0, -1.0)
    draws = rng.random((spec.rows, 1)), rng.standard_normal(spec.rows)
    x = side * (GAP + (EDGE - GAP) * draws[0][:, 0])
    return x[:, None], curve(x) + spec.noise_sd * draws[1]


def model(spec: DropoutSpec) -> Network:
    """The network with its prior N(0, σ²) on every weight and bias."""
    if spec.classifies:
        return network(2, 1, spec.units, activation=spec.activation, likelihood="bernoulli", prior_sd=spec.prior_sd)
    return network(1, 1, spec.units, activation=spec.activation, likelihood="gaussian", noise_sd=spec.noise_sd, prior_sd=spec.prior_sd)


def places(spec: DropoutSpec) -> Array:
    """Where functions are drawn: (GRID, 1), or the cells of the plane (CELLS², 2)."""
    if not spec.classifies:
        return np.linspace(-REACH, REACH, GRID)[:, None]
    middle = PLANE * ((2 * np.arange(CELLS) + 1) / CELLS - 1.0)
    return np.stack(np.meshgrid(middle, middle), axis=-1).reshape(-1, 2)


def probe(spec: DropoutSpec) -> Array:
    """(1, inputs) the place x* of the numbers."""
    return np.array([[spec.probe, 0.0][: spec.inputs]])


def shown(spec: DropoutSpec, values: Array) -> Array:
    """What is drawn of outputs: the values themselves, or probabilities of class 1."""
    return 1.0 / (1.0 + np.exp(-values)) if spec.classifies else values


# The trained network --------------------------------------------------------------------------------------------------


def fit(spec: DropoutSpec) -> NetworkFit:
    """The network after training; the same object for settings that differ only in how it is looked at."""
    return _fit(spec.trained_alone())


@kept
def _fit(spec: DropoutSpec) -> NetworkFit:
    run = training(spec)
    run.advance(run.total)
    return run.fit()


def training(spec: DropoutSpec) -> NetworkRun:
    """The training before its first step."""
    x, y = data(spec)
    return start_network(
        x,
        y,
        method=spec.method,
        hidden=(spec.units,),
        activation=spec.activation,
        prior_sd=spec.prior_sd,
        likelihood="bernoulli" if spec.classifies else "gaussian",
        noise_sd=spec.noise_sd,
        keep=spec.keep,
        scaling=spec.scaling,
        epochs=spec.steps,
        batch=len(x),
        step_size=spec.step_size,
        inclusion_step_size=0.05,
        seed=spec.seed,
        report_every=max(1, spec.steps // REPORTS),
    )


def keeps(spec: DropoutSpec) -> tuple[float, float]:
    """Probabilities that an input and that a hidden unit is kept: the given or the learned ones."""
    inputs, units = fit(spec).posterior.keep
    return float(inputs), float(units)


@dataclass(frozen=True, eq=False)
class Weights:
    """Of the mean network: hidden (inputs, k), hidden_bias (k,), output (k,), bias."""

    hidden: Array
    hidden_bias: Array
    output: Array
    bias: float

    def units(self, spec: DropoutSpec, x: Array) -> Array:
        """(m, k) what the hidden units say at x (m, inputs)."""
        return activation(spec.activation, x @ self.hidden + self.hidden_bias)


def weights(spec: DropoutSpec) -> Weights:
    """The trained weights: those used when dropout is switched off."""
    first, second = (layer.astype(np.float64) for layer in fit(spec).expected_weights())
    return Weights(first[:-1], first[-1], second[:-1, 0], float(second[-1, 0]))


def switched_off(spec: DropoutSpec, x: Array) -> Array:
    """(m,) the output at x (m, inputs) of the mean network, no unit dropped and none scaled."""
    here = weights(spec)
    return here.units(spec, x) @ here.output + here.bias


# Every mask -----------------------------------------------------------------------------------------------------------


def masks(count: int, keep: float) -> tuple[Array, Array]:
    """All masks of `count` things (M, count) and the probability of each (M,); the full one if none is dropped."""
    if keep >= 1.0:
        return np.ones((1, count)), np.ones(1)
    every = (np.arange(2**count)[:, None] >> np.arange(count)[::-1] & 1).astype(np.float64)
    kept = every.sum(axis=1)
    return every, keep**kept * (1.0 - keep) ** (count - kept)


def enumerated(spec: DropoutSpec, x: Array) -> Iterator[tuple[Array, Array]]:
    """Every mask of the units, one mask of the inputs after another: probabilities (M,) and outputs (M, m) at x."""
    here, (keep_inputs, keep) = weights(spec), keeps(spec)
    unit_masks, unit_shares = masks(spec.units, keep)
    for mask, share in zip(*masks(spec.inputs, keep_inputs), strict=True):
        said = here.units(spec, x * mask * factor(spec, keep_inputs)) * here.output * factor(spec, keep)
        yield share * unit_shares, unit_masks @ said.T + here.bias


@dataclass(frozen=True, eq=False)
class Exact:
    """Mean and sd over every mask, each (m,), and how many masks there are: no sampling."""

    mean: Array
    sd: Array
    masks: int


def over_masks(spec: DropoutSpec, x: Array, *, raw: bool = False) -> Exact:
    """Mean and sd at x of what is drawn (see `shown`), or of the output itself if `raw`."""
    first, second, count = np.zeros(len(x)), np.zeros(len(x)), 0
    for share, values in enumerated(spec, x):
        values = values if raw else shown(spec, values)
        first += share @ values
        second += share @ values**2
        count += len(share)
    return Exact(first, np.sqrt(np.maximum(second - first**2, 0.0)), count)


@kept
def _everywhere(spec: DropoutSpec) -> Exact:
    return over_masks(spec, places(spec))


def everywhere(spec: DropoutSpec) -> Exact:
    """`over_masks` at `places`."""
    return _everywhere(spec.trained_alone())


def at_probe(spec: DropoutSpec) -> tuple[Array, Array]:
    """(M,) probability of every mask and the output at x* under it."""
    pieces = list(enumerated(spec, probe(spec)))
    return np.concatenate([share for share, _ in pieces]), np.concatenate([values[:, 0] for _, values in pieces])


def widest_gap(share: Array, outputs: Array) -> tuple[float, float, float]:
    """Between which two of the outputs at x* (M,), of so much probability each (M,), no mask leads, and that of the masks below.

    The widest gap with `SIDE` of the probability on either side; (NaN, NaN, NaN) where there is none.
    """
    order = np.argsort(outputs)
    values, below = outputs[order], np.cumsum(share[order])[:-1]
    inside = (below > SIDE) & (below < 1.0 - SIDE)
    if not inside.any():
        return np.nan, np.nan, np.nan
    k = int(np.argmax(np.where(inside, np.diff(values), -1.0)))
    return float(values[k]), float(values[k + 1]), float(below[k])


def floor(spec: DropoutSpec, x: Array) -> Array:
    """(m,) what dropout's sd at x cannot fall below, whatever the data: |f̄(x) − b| √((1 − p) / (p k)).

    By Cauchy and Schwarz, as the k products m_j h_j(x) add up to f̄(x) − b. For inputs that are never dropped and kept
    units scaled by 1 / p.
    """
    keep = keeps(spec)[1]
    return np.abs(switched_off(spec, x) - weights(spec).bias) * np.sqrt((1.0 - keep) / (keep * spec.units))


def weight_decay(spec: DropoutSpec) -> tuple[float, float]:
    """λ of the output weights and of all other weights, in mean squared error / 2 + λ |w|² (regression).

    The prior N(0, σ²) on the weights as they act, z_j m_j / p, has E w_j² = m_j² / p: λ = s² / (2 p σ² n). Weights that
    no mask touches have λ = s² / (2 σ² n).
    """
    keep, n = keeps(spec)[1], len(data(spec)[0])
    second_moment = keep * factor(spec, keep) ** 2
    plain = spec.noise_sd**2 / (2.0 * spec.prior_sd**2 * n)
    return second_moment * plain, plain


# Passes ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Passes:
    """The engine's own draws of the masks, one a pass.

    theta : (T, weights) the network of each pass, in the order of `engine.network`; zero where a unit is dropped
    inputs, units : (T, inputs), (T, k) which are kept
    values : (T, m) outputs at `places`; at_probe : (T,) at x*
    """

    theta: Array
    inputs: NDArray[np.bool_]
    units: NDArray[np.bool_]
    values: Array
    at_probe: Array


def passes(spec: DropoutSpec) -> Passes:
    """The passes on the stage."""
    net = model(spec)
    theta = fit(spec).network_draws(net, spec.passes, spec.seed)
    first = theta[:, : spec.units * spec.inputs].reshape(len(theta), spec.units, spec.inputs)
    second = theta[:, -spec.units - 1 : -1]
    values = outputs(net, theta, np.concatenate([places(spec), probe(spec)]))[:, :, 0]
    return Passes(theta, (first != 0.0).any(axis=1), second != 0.0, values[:, :-1], values[:, -1])


# The posterior --------------------------------------------------------------------------------------------------------


def begin(spec: DropoutSpec, draws: int = DRAWS, warmup: int = WARMUP, depth: int = DEPTH, chains: int = CHAINS) -> Run:
    """NUTS on the posterior of the very same network, not moved yet. Chains start at draws from the prior."""
    x, y = data(spec)
    net = model(spec)
    return runs.start(
        net.posterior(x, y),
        "nuts",
        chains=chains,
        draws=draws,
        warmup=warmup,
        seed=spec.seed,
        init=net.prior_draws(CHAINS, spec.seed)[:chains],
        max_depth=depth,
    )


@dataclass(frozen=True, eq=False)
class Study:
    """What the posterior says at `places`.

    recording : of the chains; values : (chains, draws, m) of what is drawn
    summary : of them, at the places numbered `looked`
    sd : (m,); sd_error : (looked,) Monte Carlo standard error of the sd at the places looked at
    """

    recording: Recording
    values: Array
    summary: Summary
    looked: NDArray[np.int64]
    sd: Array
    sd_error: Array


def watched(spec: DropoutSpec) -> NDArray[np.int64]:
    """Which places are judged by R-hat and carry error bars."""
    if not spec.classifies:
        return np.arange(0, GRID, 10)
    rows = np.arange(2, CELLS, 7)
    return (rows[:, None] * CELLS + rows).ravel()


def posterior_values(spec: DropoutSpec, recording: Recording, x: Array) -> Array:
    """(chains, draws, m) of what is drawn, at x."""
    draws = recording.draws
    values = outputs(model(spec), draws.reshape(-1, draws.shape[2]), x)[:, :, 0]
    return shown(spec, values).reshape(*draws.shape[:2], len(x))


def studied(spec: DropoutSpec, recording: Recording) -> Study:
    """The chains as far as they have come."""
    values = posterior_values(spec, recording, places(spec))
    looked = watched(spec)
    sd = values.std(axis=(0, 1))
    centred = (values[:, :, looked] - values[:, :, looked].mean(axis=(0, 1))) ** 2
    error = summarise(centred).mcse_mean / (2.0 * np.maximum(sd[looked], 1e-12))  # of a root, by its slope
    return Study(recording, values, summarise(values[:, :, looked]), looked, sd, error)


def study(spec: DropoutSpec, cancel: Any) -> Study | None:
    """The whole run, or None when cancelled."""
    try:
        with ticket.holding(cancel):
            return _study(spec.sampled_alone())
    except InterruptedError:
        return None


@kept
def _study(spec: DropoutSpec) -> Study:
    run = begin(spec)
    while not run.done:
        ticket.look()
        run.advance(50)
    return studied(spec, run.recording())


def regions(spec: DropoutSpec) -> dict[str, NDArray[np.bool_]]:
    """Parts of `places` by name: at the data, between them, away from them. Empty ones are left out."""
    x, at = data(spec)[0], places(spec)
    nearest = np.sqrt(((at[:, None] - x[None]) ** 2).sum(axis=2)).min(axis=1)
    if spec.classifies:
        inside = np.max(np.abs(at), axis=1)
        parts = {AT_DATA: nearest < 0.1, AT_CENTRE: inside < 0.15, FAR_AWAY: inside > 1.2}
    else:
        within = (at[:, 0] > x.min()) & (at[:, 0] < x.max())
        parts = {AT_DATA: nearest < 0.15, IN_GAP: within & (nearest > 0.3), FAR_AWAY: ~within & (nearest > 0.6)}
    return {name: mask for name, mask in parts.items() if mask.any()}


@dataclass(frozen=True, eq=False)
class Sweep:
    """sd at the data (regression), one entry a setting: dropout's, its floor, the posterior's and its error."""

    settings: tuple[float, ...]
    dropout: Array
    floor: Array
    posterior: Array
    error: Array
    keep: Array


ROWS = (10, 20, 40, 80)
KEEPS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)


def region_sd(spec: DropoutSpec, sd: Array, name: str) -> float:
    """Mean of sd (m,) over a region."""
    return float(sd[regions(spec)[name]].mean())


def data_sweep(spec: DropoutSpec, cancel: Any) -> Sweep:
    """More and more points of the same curve, everything else as it is; short NUTS runs."""
    rows = np.full((len(ROWS), 5), np.nan)
    for row, n in zip(rows, ROWS, strict=True):
        if cancel.is_set():
            break
        here = spec.replace(data="gap", rows=n)
        run = begin(here, draws=250, warmup=150, depth=6)
        run.advance(run.total)
        # one set of places for every n, so that only the number of points changes
        at = np.abs(np.abs(places(here)[:, 0]) - (GAP + EDGE) / 2) < (EDGE - GAP) / 2
        values = posterior_values(here, run.recording(), places(here)[at])
        sds = values.std(axis=1).mean(axis=1)  # (chains,), as good as independent
        row[:] = (
            everywhere(here).sd[at].mean(),
            floor(here, places(here)[at]).mean(),
            values.std(axis=(0, 1)).mean(),
            sds.std(ddof=1) / np.sqrt(CHAINS),
            keeps(here)[1],
        )
    return Sweep(tuple(map(float, ROWS)), *rows.T)


def keep_sweep(spec: DropoutSpec, cancel: Any) -> dict[str, Array]:
    """(len(KEEPS),) sd of every region as p slides, each network trained anew."""
    found = {name: np.full(len(KEEPS), np.nan) for name in regions(spec)}
    for column, keep in enumerate(KEEPS):
        if cancel.is_set():
            break
        sd = everywhere(spec.replace(method="mc_dropout", keep=keep)).sd
        for name, values in found.items():
            values[column] = region_sd(spec, sd, name)
    return found


# Checks ---------------------------------------------------------------------------------------------------------------

TRAINED = 6  # steps of training before its gradient is checked


@kept
def _warmed(spec: DropoutSpec) -> Run:
    """The first of the chains at the end of its warm-up."""
    run = begin(spec, draws=1, chains=1)
    run.advance(WARMUP)
    return run


def kernels(spec: DropoutSpec) -> list[Kernel]:
    """NUTS beside it, with the step size and mass of its first chain; none where it does not run."""
    if spec.data == "digits":
        return []
    run = _warmed(spec.sampled_alone())
    model = joint_model(run.target)
    return [] if model is None else [TransitionKernel(model, run.method, run.adaptation)]


def audit(spec: DropoutSpec, cancel: Any) -> list[Check]:
    """The training's gradient where p is fixed, the scaling, the engine's masks against every mask counted."""
    if spec.data == "digits":
        return _audit_digits(spec, cancel)
    found = [_scaling_check(spec), _mask_check(spec)]
    if spec.method == "mc_dropout":
        run = training(spec)
        run.advance(TRAINED)
        found.append(training_gradient_check(run, spec.seed))
    return found


def checks(spec: DropoutSpec, cancel: Any) -> list[Check]:
    """Has training come to rest, do the chains beside it agree? How far dropout is from them is shown, and no
    mistake.
    """
    if spec.data == "digits":
        return _checks_digits(spec)
    found = [rest_check(fit(spec).history.elbo)]
    chains = study(spec, cancel)
    if chains is None:
        return found
    recording = chains.recording
    values = np.concatenate([chains.values[:, :, chains.looked], recording.log_density[:, :, None]], axis=2)
    names = [WORDS.phrase("checks.function", place=_place(spec, row)) for row in chains.looked]
    assert recording.energy is not None
    told = ", ".join(
        f"{region_sd(spec, everywhere(spec).sd, name) / region_sd(spec, chains.sd, name):.2g} {name}" for name in regions(spec)
    )
    return [
        *found,
        agreement_check(values, [*names, WORDS.phrase("checks.log_density")], WORDS.phrase("checks.chains")),
        divergence_check(recording.divergent),
        energy_check(recording.energy),
        unknown(WORDS.phrase("checks.apart"), WORDS.phrase("checks.approximation", told=told), kind="numbers"),
    ]


def _place(spec: DropoutSpec, row: int) -> str:
    return "x = " + ", ".join(f"{value:.2g}" for value in places(spec)[row])


def faults(spec: DropoutSpec) -> dict[str, DropoutSpec]:
    """What can be forgotten, where anything is dropped."""
    if spec.scaling == "none":
        return {}
    return {"1/p forgotten": spec.replace(scaling="none", keep=min(spec.keep, 0.9), method="mc_dropout")}


def _scaling_check(spec: DropoutSpec) -> Check:
    """Does the network say with dropout switched off what it says on average with it? Inputs are all kept here."""
    at, here = places(spec), weights(spec)
    keep = keeps(spec)[1]
    every, share = masks(spec.units, keep)
    average = share @ (every @ (here.units(spec, at) * here.output * factor(spec, keep)).T) + here.bias
    against = WORDS.phrase("checks.average", masks=len(share))
    return _scaled(spec, keep, switched_off(spec, at), average, here.bias, against)


def _scaled(spec: DropoutSpec, keep: float, off: Array, average: Array, bias: Any, against: str) -> Check:
    """Whether outputs with dropout switched off are those `average` over all masks, which `against` tells of."""
    size = float(np.abs(average - bias).max())
    apart = float(np.abs(off - average).max()) / max(size, 1e-300)
    if apart < SAME:
        if spec.scaling == "none":
            return Check("scaling", "unknown", apart, SAME, WORDS.phrase("checks.nothing_shows", against=against), kind="kernel")
        return Check("scaling", "pass", apart, SAME, WORDS.phrase("checks.scaled", against=against), kind="kernel")
    sentence = WORDS.phrase("checks.shouts", against=against, apart=100 * apart, times=1 / keep)
    return Check("scaling", "fail", 100 * apart, 100 * SAME, sentence, "% off", kind="kernel")


def _mask_check(spec: DropoutSpec) -> Check:
    """Mean and variance at x* of the engine's passes, against the sum over all masks."""
    net, exact = model(spec), over_masks(spec, probe(spec), raw=True)
    mean, variance = float(exact.mean[0]), float(exact.sd[0] ** 2)

    def passed(count: int, number: int) -> Array:
        return outputs(net, fit(spec).network_draws(net, count, spec.seed + LATER * number), probe(spec))[:, 0, 0]

    if exact.sd[0] < STILL:
        off = float(np.abs(passed(CHECKED, 1) - mean).max())
        told = WORDS.phrase("checks.nothing_dropped", off=off)
        return Check("masks", "pass" if off < STILL else "fail", off, STILL, told, kind="kernel")
    share, said = at_probe(spec)
    fourth = float(share @ (said - mean) ** 4)

    def look(number: int, work: int) -> Check:
        values = passed(CHECKED * work, number) - mean
        moments = np.stack([values, values**2 - variance], axis=1)
        third = float(share @ (said - mean) ** 3)
        covariance = np.array([[variance, third], [third, fourth - variance**2]]) / len(values)
        # single precision moves a pass by STILL, and two masks of one unit have no spread of the square
        covariance += np.diag([STILL, 2.0 * STILL * math.sqrt(variance)]) ** 2
        found = dict(mean=values.mean() + mean, exact_mean=mean, variance=np.mean(values**2), exact_variance=variance)
        words = WORDS.phrase("checks.masks", passes=len(values), masks=exact.masks, **found)
        z = moments.mean(axis=0) / np.sqrt(np.diag(covariance))
        return looked(number, "masks", z, correlation_of(covariance), words, kind="kernel")

    return two_looks(look)


# Checks of the network that reads digits ------------------------------------------------------------------------------

STEPS, SEEN, FEW_SEEN = 6, 100, 40  # of training, and images of few and of many pixels, where its gradient is checked
READ = 200  # test images at which the scaling is checked
PASSES = 2000  # compared with what is known of all masks, at a first look


def _audit_digits(spec: DropoutSpec, cancel: Any) -> list[Check]:
    """The same, without counting: the output adds up over the units, so mean and variance over all masks are known."""
    fit, data = digits.ended(spec).fit, digits.data_of(spec)
    found = [_scaling_check_of_digits(spec, fit, data), _mask_check_of_digits(spec, fit)]
    if spec.method == "mc_dropout":
        some = FEW_SEEN if digits.is_large(spec) else SEEN
        run = start_network(inputs(data)[:some], data.y[:some], digits.network_spec(spec))
        run.advance(STEPS)
        found.append(training_gradient_check(run, spec.seed))
    return found


def _checks_digits(spec: DropoutSpec) -> list[Check]:
    """Has training come to rest? How far it is from the posterior nobody knows: NUTS does not sample so many weights."""
    fit = digits.ended(spec).fit
    words = WORDS.phrase("checks.many_weights", weights=fit.shape.weights)
    return [rest_check(fit.history.elbo), unknown(WORDS.phrase("checks.apart"), words, kind="numbers")]


def _scaling_check_of_digits(spec: DropoutSpec, fit: NetworkFit, data: Images) -> Check:
    """The engine's network without masks against the average over those of the units, at test images."""
    keep, x = float(fit.posterior.keep[1]), data.x_test[:READ]
    found = digits.parts_of(fit, x)
    average = digits.over_masks(np.moveaxis(found.parts, 1, 2), found.bias, keep, factor(spec, keep)).mean
    off = digits.outputs(fit, x, fit.posterior.expected())
    return _scaled(spec, keep, off, average, found.bias, WORDS.phrase("checks.average_uncounted", units=spec.hidden))


def _mask_check_of_digits(spec: DropoutSpec, fit: NetworkFit) -> Check:
    """Log odds at x* of the engine's passes, in exact sds from their exact mean, given the pixels that each keeps."""
    x = digits.image_of(spec)[0]
    here = digits.parts_of(fit, x)
    pair = one, other = digits.rivals(here)
    if digits.log_odds(spec, fit, here, pair).sd[0] < STILL and not digits.drops_pixels(fit):
        values = digits.passes(fit, x, READ, spec.seed).outputs
        off = float(np.ptp(values[:, one] - values[:, other]))
        return Check("masks", "pass" if off < STILL else "fail", off, STILL, WORDS.phrase("checks.nothing_dropped", off=off), kind="kernel")

    def look(number: int, work: int) -> Check:
        count = PASSES * work
        z, third, fourth = np.empty((3, count))
        known = digits.log_odds(spec, fit, here, pair)
        for row, weights in enumerate(digits.drawn(fit, count, spec.seed + LATER * number)):
            if digits.drops_pixels(fit):
                known = digits.log_odds(spec, fit, digits.parts_of(fit, x, fit.shape.split(weights)[0]), pair)
            said = digits.outputs(fit, x, weights)[0]
            z[row] = (said[one] - said[other] - known.mean[0]) / known.sd[0]
            third[row], fourth[row] = known.third[0] / known.sd[0] ** 3, known.fourth[0] / known.sd[0] ** 4
        covariance = np.array([[1.0, third.mean()], [third.mean(), fourth.mean() - 1.0]]) / count
        covariance += np.diag([SAME, 2.0 * SAME]) ** 2  # single precision
        words = WORDS.phrase("checks.masks_uncounted", passes=count, units=spec.hidden, mean=z.mean(), variance=np.mean(z**2))
        moments = np.array([z.mean(), np.mean(z**2) - 1.0])
        return looked(number, "masks", moments / np.sqrt(np.diag(covariance)), correlation_of(covariance), words, kind="kernel")

    return two_looks(look)
