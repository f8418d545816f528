"""Moves within a model: HMC and NUTS on the parameters of the present architecture, by the engine's own kernels.

The mass is 1. Each architecture has its own step size, tuned by dual averaging in the warm-up sweeps spent there and
then frozen. One that saw fewer than MIN_VISITS of them takes that of the nearest that saw more (or, if none did, of the
one last moved in), times (its dim / this dim)^(1/4).

The short NUTS is that of Berezowski's code: slice form, a tight bound on the energy error, a step size sought anew at
each call and adapted during its few transitions. Its kernel depends on where it starts and so has not the posterior as
its stationary distribution: wrong on purpose.
"""

from __future__ import annotations

import copy
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.jumps.settings import JumpSettings
from engine.jumps.sweep import Rules, State, begin_move
from engine.samplers import adaptation
from engine.samplers.adaptation import COUNT, LOG_BAR, MU, STEP, TOTAL
from engine.samplers.chain import Chain, Trace
from engine.samplers.hmc import Hmc, HmcSettings
from engine.samplers.nuts import Nuts
from engine.targets.target import Target

Array = NDArray[np.float64]

MIN_VISITS = 20  # warm-up moves in an architecture after which its own step size counts
JITTER = 0.1  # of the step size of HMC
SHORT_ACCEPT = 0.65
_TUNED = 10  # numbers of an adaptation state that change under a fixed mass
_MATRICES = 34  # numbers before its matrices, of which a fixed unit mass needs two


class Tuning(NamedTuple):
    """What a chain has learnt about step sizes.

    learnt : (architectures, 10), the changing numbers of each architecture's adaptation state
    work : the adaptation state that the samplers see, for any dim, since all of its masses are 1
    last : (1,) int64, the architecture last moved in
    frozen : (1,) bool
    """

    learnt: Array
    work: Array
    last: NDArray[np.int64]
    frozen: NDArray[np.bool_]

    @classmethod
    def empty(cls, architectures: int, max_dim: int) -> Tuning:
        return cls(
            np.zeros((architectures, _TUNED)),
            np.concatenate([np.zeros(_MATRICES), np.ones(2 * max_dim)]),
            np.zeros(1, dtype=np.int64),
            np.zeros(1, dtype=np.bool_),
        )


class Moved(NamedTuple):
    """What a move did, for the trace; step_size is 0 where there was no move."""

    accept_prob: float = 0.0
    accepted: bool = False
    divergent: bool = False
    evaluations: int = 0
    step_size: float = 0.0


