"""What decides the picture of this lesson: pairs, a prior, one Metropolis chain, and an input to predict at."""

from __future__ import annotations

from dataclasses import dataclass

from app.kit.words import Words
from datasets.logistic import TRAIN
from engine.spec import Spec, SpecError, choice, integer, number, points, seed_field

WORDS = Words(__file__)

REACH = 5.0  # inputs are shown from -REACH to REACH
MAX_POINTS = 60
VARIANTS = ("exact", "no_prior", "drop_rejections")


@dataclass(frozen=True, kw_only=True)
class LogisticSpec(Spec):
    """Logistic regression with an intercept w₀ and a slope w₁."""

    data: str = choice("pairs", ("pairs", "points"), "pairs drawn with w = (1, 2), or your own points")
    used: int = integer(TRAIN, 0, TRAIN, "how many of the 150 training pairs are used")
    points: tuple[tuple[float, float, int], ...] = points(MAX_POINTS, "your own pairs: x, y, and y again as the class")
    data_seed: int = integer(1, 0, 9999, "decides the pairs")
    prior_sd: float = number(1.0, 0.1, 30.0, "prior standard deviation of both weights", log=True)
    at: float = number(-0.5, -REACH, REACH, "input x′ at which the probability of y = 1 is asked for", step=0.05)
    scale: float = number(0.4, 0.01, 20.0, "sd of a Metropolis step in each weight", log=True)
    draws: int = integer(1000, 100, 2000, "transitions of the chain", log=True)
    variant: str = choice("exact", VARIANTS, "the right sampler, or one with a well-known mistake")
    seed: int = seed_field()

    def check(self) -> None:
        for index, (x, _, label) in enumerate(self.points, start=1):
            if label not in (0, 1):
                raise SpecError("points", f"point {index} has class {label}; y is 0 or 1")
            if abs(x) > REACH:
                raise SpecError("points", f"point {index} lies at x = {x:g}, outside −{REACH:g} to {REACH:g}")


STANDARD = LogisticSpec()
SEPARATED = tuple((x, float(x > 0), int(x > 0)) for x in (-3.0, -2.0, -1.4, -0.8, 0.8, 1.2, 2.1, 3.2))

SCENARIOS = WORDS.scenarios(
    {
        "exact": STANDARD,
        "few": STANDARD.replace(used=8, prior_sd=5.0, scale=1.5, at=1.0),
        "prediction": STANDARD.replace(used=20, at=-0.5, scale=0.8),
        "separated": STANDARD.replace(data="points", points=SEPARATED, prior_sd=3.0, scale=2.0, at=0.3),
        "no-prior": STANDARD.replace(used=20, prior_sd=0.5, scale=0.8, variant="no_prior"),
        "dropped": STANDARD.replace(scale=1.5, variant="drop_rejections"),
    }
)
