"""What decides the picture of this lesson: an integral, how it is sampled, and how often."""

from __future__ import annotations

from dataclasses import dataclass

from app.kit.words import Words
from engine.montecarlo import Integral, ball, cauchy, power, rare, square
from engine.spec import Spec, choice, integer, number, seed_field

WORDS = Words(__file__)

INTEGRALS = ("ball", "power", "rare", "square", "cauchy")
MISTAKES = ("none", "no_weight", "band")


@dataclass(frozen=True, kw_only=True)
class MonteCarloLesson(Spec):
    """A Monte Carlo estimate of a known integral, repeated many times."""

    integral: str = choice("ball", INTEGRALS, "what is estimated")
    dimension: int = integer(2, 2, 20, "dimension of the ball; π is the area of the one in the plane")
    a: float = number(0.4, 0.0, 0.95, "power of the integrand x⁻ᵃ: it is infinite at 0", step=0.05)
    b: float = number(0.0, 0.0, 0.95, "draws have the density (1 − b) x⁻ᵇ: 0 is uniform", step=0.05)
    threshold: float = number(3.0, 0.0, 6.0, "how far out: P(z > c) of a standard normal", step=0.1)
    shift: float = number(0.0, 0.0, 8.0, "draws come from N(shift, 1)", step=0.1)
    scale: float = number(1.0, 0.3, 4.0, "draws come from N(0, scale²)", step=0.05)
    draws: int = integer(1000, 50, 2000, "draws of one estimate", log=True)
    replications: int = integer(400, 50, 1000, "how often the whole estimate is repeated", log=True)
    mistake: str = choice("none", MISTAKES, "a classic mistake, made on purpose")
    seed: int = seed_field()

    def build(self) -> Integral:
        """The integral."""
        if self.integral == "ball":
            return ball(self.dimension)
        if self.integral == "power":
            return power(self.a, self.b)
        if self.integral == "rare":
            return rare(self.threshold, self.shift)
        return square(self.scale) if self.integral == "square" else cauchy()


SETTINGS = {
    "ball": ("dimension",),
    "power": ("a", "b"),
    "rare": ("threshold", "shift"),
    "square": ("scale",),
    "cauchy": (),
}  # the settings of each integral, the proposal's last


PI = MonteCarloLesson(integral="ball", dimension=2, draws=1000, seed=1)
HEAVY = MonteCarloLesson(integral="power", a=0.7, seed=3)

SCENARIOS = WORDS.scenarios(
    {
        "pi": PI,
        "root": MonteCarloLesson(integral="power", a=0.3, seed=2),
        "infinite": HEAVY,
        "cured": HEAVY.replace(b=0.6),
        "rare": MonteCarloLesson(integral="rare", threshold=3.0, seed=4),
        "shifted": MonteCarloLesson(integral="rare", threshold=3.0, shift=3.0, seed=4),
        "narrow": MonteCarloLesson(integral="square", scale=0.6, seed=5),
        "cauchy": MonteCarloLesson(integral="cauchy", seed=6),
        "dimensions": PI.replace(dimension=10, draws=2000),
        "forgotten": MonteCarloLesson(integral="rare", threshold=3.0, shift=3.0, mistake="no_weight", seed=4),
    }
)
