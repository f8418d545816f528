"""Forward and backward pass of a network node by node, in plain NumPy: to look at, and to check the fast kernel with.

Forward, layer by layer: pre-activation z_l = W_l h_(l-1) + b_l, value h_l = phi(z_l), h_0 = x; the last layer has no
phi. Backward, from the loss E = -log p(y | x): delta_l = dE/dz_l, that is delta_L = dE/dz_L at the outputs and
delta_l = phi'(z_l) * (W_(l+1)^T delta_(l+1)) below; then dE/dW_l = delta_l h_(l-1)^T and dE/db_l = delta_l.

Source: Rumelhart, Hinton and Williams 1986; Bishop 2006, section 5.3.

Wrong on purpose (`variant`): "no_slope" forgets phi'(z); "no_bias" forgets the biases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit, log_softmax, softmax

from engine.networks.mlp import Network, checked_inputs
from engine.samplers.chain import per_coordinate
from engine.spec import SpecError
from engine.targets.target import Target, TargetError

Array = NDArray[np.float64]

VARIANTS = ("exact", "no_slope", "no_bias")


class Layer(NamedTuple):
    """One layer in a forward pass of n rows: pre-activations and values, each (n, units)."""

    pre: Array
    value: Array


@dataclass(frozen=True, eq=False)
class Nodes:
    """All nodes of one row.

    layers : forward, hidden layers first, the outputs last
    loss : -log p(y | x) in nats
    delta : derivative of the loss in every pre-activation, one array (units,) a layer
    weights, biases : derivative of the loss in every parameter, one array (out, in) and one (out,) a layer
    """

    layers: list[tuple[Array, Array]]
    loss: float
    delta: list[Array]
    weights: list[Array]
    biases: list[Array]

    @property
    def gradient(self) -> Array:
        """(dim,) in the order of the network's parameters."""
        return np.concatenate([part.ravel() for pair in zip(self.weights, self.biases, strict=True) for part in pair])


def activation(name: str, z: ArrayLike) -> Array:
    """phi(z) of the activation `name`, element by element."""
    z = np.asarray(z, dtype=np.float64)
    return np.asarray({"tanh": np.tanh, "relu": _relu, "sigmoid": expit, "linear": np.array, "elu": _elu}[name](z))


def activation_slope(name: str, z: ArrayLike) -> Array:
    """phi'(z); at the kink of relu it is 0."""
    z = np.asarray(z, dtype=np.float64)
    if name == "tanh":
        return np.asarray(1.0 - np.tanh(z) ** 2)
    if name == "sigmoid":
        return np.asarray(expit(z) * expit(-z))
    if name == "elu":
        return np.exp(np.minimum(z, 0.0))
    return np.where(z > 0.0, 1.0, 0.0) if name == "relu" else np.ones_like(z)


def forward(network: Network, theta: ArrayLike, x: ArrayLike) -> list[Layer]:
    """All layers of the network `theta` (dim,) at inputs x (n, inputs), the outputs last."""
    value, layers = checked_inputs(network, x), []
    parameters = network.unpack(theta)
    for index, (weights, biases) in enumerate(parameters):
        pre = value @ weights.T + biases
        value = activation(network.activation, pre) if index + 1 < len(parameters) else pre
        layers.append(Layer(pre, value))
    return layers


def backward(network: Network, theta: ArrayLike, layers: list[Layer], slope: Array, variant: str = "exact") -> list[Array]:
    """Derivatives in every pre-activation, one array (n, units) a layer, from `slope` (n, outputs) at the outputs."""
    if variant not in VARIANTS:
        raise SpecError("variant", f"{variant!r} is not one of {', '.join(VARIANTS)}")
    deltas = [slope]
    parameters = network.unpack(theta)
    for (weights, _), layer in zip(parameters[:0:-1], layers[-2::-1], strict=True):
        slope = deltas[0] @ weights
        if variant != "no_slope":
            slope *= activation_slope(network.activation, layer.pre)
        deltas.insert(0, slope)
    return deltas


