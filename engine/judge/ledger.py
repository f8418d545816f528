"""The books of jumps between architectures: the ratio that decided each, worked out again from whole densities."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.judge import audit as books
from engine.judge import crossings
from engine.judge.check import Check
from engine.judge.network_models import misused, watched_fit
from engine.jumps.recording import architecture_of

if TYPE_CHECKING:
    from engine.judge.growing import JumpKernel

Array = NDArray[np.float64]
Sizes = tuple[int, int]  # width and depth
State = tuple[Array, Sizes]

STARTS, JUMPS = 40, 4


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


def audit(kernel: JumpKernel, seed: int, cancel: Any) -> Check | None:
    """JUMPS in a row from each of STARTS exact draws. None for jumps between moves that are not reversible, and for
    those whose densities are left out: there is no right ratio.
    """
    run = kernel.run
    if run.settings.surrounded and run.settings.jump != "palindromic":
        return None
    books_of = {"annealed": crossings.annealed, "tempered": crossings.tempered, "delayed": crossings.delayed}
    books_of |= {"split": split, "redraw": redrawn}
    judge = books_of.get(run.settings.jump, crossings.palindromic if run.settings.surrounded else bare)
    drawn, *streams = np.random.SeedSequence((seed, 4)).spawn(STARTS + 1)
    errors: list[float] = []
    states = kernel.worlds(STARTS, np.random.Generator(np.random.SFC64(drawn))).states
    for (theta, width, depth, precisions, y), stream in zip(states, streams, strict=True):
        if cancel is not None and cancel.is_set():
            raise InterruptedError
        rng = np.random.Generator(np.random.SFC64(stream))
        other = run.on_other_data(*misused(kernel.fault, run.x, y), JUMPS, 1, bare=True)
        other.restart(theta, width, depth, precisions, rng)
        steps = other._moves[0].step_sizes(other._chains[0].tuning, run.settings.jump_step_size)
        here = theta, (width, depth)
        for t in range(JUMPS):
            before = copy.deepcopy(rng)
            other.advance(1)
            found = other.recording()
            jump = type(found.ledger)(*(array[0, t, 0] for array in found.ledger))
            after = found.theta(0, t), (int(found.width[0, t]), int(found.depth[0, t]))
            errors += judge(Move(kernel, jump, here, after, precisions, y, before, steps))
            here = after
    return books.check(errors, len(errors), kernel.name)


def bare(move: Move) -> list[float]:
    """Of a jump that densities alone decide."""
    there = proposed(move.kernel, *move.here, move.jump)
    right = log_ratio(move.kernel, move.here, there, move.jump, move.precisions, move.y)
    return [books.apart(right, float(move.jump.log_ratio)), *decided(move, right, float(move.jump.uniform), there)]


def split(move: Move) -> list[float]:
    """Of a jump that splits a unit, or merges two."""
    kernel, jump, (theta, sizes), birth = move.kernel, move.jump, move.here, move.jump.move == 0
    run, slot = kernel.run, int(jump.slot)
    told = jump.parameters[np.isfinite(jump.parameters)]
    unit, partner = told[:-1], int(told[-1])
    large = (sizes[0] + birth, 1)
    new, _ = born(kernel, large, jump)
    (w, b), (v, _) = architecture_of(run.network, *large).unpack(np.arange(len(new)))
    kept = partner + (partner >= slot)
    w, b, v = w.astype(int), b.astype(int), v.astype(int)
    thick, aim = np.empty(len(new)), large if birth else (sizes[0] - 1, 1)
    if birth:
        thick[~new], thick[new] = theta, unit
        thick[v[:, kept]] -= thick[v[:, slot]]
        there = thick
    else:
        thick = theta
        joined = theta.copy()
        joined[v[:, kept]] += joined[v[:, slot]]
        there = joined[~new]
    sd = run.settings.split_scale / np.sqrt(precisions_of(kernel, large, move.precisions))
    ways_in = np.append(w[slot], b[slot])
    apart = thick[ways_in] - thick[np.append(w[kept], b[kept])]
    halves = 0.5 * (thick[v[:, kept]] - thick[v[:, slot]])
    log_g = log_normal(apart, sd[ways_in] ** -2.0).sum() + log_normal(halves, sd[v[:, slot]] ** -2.0).sum()
    thin, small = (theta, sizes) if birth else (there, aim)
    gained = _joint(kernel, thick, large, move.precisions, move.y) - _joint(kernel, thin, small, move.precisions, move.y)
    grown = float(gained - log_g + log_choice(kernel, small, large))
    right = grown if birth else -grown
    return [books.apart(right, float(jump.log_ratio)), *decided(move, right, float(jump.uniform), (there, aim))]


def redrawn(move: Move) -> list[float]:
    """Of a jump that draws all anew: what it takes and what it leaves behind come from the prior, which cancels."""
    kernel, jump, (theta, sizes) = move.kernel, move.jump, move.here
    birth, there = jump.move in (0, 2), jump.parameters[np.isfinite(jump.parameters)]
    step = 1 if birth else -1
    aim = (sizes[0] + step, sizes[1]) if jump.move < 2 else (sizes[0], sizes[1] + step)
    fits = []
    for each, which in ((there, aim), (theta, sizes)):
        net = architecture_of(kernel.run.network, *which)
        fits.append(float(watched_fit(net, each[None], kernel.run.x, move.y[None], move.precisions[-1:])[0]))
    right = fits[0] - fits[1] + (log_choice(kernel, sizes, aim) if birth else -log_choice(kernel, aim, sizes))
    return [books.apart(right, float(jump.log_ratio)), *decided(move, right, float(jump.uniform), (there, aim))]


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
    gained = _joint(kernel, thick, large, precisions, y) - _joint(kernel, thin, small, precisions, y)
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


def _joint(kernel: JumpKernel, theta: Array, sizes: Sizes, precisions: Array, y: Array) -> float:
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
