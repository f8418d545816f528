"""Recordings: the event log of a run as contiguous arrays."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from engine.datatree import to_datatree

if TYPE_CHECKING:
    from xarray import DataTree

    from engine.samplers.adaptation import AdaptationTrace

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Warmup:
    """The warm-up of a run: per-transition arrays (chains, warmup, ...) as in `Recording`, and what the sampler learnt.

    adaptation : `AdaptationTrace` for samplers that tune themselves, else None
    """

    draws: Array
    log_density: Array
    accept_prob: Array
    accepted: NDArray[np.bool_]
    divergent: NDArray[np.bool_]
    gradient_evaluations: NDArray[np.int32]
    energy: Array | None
    tree_depth: NDArray[np.int16] | None
    tree_ending: NDArray[np.int8] | None
    step_size: Array | None
    adaptation: AdaptationTrace | None


@dataclass(frozen=True, eq=False)
class Recording:
    """What a run did.

    draws : (chains, draws, dim), the state after each transition; a rejection repeats the state
    log_density : (chains, draws), at the draws
    accept_prob : (chains, draws), Metropolis acceptance probability of each transition, in [0, 1]
    accepted : (chains, draws) bool
    divergent : (chains, draws) bool, energy error above 1000 or not finite (always False for samplers without energy)
    gradient_evaluations : (chains, draws) int32, calls of the target in each transition (a call returns density and
        gradient)
    start : (chains, dim), the state before the first transition kept
    start_log_density : (chains,)
    warmup_gradient_evaluations : (chains,) int64, calls before the draws, the first evaluation at the start point
        included
    seconds : wall time spent in transitions, warm-up included
    transitions : the inside of each transition (`HmcTransitions` and its like), arrays (chains, draws, ...);
        None at detail "draws"
    run : the `Run` (or `ArchitectureRun`) that produced the recording, for `engine.replay`
    energy : (chains, draws), H of the draw with the momentum it came with; None for samplers without energy
    tree_depth : (chains, draws) int16, doublings that joined the trajectory; None for samplers without a tree
    tree_ending : (chains, draws) int8, why the trajectory ended, index into `engine.samplers.nuts.ENDINGS`; None
        likewise. One that reached the depth allowed was cut short only if it ended TOO_DEEP
    step_size : (chains, draws), used in each transition; None for samplers without it
    warmup : what happened in warm-up, where the run was asked to keep it; else None
    """

    draws: Array
    log_density: Array
    accept_prob: Array
    accepted: NDArray[np.bool_]
    divergent: NDArray[np.bool_]
    gradient_evaluations: NDArray[np.int32]
    start: Array
    start_log_density: Array
    warmup_gradient_evaluations: NDArray[np.int64]
    seconds: float
    transitions: Any
    run: Any
    energy: Array | None = None
    tree_depth: NDArray[np.int16] | None = None
    tree_ending: NDArray[np.int8] | None = None
    step_size: Array | None = None
    warmup: Warmup | None = None

    @property
    def chains(self) -> int:
        return self.draws.shape[0]

    @property
    def dim(self) -> int:
        return self.draws.shape[2]

    def first(self, draws: int) -> Recording:
        """The first `draws` of each chain, without the inside of their transitions. What they cost is not parted: `seconds`
        stay those of the run."""
        cut: dict[str, Any] = {
            name: values[:, :draws]
            for name, values in vars(self).items()
            if isinstance(values, np.ndarray) and values.shape[:2] == self.draws.shape[:2]
        }
        return dataclasses.replace(self, transitions=None, **cut)

    def to_datatree(self, **groups: Any) -> DataTree:
        """In ArviZ's schema, for ArviZ, xarray and NetCDF; `groups` are those of `engine.datatree.to_datatree`."""
        return to_datatree(self, **groups)
