"""What decides the picture of this lesson: data, a network with its prior and noise, a method, and what moves."""

from __future__ import annotations

from dataclasses import dataclass

from app.kit.words import Words
from datasets.regression import MOST_GAP, curve_with_gap, line_with_gap
from datasets.six import Curve, own_curve
from engine.networks.passes import ACTIVATIONS
from engine.spec import Spec, SpecError, choice, integer, number, points, seed_field

WORDS = Words(__file__)

PLAYS = ("draws", "compare", "repeat")
METHODS = ("nuts", "laplace", "dropout", "ensemble", "map")
REACH, TALL = 3.0, 4.0  # own points lie within these, in x and in y
MAX_POINTS = 60
MAX_WORK = 600_000  # (warm-up + draws) × units × measurements: with the longest trajectories some seconds
LAPLACES = ("linear", "bent")
VARIANTS = ("exact", "aliased_momentum", "final_accept")


@dataclass(frozen=True, kw_only=True)
class RegressionLesson(Spec):
    """A 1-k-1 network, or a straight line, on points in the plane."""

    play: str = choice("draws", PLAYS, "draws of one method, five methods beside one another, or many data sets")
    method: str = choice("nuts", METHODS, "where the curves come from")
    data: str = choice("curve", ("curve", "line", "points"), "a curve, a straight line, or your own points")
    observations: int = integer(24, 2, MAX_POINTS, "number of measurements")
    data_noise: float = number(0.2, 0.0, 2.0, "true sd of the noise on the measurements, in units of y", step=0.05)
    gap: float = number(1.4, 0.0, MOST_GAP, "width of the stretch around x = 0.7 without measurements", step=0.1)
    data_seed: int = integer(9, 0, 9999, "decides the measurements")
    points: tuple[tuple[float, float, int], ...] = points(MAX_POINTS, "your own points: x, y, and 0")

    model: str = choice("network", ("network", "line"), "one hidden layer, or none: then the exact answer is known")
    units: int = integer(8, 1, 20, "hidden units k of the 1-k-1 network")
    activation: str = choice("tanh", ACTIVATIONS, "what a hidden unit does to its input")
    prior_sd: float = number(1.5, 0.1, 10.0, "prior standard deviation s of every weight and bias", log=True)
    noise: str = choice("known", ("known", "learned"), "is σ fixed, or learned with the weights?")
    noise_sd: float = number(0.2, 0.02, 3.0, "noise σ that the model assumes, in units of y", log=True)

    keep: float = number(0.9, 0.5, 0.99, "MC dropout: probability that a hidden unit is kept", step=0.01)
    members: int = integer(10, 2, 20, "networks in the ensemble")
    epochs: int = integer(1000, 100, 5000, "passes through the data in training ensemble and dropout", log=True)
    laplace: str = choice("linear", LAPLACES, "Laplace: curves linear in the weights, or through the bent network")
    at: float = number(0.7, -REACH, REACH, "input x′ at which the curves are read off", step=0.05)
    draws: int = integer(200, 60, 300, "draws on the stage")
    warmup: int = integer(150, 50, 1000, "transitions before them, in which NUTS tunes itself", step=50)
    repeats: int = integer(40, 10, 100, "data sets of the long run")
    variant: str = choice("exact", VARIANTS, "the right sampler, or one with a mistake")
    seed: int = seed_field()

    def check(self) -> None:
        for index, (x, y, label) in enumerate(self.points, start=1):
            if label != 0:
                raise SpecError("points", f"point {index} ends with {label}; a value needs no class, write 0")
            if not (abs(x) <= REACH and abs(y) <= TALL):
                raise SpecError("points", f"point {index} is outside x = ±{REACH:g}, y = ±{TALL:g}")
        size = len(self.points) if self.data == "points" else self.observations
        if (self.draws + self.warmup) * self.units * max(size, 8) > MAX_WORK:
            raise SpecError("units", "units × measurements × (warm-up + draws) are too many for one picture: lower one")
        if self.play == "repeat" and self.data == "points":
            raise SpecError("play", "many data sets need a true curve to come from; your own points have none")
        if self.variant != "exact" and self.noise == "learned":
            raise SpecError("variant", "the broken samplers are for a known σ")

    def measured(self, seed: int | None = None, observations: int | None = None) -> Curve:
        """The data, rising in x; with `seed` others from the same source, `observations` of them."""
        if self.data == "points":
            return own_curve(self.points)
        make = curve_with_gap if self.data == "curve" else line_with_gap
        n = self.observations if observations is None else observations
        return make(n, self.data_noise, self.gap, self.data_seed if seed is None else seed)


STANDARD = RegressionLesson()
NOISY = STANDARD.replace(data_noise=0.6, observations=30)
LINE = STANDARD.replace(data="line", model="line", data_noise=0.4, noise_sd=0.4, observations=12)
OWN = ((-2.0, -0.6, 0), (-1.6, -0.9, 0), (-1.2, -1.2, 0), (-0.9, -1.4, 0), (0.9, 1.3, 0), (1.2, 1.2, 0), (1.6, 0.9, 0), (2.0, 0.4, 0))

SCENARIOS = WORDS.scenarios(
    {
        "one-network": STANDARD.replace(method="map"),
        "gap": STANDARD,
        "compare": STANDARD.replace(play="compare"),
        "wrong-noise": NOISY,
        "learned-noise": NOISY.replace(noise="learned"),
        "repeat": STANDARD.replace(play="repeat", observations=16),
        "line": LINE,
        "broken": LINE.replace(variant="final_accept"),
        "own": STANDARD.replace(data="points", points=OWN, at=0.0),
    }
)
