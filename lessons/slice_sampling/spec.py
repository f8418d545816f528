"""What decides the picture of this lesson: a slice sampling run in the plane."""

from __future__ import annotations

from dataclasses import dataclass

from app.kit.words import Words
from engine.samplers.spec import SliceSamplingSpec
from engine.spec import integer

WORDS = Words(__file__)


@dataclass(frozen=True, kw_only=True)
class SliceSamplingLesson(SliceSamplingSpec):
    """A slice sampling run on a density in the plane, small enough that the inside of every transition is shown."""

    dimension: int = integer(2, 2, 2, "this lesson shows the whole density, so it stays in the plane")
    limit: int = integer(64, 1, 64, "widths w to which an interval may grow", log=True)
    draws: int = integer(600, 100, 1000, "transitions of each chain", log=True)
    warmup: int = integer(0, 0, 2000, "transitions run and dropped before the first draw kept", step=10)
    chains: int = integer(1, 1, 4, "independent chains; all on the map, the rest of the picture is chain 1")

    def check(self) -> None:
        super().check()
        self.checked_target()

    @property
    def mistaken(self) -> bool:
        """Whether the sampler is wrong on purpose: without doubling there is no test to forget."""
        return self.variant != "exact" and not (self.variant == "no_test" and self.interval != "doubling")


NARROW = SliceSamplingLesson(target="two_modes", separation=10.0, weight=0.6, w=0.5, draws=800, start="at", start_x=-5.0, seed=2)
WIDE_AND_NARROW = "log(exp(-(x+3)^2/2 - y^2/2) + exp(-8*(x-2)^2 - y^2/2))"

SCENARIOS = WORDS.scenarios(
    {
        "steps": SliceSamplingLesson(target="banana", w=1.0, seed=1),
        "narrow": NARROW,
        "doubling": NARROW.replace(interval="doubling"),
        "no-test": SliceSamplingLesson.authored(
            target="formula", formula=WIDE_AND_NARROW, interval="doubling", variant="no_test", draws=1000, seed=4
        ),
        "wrong-end": SliceSamplingLesson(correlation=0.5, w=4.0, variant="wrong_end", draws=1000, seed=5),
        "box": SliceSamplingLesson(interval="hyperrectangle", w=4.0, warmup=20, seed=6),
    }
)
