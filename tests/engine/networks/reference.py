"""The mathematics of engine.networks, written a second time: plain numpy and scipy, one formula after the other."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy import stats
from scipy.special import log_expit, log_softmax

from engine.networks import Network

PHI = {
    "tanh": np.tanh,
    "relu": lambda z: np.maximum(z, 0.0),
    "sigmoid": lambda z: 1.0 / (1.0 + np.exp(-z)),
    "linear": lambda z: z,
    "elu": lambda z: np.where(z >= 0.0, z, np.expm1(np.minimum(z, 0.0))),
}


def outputs(network: Network, theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Outputs (samples, outputs), reading theta in the documented order: weights (out, in) row by row, then biases,
    layer by layer.
    """
    sizes, at, h = network.sizes, 0, x
    for layer, (n_in, n_out) in enumerate(pairwise(sizes)):
        weights = theta[at : at + n_out * n_in].reshape(n_out, n_in)
        at += n_out * n_in
        z = h @ weights.T + theta[at : at + n_out]
        at += n_out
        h = PHI[network.activation](z) if layer < len(sizes) - 2 else z
    return h


def log_likelihood(network: Network, theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    z = outputs(network, theta, x)
    if network.likelihood == "gaussian":
        return float(stats.norm.logpdf(np.reshape(y, z.shape), z, network.noise_sd).sum())
    if network.likelihood == "bernoulli":
        logit = network.temper * z[:, 0]
        return float(np.where(y == 1, log_expit(logit), log_expit(-logit)).sum())
    return float(log_softmax(network.temper * z, axis=1)[np.arange(len(y)), y].sum())


def log_prior(network: Network, theta: np.ndarray) -> float:
    return float(stats.norm.logpdf(theta, 0.0, network.prior_sd).sum())


def log_posterior(network: Network, theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    return log_likelihood(network, theta, x, y) + log_prior(network, theta)


def samples(network: Network, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random inputs, and targets that fit the likelihood."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, network.inputs))
    if network.likelihood == "gaussian":
        return x, rng.standard_normal((n, network.outputs))
    return x, rng.integers(0, network.classes, n)
