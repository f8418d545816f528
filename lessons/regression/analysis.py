"""What the lesson computes: draws of a network's weights by five methods, bands, the exact answer for a straight line,
and how often the bands hold what they say.
"""

from __future__ import annotations

import dataclasses
import math
import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from datasets.regression import INPUTS, gap_of, true_curve, true_line
from engine import linear, ticket
from engine import predicted as predictions
from engine.kept import kept, lazy
from engine.networks import MapEstimate, Network, network, start_network
from engine.networks.predictive import outputs
from engine.predicted import Predicted
from engine.recording import Recording
from engine.resumable import Resumable
from engine.samplers import run as runs
from engine.spec import SpecError
from engine.training import dropout_draws, ensemble, jacobian, laplace, map_decay, train
from lessons.regression.spec import REACH, RegressionLesson

Array = NDArray[np.float64]

FINE = 61
GRID = np.linspace(-REACH, REACH, FINE)  # inputs of every curve on the page
HELD = 0.9  # of the probability, in every band
EDGES = (0.5 - HELD / 2, 0.5 + HELD / 2)
CHAINS, KEPT, KEPT_LINE = 4, 1000, 5000  # of the study behind panels and checks; a line costs little
TARGET_ACCEPT = {"network": 0.95, "line": 0.8}  # of NUTS: with long steps paths break where a unit is steep
STUDY_WARMUP = 400  # of the study at least: a step size learned in fewer transitions may fit one corner only
BEGINNING = 40  # draws of the stage's chain that are shown while the rest is made
POOLED = 2000  # draws of the study that are looked at
PIECE = 20  # transitions between two looks at the ticket
NOISE_SHAPE = 1.0  # of the gamma prior of 1 / σ²: the guess is worth two observations
CLIMBS = 4  # to the mode of the posterior
CLIMBED = 40  # iterates of the best of them that the stage shows
TURNS = 4  # between weights and noise, on the way to their joint mode
STEP_SIZE = 0.02  # of Adam, for ensemble and dropout
FRESH, AT_ONCE = 1000, 200  # new observations for a coverage, and how many are held against all draws between two looks
ENOUGH = 200  # draws from which a band for new observations is made


# What the spec describes ----------------------------------------------------------------------------------------------


def network_of(spec: RegressionLesson) -> Network:
    """The network with its prior and the noise it assumes."""
    return network(
        1,
        1,
        spec.units,
        depth=1 if spec.model == "network" else 0,
        activation=spec.activation,
        likelihood="gaussian",
        prior_sd=spec.prior_sd,
        noise_sd=spec.noise_sd,
    )


def data_of(spec: RegressionLesson) -> tuple[Array, Array]:
    """Inputs x (n, 1) and values y (n,)."""
    data = spec.measured()
    return data.x[:, None], data.y


def truth(spec: RegressionLesson, x: ArrayLike) -> Array | None:
    """The curve that made the data, where it is known."""
    return {"curve": true_curve, "line": true_line}[spec.data](x) if spec.data != "points" else None


def sampling(spec: RegressionLesson) -> RegressionLesson:
    """The spec with everything at its default that does not decide the draws."""
    names = ("play", "method", "at", "repeats", "keep", "members", "epochs", "laplace")
    return spec.replace(**{name: spec.default(name) for name in names})


# The posterior by NUTS ------------------------------------------------------------------------------------------------


def begin(spec: RegressionLesson, chains: int, draws: int, seed: int) -> Resumable:
    """Chains on the posterior of `spec`, not moved yet."""
    x, y = data_of(spec)
    model = network_of(spec)
    if spec.noise == "learned":
        return start_network(
            model,
            x,
            y,
            weights="fixed",
            noise="learned",
            noise_shape=NOISE_SHAPE,
            noise_rate=NOISE_SHAPE * spec.noise_sd**2,
            chains=chains,
            draws=draws,
            warmup=spec.warmup,
            seed=seed,
        )
    return runs.start(
        model.posterior(x, y),
        "nuts",
        chains=chains,
        draws=draws,
        warmup=spec.warmup,
        seed=seed,
        init=model.prior_draws(chains, seed),
        variant=spec.variant,
        target_accept=TARGET_ACCEPT[spec.model],
    )


