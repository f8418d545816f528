"""What decides the picture of this lesson: which part, the points, the network, or the surface of the race."""

from __future__ import annotations

from dataclasses import dataclass

from app.kit.words import Words
from engine.networks import Network, network
from engine.networks.passes import ACTIVATIONS
from engine.spec import SpecError, check_points, choice, integer, number, points, seed_field
from engine.targets.spec import TargetSpec
from engine.training import RULES
from engine.training.nodes import VARIANTS

WORDS = Words(__file__)

PARTS = ("perceptron", "network", "nodes", "race", "held_out")
DATA = ("separable", "xor", "clouds", "points")
CLASSES = (WORDS.phrase("classes.0"), WORDS.phrase("classes.1"))
VIEWS = ("ways", "decay")
SURFACES = ("gaussian", "banana", "formula")
PARAMETERS = {"gaussian": ("correlation", "scale_ratio"), "banana": ("width", "curvature"), "formula": ("formula",)}
MAX_POINTS = 60
REACH = 1.5  # the plane is shown from -REACH to REACH in both inputs


@dataclass(frozen=True, kw_only=True)
class PerceptronLesson(TargetSpec):
    """One of five parts. Fields of the other parts are kept and ignored."""

    part: str = choice("perceptron", PARTS, "one unit, hidden units, one pass node by node, the race of optimisers, or loss on new points")
    data: str = choice("separable", DATA, "points that a line separates, the four corners of XOR, clouds, or your own")
    count: int = integer(30, 4, MAX_POINTS, "points that a line separates")
    gap: float = number(0.1, 0.01, 0.5, "no such point is nearer to the line than this", log=True)
    points: tuple[tuple[float, float, int], ...] = points(MAX_POINTS, "your own points: x₁, x₂ and class 0 or 1")
    epochs: int = integer(100, 1, 300, "passes over the points after which the perceptron is cut off", log=True)
    units: int = integer(2, 1, 8, "hidden units in a layer")
    depth: int = integer(1, 1, 2, "hidden layers")
    activation: str = choice("tanh", ACTIVATIONS, "what a hidden unit does with the sum z of its inputs")
    optimiser: str = choice("adam", RULES, "rule that turns gradients into steps")
    step_size: float = number(0.05, 0.001, 10.0, "length η of a step", log=True)
    steps: int = integer(600, 100, 2000, "steps of training, each over all points", log=True)
    row: int = integer(1, 1, MAX_POINTS, "the point that is sent through the network, in the order of the table")
    variant: str = choice("exact", VARIANTS, "the right backward pass, or one with a well-known mistake")
    target: str = choice("gaussian", SURFACES, "the surface: −log density of a ravine, a bent valley, or your own")
    dimension: int = integer(2, 2, 2, "the whole surface is shown, so it stays in the plane")
    length: float = number(1.0, 0.02, 3.0, "step η of sgd, momentum and nesterov in units of 1/L, L the largest curvature", log=True)
    adaptive: float = number(0.15, 0.002, 2.0, "step η of adagrad, rmsprop and adam, a distance in the plane", log=True)
    momentum: float = number(0.8, 0.0, 0.98, "share of the velocity that a step keeps", step=0.01)
    noise: float = number(0.0, 0.0, 5.0, "sd of the noise on every gradient, as minibatches have it", step=0.1)
    racing: int = integer(120, 20, 500, "steps of the race", log=True)
    start_x: float = number(-2.2, -20.0, 20.0, "where all start, first coordinate", step=0.1)
    start_y: float = number(-0.5, -20.0, 20.0, "where all start, second coordinate", step=0.1)
    view: str = choice("ways", VIEWS, "new points: four ways of training by step, or one by weight decay")
    corner: int = integer(12, 4, 50, "new points: points to learn from in each of four overlapping clouds", log=True)
    decay: float = number(0.005, 1e-5, 0.1, "weight decay λ: it adds λ|θ|²/2 to the loss, θ all weights and biases", log=True)
    keep: float = number(0.8, 0.2, 0.98, "dropout: probability that a hidden unit is kept", step=0.02)
    patience: int = integer(5, 1, 50, "early stopping: looks without a lower loss until it stops, 100 looks a training", log=True)
    seed: int = seed_field()

    def check(self) -> None:
        super().check()
        check_points(self.points, REACH)
        if self.part not in ("race", "held_out") and self.data == "points" and not self.points:
            raise SpecError("points", "there are none: give at least one, x₁, x₂ and class")
        if self.part == "race":
            self._check_surface()

    def network(self, units: int | None = None) -> Network:
        """The network, one output: the log odds of class 1."""
        return network(2, 1, width=units or self.units, depth=self.depth, activation=self.activation, likelihood="bernoulli")

    def _check_surface(self) -> None:
        target = self.checked_target()
        density = target.log_density([self.start_x, self.start_y])
        if not -1e6 < density < float("inf"):
            raise SpecError("start_x", "at this start the surface is not finite, or higher than a million")


FIRST = PerceptronLesson(gap=0.03, seed=4)
CLOUDS = PerceptronLesson(part="network", data="clouds", units=2, seed=4)
NODES = PerceptronLesson(part="nodes", data="xor", seed=1)
RACE = PerceptronLesson(part="race", correlation=0.8, scale_ratio=3.0, length=1.2, start_x=-2.5, start_y=0.3)
HELD_OUT = PerceptronLesson(part="held_out", units=8, step_size=0.03, steps=2000, seed=1)
OWN_POINTS = (
    (-0.9, 0.8, 0),
    (-0.2, 0.9, 0),
    (0.7, 0.9, 0),
    (0.9, -0.2, 0),
    (0.6, -0.9, 0),
    (-0.5, -0.9, 0),
    (-1.0, -0.1, 0),
    (0.0, 0.1, 1),
    (0.2, -0.2, 1),
    (-0.2, 0.2, 1),
    (-0.1, -0.2, 1),
    (0.3, 0.2, 1),
)

SCENARIOS = WORDS.scenarios(
    {
        "separable": FIRST,
        "xor": PerceptronLesson(data="xor"),
        "one-unit": CLOUDS.replace(units=1, seed=1),
        "two-units": CLOUDS,
        "stuck": CLOUDS.replace(seed=1),
        "three-units": CLOUDS.replace(units=3, seed=1),
        "own-points": CLOUDS.replace(data="points", points=OWN_POINTS, units=4, seed=2),
        "pass": NODES,
        "forgot": NODES.replace(variant="no_slope"),
        "vanishing": NODES.replace(activation="sigmoid", depth=2, seed=5),
        "silent": NODES.replace(activation="relu", seed=8),
        "race": RACE,
        "too-long": RACE.replace(length=2.05, momentum=0.5, racing=60),
        "valley": RACE.replace(target="banana", start_x=-3.0, start_y=6.0, length=0.2, racing=200, adaptive=0.1),
        "three-ways": HELD_OUT,
        "decay": HELD_OUT.replace(view="decay"),
    }
)
