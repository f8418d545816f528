"""The three estimators of the gradient in the log odds ω of being in: their bias where the exact gradient can be added
up, a logistic regression with a switch on each weight, and their noise there and on the digits.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.kept import kept
from engine.variational import NetworkRun, NetworkSpec, start_network
from lessons.spike_and_slab import learning
from lessons.spike_and_slab.spec import WORDS, SpikeAndSlabSpec

Array = NDArray[np.float64]

NAMES = WORDS["estimators"]
EFFECTS = np.array([1.2, 0.0, -0.8, 0.0, 0.5, 0.0])
ROWS = 60
TRAINED = 200  # steps before the gradients are compared
INCLUSION = 0.2
ESTIMATES = 4000
ON_DIGITS = 30
SETTLE = 60
STILL = {"step_size": 1e-7, "inclusion_step_size": 0.0}  # steps that do not move q
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(24)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


@dataclass(frozen=True, eq=False)
class Estimates:
    """Of one estimator, in ω of every weight (w,).

    bias : mean of the estimates minus the exact slope; error : its standard error; sd : of one estimate
    """

    bias: Array
    error: Array
    sd: Array


@dataclass(frozen=True, eq=False)
class Small:
    """The regression at one q: exact slopes in ω (w,), and the estimates of each estimator by name."""

    exact: Array
    alpha: Array
    found: dict[str, Estimates]


def settings(estimator: str, seed: int, **changes: Any) -> NetworkSpec:
    """A network without hidden units, all data in every step."""
    return NetworkSpec(
        hidden=(),
        method="spike_and_slab",
        likelihood="bernoulli",
        inclusion_prior="own",
        inclusion=INCLUSION,
        estimator=estimator,
        batch=ROWS,
        epochs=TRAINED,
        seed=seed,
        **changes,
    )


def data(seed: int) -> tuple[Array, NDArray[np.int64]]:
    """x (ROWS, 6) and y of a logistic regression."""
    rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence([seed, 5])))
    x = rng.standard_normal((ROWS, len(EFFECTS)))
    return x, (rng.random(ROWS) < 1.0 / (1.0 + np.exp(-x @ EFFECTS))).astype(np.int64)


def energy(seed: int, mean: Array, sd: Array, alpha: Array) -> float:
    """E_q[log p(y | weights)]: a sum over all masks; given a mask the logit is normal, integrated by quadrature."""
    x, y = data(seed)
    inputs = np.column_stack([x, np.ones(ROWS)])
    sign, total = 2.0 * y - 1.0, 0.0
    for bits in itertools.product((0.0, 1.0), repeat=len(mean)):
        mask = np.array(bits)
        share = float(np.prod(np.where(mask > 0.0, alpha, 1.0 - alpha)))
        logit = (inputs @ (mask * mean))[:, None] + np.sqrt(inputs**2 @ (mask * sd**2))[:, None] * NODES
        total += share * float(-(np.logaddexp(0.0, -sign[:, None] * logit) @ WEIGHTS).sum())
    return total


def elbo(seed: int, mean: Array, sd: Array, omega: Array) -> float:
    """Energy minus KL(q‖prior); prior sd 1."""
    alpha = 1.0 / (1.0 + np.exp(-omega))
    slab = 0.5 * (mean**2 + sd**2) - 0.5 - np.log(sd)
    inside = alpha * (np.log(alpha / INCLUSION) + slab)
    outside = (1.0 - alpha) * (np.log1p(-alpha) - math.log1p(-INCLUSION))
    return energy(seed, mean, sd, alpha) - float((inside + outside).sum())


def slopes(seed: int, mean: Array, sd: Array, omega: Array) -> Array:
    """(w,) exact slopes of the ELBO in ω, by central differences."""
    h = 1e-4
    steps = h * np.eye(len(omega))
    return np.array([(elbo(seed, mean, sd, omega + step) - elbo(seed, mean, sd, omega - step)) / (2.0 * h) for step in steps])


def of_q(run: NetworkRun) -> tuple[Array, Array, Array]:
    """Mean, sd and ω (w,) in double precision."""
    posterior = run.posterior
    mean, sd, omega = (np.asarray(values, dtype=np.float64) for values in (posterior.mean, posterior.sd, posterior.omega))
    return mean, sd, omega


def estimates(run: NetworkRun, q: tuple[Array, Array, Array], count: int) -> Array:
    """(count, 3, w) estimates of the gradient in mean, ρ and ω at `q`, of a run that stands `STILL`.

    The score function subtracts a running mean of the energy: some steps on the spot bring it to where it would be.
    """
    run.posterior.set(*q)
    run.advance(SETTLE)
    run.posterior.set(*q)
    return run.gradient_estimates(count).astype(np.float64).reshape(count, 3, -1)


@kept
def small(seed: int) -> Small:
    """All three at the same q, part of the way through a training."""
    x, y = data(seed)
    trained = start_network(x, y, settings("local", seed))
    trained.advance(trained.total // 2)
    q = of_q(trained)
    exact = slopes(seed, *q)
    found = {}
    for name in NAMES:
        values = estimates(start_network(x, y, settings(name, seed, **STILL)), q, ESTIMATES)[:, 2]
        sd = values.std(axis=0)
        found[name] = Estimates(values.mean(axis=0) - exact, sd / math.sqrt(ESTIMATES), sd)
    return Small(exact, 1.0 / (1.0 + np.exp(-q[2])), found)


def on_digits(spec: SpikeAndSlabSpec) -> dict[str, tuple[float, float]]:
    """By estimator: root mean square over all weights of the sd of one estimate over all training digits, in the means
    μ and in ω, at the trained q.
    """
    q = of_q(learning.trained(learning.network_spec(spec)))
    found = {}
    for name in NAMES:
        run = learning.start(learning.network_spec(spec, estimator=name, **STILL))
        sd = estimates(run, q, ON_DIGITS).std(axis=0)
        found[name] = float(np.sqrt(np.mean(sd[0] ** 2))), float(np.sqrt(np.mean(sd[2] ** 2)))
    return found
