"""State and trace of one chain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.kernels import log_density_at, part
from engine.spec import SpecError
from engine.targets.target import Target, TargetError

Array = NDArray[np.float64]


class Density(NamedTuple):
    """A target as kernels call it, see `engine.kernels`; ints and scratch belong to one chain."""

    address: int
    data: Array
    ints: NDArray[np.int64]
    scratch: Array


class State(NamedTuple):
    """Where a chain is: position, gradient (dim,), and running (1,), the log density there."""

    position: Array
    gradient: Array
    running: Array


@part
def evaluate(density, q, gradient):
    """Log density at q; fills `gradient`."""
    return log_density_at(density.address, q, gradient, density.data, density.ints, density.scratch)


@dataclass
class Chain:
    """All that a chain carries from one transition to the next: plain arrays and one generator, so it pickles.

    Advancing in chunks of 1 or of 10,000, on any thread, before or after pickling, gives the same bytes.

    position, gradient : (dim,)
    running : (1,), log density at `position`; part of the state, since recomputing it per chunk could differ in the
        last bit
    ints, scratch : the target's per-chain buffers
    rng : SFC64, the only source of randomness
    adaptation : what warm-up has learnt, for samplers that tune themselves; else empty
    """

    position: Array
    gradient: Array
    running: Array
    ints: NDArray[np.int64]
    scratch: Array
    rng: np.random.Generator
    adaptation: Array = field(default_factory=lambda: np.zeros(0))

    def arguments(self, target: Target) -> tuple[Density, np.random.Generator, State]:
        """What every kernel takes first. (The generator stays outside: in a NamedTuple it costs 20 us a call.)"""
        density = Density(target.address, target.data, self.ints, self.scratch)
        return density, self.rng, State(self.position, self.gradient, self.running)


class Trace(NamedTuple):
    """What every sampler writes per transition; see `engine.Recording` for the meaning. Of the last four, a sampler
    writes those it `records`; the others have no rows, which keeps a short transition cheap."""

    draws: Array
    log_density: Array
    accept_prob: Array
    accepted: NDArray[np.bool_]
    divergent: NDArray[np.bool_]
    gradient_evaluations: NDArray[np.int32]
    energy: Array
    tree_depth: NDArray[np.int16]
    tree_ending: NDArray[np.int8]
    step_size: Array

    @classmethod
    def empty(cls, chains: int, n: int, dim: int, records: tuple[str, ...]) -> Trace:
        shape = (chains, n)

        def optional(name: str, dtype: type) -> NDArray[Any]:
            return np.empty(shape if name in records else (chains, 0), dtype=dtype)

        return cls(
            np.empty((chains, n, dim)),
            np.empty(shape),
            np.empty(shape),
            np.empty(shape, dtype=np.bool_),
            np.empty(shape, dtype=np.bool_),
            np.empty(shape, dtype=np.int32),
            optional("energy", np.float64),
            optional("tree_depth", np.int16),
            optional("tree_ending", np.int8),
            optional("step_size", np.float64),
        )

    def at(self, *where: int | slice) -> Trace:
        """Views of all arrays at the same place."""
        return Trace._make(array[where] for array in self)


def start_chain(target: Target, seed: np.random.SeedSequence, init: Array | None) -> tuple[Chain, int]:
    """A chain at `init` (dim,), or at a point drawn from U(-2, 2) per coordinate, redrawn while the density there is
    zero.

    Returns the chain and the number of target evaluations spent. Raises TargetError when no start has a finite log
    density.
    """
    start_seed, stream_seed = seed.spawn(2)
    start_rng = np.random.Generator(np.random.SFC64(start_seed))
    tries = 1 if init is not None else 100
    for evaluations in range(1, tries + 1):
        position = init.copy() if init is not None else start_rng.uniform(-2.0, 2.0, target.dim)
        log_density, gradient = target.log_density_and_gradient(position)
        if np.isfinite(log_density):
            ints, scratch = target.buffers()
            rng = np.random.Generator(np.random.SFC64(stream_seed))
            return Chain(position, gradient, np.array([log_density]), ints, scratch, rng), evaluations
    if init is not None:
        raise TargetError(f"the log density of {target.name} at the start point {init} is {log_density}: start inside its support")
    raise TargetError(f"no start point with positive density found for {target.name} in {tries} draws from U(-2, 2): give `init`")


def per_coordinate(name: str, value: ArrayLike, dim: int) -> Array:
    """`value` as a finite (dim,) array. Raises SpecError naming the setting."""
    try:
        numbers = np.asarray(value, dtype=np.float64)
        numbers = np.ascontiguousarray(np.broadcast_to(numbers, (dim,))).copy()
    except ValueError:
        raise SpecError(name, f"must be a number or {dim} numbers") from None
    if not np.all(np.isfinite(numbers)):
        raise SpecError(name, "has an entry that is not finite")
    return numbers
