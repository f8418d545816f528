"""Delayed rejection across dimensions: a birth or death that is refused is tried a second time.

With the ratio of the bare birth `R1(x, y) = lik ratio x p(u) / g1(u) x p(k+1) / p(k) x d(k+1) / b(k)`:

Birth: slot i, u1 ~ g1, y1 = x with u1 at i, accepted with min(1, R1(x, y1)). If refused, u2 ~ g2(. | x, i, u1), y2 = x
with u2 at i, accepted with min(1, R2), where R2 is R1(x, y2) with g2(u2) in place of g1(u2), times

    [1 - min(1, 1 / R1(x, y2))] / [1 - min(1, R1(x, y1))]

Death: unit i of y2 goes, x is accepted with min(1, 1 / R1(x, y2)). If refused, the way back needs a first draw that
failed: an auxiliary u1 ~ g1 makes y1, and the same x is accepted with min(1, 1 / R2). Each stage has a uniform of its
own. In fixed dimension the ratio has another form (see `engine.samplers.delayed_rejection`), which cannot cross: from
y2 the first proposal is a death and never y1.

g1 is the prior. The second draw is *narrow*: the weights that lead out of the new unit are N(0, (scale sd)^2), sd that
of the prior, those that lead in come from the prior; the weights and biases of a new layer have this spread around the
identity. Or it is *informed*, in networks with one hidden layer: the weights in come from the prior, and given them the
weights out from the normal density that one Newton step from 0 finds for them, `N(P^-1 s, scale^2 P^-1)`, s the slope
and -P the curvature of the log posterior of these weights alone.

Wrong on purpose: "no_rejection_terms" leaves the factor of the 1 - min(...) out; "no_auxiliary" draws no u1 at a death
and takes its factor 1 - min(1, R1(x, y1)) for 1.

Source: Tierney and Mira 1999; Green and Mira 2001. Not the move that Berezowski 2021, section 5.3.2, gives this name:
there moves of the new network's weights follow the jump before it is first judged, and nothing is tried after a
rejection. With such moves on both sides that is `jump="palindromic"`, see `engine.jumps.run`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.jumps.bridges import INCOMING, KEPT, describe
from engine.jumps.growth import HALF_LOG_2PI
from engine.jumps.likelihood import changed, informed_normal, whole
from engine.jumps.sweep import (
    FACTORS,
    LIKELIHOOD,
    NO_AUXILIARY,
    NO_REJECTION_TERMS,
    PROPOSAL,
    WEIGHTS,
    accept_jump,
    architecture,
    begin_sweep,
    end_sweep,
    likelihood_after,
    note_jump,
    propose,
    set_architecture,
    take_stock,
    total_of,
)
from engine.kernels import kernel

Array = NDArray[np.float64]

SECONDS = ("narrow", "informed")
STAGES = 2


class Second(NamedTuple):
    """The second draw: whether it is informed, and its scale."""

    informed: bool
    scale: float


class Work(NamedTuple):
    """Space of one call: prior precision of every parameter and what it is to the new unit (max_dim,), a point, what is
    new in it, the kept outputs of the second proposal, and the normal of the informed draw.
    """

    precision: Array
    kind: NDArray[np.int8]
    other: Array
    born: Array
    outputs: Array
    outgoing: NDArray[np.int64]
    root: Array
    slope: Array


@kernel
def _log_normal(x, mean, sd):
    z = (x - mean) / sd
    return -0.5 * z * z - math.log(sd) - HALF_LOG_2PI


@kernel
def _log_refused(log_ratio):
    """log(1 - min(1, exp(log_ratio))); a ratio that is not a number counts as 0."""
    if log_ratio >= 0.0:
        return -np.inf
    return math.log(-math.expm1(log_ratio)) if log_ratio < 0.0 else 0.0


@kernel
def _centre(move, at, first_new, width):
    """Mean of the narrow draw: 0, but 1 on the diagonal of a new layer's weights."""
    cell = at - first_new
    return 1.0 if move >= 2 and cell < width * width and cell // width == cell % width else 0.0


@kernel
def _draw_first(rng, dim, precision, kind, theta):
    """Draw what is new in theta (dim,) from the prior."""
    for at in range(dim):
        if kind[at] != KEPT:
            theta[at] = rng.standard_normal() / math.sqrt(precision[at])


