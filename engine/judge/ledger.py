"""The books of jumps between architectures: the ratio that decided each, worked out again from whole densities."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from engine.judge import audit as books
from engine.judge.check import Check
from engine.judge.network_models import misused, watched_fit
from engine.jumps.recording import architecture_of

if TYPE_CHECKING:
    from engine.judge.growing import JumpKernel

Array = NDArray[np.float64]
Sizes = tuple[int, int]  # width and depth

STARTS, JUMPS = 40, 4
BARE = ("plain", "rescaled")  # jumps that densities alone decide


def audit(kernel: JumpKernel, seed: int, cancel: Any) -> Check | None:
    """JUMPS in a row from each of STARTS exact draws, with nothing between them. None for jumps over bridges or between
    other moves, whose factors are their own.
    """
    run = kernel.run
    if run.settings.jump not in BARE or run.settings.surrounded:
        return None
    drawn, *streams = np.random.SeedSequence((seed, 4)).spawn(STARTS + 1)
    errors: list[float] = []
    states = kernel.worlds(STARTS, np.random.Generator(np.random.SFC64(drawn))).states
    for (theta, width, depth, precisions, y), stream in zip(states, streams, strict=True):
        if cancel is not None and cancel.is_set():
            raise InterruptedError
        other = run.on_other_data(*misused(kernel.fault, run.x, y), JUMPS, 1, bare=True)
        other.restart(theta, width, depth, precisions, np.random.Generator(np.random.SFC64(stream)))
        other.advance(JUMPS)
        found = other.recording()
        state, sizes = theta, (width, depth)
        for t in range(JUMPS):
            jump = type(found.ledger)(*(array[0, t, 0] for array in found.ledger))
            proposal, aim = proposed(kernel, state, sizes, jump)
            right = log_ratio(kernel, (state, sizes), (proposal, aim), jump, precisions, y)
            errors.append(books.apart(right, float(jump.log_ratio)))
            probability = math.exp(min(right, 0.0))
            stands = (proposal, aim) if jump.uniform < probability else (state, sizes)
            sizes = int(found.width[0, t]), int(found.depth[0, t])
            state = found.theta(0, t)
            if abs(float(jump.uniform) - probability) > books.LIMIT:
                errors.append(books.apart(stands[0], state) if stands[1] == sizes else math.inf)
    return books.check(errors, len(errors), kernel.name)


def proposed(kernel: JumpKernel, theta: Array, sizes: Sizes, jump: Any) -> tuple[Array, Sizes]:
    """The parameters that a jump proposes, and their architecture."""
    birth, (width, depth) = jump.move in (0, 2), sizes
    step = 1 if birth else -1
    aim = (width + step, depth) if jump.move < 2 else (width, depth + step)
    new, out = born(kernel, aim if birth else sizes, jump)
    stretch = np.where(out[~new], _stretch(kernel, aim if birth else sizes, jump), 1.0)
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


def _stretch(kernel: JumpKernel, large: Sizes, jump: Any) -> float:
    """What a birth multiplies the kept weights out of hidden units by."""
    rescaled = kernel.run.settings.jump == "rescaled" and jump.move < 2
    return math.sqrt((large[0] - 1) / large[0]) if rescaled else 1.0


def log_ratio(
    kernel: JumpKernel, here: tuple[Array, Sizes], there: tuple[Array, Sizes], jump: Any, precisions: Array, y: Array
) -> float:
    """log of [joint density there x proposal back x Jacobian] / [joint density here x proposal there]. The slots of a
    birth and of its death cancel: both are one of k + 1.
    """
    birth = jump.move in (0, 2)
    (thin, small), (thick, large) = (here, there) if birth else (there, here)
    new, out = born(kernel, large, jump)
    name, which = ("width", 0) if jump.move < 2 else ("depth", 1)
    low, high = getattr(kernel.run.network, name)
    birth_chance, death_chance = 1.0 if small[which] == low else 0.5, 1.0 if large[which] == high else 0.5
    log_g = float(log_normal(thick, _precisions(kernel, large, precisions))[new].sum())
    jacobian = float((out & ~new).sum()) * math.log(_stretch(kernel, large, jump))
    gained = _joint(kernel, thick, large, precisions, y) - _joint(kernel, thin, small, precisions, y)
    grown = gained - log_g + math.log(death_chance / birth_chance) + jacobian
    return grown if birth else -grown


def _joint(kernel: JumpKernel, theta: Array, sizes: Sizes, precisions: Array, y: Array) -> float:
    """Log of likelihood, prior of the parameters and prior of the architecture."""
    run = kernel.run
    rules = run.settings.rules(run.network)
    fit = watched_fit(architecture_of(run.network, *sizes), theta[None], run.x, y[None], precisions[-1:])[0]
    prior = log_normal(theta, _precisions(kernel, sizes, precisions)).sum()
    width, depth = sizes[0] - rules.lowest_width, sizes[1] - rules.lowest_depth
    return float(fit + prior + rules.log_width_prior[width] + rules.log_depth_prior[depth])


def _precisions(kernel: JumpKernel, sizes: Sizes, precisions: Array) -> Array:
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