def pass_nodes(network: Network, theta: ArrayLike, x: ArrayLike, y: ArrayLike, variant: str = "exact") -> Nodes:
    """Forward and backward pass of one row: x (inputs,), y a label, or (outputs,) values.

    Raises TargetError when x, y or theta does not fit.
    """
    row, q = np.asarray(x, dtype=np.float64)[None], per_coordinate("theta", theta, network.dim)
    label = np.asarray(y)[None]
    network.log_likelihood(row, label)  # refuses what does not fit
    layers = forward(network, q, row)
    loss, slope = output_loss(network, layers[-1].pre, label)
    deltas = backward(network, q, layers, slope, variant)
    before = [row, *(layer.value for layer in layers[:-1])]
    biases = [np.zeros_like(delta[0]) if variant == "no_bias" else delta[0] for delta in deltas]
    return Nodes(
        [(layer.pre[0], layer.value[0]) for layer in layers],
        float(loss[0]),
        [delta[0] for delta in deltas],
        [np.outer(delta, value) for delta, value in zip(deltas, before, strict=True)],
        biases,
    )


def output_loss(network: Network, z: Array, y: ArrayLike) -> tuple[Array, Array]:
    """-log p(y | z) of every row (n,), and its derivative in the outputs z (n, outputs)."""
    a = network.temper
    if network.likelihood == "gaussian":
        off = (z - np.asarray(y, dtype=np.float64).reshape(z.shape)) / network.noise_sd
        constant = np.log(network.noise_sd) + 0.5 * np.log(2.0 * np.pi)
        return (0.5 * off**2 + constant).sum(axis=1), off / network.noise_sd
    labels = np.asarray(y).astype(np.int64)
    if network.likelihood == "bernoulli":
        sign = 2.0 * labels - 1.0
        return -log_expit(a * sign * z[:, 0]), (a * (expit(a * z[:, 0]) - labels))[:, None]
    loss = -log_softmax(a * z, axis=1)[np.arange(len(z)), labels]
    return loss, a * (softmax(a * z, axis=1) - np.eye(network.outputs)[labels])


def jacobian(network: Network, theta: ArrayLike, x: ArrayLike) -> Array:
    """Derivatives of the outputs in the parameters: (n, outputs, dim)."""
    inputs = checked_inputs(network, x)
    layers = forward(network, theta, inputs)
    before = [inputs, *(layer.value for layer in layers[:-1])]
    found = np.empty((len(inputs), network.outputs, network.dim))
    for j in range(network.outputs):
        slope = np.zeros((len(inputs), network.outputs))
        slope[:, j] = 1.0
        at = 0
        for delta, value in zip(backward(network, theta, layers, slope), before, strict=True):
            weights = (delta[:, :, None] * value[:, None, :]).reshape(len(inputs), -1)
            found[:, j, at : at + weights.shape[1]] = weights
            at += weights.shape[1]
            found[:, j, at : at + delta.shape[1]] = delta
            at += delta.shape[1]
    return found


def difference_gradient(target: Target, theta: ArrayLike, step: float = 1e-4) -> Array:
    """Gradient of a log density (dim,) by differences of values alone, of fourth order: the error of the formula is
    of order step^4, that of rounding about 1e-16 |value| / step.
    """
    q = per_coordinate("theta", theta, target.dim)
    moves = step * np.eye(target.dim)
    near = target.log_density_many(np.vstack([q + moves, q - moves])).reshape(2, -1)
    far = target.log_density_many(np.vstack([q + 2.0 * moves, q - 2.0 * moves])).reshape(2, -1)
    if not np.all(np.isfinite(near)) or not np.all(np.isfinite(far)):
        raise TargetError(f"{target.name} is not finite around the point: no differences can be taken")
    return np.asarray((8.0 * (near[0] - near[1]) - (far[0] - far[1])) / (12.0 * step))


def _relu(z: Array) -> Array:
    return np.maximum(z, 0.0)


def _elu(z: Array) -> Array:
    return np.where(z > 0.0, z, np.expm1(np.minimum(z, 0.0)))
