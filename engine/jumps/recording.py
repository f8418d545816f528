"""Recordings of chains that change their architecture."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.jumps.sweep import MOVES, Ledger
from engine.networks import Network
from engine.recording import Recording

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class ArchitectureRecording(Recording):
    """What a run over architectures did; a draw is the state after a sweep.

    The fields of `Recording` hold with these changes. draws : (chains, draws, max_dim), NaN beyond the parameters of
    the draw's architecture. log_density : log likelihood + log prior of the parameters given architecture and
    precisions + log prior of the architecture, all normalised. accept_prob, accepted, divergent, step_size : of the
    move within a model (False or 0 without one). gradient_evaluations : of the whole sweep. transitions : the jump
    ledger, a `Ledger`, at detail "jumps"; else None. run : an `ArchitectureRun`.

    width, depth : (chains, draws) int16, units in each hidden layer, hidden layers
    log_likelihood : (chains, draws), normalised over y
    precisions : (chains, draws, 2 * (max_depth + 1) + 1), in the order of `engine.jumps.growth`, NaN for layers that
        the draw does not have
    proposed, jumped : (chains, draws, 4) int32, jumps proposed and accepted in the sweep, by `engine.jumps.MOVES`
    start_width, start_depth : (chains,), before the first sweep kept
    """

    width: NDArray[np.int16]
    depth: NDArray[np.int16]
    log_likelihood: Array
    precisions: Array
    proposed: NDArray[np.int32]
    jumped: NDArray[np.int32]
    start_width: NDArray[np.int16]
    start_depth: NDArray[np.int16]

    @property
    def ledger(self) -> Ledger:
        """The jumps one by one. Raises ValueError when they were not recorded."""
        if self.transitions is None:
            raise ValueError('the jumps were not recorded one by one: run again with detail="jumps", or replay')
        return self.transitions

    @property
    def jump_accept(self) -> dict[str, float]:
        """Share of the proposed jumps that were accepted, by move; moves never proposed are left out."""
        asked, granted = self.proposed.sum(axis=(0, 1)), self.jumped.sum(axis=(0, 1))
        return {name: float(granted[m] / asked[m]) for m, name in enumerate(MOVES) if asked[m]}

    def network(self, width: int, depth: int) -> Network:
        """The run's network with one architecture."""
        return architecture_of(self.run.network, width, depth)

    def theta(self, chain: int, draw: int) -> Array:
        """The parameters of one draw, as many as its architecture has."""
        network = self.network(int(self.width[chain, draw]), int(self.depth[chain, draw]))
        return self.draws[chain, draw, : network.dim]

    def by_architecture(self, which: slice = slice(None)) -> dict[tuple[int, int], Array]:
        """Draws `which` of all chains, chain by chain, grouped: (width, depth) -> (n, dim)."""
        widths, depths, draws = self.width[:, which], self.depth[:, which], self.draws[:, which]
        groups = {}
        for width, depth in sorted({*zip(widths.ravel().tolist(), depths.ravel().tolist(), strict=True)}):
            here = (widths == width) & (depths == depth)
            groups[width, depth] = draws[here][:, : self.network(width, depth).dim]
        return groups

    def after(self, burn: int) -> ArchitectureRecording:
        """The same draws without the first `burn` of each chain, and without the ledger."""
        cut: dict[str, Any] = {
            name: each[:, burn:]
            for name, each in vars(self).items()
            if isinstance(each, np.ndarray) and each.shape[:2] == self.width.shape and not name.startswith("start")
        }
        return dataclasses.replace(self, transitions=None, **cut)


@lru_cache(maxsize=512)
def architecture_of(network: Network, width: int, depth: int) -> Network:
    """The network with its ranges replaced by one architecture."""
    changes: dict[str, Any] = {"width": width, "depth": depth}
    return dataclasses.replace(network, **changes)
