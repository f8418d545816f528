"""Models as the judge needs them: exact joint draws of unknowns and data, the posterior of data as a target, and what
is watched of both.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.networks import predictive
from engine.networks.mlp import Network, network_target
from engine.targets.target import Target

Array = NDArray[np.float64]
Rng = np.random.Generator

PAIRS = 6  # neighbouring coordinates whose product is watched
ROWS = 3  # inputs at which a network is watched
MISUSED = ("data_twice", "data_ignored")  # mistakes with any data


def misused(fault: str, x: Array, y: Array) -> tuple[Array, Array]:
    """The data as a kernel with one of the `MISUSED` faults takes them; without it, as they are."""
    if fault == "data_twice":
        return np.concatenate([x, x]), np.concatenate([y, y])
    return (x[:0], y[:0]) if fault == "data_ignored" else (x, y)


class Model(Protocol):
    """The joint distribution of unknowns theta (dim,) and data.

    name : for people
    quantities : (q,), names of what is watched, the log likelihood (or density) among them
    faults : mistakes that can be planted in the density
    """

    @property
    def name(self) -> str: ...

    @property
    def quantities(self) -> tuple[str, ...]: ...

    @property
    def faults(self) -> tuple[str, ...]: ...

    def draw(self, n: int, rng: Rng) -> tuple[Array, Sequence[Any]]:
        """n exact joint draws: theta (n, dim) from the prior, and for each its data."""

    def target(self, data: Any, fault: str = "") -> Target:
        """The posterior of these data, or one with a fault."""

    def values(self, theta: Array, data: Sequence[Any]) -> Array:
        """What is watched at theta (n, ..., dim) given the data of each of the n: (n, ..., q)."""


@dataclass(frozen=True, eq=False)
class Known:
    """A target whose exact draws are known: its own distribution is the joint one, and there are no data.

    wrong : faults by name, each the target with a mistake
    """

    aim: Target
    wrong: Mapping[str, Target] = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        """The target's."""
        return self.aim.name

    @property
    def faults(self) -> tuple[str, ...]:
        """Mistakes that can be planted in the density."""
        return tuple(self.wrong)

    @property
    def quantities(self) -> tuple[str, ...]:
        """Coordinates, log density, products of neighbours."""
        labels = self.aim.labels
        pairs = [f"{a} times {b}" for a, b in pairwise(labels[: PAIRS + 1])]
        return (*labels, "the log density", *pairs)

    def draw(self, n: int, rng: Rng) -> tuple[Array, Sequence[Any]]:
        """See `Model`."""
        assert self.aim.truth is not None and self.aim.truth.draw is not None
        return self.aim.truth.draw(rng, n), [None] * n

    def target(self, data: Any, fault: str = "") -> Target:
        """See `Model`."""
        return self.wrong[fault] if fault else self.aim

    def values(self, theta: Array, data: Sequence[Any]) -> Array:
        """See `Model`."""
        flat = np.ascontiguousarray(theta.reshape(-1, self.aim.dim))
        with np.errstate(all="ignore"):
            logs = self.aim.log_density_many(flat)
            centred = np.arctan(flat - self._centre)
            pairs = centred[:, :-1][:, :PAIRS] * centred[:, 1:][:, :PAIRS]
        return np.concatenate([flat, logs[:, None], pairs], axis=1).reshape(*theta.shape[:-1], -1)

    @property
    def _centre(self) -> Array:
        assert self.aim.truth is not None
        return np.where(np.isfinite(self.aim.truth.mean), self.aim.truth.mean, 0.0)


