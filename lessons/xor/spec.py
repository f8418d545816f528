"""What decides the picture of this lesson: the data, the network with its prior, and the sampler."""

from __future__ import annotations

from dataclasses import dataclass

from app.kit.words import Words
from datasets.xor import EIGHT_POINTS
from engine.networks.passes import ACTIVATIONS
from engine.spec import Spec, SpecError, check_points, choice, integer, number, points, seed_field

WORDS = Words(__file__)

DATA = ("xor", "noisy", "points", "none")
CLASSES = (WORDS.phrase("classes.0"), WORDS.phrase("classes.1"))
STARTS = ("prior", "best")
VARIANTS = ("exact", "always_accept", "no_prior", "wrong_temper")
MAX_POINTS = 200
REACH = 1.5  # the plane is shown from -REACH to REACH in both inputs
MAX_WORK = 1.6e10  # states × leapfrog steps × units × points of a whole run: under a minute


@dataclass(frozen=True, kw_only=True)
class XorSpec(Spec):
    """A 2-k-2 network on points in the plane, and one HMC chain over all its weights."""

    data: str = choice("xor", DATA, "XOR clouds, noisier ones, your own points, or none: then the posterior is the prior")
    corner: int = integer(50, 1, 200, "points in each of the four clouds")
    points: tuple[tuple[float, float, int], ...] = points(MAX_POINTS, "your own points: x₁, x₂ and class 0 or 1")
    units: int = integer(4, 1, 16, "hidden units k of the 2-k-2 network")
    activation: str = choice("tanh", ACTIVATIONS, "what a hidden unit does to its input")
    temper: float = number(1.0, 0.02, 10.0, "factor a in the softmax p ∝ exp(a z): a small one makes every network less sure", log=True)
    prior_sd: float = number(1.0, 0.02, 20.0, "prior standard deviation σ of every weight and bias", log=True)
    step_size: float = number(0.06, 0.0005, 2.0, "time ε that one leapfrog step simulates", log=True)
    leapfrog: int = integer(50, 1, 200, "leapfrog steps of one trajectory", log=True)
    jitter: float = number(0.2, 0.0, 1.0, "each trajectory's step size is drawn within this fraction of ε", step=0.05)
    burn: int = integer(40, 0, 2000, "warm-up: so many states at the start are left out of every average", step=10)
    draws: int = integer(20_000, 200, 100_000, "states of the chain when it has been sampled on to its end", log=True)
    start: str = choice("prior", STARTS, "start at a draw from the prior, or at the most probable of 1,000 such draws")
    variant: str = choice("exact", VARIANTS, "the right sampler, or one with a well-known mistake")
    seed: int = seed_field()

    def check(self) -> None:
        check_points(self.points, REACH)
        if self.burn > self.draws // 2:
            raise SpecError("burn", f"a warm-up of {self.burn} leaves less than half of the {self.draws} states")
        if self.draws * self.leapfrog * self.units * max(self.size, 1) > MAX_WORK:
            raise SpecError("draws", "states × leapfrog steps × units × points are too many for one run: lower one")

    @property
    def size(self) -> int:
        """Number of data points."""
        return {"xor": 4 * self.corner, "noisy": 4 * self.corner, "points": len(self.points), "none": 0}[self.data]


SCENARIOS = WORDS.scenarios(
    {
        "learn": XorSpec(),
        "one-unit": XorSpec(units=1),
        "noisy": XorSpec(data="noisy"),
        "map": XorSpec(prior_sd=3.0, leapfrog=100),
        "tiny-prior": XorSpec(prior_sd=0.1),
        "huge-prior": XorSpec(prior_sd=10.0, leapfrog=200),
        "large-step": XorSpec(step_size=0.15),
        "never-reject": XorSpec(step_size=0.1, variant="always_accept"),
        "own-points": XorSpec(data="points", points=EIGHT_POINTS, step_size=0.1, leapfrog=40, temper=2.0),
    }
)
