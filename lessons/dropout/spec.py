"""What decides the picture of this lesson: the data, the network with its prior, and the dropout it is trained with."""

from __future__ import annotations

from dataclasses import dataclass

from app.kit.words import Words
from engine.networks.passes import ACTIVATIONS
from engine.spec import Spec, SpecError, choice, integer, number, points, seed_field
from engine.variational.dropout import SCALINGS
from lessons.families.digit_posteriors.spec import DATA as IMAGES
from lessons.families.digit_posteriors.spec import TESTS

WORDS = Words(__file__)

DATA = ("gap", "xor", "points", "digits")
METHODS = ("mc_dropout", "concrete_dropout")
MAX_POINTS = 100
REACH, HEIGHT = 3.0, 2.5  # the regression is shown from -REACH to REACH, and as high
PLANE = 1.5  # XOR is shown from -PLANE to PLANE in both inputs
OF_DIGITS = ("images", "hidden", "number")  # fields that the network of digits alone reads


@dataclass(frozen=True, kw_only=True)
class DropoutSpec(Spec):
    """A network with one hidden layer, trained with dropout, and the passes made with it afterwards. Fields of the data that
    are not chosen are kept and ignored.
    """

    data: str = choice("gap", DATA, "a curve with a gap in its data, XOR clouds, your own points (x, y), or images of digits")
    rows: int = integer(20, 4, 200, "points of data n; XOR takes a multiple of 4", log=True)
    noise_sd: float = number(0.3, 0.1, 1.0, "sd s of the noise in y, known to the model (regression)", log=True)
    points: tuple[tuple[float, float, int], ...] = points(MAX_POINTS, "your own points: x and y (the class is 0)")
    units: int = integer(10, 1, 12, "hidden units k: few enough to count all 2ᵏ masks")
    activation: str = choice("tanh", ACTIVATIONS, "what a hidden unit does to its input")
    prior_sd: float = number(1.0, 0.1, 10.0, "prior sd σ of every weight and bias; its inverse is a length-scale", log=True)
    method: str = choice("mc_dropout", METHODS, "p fixed by you, or learned with the weights (concrete dropout)")
    keep: float = number(0.9, 0.1, 1.0, "probability p that a hidden unit is kept in a pass; where learning p starts")
    scaling: str = choice("inverse", SCALINGS, "units that are kept are multiplied by 1/p, or that is forgotten")
    steps: int = integer(800, 100, 5000, "training steps, each on all data", log=True)
    step_size: float = number(0.02, 0.001, 0.2, "Adam's step size", log=True)
    passes: int = integer(80, 10, 100, "passes T, each with masks of its own")
    probe: float = number(1.5, -REACH, REACH, "the place x* that the numbers are about (XOR: x* = (this, 0))", step=0.05)
    seed: int = seed_field()
    images: str = choice("digits", tuple(IMAGES), "what the network of digits learns from: the bundled ones, or MNIST")
    hidden: int = integer(200, 20, 400, "hidden units k of the network of digits: far too many to count all 2ᵏ masks", log=True)
    number: int = integer(0, 0, 9_999, "of the test image x* that the numbers are about", step=1)

    def check(self) -> None:
        for index, (x, y, label) in enumerate(self.points, start=1):
            if label != 0:
                raise SpecError("points", f"point {index} has class {label}; here points are x, y with class 0")
            if abs(x) > REACH or abs(y) > HEIGHT:
                raise SpecError("points", f"point {index}, ({x:g}, {y:g}), is outside ±{REACH:g} × ±{HEIGHT:g}")
        if self.data == "points" and len(self.points) < 2:
            raise SpecError("points", f"{len(self.points)} points: a curve needs 2 at least")
        if self.data == "xor" and abs(self.probe) > PLANE:
            raise SpecError("probe", f"{self.probe:g} is outside the plane of XOR, ±{PLANE:g}")
        if self.data == "digits" and self.number >= TESTS[self.images]:
            raise SpecError("number", f"{self.number:,} is outside 0 to {TESTS[self.images] - 1:,}, the test images of these data")

    @property
    def classifies(self) -> bool:
        """Is it about classes (XOR), not values?"""
        return self.data == "xor"

    @property
    def inputs(self) -> int:
        """Inputs of the network."""
        return 2 if self.classifies else 1

    def trained_alone(self) -> DropoutSpec:
        """The settings that training depends on; the rest at its default."""
        return self._without("passes", "probe", *OF_DIGITS)

    def sampled_alone(self) -> DropoutSpec:
        """The settings that the posterior depends on; the rest at its default."""
        return self._without("passes", "probe", "method", "keep", "scaling", "steps", "step_size", *OF_DIGITS)

    def _without(self, *names: str) -> DropoutSpec:
        return self.replace(**{name: self.default(name) for name in names})


def factor(spec: DropoutSpec, keep: float) -> float:
    """What a unit that is kept is multiplied by."""
    return 1.0 / keep if spec.scaling == "inverse" else 1.0


FIRST_POINTS = ((-2.0, -1.0, 0), (-1.6, -0.4, 0), (-1.3, 0.3, 0), (1.0, 1.0, 0), (1.4, 0.4, 0), (1.9, -0.6, 0))

SCENARIOS = WORDS.scenarios(
    {
        "passes": DropoutSpec(),
        "unscaled": DropoutSpec(scaling="none", keep=0.6),
        "more-data": DropoutSpec(rows=80),
        "few-masks": DropoutSpec(units=3, activation="relu", keep=0.6, probe=1.5),
        "xor": DropoutSpec(data="xor", rows=100, units=8, keep=0.8, probe=0.0),
        "concrete": DropoutSpec(method="concrete_dropout"),
        "digits": DropoutSpec(data="digits", keep=0.8, number=11),
        "own-points": DropoutSpec(data="points", points=FIRST_POINTS),
    }
)
