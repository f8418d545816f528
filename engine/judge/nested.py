"""The kernel of `engine.jumps.toy`, reversible jump on nested Gaussian models, as the trial wants it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import ticket
from engine.judge.check import Check
from engine.judge.trial import Worlds
from engine.jumps import toy

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NestedKernel:
    """The sweep of a `ToySpec` on simulated measurements: a jump, then all parameters anew.

    The parameters are drawn anew at the end of each sweep, so that the state is the model alone; where the data hardly
    tell the models apart the kernel is judged best, so a part of the worlds has no data.
    """

    spec: toy.ToySpec
    mistake: str = ""

    @property
    def name(self) -> str:
        """The family and the data."""
        spec = self.spec
        return f"The jump between {spec.models} models ({spec.family}), {spec.observations} simulated measurements"

    @property
    def quantities(self) -> tuple[str, ...]:
        """The model, and how well it fits."""
        each = [f"the share of model {k}" for k in range(1, self.spec.models + 1)]
        return ("the number of parameters k", *each, "the log likelihood", "the first parameter")

    @property
    def faults(self) -> tuple[str, ...]:
        """Forgotten factors."""
        stretch = self.spec.spread * (2.0 if self.spec.family == "means" else 1.0)
        same = ("exact", "no_jacobian") if stretch == 1.0 else ("exact",)
        return tuple(name for name in toy.VARIANTS if name not in same)

    def planted(self, fault: str) -> NestedKernel:
        """The kernel with one of its `faults`."""
        spec: Any = self.spec.replace(variant=fault)
        return dataclasses.replace(self, spec=spec)

    def audit(self, seed: int = 0) -> Check | None:
        """Nothing: the trial sees the mistakes that can be made here."""
        return None

    def reference(self, n: int, rng: np.random.Generator) -> Array:
        """What is watched at n exact draws, (n, q)."""
        return self.worlds(n, rng).values

    def worlds(self, n: int, rng: np.random.Generator) -> Worlds:
        """n exact joint draws: (k, theta, y) of each."""
        spec, designs = self.spec, toy.data_of(self.spec).designs
        prior = np.exp(toy.models_of(spec).log_prior)
        models = 1 + rng.choice(spec.models, n, p=prior)
        theta = spec.prior_sd * rng.standard_normal((n, spec.models))
        known = spec.observations if spec.likelihood == "on" else 0
        noise = spec.noise_sd * rng.standard_normal((n, spec.observations))
        y = np.stack([designs[k - 1] @ row[:k] for k, row in ticket.looking(zip(models, theta, strict=True))]) + noise
        theta[np.arange(spec.models) >= models[:, None]] = np.nan
        states = list(zip(models, theta, y, strict=True))
        return Worlds(states, np.stack([self._values(*state, designs, known) for state in ticket.looking(states)]))

    def move(self, worlds: Worlds, transitions: int, seeds: list[np.random.SeedSequence]) -> tuple[Array, float]:
        """What is watched after each sweep, (n, transitions, q), and the operations spent."""
        spec: Any = self.spec.replace(chains=1, draws=transitions)
        designs = toy.data_of(self.spec).designs
        known = spec.observations if spec.likelihood == "on" else 0
        moved = np.empty((len(worlds.states), transitions, len(self.quantities)))
        for i, (k, theta, y) in ticket.looking(enumerate(worlds.states)):
            rng = np.random.Generator(np.random.SFC64(seeds[i]))
            found = toy.from_state(spec, y, int(k), np.nan_to_num(theta), rng)
            for t in range(transitions):
                moved[i, t] = self._values(int(found.model[0, t]), found.theta[0, t], y, designs, known)
        return moved, 2e5 * len(moved)

    def _values(self, k: int, theta: Array, y: Array, designs: list[Array], known: int) -> Array:
        off = y[:known] - designs[k - 1][:known] @ theta[:k]
        shares = (np.arange(1, self.spec.models + 1) == k).astype(np.float64)
        return np.concatenate([[k], shares, [-0.5 * float(off @ off) / self.spec.noise_sd**2, theta[0]]])
