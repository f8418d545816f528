"""What decides the picture of this lesson: the table and its rows, the network, its prior, and how long it is run."""

from __future__ import annotations

from dataclasses import dataclass

from app.kit.files import LENGTH
from app.kit.words import Words
from datasets import powerball
from datasets.tables import SPLITS
from engine.spec import Spec, SpecError, choice, integer, number, seed_field, text

WORDS = Words(__file__)

SHOWS = ("fit", "protocol", "draw", "place")
DATA = ("diabetes", "breast_cancer", "boston", "credit", "own", "urn")
WEIGHTS = ("fixed", "per_layer", "own_mean")
TRAININGS = ("plain", "weight_decay", "early_stopping")
VARIANTS = ("exact", "no_half_count", "rate_as_scale")


@dataclass(frozen=True, kw_only=True)
class RealDataSpec(Spec):
    """One network on the rows of a table, trained and as a posterior; or a published table of results, run again; or the
    draws of a lottery: whether anything predicts them, and which place a number had in its draw."""

    show: str = choice(
        "fit", SHOWS, "one network and its posterior, the models of a published table, draws of a lottery, or the place of a number"
    )
    data: str = choice("diabetes", DATA, "the table")
    file: str = text("", LENGTH, "your own CSV: at most 250,000 rows, 60 columns and 40 MB; numbers with a point")
    target: str = text("", 60, "the column to predict; empty: the usual one, or the last")
    without: str = text("", 600, "columns left out, with commas between")
    split: str = choice("seeded", SPLITS, "rows drawn with the seed, or those of the published tables")
    rows: int = integer(300, 30, 2000, "rows to learn from, drawn from the whole table", log=True)
    test_rows: int = integer(100, 20, 1000, "rows to test on, of the others", log=True)
    scaled: str = choice("yes", ("yes", "no"), "every column minus its mean, over its sd, both of the rows to learn from")
    hidden: int = integer(10, 0, 20, "units of the hidden layer; 0 is a linear model")
    activation: str = choice("tanh", ("tanh", "relu"), "what a hidden unit does to its input")
    weights: str = choice("per_layer", WEIGHTS, "prior sd fixed, learned for each layer, or a mean and sd of its own for each weight")
    prior_sd: float = number(1.0, 0.05, 10.0, "prior sd of every weight where it is fixed", log=True)
    noise: str = choice("learned", ("learned", "fixed"), "the noise of a value: learned with the weights, or told")
    noise_sd: float = number(1.0, 0.01, 1000.0, "sd of the noise where it is fixed, in units of the target", log=True)
    training: str = choice("plain", TRAININGS, "what keeps the trained network from overfitting")
    epochs: int = integer(300, 20, 2000, "passes over the rows in training", log=True)
    step_size: float = number(0.01, 1e-4, 0.1, "Adam's step size in training", log=True)
    chains: int = integer(4, 1, 4, "independent chains")
    draws: int = integer(500, 50, 3000, "draws kept of each chain", log=True)
    warmup: int = integer(200, 20, 1500, "sweeps before them")
    max_depth: int = integer(7, 4, 10, "doublings of a NUTS trajectory at most")
    case: int = integer(1, 1, 1000, "the test row that is looked at")
    level: float = number(0.9, 0.5, 0.99, "probability that an interval should hold", step=0.01)
    miss_cost: float = number(5.0, 0.1, 100.0, "cost of a case of class 1 that is not flagged", log=True)
    alarm_cost: float = number(1.0, 0.1, 100.0, "cost of flagging a case of class 0", log=True)
    variant: str = choice("exact", VARIANTS, "how the precisions of the prior are drawn, or a mistake in it")
    seen: int = integer(1000, 20, 10_000, "draws of the lottery; of a file, its first", log=True)
    balls: int = integer(powerball.BALLS, 10, 100, "balls in the urn, of which five are drawn")
    weight: float = number(1.0, 0.1, 10.0, "weight of the odd ball, all others 1; at 1 the urn is fair", log=True)
    odd: int = integer(23, 1, 100, "number of the odd ball")
    belief: float = number(20.0, 1.0, 1000.0, "draws that the prior on an odd ball's chance is worth", log=True)
    urns: int = integer(400, 50, 2000, "urns over which the power is counted", log=True)
    seed: int = seed_field()

    def check(self) -> None:
        if self.show == "protocol" and self.data not in ("boston", "credit", "own", "urn"):
            raise SpecError("show", "published tables are known for Boston and credit default only")
        if self.variant != "exact" and (self.weights != "per_layer" or self.lottery):
            raise SpecError("variant", f"{self.variant} is a mistake in learning the prior of each layer")
        if self.show in ("draw", "place") and self.data not in ("urn", "own"):
            raise SpecError("show", "draws are those of the urn, or of your own file")
        if self.show != "place" and self.odd > self.balls:
            raise SpecError("odd", f"there are {self.balls} balls only")

    @property
    def lottery(self) -> bool:
        """Whether the draws of a lottery are looked at, and no table is learned from."""
        return self.show == "draw" or (self.data == "urn" and self.show != "place")

    @property
    def drawn(self) -> int:
        """Draws of the urn that give the rows, two each, where the place of a number is asked for."""
        return -(-(self.rows + self.test_rows) // 2)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Names of the columns left out."""
        return tuple(name.strip() for name in self.without.split(",") if name.strip())

    def _only(self, *names: str) -> RealDataSpec:
        """A copy with these fields, the rest at its default."""
        if self.show == "place":  # whose rows are made of draws
            names = (*names, "show", "balls")
        return type(self)(**{name: getattr(self, name) for name in names})

    def of_task(self) -> RealDataSpec:
        """The settings that the columns depend on."""
        return self.of_rows() if self.show == "place" else self._only("data", "file", "target", "without")

    def of_rows(self) -> RealDataSpec:
        """The settings that the rows depend on."""
        return self._only(*_ROWS)

    def of_draws(self) -> RealDataSpec:
        """The settings that the draws of a lottery, and what is made of them, depend on."""
        if self.data == "own":  # whose odd ball, if any, is not known; but the one of the settings must be among its balls
            return self._only("show", "data", "file", "seen", "balls", "belief", "odd")
        return self._only("show", "data", "seen", "balls", "weight", "odd", "belief", "seed")

    def of_training(self) -> RealDataSpec:
        """The settings that the trained network depends on."""
        return self._only(*_ROWS, *_MODEL, "training", "epochs", "step_size")

    def of_chains(self) -> RealDataSpec:
        """The settings that the chains depend on, apart from the number of draws."""
        return self._only(*_ROWS, *_MODEL, "chains", "warmup", "max_depth", "variant")


_ROWS = ("data", "file", "target", "without", "split", "rows", "test_rows", "scaled", "seed")
_MODEL = ("hidden", "activation", "weights", "prior_sd", "noise", "noise_sd")


BUDGET: dict = {"chains": 3, "warmup": 200, "draws": 200, "max_depth": 8}  # a tenth of what the thesis had

SCENARIOS = WORDS.scenarios(
    {
        "diabetes": RealDataSpec(),
        "too-sure": RealDataSpec(noise="fixed", noise_sd=18.0),
        "tumours": RealDataSpec(data="breast_cancer", hidden=6, case=46, miss_cost=20.0),
        "raw": RealDataSpec(data="breast_cancer", hidden=6, case=46, miss_cost=20.0, scaled="no"),
        "boston-table": RealDataSpec(show="protocol", data="boston", scaled="no", split="published", **BUDGET),
        "credit-table": RealDataSpec(show="protocol", data="credit", scaled="no", split="published", **BUDGET),
        "powerball": RealDataSpec(show="place", data="urn", rows=1215, test_rows=405, hidden=5, weights="fixed", epochs=200),
        "draw": RealDataSpec(show="draw", data="urn"),
    }
)
