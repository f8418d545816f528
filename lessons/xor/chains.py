"""Four chains of a spec, for what follows the picture: diagnostics, proof and figures. Everything is judged in function
space.

Hidden units can change places, and tanh units their sign, without changing the function: chains that agree on every
prediction sit at different weights. So R-hat and effective draws are taken of predicted probabilities at fixed inputs,
never of weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import ticket
from engine.diagnostics import Summary, summarise
from engine.kept import kept
from engine.networks import Network
from engine.networks.predictive import probabilities
from engine.recording import Recording
from engine.samplers.run import Run
from engine.spec import SpecError
from lessons.xor.learning import begin, data_of, predictor_of
from lessons.xor.spec import WORDS, XorSpec

Array = NDArray[np.float64]

CHAINS = 4
KEPT = 1500  # states of each chain after the warm-up …
LEAST_KEPT = 200
WORK = 1e9  # … or as many as this many sample evaluations allow
PIECE = 2e7  # sample evaluations between two looks at the ticket

WATCHED = np.array([[0, 0], [-0.5, -0.5], [0.5, 0.5], [-0.5, 0.5], [0.5, -0.5], [1.25, 0], [-1.25, 0], [0, 1.25], [0, -1.25]], dtype=float)
_ORDER = ("centre", "lower_left", "upper_right", "upper_left", "lower_right", "right", "left", "above", "below")
PLACES = tuple(WORDS.phrase(f"places.{name}") for name in _ORDER)  # what those inputs are called


@dataclass(frozen=True, eq=False)
class Study:
    """Four chains after their warm-up.

    draws : (chains, draws, dim)
    log_density, accept_prob, accepted : (chains, draws)
    divergent : (chains, draws); energy : (chains, draws), H of each draw
    watched : (chains, draws, 9), probability of class 1 at WATCHED
    summary : diagnostics of `watched`
    right : (chains,), share of the data points that a chain's average gets right; NaN without data
    gradients, seconds : what all of it cost, warm-up included
    """

    draws: Array
    log_density: Array
    accept_prob: Array
    accepted: NDArray[np.bool_]
    divergent: NDArray[np.bool_]
    energy: Array
    watched: Array
    summary: Summary
    right: Array
    gradients: int
    seconds: float

    @property
    def weights(self) -> Array:
        """All draws of all chains, (draws, dim)."""
        return self.draws.reshape(-1, self.draws.shape[2])

    @property
    def rhat(self) -> float:
        """The largest R-hat at the watched inputs; infinite when a chain never moved."""
        worst = float(np.max(self.summary.rhat))
        return worst if np.isfinite(worst) and worst < 1e6 else math.inf


def advance(run: Run, cost: int) -> None:
    """Run `run` to its end in pieces; `cost` is the work of one transition. Raises InterruptedError as
    `engine.ticket.look`.
    """
    piece = max(1, int(PIECE / max(cost, 1)))
    while not run.done:
        ticket.look()
        run.advance(piece)


def study(spec: XorSpec, cancel: Any) -> Study:
    """The four chains of `spec`; computed once, also when several ask at the same time. Raises InterruptedError when
    cancelled.
    """
    with ticket.holding(cancel):
        return _study(spec)


def work(spec: XorSpec) -> int:
    """Sample evaluations of one transition."""
    return spec.leapfrog * spec.units * max(spec.size, 1)


def kept_states(spec: XorSpec) -> int:
    """States of each chain after the warm-up."""
    affordable = int(WORK / (CHAINS * work(spec)))
    return int(np.clip(affordable, LEAST_KEPT, KEPT))


@kept
def _study(spec: XorSpec) -> Study:
    run = begin(spec, CHAINS, spec.burn + kept_states(spec) + 1)
    advance(run, work(spec))
    return examine(spec, run.recording(), predictor_of(spec))


def examine(spec: XorSpec, recording: Recording, predictor: Network) -> Study:
    """What the chains say, with their warm-up dropped."""
    x, y = data_of(spec)
    late = slice(spec.burn, None)
    draws = recording.draws[:, late]
    watched = np.stack([probabilities(predictor, chain, WATCHED)[:, :, 1] for chain in draws])
    right = np.full(len(watched), np.nan)
    if len(x):
        right = np.array([((probabilities(predictor, chain, x)[:, :, 1].mean(axis=0) > 0.5) == y).mean() for chain in draws])
    assert recording.energy is not None
    gradients = int(recording.gradient_evaluations.sum() + recording.warmup_gradient_evaluations.sum())
    return Study(
        draws,
        recording.log_density[:, late],
        recording.accept_prob[:, late],
        recording.accepted[:, late],
        recording.divergent[:, late],
        recording.energy[:, late],
        watched,
        summarise(watched),
        right,
        gradients,
        recording.seconds,
    )


def odd(spec: XorSpec) -> bool:
    """Whether a hidden unit can flip the sign of all its weights and the function stays."""
    return spec.activation in ("tanh", "linear")


def twins(spec: XorSpec) -> int:
    """How many weight vectors give the very same function with the very same prior density: units may swap, odd ones
    flip sign.
    """
    return math.factorial(spec.units) * (2**spec.units if odd(spec) else 1)


def smallest_width(spec: XorSpec, enough: float, widest: int = 4) -> int:
    """The least number of hidden units whose averaged networks get the share `enough` of the points right, tried from 1
    to `widest`.

    Raises SpecError when there are no points or even `widest` units do not reach it.
    """
    if not spec.size:
        raise SpecError("data", "without data there is nothing to get right")
    for units in range(1, widest + 1):
        smaller = spec.replace(units=units, variant="exact", burn=100, draws=max(spec.draws, 400))
        run = begin(smaller, CHAINS, 300)
        run.advance(run.total)
        if np.median(examine(smaller, run.recording(), predictor_of(smaller)).right) >= enough:
            return units
    raise SpecError("units", f"{widest} units get less than {enough:.0%} right")
