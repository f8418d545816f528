"""Networks as models: their prior, data simulated at given inputs, and what is watched of both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import ticket
from engine.networks import predictive
from engine.networks.mlp import AtInputs, Network, network_target
from engine.targets.target import Target

Array = NDArray[np.float64]
Rng = np.random.Generator

ROWS = 3  # inputs at which a network is watched
MISUSED = ("data_twice", "data_ignored")  # mistakes with any data


def misused(fault: str, x: Array, y: Array) -> tuple[Array, Array]:
    """The data as a kernel with one of the `MISUSED` faults takes them; without it, as they are."""
    if fault == "data_twice":
        return np.concatenate([x, x]), np.concatenate([y, y])
    return (x[:0], y[:0]) if fault == "data_ignored" else (x, y)


@dataclass(frozen=True, eq=False)
class OfNetwork:
    """A network with its prior, and data simulated at the inputs x (m, inputs).

    aside : what else its name must say: of how many on the page these are some
    """

    network: Network
    x: Array
    faults: tuple[str, ...] = ("prior_forgotten", *MISUSED)
    aside: str = ""

    @property
    def name(self) -> str:
        """Its layers, and how many data."""
        layers = "-".join(map(str, self.network.sizes))
        return f"the network {layers} with {len(self.x):,} simulated observations{self.aside}"

    @property
    def gradient(self) -> float:
        """Operations of one gradient at most: with many inputs each number of the data meets few of the weights."""
        return 1500.0 + 2.5 * len(self.x) * self.network.dim

    @property
    def quantities(self) -> tuple[str, ...]:
        """The fit, the sizes of weights by layer, what the network says at some inputs."""
        layers = range(1, len(self.network.layer_shapes) + 1)
        sizes = [f"the mean square of the {what} into layer {n}" for n in layers for what in ("weights", "biases")]
        said = "the output" if self.network.likelihood == "gaussian" else "the probability of the last class"
        shown = [f"{said} at input {row + 1}" for row in self._rows]
        return ("the log likelihood", "the mean square of all weights", *sizes, *shown)

    @property
    def _rows(self) -> list[int]:
        return np.unique(np.linspace(0, len(self.x) - 1, ROWS).astype(int)).tolist() if len(self.x) else []

    def draw(self, n: int, rng: Rng) -> tuple[Array, Sequence[Any]]:
        """See `Model`."""
        theta = self.network.prior_sd * rng.standard_normal((n, self.network.dim))
        return theta, list(simulate(self.network, theta, self.x, rng))

    def target(self, data: Any, fault: str = "") -> Target:
        """See `Model`."""
        if fault == "prior_forgotten":
            return network_target(self.network, "likelihood", self.x, data, 1e-6, 0.0)
        return self.network.posterior(*misused(fault, self.x, data))

    def values(self, theta: Array, data: Sequence[Any]) -> Array:
        """See `Model`."""
        return watched(self.network, theta, self.x, np.asarray(data), self._rows)


def joint_model(target: Target) -> OfNetwork | None:
    """The joint distribution that the posterior of a network comes from; None for other targets."""
    return OfNetwork(*target.model) if isinstance(target.model, AtInputs) else None


def simulate(network: Network, theta: Array, x: Array, rng: Rng, noise_sd: Array | float | None = None) -> Array:
    """Data at x (m, inputs) for each row of theta (n, dim): labels (n, m), or values (n, m, outputs) with noise of
    `noise_sd`, a number or (n,), default the network's.
    """
    if network.likelihood == "gaussian":
        said = predictive.outputs(network, theta, x)
        sd = np.reshape(network.noise_sd if noise_sd is None else noise_sd, (-1, 1, 1))
        return np.asarray(said + sd * rng.standard_normal(said.shape))
    p = predictive.probabilities(network, theta, x)
    ticket.look()
    uniform = rng.random(p.shape[:2])[:, :, None]
    ticket.look()
    total = np.cumsum(p, axis=2)
    ticket.look()
    return np.asarray((uniform > total[:, :, :-1]).sum(axis=2))


def watched(network: Network, theta: Array, x: Array, y: Array, rows: list[int]) -> Array:
    """The quantities of `OfNetwork` at theta (n, ..., dim), given y (n, m) or (n, m, outputs) of each of the n."""
    shape, flat = theta.shape[:-1], np.ascontiguousarray(theta.reshape(-1, theta.shape[-1]))
    each = y.reshape(len(y), *(1,) * (len(shape) - 1), *y.shape[1:])
    with np.errstate(all="ignore"):
        if network.likelihood == "gaussian":
            said = predictive.outputs(network, flat, x).reshape(*shape, len(x), network.outputs)
            fit = -0.5 * ((said - each) ** 2).sum(axis=(-1, -2)) / network.noise_sd**2
            shown = said[..., rows, 0]
        else:
            p = predictive.probabilities(network, flat, x)
            p = p.reshape(*shape, *p.shape[1:])  # not by -1: there may be no inputs
            ticket.look()
            labels = np.broadcast_to(each, (*shape, len(x)))[..., None].astype(np.int64)
            ticket.look()
            fit = np.log(np.maximum(np.take_along_axis(p, labels, -1)[..., 0], 1e-300)).sum(axis=-1)
            shown = p[..., rows, -1]
        ticket.look()
        columns = [fit, (theta**2).mean(axis=-1)]
        for weights, biases in ticket.looking(network.unpack(theta)):
            columns += [(weights**2).mean(axis=(-1, -2)), (biases**2).mean(axis=-1)]
    return np.concatenate([np.stack(columns, axis=-1), shown], axis=-1)


def watched_fit(network: Network, theta: Array, x: Array, y: Array, noise_precision: Array) -> Array:
    """Log likelihood (n,), normalised over y, at theta (n, dim) given y (n, m) or (n, m, outputs) of each, with the
    noise precision (n,) of each where there is noise.
    """
    if network.likelihood == "gaussian":
        off = ((predictive.outputs(network, theta, x) - y) ** 2).sum(axis=(1, 2))
        return np.asarray(0.5 * y[0].size * np.log(noise_precision / (2.0 * math.pi)) - 0.5 * noise_precision * off)
    p = predictive.probabilities(network, theta, x)
    seen = np.take_along_axis(p, y[..., None].astype(np.int64), -1)[..., 0]
    return np.asarray(np.log(np.maximum(seen, 1e-300)).sum(axis=1))