@dataclass(frozen=True, eq=False)
class Chains:
    """NUTS chains after their warm-up.

    theta : (chains, draws, dim); noise : (chains, draws), σ of each draw
    divergent, gradients, seconds : what they cost, warm-up included in the last two
    recording : the run itself
    """

    theta: Array
    noise: Array
    log_density: Array
    divergent: int
    gradients: int
    seconds: float
    recording: Recording

    def first(self, draws: int) -> Chains:
        """The first draws of each."""
        return dataclasses.replace(self, theta=self.theta[:, :draws], noise=self.noise[:, :draws])


def chains_of(spec: RegressionLesson, run: Any) -> Chains:
    """What a finished run says."""
    recording = run.recording()
    learned = spec.noise == "learned"
    noise = recording.noise_sd if learned else np.full(recording.log_density.shape, spec.noise_sd)
    gradients = int(recording.gradient_evaluations.sum() + recording.warmup_gradient_evaluations.sum())
    return Chains(recording.draws, noise, recording.log_density, int(recording.divergent.sum()), gradients, recording.seconds, recording)


class _Staged:
    """The one chain that the stage shows, which goes on where it stopped for whoever needs more of it."""

    def __init__(self, spec: RegressionLesson):
        self._spec, self._lock = spec, ticket.Lock()
        self._run = begin(spec, 1, spec.draws, spec.seed)

    def upto(self, draws: int) -> Chains:
        """The chain with so many draws at least."""
        with self._lock:
            self._run.advance(self._run.left(draws))
            return chains_of(self._spec, self._run)


_staged = kept(_Staged)


@kept
def staged(spec: RegressionLesson) -> Chains:
    """One chain, as the stage shows it, of a spec that is `sampling` already."""
    return _staged(spec).upto(spec.draws)


def on_stage(spec: RegressionLesson) -> Recording | None:
    """The chain whose curves the stage draws; None where it shows other things."""
    return staged(sampling(spec)).recording.first(spec.draws) if spec.play == "draws" and spec.method == "nuts" else None


def predicted(spec: RegressionLesson, chains: Chains) -> Predicted:
    """What the draws of chains say of the data."""
    x, y = data_of(spec)
    flat = chains.theta.reshape(-1, chains.theta.shape[2])
    means = outputs(network_of(spec), flat, x)[:, :, 0].reshape(*chains.noise.shape, len(y))
    return predictions.values(y, means, chains.noise, spec.seed)


def predicted_on_stage(spec: RegressionLesson) -> Predicted | None:
    """What the chain on the stage says of the data."""
    return predicted(spec, staged(sampling(spec)).first(spec.draws)) if on_stage(spec) is not None and len(data_of(spec)[1]) else None


@kept
def _sampled(spec: RegressionLesson) -> Answer:
    return _answer(spec, staged(spec))


def _answer(spec: RegressionLesson, chains: Chains) -> Answer:
    return Answer(spec, "nuts", chains.theta[0], chains.noise[0], chains.seconds)


def study(spec: RegressionLesson, cancel: Any) -> Chains:
    """Four chains from different starts; computed once, also when several ask together. Raises InterruptedError when
    stopped.
    """
    spec = sampling(spec)
    spec = spec.replace(draws=spec.default("draws"))
    with ticket.holding(cancel):
        return _study(spec)


@kept
def _study(spec: RegressionLesson) -> Chains:
    return longer(spec, spec.seed ^ 0x5EED, KEPT if spec.model == "network" else KEPT_LINE)


def study_warmup(spec: RegressionLesson) -> int:
    """Transitions of each chain of the study in which NUTS tunes itself."""
    return max(spec.warmup, STUDY_WARMUP)


def longer(spec: RegressionLesson, seed: int, draws: int) -> Chains:
    """Four chains from starts of their own. Raises InterruptedError as `engine.ticket.look`."""
    run = begin(spec.replace(warmup=study_warmup(spec)), CHAINS, draws, seed)
    while not run.done:
        ticket.look()
        run.advance(PIECE if spec.model == "network" else 50 * PIECE)
    return chains_of(spec, run)


