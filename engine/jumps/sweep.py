"""The kernel of reversible jump over the architectures of a network.

A jump is the birth or death of a unit, or of a layer (a fair coin decides where both can change), accepted with
`min(1, exp(sum of the factors))`. The factors of a birth of a unit are the logs of

    likelihood             p(D | theta') / p(D | theta)
    architecture prior     p(k + 1) / p(k)
    weight prior           p(theta' | k + 1) / p(theta | k)
    proposal density       1 / g(u), u the new parameters
    slot of the birth      1 / [1 / (k + 1)]
    slot of the death      1 / (k + 1), with which the death that undoes it finds the unit
    choice of the move     d(k + 1) / b(k); b = d = 1/2, but b = 1 at the lowest width and d = 1 at the highest
    Jacobian               of (theta, u) -> theta'; 1 unless the jump stretches the kept weights

and a death has the reciprocals. Layers have no slots.

A jump that splits (`engine.jumps.growth.split_unit`) chooses a partner of the new unit, too, one of k, and the merger that
undoes it does the same: its slot factors are those of the pair. A jump that draws anew takes nothing along: u is the
whole network, and so is what the reverse draws; it has no slots.

Here is the bare jump; `engine.jumps.bridges` and `engine.jumps.delayed` build on it.

Wrong on purpose: see `VARIANTS`.

Source: Green 1995; Berezowski 2021, chapter 5.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.jumps.growth import (
    add_layer,
    add_unit,
    dimension,
    draw_all,
    drop_layer,
    drop_unit,
    log_prior,
    merge_units,
    precision_of,
    split_unit,
)
from engine.jumps.likelihood import REFRESH, changed, insert_row, refresh, remove_row, whole
from engine.kernels import kernel, log_density_at
from engine.networks.mlp import GAUSSIAN, HIDDEN, SIZES

Array = NDArray[np.float64]

MOVES = ("neuron birth", "neuron death", "layer birth", "layer death")
FACTORS = (
    "likelihood",
    "architecture prior",
    "weight prior",
    "proposal density",
    "slot of the birth",
    "slot of the death",
    "choice of the move",
    "Jacobian",
)
LIKELIHOOD, ARCHITECTURE, WEIGHTS, PROPOSAL, SLOT_BIRTH, SLOT_DEATH, CHOICE, JACOBIAN = range(8)

# Each wrong scheme is a set of mistakes.
NO_JACOBIAN, NO_END_POINTS, SLOT_ONCE, NO_KERNEL_DENSITIES, SHORT_WITHIN = 1, 2, 4, 8, 16
OLD_LEVEL, NO_REJECTION_TERMS, NO_AUXILIARY, NO_PROPOSAL = 32, 64, 128, 256
VARIANTS = {
    "exact": 0,
    "no_jacobian": NO_JACOBIAN,
    "no_end_points": NO_END_POINTS,
    "slot_once": SLOT_ONCE,
    "no_kernel_densities": NO_KERNEL_DENSITIES,
    "as_coded": NO_END_POINTS | SLOT_ONCE | NO_KERNEL_DENSITIES | SHORT_WITHIN,
    "old_level": OLD_LEVEL,
    "no_rejection_terms": NO_REJECTION_TERMS,
    "no_auxiliary": NO_AUXILIARY,
    "no_proposal": NO_PROPOSAL,
}
# What a jump does with the weights that are there already.
KEEP, STRETCH, SPLIT, REDRAW = range(4)


class State(NamedTuple):
    """What a chain carries from sweep to sweep, beside its generator. Sizes are those of the largest architecture.

    theta, gradient : (max_dim,), the first `dim` in use; the gradient is that of the last move within a model
    running : (1,), the log density of that move
    log_likelihood : (1,), at theta
    ints, scratch : of the network's target; ints holds the architecture, scratch begins with the precisions in force
    precisions : (2 * (max_depth + 1) + 1,), see `engine.jumps.growth`, before scaling by the width
    hidden, outputs, units : kept values, see `engine.jumps.likelihood`; empty unless there is always one hidden layer
    accepted : (1,) int64, jumps accepted since the kept values were computed anew
    """

    theta: Array
    gradient: Array
    running: Array
    log_likelihood: Array
    ints: NDArray[np.int64]
    scratch: Array
    precisions: Array
    hidden: Array
    outputs: Array
    units: NDArray[np.int64]
    accepted: NDArray[np.int64]


class Rules(NamedTuple):
    """How the chain moves: the same for all chains of a run.

    lowest_width, lowest_depth : int; log_width_prior, log_depth_prior : (sizes,), normalised
    way : KEEP the weights that stay; STRETCH those out of hidden units by sqrt(k / (k + 1)), and back; SPLIT a unit;
        REDRAW the whole network
    split_scale : sds of what a split draws, in those of the prior
    scaled : whether the prior precision of those weights is multiplied by the width
    wrong : bits of `VARIANTS`
    weight_shape, weight_rate, noise_shape, noise_rate : of the gamma priors of the precisions; a rate of 0 keeps them
    """

    lowest_width: int
    lowest_depth: int
    log_width_prior: Array
    log_depth_prior: Array
    way: int
    split_scale: float
    scaled: bool
    wrong: int
    weight_shape: float
    weight_rate: float
    noise_shape: float
    noise_rate: float


class Ledger(NamedTuple):
    """Every jump of n sweeps of J jumps, in the order of happening.

    move : (n, J) int8, index into `MOVES`
    slot : (n, J) int16, place of the unit in its layer, from 0; -1 for layers
    width, depth : (n, J) int16, before the jump
    factors : (n, J, 8), the logs named by `FACTORS`, as they entered the decision
    rejection : (n, J), log of the factor [1 - a1 of the way back] / [1 - a1], where a second stage decided; else 0
    log_ratio : (n, J), the sum of factors from left to right, and rejection; log alpha is the smaller of it and 0
    uniform : (n, J), accepted if and only if uniform < exp(log_ratio)
    accepted : (n, J) bool
    parameters : (n, J, P), what was born or died, in the order of the parameters, behind it the partner of a split; of
        a jump that draws all anew the network that it drew; NaN beyond

    Of a jump over bridges, S of them (see `engine.jumps.bridges`; of a palindromic one, the three states that it goes
    through, between and after its two moves within):

    bridge_level : (n, J, S), NaN for the palindromic
    bridge_log_weight : (n, J, S), log weights gained, which sum to the likelihood's factor
    bridge_accept_prob : (n, J, S), mean over the moves of the row, NaN where there is none
    bridge_position : (n, J, S, max_dim), NaN beyond the parameters

    Of a delayed jump, one row a stage (2 of them; NaN where the second was not reached), see `engine.jumps.delayed`:

    stage_factors : (n, J, 2, 8); stage_rejection, stage_log_ratio, stage_uniform : (n, J, 2), as above, of each stage
    stage_parameters : (n, J, 2, P), of a birth both draws; of a death what dies, then the auxiliary draw
    back_log_ratio : (n, J, 1), log ratio of the first stage of the way back
    """

    move: NDArray[np.int8]
    slot: NDArray[np.int16]
    width: NDArray[np.int16]
    depth: NDArray[np.int16]
    factors: Array
    rejection: Array
    log_ratio: Array
    uniform: Array
    accepted: NDArray[np.bool_]
    parameters: Array
    bridge_level: Array
    bridge_log_weight: Array
    bridge_accept_prob: Array
    bridge_position: Array
    stage_factors: Array
    stage_rejection: Array
    stage_log_ratio: Array
    stage_uniform: Array
    stage_parameters: Array
    back_log_ratio: Array

    @classmethod
    def empty(cls, chains: int, n: int, jumps: int, parameters: int, *, dim: int = 0, bridges: int = 0, stages: int = 0) -> Ledger:
        shape = (chains, n, jumps)
        bridged, staged = (*shape, bridges), (*shape, stages)
        return cls(
            np.empty(shape, np.int8),
            np.empty(shape, np.int16),
            np.empty(shape, np.int16),
            np.empty(shape, np.int16),
            np.empty((*shape, len(FACTORS))),
            np.empty(shape),
            np.empty(shape),
            np.empty(shape),
            np.empty(shape, np.bool_),
            np.empty((*shape, parameters)),
            np.empty(bridged),
            np.empty(bridged),
            np.empty(bridged),
            np.empty((*bridged, dim)),
            np.empty((*staged, len(FACTORS))),
            np.empty(staged),
            np.empty(staged),
            np.empty(staged),
            np.empty((*staged, parameters)),
            np.empty((*shape, min(stages, 1))),
        )


class SweepTrace(NamedTuple):
    """What n sweeps leave: see `engine.jumps.ArchitectureRecording`."""

    draws: Array
    width: NDArray[np.int16]
    depth: NDArray[np.int16]
    log_likelihood: Array
    log_density: Array
    precisions: Array
    proposed: NDArray[np.int32]
    jumped: NDArray[np.int32]
    accept_prob: Array
    accepted: NDArray[np.bool_]
    divergent: NDArray[np.bool_]
    gradient_evaluations: NDArray[np.int32]
    step_size: Array

    @classmethod
    def empty(cls, chains: int, n: int, dim: int, precisions: int) -> SweepTrace:
        shape = (chains, n)
        return cls(
            np.empty((*shape, dim)),
            np.empty(shape, np.int16),
            np.empty(shape, np.int16),
            np.empty(shape),
            np.empty(shape),
            np.empty((*shape, precisions)),
            np.empty((*shape, 4), np.int32),
            np.empty((*shape, 4), np.int32),
            np.empty(shape),
            np.empty(shape, np.bool_),
            np.empty(shape, np.bool_),
            np.empty(shape, np.int32),
            np.empty(shape),
        )


@kernel
def architecture(ints):
    """Inputs, width, depth and outputs that the target's integers hold."""
    depth = ints[HIDDEN]
    return ints[SIZES], ints[SIZES + 1], depth, ints[SIZES + depth + 1]


