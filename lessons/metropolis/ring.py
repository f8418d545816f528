"""The kernel of the ring of islands, as the judge wants it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.judge import Check
from engine.judge.audit import apart, check
from engine.judge.trial import Worlds
from engine.samplers.islands import walk_islands
from engine.spec import SpecError
from lessons.metropolis.spec import WORDS

Array = NDArray[np.float64]

AUDITED = 200  # decisions that are worked out again
WATCHED = 12  # islands, the largest first


@dataclass(frozen=True)
class RingKernel:
    """A transition of `engine.samplers.islands` over islands with these people, clockwise with probability p_right.

    mistake : what is wrong on purpose already
    """

    people: tuple[float, ...]
    p_right: float
    variant: str = "exact"
    mistake: str = ""

    @property
    def name(self) -> str:
        """Where it walks."""
        return WORDS.phrase("checks.ring", islands=len(self.people))

    @property
    def quantities(self) -> tuple[str, ...]:
        """Where the walker is, by island; what stands for the log density."""
        shares = (WORDS.phrase("checks.ring_share", island=k + 1) for k in self._watched)
        return (*shares, WORDS.phrase("checks.ring_people"))

    @property
    def _watched(self) -> list[int]:
        return sorted(np.argsort(self.people)[::-1][:WATCHED].tolist())

    @property
    def faults(self) -> tuple[str, ...]:
        """The variants that change something here."""
        lopsided = self.p_right != 0.5
        refuses = lopsided or len(set(self.people)) > 1
        return (*(("no_hastings",) if lopsided else ()), *(("drop_rejections",) if refuses else ()))

    def planted(self, fault: str) -> RingKernel:
        """The kernel with one of its `faults`."""
        if fault not in self.faults:
            raise SpecError("fault", f"{fault!r} is not one of {', '.join(self.faults)}")
        return dataclasses.replace(self, variant=fault)

    def reference(self, n: int, rng: np.random.Generator) -> Array:
        """(n, q) at exact draws: islands in proportion to their people."""
        return self.worlds(n, rng).values

    def worlds(self, n: int, rng: np.random.Generator) -> Worlds:
        """n exact draws."""
        people = np.array(self.people)
        at = rng.choice(len(people), n, p=people / people.sum())
        return Worlds(at, self._values(at))

    def move(self, worlds: Worlds, transitions: int, seeds: list[np.random.SeedSequence], cancel: Any = None) -> tuple[Array, float]:
        """(n, transitions, q) after each transition, and the operations spent."""
        moved = np.empty((len(worlds.states), transitions), dtype=np.int64)
        for i, start in enumerate(worlds.states):
            if cancel is not None and cancel.is_set():
                raise InterruptedError
            moved[i] = self._walk(int(start), transitions, int(seeds[i].generate_state(1)[0])).draws
        return self._values(moved), moved.size * 2e4

    def audit(self, seed: int = 0, cancel: Any = None) -> Check:
        """Every ratio and every move of a walk, worked out again."""
        walk, people, errors, at = self._walk(0, AUDITED, seed), np.array(self.people), [], 0
        for t in range(AUDITED):
            to, now = int(walk.proposal[t]), int(walk.draws[t])
            forth = self.p_right if (to - at) % len(people) == 1 else 1.0 - self.p_right
            ratio = people[to] / people[at] * (1.0 - forth) / forth
            stands = to if walk.uniform[t] < ratio else at
            beside = (to - at) % len(people) in (1, len(people) - 1)
            errors += [apart(ratio, walk.ratio[t]), 0.0 if beside and now == stands else np.inf]
            at = now
        return check(errors, AUDITED, self.name)

    def _walk(self, start: int, draws: int, seed: int) -> Any:
        return walk_islands(self.people, draws, seed, p_right=self.p_right, start=start, variant=self.variant)

    def _values(self, at: NDArray[np.int64]) -> Array:
        here = [(at == k).astype(np.float64) for k in self._watched]
        return np.stack([*here, np.log(self.people)[at]], axis=-1)