# Five methods ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Answer:
    """What a method hands out: networks theta (S, dim), each with its noise sd (S,).

    centre : (dim,) weights about which the outputs are taken as linear in the weights; None: they are not
    """

    spec: RegressionLesson
    method: str
    theta: Array
    noise: Array
    seconds: float
    centre: Array | None = None

    def at(self, x: ArrayLike) -> Array:
        """(S, m) outputs at inputs x (m,)."""
        x, model = np.atleast_1d(np.asarray(x, dtype=np.float64))[:, None], network_of(self.spec)
        if self.centre is None:
            return outputs(model, self.theta, x)[:, :, 0]
        slopes = jacobian(model, self.centre, x)[:, 0]
        ticket.look()
        return outputs(model, self.centre[None], x)[:, :, 0] + (self.theta - self.centre) @ slopes.T

    @lazy
    def curves(self) -> Array:
        """(S, FINE) outputs on the grid."""
        return self.at(GRID)

    @lazy
    def curve_band(self) -> Array:
        """(2, FINE) what holds 90 % of the curves at each input."""
        return np.quantile(self.curves, EDGES, axis=0)

    @lazy
    def new_band(self) -> Array:
        """(2, FINE) what holds 90 % of new observations at each input."""
        return np.stack([new_quantile(self.curves, self.noise, edge) for edge in EDGES])

    @lazy
    def epistemic(self) -> Array:
        """(FINE,) sd of the curves."""
        return self.curves.std(axis=0)

    @property
    def known(self) -> bool:
        """False of what `unknown` stands for."""
        return not np.isnan(self.theta).any()

    @property
    def aleatoric(self) -> float:
        """The sd of the noise, its variance averaged over the draws."""
        return float(np.sqrt(np.mean(self.noise**2)))


def answer(spec: RegressionLesson, method: str | None = None) -> Answer:
    """The draws of one method, default the spec's own."""
    method = method or spec.method
    spec = _deciding(spec, method)
    return _sampled(spec) if method == "nuts" else _fitted(spec, method)


def unknown(spec: RegressionLesson, method: str) -> Answer:
    """What stands for the answer of a method until it is there: one network, of which all is NaN."""
    noise = math.nan if spec.noise == "learned" else spec.noise_sd
    return Answer(_deciding(spec, method), method, np.full((1, network_of(spec).dim), np.nan), np.full(1, noise), math.nan)


def is_there(spec: RegressionLesson, method: str) -> bool:
    """Whether the answer of a method takes no time."""
    spec = _deciding(spec, method)
    return (_sampled.peek(spec) if method == "nuts" else _fitted.peek(spec, method)) is not None


def beginning(spec: RegressionLesson) -> Answer | None:
    """The first draws of the posterior, where all of them take long; None where they are there."""
    spec = _deciding(spec, "nuts")
    return None if _sampled.peek(spec) is not None else _answer(spec, _staged(spec).upto(BEGINNING))


def _deciding(spec: RegressionLesson, method: str) -> RegressionLesson:
    """The spec with everything at its default that does not decide the draws of a method."""
    names = {"dropout": ("keep", "epochs"), "ensemble": ("members", "epochs"), "laplace": ("laplace",), "nuts": ("variant",)}.get(
        method, ()
    )
    return sampling(spec).replace(**{"variant": "exact"} | {name: getattr(spec, name) for name in names})


@kept
def _fitted(spec: RegressionLesson, method: str) -> Answer:
    x, y = data_of(spec)
    if not len(y) and method != "map":
        raise SpecError("points", "there are none to train on: place some, or sample the posterior")
    top = _top(_deciding(spec, "map")) if method in ("map", "laplace") else None
    begin_at = time.perf_counter() - (0.0 if top is None else top.seconds)
    model = fitted_network(spec) if top is None else top.network
    theta = {"map": _map, "ensemble": _ensemble, "laplace": _laplace, "dropout": _dropout}[method](spec, model, x, y)
    noise = np.full(len(theta), model.noise_sd)
    centre = mode_of(spec) if method == "laplace" and spec.laplace == "linear" else None
    return Answer(spec, method, theta, noise, time.perf_counter() - begin_at, centre)


def fitted_network(spec: RegressionLesson) -> Network:
    """The network that is fitted; where its noise is not known, with the value at the joint mode of weights and noise,
    climbed in turns.
    """
    model = network_of(spec)
    if spec.noise == "known":
        return model
    x, y = data_of(spec)
    for _ in range(TURNS):
        best = model.map_estimate(x, y, spec.seed, starts=CLIMBS).theta
        squares = float(((outputs(model, best[None], x)[0, :, 0] - y) ** 2).sum())
        precision = (NOISE_SHAPE + 0.5 * len(y)) / (NOISE_SHAPE * spec.noise_sd**2 + 0.5 * squares)
        model = dataclasses.replace(model, noise_sd=precision**-0.5)
    return model


def _map(spec: RegressionLesson, model: Network, x: Array, y: Array) -> Array:
    """The most probable weights, one row."""
    return mode_of(spec)[None]