@kernel
def set_architecture(ints, width, depth):
    outputs = ints[SIZES + ints[HIDDEN] + 1]
    ints[HIDDEN] = depth
    for layer in range(1, depth + 1):
        ints[SIZES + layer] = width
    ints[SIZES + depth + 1] = outputs


@kernel
def take_stock(data, state):
    """Compute the log likelihood, and all that the state keeps, from the parameters alone."""
    noise_precision = state.precisions[state.precisions.size - 1]
    if state.hidden.size > 0:
        state.log_likelihood[0] = refresh(
            state.theta, state.ints[SIZES + 1], data, state.ints, state.scratch, noise_precision, state.hidden, state.outputs, state.units
        )
    else:
        state.log_likelihood[0] = whole(state.theta, data, state.ints, state.scratch, noise_precision)
    state.accepted[0] = 0


@kernel
def prior_of(state, rules):
    """Log prior of architecture and parameters."""
    inputs, width, depth, outputs = architecture(state.ints)
    return (
        rules.log_width_prior[width - rules.lowest_width]
        + rules.log_depth_prior[depth - rules.lowest_depth]
        + log_prior(state.theta, inputs, width, depth, outputs, state.precisions, rules.scaled)
    )


@kernel
def _choose(rng, size, lowest, count):
    """Birth or death of one of `count` sizes: whether a birth, and log [d(k + 1) / b(k)] or its reciprocal."""
    highest = lowest + count - 1
    birth, there, back = size == lowest, 1.0, 1.0
    if lowest < size < highest:
        birth, there = rng.random() < 0.5, 0.5
    after = size + 1 if birth else size - 1
    if lowest < after < highest:
        back = 0.5
    return birth, math.log(back / there)


