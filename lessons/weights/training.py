"""Bayes by Backprop and NUTS on one posterior, look by look.

A parameter vector is in the order of `engine.networks.Network`: each layer's weights (out, in), then its biases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datasets.xor import own_points, xor
from engine.kept import kept
from engine.networks import Network, network
from engine.networks.predictive import outputs, probabilities
from engine.samplers import run as runs
from engine.samplers.run import Run
from engine.targets.target import Target
from engine.variational import NetworkRun, start_network
from lessons.weights.spec import EDGE, HEIGHT, LIGHT, MOST, REACH, WAVE, WeightsSpec

Array = NDArray[np.float64]
Bytes = NDArray[np.uint8]

FRAMES = 32  # looks at a whole training, after the start
BENT = 1.5  # looks are closer at the beginning: look k is after (k / FRAMES)^BENT of the steps
WARMUP = 200  # of NUTS
DRAWN = 300  # networks drawn from q at a look
NODES = 61  # of the curve's x
CELLS = 20  # of the plane, a side
LEVELS = 40  # of the curve's y in the picture
BAND = (0.05, 0.95)
FINAL = 0.03  # of the step size, at the end


# What the spec describes ----------------------------------------------------------------------------------------------


def data_of(spec: WeightsSpec) -> tuple[Array, Array]:
    """x (n, inputs) and y (n,): values of the curve, or classes 0 and 1."""
    if spec.problem == "plane":
        data = own_points(spec.points) if spec.data == "own" else xor(spec.corner, seed=spec.seed)
        return data.x, data.y.astype(np.float64)
    if spec.data == "own":
        table = np.array(spec.pairs, dtype=np.float64)
        return table[:, :1].copy(), table[:, 1].copy()
    rng = np.random.Generator(np.random.SFC64(spec.seed))
    left = spec.rows // 2
    x = rng.uniform(spec.gap, EDGE, spec.rows)
    x[:left] *= -1.0
    return x[:, None], truth(x) + spec.noise_sd * rng.standard_normal(spec.rows)


def truth(x: Array) -> Array:
    """The curve that the data are made from."""
    return np.sin(WAVE * x)


def model_of(spec: WeightsSpec) -> Network:
    """The network with the normal prior."""
    if spec.problem == "plane":
        return network(2, 1, spec.units, activation="tanh", likelihood="bernoulli", prior_sd=spec.prior_sd)
    return network(1, 1, spec.units, activation="tanh", likelihood="gaussian", prior_sd=spec.prior_sd, noise_sd=spec.noise_sd)


def posterior_of(spec: WeightsSpec) -> Target:
    """What NUTS draws from."""
    x, y = data_of(spec)
    return model_of(spec).posterior(x, y)


@kept
def places(problem: str) -> Array:
    """Inputs (m, inputs) at which functions are compared: nodes of a line, or midpoints of cells, lowest x₂ first."""
    reach = REACH[problem]
    if problem == "curve":
        return np.linspace(-reach, reach, NODES)[:, None]
    middles = reach * (2 * np.arange(CELLS) + 1 - CELLS) / CELLS
    return np.stack(np.meshgrid(middles, middles), axis=-1).reshape(-1, 2)


def functions(spec: WeightsSpec, draws: Array, at: Array | None = None) -> Array:
    """(draws, m) values of the curve, or probabilities of class 1, at `places` or elsewhere."""
    net, at = model_of(spec), places(spec.problem) if at is None else at
    return outputs(net, draws, at)[:, :, 0] if spec.problem == "curve" else probabilities(net, draws, at)[:, :, 1]


# q --------------------------------------------------------------------------------------------------------------------


def start(spec: WeightsSpec) -> NetworkRun:
    """The training before its first step. A mistake is made by what the engine is told:

    no_scaling : the log likelihood of B rows is not multiplied by n/B, which is the same as a noise √(n/B) times as
        large in the gradient
    light_kl : KL/10, which is the same, up to a factor of the whole, as every point ten times
    """
    x, y = data_of(spec)
    noise, n, batch = spec.noise_sd, len(x), spec.minibatch
    if spec.variant == "no_scaling":
        noise *= math.sqrt(n / batch)
    if spec.variant == "light_kl":
        x, y = np.tile(x, (LIGHT, 1)), np.tile(y, LIGHT)
        batch = batch if spec.batch else len(x)
    epochs = -(-spec.steps // (len(x) // batch))
    return start_network(
        x,
        y,
        hidden=(spec.units,),
        method="gaussian" if spec.prior == "normal" else "mixture",
        estimator=spec.estimator,
        activation="tanh",
        likelihood="gaussian" if spec.problem == "curve" else "bernoulli",
        noise_sd=noise,
        prior_sd=spec.prior_sd,
        mixture_share=spec.mixture_share,
        mixture_sd=spec.mixture_sd,
        epochs=epochs,
        warm_up=round(spec.warm_up * epochs),
        batch=batch,
        step_size=spec.step_size,
        final_step_size=FINAL,
        initial_sd=spec.initial_sd,
        seed=spec.seed,
    )


def ordered(run: NetworkRun, values: NDArray) -> Array:
    """Values (weights,) of the engine's training in the order of `Network`."""
    layers = run.shape.split(np.asarray(values, dtype=np.float64))
    return np.concatenate([part for layer in layers for part in (layer[:-1].T.reshape(-1), layer[-1])])


