"""How evidence is estimated, as one validated, frozen description."""

from __future__ import annotations

from dataclasses import dataclass

from engine.evidence.annealing import VARIANTS
from engine.spec import Spec, choice, integer, number, seed_field

METHODS = ("smc", "ais")


@dataclass(frozen=True, kw_only=True)
class EvidenceSpec(Spec):
    """Populations that are carried from the prior to the posterior.

    The defaults give standard errors of 0.02 to 0.1 in log p(y | k) of a 2-k-2 network on 200 points. The error falls
    with the root of `islands`; a posterior with several separate modes needs more `particles`, one that is hard to move
    about in more `moves`: networks with two to four hidden layers on the same points want 20 to 40.
    """

    method: str = choice(
        "smc", METHODS, "sequential Monte Carlo, which drops particles of low weight; or annealed importance sampling, which keeps all"
    )
    particles: int = integer(256, 16, 8192, "particles of one population", log=True)
    islands: int = integer(16, 4, 256, "populations that know nothing of each other, for the error; half as many again check")
    moves: int = integer(4, 1, 100, "temperature levels of a stage, one HMC transition at each", log=True)
    overlap: float = number(0.5, 0.1, 0.95, "effective share of the particles after a stage", step=0.05)
    trajectory: float = number(1.5, 0.1, 10.0, "length of an HMC trajectory", unit="sd of the population", log=True)
    variant: str = choice("exact", VARIANTS, "the estimate, or one that is wrong on purpose")
    seed: int = seed_field()

    @property
    def pieces(self) -> int:
        """Populations in all: a pilot, the islands, and half as many again with every second level."""
        return 1 + self.islands + self.islands // 2