@kernel
def choose(rng, state, rules):
    """Choose a jump from the present architecture: the move, the slot and the log of its factor for the choice."""
    _, width, depth, _ = architecture(state.ints)
    widths, depths = rules.log_width_prior.size, rules.log_depth_prior.size
    layers = depths > 1
    if layers and widths > 1:
        layers = rng.random() < 0.5
    if layers:
        birth, choice = _choose(rng, depth, rules.lowest_depth, depths)
        return 2 if birth else 3, -1, choice
    birth, choice = _choose(rng, width, rules.lowest_width, widths)
    return 0 if birth else 1, int(rng.random() * (width + 1 if birth else width)), choice


@kernel
def _make_anew(rng, state, rules, move, factors, proposed, born):
    """`make`, where all is drawn anew."""
    inputs, width, depth, outputs = architecture(state.ints)
    step = 1 if move == 0 or move == 2 else -1
    new_width, new_depth = (width + step, depth) if move < 2 else (width, depth + step)
    if move == 2 and rules.weight_rate > 0.0:
        for kinds in range(2):
            state.precisions[2 * (depth + 1) + kinds] = rng.standard_gamma(rules.weight_shape) / rules.weight_rate
    count = draw_all(rng, inputs, new_width, new_depth, outputs, state.precisions, rules.scaled, proposed)
    born[:count] = proposed[:count]
    prior = log_prior(proposed, inputs, new_width, new_depth, outputs, state.precisions, rules.scaled)
    old_prior = log_prior(state.theta, inputs, width, depth, outputs, state.precisions, rules.scaled)
    w, d = rules.lowest_width, rules.lowest_depth
    factors[ARCHITECTURE] = rules.log_width_prior[new_width - w] - rules.log_width_prior[width - w]
    factors[ARCHITECTURE] += rules.log_depth_prior[new_depth - d] - rules.log_depth_prior[depth - d]
    factors[WEIGHTS] = prior - old_prior
    if not rules.wrong & NO_PROPOSAL:
        factors[PROPOSAL] = old_prior - prior
    return new_width, new_depth, count, 1.0


