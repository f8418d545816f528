"""What decides the chains of a lesson on neurons or on layers; what differs between the two, its own class says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from app.kit.words import Words
from datasets.xor import chosen, held_out
from engine.jumps.settings import Prior, log_size_prior
from engine.networks import Network
from engine.spec import Spec, SpecError, check_points, choice, integer, number, points, seed_field
from lessons.families.growing.plane import MAX_POINTS, REACH

Array = NDArray[np.float64]

WORDS = Words(__file__)  # which neurons, layers and landing share

CLASSES = (WORDS.phrase("classes.0"), WORDS.phrase("classes.1"))

BARE_JUMPS = ("plain", "rescaled")  # without moves or bridges inside them
# What lessons can break, in the order of their menus.
SCHEMES = ("exact", "no_jacobian", "no_end_points", "slot_once", "no_kernel_densities", "as_coded")
DATA = ("xor", "noisy", "points")
PRIORS = ("uniform", "geometric", "poisson")
WITHIN = ("nuts", "none")
STARTS = ("spread", "prior")
CHAINS = 16
MAX_SWEEPS = 5000
MAX_JUMPS = 20  # in a sweep
MOST_JUMPS = 20_000  # of one chain: the ledger keeps them all
MISTAKES = WORDS["mistakes"]
COSTLY = ("no_kernel_densities", "as_coded")  # two NUTS runs a jump


@dataclass(frozen=True, kw_only=True)
class GrowingSpec(Spec):
    """Chains over the architectures of a network that sorts points of the plane into two classes.

    A lesson's spec says which size changes (`grows`, `low`, `high`), how it is called, which network it is (`network`),
    the `jump` and its `variant`.
    """

    grows: ClassVar[str]  # "width" or "depth"
    low: ClassVar[int] = 1
    symbol: ClassVar[str]  # of the size
    thing: ClassVar[str]  # what is born and dies

    data: str = choice("xor", DATA, "XOR clouds, noisier ones, or your own points")
    corner: int = integer(50, 1, 200, "points in each of the four clouds")
    points: tuple[tuple[float, float, int], ...] = points(MAX_POINTS, "your own points: x₁, x₂ and class 0 or 1")
    temper: float = number(0.5, 0.02, 10.0, "factor a in the softmax p ∝ exp(a z): a small one makes every network less sure", log=True)
    prior_sd: float = number(1.0, 0.05, 20.0, "prior standard deviation σ of every weight and bias", log=True)
    prior: str = choice("uniform", PRIORS, "prior on the size")
    ratio: float = number(0.7, 0.05, 0.95, "geometric prior: each size has this many times the one before", step=0.05)
    mean: float = number(4.0, 0.1, 30.0, "Poisson prior: its mean, before it is cut to the range", log=True)
    within: str = choice("nuts", WITHIN, "what moves the weights between jumps: NUTS, or nothing")
    step_size: float = number(0.1, 0.001, 2.0, "time ε that one leapfrog step of NUTS simulates", log=True)
    jumps: int = integer(1, 1, MAX_JUMPS, "jumps proposed in a sweep; the stage shows the last one")
    sweeps: int = integer(300, 50, MAX_SWEEPS, "sweeps: NUTS, then the jumps, in each of 16 chains", log=True)
    burn: int = integer(100, 0, 2500, "so many sweeps at the start are left out of every average", step=10)
    start: str = choice("spread", STARTS, "start the chains at different sizes, from the lowest to the highest, or at draws from the prior")
    shown: int = integer(4, 1, CHAINS, "the chain whose network and jumps are on the stage")
    seed: int = seed_field()

    @property
    def high(self) -> int:
        """The largest size."""
        raise NotImplementedError

    def data_set(self) -> tuple[Array, NDArray[np.int64]]:
        """The points x (n, 2) and their classes y (n,)."""
        data = chosen(self.data, self.points, self.corner, self.seed)
        return data.x, data.y

    def held_out(self) -> tuple[Array, NDArray[np.int64]] | None:
        """Points of the same clouds that no chain learns from; None where no more can be drawn."""
        data = held_out(self.data, self.seed)
        return None if data is None else (data.x, data.y)

    def network(self) -> Network:
        """The network with its ranges."""
        raise NotImplementedError

    def check(self) -> None:
        check_points(self.points, REACH)
        if self.data == "points" and not self.points:
            raise SpecError("points", "there are none: put at least one point")
        if self.burn > self.sweeps // 2:
            raise SpecError("burn", f"leaving out {self.burn} leaves less than half of the {self.sweeps} sweeps")
        if self.sweeps * self.jumps > MOST_JUMPS:
            raise SpecError("jumps", f"{self.jumps} in each of {self.sweeps} sweeps are more than {MOST_JUMPS:,} jumps")
        if self.variant in COSTLY and self.jump not in BARE_JUMPS:  # type: ignore[attr-defined]
            raise SpecError("variant", f"NUTS around the jump goes with the plain jump, not with {self.jump}")  # type: ignore[attr-defined]

    @property
    def count(self) -> int:
        """Number of sizes."""
        return self.high - self.low + 1

    @property
    def mistake(self) -> str:
        """What is wrong on purpose, or nothing."""
        return MISTAKES.get(self.variant, "")  # type: ignore[attr-defined]

    @property
    def newcomer(self) -> str:
        """What a birth adds, in words."""
        anew = self.jump == "redraw"  # type: ignore[attr-defined]
        return WORDS.phrase("runs.drawn_anew" if anew else "runs.drawn_from_prior", thing=self.thing)

    def size_prior(self) -> Prior:
        """The prior on the size, as the engine takes it."""
        return {"uniform": "uniform", "geometric": ("geometric", self.ratio), "poisson": ("poisson", self.mean)}[self.prior]  # type: ignore[return-value]

    def log_prior(self) -> Array:
        """(K,), normalised."""
        return log_size_prior("prior", self.size_prior(), self.low, self.high)

    def settings(self) -> dict[str, Any]:
        """What `engine.sample_architecture` needs to know of the jumps."""
        return {"variant": self.variant, "jump": self.jump, f"{self.grows}_prior": self.size_prior()}  # type: ignore[attr-defined]

    def start_sizes(self) -> list[int] | None:
        """Where the chains start; None: drawn."""
        if self.start == "prior":
            return None
        return [int(size) for size in np.round(np.linspace(self.low, self.high, CHAINS))]