@kernel
def _solve(root, slope, scale, draw, rng, theta, outgoing, count):
    """Log density of theta[outgoing] under N(P^-1 slope, scale^2 P^-1), P given in `root`, which is overwritten by its
    Cholesky factor; before that, with `draw`, they are drawn from it.
    """
    for i in range(count):
        for j in range(i + 1):
            total = root[i, j]
            for m in range(j):
                total -= root[i, m] * root[j, m]
            root[i, j] = math.sqrt(total) if i == j else total / root[j, j]
    for i in range(count):  # P = L L', mean = L^-T L^-1 slope
        for m in range(i):
            slope[i] -= root[i, m] * slope[m]
        slope[i] /= root[i, i]
    z = np.empty(count)
    if draw:
        # L' theta = L^-1 slope + scale z
        for i in range(count):
            z[i] = slope[i] + scale * rng.standard_normal()
        for i in range(count - 1, -1, -1):
            value = z[i]
            for m in range(i + 1, count):
                value -= root[m, i] * theta[outgoing[m]]
            theta[outgoing[i]] = value / root[i, i]
    log_density = 0.0
    for i in range(count):
        value = -slope[i]
        for m in range(i, count):
            value += root[m, i] * theta[outgoing[m]]
        log_density += _log_normal(value, 0.0, scale) + math.log(root[i, i])
    return log_density


@kernel
def _second_draw(rng, draw, second, move, slot, width, data, state, outputs, unit, dim, work, theta):
    """Log density g2 of what is new in theta (dim,), and with `draw` first draw it.

    width : of the larger network; outputs : kept outputs of the smaller; unit : row of `state.hidden`, filled with the
    new unit's values where the draw is informed
    """
    precision, kind, outgoing = work.precision, work.kind, work.outgoing
    log_density, count, first_new = 0.0, 0, -1
    for at in range(dim):
        if kind[at] == KEPT:
            continue
        if first_new < 0:
            first_new = at
        sd = 1.0 / math.sqrt(precision[at])
        if kind[at] == INCOMING:
            if draw:
                theta[at] = sd * rng.standard_normal()
            log_density += _log_normal(theta[at], 0.0, sd)
        elif second.informed:
            outgoing[count] = at
            count += 1
        else:
            centre, spread = _centre(move, at, first_new, width), second.scale * sd
            if draw:
                theta[at] = centre + spread * rng.standard_normal()
            log_density += _log_normal(theta[at], centre, spread)
    if second.informed:
        noise_precision = state.precisions[state.precisions.size - 1]
        informed_normal(
            theta,
            width,
            slot,
            precision[outgoing[0]],
            data,
            state.ints,
            state.scratch,
            noise_precision,
            state.hidden,
            outputs,
            unit,
            work.root,
            work.slope,
        )
        log_density += _solve(work.root, work.slope, second.scale, draw, rng, theta, outgoing, count)
    return log_density


@kernel
def _new(dim, kind, theta, born):
    """Copy what is new in theta (dim,) to `born`."""
    count = 0
    for at in range(dim):
        if kind[at] != KEPT:
            born[count] = theta[at]
            count += 1


@kernel
def _birth_again(rng, data, state, rules, second, move, slot, width, depth, factors, proposed, spare, work):
    """Second stage of a refused birth: `proposed` becomes y2, the factors and `work.born` its own. Returns its log
    likelihood and the log ratio of the first stage of the way back.
    """
    _, old_width, old_depth, _ = architecture(state.ints)
    set_architecture(state.ints, width, depth)
    dim = describe(state, rules, slot, work.precision, work.kind)
    set_architecture(state.ints, old_width, old_depth)
    unit = state.units[old_width] if second.informed else 0
    log_g2 = _second_draw(rng, True, second, move, slot, width, data, state, state.outputs, unit, dim, work, proposed)
    log_g1 = 0.0
    for at in range(dim):
        if work.kind[at] != KEPT:
            log_g1 += _log_normal(proposed[at], 0.0, 1.0 / math.sqrt(work.precision[at]))
    log_likelihood = likelihood_after(proposed, move, slot, width, depth, 1.0, data, state, spare)
    kept = factors[WEIGHTS] + factors[PROPOSAL]
    factors[LIKELIHOOD] = log_likelihood - state.log_likelihood[0]
    factors[WEIGHTS], factors[PROPOSAL] = kept + log_g1, -log_g1
    back = -total_of(factors)
    factors[PROPOSAL] = -log_g2
    _new(dim, work.kind, proposed, work.born)
    return log_likelihood, back


