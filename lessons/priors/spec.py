"""What decides the picture of this lesson: data, what the weights of a network share, and where to look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from app.kit.words import Words
from datasets.relevance import INPUTS, Values, six_inputs, six_inputs_at, wave, wave_at
from engine.networks import Network, SweepSpec, network
from engine.spec import SpecError, choice, integer, number

WORDS = Words(__file__)

VIEWS = ("watch", "compare")
DATA = ("wave", "inputs")
SHARED = ("fixed", "per_layer", "per_input", "per_weight")
FAMILIES = ("W1", "b1", "W2", "b2")
REACH = {"wave": 2.6, "inputs": 1.7}  # the function is drawn from -REACH to REACH
MOST_WORK = 400_000  # sweeps times points times weights on the stage


@dataclass(frozen=True, kw_only=True)
class PriorsLesson(SweepSpec):
    """A network small enough that each of its precisions can be watched."""

    view: str = choice("watch", VIEWS, "one prior, sweep by sweep, or all priors on the same data")
    data: str = choice("wave", DATA, "one input with a gap in the data, or six inputs of which two matter")
    points: int = integer(20, 5, 100, "points in the data")
    true_noise: float = number(0.15, 0.02, 1.0, "sd of the noise that the data were made with", log=True)
    data_seed: int = integer(1, 0, 9999, "the data's own random numbers")
    width: int = integer(5, 1, 12, "hidden units (tanh)")
    prior_sd: float = number(1.0, 0.05, 20.0, "prior sd of every weight where it is fixed", log=True)
    weights: str = choice("per_layer", SHARED, "what shares a prior precision τ, and whether it is learned")
    noise: str = choice("learned", ("fixed", "learned"), "the noise precision: the true one, or learned")
    noise_rate: float = number(0.1, 1e-4, 1e4, "rate of the gamma prior of the noise precision", log=True)
    look: str = choice("W1", FAMILIES, "which weights stand in the pictures beside the function")
    input: int = integer(1, 1, INPUTS, "the input that is varied, and whose weights stand in the pictures")
    draws: int = integer(150, 20, 400, "sweeps on the stage", log=True)
    warmup: int = integer(150, 50, 2000, "sweeps before them, in which NUTS tunes itself")
    chains: int = integer(4, 2, 8, "chains of the diagnostics; the stage shows the first")
    target_accept: float = number(0.95, 0.5, 0.99, "mean acceptance that NUTS tunes its step size for")
    max_depth: int = integer(8, 1, 10, "doublings of a trajectory at most")

    def check(self) -> None:
        super().check()
        if self.data == "wave" and self.input > 1:
            raise SpecError("input", f"{self.input} is not there: the wave has one input")
        work = (self.draws + self.warmup) * self.points * self.network().dim
        if work > MOST_WORK * 10:
            raise SpecError("draws", "so many sweeps of so large a network take too long: lower points or width")

    def network(self) -> Network:
        """The network that is sampled."""
        inputs = 1 if self.data == "wave" else INPUTS
        return network(inputs, 1, width=self.width, likelihood="gaussian", prior_sd=self.prior_sd, noise_sd=self.true_noise)

    def values(self) -> Values:
        """The data."""
        made = wave if self.data == "wave" else six_inputs
        return made(self.points, self.true_noise, self.data_seed)

    def truth(self, x: np.ndarray) -> np.ndarray:
        """The function that the data were made with, at inputs x (n, inputs)."""
        return wave_at(x) if self.data == "wave" else six_inputs_at(x)

    def sweep(self, **changes: Any) -> SweepSpec:
        """The settings of the sampler alone, with some changed."""
        settings = {name: getattr(self, name) for name in SweepSpec.declarations()}
        return SweepSpec(**{**settings, **changes})

    def simulation(self) -> PriorsLesson:
        """The part that decides the run: the same for every way of looking at it."""
        return self.replace(view="watch", look="W1", input=1)


LAYERS = PriorsLesson(seed=6)
SIX = PriorsLesson(data="inputs", points=60, true_noise=0.2, weights="per_input", input=1, weight_shape=0.5, weight_rate=0.05, seed=4)

SCENARIOS = WORDS.scenarios(
    {
        "layers": LAYERS,
        "own": LAYERS.replace(weights="per_weight"),
        "inputs": SIX,
        "compare": LAYERS.replace(view="compare", draws=100),
        "forgot-count": LAYERS.replace(variant="no_half_count"),
    }
)
