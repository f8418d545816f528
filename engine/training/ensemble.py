"""Several trainings as one prediction: deep ensembles, bootstrap, and one training seen through many dropout masks.

All give parameters (members, dim), which `engine.networks.predictive` takes as it takes posterior draws.

Sources: Lakshminarayanan, Pritzel and Blundell 2017 (deep ensembles); Efron 1979 (bootstrap); Gal and Ghahramani 2016
(Monte Carlo dropout).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.networks.mlp import Network, checked_inputs
from engine.samplers.chain import per_coordinate
from engine.samplers.run import whole_number
from engine.slices import together
from engine.spec import MAX_SEED, SpecError
from engine.ticket import each
from engine.training.train import Trained, TrainingRun, TrainingSpec, outgoing_units, training_spec

Array = NDArray[np.float64]


class EnsembleRun:
    """Trainings of `members` networks, each from its own initial parameters and with its own shuffles, as one job.

    bootstrap : train each member on as many rows drawn with replacement (rows held out are held out of all copies)
    spec : of every member; member i has the seed of (spec.seed, i)
    Other parameters as for `TrainingRun`. A unit of work is one step of one member; members take turns, a look each.
    To the end they go side by side, also where slices may go elsewhere.
    """

    def __init__(
        self,
        network: Network,
        x: ArrayLike,
        y: ArrayLike,
        spec: TrainingSpec | None = None,
        *,
        members: int = 5,
        bootstrap: bool = False,
        every: int | None = None,
    ):
        spec, n = spec or TrainingSpec(), len(checked_inputs(network, x))
        count = whole_number("members", members, 1, 10_000)
        seeds = np.random.SeedSequence(spec.seed).generate_state(count)
        rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence([spec.seed, 3])))
        self.runs = [
            TrainingRun(network, x, y, replace(spec, seed=int(seed)), every=every, rows=rng.integers(0, n, n) if bootstrap else None)
            for seed in seeds
        ]

    @property
    def total(self) -> int:
        return sum(run.total for run in self.runs)

    @property
    def completed(self) -> int:
        return sum(run.completed for run in self.runs)

    @property
    def done(self) -> bool:
        return all(run.done for run in self.runs)

    def advance(self, steps: int, stop: Callable[[], bool] | None = None) -> int:
        """Take up to `steps` more steps, over all members together. Returns how many were taken."""
        before, rest = self.completed, [0 if run.done else run.total - run.completed for run in self.runs]
        if steps >= sum(rest):
            together(self.runs, rest, stop)
            each(lambda run: run.advance(run.total - run.completed, stop), self.runs)
            return self.completed - before
        taken = 0
        while taken < steps and not self.done:
            run = min((run for run in self.runs if not run.done), key=lambda run: run.completed // run.every)
            taken += run.advance(min(steps - taken, run.every - run.completed % run.every))
            if stop is not None and stop():
                break
        return taken

    def trained(self) -> list[Trained]:
        """Every member so far."""
        return [run.trained() for run in self.runs]

    def draws(self) -> Array:
        """(members, dim) the parameters to predict with."""
        return np.array([run.theta for run in self.runs])


def ensemble(
    network: Network,
    x: ArrayLike,
    y: ArrayLike,
    *,
    members: int = 5,
    bootstrap: bool = False,
    every: int | None = None,
    stop: Callable[[], bool] | None = None,
    **settings: Any,
) -> Array:
    """Train an ensemble to the end: parameters (members, dim). Settings are the fields of `TrainingSpec`."""
    run = EnsembleRun(network, x, y, training_spec(settings), members=members, bootstrap=bootstrap, every=every)
    run.advance(run.total, stop)
    return run.draws()


def dropout_draws(network: Network, theta: ArrayLike, keep: float, draws: int, seed: int) -> Array:
    """Monte Carlo dropout: parameters (draws, dim) of the network `theta` (dim,) under as many masks of hidden units.

    A mask holds for all inputs, so that each draw is a function.
    """
    if not 0.0 < keep <= 1.0:
        raise SpecError("keep", f"{keep!r} is not a probability above 0")
    q = per_coordinate("theta", theta, network.dim)
    unit, units = outgoing_units(network)
    rng = np.random.Generator(np.random.SFC64(whole_number("seed", seed, 0, MAX_SEED)))
    factor = (rng.random((whole_number("draws", draws, 1), units)) < keep) / keep
    # The last column is for parameters that carry no hidden unit's value: index -1.
    return q * np.hstack([factor, np.ones((len(factor), 1))])[:, unit]