@kernel
def _death_again(rng, data, state, rules, second, move, slot, log_likelihood, factors, spare, work):
    """Second stage of a refused death, whose factors become those of this stage; the auxiliary y1 goes to
    `work.other`, what is new in it to `work.born`. Returns the log ratio of the first stage of the way back.

    log_likelihood, spare : of x, the smaller network: its log likelihood and kept outputs
    """
    _, width, _, _ = architecture(state.ints)
    dim = describe(state, rules, slot, work.precision, work.kind)
    work.other[:dim] = state.theta[:dim]
    back = -np.inf
    if not rules.wrong & NO_AUXILIARY:
        _draw_first(rng, dim, work.precision, work.kind, work.other)
        noise_precision = state.precisions[state.precisions.size - 1]
        if state.hidden.size > 0:
            back = changed(
                work.other,
                width,
                slot,
                True,
                1.0,
                data,
                state.ints,
                state.scratch,
                noise_precision,
                state.hidden,
                spare,
                state.hidden.shape[1] - 1,
                work.outputs,
            )
        else:
            back = whole(work.other, data, state.ints, state.scratch, noise_precision)
        rest = total_of(factors) - factors[LIKELIHOOD]
        back -= log_likelihood + rest
    unit = state.units[slot] if second.informed else 0
    log_g2 = _second_draw(rng, False, second, move, slot, width, data, state, spare, unit, dim, work, state.theta)
    factors[PROPOSAL] = log_g2
    _new(dim, work.kind, work.other, work.born)
    return back


@kernel
def _note_stage(ledger, i, j, stage, factors, rejection, log_ratio, uniform, born, count):
    for f in range(len(FACTORS)):
        ledger.stage_factors[i, j, stage, f] = factors[f]
    ledger.stage_rejection[i, j, stage], ledger.stage_log_ratio[i, j, stage] = rejection, log_ratio
    ledger.stage_uniform[i, j, stage] = uniform
    for p in range(ledger.stage_parameters.shape[3]):
        ledger.stage_parameters[i, j, stage, p] = born[p] if p < count else np.nan


@kernel
def delayed_sweeps(data, rng, state, rules, second, jumps, moved, first, n, trace, ledger):
    """What `engine.jumps.sweep.jump_sweeps` does, by delayed jumps.

    Random numbers of a jump in order: those of the bare jump; if it is refused, the second draw of a birth or the
    auxiliary draw of a death, and a uniform.
    """
    size = state.theta.size
    largest = state.outputs.shape[1] + 1
    work = Work(
        np.empty(size),
        np.empty(size, np.int8),
        np.empty(size),
        np.empty(size),
        np.zeros(state.outputs.shape),
        np.empty(size, np.int64),
        np.empty((largest, largest)),
        np.empty(largest),
    )
    proposed, born, factors = np.empty(size), np.empty(size), np.empty(len(FACTORS))
    spare = np.zeros(state.outputs.shape)
    detailed = ledger.move.shape[0] > 0
    out_of_date = moved
    for i in range(first, first + n):
        begin_sweep(i, trace)
        for j in range(jumps):
            if out_of_date:
                take_stock(data, state)
            _, old_width, old_depth, _ = architecture(state.ints)
            move, slot, width, depth, count, _ = propose(rng, state, rules, factors, proposed, born)
            birth = move == 0 or move == 2
            log_likelihood = likelihood_after(proposed, move, slot, width, depth, 1.0, data, state, spare)
            factors[LIKELIHOOD] = log_likelihood - state.log_likelihood[0]
            log_ratio, rejection = total_of(factors), 0.0
            uniform = rng.random()
            accepted = uniform < math.exp(min(log_ratio, 0.0))  # False for NaN
            if detailed:
                _note_stage(ledger, i, j, 0, factors, 0.0, log_ratio, uniform, born, count)
                _note_stage(ledger, i, j, 1, np.full(len(FACTORS), np.nan), np.nan, np.nan, np.nan, born, 0)
                ledger.back_log_ratio[i, j, 0] = np.nan
            if not accepted:
                refused = _log_refused(log_ratio)
                if birth:
                    log_likelihood, back = _birth_again(
                        rng, data, state, rules, second, move, slot, width, depth, factors, proposed, spare, work
                    )
                else:
                    back = _death_again(rng, data, state, rules, second, move, slot, log_likelihood, factors, spare, work)
                if not rules.wrong & NO_REJECTION_TERMS:
                    rejection = _log_refused(back) - refused
                log_ratio = total_of(factors) + rejection
                uniform = rng.random()
                accepted = uniform < math.exp(min(log_ratio, 0.0))
                if detailed:
                    _note_stage(ledger, i, j, 1, factors, rejection, log_ratio, uniform, work.born, count)
                    ledger.back_log_ratio[i, j, 0] = back
                if birth:
                    born[:count] = work.born[:count]
            if detailed:
                note_jump(ledger, i, j, move, slot, old_width, old_depth, factors, rejection, log_ratio, uniform, accepted, born, count)
            out_of_date = accepted and accept_jump(state, proposed, move, slot, width, depth, log_likelihood, spare)
            trace.proposed[i, move] += 1
            trace.jumped[i, move] += accepted
        end_sweep(data, rng, state, rules, out_of_date, i, trace)
        out_of_date = False
