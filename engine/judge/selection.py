"""The Gibbs sampler over models of `engine.spike_and_slab`, as the trial wants it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine import ticket
from engine.judge.check import Check
from engine.judge.trial import Worlds
from engine.spec import SpecError
from engine.spike_and_slab.gibbs import SelectionRun
from engine.spike_and_slab.model import SpikeAndSlab

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SelectionKernel:
    """A sweep over which predictors are in, then their coefficients, on simulated answers at the same predictors.

    model : the model; its `y` is replaced
    sampled : the model as the sampler takes it, where that is wrong on purpose
    """

    model: SpikeAndSlab
    sampled: SpikeAndSlab | None = None
    mistake: str = ""
    fault: str = ""

    @property
    def name(self) -> str:
        """What is chosen from."""
        return f"Gibbs over {self.model.predictors} predictors, {len(self.model.y)} simulated answers"

    @property
    def quantities(self) -> tuple[str, ...]:
        """How many are in, which, the fit, the size of coefficients."""
        each = [f"the share of predictor {j + 1}" for j in range(min(self.model.predictors, 8))]
        return ("the number of predictors that are in", *each, "the log likelihood", "the mean square coefficient")

    @property
    def faults(self) -> tuple[str, ...]:
        """Mistakes in what the sampler is told."""
        return ("slab_constant", "prior_odds_forgotten", "data_ignored")

    def planted(self, fault: str) -> SelectionKernel:
        """The kernel with one of its `faults`."""
        if fault not in self.faults:
            raise SpecError("fault", f"{fault!r} is not one of {', '.join(self.faults)}")
        return dataclasses.replace(self, fault=fault)

    def _told(self, y: Array) -> SpikeAndSlab:
        """The model as the sampler takes it."""
        model = dataclasses.replace(self.sampled or self.model, y=y)
        if self.fault == "slab_constant":  # the slab's normaliser, 1 / sd, left out of the odds
            constant = 0.7 - 0.5 * np.log(model.precision[model.always :])
            return dataclasses.replace(model, log_odds=model.log_odds + constant)
        if self.fault == "prior_odds_forgotten":
            return dataclasses.replace(model, log_odds=model.log_odds + 1.0)
        if self.fault == "data_ignored":
            return dataclasses.replace(model, design=model.design * 1e-6)
        return model

    def audit(self, seed: int = 0) -> Check | None:
        """Nothing: the trial sees the mistakes that can be made here."""
        return None

    def reference(self, n: int, rng: np.random.Generator) -> Array:
        """What is watched at n exact draws, (n, q)."""
        return self.worlds(n, rng).values

    def worlds(self, n: int, rng: np.random.Generator) -> Worlds:
        """n exact joint draws: (included, coefficients, y) of each."""
        model, always = self.model, self.model.always
        included = rng.random((n, model.predictors)) < model.inclusion
        coefficients = rng.standard_normal((n, model.design.shape[1])) / np.sqrt(model.precision)
        coefficients[:, always:] *= included
        eta = coefficients @ model.design.T
        if model.likelihood == "linear":
            y = eta + model.noise_sd * rng.standard_normal(eta.shape)
        else:
            y = (rng.random(eta.shape) < 1.0 / (1.0 + np.exp(-eta))).astype(np.float64)
        return Worlds(list(zip(included, coefficients, y, strict=True)), self._values(included, coefficients, y))

    def move(self, worlds: Worlds, transitions: int, seeds: list[np.random.SeedSequence]) -> tuple[Array, float]:
        """What is watched after each sweep, (n, transitions, q), and the operations spent."""
        moved, operations = [], 0.0
        for (included, coefficients, y), seed in ticket.looking(zip(worlds.states, seeds, strict=True)):
            run = SelectionRun(self._told(y), chains=1, draws=transitions, warmup=0)
            run.restart(included, coefficients, np.random.Generator(np.random.SFC64(seed)))
            run.advance(transitions)
            found = run.recording()
            each = np.broadcast_to(y, (transitions, len(y)))
            moved.append(self._values(found.included[0], found.coefficients[0], each))
            operations += 1e5 + transitions * self.model.predictors**4 * 2.0
        return np.stack(moved), operations

    def _values(self, included: NDArray[np.bool_], coefficients: Array, y: Array) -> Array:
        model = self.model
        eta = coefficients @ model.design.T
        if model.likelihood == "linear":
            fit = -0.5 * ((y - eta) ** 2).sum(axis=1) / model.noise_sd**2
        else:
            fit = (y * eta - np.logaddexp(0.0, eta)).sum(axis=1)
        size = (coefficients[:, model.always :] ** 2).mean(axis=1)
        shares = included[:, :8].astype(np.float64)
        return np.concatenate([included.sum(axis=1)[:, None], shares, fit[:, None], size[:, None]], axis=1)
