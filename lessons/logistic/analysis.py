"""What the lesson computes from the engine: the grid, Newton's steps, Laplace, the chain."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import engine
from datasets.logistic import PAIRS, TRAIN, Pairs, logistic_pairs, own_pairs
from engine import logistic
from engine import predicted as predictions
from engine.judge import Kernel, TransitionKernel, joint_model
from engine.kept import kept
from engine.logistic import Grid, Laplace, Newton
from engine.networks import network
from engine.predicted import Predicted
from engine.recording import Recording
from engine.samplers import Metropolis
from engine.targets.target import Target
from lessons.logistic.spec import REACH, WORDS, LogisticSpec

Array = NDArray[np.float64]

TOLERANCE = 5e-4  # of Newton's steps, the thesis' criterion
RUNAWAY = 12  # steps without a prior that are shown when there is no maximum
FINE = 61  # inputs of the exact curve
CHAINS, CHECKED = 4, 8000  # of longer runs


def data_of(spec: LogisticSpec) -> Pairs:
    """The pairs that are used."""
    if spec.data == "points":
        return own_pairs(spec.points)
    pairs = logistic_pairs(PAIRS, spec.data_seed)
    return Pairs(pairs.x[: spec.used], pairs.y[: spec.used], pairs.card)


def held_out(spec: LogisticSpec) -> Pairs:
    """The 50 test pairs."""
    pairs = logistic_pairs(PAIRS, spec.data_seed)
    return Pairs(pairs.x[TRAIN:], pairs.y[TRAIN:], pairs.card)


def _model(spec: LogisticSpec) -> LogisticSpec:
    """What the posterior depends on, and nothing else: the key of the caches."""
    return LogisticSpec(data=spec.data, used=spec.used, points=spec.points, data_seed=spec.data_seed, prior_sd=spec.prior_sd)


def grid(spec: LogisticSpec) -> Grid:
    """The exact posterior."""
    return _grid(_model(spec))


@kept
def _grid(spec: LogisticSpec) -> Grid:
    data = data_of(spec)
    return logistic.exact(data.x, data.y, spec.prior_sd)


def curves(spec: LogisticSpec) -> tuple[Array, Array, Array]:
    """Inputs (FINE,), exact mean of p there, and the band (2, FINE) that holds 90 % of it."""
    return _curves(_model(spec))


@kept
def _curves(spec: LogisticSpec) -> tuple[Array, Array, Array]:
    x, exact = np.linspace(-REACH, REACH, FINE), grid(spec)
    return x, exact.predictive(x)[0], exact.band(x)


@kept
def climb(spec: LogisticSpec) -> Newton:
    """Newton's steps to the mode of the posterior."""
    data = data_of(spec)
    return logistic.newton(data.x, data.y, spec.prior_sd, tolerance=TOLERANCE)


@kept
def climb_likelihood(spec: LogisticSpec) -> Newton:
    """Newton's steps on the likelihood alone, at most `RUNAWAY` of them."""
    data = data_of(spec)
    return logistic.newton(data.x, data.y, math.inf, tolerance=TOLERANCE, most=RUNAWAY)


def laplace(spec: LogisticSpec) -> Laplace:
    """The normal approximation at the mode."""
    return _laplace(_model(spec))


@kept
def _laplace(spec: LogisticSpec) -> Laplace:
    data = data_of(spec)
    return logistic.laplace(data.x, data.y, spec.prior_sd)


def target_of(spec: LogisticSpec) -> Target:
    """What the chain climbs: the posterior, or the likelihood alone where the prior is forgotten."""
    data = data_of(spec)
    if spec.variant == "no_prior":
        return network(1, 1, depth=0, likelihood="bernoulli").log_likelihood(data.x[:, None], data.y)
    return logistic.posterior(data.x, data.y, spec.prior_sd)


def predicted(spec: LogisticSpec, draws: Array) -> Predicted:
    """What draws (chains, draws, 2) of w₀ and w₁ say of the pairs."""
    data = data_of(spec)
    return predictions.classes(data.y, logistic.sigmoid(draws[..., :1] + draws[..., 1:] * data.x), spec.seed)


@kept
def record(spec: LogisticSpec) -> Recording:
    """The chain on the stage, from (0, 0), with its inside."""
    return engine.sample(
        target_of(spec),
        "metropolis",
        chains=1,
        draws=spec.draws,
        warmup=0,
        seed=spec.seed,
        init=np.zeros(2),
        detail="transitions",
        **settings(spec),
    )


@kept
def longer(spec: LogisticSpec, seed: int, work: int) -> Recording:
    """Chains of the same sampler from starts far apart, after a warm-up; `work` times CHECKED draws of each."""
    normal = laplace(spec)
    corners = np.array([(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)])
    starts = normal.mean + 2.0 * corners * np.sqrt(np.diag(normal.covariance))
    return engine.sample(
        target_of(spec),
        "metropolis",
        chains=CHAINS,
        draws=work * CHECKED,
        warmup=CHECKED // 4,
        seed=seed,
        init=starts[:, ::-1],
        **settings(spec),
    )


def long_run(spec: LogisticSpec) -> Array:
    """Draws (CHAINS, CHECKED, 2) of (w0, w1) by the same sampler, from starts far apart."""
    return longer(spec, spec.seed, 1).draws[:, :, ::-1]


def settings(spec: LogisticSpec) -> dict[str, Any]:
    """Of the sampler."""
    return {"scale": spec.scale, "variant": "drop_rejections" if spec.variant == "drop_rejections" else "exact"}


def kernels(spec: LogisticSpec) -> list[Kernel]:
    """Metropolis on labels simulated at the same inputs."""
    data = data_of(spec)
    model = joint_model(logistic.posterior(data.x, data.y, spec.prior_sd))
    assert model is not None
    mistake = {"exact": "", "no_prior": WORDS.phrase("checks.no_prior"), "drop_rejections": WORDS.phrase("checks.drop_rejections")}[
        spec.variant
    ]
    fault = "prior_forgotten" if spec.variant == "no_prior" else ""
    return [TransitionKernel(model, Metropolis(**settings(spec)), mistake=mistake, fault=fault)]


def weights(recording: Recording) -> Array:
    """Draws (draws, 2) of the first chain as (w0, w1): the engine has them the other way round."""
    return recording.draws[0, :, ::-1]


def chances(draws: Array, x: float | Array) -> Array:
    """p(y = 1 | x) of each draw (..., 2)."""
    return logistic.sigmoid(draws[..., 0] + draws[..., 1] * x)
