"""What decides the picture of this lesson: a Gibbs run on a target whose conditionals are known, or one variable at a
time on any target.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit.words import Words
from engine.samplers.spec import GibbsSpec
from engine.spec import SpecError, choice, integer, number, text
from engine.targets import build, hierarchical_normal, normal_gamma
from engine.targets.conjugate import EIGHT_SCHOOLS
from engine.targets.target import Target

WORDS = Words(__file__)

Array = NDArray[np.float64]

TARGETS = ("gaussian", "normal_gamma", "hierarchical", "banana", "formula")
PARAMETERS = {
    "gaussian": ("correlation", "scale_ratio"),
    "normal_gamma": ("measurements", "kappa", "shape", "rate"),
    "hierarchical": ("estimates", "errors", "group", "prior_sd", "shape", "rate"),
    "banana": ("width", "curvature"),
    "formula": ("formula",),
}
VIEWS = ("marginals", "memory")
MAX_GROUPS = 12
LENGTH = 160  # of a list of numbers


@dataclass(frozen=True, kw_only=True)
class GibbsLesson(GibbsSpec):
    """A Gibbs run small enough that every single update can be shown. Fields of other targets are kept and ignored."""

    target: str = choice("gaussian", TARGETS, "what is sampled: a density in the plane, or the posterior of a model")
    dimension: int = integer(2, 2, 2, "this lesson shows the whole density, so it stays in the plane")
    scale: float = number(
        1.0, 0.01, 30.0, "sd of the Metropolis proposal, or step of the window's grid, in units of each coordinate's true sd", log=True
    )
    measurements: str = text("4.6, 6.9, 3.1, 5.4", LENGTH, "measurements y of one normal quantity, with commas between")
    kappa: float = number(0.1, 0.01, 10.0, "how many measurements the prior of the mean is worth", log=True)
    estimates: str = text(
        ", ".join(f"{y:g}" for y in EIGHT_SCHOOLS[0]),
        LENGTH,
        "the estimate of each group, with commas between; to begin with: Rubin's eight schools, points in a test",
    )
    errors: str = text(", ".join(f"{s:g}" for s in EIGHT_SCHOOLS[1]), LENGTH, "the known standard error of each estimate")
    prior_sd: float = number(20.0, 0.1, 100.0, "prior sd of the groups' common mean", log=True)
    shape: float = number(1.0, 0.1, 20.0, "shape of the precision's Gamma prior", log=True)
    rate: float = number(1.0, 0.01, 100.0, "rate of the precision's Gamma prior", log=True)
    group: int = integer(1, 1, MAX_GROUPS, "the group whose effect is on the horizontal axis")
    draws: int = integer(300, 20, 1000, "sweeps kept of each chain", log=True)
    warmup: int = integer(0, 0, 1000, "sweeps run and dropped before the first draw kept")
    chains: int = integer(4, 1, 4, "independent chains, each with its own random numbers; the picture shows the first")
    view: str = choice("marginals", VIEWS, "what stands beside the map: the marginals, or trace and autocorrelation")

    def check(self) -> None:
        super().check()
        target = self.checked_target()
        if self.target == "hierarchical" and self.group > target.dim - 2:
            raise SpecError("group", f"{self.group} is not one of the {target.dim - 2} groups")
        if self.by_conditional and target.conditionals is None:
            raise SpecError(
                "target",
                f"the full conditionals of the {self.target} are not known, so Gibbs cannot run: first set the update to Metropolis",
            )

    @property
    def by_conditional(self) -> bool:
        """Is each coordinate drawn from its full conditional?"""
        return self.update == "conditional" and self.variant == "exact"

    @property
    def can_block(self) -> bool:
        """Do the present settings allow joint draws?"""
        known = self.build_target().conditionals
        return self.by_conditional and self.scan == "systematic" and known is not None and known.blocked

    @property
    def blocked(self) -> bool:
        """Are coordinates drawn jointly?"""
        return self.block == "yes" and self.can_block

    def simulation(self) -> GibbsLesson:
        """The part that decides the run: the same for every way of looking at it."""
        return self.replace(view="marginals", group=1)

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "scale": self.scales(), "block": self.blocked}

    def scales(self) -> Array:
        """(dim,) sd of the Metropolis proposal or step of the window, of each coordinate."""
        target = self.build_target()
        with np.errstate(invalid="ignore"):
            sd = np.ones(target.dim) if target.truth is None else np.sqrt(np.diag(target.truth.covariance))
        return self.scale * np.where(np.isfinite(sd), sd, 1.0)

    def build_target(self) -> Target:
        """The target; the same object for the same parameters."""
        if self.target == "normal_gamma":
            return _normal_gamma(self.measured(), self.kappa, self.shape, self.rate)
        if self.target == "hierarchical":
            y, sigma = self.groups()
            return _hierarchical(y, sigma, self.prior_sd, self.shape, self.rate)
        return build(self.target, **{name: getattr(self, name) for name in PARAMETERS[self.target]})

    def init(self) -> Array | None:
        """The start. A model begins where its data point: at the mean and precision of the measurements or groups."""
        if self.target == "normal_gamma":
            y = np.array(self.measured())
            return np.array([y.mean(), 1.0 / y.var()])
        if self.target == "hierarchical":
            y = np.array(self.groups()[0])
            return np.concatenate([[1.0 / max(float(y.var()), 1e-6), y.mean()], y])
        return super().init()

    def measured(self) -> tuple[float, ...]:
        """The measurements. Raises SpecError naming the entry that is wrong."""
        y = _numbers("measurements", self.measurements, 2, 40)
        if np.ptp(y) == 0.0:
            raise SpecError("measurements", "all are the same, so they say nothing about a spread")
        return y

    def groups(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Estimates and their standard errors. Raises SpecError naming the entry that is wrong."""
        y = _numbers("estimates", self.estimates, 2, MAX_GROUPS)
        sigma = _numbers("errors", self.errors, 2, MAX_GROUPS)
        if len(sigma) != len(y):
            raise SpecError("errors", f"{len(sigma)} standard errors for {len(y)} estimates")
        if min(sigma) < 1e-3:
            raise SpecError("errors", "a standard error is at least 0.001")
        return y, sigma


