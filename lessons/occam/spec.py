"""What decides the picture of this lesson: the data, the priors on weights and on k, and the run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import datasets
import engine
from app.kit.words import Words
from datasets.xor import NOISY_VARIANCE, VARIANCE
from engine.jumps.settings import Prior, log_size_prior
from engine.networks import Network
from engine.spec import Spec, SpecError, check_points, choice, integer, number, points, seed_field
from lessons.families.growing.plane import MAX_POINTS, REACH

WORDS = Words(__file__)

Array = NDArray[np.float64]

DATA = ("clouds", "points")
SCALINGS = ("none", "width")
PRIORS = ("uniform", "geometric", "poisson")


@dataclass(frozen=True, kw_only=True)
class OccamSpec(Spec):
    """The posterior of the width k of a 2-k-2 network, from 1 to `highest`, on points in the plane."""

    data: str = choice("clouds", DATA, "four XOR clouds, or your own points")
    corner: int = integer(50, 1, 100, "points in each of the four clouds")
    variance: float = number(VARIANCE, 0.001, 0.5, "variance of a cloud in each input: noise", log=True)
    points: tuple[tuple[float, float, int], ...] = points(MAX_POINTS, "your own points: x₁, x₂ and class 0 or 1")
    temper: float = number(0.5, 0.05, 5.0, "factor a in the softmax p ∝ exp(a z): a small one asks for large outputs", log=True)
    prior_sd: float = number(1.0, 0.2, 20.0, "prior standard deviation σ of every weight and bias", log=True)
    scaling: str = choice("none", SCALINGS, "weights out of hidden units have prior sd σ, or σ/√k: then outputs do not grow with k")
    prior: str = choice("uniform", PRIORS, "prior on k")
    ratio: float = number(0.7, 0.05, 0.95, "geometric prior: each k has this many times the probability of k − 1")
    mean: float = number(3.0, 0.1, 30.0, "Poisson prior on k: its mean, before it is cut to the range", log=True)
    highest: int = integer(16, 3, 20, "largest k")
    sweeps: int = integer(600, 100, 3000, "sweeps of the long run: NUTS, then 100 jumps, in 16 chains", log=True)
    burn: int = integer(60, 0, 1000, "sweeps at the start that averages leave out", step=10)
    step_size: float = number(0.1, 0.005, 1.0, "leapfrog step size ε of NUTS", log=True)
    seed: int = seed_field()

    def check(self) -> None:
        check_points(self.points, REACH)
        if self.data == "points" and not self.points:
            raise SpecError("points", "there are none: put at least one point")
        if self.burn > self.sweeps // 2:
            raise SpecError("burn", f"leaving out {self.burn} keeps less than half of the {self.sweeps} sweeps")

    def data_set(self, seed: int = 1) -> tuple[Array, NDArray[np.int64]]:
        """Inputs (n, 2) and classes (n,); another seed gives other points of the same clouds."""
        if self.data == "points":
            x, y, _ = datasets.own_points(self.points)
        else:
            x, y, _ = datasets.xor(self.corner, self.variance, seed)
        return x, y

    def network(self) -> Network:
        """The network with its range of widths."""
        return engine.network(2, 2, width=(1, self.highest), temper=self.temper, prior_sd=self.prior_sd)

    @property
    def scaled(self) -> bool:
        return self.scaling == "width"

    def size_prior(self) -> Prior:
        """The prior on k, as the engine takes it."""
        return {"uniform": "uniform", "geometric": ("geometric", self.ratio), "poisson": ("poisson", self.mean)}[self.prior]  # type: ignore[return-value]

    def log_prior(self) -> Array:
        """Log prior of each k (highest,), normalised."""
        return log_size_prior("prior", self.size_prior(), 1, self.highest)


THESIS = OccamSpec()
SCALED = OccamSpec(prior_sd=3.0, scaling="width")
FIRST_POINTS = (
    (-0.7, -0.5, 0),
    (-0.5, -0.7, 0),
    (0.5, 0.6, 0),
    (0.7, 0.5, 0),
    (-0.6, 0.6, 1),
    (-0.5, 0.4, 1),
    (0.5, -0.5, 1),
    (0.7, -0.6, 1),
    (0.0, 0.0, 1),
)

SCENARIOS = WORDS.scenarios(
    {
        "thesis": THESIS,
        "scaled": SCALED,
        "edge": THESIS.replace(highest=8),
        "prior-on-k": THESIS.replace(prior="poisson", mean=1.0),
        "wide": THESIS.replace(prior_sd=10.0),
        "noisy": SCALED.replace(variance=NOISY_VARIANCE),
        "few": THESIS.replace(corner=3),
        "own-points": SCALED.replace(data="points", points=FIRST_POINTS, temper=2.0),
    }
)
