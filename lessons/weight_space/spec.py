"""What decides the picture of this lesson: data, a small network, NUTS chains over its weights, and how they are looked
at.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.kit.words import Words
from engine.spec import Spec, SpecError, check_points, choice, integer, number, points, seed_field

WORDS = Words(__file__)

VIEWS = ("walk", "predictive")
DATA = ("hump", "gap", "uneven", "xor", "points")
ACTIVATIONS = ("tanh", "relu")
SYMMETRIES = ("permute", "flip", "random")
MISTAKES = ("none", "forget_bias", "forget_output")
ORDERS = ("none", "output", "bend")
MAX_UNITS = 4
KINDS = ("w", "u", "b", "v")  # weight from the input (XOR: from x₁), from x₂, bias, output weight
WEIGHTS = (*(f"{kind}{unit}" for unit in range(1, MAX_UNITS + 1) for kind in KINDS), "c")
MAX_POINTS = 40
REACH = 2.0  # inputs are shown from -REACH to REACH


@dataclass(frozen=True, kw_only=True)
class WeightSpaceSpec(Spec):
    """A network with one hidden layer of k units, and chains of NUTS over all its weights."""

    view: str = choice("walk", VIEWS, "the walk through weight space, or the predictions at one input")
    data: str = choice("hump", DATA, "a hump, two levels with a gap between, three levels, XOR, or points of your own")
    points: tuple[tuple[float, float, int], ...] = points(MAX_POINTS, "your own points for a curve: x, y and 0")
    units: int = integer(2, 1, MAX_UNITS, "hidden units k")
    activation: str = choice("tanh", ACTIVATIONS, "what a hidden unit does to its input")
    prior_sd: float = number(1.0, 0.1, 10.0, "prior standard deviation s of every weight and bias", log=True)
    noise_sd: float = number(0.3, 0.05, 2.0, "standard deviation σ of the noise on y, taken as known", log=True)
    symmetry: str = choice("random", SYMMETRIES, "what is done to each draw: units change places, signs flip, or both")
    mistake: str = choice("none", MISTAKES, "do it to all weights of a unit, or forget some of them")
    order: str = choice("none", ORDERS, "sort the units of every draw by a rule before the weights are compared")
    first: str = choice("w1", WEIGHTS, "the weight on the plane's x axis")
    second: str = choice("w2", WEIGHTS, "the weight on the plane's y axis")
    at: float = number(0.0, -REACH, REACH, "the input x′ at which the prediction is watched", step=0.05)
    chains: int = integer(4, 2, 6, "independent chains, each begun at a random place of its own")
    draws: int = integer(300, 50, 400, "draws of each chain that are shown", step=10)
    warmup: int = integer(200, 50, 500, "transitions before them, in which NUTS tunes itself", step=50)
    chain: int = integer(1, 1, 6, "the chain that is followed")
    seed: int = seed_field()

    def check(self) -> None:
        check_points(self.points, REACH, labelled=False)
        if self.chain > self.chains:
            raise SpecError("chain", f"there is no chain {self.chain} among {self.chains}")
        for name in ("first", "second"):
            weight = getattr(self, name)
            if weight not in self.weights:
                raise SpecError(name, f"this network has no weight {weight}; it has {', '.join(self.weights)}")
        if self.first == self.second:
            raise SpecError("second", f"{self.second} is on the other axis already")

    @property
    def inputs(self) -> int:
        """Number of inputs of the network."""
        return 2 if self.data == "xor" else 1

    @property
    def kinds(self) -> tuple[str, ...]:
        """The weights of one hidden unit, by letter."""
        return KINDS if self.inputs == 2 else ("w", "b", "v")

    @property
    def weights(self) -> tuple[str, ...]:
        """The weights of the network, unit by unit, the output bias last."""
        return (*(f"{kind}{unit}" for unit in range(1, self.units + 1) for kind in self.kinds), "c")

    def simulation(self) -> WeightSpaceSpec:
        """The part that decides the draws: the same for every way of looking at them."""
        default = {name: type(self).default(name) for name in ("view", "symmetry", "mistake", "order", "at", "chain")}
        return self.replace(**default, first="b1", second="c", draws=type(self).default("draws"))


SWITCH = WeightSpaceSpec(seed=2)  # its four chains settle in four corners
TWO_HUMPS = WeightSpaceSpec(view="predictive", data="gap", units=1, prior_sd=4.0, noise_sd=0.15, second="b1", at=0.0, draws=400, warmup=500)
UNMIXED = WeightSpaceSpec(view="predictive", data="uneven", units=1, prior_sd=2.0, noise_sd=0.3, second="b1", at=-1.5, draws=400, seed=12)

SCENARIOS = WORDS.scenarios(
    {
        "switch": SWITCH,
        "four-units": SWITCH.replace(units=4, symmetry="permute", second="v1", draws=200),
        "sorted": SWITCH.replace(order="bend"),
        "sorted-badly": SWITCH.replace(order="output"),
        "forgot-bias": SWITCH.replace(symmetry="flip", mistake="forget_bias"),
        "xor": WeightSpaceSpec(data="xor", prior_sd=3.0, second="u1", symmetry="permute"),
        "two-humps": TWO_HUMPS,
        "unmixed": UNMIXED,
    }
)
BY_ID = {scenario.id: scenario.spec for scenario in SCENARIOS}
