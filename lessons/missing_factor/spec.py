"""What decides the picture of this lesson: the data, the range of k, and the scheme that jumps."""

from __future__ import annotations

from dataclasses import dataclass

from app.kit.words import Words
from engine.spec import Spec, SpecError, choice, integer, seed_field
from lessons.families.growing.spec import BARE_JUMPS, SCHEMES

WORDS = Words(__file__)

DATA = ("xor", "noisy", "none")
SLOW = ("no_kernel_densities", "as_coded")  # those that run a short NUTS before and after every jump


@dataclass(frozen=True, kw_only=True)
class MissingSpec(Spec):
    """16 chains over the widths 1 to `highest` of a 2-k-2 network, by one scheme, and by the right one beside it."""

    data: str = choice("xor", DATA, "XOR clouds, noisier ones, or none: then the posterior is the prior")
    corner: int = integer(50, 5, 100, "points in each of the four clouds")
    highest: int = integer(16, 3, 24, "largest number of hidden units; 1 to this many are equally probable at first")
    variant: str = choice("slot_once", SCHEMES, "which factor of the ratio is wrong, if any")
    jump: str = choice("plain", BARE_JUMPS, "kept weights stay as they are, or are rescaled by a birth: then the Jacobian is not 1")
    sweeps: int = integer(1000, 50, 5000, "sweeps of each of the 16 chains", log=True)
    burn: int = integer(100, 0, 1000, "sweeps at the start that the histogram leaves out", step=10)
    seed: int = seed_field()

    def check(self) -> None:
        if self.burn > self.sweeps // 2:
            raise SpecError("burn", f"leaving out {self.burn} keeps less than half of the {self.sweeps} sweeps")
        if self.variant in SLOW and self.sweeps > 2000:
            raise SpecError("sweeps", "at most 2,000 for a scheme with short NUTS runs around every jump: it is slow")

    @property
    def slow(self) -> bool:
        return self.variant in SLOW


SCENARIOS = WORDS.scenarios(
    {
        "slot": MissingSpec(),
        "no-data": MissingSpec(data="none"),
        "ends": MissingSpec(variant="no_end_points"),
        "jacobian": MissingSpec(variant="no_jacobian", jump="rescaled"),
        "densities": MissingSpec(variant="no_kernel_densities", sweeps=400, burn=40),
        "as-coded": MissingSpec(variant="as_coded", sweeps=400, burn=40),
        "noisy": MissingSpec(variant="as_coded", data="noisy", sweeps=400, burn=40),
        "right": MissingSpec(variant="exact"),
    }
)