def of_q(run: NetworkRun) -> tuple[Array, Array]:
    """Means and sds (dim,) of q as it stands."""
    return ordered(run, run.posterior.mean), ordered(run, run.posterior.sd)


def noise(spec: WeightsSpec, count: int, dim: int) -> Array:
    """(count, dim) standard normal numbers, the same at every look, so that what moves is q."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence([spec.seed, 7]))).standard_normal((count, dim))


def log_prior(spec: WeightsSpec, w: Array) -> Array:
    """Log density of the prior, summed over the last axis."""
    wide = -0.5 * (w / spec.prior_sd) ** 2 - math.log(spec.prior_sd)
    if spec.prior == "mixture":
        narrow = -0.5 * (w / spec.mixture_sd) ** 2 - math.log(spec.mixture_sd)
        wide = np.logaddexp(math.log(spec.mixture_share) + wide, math.log1p(-spec.mixture_share) + narrow)
    return np.asarray((wide - 0.5 * math.log(2.0 * math.pi)).sum(axis=-1))


def prior_slope(spec: WeightsSpec, w: Array) -> Array:
    """Slope of the log prior at weights of any shape."""
    if spec.prior == "normal":
        return -w / spec.prior_sd**2
    wide = math.log(spec.mixture_share / spec.prior_sd) - 0.5 * (w / spec.prior_sd) ** 2
    narrow = math.log((1.0 - spec.mixture_share) / spec.mixture_sd) - 0.5 * (w / spec.mixture_sd) ** 2
    share = 1.0 / (1.0 + np.exp(narrow - wide))
    return -w * (share / spec.prior_sd**2 + (1.0 - share) / spec.mixture_sd**2)


def entropy(sd: Array) -> Array:
    """Of q, in nats, summed over the last axis."""
    return np.asarray((np.log(sd) + 0.5 * (1.0 + math.log(2.0 * math.pi))).sum(axis=-1))


def divergence(spec: WeightsSpec, mean: Array, sd: Array, draws: Array) -> float:
    """KL(q‖prior): in closed form for the normal prior, over `draws` (S, dim) for the mixture."""
    if spec.prior == "mixture":
        return float(-entropy(sd) - log_prior(spec, draws).mean())
    s = spec.prior_sd
    return float((np.log(s / sd) + (sd**2 + mean**2) / (2.0 * s**2) - 0.5).sum())


# One step by hand -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Step:
    """One step of Bayes by Backprop for one weight: all that the card shows.

    weights : (dim,), drawn; factor : what the minibatch's slope is multiplied by
    """

    weights: Array
    mean: float
    sd: float
    noise: float
    slope: float
    factor: float
    prior: float
    mean_gradient: float
    rho_gradient: float

    @property
    def weight(self) -> float:
        return self.mean + self.sd * self.noise


SHOWN = 0  # the weight of the card: from the first input to the first unit


def factor(spec: WeightsSpec) -> float:
    """What a minibatch's slope is multiplied by: n/B if right."""
    right = spec.size / spec.minibatch
    return {"exact": right, "no_scaling": 1.0, "light_kl": LIGHT * right}[spec.variant]


def by_hand(spec: WeightsSpec, mean: Array, sd: Array, number: int) -> Step:
    """A step from q (mean, sd), in double precision, with noise and minibatch of its own, drawn from `number`."""
    rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence([spec.seed, 11, number])))
    x, y = data_of(spec)
    rows = rng.permutation(len(x))[: spec.minibatch]
    eps = rng.standard_normal(len(mean))
    w = mean + sd * eps
    _, slopes = model_of(spec).log_likelihood(x[rows], y[rows]).log_density_and_gradient(w)
    s = float(sd[SHOWN])
    total = factor(spec) * float(slopes[SHOWN])
    # a normal prior's part is known in closed form: at the mean, and −sd/σ² for the sd
    closed = spec.prior == "normal"
    prior = float(prior_slope(spec, mean if closed else w)[SHOWN])
    through = total * eps[SHOWN] - s / spec.prior_sd**2 if closed else (total + prior) * eps[SHOWN]
    return Step(
        w,
        float(mean[SHOWN]),
        s,
        float(eps[SHOWN]),
        float(slopes[SHOWN]),
        factor(spec),
        prior,
        total + prior,
        float((through + 1.0 / s) * -math.expm1(-s)),
    )