def posterior(y: tuple[float, ...], kappa: float, shape: float, rate: float) -> dict[str, float]:
    """Parameters of the Normal-Gamma posterior of mean and precision given measurements; prior mean 0."""
    n, mean = len(y), float(np.mean(y))
    return {
        "mean": n * mean / (kappa + n),
        "kappa": kappa + n,
        "shape": shape + 0.5 * n,
        "rate": rate + 0.5 * n * float(np.var(y)) + 0.5 * kappa * n * mean**2 / (kappa + n),
    }


@lru_cache(maxsize=32)
def _normal_gamma(y: tuple[float, ...], kappa: float, shape: float, rate: float) -> Target:
    return normal_gamma(**posterior(y, kappa, shape, rate))


@lru_cache(maxsize=32)
def _hierarchical(y: tuple[float, ...], sigma: tuple[float, ...], prior_sd: float, shape: float, rate: float) -> Target:
    return hierarchical_normal(y, sigma, prior_sd=prior_sd, shape=shape, rate=rate)


def _numbers(name: str, words: str, fewest: int, most: int) -> tuple[float, ...]:
    entries = [entry.strip() for entry in words.split(",")]
    if not fewest <= len(entries) <= most:
        raise SpecError(name, f"{len(entries)} numbers; {fewest} to {most} are wanted")
    values = []
    for place, entry in enumerate(entries, 1):
        try:
            value = float(entry)
        except ValueError:
            raise SpecError(name, f"number {place}: “{entry}” is not a number") from None
        if not math.isfinite(value) or abs(value) > 1e4:
            raise SpecError(name, f"number {place}: {entry} is not between −10,000 and 10,000")
        values.append(value)
    return tuple(values)


STEPS = GibbsLesson(correlation=0.6, draws=300, seed=2)
RIDGE = STEPS.replace(correlation=0.97, view="memory", draws=500, seed=1)

SCENARIOS = WORDS.scenarios(
    {
        "steps": STEPS,
        "ridge": RIDGE,
        "block": RIDGE.replace(block="yes"),
        "metropolis": GibbsLesson(target="banana", update="metropolis", scale=1.5, draws=500, seed=3),
        "normal-gamma": GibbsLesson(target="normal_gamma", draws=500, seed=4),
        "groups": GibbsLesson(target="hierarchical", rate=25.0, draws=200, seed=5),
        "neck": GibbsLesson(target="hierarchical", rate=0.05, shape=0.2, draws=200, seed=5, view="memory"),
        "window": GibbsLesson(target="banana", width=1.0, variant="window", scale=0.3, draws=1000, seed=6),
    }
)