def _ensemble(spec: RegressionLesson, model: Network, x: Array, y: Array) -> Array:
    """Networks trained from starts of their own, with the prior as weight decay."""
    return ensemble(model, x, y, members=spec.members, every=spec.epochs, **training(spec, model, y))


def _dropout(spec: RegressionLesson, model: Network, x: Array, y: Array) -> Array:
    """One network trained with hidden units left out at random, and predictions with as many others left out."""
    trained = train(model, x, y, every=spec.epochs, keep=spec.keep, **training(spec, model, y))
    return dropout_draws(model, trained.theta, spec.keep, spec.draws, spec.seed)


def training(spec: RegressionLesson, model: Network, y: Array) -> dict[str, Any]:
    """The settings of training, with the prior as weight decay."""
    decay = map_decay(model, len(y)) if len(y) else 0.0
    return {"epochs": spec.epochs, "step_size": STEP_SIZE, "weight_decay": decay, "seed": spec.seed}


def _laplace(spec: RegressionLesson, model: Network, x: Array, y: Array) -> Array:
    """Draws of the normal about the mode, with the curvature of the posterior there after Gauss and Newton."""
    return laplace(model, x, y, mode_of(spec), hessian="gauss_newton").draw(spec.draws, spec.seed)


def mode_of(spec: RegressionLesson) -> Array:
    """(dim,) the most probable weights, that Laplace stands on."""
    return _top(_deciding(spec, "map")).found.theta


class _Top(NamedTuple):
    """The mode of the posterior of `network`, and the seconds that it took to find both."""

    network: Network
    found: MapEstimate
    seconds: float


def first_climb(spec: RegressionLesson) -> Answer | None:
    """The network that the first climb to the mode comes to; None where all climbs are there, or each takes several."""
    spec = _deciding(spec, "map")
    if spec.noise != "known" or _top.peek(spec) is not None:
        return None
    top = _top(spec, 1)
    return Answer(spec, "map", top.found.theta[None], np.full(1, top.network.noise_sd), top.seconds)


@kept
def _top(spec: RegressionLesson, climbs: int = CLIMBS) -> _Top:
    begin_at = time.perf_counter()
    model = fitted_network(spec)
    found = model.map_estimate(*data_of(spec), spec.seed, starts=climbs)
    return _Top(model, found, time.perf_counter() - begin_at)


class Climb(NamedTuple):
    """Iterates of the best climb to the mode, the first ones denser.

    iteration : (CLIMBED,) which they are; of a short climb some are there twice
    last : the number of the one at the mode
    theta : (CLIMBED, dim); below : (CLIMBED,) how far the log density is below that at the mode, in nats
    """

    iteration: NDArray[np.int64]
    last: int
    theta: Array
    below: Array


def climb(spec: RegressionLesson, first: bool = False) -> Climb:
    """How training comes to the most probable weights; `first`: by the first climb alone."""
    spec = _deciding(spec, "map")
    model, found, _ = _top(spec, 1) if first else _top(spec)
    last = len(found.path) - 1
    iteration = np.ceil(last * np.linspace(0.0, 1.0, CLIMBED) ** 2).astype(int)
    theta = found.path[iteration]
    log_density = model.posterior(*data_of(spec)).log_density_many(theta)
    return Climb(iteration, last, theta, log_density[-1] - log_density)


def studied(spec: RegressionLesson, cancel: Any) -> Answer:
    """The posterior as the four chains of the study say: draws spread over all of them."""
    return _pooled(sampling(spec), study(spec, cancel))


@kept
def _pooled(spec: RegressionLesson, chains: Chains) -> Answer:
    theta = chains.theta.reshape(-1, chains.theta.shape[2])
    chosen = np.linspace(0, len(theta) - 1, min(len(theta), POOLED)).astype(int)
    return Answer(spec, "nuts", np.ascontiguousarray(theta[chosen]), chains.noise.ravel()[chosen], chains.seconds)


def phi(z: Array) -> Array:
    """Distribution function of the standard normal."""
    from scipy.special import ndtr

    return np.asarray(ndtr(z))


def pit(curves: Array, noise: Array, y: ArrayLike) -> Array:
    """(m,) predictive probability of a new observation below y (m,): curves (S, m), their noise sd (S,)."""
    return phi((np.asarray(y) - curves) / noise[:, None]).mean(axis=0)


