"""The right ratio of a jump between architectures, from whole densities, and where it puts the chain."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.judge import audit as books
from engine.judge.network_models import watched_fit
from engine.jumps.recording import architecture_of

if TYPE_CHECKING:
    from engine.judge.growing import JumpKernel

Array = NDArray[np.float64]
Sizes = tuple[int, int]  # width and depth
State = tuple[Array, Sizes]


class Move(NamedTuple):
    """One recorded jump of a kernel, a row of its `Ledger`, and what it was made from.

    here, after : parameters and sizes before the jump and after it; rng : the generator as it stood before the jump
    step_sizes : of moves on bridges, for every architecture
    """

    kernel: JumpKernel
    jump: Any
    here: State
    after: State
    precisions: Array
    y: Array
    rng: np.random.Generator
    step_sizes: Array


def decided(move: Move, right: float, uniform: float, there: State) -> list[float]:
    """Whether the chain stands where the right ratio puts it."""
    probability = math.exp(min(right, 0.0))
    if abs(uniform - probability) <= books.LIMIT:
        return []
    theta, sizes = there if uniform < probability else move.here
    return [books.apart(theta, move.after[0]) if sizes == move.after[1] else math.inf]


def proposed(kernel: JumpKernel, theta: Array, sizes: Sizes, jump: Any) -> tuple[Array, Sizes]:
    """The parameters that a jump proposes, and their architecture."""
    birth, (width, depth) = jump.move in (0, 2), sizes
    step = 1 if birth else -1
    aim = (width + step, depth) if jump.move < 2 else (width, depth + step)
    new, out = born(kernel, aim if birth else sizes, jump)
    stretch = np.where(out[~new], stretch_of(kernel, aim if birth else sizes, jump), 1.0)
    if not birth:
        return theta[~new] / stretch, aim
    grown = np.empty(len(new))
    grown[new], grown[~new] = jump.parameters[: new.sum()], theta * stretch
    return grown, aim


def born(kernel: JumpKernel, large: Sizes, jump: Any) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Of the larger network's parameters, (dim,) each: which are born or die, and which lead out of hidden units."""
    network = architecture_of(kernel.run.network, *large)
    new, out = np.zeros(network.dim, dtype=np.bool_), np.zeros(network.dim, dtype=np.bool_)
    for layer, (weights, biases) in enumerate(network.unpack(np.arange(network.dim)), start=1):
        w, b = weights.astype(int), biases.astype(int)
        if jump.move >= 2:
            new[w] = new[b] = layer == large[1]
            continue
        if layer <= large[1]:
            new[w[jump.slot]] = new[b[jump.slot]] = True
        if layer > 1:
            new[w[:, jump.slot]] = out[w] = True
    return new, out


def stretch_of(kernel: JumpKernel, large: Sizes, jump: Any) -> float:
    """What a birth multiplies the kept weights out of hidden units by."""
    rescaled = kernel.run.settings.jump == "rescaled" and jump.move < 2
    return math.sqrt((large[0] - 1) / large[0]) if rescaled else 1.0


def log_ratio(kernel: JumpKernel, here: tuple[Array, Sizes], there: tuple[Array, Sizes], jump: Any, precisions: Array, y: Array) -> float:
    """log of [joint density there x proposal back x Jacobian] / [joint density here x proposal there]. The slots of a
    birth and of its death cancel: both are one of k + 1.
    """
    birth = jump.move in (0, 2)
    (thin, small), (thick, large) = (here, there) if birth else (there, here)
    new, out = born(kernel, large, jump)
    log_g = float(log_normal(thick, precisions_of(kernel, large, precisions))[new].sum())
    jacobian = float((out & ~new).sum()) * math.log(stretch_of(kernel, large, jump))
    gained = log_joint(kernel, thick, large, precisions, y) - log_joint(kernel, thin, small, precisions, y)
    grown = gained - log_g + log_choice(kernel, small, large) + jacobian
    return grown if birth else -grown


def log_choice(kernel: JumpKernel, small: Sizes, large: Sizes) -> float:
    """log of [prior of the larger size x chance of its death] / [prior of the smaller x chance of its birth]."""
    run = kernel.run
    rules = run.settings.rules(run.network)
    which = 0 if small[0] != large[0] else 1
    low, high = getattr(run.network, ("width", "depth")[which])
    birth, death = 1.0 if small[which] == low else 0.5, 1.0 if large[which] == high else 0.5
    prior = (rules.log_width_prior, rules.log_depth_prior)[which]
    return math.log(death / birth) + float(prior[large[which] - low] - prior[small[which] - low])


def log_joint(kernel: JumpKernel, theta: Array, sizes: Sizes, precisions: Array, y: Array) -> float:
    """Log of likelihood and prior of the parameters."""
    network = architecture_of(kernel.run.network, *sizes)
    fit = watched_fit(network, theta[None], kernel.run.x, y[None], precisions[-1:])[0]
    return float(fit + log_normal(theta, precisions_of(kernel, sizes, precisions)).sum())


def precisions_of(kernel: JumpKernel, sizes: Sizes, precisions: Array) -> Array:
    """Prior precision of every parameter, (dim,)."""
    width, depth = sizes
    each = []
    for layer, (weights, biases) in enumerate(architecture_of(kernel.run.network, *sizes).layer_shapes, start=1):
        which = 2 * layer if layer <= depth else 0
        fan_in = width if kernel.run.settings.scale_by_width and layer > 1 else 1
        each += [np.full(weights, precisions[which] * fan_in), np.full(biases, precisions[which + 1])]
    return np.concatenate(each)


def log_normal(theta: Array, precision: Array) -> Array:
    """Log density of each of theta, normal with mean 0 and these precisions."""
    return 0.5 * np.log(precision / (2.0 * math.pi)) - 0.5 * precision * theta**2
