"""Jumps over bridges: annealed and tempered.

Both carry the chain through densities that lie between the two ends, with HMC transitions on each of them, and decide
at the end by the product of the weights gained on the way; a rejection returns the state before the jump.

**Annealed** (Karagiannis and Andrieu 2013). Between k and k + 1 units lie T - 1 bridges `gamma_t = p(theta') lik(f_t)`,
where f_t is the network whose new unit's output is scaled by s_t, 0 = s_0 < ... < s_T = 1: the neuron fades in. A new
layer comes by `lik(without)^(1 - s_t) lik(with)^s_t`. A birth draws the new parameters from their prior; then for t =
0, ..., T - 1 it gains the weight `gamma_{t+1}(x) / gamma_t(x)` and, but for the last, moves by kernels that leave
gamma_{t+1} as it is. A death goes the same way back: `gamma_{t-1}(x) / gamma_t(x)`, then a move at t - 1 unless t = 1,
then the unit is dropped. T = 1 is the bare jump. Step sizes and levels depend on the larger architecture and t only.

**Tempered** (Al-Awadhi, Hurn and Jennison 2004). At its own architecture the chain heats: the likelihood's power falls
over `1 = b_0 > ... > b_T`, a weight `lik^(b_t - b_{t-1})` and moves at b_t for each t; there it jumps, with the
likelihood ratio to the power b_T; at the new architecture it cools the same way, moves first. T = 1 is

    alpha = min{1, [pi(theta*) / rho(theta*)] [rho(theta') q' / (rho(theta~) q)] [rho(theta) / pi(theta)]}

with rho = prior x likelihood^b. The kernels belong to the architecture, whether the jump there is a birth or a death.

Prior, proposal, slot and choice stand in the ratio as in the bare jump, at the place where the dimension changes.

Rows of the ledger: `bridge_log_weight` in order of happening. Annealed, T rows: the state at which the weight was
gained, `bridge_level` the s that it led to, `bridge_accept_prob` that of the moves to the state (NaN in row 0).
Tempered, 2 T + 1 rows: T down, the state after the moves at `bridge_level`; the jump, with theta'; T up, the last
being theta*.

Wrong on purpose: "old_level" moves at gamma_t in place of gamma_{t+1} (t in place of t - 1 at a death);
"no_kernel_densities" decides a tempered jump by the ratio of its ends, as if the moves needed no weights.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.jumps.growth import log_prior, precision_of
from engine.jumps.sweep import (
    FACTORS,
    LIKELIHOOD,
    NO_KERNEL_DENSITIES,
    OLD_LEVEL,
    WEIGHTS,
    architecture,
    begin_sweep,
    choose,
    end_sweep,
    make,
    move_to,
    note_jump,
    propose,
    set_architecture,
    total_of,
)
from engine.kernels import kernel, log_density_at

Array = NDArray[np.float64]

JITTER = 0.1  # step sizes vary by this fraction: no trajectory length is a period of the density
KEPT, INCOMING, OUTGOING = range(3)  # what a parameter is to the unit or layer that comes or goes


class Bridges(NamedTuple):
    """How a run crosses: the same for all its chains and jumps.

    annealed : else tempered
    level : (T + 1,), s_t from 0 to 1, or b_t from 1 down
    moves, steps : HMC transitions at a bridge, leapfrog steps of each
    """

    annealed: bool
    level: Array
    moves: int
    steps: int


class Work(NamedTuple):
    """Space of one call, (max_dim,) each: prior precisions, what each parameter is to the new unit, a point with its
    gradient, a trial point with its own, momentum, and what the target is asked about.
    """

    precision: Array
    kind: NDArray[np.int8]
    position: Array
    gradient: Array
    trial: Array
    trial_gradient: Array
    momentum: Array
    asked: Array
    slope: Array


@kernel
def _work(size):
    return Work(
        np.empty(size),
        np.empty(size, np.int8),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
    )


@kernel
def describe(state, rules, slot, precision, kind):
    """Prior precision of every parameter of the present architecture, and what it is to the unit at `slot` of every
    hidden layer, or, for a slot of -1, to the last hidden layer. Returns the number of parameters.
    """
    inputs, width, depth, outputs = architecture(state.ints)
    at = 0
    for layer in range(1, depth + 2):
        n_in = inputs if layer == 1 else width
        n_out = width if layer <= depth else outputs
        for biases in range(2):
            own = precision_of(state.precisions, layer, depth, biases, width, rules.scaled)
            columns = 1 if biases == 1 else n_in
            for j in range(n_out):
                for i in range(columns):
                    precision[at] = own
                    if slot < 0:
                        kind[at] = OUTGOING if layer == depth else KEPT
                    elif layer > 1 and biases == 0 and i == slot:
                        kind[at] = OUTGOING
                    else:
                        kind[at] = INCOMING if layer <= depth and j == slot else KEPT
                    at += 1
    return at


@kernel
def _enter(state, width, depth):
    """Have the target return the log likelihood alone, of this architecture."""
    own = state.precisions.size
    set_architecture(state.ints, width, depth)
    state.scratch[: own - 1] = 0.0
    state.scratch[own - 1] = state.precisions[own - 1]


@kernel
def _density(address, data, state, work, dim, without, faded, q, gradient):
    """Of the density `prior x lik(without the new layer)^without x lik(f)^(level)` at q (dim,), where `faded` is (level
    of the power, scale of the new unit's output): the log of its likelihood part, the log of all of it, and in
    `gradient` the slope of the latter.
    """
    power, scale = faded
    prior, likelihood = 0.0, 0.0
    for j in range(dim):
        gradient[j] = -work.precision[j] * q[j]
        prior += 0.5 * gradient[j] * q[j]
    if power > 0.0:
        for j in range(dim):
            work.asked[j] = scale * q[j] if scale != 1.0 and work.kind[j] == OUTGOING else q[j]
        value = log_density_at(address, work.asked[:dim], work.slope[:dim], data, state.ints, state.scratch)
        likelihood += power * value
        for j in range(dim):
            factor = power * scale if scale != 1.0 and work.kind[j] == OUTGOING else power
            gradient[j] += factor * work.slope[j]
    if without > 0.0:
        _, width, depth, _ = architecture(state.ints)
        count = 0
        for j in range(dim):
            if work.kind[j] == KEPT:
                work.asked[count] = q[j]
                count += 1
        set_architecture(state.ints, width, depth - 1)
        value = log_density_at(address, work.asked[:count], work.slope[:count], data, state.ints, state.scratch)
        set_architecture(state.ints, width, depth)
        likelihood += without * value
        count = 0
        for j in range(dim):
            if work.kind[j] == KEPT:
                gradient[j] += without * work.slope[count]
                count += 1
    return likelihood, likelihood + prior


@kernel
def _at_level(annealed, layers, level):
    """Powers of the likelihoods without and with what is new, and the scale of the new unit's output."""
    if not annealed:
        return 0.0, (level, 1.0)
    if layers:
        return 1.0 - level, (level, 1.0)
    return 0.0, (1.0, level)


@kernel
def _moves(address, data, rng, state, bridges, work, dim, without, faded, step_size, likelihood, total):
    """HMC transitions of `work.position`, whose densities and gradient are given and kept up.

    Returns the densities, as `_density` does, and the mean acceptance probability.
    """
    mean_accept = 0.0
    for _ in range(bridges.moves):
        epsilon = step_size * (1.0 + JITTER * (2.0 * rng.random() - 1.0))
        energy = -total
        for j in range(dim):
            work.momentum[j] = rng.standard_normal()
            energy += 0.5 * work.momentum[j] ** 2
            work.trial[j], work.trial_gradient[j] = work.position[j], work.gradient[j]
        new_likelihood, new_total = likelihood, total
        for _ in range(bridges.steps):
            for j in range(dim):
                work.momentum[j] += 0.5 * epsilon * work.trial_gradient[j]
                work.trial[j] += epsilon * work.momentum[j]
            new_likelihood, new_total = _density(address, data, state, work, dim, without, faded, work.trial, work.trial_gradient)
            if not math.isfinite(new_total):
                break
            for j in range(dim):
                work.momentum[j] += 0.5 * epsilon * work.trial_gradient[j]
        accept_prob = 0.0
        if math.isfinite(new_total):
            after = -new_total
            for j in range(dim):
                after += 0.5 * work.momentum[j] ** 2
            accept_prob = 1.0 if after <= energy else math.exp(energy - after)
        if rng.random() < accept_prob:
            likelihood, total = new_likelihood, new_total
            for j in range(dim):
                work.position[j], work.gradient[j] = work.trial[j], work.trial_gradient[j]
        if accept_prob > 0.0:  # not where it is not a number
            mean_accept += accept_prob / bridges.moves
    return likelihood, total, mean_accept


@kernel
def _note_bridge(ledger, i, j, row, level, log_weight, accept_prob, position, dim):
    if ledger.move.shape[0] > 0:
        ledger.bridge_level[i, j, row], ledger.bridge_log_weight[i, j, row] = level, log_weight
        ledger.bridge_accept_prob[i, j, row] = accept_prob
        for p in range(ledger.bridge_position.shape[3]):
            ledger.bridge_position[i, j, row, p] = position[p] if p < dim else np.nan


@kernel
def _index(rules, width, depth):
    return (depth - rules.lowest_depth) * rules.log_width_prior.size + width - rules.lowest_width


@kernel
def _fade(address, data, rng, state, rules, bridges, work, move, slot, step_size, ledger, i, j):
    """Carry `work.position`, of the larger architecture, over all bridges, up at a birth, down at a death. Returns the
    log weight.
    """
    _, width, depth, _ = architecture(state.ints)
    up, layers, levels = move == 0 or move == 2, move >= 2, bridges.level.size - 1
    dim = describe(state, rules, slot, work.precision, work.kind)
    _enter(state, width, depth)
    level = bridges.level[0 if up else levels]
    without, faded = _at_level(True, layers, level)
    likelihood, total = _density(address, data, state, work, dim, without, faded, work.position, work.gradient)
    log_weight, accept_prob = 0.0, np.nan
    for row in range(levels):
        old_level, before = level, likelihood
        level = bridges.level[row + 1 if up else levels - row - 1]
        without, faded = _at_level(True, layers, level)
        likelihood, total = _density(address, data, state, work, dim, without, faded, work.position, work.gradient)
        log_weight += likelihood - before
        _note_bridge(ledger, i, j, row, level, likelihood - before, accept_prob, work.position, dim)
        if row == levels - 1:
            break
        if rules.wrong & OLD_LEVEL:
            without, faded = _at_level(True, layers, old_level)
            likelihood, total = _density(address, data, state, work, dim, without, faded, work.position, work.gradient)
        likelihood, total, accept_prob = _moves(address, data, rng, state, bridges, work, dim, without, faded, step_size, likelihood, total)
        if rules.wrong & OLD_LEVEL:
            without, faded = _at_level(True, layers, level)
            likelihood, total = _density(address, data, state, work, dim, without, faded, work.position, work.gradient)
    return log_weight


@kernel
def _annealed(address, data, rng, state, rules, bridges, step_sizes, work, factors, proposed, born, ledger, i, j):
    """Propose an annealed jump: all factors and the proposal are written, the state is left with the architecture of
    the proposal and parameters that are no longer its own. Returns move, slot, width and depth proposed, and the number
    of parameters born or dying.
    """
    _, old_width, old_depth, _ = architecture(state.ints)
    move, slot, choice = choose(rng, state, rules)
    birth = move == 0 or move == 2
    width, depth, count = old_width, old_depth, 0
    if birth:
        width, depth, count, _ = make(rng, state, rules, move, slot, choice, factors, proposed, born)
        set_architecture(state.ints, width, depth)
        work.position[:] = proposed
    else:
        work.position[:] = state.theta
    step_size = step_sizes[_index(rules, width, depth)]
    log_weight = _fade(address, data, rng, state, rules, bridges, work, move, slot, step_size, ledger, i, j)
    if birth:
        proposed[:] = work.position
    else:
        state.theta[:] = work.position
        width, depth, count, _ = make(rng, state, rules, move, slot, choice, factors, proposed, born)
    factors[LIKELIHOOD] = log_weight
    return move, slot, width, depth, count


@kernel
def _tempered(address, data, rng, state, rules, bridges, step_sizes, work, factors, proposed, born, ledger, i, j):
    """Propose a tempered jump, as `_annealed` does."""
    inputs, width, depth, outputs = architecture(state.ints)
    levels = bridges.level.size - 1
    work.position[:] = state.theta
    prior_before = log_prior(state.theta, inputs, width, depth, outputs, state.precisions, rules.scaled)
    dim = describe(state, rules, 0, work.precision, work.kind)
    _enter(state, width, depth)
    at = _at_level(False, False, 1.0)
    first, total = _density(address, data, state, work, dim, at[0], at[1], work.position, work.gradient)
    likelihood, log_weight, jumped = first, 0.0, 0.0
    step_size = step_sizes[_index(rules, width, depth)]
    for row in range(levels):
        before, level = likelihood, bridges.level[row + 1]
        at = _at_level(False, False, level)
        likelihood, total = _density(address, data, state, work, dim, at[0], at[1], work.position, work.gradient)
        gained = likelihood - before
        log_weight += gained
        likelihood, total, accept_prob = _moves(address, data, rng, state, bridges, work, dim, at[0], at[1], step_size, likelihood, total)
        _note_bridge(ledger, i, j, row, level, gained, accept_prob, work.position, dim)
    state.theta[:] = work.position
    move, slot, width, depth, count, _ = propose(rng, state, rules, factors, proposed, born)
    work.position[:] = proposed
    set_architecture(state.ints, width, depth)
    dim = describe(state, rules, 0, work.precision, work.kind)
    before = likelihood
    likelihood, total = _density(address, data, state, work, dim, at[0], at[1], work.position, work.gradient)
    jumped = likelihood - before
    log_weight += jumped
    _note_bridge(ledger, i, j, levels, bridges.level[levels], jumped, np.nan, work.position, dim)
    step_size = step_sizes[_index(rules, width, depth)]
    for row in range(levels):
        level = bridges.level[levels - row]
        likelihood, total, accept_prob = _moves(address, data, rng, state, bridges, work, dim, at[0], at[1], step_size, likelihood, total)
        before = likelihood
        at = _at_level(False, False, bridges.level[levels - row - 1])
        likelihood, total = _density(address, data, state, work, dim, at[0], at[1], work.position, work.gradient)
        log_weight += likelihood - before
        _note_bridge(ledger, i, j, levels + 1 + row, level, likelihood - before, accept_prob, work.position, dim)
    proposed[:] = work.position
    factors[LIKELIHOOD] = log_weight
    if rules.wrong & NO_KERNEL_DENSITIES:
        factors[LIKELIHOOD] = likelihood - first
        after = log_prior(proposed, inputs, width, depth, outputs, state.precisions, rules.scaled)
        factors[WEIGHTS] = after - prior_before
    return move, slot, width, depth, count


@kernel
def bridged_sweeps(address, data, rng, state, rules, bridges, step_sizes, jumps, moved, first, n, trace, ledger):
    """What `engine.jumps.sweep.jump_sweeps` does, by jumps over bridges.

    step_sizes : (architectures,), of the leapfrog at the bridges

    Random numbers of a jump in order: those of the bare jump but for its uniform, the new parameters of a tempered jump
    after its moves at the old architecture, those of a death before all; every move takes a uniform for its step size,
    its momentum, a uniform that decides; the jump's uniform comes last.
    """
    work, old = _work(state.theta.size), np.empty(state.theta.size)
    proposed, born, factors = np.empty(state.theta.size), np.empty(state.theta.size), np.empty(len(FACTORS))
    detailed = ledger.move.shape[0] > 0
    out_of_date = moved
    T = bridges.level.size - 1
    for i in range(first, first + n):
        begin_sweep(i, trace)
        for j in range(jumps):
            _, old_width, old_depth, _ = architecture(state.ints)
            old[:] = state.theta
            if bridges.annealed:
                move, slot, width, depth, count = _annealed(
                    address, data, rng, state, rules, bridges, step_sizes, work, factors, proposed, born, ledger, i, j
                )
                spent = T + 1 + (T - 1) * bridges.moves * bridges.steps
            else:
                move, slot, width, depth, count = _tempered(
                    address, data, rng, state, rules, bridges, step_sizes, work, factors, proposed, born, ledger, i, j
                )
                spent = 2 + 2 * T * (1 + bridges.moves * bridges.steps)
            log_ratio = total_of(factors)
            uniform = rng.random()
            accepted = uniform < math.exp(min(log_ratio, 0.0))  # False for NaN
            if accepted:
                move_to(state, proposed, width, depth)
                out_of_date = True
            else:
                state.theta[:] = old
                set_architecture(state.ints, old_width, old_depth)
            trace.proposed[i, move] += 1
            trace.jumped[i, move] += accepted
            trace.gradient_evaluations[i] += spent
            if detailed:
                note_jump(ledger, i, j, move, slot, old_width, old_depth, factors, 0.0, log_ratio, uniform, accepted, born, count)
        end_sweep(data, rng, state, rules, out_of_date, i, trace)
        out_of_date = False
