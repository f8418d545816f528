"""What decides the picture of this lesson: a NUTS run with its warm-up, and how it is looked at."""

from __future__ import annotations

from dataclasses import dataclass

from app.kit.words import Words
from engine.samplers.spec import NutsSpec
from engine.spec import SpecError, choice, integer

WORDS = Words(__file__)

VIEWS = ("one", "three", "pair")
THIRDS = ("cost", "estimate")
SEVERAL = {"three": (0.6, 0.8, 0.95), "pair": (0.8, 0.99)}  # the target acceptances that a view runs side by side


@dataclass(frozen=True, kw_only=True)
class TuningLesson(NutsSpec):
    """A NUTS run in the plane whose warm-up is part of the picture."""

    target: str = choice("gaussian", NutsSpec.declarations()["target"].options, "shape of the density")
    dimension: int = integer(2, 2, 2, "this lesson shows the whole density, so it stays in the plane")
    chains: int = integer(4, 1, 4, "independent chains, each with its own random numbers and its own tuning")
    draws: int = integer(300, 10, 2000, "transitions of each chain after its warm-up", log=True)
    warmup: int = integer(300, 0, 1000, "transitions that tune the sampler")
    after: str = choice("frozen", ("frozen", "adapting"), "stop tuning after the warm-up, or tune for ever")
    count: str = choice("draws", ("draws", "all"), "average over the draws after the warm-up, or over all transitions")
    view: str = choice("one", VIEWS, "the target acceptance chosen, or several side by side, one chain each")
    third: str = choice("cost", THIRDS, "what the lowest panel follows: gradients per transition, or an average")

    def check(self) -> None:
        super().check()
        self.checked_target()
        if self.mass in ("variances", "covariance"):
            self.settings()  # refuses a target whose covariance is unknown
        if self.after == "adapting" and self.tuning == "fixed" and self.mass not in ("diagonal", "dense"):
            raise SpecError("after", "nothing is tuned here: find ε in warm-up, or learn the mass")

    def simulation(self) -> TuningLesson:
        """The part that decides the run: the same for every way of looking at it."""
        return self.replace(view="one", third="cost", count="draws")

    def deltas(self) -> tuple[float, ...]:
        """The target acceptances on the stage."""
        return SEVERAL.get(self.view, (self.target_accept,))

    def beside(self, delta: float) -> TuningLesson:
        """The same settings with another target acceptance; one chain where several stand side by side."""
        if self.view == "one":
            return self.simulation()
        return self.replace(target_accept=delta, chains=1).simulation()

    @property
    def adapted(self) -> int:
        """How many transitions tune the sampler."""
        return self.warmup + (self.draws if self.after == "adapting" else 0)

    @property
    def steps(self) -> int:
        """All transitions of a chain."""
        return self.warmup + self.draws


ONE = TuningLesson(correlation=0.5, mass="identity", warmup=200, draws=200, seed=1)
SCALES = TuningLesson(correlation=0.0, scale_ratio=100.0, seed=3)
TILTED = TuningLesson(correlation=0.99, mass="dense", seed=4)
BENT = TuningLesson(target="banana", curvature=1.0, width=3.0, warmup=1000, draws=2000, view="pair", third="estimate", seed=4)
FOR_EVER = TuningLesson(target="banana", after="adapting", third="estimate", draws=2000, seed=2)

SCENARIOS = WORDS.scenarios(
    {
        "step": ONE,
        "deltas": ONE.replace(view="three"),
        "scales": SCALES,
        "dense": TILTED,
        "banana": BENT,
        "none": ONE.replace(mass="diagonal", warmup=0, draws=300, third="estimate", seed=3),
        "for-ever": FOR_EVER,
    }
)
