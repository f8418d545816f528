"""The update of a conjugate pair as a kernel: a draw from what is believed after data must leave the joint distribution
of unknowns and data unchanged.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import conjugate
from engine.conjugate import Belief
from engine.judge import Check
from engine.judge.trial import Worlds
from engine.spec import SpecError
from engine.targets.target import Target
from engine.ticket import looking
from lessons.conjugate.analysis import mistaken
from lessons.conjugate.spec import WORDS

Array = NDArray[np.float64]

FAULTS = ("twice", "scale", "miscount")
FARTHEST = 1e15  # observations beyond are kept there: no belief takes them


def simulate(prior: Belief, theta: Array, n: int, rng: np.random.Generator) -> Array:
    """n observations given the unknowns theta (dim,)."""
    return np.clip(prior.observe(rng, np.tile(theta, (n, 1))), -FARTHEST, FARTHEST)


@dataclass(frozen=True, eq=False)
class Pair:
    """The joint distribution of a pair's unknowns and n observations; as a target, prior times likelihood."""

    prior: Belief
    n: int
    faults: tuple[str, ...] = ("data_twice", "data_ignored")

    @property
    def name(self) -> str:
        """The pair."""
        return WORDS.phrase("checks.simulated", points=self.n, prior=type(self.prior).__name__)

    @property
    def quantities(self) -> tuple[str, ...]:
        """The unknowns by themselves and within what is believed after the data, and the log density there."""
        names = self.prior.unknowns
        given = [WORDS.phrase("checks.given", quantity=name) for name in (*names, WORDS.phrase("checks.log_density"))]
        return (*names, *given)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Array, list[Array]]:
        """See `engine.judge.models.Model`."""
        theta = self.prior.draw(rng, n)
        return theta, [simulate(self.prior, row, self.n, rng) for row in looking(theta)]

    def target(self, data: Array, fault: str = "") -> Target:
        """See `engine.judge.models.Model`."""
        x = {"": data, "data_twice": np.concatenate([data, data]), "data_ignored": data[:0]}[fault]
        return conjugate.posterior(self.prior, x)

    def values(self, theta: Array, data: Sequence[Array]) -> Array:
        """See `engine.judge.models.Model`. Any function of unknowns and data may be watched; those that have nearly the
        same law in all worlds show most.
        """
        rows = []
        for states, x in looking(zip(theta, data, strict=True)):
            after, flat = self.prior.update(x), states.reshape(-1, self.prior.dim)
            middle = np.where(np.isfinite(after.mean()), after.mean(), 0.0)
            spread = np.sqrt(np.diag(after.covariance()))
            place = (flat - middle) / np.where(np.isfinite(spread) & (spread > 0.0), spread, 1.0)
            with np.errstate(all="ignore"):
                height = after.log_density(flat) - after.log_density(middle)
            found = np.column_stack([flat, place, np.nan_to_num(height, nan=-np.inf)])
            rows.append(found.reshape(*states.shape[:-1], -1))
        return np.stack(rows)


@dataclass(frozen=True, eq=False)
class UpdateKernel:
    """A draw from the belief after n observations, in place of the unknowns that made them.

    error : the mistake that is made in the update, "none" or one of `FAULTS`
    mistake : the same in a sentence
    """

    prior: Belief
    n: int
    error: str = "none"
    mistake: str = ""

    @property
    def name(self) -> str:
        """What is updated."""
        return WORDS.phrase("checks.update", points=self.n, prior=type(self.prior).__name__)

    @property
    def quantities(self) -> tuple[str, ...]:
        """The unknowns, and the log likelihood."""
        return (*self.prior.unknowns, WORDS.phrase("checks.log_likelihood"))

    @property
    def faults(self) -> tuple[str, ...]:
        """The mistakes that change something in this pair."""
        rng = np.random.Generator(np.random.SFC64(0))
        x = simulate(self.prior, self.prior.draw(rng, 1)[0], max(self.n, 2), rng)
        return tuple(f for f in FAULTS if mistaken(self.prior, x, f) != self.prior.update(x))

    def planted(self, fault: str) -> UpdateKernel:
        """The kernel with one of its `faults`."""
        if fault not in self.faults:
            raise SpecError("fault", f"{fault!r} is not one of {', '.join(self.faults)}")
        return dataclasses.replace(self, error=fault)

    def reference(self, n: int, rng: np.random.Generator) -> Array:
        """(n, q) at exact draws."""
        return self.worlds(n, rng).values

    def worlds(self, n: int, rng: np.random.Generator) -> Worlds:
        """n exact joint draws of unknowns and data."""
        theta = self.prior.draw(rng, n)
        data = [simulate(self.prior, row, self.n, rng) for row in looking(theta)]
        values = [self._values(row[None], x)[0] for row, x in looking(zip(theta, data, strict=True))]
        return Worlds(data, np.stack(values))

    def move(self, worlds: Worlds, transitions: int, seeds: list[np.random.SeedSequence], cancel: Any = None) -> tuple[Array, float]:
        """(n, transitions, q): draws from the belief after each world's data, and the operations spent."""
        moved = np.empty((len(worlds.states), transitions, len(self.quantities)))
        for i, x in enumerate(worlds.states):
            if cancel is not None and cancel.is_set():
                raise InterruptedError
            after = mistaken(self.prior, x, self.error)
            moved[i] = self._values(after.draw(np.random.Generator(np.random.SFC64(seeds[i])), transitions), x)
        return moved, moved.size * 2e4

    def audit(self, seed: int = 0, cancel: Any = None) -> Check | None:
        """Nothing is decided."""
        return None

    def _values(self, theta: Array, x: Array) -> Array:
        with np.errstate(all="ignore"):
            logs = self.prior.log_likelihoods(theta, x).sum(axis=1)
        return np.column_stack([theta, np.nan_to_num(logs, nan=-np.inf)])
