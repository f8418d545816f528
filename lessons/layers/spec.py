"""What decides the picture of this lesson: the data, the range of the depth with its prior, the width, the sampler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from app.kit.words import Words
from datasets.xor import EIGHT_POINTS
from engine.networks import Network, network
from engine.spec import choice, integer, number
from lessons.families.growing.spec import WORDS as FAMILY
from lessons.families.growing.spec import GrowingSpec

WORDS = Words(__file__, FAMILY)

JUMPS = ("plain", "redraw")
VARIANTS = ("exact", "no_end_points", "no_kernel_densities", "as_coded")


@dataclass(frozen=True, kw_only=True)
class LayersSpec(GrowingSpec):
    """Chains over the hidden layers of a network on points in the plane; all layers have the same width."""

    grows: ClassVar[str] = "depth"
    symbol: ClassVar[str] = "L"
    thing: ClassVar[str] = "layer"

    corner: int = integer(5, 1, 200, "points in each of the four clouds")
    temper: float = number(1.0, 0.02, 10.0, "factor a in the softmax p ∝ exp(a z): a small one makes every network less sure", log=True)
    step_size: float = number(0.07, 0.001, 2.0, "time ε that one leapfrog step of NUTS simulates", log=True)
    width: int = integer(3, 1, 5, "units of each hidden layer")
    deepest: int = integer(4, 2, 5, "most hidden layers")
    jump: str = choice("plain", JUMPS, "a jump leaves all other weights alone; or the whole network of the new depth is drawn anew")
    variant: str = choice("exact", VARIANTS, "the right jump, or one that is wrong on purpose")

    @property
    def high(self) -> int:
        return self.deepest

    def network(self) -> Network:
        return network(2, 2, width=self.width, depth=(self.low, self.deepest), temper=self.temper, prior_sd=self.prior_sd)


SCENARIOS = WORDS.scenarios(
    {
        "few": LayersSpec(),
        "many": LayersSpec(corner=50, temper=0.5, step_size=0.03),
        "noisy": LayersSpec(data="noisy", temper=0.5, sweeps=1000),
        "shallow": LayersSpec(prior="geometric", ratio=0.3),
        "own-points": LayersSpec(data="points", points=EIGHT_POINTS, step_size=0.1, sweeps=1000),
        "end-points": LayersSpec(variant="no_end_points"),
        "as-coded": LayersSpec(variant="as_coded"),
        "redraw": LayersSpec(jump="redraw"),
    }
)
