"""What decides the picture of this lesson: the data, the range of the width with its prior, the jump, the sampler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from app.kit.words import Words
from datasets.xor import EIGHT_POINTS
from engine.networks import Network, network
from engine.spec import SpecError, choice, integer
from lessons.families.growing.spec import BARE_JUMPS, SCHEMES, GrowingSpec
from lessons.families.growing.spec import WORDS as FAMILY

WORDS = Words(__file__, FAMILY)


@dataclass(frozen=True, kw_only=True)
class NeuronsSpec(GrowingSpec):
    """Chains over the hidden units of a 2-k-2 network on points in the plane."""

    grows: ClassVar[str] = "width"
    symbol: ClassVar[str] = "k"
    thing: ClassVar[str] = "unit"

    widest: int = integer(16, 2, 16, "most hidden units")
    jump: str = choice(
        "plain",
        (*BARE_JUMPS, "split", "redraw"),
        "a birth leaves the kept weights alone; shrinks those that lead out by √(k/(k+1)); splits a unit; or all are drawn anew",
    )
    variant: str = choice("exact", SCHEMES, "the right jump, or one that is wrong on purpose")

    def check(self) -> None:
        super().check()
        if self.variant == "no_jacobian" and self.jump != "rescaled":
            raise SpecError("variant", f"a {self.jump} jump has the Jacobian 1, so nothing is forgotten: take the rescaled jump")
        if self.variant == "slot_once" and self.jump == "redraw":
            raise SpecError("variant", "where all is drawn anew no place is chosen: take the plain jump")

    @property
    def high(self) -> int:
        return self.widest

    def network(self) -> Network:
        return network(2, 2, width=(self.low, self.widest), temper=self.temper, prior_sd=self.prior_sd)

    @property
    def newcomer(self) -> str:
        return WORDS.phrase("runs.splits") if self.jump == "split" else super().newcomer


SCENARIOS = WORDS.scenarios(
    {
        "xor": NeuronsSpec(),
        "ten": NeuronsSpec(jumps=10, sweeps=1000),
        "noisy": NeuronsSpec(data="noisy", step_size=0.07),
        "few-units": NeuronsSpec(prior="geometric", ratio=0.5),
        "own-points": NeuronsSpec(data="points", points=EIGHT_POINTS, temper=2.0, step_size=0.2),
        "slot-once": NeuronsSpec(variant="slot_once", jumps=10),
        "end-points": NeuronsSpec(variant="no_end_points"),
        "no-jacobian": NeuronsSpec(jump="rescaled", variant="no_jacobian", sweeps=1000),
        "as-coded": NeuronsSpec(variant="as_coded"),
        "split": NeuronsSpec(jump="split"),
        "redraw": NeuronsSpec(jump="redraw"),
    }
)