@kernel
def _make_split(rng, state, rules, birth, slot, factors, proposed, born):
    """`make`, where a unit is split, or two are merged."""
    inputs, width, _, outputs = architecture(state.ints)
    now, prior, sign = state.theta, state.precisions, 1.0 if birth else -1.0
    large, small = (width + 1, width) if birth else (width, width - 1)
    partner = int(rng.random() * small)
    if birth:
        count, log_g = split_unit(rng, now, inputs, width, outputs, slot, partner, rules.split_scale, prior, rules.scaled, proposed, born)
    else:
        count, log_g = merge_units(now, inputs, width, outputs, slot, partner, rules.split_scale, prior, rules.scaled, proposed, born)
    here = width - rules.lowest_width
    factors[ARCHITECTURE] = rules.log_width_prior[here + int(sign)] - rules.log_width_prior[here]
    factors[WEIGHTS] = log_prior(proposed, inputs, width + int(sign), 1, outputs, prior, rules.scaled)
    factors[WEIGHTS] -= log_prior(now, inputs, width, 1, outputs, prior, rules.scaled)
    if not rules.wrong & NO_PROPOSAL:
        factors[PROPOSAL] = -sign * log_g
    pairs = math.log(large) + math.log(small)
    if not rules.wrong & SLOT_ONCE:
        factors[SLOT_BIRTH], factors[SLOT_DEATH] = sign * pairs, -sign * pairs
    elif birth:
        factors[SLOT_DEATH] = -pairs
    return width + int(sign), 1, count, 1.0


@kernel
def make(rng, state, rules, move, slot, choice, factors, proposed, born):
    """Write the proposal of a chosen jump and all factors but the likelihood's.

    Returns the width and depth proposed, the number of parameters born or dying, and the stretch of the kept weights.
    """
    inputs, width, depth, outputs = architecture(state.ints)
    now, prior = state.theta, state.precisions
    birth = move == 0 or move == 2
    sign = 1.0 if birth else -1.0
    factors[:] = 0.0
    if not rules.wrong & NO_END_POINTS:
        factors[CHOICE] = choice
    if rules.way == REDRAW:
        return _make_anew(rng, state, rules, move, factors, proposed, born)
    if move >= 2:
        if birth:
            if rules.weight_rate > 0.0:  # the new layer's precisions come from their prior, which cancels
                for kinds in range(2):
                    gamma = rng.standard_gamma(rules.weight_shape)
                    prior[2 * (depth + 1) + kinds] = gamma / rules.weight_rate
            count, log_g = add_layer(rng, now, inputs, width, depth, outputs, prior, rules.scaled, proposed, born)
        else:
            count, log_g = drop_layer(now, inputs, width, depth, outputs, prior, rules.scaled, proposed, born)
        here = depth - rules.lowest_depth
        factors[ARCHITECTURE] = rules.log_depth_prior[here + int(sign)] - rules.log_depth_prior[here]
        factors[WEIGHTS], factors[PROPOSAL] = sign * log_g, -sign * log_g
        return width, depth + int(sign), count, 1.0
    large, small = (width + 1, width) if birth else (width, width - 1)
    if rules.way == SPLIT:
        return _make_split(rng, state, rules, birth, slot, factors, proposed, born)
    stretch = 1.0
    if rules.way == STRETCH:
        stretch = math.sqrt(small / large) if birth else math.sqrt(large / small)
    if birth:
        count, log_g, kept = add_unit(rng, now, inputs, width, depth, outputs, slot, stretch, prior, rules.scaled, proposed, born)
    else:
        count, log_g, kept = drop_unit(now, inputs, width, depth, outputs, slot, stretch, prior, rules.scaled, proposed, born)
    here = width - rules.lowest_width
    factors[ARCHITECTURE] = rules.log_width_prior[here + int(sign)] - rules.log_width_prior[here]
    factors[WEIGHTS], factors[PROPOSAL] = sign * log_g + kept, -sign * log_g
    if not rules.wrong & SLOT_ONCE:
        factors[SLOT_BIRTH], factors[SLOT_DEATH] = sign * math.log(large), -sign * math.log(large)
    elif birth:
        factors[SLOT_DEATH] = -math.log(large)
    if not rules.wrong & NO_JACOBIAN:
        kept_weights = small * outputs + (depth - 1) * small * small
        factors[JACOBIAN] = kept_weights * math.log(stretch)
    return width + int(sign), depth, count, stretch