@dataclass(frozen=True, eq=False)
class Simulated:
    """A model given by three functions.

    name : for people
    labels : (dim,), names of the unknowns
    prior : `f(n, rng) -> (n, dim)`, independent draws of all unknowns
    simulate : `f(theta (dim,), rng) -> data`
    posterior : `f(data) -> Target`, over theta in the same order
    wrong : faults by name, each a `posterior` with a mistake
    """

    name: str
    labels: tuple[str, ...]
    prior: Callable[[int, Rng], Array]
    simulate: Callable[[Array, Rng], Any]
    posterior: Callable[[Any], Target]
    wrong: dict[str, Callable[[Any], Target]] = dataclasses.field(default_factory=dict)

    @property
    def faults(self) -> tuple[str, ...]:
        """Mistakes that can be planted in the density."""
        return tuple(self.wrong)

    @property
    def quantities(self) -> tuple[str, ...]:
        """The unknowns, and their log density."""
        return (*self.labels, "the log density given the data")

    def draw(self, n: int, rng: Rng) -> tuple[Array, Sequence[Any]]:
        """See `Model`."""
        theta = np.ascontiguousarray(self.prior(n, rng), dtype=np.float64)
        return theta, [self.simulate(row, rng) for row in theta]

    def target(self, data: Any, fault: str = "") -> Target:
        """See `Model`."""
        return self.wrong[fault](data) if fault else self.posterior(data)

    def values(self, theta: Array, data: Sequence[Any]) -> Array:
        """See `Model`."""
        logs = np.empty(theta.shape[:-1])
        for i, (rows, seen) in enumerate(zip(theta, data, strict=True)):
            logs[i] = self.posterior(seen).log_density_many(rows.reshape(-1, theta.shape[-1])).reshape(rows.shape[:-1])
        return np.concatenate([theta, logs[..., None]], axis=-1)


@dataclass(frozen=True, eq=False)
class OfNetwork:
    """A network with its prior, and data simulated at the inputs x (m, inputs)."""

    network: Network
    x: Array
    faults: tuple[str, ...] = ("prior_forgotten", *MISUSED)

    @property
    def name(self) -> str:
        """Its layers, and how many data."""
        return f"the network {'-'.join(map(str, self.network.sizes))} with {len(self.x):,} simulated observations"

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


def simulate(network: Network, theta: Array, x: Array, rng: Rng, noise_sd: Array | float | None = None) -> Array:
    """Data at x (m, inputs) for each row of theta (n, dim): labels (n, m), or values (n, m, outputs) with noise of
    `noise_sd`, a number or (n,), default the network's.
    """
    if network.likelihood == "gaussian":
        said = predictive.outputs(network, theta, x)
        sd = np.reshape(network.noise_sd if noise_sd is None else noise_sd, (-1, 1, 1))
        return np.asarray(said + sd * rng.standard_normal(said.shape))
    p = predictive.probabilities(network, theta, x)
    below = rng.random(p.shape[:2])[:, :, None] > np.cumsum(p, axis=2)[:, :, :-1]
    return np.asarray(below.sum(axis=2))


def watched(network: Network, theta: Array, x: Array, y: Array, rows: list[int]) -> Array:
    """The quantities of `OfNetwork` at theta (n, ..., dim), given y (n, m) or (n, m, outputs) of each of the n."""
    shape, flat = theta.shape[:-1], np.ascontiguousarray(theta.reshape(-1, theta.shape[-1]))
    each = y.reshape(len(y), *(1,) * (len(shape) - 1), *y.shape[1:])
    with np.errstate(all="ignore"):
        if network.likelihood == "gaussian":
            said = predictive.outputs(network, flat, x).reshape(*shape, len(x), -1)
            fit = -0.5 * ((said - each) ** 2).sum(axis=(-1, -2)) / network.noise_sd**2
            shown = said[..., rows, 0]
        else:
            p = predictive.probabilities(network, flat, x).reshape(*shape, len(x), -1)
            labels = np.broadcast_to(each, (*shape, len(x)))[..., None].astype(np.int64)
            fit = np.log(np.maximum(np.take_along_axis(p, labels, -1)[..., 0], 1e-300)).sum(axis=-1)
            shown = p[..., rows, -1]
        columns = [fit, (theta**2).mean(axis=-1)]
        for weights, biases in network.unpack(theta):
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
