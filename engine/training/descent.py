"""Descent of -log density of any target by a step rule: optimisers to be raced on a surface that can be seen."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.kernels import kernel, log_density_at
from engine.samplers.chain import per_coordinate
from engine.samplers.run import whole_number
from engine.spec import MAX_SEED, SpecError
from engine.targets.target import Target, TargetError
from engine.variational.optimisers import AdaGrad, Adam, Decaying, Momentum, RmsProp, Sgd, ascend

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Descent:
    """The way of an optimiser, S steps.

    path : (S + 1, dim) where it was; NaN after a step at which the gradient was not finite
    value : (S + 1,) -log density there, what is descended
    stopped : steps made before the gradient was not finite, None where it always was
    """

    path: Array
    value: Array
    stopped: int | None


def descend(
    target: Target,
    optimiser: AdaGrad | Adam | Decaying | Momentum | RmsProp | Sgd,
    start: ArrayLike,
    *,
    steps: int,
    gradient_noise: float = 0.0,
    seed: int = 0,
) -> Descent:
    """Make `steps` steps down -log density from `start` (dim,).

    gradient_noise : standard deviation of the normal noise on each coordinate of the gradient, as a minibatch has it
    """
    if not 0.0 <= gradient_noise < math.inf:
        raise SpecError("gradient_noise", f"{gradient_noise!r} is not a number from 0 on")
    q = per_coordinate("start", start, target.dim).copy()
    if not math.isfinite(target.log_density(q)):
        raise TargetError(f"{target.name} has no finite log density at the start {q}")
    count = whole_number("steps", steps, 1, 10_000_000)
    path, value = np.full((count + 1, target.dim), math.nan), np.full(count + 1, math.nan)
    rng = np.random.Generator(np.random.SFC64(whole_number("seed", seed, 0, MAX_SEED)))
    made = _descend(
        target.address,
        target.data,
        *target.buffers(),
        rng,
        optimiser.rule(),
        float(gradient_noise),
        q,
        np.zeros((3, target.dim)),
        path,
        value,
    )
    return Descent(path, value, None if made == count else int(made))


@kernel
def _descend(address, data, ints, scratch, rng, rule, noise, q, work, path, value):
    """Random numbers: dim normals a step where there is noise."""
    gradient, steps = work[0], value.size - 1
    for step in range(steps + 1):
        path[step] = q
        value[step] = -log_density_at(address, q, gradient, data, ints, scratch)
        if step == steps:
            break
        finite = True
        for p in range(q.size):
            finite = finite and abs(gradient[p]) < math.inf
            if noise > 0.0:
                gradient[p] += noise * rng.standard_normal()
        if not finite:
            return step
        ascend(rule, step + 1, q, gradient, work[1], work[2])
    return steps
