"""What decides the picture of this lesson: a NUTS run in the plane, and how it is looked at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from app.kit.words import Words
from engine.samplers.spec import MASSES, NutsSpec
from engine.spec import choice, integer, number
from engine.targets import dense_gaussian, parameters_of
from engine.targets.target import Target

WORDS = Words(__file__)

VIEWS = ("tree", "draws", "cost", "compare")
PACES = ("doublings", "leapfrogs")
MEAN = (2.5, 1.5)  # of the posterior of a bivariate normal's mean
OWN = {"mean": ("correlation",), "non_centred": ("neck",)}  # targets of this lesson alone, and their parameters


@dataclass(frozen=True, kw_only=True)
class NutsLesson(NutsSpec):
    """A NUTS run on a density in the plane, small enough that the inside of each transition can be shown."""

    target: str = choice("banana", (*NutsSpec.declarations()["target"].options, *OWN), "shape of the density")
    dimension: int = integer(2, 2, 2, "this lesson shows the whole density, so it stays in the plane")
    draws: int = integer(500, 10, 1500, "transitions of each chain", log=True)
    warmup: int = integer(300, 0, 2000, "transitions run and dropped before the first draw kept; they tune ε")
    chains: int = integer(1, 1, 4, "independent chains, each with its own random numbers")
    step_size: float = number(0.2, 0.002, 5.0, "time that one leapfrog step simulates, where it is kept", log=True)
    mass: str = choice(
        "identity", MASSES, "mass matrix: identity, or the inverse of the target's true variances, or of its true covariance"
    )
    view: str = choice(
        "tree",
        VIEWS,
        "what stands beside the map: the tree of the present transition and its weights, the running marginals, what "
        "the leapfrog steps were spent on, or the other way of sampling from a trajectory",
    )
    pace: str = choice("doublings", PACES, "what one sub-step shows: a whole doubling, or each leapfrog step and join")

    def check(self) -> None:
        super().check()
        self.checked_target()
        if self.mass != "identity":
            self.settings()  # refuses a target whose covariance is unknown

    def build_target(self) -> Target:
        if self.target == "mean":
            return _mean(self.correlation)
        if self.target == "non_centred":
            return _non_centred(self.neck)
        return super().build_target()

    def parameters(self) -> tuple[str, ...]:
        """The parameters that matter for the present target."""
        return OWN[self.target] if self.target in OWN else parameters_of(self.target)

    def simulation(self) -> NutsLesson:
        """The part that decides the run: the same for every way of looking at it."""
        return self.replace(view="tree", pace="doublings")

    def other_form(self) -> NutsLesson:
        """The same run with the other way of sampling from a trajectory."""
        return self.replace(sampling="slice" if self.sampling == "multinomial" else "multinomial")


@lru_cache(maxsize=16)
def _mean(correlation: float) -> Target:
    """Posterior of the mean of a bivariate normal: itself normal, around `MEAN`, here with standard deviations 1."""
    target = dense_gaussian(MEAN, [[1.0, correlation], [correlation, 1.0]])
    x, y = ((centre - 2.7, centre + 2.7) for centre in MEAN)
    return replace(target, name="mean", labels=("μ₁", "μ₂"), view=(x, y))


@lru_cache(maxsize=16)
def _non_centred(neck: float) -> Target:
    """The funnel in v and z = x exp(-v/2): two independent normals, with sd `neck` and 1."""
    target = dense_gaussian((0.0, 0.0), np.diag([neck**2, 1.0]))
    half = 3.0 * neck
    return replace(target, name="non_centred", labels=("v", "z"), view=((-half, half), (-3.5, 3.5)))


DOUBLING = NutsLesson(target="banana", target_accept=0.9, seed=66)
FIGURE = NutsLesson(
    target="mean",
    correlation=0.6,
    tuning="fixed",
    step_size=0.25,
    warmup=0,
    draws=200,
    sampling="slice",
    start="at",
    start_x=1.5,
    start_y=0.2,
    pace="leapfrogs",
    seed=6,
)
FORMS = NutsLesson(target="gaussian", correlation=0.8, tuning="fixed", step_size=0.4, warmup=0, view="compare", seed=2)
RAVINE = NutsLesson(target="gaussian", correlation=0.95, scale_ratio=3.0, tuning="fixed", step_size=0.1, seed=3)
SHALLOW = RAVINE.replace(step_size=0.02, max_depth=3, view="cost", warmup=0)
FUNNEL = NutsLesson(target="funnel", draws=1000, warmup=500, view="draws", seed=4)
CURE = FUNNEL.replace(target="non_centred", view="tree")
ALIASED = NutsLesson(
    target="gaussian",
    correlation=0.0,
    tuning="fixed",
    step_size=0.1,
    warmup=0,
    draws=1500,
    sampling="slice",
    variant="aliased_momentum",
    view="draws",
    seed=1,
)

SCENARIOS = WORDS.scenarios(
    {
        "doubling": DOUBLING,
        "figure": FIGURE,
        "forms": FORMS,
        "waste": DOUBLING.replace(view="cost"),
        "shallow": SHALLOW,
        "funnel": FUNNEL,
        "cure": CURE,
        "aliased": ALIASED,
    }
)
