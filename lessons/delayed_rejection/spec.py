"""What decides the picture of this lesson: a delayed rejection run in the plane."""

from __future__ import annotations

from dataclasses import dataclass

from engine.samplers.spec import DelayedRejectionSpec
from engine.spec import SpecError, integer
from engine.targets.target import TargetError


@dataclass(frozen=True, kw_only=True)
class DelayedRejectionLesson(DelayedRejectionSpec):
    """A delayed rejection run on a density in the plane, small enough that the inside of every transition is shown."""

    dimension: int = integer(2, 2, 2, "this lesson shows the whole density, so it stays in the plane")
    draws: int = integer(800, 100, 1000, "transitions of each chain", log=True)
    warmup: int = integer(0, 0, 2000, "transitions run and dropped before the first draw kept", step=10)
    chains: int = integer(1, 1, 4, "independent chains, each with its own random numbers")

    def check(self) -> None:
        super().check()
        if self.target == "formula":
            try:
                self.build_target()
            except TargetError as error:
                raise SpecError("formula", str(error)) from error

    @property
    def forgets(self) -> bool:
        """Whether the sampler leaves out factors that it should have: with one try there are none."""
        return self.variant != "exact" and self.stages > 1
