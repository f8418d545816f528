"""What decides the picture of this lesson: a regression with made-up data whose every model can be weighed exactly, or
a network on the digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.kit.words import Words
from engine.spec import MAX_SEED, Spec, SpecError, choice, integer, number, seed_field, text
from lessons.families.digit_posteriors.spec import DATA
from lessons.families.digit_posteriors.spec import WORDS as FAMILY

WORDS = Words(__file__, FAMILY)

PARTS = ("regression", "network")
LIKELIHOODS = ("linear", "logistic")
WEIGHT_PRIORS = ("aic", "bic", "own")
VIEWS = ("training", "cut", "draws")
VARIANTS = ("exact", "no_normaliser")
FEWEST = 2
MOST = {"linear": 12, "logistic": 8}  # predictors; each model of the logistic one costs an integral
LARGEST = 20.0  # of a true coefficient


@dataclass(frozen=True, kw_only=True)
class SpikeAndSlabSpec(Spec):
    """A regression in which every predictor is in or out, and the Gibbs run over which are in; or a network in which
    every weight is, and its training. Fields of the part that is not shown are kept and ignored.
    """

    part: str = choice("regression", PARTS, "a regression with the exact answer beside it, or a network")
    likelihood: str = choice("linear", LIKELIHOODS, "y is a number with normal noise, or yes and no (logistic)")
    effects: str = text(
        "1, 0, 0.5, 0, -0.7, 0, 0.25, 0", 120, "true coefficient of each predictor, with commas between; 0: it has nothing to do with y"
    )
    rows: int = integer(60, 5, 300, "rows of data n", log=True)
    correlation: float = number(0.0, 0.0, 0.99, "correlation of the first two predictors; the others are independent")
    noise_sd: float = number(1.0, 0.1, 5.0, "sd of the noise in y, known to the model (linear)", log=True)
    inclusion: float = number(0.5, 0.01, 0.99, "prior probability π that a predictor is in")
    slab_sd: float = number(1.0, 0.1, 1000.0, "prior sd of a coefficient that is in: the width of the slab", log=True)
    data_seed: int = integer(1, 0, MAX_SEED, "random numbers of the data; the seed below is the sampler's")
    draws: int = integer(500, 50, 1000, "sweeps of each chain", log=True)
    chains: int = integer(4, 1, 4, "independent chains; the picture shows the first")
    variant: str = choice("exact", VARIANTS, "exact, or the slab's normalising constant 1/(s√2π) left out")
    view: str = choice("training", VIEWS, "of the network: its training, a threshold that rises through α, or networks drawn from q")
    data: str = choice("digits", tuple(DATA), "what the network learns from: the bundled digits, or MNIST")
    units: int = integer(50, 5, 80, "hidden units of the network: 64 pixels (784 of MNIST), these, 10 digits", log=True)
    weight_prior: str = choice("aic", WEIGHT_PRIORS, "prior odds of a weight being in: e⁻² (aic), n⁻² (bic), or a probability of your own")
    weight_inclusion: float = number(0.1, 1e-6, 0.9, "your own prior probability of a weight being in", log=True)
    epochs: int = integer(60, 5, 200, "passes through the training digits: 1,347, or 60,000 of MNIST", log=True)
    seed: int = seed_field(1)

    def check(self) -> None:
        self.true_effects()

    def true_effects(self) -> NDArray[np.float64]:
        """(p,) the true coefficients. Raises SpecError naming the entry that is wrong."""
        entries = [entry.strip() for entry in self.effects.split(",")]
        most = MOST[self.likelihood]
        if not FEWEST <= len(entries) <= most:
            raise SpecError("effects", f"{len(entries)} coefficients; {FEWEST} to {most} are wanted, so that all models can be weighed")
        return np.array([_effect(place, entry) for place, entry in enumerate(entries, 1)])

    @property
    def log_odds_error(self) -> float:
        """What the variant adds to the log odds of every predictor; 0 for the exact one."""
        return math.log(self.slab_sd * math.sqrt(2.0 * math.pi)) if self.variant == "no_normaliser" else 0.0


def _effect(place: int, entry: str) -> float:
    try:
        value = float(entry)
    except ValueError:
        raise SpecError("effects", f"coefficient {place}: “{entry}” is not a number") from None
    if not abs(value) <= LARGEST:
        raise SpecError("effects", f"coefficient {place}: {entry} is not between −{LARGEST:g} and {LARGEST:g}")
    return value


TWINS = SpikeAndSlabSpec(effects="0.5, 0, 0.6, 0, 0, 0", correlation=0.97, rows=60, data_seed=3, seed=2)

SCENARIOS = WORDS.scenarios(
    {
        "eight": SpikeAndSlabSpec(),
        "twins": TWINS,
        "logistic": SpikeAndSlabSpec(likelihood="logistic", effects="1.2, 0, -0.8, 0, 0.5, 0", rows=80, data_seed=2, draws=400),
        "vague": SpikeAndSlabSpec(slab_sd=300.0),
        "unnormalised": SpikeAndSlabSpec(variant="no_normaliser", slab_sd=3.0),
        "digits": SpikeAndSlabSpec(part="network"),
        "cut": SpikeAndSlabSpec(part="network", view="cut"),
        "draws": SpikeAndSlabSpec(part="network", view="draws"),
        "too-sparse": SpikeAndSlabSpec(part="network", weight_prior="bic"),
    }
)
