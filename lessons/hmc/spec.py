"""What decides the picture of this lesson: an HMC run in the plane, and how it is looked at."""

from __future__ import annotations

from dataclasses import dataclass

from app.kit.words import Words
from engine.samplers.spec import HmcSpec
from engine.spec import choice, integer

WORDS = Words(__file__)

VIEWS = ("path", "phase", "draws")


@dataclass(frozen=True, kw_only=True)
class HmcLesson(HmcSpec):
    """An HMC run on a density in the plane, small enough that its whole inside can be shown."""

    target: str = choice("banana", HmcSpec.declarations()["target"].options, "shape of the density")
    dimension: int = integer(2, 2, 2, "this lesson shows the whole density, so it stays in the plane")
    draws: int = integer(500, 10, 2000, "transitions of each chain", log=True)
    warmup: int = integer(0, 0, 2000, "transitions run and dropped before the first draw kept")
    chains: int = integer(1, 1, 4, "independent chains, each with its own random numbers")
    view: str = choice(
        "path", VIEWS, "what stands beside the map: energy and distance along the path, phase space, or the running marginals"
    )
    reverse: str = choice("off", ("off", "on"), "at the end of each path, flip the momentum and run the same steps again")

    def check(self) -> None:
        super().check()
        self.checked_target()
        if self.mass != "identity":
            self.mass_matrix()  # refuses a target whose covariance is unknown

    def simulation(self) -> HmcLesson:
        """The part that decides the run: the same for every way of looking at it."""
        return self.replace(view="path", reverse="off")


JUST_RIGHT = HmcLesson(target="banana", step_size=0.25, steps=12, draws=500, seed=1)
NO_ACCEPT = HmcLesson(target="gaussian", correlation=0.0, step_size=1.2, steps=4, variant="always_accept", view="draws", draws=2000, seed=5)
RAVINE = HmcLesson(target="gaussian", correlation=0.95, scale_ratio=3.0, step_size=0.1, steps=16, seed=3)

SCENARIOS = WORDS.scenarios(
    {
        "just-right": JUST_RIGHT,
        "too-short": JUST_RIGHT.replace(step_size=0.1, steps=3, view="draws"),
        "too-long": JUST_RIGHT.replace(steps=100),
        "too-large": JUST_RIGHT.replace(step_size=0.9, seed=2),
        "funnel": HmcLesson(target="funnel", step_size=0.3, steps=20, draws=1000, chains=4, seed=4),
        "mass": RAVINE.replace(mass="covariance", step_size=0.5, steps=4, view="phase"),
        "euler": HmcLesson(
            target="gaussian", correlation=0.0, integrator="euler", step_size=0.2, steps=10, view="phase", reverse="on", seed=2
        ),
        "no-accept": NO_ACCEPT,
    }
)
