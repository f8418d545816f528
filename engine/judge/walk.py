"""The walk of `engine.rejection`, Metropolis with a normal prior, as the trial wants it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine import ticket
from engine.judge.check import Check
from engine.judge.network_models import MISUSED, ROWS, misused
from engine.judge.trial import Worlds
from engine.networks.prior import Prior
from engine.rejection import walk_on

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WalkKernel:
    """Steps of the walk on values simulated at the inputs x (m,), with the beta that a chain has come to.

    fault : what has been planted
    """

    prior: Prior
    x: Array
    noise_sd: float
    beta: float
    mistake: str = ""
    fault: str = ""

    @property
    def name(self) -> str:
        """The method and the data."""
        return f"The walk with β = {self.beta:.2g} and {len(self.x)} simulated values"

    @property
    def quantities(self) -> tuple[str, ...]:
        """The fit, the sizes of weights, what the network says at some inputs."""
        shown = (f"f({x:.3g})" for x in self._places)
        return ("the log likelihood", "the mean square weight in prior variances", *shown)

    @property
    def _places(self) -> Array:
        return np.concatenate([self.x[:ROWS], [-1.0, 2.0]])  # two of them away from the data

    @property
    def faults(self) -> tuple[str, ...]:
        """A forgotten factor, then mistakes with the data."""
        return ("unshrunk", *(MISUSED if len(self.x) else ()))

    def planted(self, fault: str) -> WalkKernel:
        """The kernel with one of its `faults`."""
        return dataclasses.replace(self, fault=fault)

    def audit(self, seed: int = 0) -> Check | None:
        """Nothing: its uniforms are not recorded."""
        return None

    def reference(self, n: int, rng: np.random.Generator) -> Array:
        """What is watched at n exact draws, (n, q)."""
        return self.worlds(n, rng).values

    def worlds(self, n: int, rng: np.random.Generator) -> Worlds:
        """n exact joint draws: weights from the prior, values from the likelihood."""
        theta = rng.standard_normal((n, self.prior.dim)) * self.prior.sds()
        y = self.prior.values(theta, self.x) + self.noise_sd * rng.standard_normal((n, len(self.x)))
        return Worlds((theta, y), self._values(theta, y))

    def move(self, worlds: Worlds, transitions: int, seeds: list[np.random.SeedSequence]) -> tuple[Array, float]:
        """What is watched after each step, (n, transitions, q), and the operations spent."""
        theta, y = worlds.states
        moved = np.empty((len(theta), transitions, self.prior.dim))
        for i, (start, seen, seed) in ticket.looking(enumerate(zip(theta, y, seeds, strict=True))):
            data = misused(self.fault, self.x, seen)
            rng = np.random.Generator(np.random.SFC64(seed))
            moved[i], _ = walk_on(self.prior, start, *data, self.noise_sd, self.beta, transitions, rng, self.fault == "unshrunk")
        values = np.stack([self._values(moved[:, t], y) for t in range(transitions)], axis=1)
        return values, len(theta) * (1e5 + 30.0 * transitions * self.prior.dim * max(1, len(self.x)))

    def _values(self, theta: Array, y: Array) -> Array:
        """(n, q) at theta (n, dim), given y (n, m) of each."""
        said = self.prior.values(theta, np.concatenate([self.x, self._places]))
        at, shown = said[:, : len(self.x)], said[:, len(self.x) :]
        fit = -0.5 * ((at - y) ** 2).sum(axis=1) / self.noise_sd**2
        sds = self.prior.sds()
        free = sds > 0.0
        return np.column_stack([fit, ((theta[:, free] / sds[free]) ** 2).mean(axis=1), shown])
