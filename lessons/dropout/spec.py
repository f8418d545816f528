"""What decides the picture of this lesson: the data, the network with its prior, and the dropout it is trained with."""

from __future__ import annotations

from dataclasses import dataclass

from app.kit.words import Words
from engine.networks.passes import ACTIVATIONS
from engine.spec import Spec, SpecError, choice, integer, number, points, seed_field
from engine.variational.dropout import SCALINGS

WORDS = Words(__file__)

DATA = ("gap", "xor", "points")
METHODS = ("mc_dropout", "concrete_dropout")
MAX_POINTS = 100
REACH, HEIGHT = 3.0, 2.5  # the regression is shown from -REACH to REACH, and as high
PLANE = 1.5  # XOR is shown from -PLANE to PLANE in both inputs


@dataclass(frozen=True, kw_only=True)
class DropoutSpec(Spec):
    """A network with one hidden layer, trained with dropout, and the passes made with it afterwards."""

    data: str = choice("gap", DATA, "a curve with a gap in its data, XOR clouds, or your own points (x, y)")
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
        kept = {name: self.default(name) for name in ("passes", "probe")}
        return self.replace(**kept)

    def sampled_alone(self) -> DropoutSpec:
        """The settings that the posterior depends on; the rest at its default."""
        names = ("passes", "probe", "method", "keep", "scaling", "steps", "step_size")
        return self.replace(**{name: self.default(name) for name in names})


FIRST_POINTS = ((-2.0, -1.0, 0), (-1.6, -0.4, 0), (-1.3, 0.3, 0), (1.0, 1.0, 0), (1.4, 0.4, 0), (1.9, -0.6, 0))

SCENARIOS = WORDS.scenarios(
    {
        "passes": DropoutSpec(),
        "unscaled": DropoutSpec(scaling="none", keep=0.6),
        "more-data": DropoutSpec(rows=80),
        "few-masks": DropoutSpec(units=3, activation="relu", keep=0.6, probe=1.5),
        "xor": DropoutSpec(data="xor", rows=100, units=8, keep=0.8, probe=0.0),
        "concrete": DropoutSpec(method="concrete_dropout"),
        "own-points": DropoutSpec(data="points", points=FIRST_POINTS),
    }
)
