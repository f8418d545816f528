"""Models as the judge needs them: exact joint draws of unknowns and data, the posterior of data as a target, and what
is watched of both.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from engine import ticket
from engine.targets.target import Target

Array = NDArray[np.float64]
Rng = np.random.Generator

PAIRS = 6  # neighbouring coordinates whose product is watched


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

    def __reduce__(self) -> Any:
        return Known, (self.aim.bare(),)  # where it is sent to, runs are made on it, and no exact draws

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
        return theta, [self.simulate(row, rng) for row in ticket.looking(theta)]

    def target(self, data: Any, fault: str = "") -> Target:
        """See `Model`."""
        return self.wrong[fault](data) if fault else self.posterior(data)

    def values(self, theta: Array, data: Sequence[Any]) -> Array:
        """See `Model`."""
        logs = np.empty(theta.shape[:-1])
        for i, (rows, seen) in enumerate(zip(ticket.looking(theta), data, strict=True)):
            logs[i] = self.posterior(seen).log_density_many(rows.reshape(-1, theta.shape[-1])).reshape(rows.shape[:-1])
        return np.concatenate([theta, logs[..., None]], axis=-1)
