"""The prior's own unknowns: precisions of weights and biases, their means, the noise; each drawn from its conditional.

Parameters are put into groups that share one precision tau, theta_j ~ N(0, 1 / (f_j tau)), with a known factor f_j, 1
or, for weights out of a hidden layer of k units under Neal's scaling, k. With n parameters in the group

    tau ~ Gamma(a, rate b)   gives   tau | theta ~ Gamma(a + n / 2, b + 1/2 sum_j f_j theta_j^2)

A parameter in a group of its own has, tau integrated out, a Student t prior with 2 a degrees of freedom and scale
sqrt(b / (a f)). The noise is the same with the residuals of all observations in place of the weights.

With a mean of its own, theta ~ N(mu, sigma^2), mu ~ Cauchy(0, 1), sigma ~ half normal(1), separately for every
parameter, as in Andersen and Roed-Sørensen 2021 (chapter 5, "hierarchical"). There mu ~ N(0, 1 / lambda), lambda ~
Gamma(1/2, rate 1/2) is the Cauchy. The parameter itself moves with mu integrated out, theta ~ N(0, sigma^2 + 1 /
lambda); then, in this order and with r = |theta - mu|,

    mu | theta, sigma, lambda ~ N(theta / (1 + lambda sigma^2), sigma^2 / (1 + lambda sigma^2))
    lambda | mu ~ Exponential(rate (1 + mu^2) / 2)
    sigma^2 = r e^t,  p(t | r) proportional to exp(-r cosh t)

Sources: Neal 1996, section 3.2; Devroye 1986, section VII.2, for the last draw.

Wrong on purpose (`VARIANTS`), in the draw of tau: "no_half_count" leaves the shape at a; "no_square" adds the sum of
|theta| to the rate; "rate_as_scale" multiplies by the rate, as a gamma generator does that wants a scale.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels import kernel
from engine.networks.mlp import Network

Array = NDArray[np.float64]

WEIGHTS = ("fixed", "per_layer", "per_input", "per_weight", "own_mean")
NOISES = ("fixed", "learned")
VARIANTS = ("exact", "no_half_count", "no_square", "rate_as_scale")
EXACT, NO_HALF_COUNT, NO_SQUARE, RATE_AS_SCALE = range(4)


class Groups(NamedTuple):
    """Which parameters share a precision.

    names : of the groups: `W1` and `b1` for a layer, `W1[:,2]` for what leads out of input 2, or the parameter's label
    group : (dim,) number of each parameter's group
    factor : (dim,) what multiplies the group's precision
    """

    names: tuple[str, ...]
    group: NDArray[np.int64]
    factor: Array

    @property
    def counts(self) -> NDArray[np.int64]:
        """(groups,) parameters in each."""
        return np.bincount(self.group, minlength=len(self.names))


def groups_of(network: Network, weights: str, scale_by_width: bool = False) -> Groups:
    """The groups of a network for one of `WEIGHTS`; "fixed" has those of "per_layer"."""
    names: list[str] = []
    group, factor = [], []
    for layer, (n_in, n_out) in enumerate(pairwise(network.sizes), start=1):
        split = n_in if weights == "per_input" and layer == 1 else 1
        first = len(names)
        names += [f"W{layer}"] if split == 1 else [f"W{layer}[:,{i + 1}]" for i in range(split)]
        group.append(np.tile(first + np.arange(n_in) % split, n_out))
        group.append(np.full(n_out, len(names)))
        names.append(f"b{layer}")
        factor.append(np.full(n_in * n_out, float(n_in) if scale_by_width and layer > 1 else 1.0))
        factor.append(np.ones(n_out))
    if weights in ("per_weight", "own_mean"):
        return Groups(network.labels, np.arange(network.dim), np.concatenate(factor))
    return Groups(tuple(names), np.concatenate(group).astype(np.int64), np.concatenate(factor))


@kernel
def gamma_parameters(theta, group, factor, shape, rate, wrong, shapes, rates):
    """Write shape and rate of every group's conditional gamma distribution: (groups,) each."""
    shapes[:], rates[:] = shape, rate
    for j in range(theta.size):
        g = group[j]
        if wrong != NO_HALF_COUNT:
            shapes[g] += 0.5
        size = abs(theta[j]) if wrong == NO_SQUARE else theta[j] * theta[j]
        rates[g] += 0.5 * factor[j] * size


@kernel
def draw_precisions(rng, theta, group, factor, shape, rate, wrong, precisions):
    """Draw every group's precision given the parameters."""
    shapes, rates = np.empty(precisions.size), np.empty(precisions.size)
    gamma_parameters(theta, group, factor, shape, rate, wrong, shapes, rates)
    for g in range(precisions.size):
        gamma = rng.standard_gamma(shapes[g])
        precisions[g] = gamma * rates[g] if wrong == RATE_AS_SCALE else gamma / rates[g]


@kernel
def draw_means(rng, theta, means, mixing, precisions):
    """Draw every parameter's mean, lambda (`mixing`) and precision 1 / sigma^2, in this order."""
    for j in range(theta.size):
        shrink = 1.0 / (1.0 + mixing[j] / precisions[j])
        means[j] = shrink * theta[j] + math.sqrt(shrink / precisions[j]) * rng.standard_normal()
        mixing[j] = 2.0 * rng.standard_exponential() / (1.0 + means[j] * means[j])
        distance = max(abs(theta[j] - means[j]), 1e-100)
        precisions[j] = math.exp(-draw_cosh(rng, distance)) / distance


@kernel
def draw_cosh(rng, a):
    """A draw of t with density proportional to exp(-a cosh t), a > 0, by rejection: exact.

    Above it lies 1 up to a point, and from there the tangent in log scale at s, where the density has fallen to 1 / e
    of its top; the two areas together are s.
    """
    s, slope = 2.0 * math.asinh(math.sqrt(0.5 / a)), math.sqrt(2.0 * a + 1.0)
    edge = s - 1.0 / slope
    while True:
        t, log_bound = s * rng.random(), 0.0
        if t >= edge:
            log_bound = -rng.standard_exponential()
            t = edge - log_bound / slope
        half = math.sinh(0.5 * t)
        if -rng.standard_exponential() <= -2.0 * a * half * half - log_bound:
            return t if rng.random() < 0.5 else -t
