"""What decides the picture of this lesson: a delayed rejection run in the plane."""

from __future__ import annotations

from dataclasses import dataclass

from app.kit.words import Words
from engine.samplers.spec import DelayedRejectionSpec
from engine.spec import integer

WORDS = Words(__file__)
ORDINAL = tuple(WORDS["ordinals"].values())


@dataclass(frozen=True, kw_only=True)
class DelayedRejectionLesson(DelayedRejectionSpec):
    """A delayed rejection run on a density in the plane, small enough that the inside of every transition is shown."""

    dimension: int = integer(2, 2, 2, "this lesson shows the whole density, so it stays in the plane")
    draws: int = integer(800, 100, 1000, "transitions of each chain", log=True)
    warmup: int = integer(0, 0, 2000, "transitions run and dropped before the first draw kept", step=10)
    chains: int = integer(1, 1, 4, "independent chains, each with its own random numbers")

    def check(self) -> None:
        super().check()
        self.checked_target()

    @property
    def forgets(self) -> bool:
        """Whether the sampler leaves out factors that it should have: with one try there are none."""
        return self.variant != "exact" and self.stages > 1


SCENARIOS = WORDS.scenarios(
    {
        "bold": DelayedRejectionLesson(target="gaussian", correlation=0.8, scale=6.0, shrink=0.2, seed=1),
        "tuned": DelayedRejectionLesson(target="gaussian", correlation=0.8, scale=1.7, shrink=0.2, seed=2),
        "three": DelayedRejectionLesson(target="funnel", neck=1.5, scale=6.0, stages=3, shrink=0.3, draws=700, seed=3),
        "leap": DelayedRejectionLesson(target="two_modes", separation=8.0, weight=0.6, scale=2.0, shrink=0.3, pull=2.0, draws=1000, seed=4),
        "away": DelayedRejectionLesson(target="gaussian", correlation=0.8, scale=3.0, shrink=0.5, pull=-1.0, seed=5),
        "forgot": DelayedRejectionLesson(
            target="gaussian", correlation=0.5, scale=0.6, shrink=0.5, pull=2.0, variant="no_rejection_terms", draws=1000, seed=6
        ),
        "subtle": DelayedRejectionLesson(target="gaussian", correlation=0.8, scale=6.0, shrink=0.2, variant="no_rejection_terms", seed=1),
    }
)