# Looks ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class View:
    """What an ensemble of functions says at `places`: mean and sd (m,), and for the curve low and high ends of the 90 %
    band (m,) and `fan`, (LEVELS, NODES) from 0 (outside) to 255 (the median).
    """

    mean: Array
    sd: Array
    low: Array
    high: Array
    fan: Bytes


def view(spec: WeightsSpec, values: Array) -> View:
    """Of functions (draws, m)."""
    mean, sd = values.mean(axis=0), values.std(axis=0)
    if spec.problem == "plane":
        return View(mean, sd, mean, mean, np.zeros((0, 0), np.uint8))
    ordered_values = np.sort(values, axis=0)
    last = len(values) - 1
    low, high = (ordered_values[round(share * last)] for share in BAND)
    levels = HEIGHT * (2 * np.arange(LEVELS) + 1 - LEVELS) / LEVELS
    below = np.stack([np.searchsorted(column, levels) for column in ordered_values.T], axis=1) / len(values)
    return View(mean, sd, low, high, np.rint(510.0 * np.minimum(below, 1.0 - below)).astype(np.uint8))


@dataclass(frozen=True, eq=False)
class Look:
    """q after some steps, and the NUTS chain after some draws.

    step, draw : how many; mean, sd : (dim,) of q
    energy, error : E_q[log likelihood] over `DRAWN` networks and its standard error; kl : KL(q‖prior); nats
    q, nuts : what they say; hand : one step from here
    weights : (draws, dim), the NUTS draws so far (a view)
    """

    step: int
    draw: int
    mean: Array
    sd: Array
    energy: float
    error: float
    kl: float
    q: View
    nuts: View
    hand: Step
    weights: Array

    @property
    def elbo(self) -> float:
        return self.energy - self.kl


class Learning:
    """Training and one NUTS chain, looked at FRAMES times."""

    def __init__(self, spec: WeightsSpec):
        self.spec = spec
        self.run = start(spec)
        self.nuts: Run = runs.start(posterior_of(spec), "nuts", chains=1, draws=spec.draws, warmup=WARMUP, seed=spec.seed)
        x, y = data_of(spec)
        self._likelihood = model_of(spec).log_likelihood(x, y)
        self._noise = noise(spec, DRAWN, self._likelihood.dim)
        self._seen = np.empty((0, len(places(spec.problem))))
        self.nuts.advance(WARMUP)
        self.looks: list[Look] = []
        self.advance()

    @property
    def done(self) -> bool:
        return len(self.looks) > FRAMES

    def advance(self, stop: Any = None) -> None:
        """To the next look; one that is stopped on the way is left out."""
        k = len(self.looks)
        wanted = round(self.run.total * (k / FRAMES) ** BENT) - self.run.completed
        if self.run.advance(wanted, stop) != wanted:
            return
        self.nuts.advance(max(1, round(self.spec.draws * k / FRAMES)) - self.nuts.completed)
        self.looks.append(self._look())

    def _look(self) -> Look:
        spec = self.spec
        mean, sd = of_q(self.run)
        draws = mean + sd * self._noise
        likelihoods = self._likelihood.log_density_many(draws)
        chain = self.nuts.recording().draws[0]
        self._seen = np.concatenate([self._seen, functions(spec, chain[len(self._seen) :])])
        return Look(
            self.run.completed,
            len(chain),
            mean,
            sd,
            float(likelihoods.mean()),
            float(likelihoods.std() / math.sqrt(DRAWN)),
            divergence(spec, mean, sd, draws),
            view(spec, functions(spec, draws)),
            view(spec, self._seen),
            by_hand(spec, mean, sd, len(self.looks)),
            chain,
        )


def own_points_of(spec: WeightsSpec) -> dict[str, tuple[tuple[float, float, int], ...]]:
    """The data as the field of own points: all of them, or every few where they are too many."""
    x, y = data_of(spec)
    name = "pairs" if spec.problem == "curve" else "points"
    rows = np.column_stack([x, y, np.zeros(len(x))]) if spec.problem == "curve" else np.column_stack([x, y])
    limit = np.array([REACH[spec.problem], HEIGHT if spec.problem == "curve" else REACH["plane"]])
    chosen = np.linspace(0, len(rows) - 1, min(len(rows), MOST)).astype(int)
    inside = np.clip(np.round(rows[:, :2], 3), -limit, limit)
    return {name: tuple((float(inside[i, 0]), float(inside[i, 1]), int(rows[i, 2])) for i in chosen)}