class WithinMove:
    """The move of one run. Holds work space, so each chain has its own.

    dims : (architectures,), number of parameters of each
    """

    def __init__(self, target: Target, rules: Rules, dims: NDArray[np.int64], settings: JumpSettings):
        self.target, self.rules, self.dims = target, rules, dims
        self.within, self.step_size, self.steps = settings.within, settings.step_size, settings.steps
        self.target_accept, self.short_steps = settings.target_accept, settings.short_steps
        self._unit_mass = np.ones((1, target.dim))
        nuts = Nuts(self.step_size, mass=1.0, target_accept=self.target_accept, max_depth=settings.max_depth)
        short = Nuts(mass=1.0, target_accept=SHORT_ACCEPT, sampling="slice", max_energy_error=settings.short_energy_error)
        self._nuts, self._nuts_settings = nuts, nuts.prepare(target)
        self._short, self._short_settings = short, short.prepare(target)
        self._hmc = Hmc(steps=self.steps)
        self._nuts_inside, self._hmc_inside = _no_inside(nuts, target.dim), _no_inside(self._hmc, target.dim)
        self._trace = Trace.empty(1, self.short_steps, target.dim, Nuts.records).at(0)

    def on(self, target: Target) -> WithinMove:
        """The same move on another target of the same shape, with work space of its own."""
        other = copy.copy(self)
        other.target, other._trace = target, Trace.empty(1, other.short_steps, target.dim, Nuts.records).at(0)
        return other

    def begin(self, state: State, rng: np.random.Generator, tuning: Tuning, here: int) -> int:
        """Settle the first step size, for a chain that starts in architecture `here`. Returns evaluations spent."""
        tuning.last[0] = here
        if self.step_size is not None or self.within == "none":
            tuning.learnt[:, STEP] = self.step_size or 1.0
            tuning.frozen[0] = True
            return 0
        tuning.work[STEP], tuning.work[TOTAL] = 1.0, np.inf
        evaluations = 1 + self._restart(self._chain(state, rng, tuning, here))
        tuning.learnt[here] = tuning.work[:_TUNED]
        return evaluations

    def freeze(self, tuning: Tuning) -> None:
        """Settle the step sizes of all architectures for good."""
        widths = len(self.rules.log_width_prior)
        places = np.stack(np.divmod(np.arange(len(self.dims)), widths))
        visited = np.flatnonzero(tuning.learnt[:, COUNT] >= MIN_VISITS)
        if not len(visited):
            visited = tuning.last
        settled = np.empty(len(self.dims))
        for here in range(len(self.dims)):
            distance = np.abs(places[:, visited] - places[:, here, None]).sum(axis=0)
            nearest = visited[np.argmin(distance)]
            settled[here] = math.exp(tuning.learnt[nearest, LOG_BAR]) * (self.dims[nearest] / self.dims[here]) ** 0.25
        tuning.learnt[:] = 0.0
        tuning.learnt[:, STEP] = settled
        tuning.frozen[0] = True

    def step_sizes(self, tuning: Tuning, chosen: float | None) -> Array:
        """Step size of every architecture (architectures,): the one chosen, or that of the moves here. While it is not
        frozen, an architecture that has not been seen takes that of the one last moved in.
        """
        if chosen is not None:
            return np.full(len(self.dims), chosen)
        found = tuning.learnt[:, STEP]
        last = tuning.last[0]
        return np.where(found > 0.0, found, found[last] * (self.dims[last] / self.dims) ** 0.25)

    def __call__(self, state: State, rng: np.random.Generator, tuning: Tuning, here: int) -> Moved:
        """One transition of all parameters in architecture `here`."""
        if self.within == "none":
            return Moved()
        learnt = tuning.learnt[here]
        if learnt[STEP] == 0.0:  # the first visit of a warm-up begins with what was learnt elsewhere
            learnt[LOG_BAR] = tuning.learnt[tuning.last[0], LOG_BAR]
            learnt[STEP], learnt[MU] = math.exp(learnt[LOG_BAR]), math.log(10.0) + learnt[LOG_BAR]
            learnt[TOTAL] = np.inf
        step_size = float(learnt[STEP])
        tuning.work[:_TUNED] = learnt
        chain, trace = self._chain(state, rng, tuning, here), self._trace
        if self.within == "nuts":
            self._nuts.advance(self.target, self._nuts_settings, chain, 1, trace, self._nuts_inside)
        else:
            mass = self._unit_mass[0, : self.dims[here]].reshape(1, -1)
            settings = HmcSettings(step_size, self.steps, JITTER, mass, mass, 0, 0)
            self._hmc.advance(self.target, settings, chain, 1, trace, self._hmc_inside)
            if not tuning.frozen[0]:
                self._learn(chain, float(trace.accept_prob[0]))
        learnt[:] = tuning.work[:_TUNED]
        tuning.last[0] = here
        evaluations = 1 + int(trace.gradient_evaluations[0])
        return Moved(float(trace.accept_prob[0]), bool(trace.accepted[0]), bool(trace.divergent[0]), evaluations, step_size)

    def short(self, state: State, rng: np.random.Generator, tuning: Tuning, here: int) -> Moved:
        """The short NUTS. Leaves nothing learnt."""
        tuning.work[:_MATRICES] = 0.0
        tuning.work[STEP], tuning.work[TOTAL] = 1.0, self.short_steps + 1
        chain = self._chain(state, rng, tuning, here)
        evaluations = 1 + self._restart(chain)
        self._short.advance(self.target, self._short_settings, chain, self.short_steps, self._trace, self._nuts_inside)
        evaluations += int(self._trace.gradient_evaluations.sum())
        trace = self._trace
        return Moved(
            float(trace.accept_prob.mean()),
            bool(trace.accepted.any()),
            bool(trace.divergent.any()),
            evaluations,
            float(trace.step_size[-1]),
        )

    def _chain(self, state: State, rng: np.random.Generator, tuning: Tuning, here: int) -> Chain:
        """The present parameters as a chain on the target, evaluated."""
        dim = int(self.dims[here])
        begin_move(self.target.address, self.target.data, state, self.rules, dim)
        position, gradient = state.theta[:dim], state.gradient[:dim]
        return Chain(position, gradient, state.running, state.ints, state.scratch, rng, tuning.work)

    def _restart(self, chain: Chain) -> int:
        return int(adaptation.restart(*chain.arguments(self.target), chain.adaptation, 1))

    def _learn(self, chain: Chain, accept: float) -> None:
        adaptation.learn(*chain.arguments(self.target), chain.adaptation, 1, True, False, self.target_accept, accept)


def _no_inside(method: Any, dim: int) -> Any:
    arrays = method.transitions(1, 0, dim)
    return type(arrays)(*(array[0] for array in arrays))
