"""The books of jumps between architectures: the ratio that decided each is worked out again."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from engine import ticket
from engine.judge import audit as books
from engine.judge import crossings
from engine.judge.check import Check
from engine.judge.jump_ratio import Move, born, decided, log_choice, log_joint, log_normal, log_ratio, precisions_of, proposed
from engine.judge.network_models import misused, watched_fit
from engine.jumps.recording import architecture_of

if TYPE_CHECKING:
    from engine.judge.growing import JumpKernel

Array = NDArray[np.float64]

STARTS, JUMPS = 40, 4


def audit(kernel: JumpKernel, seed: int) -> Check | None:
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
    for (theta, width, depth, precisions, y), stream in ticket.looking(zip(states, streams, strict=True)):
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
    gained = log_joint(kernel, thick, large, move.precisions, move.y) - log_joint(kernel, thin, small, move.precisions, move.y)
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
