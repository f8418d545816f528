"""What decides the picture of this lesson: a prior over networks, and how it is looked at."""

from __future__ import annotations

from dataclasses import dataclass

from app.kit.words import Words
from engine.networks.prior import ACTIVATIONS, SCALINGS, Prior
from engine.rejection import BOUNDS
from engine.spec import Spec, SpecError, choice, integer, number, points, seed_field

WORDS = Words(__file__)

VIEWS = ("functions", "compare", "rejection", "limit")
REACH = 2.0  # functions are drawn from -REACH to REACH
X_RANGE, Y_RANGE = (-0.2, 1.2), (-1.6, 1.6)  # of the picture with data
MAX_POINTS = 12
WIDER = (1, 4, 16, 64)  # units of the networks that are held against the wide limit, given data
MAX_NUMBERS = 6e7  # random numbers of one rejection run: half a second


@dataclass(frozen=True, kw_only=True)
class PriorSpec(Spec):
    """A 1-k-...-k-1 network with normal priors; its functions, and what six points leave of them."""

    view: str = choice(
        "functions",
        VIEWS,
        "functions of one prior, the same prior on networks of six sizes, rejection by data, or ever wider networks given data",
    )
    width: int = integer(16, 1, 512, "units k in each hidden layer", log=True)
    depth: int = integer(1, 1, 6, "hidden layers L")
    activation: str = choice("tanh", ACTIVATIONS, "what a hidden unit does to its input")
    weight_sd: float = number(2.0, 0.02, 50.0, "prior sd of hidden weights, before the scaling", log=True)
    bias_sd: float = number(2.0, 0.02, 50.0, "prior sd of hidden biases", log=True)
    out_sd: float = number(1.0, 0.02, 20.0, "prior sd of output weights, before the scaling", log=True)
    out_bias_sd: float = number(0.0, 0.0, 5.0, "prior sd of the output bias", step=0.05)
    scaling: str = choice("sqrt", SCALINGS, "what the sd of weights from k units is divided by: √k, 1 or k")
    draws: int = integer(300, 20, 500, "networks drawn from the prior", log=True)
    at_a: float = number(-0.5, -REACH, REACH, "input a, where the functions are read off", step=0.05)
    at_b: float = number(0.5, -REACH, REACH, "input b", step=0.05)
    squash: str = choice("none", ("none", "tanh"), "activation of the output; only the picture with data uses it")
    data: str = choice("six", ("six", "points"), "six points on sin 3x, or your own")
    used: int = integer(3, 0, 6, "how many of the six points are used, from the left")
    points: tuple[tuple[float, float, int], ...] = points(MAX_POINTS, "your own points: x, y (and a 0)")
    noise_sd: float = number(0.1, 0.02, 1.0, "sd σ of the noise on y that the likelihood assumes", log=True)
    tries: int = integer(100_000, 1000, 400_000, "networks tested, of the prior or of a walk over the posterior", log=True)
    bound: str = choice("exact", BOUNDS, "what the likelihood is divided by before it is compared with u")
    seed: int = seed_field()

    def check(self) -> None:
        prior = self.prior()
        if self.at_a == self.at_b:
            raise SpecError("at_b", "is the same input as a: choose two different ones")
        for index, (x, y, label) in enumerate(self.points, start=1):
            if label != 0:
                raise SpecError("points", f"point {index} ends with {label}; a value needs no class, write 0")
            if not (X_RANGE[0] <= x <= X_RANGE[1] and Y_RANGE[0] <= y <= Y_RANGE[1]):
                raise SpecError(
                    "points",
                    f"point {index}, ({x:g}, {y:g}), is outside x {X_RANGE[0]:g} to {X_RANGE[1]:g}, y {Y_RANGE[0]:g} to {Y_RANGE[1]:g}",
                )
        largest = {"rejection": prior, "limit": prior.replace(width=WIDER[-1])}.get(self.view)
        if largest is not None and self.tries * largest.dim > MAX_NUMBERS:
            raise SpecError("tries", f"{self.tries:,} networks of {largest.dim:,} weights are too many: lower one")

    def prior(self) -> Prior:
        """The prior as the engine knows it. The output activation belongs to the picture with data alone."""
        return Prior(
            width=self.width,
            depth=self.depth,
            activation=self.activation,
            weight_sd=self.weight_sd,
            bias_sd=self.bias_sd,
            out_sd=self.out_sd,
            out_bias_sd=self.out_bias_sd,
            scaling=self.scaling,
            squash=self.squash if self.view == "rejection" else "none",
        )


def counted(what: str, number: int) -> str:
    """So many "unit", "layer" or "point", in words."""
    return WORDS.phrase(f"counts.{what}" if number == 1 else f"counts.{what}s", number=number)


STANDARD = PriorSpec()
NARROW = STANDARD.replace(width=1, draws=500)
# Andersen and Roed-Sørensen 2021, appendix .3: hidden weights and biases N(0, 8), output N(0, 1 / sqrt 16), tanh output
THESIS = PriorSpec(view="rejection", width=16, weight_sd=8.0, bias_sd=8.0, out_sd=1.0, out_bias_sd=0.25, squash="tanh")

SCENARIOS = WORDS.scenarios(
    {
        "functions": STANDARD,
        "narrow": NARROW,
        "wide": STANDARD.replace(width=256),
        "kinks": STANDARD.replace(activation="relu", weight_sd=1.5, bias_sd=1.0, width=64),
        "unscaled": STANDARD.replace(width=128, scaling="none"),
        "same-weights": PriorSpec(view="compare", scaling="none", weight_sd=1.0, bias_sd=1.0, out_sd=1.0, draws=120),
        "three-points": THESIS,
        "six-points": THESIS.replace(used=6, bound="observed"),
        "undivided": THESIS.replace(used=4, bound="undivided"),
        "limit-data": PriorSpec(view="limit", weight_sd=4.0, bias_sd=2.0, used=6, noise_sd=0.2),
    }
)