@kernel
def propose(rng, state, rules, factors, proposed, born):
    """Choose a jump from the present state, write the proposal and all factors but the likelihood's.

    Returns the move, the slot, the width and depth proposed, the number of parameters born or dying, and the stretch of
    the kept weights.
    """
    move, slot, choice = choose(rng, state, rules)
    if rules.way == REDRAW and move < 2:  # no unit stands out: the last place is the one that is filled or emptied
        slot = state.ints[SIZES + 1] - (1 if move == 1 else 0)
    width, depth, count, stretch = make(rng, state, rules, move, slot, choice, factors, proposed, born)
    return move, slot, width, depth, count, stretch


@kernel
def move_to(state, theta, width, depth):
    inputs, _, _, outputs = architecture(state.ints)
    set_architecture(state.ints, width, depth)
    for i in range(dimension(inputs, width, depth, outputs)):
        state.theta[i] = theta[i]


@kernel
def total_of(factors):
    total = 0.0
    for factor in factors:
        total += factor
    return total


@kernel
def begin_move(address, data, state, rules, dim):
    """Put the precisions in force where the target reads them, and evaluate it at the present parameters."""
    _, width, depth, _ = architecture(state.ints)
    own = state.precisions.size
    for layer in range(1, depth + 2):
        for biases in range(2):
            which = (2 * layer if layer <= depth else 0) + biases
            state.scratch[which] = precision_of(state.precisions, layer, depth, biases, width, rules.scaled)
    state.scratch[own - 1] = state.precisions[own - 1]
    state.running[0] = log_density_at(address, state.theta[:dim], state.gradient[:dim], data, state.ints, state.scratch)


@kernel
def _draw_precisions(rng, state, rules):
    """Gibbs: precision ~ Gamma(shape + n / 2, rate + sum of squares / 2), for each layer and for the noise."""
    inputs, width, depth, outputs = architecture(state.ints)
    if rules.weight_rate > 0.0:
        first = 0
        for layer in range(1, depth + 2):
            n_in, n_out = inputs if layer == 1 else width, width if layer <= depth else outputs
            for biases in range(2):
                count = n_out if biases == 1 else n_in * n_out
                squares = 0.0
                for j in range(first, first + count):
                    squares += state.theta[j] * state.theta[j]
                if rules.scaled and layer > 1 and biases == 0:
                    squares *= width
                gamma = rng.standard_gamma(rules.weight_shape + 0.5 * count)
                which = (2 * layer if layer <= depth else 0) + biases
                state.precisions[which] = gamma / (rules.weight_rate + 0.5 * squares)
                first += count
    if rules.noise_rate > 0.0 and state.ints[1] == GAUSSIAN:
        last = state.precisions.size - 1
        half = 0.5 * state.ints[0] * outputs
        old = state.precisions[last]
        half_squares = (half * math.log(old / (2.0 * math.pi)) - state.log_likelihood[0]) / old
        new = rng.standard_gamma(rules.noise_shape + half) / (rules.noise_rate + half_squares)
        state.precisions[last] = new
        state.log_likelihood[0] = half * math.log(new / (2.0 * math.pi)) - new * half_squares


@kernel
def note_jump(ledger, i, j, move, slot, width, depth, factors, rejection, log_ratio, uniform, accepted, born, count):
    """Write one jump, that came from `width` and `depth`, to row (i, j)."""
    ledger.move[i, j], ledger.slot[i, j] = move, slot
    ledger.width[i, j], ledger.depth[i, j] = width, depth
    for f in range(len(FACTORS)):
        ledger.factors[i, j, f] = factors[f]
    ledger.rejection[i, j] = rejection
    ledger.log_ratio[i, j], ledger.uniform[i, j], ledger.accepted[i, j] = log_ratio, uniform, accepted
    for p in range(ledger.parameters.shape[2]):
        ledger.parameters[i, j, p] = born[p] if p < count else np.nan


@kernel
def begin_sweep(i, trace):
    """Nothing has been tried or spent in the jumps of row i."""
    for move in range(len(MOVES)):
        trace.proposed[i, move], trace.jumped[i, move] = 0, 0
    trace.gradient_evaluations[i] = 0