def new_quantile(curves: Array, noise: Array, level: float) -> Array:
    """(m,) quantile of a new observation: of a mixture of normals, by bisection."""
    chosen = np.linspace(0, len(curves) - 1, min(len(curves), ENOUGH)).astype(int)
    curves, noise = curves[chosen], noise[chosen]
    low, high = curves.min(axis=0) - 5.0 * noise.max(), curves.max(axis=0) + 5.0 * noise.max()
    for _ in range(25):
        middle = 0.5 * (low + high)
        below = pit(curves, noise, middle) < level
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray(0.5 * (low + high))


# The straight line is known exactly -----------------------------------------------------------------------------------


class Exact(NamedTuple):
    """The posterior of a straight line as a mixture of normals over J values of the noise sd.

    sigma, weight : (J,); one value of weight 1 where the noise is known
    means, sds : (J, m) of the line at inputs (m,)
    """

    sigma: Array
    weight: Array
    means: Array
    sds: Array

    @property
    def mean(self) -> Array:
        """(m,) of the line."""
        return self.weight @ self.means

    @property
    def sd(self) -> Array:
        """(m,) of the line."""
        return np.sqrt(self.weight @ (self.sds**2 + (self.means - self.mean) ** 2))

    def density(self, values: Array, input: int = 0) -> Array:
        """Posterior density of the line at one of the inputs."""
        z = (values[:, None] - self.means[:, input]) / self.sds[:, input]
        return (np.exp(-0.5 * z**2) / (self.sds[:, input] * math.sqrt(2.0 * math.pi))) @ self.weight


def exact(spec: RegressionLesson, x: ArrayLike) -> Exact:
    """The posterior of the line a x + b at inputs x (m,), with a, b ~ N(0, s²): in closed form for a known noise, else
    with one integral over it, by quadrature.
    """
    inputs, y = data_of(spec)
    x = np.atleast_1d(np.asarray(x, dtype=np.float64))
    design, rows = _line_design(inputs[:, 0]), _line_design(x)
    sigmas, log_prior = _noise_grid(spec)
    found = [linear.solve(design, y, noise_sd=sigma, prior_sd=spec.prior_sd) for sigma in sigmas]
    log = np.array([posterior.log_evidence for posterior in found]) + log_prior
    weight = np.exp(log - log.max())
    means, sds = zip(*(posterior.curve(rows) for posterior in found), strict=True)
    return Exact(sigmas, weight / weight.sum(), np.array(means), np.array(sds))


def _line_design(x: Array) -> Array:
    return np.column_stack([x, np.ones_like(x)])


def _noise_grid(spec: RegressionLesson) -> tuple[Array, Array]:
    """Noise sds, evenly in the logarithm, and the log of their prior's density there."""
    if spec.noise == "known":
        return np.array([spec.noise_sd]), np.zeros(1)
    log_precision = np.linspace(-9.0, 14.0, 461)
    return np.exp(-0.5 * log_precision), log_noise_prior(spec, log_precision)


def log_noise_prior(spec: RegressionLesson, log_precision: Array) -> Array:
    """Log density of log 1/σ² under 1/σ² ~ Gamma(a, rate a σ₀²)."""
    rate = NOISE_SHAPE * spec.noise_sd**2
    return NOISE_SHAPE * (math.log(rate) + log_precision) - rate * np.exp(log_precision) - math.lgamma(NOISE_SHAPE)


# Coverage -------------------------------------------------------------------------------------------------------------


class Coverage(NamedTuple):
    """How often the 90 % bands hold what they say.

    new : share of fresh observations in the band for new observations; error : its binomial standard error
    near, gap, ends : share of the true curve that the band of curves holds, where there are data, in the gap (NaN
        without one), and beyond the data
    width : mean width of the band for new observations, where there are data
    log_score : mean log predictive density of the fresh observations, in nats
    """

    new: float
    error: float
    near: float
    gap: float
    ends: float
    width: float
    log_score: float


def has_data(spec: RegressionLesson, x: Array) -> NDArray[np.bool_]:
    """Whether inputs x lie where measurements are made."""
    low, high = gap_of(spec.gap)
    return (x >= INPUTS[0]) & (x <= INPUTS[1]) & ~((x > low) & (x < high))


