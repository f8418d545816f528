"""What decides the race: the track (a target with a known truth), the budget, and how each racer is set."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from app.kit.words import Words
from engine.spec import SpecError, choice, integer, number, seed_field
from engine.targets import FAMILIES, hierarchical_normal, normal_gamma, parameters_of
from engine.targets.spec import TargetSpec
from engine.targets.target import Target

WORDS = Words(__file__)

MODELS = ("normal_gamma", "hierarchical")
RACERS = ("metropolis", "gibbs", "hmc", "nuts")


@dataclass(frozen=True, kw_only=True)
class RaceLesson(TargetSpec):
    """A race of four samplers with the same budget of evaluations of one target."""

    target: str = choice("gaussian", (*FAMILIES, *MODELS), "the density that all four sample")
    dimension: int = integer(2, 2, 50, "number of coordinates", log=True)
    budget: int = integer(8000, 1000, 20_000, "evaluations that each racer may spend in each race", log=True)
    pairs: int = integer(16, 5, 40, "races, each with a start and a seed of its own that all four share")
    gradient_price: float = number(1.0, 1.0, 5.0, "what a gradient with its density costs, in evaluations of the density alone", step=0.5)
    scale: float = number(1.7, 0.01, 30.0, "sd of Metropolis's proposal, all coordinates at once", log=True)
    single_scale: float = number(
        2.4, 0.01, 30.0, "sd of the proposal of Metropolis one variable at a time, where it stands in for Gibbs", log=True
    )
    step_size: float = number(0.4, 0.001, 5.0, "HMC: time that one leapfrog step simulates", log=True)
    steps: int = integer(8, 1, 100, "HMC: leapfrog steps of one trajectory", log=True)
    cheat: str = choice("off", ("off", "on"), "HMC leaves out its accept step: wrong on purpose")
    warmup: int = integer(150, 20, 1000, "NUTS: transitions that tune its step size and mass, and make no draws")
    tuning: str = choice("charged", ("charged", "free"), "does NUTS pay for its tuning out of the budget?")
    begin: str = choice("typical", ("typical", "random"), "start of each race: an exact draw where one can be made, or U(-2, 2)")
    seed: int = seed_field()

    def check(self) -> None:
        super().check()
        target = self.checked_target()
        if target.truth is None:
            raise SpecError("target", "nothing is known about this density without sampling, so no score can be kept")

    def build_target(self) -> Target:
        """The target; the same object for the same parameters."""
        if self.target in MODELS:
            return _model(self.target)
        return super().build_target()

    def parameters(self) -> tuple[str, ...]:
        """The parameters of the present target."""
        return () if self.target in MODELS else parameters_of(self.target)

    @property
    def has_conditionals(self) -> bool:
        """Can Gibbs draw from full conditionals here?"""
        return self.build_target().conditionals is not None

    def settings(self, racer: str) -> dict[str, Any]:
        """Keyword arguments of the sampler. Proposal scales count in each coordinate's true sd."""
        if racer == "metropolis":
            return {"scale": self.scale * true_sd(self.build_target())}
        if racer == "gibbs":
            if self.has_conditionals:
                return {"update": "conditional"}
            return {"update": "metropolis", "scale": self.single_scale * true_sd(self.build_target())}
        if racer == "hmc":
            variant = "always_accept" if self.cheat == "on" else "exact"
            return {"step_size": self.step_size, "steps": self.steps, "mass": self.mass(), "variant": variant}
        return {}

    def mass(self) -> float | np.ndarray:
        """HMC's mass: the inverse of the true variances for the models, whose coordinates have other units; else 1."""
        return 1.0 / true_sd(self.build_target()) ** 2 if self.target in MODELS else 1.0


def true_sd(target: Target) -> np.ndarray:
    """(dim,) true standard deviations; 1 where they are not finite, or as good as meaningless (heavy tails). Those of
    the models tell the units of their coordinates.
    """
    with np.errstate(invalid="ignore"):
        sd = np.sqrt(np.diag(target.known.covariance))
    told = target.name in ("normal_gamma", "hierarchical_normal") or not target.known.heavy_tails
    return np.where(np.isfinite(sd) & told, sd, 1.0)


@lru_cache(maxsize=4)
def _model(name: str) -> Target:
    return normal_gamma(mean=1.0, kappa=4.0, shape=3.0, rate=3.0) if name == "normal_gamma" else hierarchical_normal()


HIGH = RaceLesson(dimension=20, correlation=0.5, scale=0.5, step_size=0.4, steps=6, seed=2)
CHEAT = RaceLesson(dimension=10, correlation=0.0, scale=0.75, step_size=0.5, steps=4, cheat="on", budget=20_000, seed=9)


SCENARIOS = WORDS.scenarios(
    {
        "high": HIGH,
        "banana": RaceLesson(target="banana", scale=1.2, single_scale=1.5, step_size=0.3, steps=10, seed=10),
        "home": RaceLesson(target="normal_gamma", scale=1.7, step_size=0.25, steps=8, seed=4),
        "rough": RaceLesson.authored(
            target="formula",
            formula="-x^2/2 - y^2/2 + 2*cos(8*x) + 2*cos(8*y)",
            scale=1.2,
            single_scale=2.0,
            step_size=0.12,
            steps=10,
            seed=5,
        ),
        "resonance": RaceLesson(correlation=0.0, step_size=0.393, steps=16, seed=6),
        "large": RaceLesson(correlation=0.9, step_size=0.9, steps=8, seed=7),
        "modes": RaceLesson(
            target="two_modes", separation=12.0, scale=0.15, single_scale=0.15, step_size=0.5, steps=6, begin="random", seed=8
        ),
        "cheat": CHEAT,
    }
)
