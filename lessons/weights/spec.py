"""What decides the picture of this lesson: the data, the network with its prior, how q is trained, the NUTS run."""

from __future__ import annotations

from dataclasses import dataclass

from app.kit.words import Words
from datasets.xor import EIGHT_POINTS
from engine.spec import Spec, SpecError, choice, integer, number, points, seed_field
from lessons.families.digit_posteriors.spec import DATA as IMAGES

WORDS = Words(__file__)

PROBLEMS = ("curve", "plane", "digits")
DATA = ("made", "own")
PRIORS = ("normal", "mixture")
ESTIMATORS = ("weights", "local", "flipout")
VARIANTS = ("exact", "no_scaling", "light_kl")
CLASSES = ("class 0", "class 1")
WAVE = 2.0  # the made curve is sin(WAVE x), seen where |x| < EDGE
EDGE = 2.0
REACH = {"curve": 4.0, "plane": 1.5}  # inputs are shown from -reach to reach
HEIGHT = 3.0  # and y of the curve from -HEIGHT to HEIGHT
MOST = 60  # own points
OWN = {"curve": "pairs", "plane": "points"}  # the field that holds them
LIGHT = 10  # the light divergence counts one part in so many
OWN_PAIRS = (
    (-1.8, 1.0, 0),
    (-1.6, 0.6, 0),
    (-1.3, -0.4, 0),
    (-1.1, -0.9, 0),
    (-0.9, -0.8, 0),
    (1.2, 0.9, 0),
    (1.4, 0.4, 0),
    (1.7, -0.3, 0),
    (1.9, -0.6, 0),
)


@dataclass(frozen=True, kw_only=True)
class WeightsSpec(Spec):
    """One network, prior and data; a normal distribution for each weight trained on it, and NUTS on the same posterior,
    but for the network of digits, which is too large for it. Fields of the problem that is not shown are kept and ignored.
    """

    problem: str = choice("curve", PROBLEMS, "a curve y(x) with noise, XOR: two classes in the plane, or images of digits")
    data: str = choice("made", DATA, "generated, or points of your own")
    rows: int = integer(20, 4, 60, "points of the curve n, half on each side of the gap", log=True)
    gap: float = number(0.7, 0.0, 1.8, "no data where |x| is below this", step=0.1)
    noise_sd: float = number(0.25, 0.1, 1.0, "sd of the noise in y, known to the model", log=True)
    pairs: tuple[tuple[float, float, int], ...] = points(MOST, "your own points: x, y, and 0", default=OWN_PAIRS)
    corner: int = integer(10, 1, 30, "points in each of the four clouds", log=True)
    points: tuple[tuple[float, float, int], ...] = points(MOST, "your own points: x₁, x₂ and class 0 or 1", default=EIGHT_POINTS)
    units: int = integer(4, 1, 12, "hidden tanh units k")
    prior: str = choice("normal", PRIORS, "of every weight and bias: one normal, or a wide and a narrow one mixed")
    prior_sd: float = number(1.0, 0.1, 5.0, "prior sd σ of every weight and bias; of a mixture its wide part", log=True)
    mixture_share: float = number(0.5, 0.05, 0.95, "share of the wide normal in the mixture")
    mixture_sd: float = number(0.1, 0.01, 1.0, "sd of the narrow normal in the mixture", log=True)
    estimator: str = choice("weights", ESTIMATORS, "noise is drawn for each weight, for the input of each unit, or once with signs turned")
    steps: int = integer(2000, 100, 10_000, "steps of training", log=True)
    batch: int = integer(0, 0, 60, "points looked at in one step B, 0 for all of them")
    step_size: float = number(0.03, 0.001, 1.0, "Adam's step size at the start; it shrinks to 3 % of it", log=True)
    initial_sd: float = number(0.1, 0.005, 3.0, "sd of every weight under q at the start", log=True)
    warm_up: float = number(0.0, 0.0, 1.0, "share of the steps in which the KL's weight grows from 0 to 1; 0: no warm-up")
    variant: str = choice("exact", VARIANTS, "the right objective, or one with a well-known mistake")
    draws: int = integer(1000, 200, 2000, "NUTS draws of each chain", log=True)
    seed: int = seed_field(1)
    images: str = choice("digits", tuple(IMAGES), "what the network of digits learns from: the bundled ones, or MNIST")
    hidden: int = integer(100, 10, 200, "hidden units of each of the two layers of the network of digits", log=True)

    def check(self) -> None:
        self._own("pairs", REACH["curve"], HEIGHT, (0,))
        self._own("points", REACH["plane"], REACH["plane"], (0, 1))
        if self.prior == "mixture" and self.estimator != "weights":
            raise SpecError("estimator", "a mixture prior needs the weights themselves drawn: take that estimator")
        if self.variant == "no_scaling" and self.problem != "digits" and (self.problem == "plane" or self.minibatch == self.size):
            raise SpecError("variant", "n/B can be forgotten for the curve with minibatches: set B below n")

    def _own(self, name: str, wide: float, high: float, classes: tuple[int, ...]) -> None:
        placed = getattr(self, name)
        for index, (x, y, label) in enumerate(placed, start=1):
            if abs(x) > wide or abs(y) > high:
                raise SpecError(name, f"point {index}, ({x:g}, {y:g}), is outside ±{wide:g} by ±{high:g}")
            if label not in classes:
                raise SpecError(name, f"point {index} ends with {label}, not {' or '.join(map(str, classes))}")
        if self.data == "own" and name == OWN.get(self.problem) and len(placed) < 2:
            raise SpecError(name, "at least two points are needed: click into the picture, or write them as lines")

    @property
    def size(self) -> int:
        """Number of data points n."""
        if self.data == "own":
            return len(self.pairs if self.problem == "curve" else self.points)
        return self.rows if self.problem == "curve" else 4 * self.corner

    @property
    def minibatch(self) -> int:
        """Points of one step B."""
        return min(self.batch, self.size) if self.batch else self.size


XOR = WeightsSpec(problem="plane", prior_sd=2.0, initial_sd=0.02, draws=2000)

SCENARIOS = WORDS.scenarios(
    {
        "gap": WeightsSpec(),
        "xor": XOR,
        "own": WeightsSpec(data="own"),
        "two-units": XOR.replace(units=2, prior_sd=3.0, draws=1000),
        "gives-up": WeightsSpec(problem="plane", prior_sd=1.0, draws=1500),
        "wide-start": WeightsSpec(problem="plane", units=6, prior_sd=2.0, initial_sd=1.0),
        "light-kl": WeightsSpec(variant="light_kl"),
        "no-scaling": WeightsSpec(batch=5, variant="no_scaling"),
        "digits": WeightsSpec(problem="digits"),
    }
)
