"""Kernels of a network whose prior has unknowns of its own (`engine.networks.sweep`), as the trial wants them."""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine import ticket
from engine.judge.check import Check
from engine.judge.network_models import MISUSED, ROWS, OfNetwork, misused, simulate, watched_fit
from engine.judge.transitions import TransitionKernel
from engine.judge.trial import Worlds
from engine.networks import predictive
from engine.networks.scales import VARIANTS
from engine.networks.sweep import NetworkRun

Array = NDArray[np.float64]

GROUPS = 6  # precisions watched one by one; more are watched by their mean and largest
AUDITED_STEP = 0.2  # of the run's step size, which is in units of the posterior's width
TRANSITION = ("aliased_momentum", "final_accept")


@dataclass(frozen=True, eq=False)
class SweepKernel:
    """The sweep of a `NetworkRun`, NUTS and Gibbs in turns, with the step size that its first chain has come to.

    run : the run, whose data are replaced by simulated ones
    mistake : what is wrong on purpose already
    fault : what has been planted
    """

    run: NetworkRun
    mistake: str = ""
    fault: str = ""

    @property
    def name(self) -> str:
        """The network and its data."""
        network = self.run.network
        layers = "-".join(map(str, network.sizes))
        return f"NUTS and Gibbs in turns on the network {layers} with {len(self.run.x):,} simulated observations"

    @property
    def quantities(self) -> tuple[str, ...]:
        """The fit, the sizes of weights, the prior's own unknowns, the noise, what the network says at some inputs."""
        run, groups = self.run, self.run.groups.names
        found = ["the log likelihood", "the mean square of all weights", "the same in prior variances"]
        if run.spec.weights != "fixed":
            named = [f"the log precision of {name}" for name in groups]
            found += named if len(groups) <= GROUPS else ["the mean log precision", "the largest log precision"]
        if run.spec.weights == "own_mean":
            found += ["the mean size of the prior means"]
        if run.spec.noise == "learned":
            found += ["the log of the noise precision"]
        return (*found, *(f"the output at input {row + 1}" for row in self._rows))

    @property
    def _rows(self) -> list[int]:
        n = len(self.run.x)
        return np.unique(np.linspace(0, n - 1, ROWS).astype(int)).tolist() if n else []

    @property
    def faults(self) -> tuple[str, ...]:
        """Mistakes of the Gibbs draws where there are any, of NUTS, and of the density."""
        draws = VARIANTS[1:] if self.run.spec.weights not in ("fixed", "own_mean") else ()
        return (*draws, *TRANSITION, *MISUSED)

    def planted(self, fault: str) -> SweepKernel:
        """The kernel with one of its `faults`."""
        return dataclasses.replace(self, fault=fault)

    def audit(self, seed: int = 0) -> Check | None:
        """The decisions of NUTS worked out again, on the same network and inputs with its precisions fixed. The Gibbs
        draws decide nothing.
        """
        other = self.run.one_chain(1, self.fault)
        method = dataclasses.replace(other.nuts(), step_size=AUDITED_STEP * other.spec.step_size)
        fault = self.fault if self.fault in MISUSED else ""
        return TransitionKernel(OfNetwork(self.run.network, self.run.x), method, fault=fault).audit(seed)

    def reference(self, n: int, rng: np.random.Generator) -> Array:
        """What is watched at n exact draws, (n, q)."""
        return self.worlds(n, rng).values

    def worlds(self, n: int, rng: np.random.Generator) -> Worlds:
        """n exact joint draws: (theta, scales, data) of each."""
        run, network = self.run, self.run.network
        start = copy.copy(run)
        start.spec = run.spec.replace(start="prior")
        scales = [start._first_scales(rng) for _ in ticket.looking(range(n))]
        precisions, means = np.stack([s.precisions for s in scales]), np.stack([s.means for s in scales])
        noise = np.array([s.noise[0] for s in scales])
        ticket.look()
        sd = 1.0 / np.sqrt(precisions[:, run.groups.group] * run.groups.factor)
        theta = means + sd * rng.standard_normal((n, network.dim))
        y = simulate(network, theta, run.x, rng, noise**-0.5)
        values = self._values(theta, watched_fit(network, theta, run.x, y, noise), precisions, means, noise)
        return Worlds(list(zip(theta, scales, y, strict=True)), values)

    def move(self, worlds: Worlds, transitions: int, seeds: list[np.random.SeedSequence]) -> tuple[Array, float]:
        """What is watched after each sweep, (n, transitions, q), and the operations spent."""
        run, network, operations = self.run, self.run.network, 0.0
        other, found = run.one_chain(transitions, self.fault), []
        for (theta, scales, y), seed in ticket.looking(zip(worlds.states, seeds, strict=True)):
            other.restart(*misused(self.fault, run.x, y), theta, scales, np.random.Generator(np.random.SFC64(seed)))
            other.advance(transitions)
            draws = other.recording()
            kept = draws.draws, draws.precisions, draws.means, draws.noise_precision
            found.append([array[0].copy() for array in kept])
            operations += float(draws.gradient_evaluations.sum()) * (300.0 + 6.0 * other.target.data.size) + 5e4
        theta, precisions, means, noise = (np.stack(part) for part in zip(*found, strict=True))
        each = np.stack([state[2] for state in worlds.states])
        moved = [
            self._values(
                theta[:, t],
                watched_fit(network, theta[:, t], run.x, each, noise[:, t]),
                precisions[:, t],
                means[:, t] if means.shape[2] else np.zeros_like(theta[:, t]),
                noise[:, t],
            )
            for t in range(transitions)
        ]
        return np.stack(moved, axis=1), operations

    def _values(self, theta: Array, fit: Array, precisions: Array, means: Array, noise: Array) -> Array:
        run = self.run
        variance = precisions[:, run.groups.group] * run.groups.factor
        columns = [fit, (theta**2).mean(axis=1), ((theta - means) ** 2 * variance).mean(axis=1)]
        logs = np.log(precisions)
        if run.spec.weights != "fixed":
            columns += [*logs.T] if logs.shape[1] <= GROUPS else [logs.mean(axis=1), logs.max(axis=1)]
        if run.spec.weights == "own_mean":
            columns.append(np.log(np.abs(means)).mean(axis=1))
        if run.spec.noise == "learned":
            columns.append(np.log(noise))
        said = predictive.outputs(run.network, np.ascontiguousarray(theta), run.x[self._rows])[:, :, -1]
        return np.concatenate([np.stack(columns, axis=1), said], axis=1)