@kept
def covered(found: Answer) -> Coverage:
    """Coverage of one answer, NaN while it is unknown. The data must come from a known curve."""
    if not found.known:
        return Coverage(*[math.nan] * len(Coverage._fields))
    spec = found.spec
    fresh = spec.measured(fresh_seed(spec), FRESH)
    curves = found.at(fresh.x)
    below, score = np.empty((2, FRESH))
    for first in ticket.looking(range(0, FRESH, AT_ONCE)):
        some = slice(first, first + AT_ONCE)
        below[some] = pit(curves[:, some], found.noise, fresh.y[some])
        z = (fresh.y[some] - curves[:, some]) / found.noise[:, None]
        log = -0.5 * z**2 - np.log(found.noise[:, None] * math.sqrt(2.0 * math.pi))
        score[some] = np.logaddexp.reduce(log, axis=0) - math.log(len(log))
    new = float(np.mean(_held(below)))
    held = (found.curve_band[0] <= (true := truth(spec, GRID))) & (true <= found.curve_band[1])
    near, inside = has_data(spec, GRID), (INPUTS[0] <= GRID) & (INPUTS[1] >= GRID)
    gap = float(held[~near & inside].mean()) if spec.gap > 0.0 else math.nan
    width = float((found.new_band[1] - found.new_band[0])[near].mean())
    error = math.sqrt(max(new * (1.0 - new), 1e-9) / FRESH)
    return Coverage(new, error, float(held[near].mean()), gap, float(held[~inside].mean()), width, float(score.mean()))


def fresh_seed(spec: RegressionLesson) -> int:
    """Of observations that no fit has seen."""
    return 1_000_000 + spec.data_seed


LEVELS = np.linspace(0.1, 0.95, 18)


@kept
def calibration(found: Answer) -> tuple[Array, Array]:
    """What central bands for new observations should hold, and what they hold of fresh ones, both (18,)."""
    if not found.known:
        return LEVELS, np.full(len(LEVELS), np.nan)
    fresh = found.spec.measured(fresh_seed(found.spec), FRESH)
    said = found.at(fresh.x)
    ticket.look()
    off = 2.0 * np.abs(pit(said, found.noise, fresh.y) - 0.5)
    return LEVELS, np.array([np.mean(off < level) for level in LEVELS])


# Many data sets -------------------------------------------------------------------------------------------------------

REPEATED_FRESH = 200


class OneSet(NamedTuple):
    """One of many data sets, with what its bands held.

    data : (n, 2); band, new_band : (2, FINE)
    held : (FINE,) bool, the true curve in the band of curves; held_at : the same at x′
    new_held : one new observation at x′ in its band; new_share : the share of new ones where there are data
    Before the method has answered, all but the data is NaN.
    """

    data: Array
    band: Array
    new_band: Array
    held: NDArray[np.bool_] | Array
    held_at: float
    new_held: float
    new_share: float


def repeat(spec: RegressionLesson, sets: int) -> list[OneSet]:
    """The spec's method on so many data sets, the first of them the spec's own; of none, that one as it was measured."""
    if not sets:
        (x, y), band = data_of(spec), np.full((2, FINE), np.nan)
        return [OneSet(np.column_stack([x[:, 0], y]), band, band, band[0], math.nan, math.nan, math.nan)]
    return [_one_set(of_set(spec, i)) for i in range(sets)]


def repeated(spec: RegressionLesson, sets: int) -> int:
    """How many of the first sets are there."""
    there = [_one_set.peek(of_set(spec, i)) is not None for i in range(sets)]
    return there.index(False) if False in there else sets


def of_set(spec: RegressionLesson, number: int) -> RegressionLesson:
    """The spec on another data set."""
    return spec.replace(data_seed=(spec.data_seed + number) % 10_000)


@kept
def _one_set(spec: RegressionLesson) -> OneSet:
    found = answer(spec)
    x, y = data_of(spec)
    fresh = spec.measured(fresh_seed(spec), REPEATED_FRESH)
    rng = np.random.Generator(np.random.SFC64([fresh_seed(spec), 1]))
    at = found.at([spec.at])
    true, here = truth(spec, GRID), truth(spec, [spec.at])
    assert true is not None and here is not None  # own points are not measured again
    true_at = float(here[0])
    low, high = np.quantile(at[:, 0], EDGES)
    inside = _held(pit(found.at(fresh.x), found.noise, fresh.y))
    new = _held(pit(at, found.noise, true_at + spec.data_noise * rng.standard_normal(1)))
    return OneSet(
        np.column_stack([x[:, 0], y]),
        found.curve_band,
        found.new_band,
        (found.curve_band[0] <= true) & (true <= found.curve_band[1]),
        bool(low <= true_at <= high),
        bool(new[0]),
        float(inside.mean()),
    )


def _held(below: Array) -> NDArray[np.bool_]:
    return (below > EDGES[0]) & (below < EDGES[1])
