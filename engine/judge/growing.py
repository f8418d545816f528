"""Kernels of chains over architectures (`engine.jumps`), as the trial wants them."""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import ticket
from engine.judge import ledger
from engine.judge.check import Check
from engine.judge.network_models import MISUSED, misused, simulate, watched_fit
from engine.judge.trial import Worlds
from engine.jumps.recording import architecture_of
from engine.jumps.run import ArchitectureRun
from engine.jumps.settings import MISTAKES, VARIANTS
from engine.ticket import looking

Array = NDArray[np.float64]

JUMPS_A_SWEEP = 10  # in the trial; more only repeat what one does
WORDS = {"width": "k", "depth": "L"}


@dataclass(frozen=True, eq=False)
class JumpKernel:
    """The sweep of an `ArchitectureRun`, its step sizes frozen as they are: a move within the model, jumps, precisions.

    run : the run, whose data are replaced by simulated ones
    mistake : what is wrong on purpose already
    fault : what has been planted in the density
    aside : in what it differs from the run that it stands for, to be said
    """

    run: ArchitectureRun
    mistake: str = ""
    fault: str = ""
    aside: str = ""

    @property
    def name(self) -> str:
        """The jump, what moves within a model, the data."""
        settings = self.run.settings
        within = {"none": "", "hmc": ", HMC within", "nuts": ", NUTS within"}[settings.within]
        jump, n = settings.jump.replace("_", " "), len(self.run.x)
        return f"The {jump} jump{within}, {n:,} simulated observations{self.aside}"

    @property
    def sizes(self) -> tuple[str, ...]:
        """Which of width and depth vary."""
        return tuple(name for name in WORDS if isinstance(getattr(self.run.network, name), tuple))

    @property
    def quantities(self) -> tuple[str, ...]:
        """The sizes, the fit, the sizes of weights, and what is drawn of the prior."""
        settings, found = self.run.settings, []
        for name in self.sizes:
            found += [WORDS[name], *(f"the share of the {end} {WORDS[name]}" for end in ("smallest", "largest"))]
        found += ["the log likelihood", "the mean square of all weights in prior variances"]
        found += ["the mean square of the output weights in prior variances"]
        found += ["the log of the output weights' precision"] * (settings.weight_precision is not None)
        found += ["the log of the noise precision"] * (settings.noise_precision is not None)
        return tuple(found)

    @property
    def faults(self) -> tuple[str, ...]:
        """Forgotten factors that this jump has, then mistakes in the density."""
        settings = self.run.settings
        if settings.jump == "as_coded":
            return MISUSED
        found = []
        for name, bits in VARIANTS.items():
            allowed = all(settings.jump in jumps for bit, jumps in MISTAKES.items() if bits & bit)
            found += [name] * (name not in ("exact", "as_coded") and allowed)
        if settings.jump != "rescaled" or "width" not in self.sizes:
            found.remove("no_jacobian")  # it is 1
        if settings.jump == "annealed" and settings.bridges == 1:
            found.remove("old_level")  # there is no bridge to move on
        if "width" not in self.sizes or settings.jump == "redraw":
            found.remove("slot_once")  # layers have no slots, and nothing is kept to put one into
        return (*found, *MISUSED)

    def planted(self, fault: str) -> JumpKernel:
        """The kernel with one of its `faults`."""
        if fault in MISUSED:
            return dataclasses.replace(self, fault=fault)
        run = copy.copy(self.run)
        run.settings = dataclasses.replace(run.settings, variant=fault)
        run._rules = run.settings.rules(run.network)
        return dataclasses.replace(self, run=run)

    def reference(self, n: int, rng: np.random.Generator) -> Array:
        """What is watched at n exact draws, (n, q)."""
        return self.worlds(n, rng).values

    def worlds(self, n: int, rng: np.random.Generator) -> Worlds:
        """n exact joint draws: (theta, width, depth, precisions, data) of each."""
        run = self.run
        drawn = [run._prior_draw(rng, None, None) for _ in looking(range(n))]
        data: list[Any] = [None] * n
        values = np.empty((n, len(self.quantities)))
        sizes = np.array([(width, depth) for _, width, depth, _ in drawn])
        for width, depth in looking(np.unique(sizes, axis=0)):
            here = np.flatnonzero((sizes == (width, depth)).all(axis=1))
            network = architecture_of(run.network, int(width), int(depth))
            theta, precisions = (np.stack([drawn[i][part] for i in here]) for part in (0, 3))
            y = simulate(network, theta, np.asarray(run.x), rng, precisions[:, -1] ** -0.5)
            fit = watched_fit(network, theta, np.asarray(run.x), y, precisions[:, -1])
            values[here] = self._values(width, depth, fit, theta, precisions)
            for i, seen in zip(here, y, strict=True):
                data[i] = seen
        return Worlds([(*state, seen) for state, seen in zip(drawn, data, strict=True)], values)

    def move(self, worlds: Worlds, transitions: int, seeds: list[np.random.SeedSequence]) -> tuple[Array, float]:
        """What is watched after each sweep, (n, transitions, q), and the operations spent."""
        moved, operations = np.empty((len(worlds.states), transitions, len(self.quantities))), 0.0
        for i, (theta, width, depth, precisions, y) in ticket.looking(enumerate(worlds.states)):
            jumps = min(self.run.settings.jumps, JUMPS_A_SWEEP)
            run = self.run.on_other_data(*misused(self.fault, self.run.x, y), transitions, jumps)
            run.restart(theta, width, depth, precisions, np.random.Generator(np.random.SFC64(seeds[i])))
            run.advance(transitions)
            found = run.recording()
            for t in range(transitions):
                k, L = int(found.width[0, t]), int(found.depth[0, t])
                network = found.network(k, L)
                row, fit = found.draws[0, t : t + 1, : network.dim], found.log_likelihood[0, t : t + 1]
                if self.fault:
                    fit = watched_fit(network, row, self.run.x, y[None], found.precisions[0, t : t + 1, -1])
                moved[i, t] = self._values(k, L, fit, row, found.precisions[0, t : t + 1])
            operations += float(found.gradient_evaluations.sum()) * (200.0 + 6.0 * run.target.data.size)
            operations += 1e5 + transitions * run.settings.jumps * run.target.data.size * 4.0
        return moved, operations

    def _values(self, width: int, depth: int, fit: Array, theta: Array, precisions: Array) -> Array:
        """(n, q) at theta (n, dim) of one architecture."""
        run, columns = self.run, []
        for name, size in (("width", width), ("depth", depth)):
            if name in self.sizes:
                low, high = getattr(run.network, name)
                columns += [np.full(len(theta), float(part)) for part in (size, size == low, size == high)]
        network = architecture_of(run.network, int(width), int(depth))
        columns.append(fit)
        total, count, at = np.zeros(len(theta)), 0, 0
        for layer, (weights, biases) in enumerate(network.layer_shapes, start=1):
            which = 2 * layer if layer <= depth else 0
            fan = width if run.settings.scale_by_width and layer > 1 else 1
            inner = (theta[:, at : at + weights] ** 2).sum(axis=1) * precisions[:, which] * fan
            outer = (theta[:, at + weights : at + weights + biases] ** 2).sum(axis=1) * precisions[:, which + 1]
            total, count, at = total + inner + outer, count + weights + biases, at + weights + biases
            last = inner / weights
        columns += [total / count, last]
        if run.settings.weight_precision is not None:
            columns.append(np.log(precisions[:, 0]))
        if run.settings.noise_precision is not None:
            columns.append(np.log(precisions[:, -1]))
        return np.stack(columns, axis=1)

    def audit(self, seed: int = 0) -> Check | None:
        """Every factor of some jumps, worked out again from the densities; None for jumps between moves that are not
        reversible.
        """
        return ledger.audit(self, seed)
