"""What decides the picture of this lesson: the data, one network with its prior, and six ways to learn its weights."""

from __future__ import annotations

from dataclasses import dataclass

from app.kit.words import Words
from engine.networks.passes import ACTIVATIONS
from engine.spec import Spec, SpecError, check_points, choice, integer, number, points, seed_field

WORDS = Words(__file__)

METHODS = ("nuts", "hmc", "jumps", "advi", "dropout", "ensemble")
NAMES = WORDS["options.method"]
SAMPLERS = ("nuts", "hmc", "jumps")
FITTED = ("ensemble", "dropout", "advi")  # the quick ones, in the order in which they are made
DATA = ("xor", "noisy", "points")
CLASSES = (WORDS.phrase("classes.0"), WORDS.phrase("classes.1"))
VIEWS = ("networks", "distance")
VARIANTS = ("exact", "always_accept")
MAX_POINTS = 200
REACH = 2.5  # the plane is shown from -REACH to REACH in both inputs


@dataclass(frozen=True, kw_only=True)
class MethodsSpec(Spec):
    """A 2-k-2 network on points in the plane, learnt in six ways; two of them are shown side by side."""

    data: str = choice("xor", DATA, "XOR clouds, noisier ones, or your own points")
    corner: int = integer(12, 1, 100, "points in each of the four clouds")
    points: tuple[tuple[float, float, int], ...] = points(MAX_POINTS, "your own points: x₁, x₂ and class 0 or 1")
    method: str = choice("nuts", METHODS, "the method on the left")
    compare: str = choice("ensemble", METHODS, "the method on the right")
    view: str = choice("networks", VIEWS, "what a step is: one more network in the average, or one more distance from the data")
    units: int = integer(4, 2, 8, "hidden units k of the 2-k-2 network; reversible jump takes 1 to k")
    activation: str = choice("tanh", ACTIVATIONS, "what a hidden unit does to its input")
    prior_sd: float = number(1.0, 0.1, 5.0, "prior standard deviation σ of every weight and bias", log=True)
    step_size: float = number(0.1, 0.005, 1.0, "HMC: time ε that one leapfrog step simulates", log=True)
    leapfrog: int = integer(30, 1, 100, "HMC: leapfrog steps of one trajectory", log=True)
    members: int = integer(8, 2, 30, "ensemble: networks trained from starts of their own")
    keep: float = number(0.8, 0.2, 0.98, "MC dropout: probability that a hidden unit is kept", step=0.02)
    epochs: int = integer(500, 50, 3000, "ensemble and dropout: passes over the data", log=True)
    fit_steps: int = integer(1500, 100, 6000, "ADVI: steps up the ELBO", log=True)
    variant: str = choice("exact", VARIANTS, "the right HMC, or one that never rejects")
    seed: int = seed_field()

    def check(self) -> None:
        check_points(self.points, REACH)
        if self.data == "points" and not self.points:
            raise SpecError("points", "are empty: nothing can be trained on no data, place at least one")

    @property
    def size(self) -> int:
        """Number of data points."""
        return len(self.points) if self.data == "points" else 4 * self.corner


FEW = ((-0.6, -0.5, 0), (0.5, 0.5, 0), (-0.5, 0.6, 1), (0.6, -0.4, 1))
ONE_OUT = (
    (-0.6, -0.5, 0),
    (-0.4, -0.6, 0),
    (-0.5, -0.3, 0),
    (0.5, 0.4, 0),
    (0.6, 0.6, 0),
    (0.3, 0.5, 0),
    (-0.5, 0.6, 1),
    (-0.6, 0.4, 1),
    (-0.3, 0.5, 1),
    (0.4, -0.5, 1),
    (0.6, -0.4, 1),
    (0.5, -0.3, 1),
    (2.2, 2.2, 1),
)

SCENARIOS = WORDS.scenarios(
    {
        "six": MethodsSpec(),
        "walk": MethodsSpec(view="distance"),
        "noisy": MethodsSpec(data="noisy", corner=30, step_size=0.06, leapfrog=50, compare="advi"),
        "few": MethodsSpec(data="points", points=FEW, prior_sd=2.0, step_size=0.2, compare="ensemble"),
        "far-out": MethodsSpec(data="points", points=ONE_OUT, prior_sd=2.0, compare="advi"),
        "sure": MethodsSpec(corner=50, step_size=0.06, leapfrog=50, epochs=3000, method="ensemble", compare="nuts"),
        "never-reject": MethodsSpec(method="hmc", compare="nuts", step_size=0.25, variant="always_accept"),
    }
)