@kernel
def end_sweep(data, rng, state, rules, out_of_date, i, trace):
    """After the jumps: what the state keeps, the precisions, row i."""
    if out_of_date:
        take_stock(data, state)
    _draw_precisions(rng, state, rules)
    note_state(state, rules, i, trace)


@kernel
def likelihood_after(proposed, move, slot, width, depth, stretch, data, state, proposed_outputs):
    """Log likelihood of the proposal of a jump to `width` and `depth`; what it would keep of the outputs goes to
    `proposed_outputs`.
    """
    noise_precision = state.precisions[state.precisions.size - 1]
    _, old_width, old_depth, _ = architecture(state.ints)
    if state.hidden.size > 0:
        birth = move == 0
        return changed(
            proposed if birth else state.theta,
            max(width, old_width),
            slot,
            birth,
            stretch,
            data,
            state.ints,
            state.scratch,
            noise_precision,
            state.hidden,
            state.outputs,
            state.units[old_width if birth else slot],
            proposed_outputs,
        )
    set_architecture(state.ints, width, depth)
    log_likelihood = whole(proposed, data, state.ints, state.scratch, noise_precision)
    set_architecture(state.ints, old_width, old_depth)
    return log_likelihood


@kernel
def accept_jump(state, proposed, move, slot, width, depth, log_likelihood, proposed_outputs):
    """Move to the proposal. Returns whether what the state keeps is out of date."""
    _, old_width, _, _ = architecture(state.ints)
    move_to(state, proposed, width, depth)
    state.log_likelihood[0] = log_likelihood
    if state.hidden.size > 0:
        state.outputs[:] = proposed_outputs
        if move == 0:
            insert_row(state.units, old_width, slot)
        else:
            remove_row(state.units, old_width, slot)
    state.accepted[0] += 1
    return state.accepted[0] == REFRESH


@kernel
def jump_sweeps(data, rng, state, rules, jumps, moved, first, n, trace, ledger):
    """n times: `jumps` jumps, precisions, a row of the trace and of the ledger, from row `first` on.

    moved : the parameters have changed since the last call, so that what the state keeps of them is out of date

    Random numbers of a jump in order: neuron or layer, birth or death (each only where there is a choice), the slot,
    the new parameters, the uniform that decides.
    """
    proposed, born, factors = np.empty(state.theta.size), np.empty(state.theta.size), np.empty(len(FACTORS))
    proposed_outputs = np.zeros(state.outputs.shape)
    detailed = ledger.move.shape[0] > 0
    out_of_date = moved
    for i in range(first, first + n):
        begin_sweep(i, trace)
        for j in range(jumps):
            if out_of_date:
                take_stock(data, state)
            _, old_width, old_depth, _ = architecture(state.ints)
            move, slot, width, depth, count, stretch = propose(rng, state, rules, factors, proposed, born)
            log_likelihood = likelihood_after(proposed, move, slot, width, depth, stretch, data, state, proposed_outputs)
            factors[LIKELIHOOD] = log_likelihood - state.log_likelihood[0]
            log_ratio = total_of(factors)
            uniform = rng.random()
            accepted = uniform < math.exp(min(log_ratio, 0.0))  # False for NaN: where the likelihood is lost, no way in
            out_of_date = accepted and accept_jump(state, proposed, move, slot, width, depth, log_likelihood, proposed_outputs)
            trace.proposed[i, move] += 1
            trace.jumped[i, move] += accepted
            if detailed:
                note_jump(ledger, i, j, move, slot, old_width, old_depth, factors, 0.0, log_ratio, uniform, accepted, born, count)
        end_sweep(data, rng, state, rules, out_of_date, i, trace)
        out_of_date = False


@kernel
def note_state(state, rules, i, trace):
    """Write the state to row i."""
    inputs, width, depth, outputs = architecture(state.ints)
    dim = dimension(inputs, width, depth, outputs)
    for p in range(trace.draws.shape[1]):
        trace.draws[i, p] = state.theta[p] if p < dim else np.nan
    for p in range(state.precisions.size):
        unused = 2 * (depth + 1) <= p < state.precisions.size - 1
        trace.precisions[i, p] = np.nan if unused else state.precisions[p]
    trace.width[i], trace.depth[i] = width, depth
    trace.log_likelihood[i] = state.log_likelihood[0]
    trace.log_density[i] = state.log_likelihood[0] + prior_of(state, rules)
