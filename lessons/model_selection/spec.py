"""What decides the picture of this lesson: data, a prior over degrees and coefficients, and what moves on the stage."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from app.kit.words import Words
from datasets.polynomial import NOISE_SD, OBSERVATIONS, SEED, cosine
from datasets.six import Curve, own_curve
from engine.linear import BASES
from engine.spec import Spec, SpecError, choice, integer, number, points, seed_field

WORDS = Words(__file__)

MOST_DEGREE = 15
MAX_POINTS = 60
REACH = 3.0  # own points lie between -REACH and REACH
MISTAKES = ("none", "best_fit", "constant")


@dataclass(frozen=True, kw_only=True)
class ModelSelectionLesson(Spec):
    """Polynomials of degree 1 to `degrees`, compared on one data set."""

    data: str = choice("cosine", ("cosine", "points"), "cos(1.5πx) with noise, or your own points")
    observations: int = integer(OBSERVATIONS, 2, MAX_POINTS, "number of measurements of the cosine")
    data_noise: float = number(NOISE_SD, 0.0, 2.0, "standard deviation of the noise put on the cosine", step=0.05)
    data_seed: int = integer(SEED, 0, 9999, "decides the measurements; 0 with 30 of them are those of the thesis")
    points: tuple[tuple[float, float, int], ...] = points(MAX_POINTS, "your own points: x from 0 to 1, y, and 0")

    degrees: int = integer(MOST_DEGREE, 2, MOST_DEGREE, "the highest degree that is compared")
    degree: int = integer(4, 1, MOST_DEGREE, "the degree that is followed more closely")
    degree_prior: str = choice("uniform", ("uniform", "halved"), "prior on the degree: all alike, or halved each time")
    prior_sd: float = number(1.0, 0.01, 1000.0, "prior standard deviation s of every coefficient", log=True)
    basis: str = choice("legendre", BASES, "what the coefficients multiply: Legendre polynomials, or powers of x")
    noise_sd: float = number(0.1, 0.01, 3.0, "noise σ that the models assume, or their guess of it", log=True)
    noise: str = choice("known", ("known", "unknown"), "is σ known, or a guess to be corrected by the data?")
    worth: float = number(4.0, 1.0, 1000.0, "how many observations the guess of σ is worth", log=True)

    play: str = choice("data", ("data", "draws", "razor"), "what moves")
    order: str = choice("random", ("random", "sorted"), "in which order the observations arrive")
    draws: int = integer(300, 50, 1000, "polynomials drawn from the posterior", log=True)
    at: float = number(0.9, 0.0, 1.0, "input x′ at which the drawn curves are read off", step=0.01)
    folds: int = integer(10, 2, MAX_POINTS, "folds of the cross-validation")
    mistake: str = choice("none", MISTAKES, "a classic mistake, made on purpose")
    seed: int = seed_field()

    def check(self) -> None:
        if self.degree > self.degrees:
            raise SpecError("degree", f"{self.degree} is above the highest degree compared, {self.degrees}")
        for index, (x, y, _) in enumerate(self.points, start=1):
            if not (0.0 <= x <= 1.0 and abs(y) <= REACH):
                raise SpecError("points", f"point {index} is outside x = 0 to 1, y = −{REACH:g} to {REACH:g}")
        if self.data == "points" and len(self.points) < 2:
            raise SpecError("points", f"give at least 2 points; there {'is 1' if self.points else 'are none'}")

    def measured(self) -> Curve:
        """The data, rising in x."""
        if self.data == "points":
            return own_curve(self.points)
        return cosine(self.observations, self.data_noise, self.data_seed)

    @property
    def dof(self) -> float:
        """Degrees of freedom of the Student; inf for known noise."""
        return self.worth if self.noise == "unknown" else math.inf

    def all_degrees(self) -> range:
        """The degrees compared."""
        return range(1, self.degrees + 1)

    def followed(self) -> list[int]:
        """The degrees shown one by one: the simplest, the chosen one, the highest."""
        return sorted({1, self.degree, self.degrees})

    def log_prior(self) -> np.ndarray:
        """(degrees,) log p(degree)."""
        log = np.zeros(self.degrees) if self.degree_prior == "uniform" else -math.log(2.0) * np.arange(self.degrees)
        return log - np.logaddexp.reduce(log)


STANDARD = ModelSelectionLesson()
WEAK = STANDARD.replace(observations=12, data_noise=0.4, noise_sd=0.4, degrees=8, degree=3, data_seed=3)

SCENARIOS = WORDS.scenarios(
    {
        "evidence": STANDARD,
        "average": STANDARD.replace(observations=9, play="draws", degree=3),
        "razor": STANDARD.replace(play="razor"),
        "best-fit": STANDARD.replace(mistake="best_fit", degree=15),
        "vague": WEAK.replace(prior_sd=300.0),
        "powers": STANDARD.replace(basis="powers"),
        "unknown-noise": STANDARD.replace(noise="unknown", noise_sd=0.3, worth=2.0, play="data"),
    }
)
