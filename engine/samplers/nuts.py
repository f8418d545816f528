"""The No-U-Turn Sampler: Hamiltonian Monte Carlo that finds out by itself how far to go.

A trajectory grows by doubling, forwards or backwards in time by a coin, until its ends approach each other. Multinomial
form (default): a state weighs exp(-H); inside an extension the proposal is drawn in proportion to the weights, between
the trajectory and its extension it is the extension's with probability min(1, w_new / w_old). Go on if and only if `v-
. rho > 0` and `v+ . rho > 0`, with `v = M^-1 p` at the ends and `rho` the sum of all momenta, and the same over the
left half with the first state of the right one, and over the right half with the last state of the left one. Slice
form: weights 1 or 0 by `log u <= -H`; go on if and only if `(q+ - q-) . p- >= 0` and `(q+ - q-) . p+ >= 0`. An
extension that turns or diverges inside is thrown away; when the whole trajectory turns, its draw is kept and the
trajectory ends.

Sources: Hoffman & Gelman 2014 (slice, algorithms 3 and 6); Betancourt 2017, A conceptual introduction to HMC, appendix
A.

The tree is built without recursion. Leaf number i of an extension completes one subtree for each trailing 1 in the
binary form of i, so at most one finished subtree of each size waits for its other half, in a slot numbered by its
level.

Wrong on purpose (`variant`):
- "aliased_momentum": inside an extension both ends share one momentum, the last one written, as in a well-known demo
  whose integrator changed its caller's array; the U-turn test is then no longer the same in both directions of time,
  and draws come out too wide;
- "final_accept": another accept step at the end, with the acceptance statistic as probability (the same source): the
  chain stays too long wherever the steps fit badly, in the narrow parts of a target or in the middle of a round one.

Right but slow: "reversed_dot" gives the second dot product the wrong sign (a misprint in print). The test still depends
on the set of states alone, so the draws are right, but the trajectory stops after one step: a slow random walk.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.kernels import FASTMATH, kernel, log_density_at
from engine.samplers import adaptation as adapting
from engine.samplers.adaptation import DONE, STEP, TOTAL, learn, mass_of
from engine.samplers.chain import Chain, Trace
from engine.samplers.hmc import DIVERGENCE, draw_momentum, factor_mass, kinetic_energy
from engine.spec import SpecError
from engine.targets.target import Target

Array = NDArray[np.float64]
Whole = NDArray[np.int32]

SAMPLINGS = ("multinomial", "slice")
VARIANTS = ("exact", "aliased_momentum", "reversed_dot", "final_accept")
ADAPTED_MASSES = ("diagonal", "dense")
MAX_DEPTH = 14
MAX_LEAVES = 2**MAX_DEPTH - 1

# How a doubling, and a transition, ended.
JOINED, TURNED_INSIDE, DIVERGED, TURNED, TOO_DEEP = range(5)
ENDINGS = ("joined", "turned inside the extension", "diverged", "turned", "maximum depth")

_LARGE = 300.0  # log weights are kept this close to the reference, so that their exponentials stay in range


class NutsTransitions(NamedTuple):
    """The inside of NUTS transitions, n of them; up to R = max_leaves + 1 states and K = max_leaves subtrees of each
    are kept.

    A state is named by its time: 0 is the start, +3 three leapfrog steps forwards, -2 two backwards. States and
    subtrees stand in the order in which they came to be. Rows beyond `leaves` (or `nodes`) are empty: NaN, False, or 0
    for whole numbers. A transition with more states than R shows the first R.

    leaves, nodes : (n,) rows filled of the leaf_ arrays (the start included) and of the node_ arrays
    leaf_time : (n, R)
    leaf_position, leaf_momentum : (n, R, dim)
    leaf_energy : (n, R), H
    leaf_log_weight : (n, R), H at the start minus H; for the slice form 0 in the slice, -inf outside
    leaf_divergent : (n, R) bool
    node_low, node_high : (n, K), first and last time of each subtree of two or more states
    node_doubling : (n, K), the doubling that made it, from 0
    node_whole : (n, K) bool, True for the whole trajectory after a doubling, False for a subtree of an extension
    node_dots : (n, K, 6), the numbers that must be above 0 to go on: v- . rho, v+ . rho, then the two of the left half
        with the first state of the right one, then the two of the right half with the last state of the left one (NaN
        where the halves are single states, since they repeat the first two). Slice form: (q+ - q-) . p- and (q+ - q-) .
        p+, then NaN
    node_turning : (n, K) bool
    node_log_weight : (n, K), log of the sum of weights, on the scale of leaf_log_weight
    node_uniform : (n, K), the number that chose between the two halves (NaN where a turn made that needless)
    node_took_new : (n, K) bool, the half that came later gave the proposal
    node_proposal : (n, K), time of the proposal carried up (the older half's where a turn made the choice needless)
    node_kept : (n, K) bool, part of the trajectory in the end; False for what was thrown away
    doubling_coin : (n, max_depth), uniform; below 1/2 goes forwards. NaN where there was no such doubling
    doubling_direction : (n, max_depth) int8, +1 forwards, -1 backwards, 0 none
    doubling_ending : (n, max_depth) int8, index into `ENDINGS`: JOINED, TURNED_INSIDE or DIVERGED
    ending : (n,) int8, index into `ENDINGS`: why the trajectory ended
    proposal : (n,), time of the proposal, which is the draw (but see "final_accept")
    slice_uniform : (n,), U of the slice `log u = log U - H`; NaN for multinomial
    final_uniform : (n,), of "final_accept"; else NaN
    """

    leaves: Whole
    nodes: Whole
    leaf_time: Whole
    leaf_position: Array
    leaf_momentum: Array
    leaf_energy: Array
    leaf_log_weight: Array
    leaf_divergent: NDArray[np.bool_]
    node_low: Whole
    node_high: Whole
    node_doubling: Whole
    node_whole: NDArray[np.bool_]
    node_dots: Array
    node_turning: NDArray[np.bool_]
    node_log_weight: Array
    node_uniform: Array
    node_took_new: NDArray[np.bool_]
    node_proposal: Whole
    node_kept: NDArray[np.bool_]
    doubling_coin: Array
    doubling_direction: NDArray[np.int8]
    doubling_ending: NDArray[np.int8]
    ending: NDArray[np.int8]
    proposal: Whole
    slice_uniform: Array
    final_uniform: Array


@dataclass(frozen=True)
class Nuts:
    """Settings of the sampler.

    step_size : > 0; None: found during warm-up (without warm-up: only by doubling and halving at the start)
    mass : scalar, (dim,) diagonal or (dim, dim) mass matrix M; or "diagonal" or "dense": identity at first, then
        estimated during warm-up
    target_accept : in (0, 1), the mean acceptance statistic that the step size is tuned to
    max_depth : doublings at most, 1 to 14
    sampling : "multinomial" or "slice"
    variant : "exact", or one of the wrong ones
    max_energy_error : H may exceed its start by this much before the trajectory is cut off as divergent, > 0
    max_leaves : how many new states of a transition are recorded at detail "transitions" (the sampler itself always
        visits all)
    """

    name: ClassVar[str] = "nuts"
    label: ClassVar[str] = "NUTS"
    faults: ClassVar[tuple[str, ...]] = ("aliased_momentum", "final_accept")
    records: ClassVar[tuple[str, ...]] = ("energy", "tree_depth", "tree_ending", "step_size")
    step_size: float | None = None
    mass: ArrayLike | str = "diagonal"
    target_accept: float = 0.8
    max_depth: int = 10
    sampling: str = "multinomial"
    variant: str = "exact"
    max_energy_error: float = DIVERGENCE
    max_leaves: int = 255

    def prepare(self, target: Target) -> tuple[Any, ...]:
        """Validated kernel arguments. Raises SpecError naming the setting."""
        if self.step_size is not None and not (math.isfinite(self.step_size) and self.step_size > 0):
            raise SpecError("step_size", f"{self.step_size} is not a finite number above 0")
        if not 0 < self.target_accept < 1:
            raise SpecError("target_accept", f"{self.target_accept} is not between 0 and 1")
        if not 1 <= int(self.max_depth) <= MAX_DEPTH or int(self.max_depth) != self.max_depth:
            raise SpecError("max_depth", f"{self.max_depth} is not a whole number from 1 to {MAX_DEPTH}")
        if not 1 <= int(self.max_leaves) <= MAX_LEAVES or int(self.max_leaves) != self.max_leaves:
            raise SpecError("max_leaves", f"{self.max_leaves} is not a whole number from 1 to {MAX_LEAVES:,}")
        if self.sampling not in SAMPLINGS:
            raise SpecError("sampling", f"{self.sampling!r} is not one of {', '.join(SAMPLINGS)}")
        if self.variant not in VARIANTS:
            raise SpecError("variant", f"{self.variant!r} is not one of {', '.join(VARIANTS)}")
        if isinstance(self.mass, str) and self.mass not in ADAPTED_MASSES:
            raise SpecError("mass", f"{self.mass!r} is not one of {', '.join(ADAPTED_MASSES)}, nor numbers")
        if not self.max_energy_error > 0:
            raise SpecError("max_energy_error", f"{self.max_energy_error} is not above 0")
        rows = len(self._factored_mass(target.dim)[0])
        return (
            rows,
            self.step_size is None,
            isinstance(self.mass, str),
            float(self.target_accept),
            int(self.max_depth),
            SAMPLINGS.index(self.sampling) == 1,
            VARIANTS.index(self.variant),
            float(self.max_energy_error),
        )

    def _factored_mass(self, dim: int) -> tuple[Array, Array]:
        if isinstance(self.mass, str):
            return factor_mass(np.eye(dim) if self.mass == "dense" else 1.0, dim)
        return factor_mass(self.mass, dim)

    def begin(self, target: Target, chain: Chain, warmup: int) -> int:
        """Set up the adaptation of `chain` over `warmup` transitions. Returns the evaluations spent."""
        return adapting.begin(target, chain, warmup, self.step_size, *self._factored_mass(target.dim))

    def transitions(self, chains: int, n: int, dim: int) -> NutsTransitions:
        """Empty arrays for the inside of n transitions of each chain."""
        new = min(int(self.max_leaves), 2 ** int(self.max_depth) - 1)
        one, leaf, node, doubling = (
            (chains, n),
            (chains, n, new + 1),
            (chains, n, new),
            (chains, n, int(self.max_depth)),
        )
        return NutsTransitions(
            leaves=np.zeros(one, np.int32),
            nodes=np.zeros(one, np.int32),
            leaf_time=np.zeros(leaf, np.int32),
            leaf_position=np.full((*leaf, dim), np.nan),
            leaf_momentum=np.full((*leaf, dim), np.nan),
            leaf_energy=np.full(leaf, np.nan),
            leaf_log_weight=np.full(leaf, np.nan),
            leaf_divergent=np.zeros(leaf, np.bool_),
            node_low=np.zeros(node, np.int32),
            node_high=np.zeros(node, np.int32),
            node_doubling=np.zeros(node, np.int32),
            node_whole=np.zeros(node, np.bool_),
            node_dots=np.full((*node, 6), np.nan),
            node_turning=np.zeros(node, np.bool_),
            node_log_weight=np.full(node, np.nan),
            node_uniform=np.full(node, np.nan),
            node_took_new=np.zeros(node, np.bool_),
            node_proposal=np.zeros(node, np.int32),
            node_kept=np.zeros(node, np.bool_),
            doubling_coin=np.full(doubling, np.nan),
            doubling_direction=np.zeros(doubling, np.int8),
            doubling_ending=np.zeros(doubling, np.int8),
            ending=np.zeros(one, np.int8),
            proposal=np.zeros(one, np.int32),
            slice_uniform=np.full(one, np.nan),
            final_uniform=np.full(one, np.nan),
        )

    def advance(
        self, target: Target, settings: tuple[Any, ...], chain: Chain, n: int, trace: Trace, inside: NutsTransitions
    ) -> None:
        """Run n transitions, writing rows 0..n-1 of `trace` and, when it has any, of `inside`."""
        if chain.adaptation.size == 0:
            self.begin(target, chain, 0)
        nuts_chunk(*chain.arguments(target), chain.adaptation, *settings, n, trace, inside)


class _Waiting(NamedTuple):
    """Subtrees that wait for their other half: slot k holds one of 2**k states. "First" and "last" are in the order of
    making.

    first_p, first_v, last_p, last_v, rho, first_q : (max_depth, dim)
    proposal_q, proposal_g : (max_depth, dim), and proposal_log_density, proposal_energy : (max_depth,), proposal_time :
        (max_depth,)
    weight : (max_depth,)
    """

    first_p: Array
    first_v: Array
    last_p: Array
    last_v: Array
    rho: Array
    first_q: Array
    proposal_q: Array
    proposal_g: Array
    proposal_log_density: Array
    proposal_energy: Array
    proposal_time: NDArray[np.int64]
    weight: Array


def _inlined(function: Callable[..., Any]) -> Any:
    return numba.njit(nogil=True, cache=True, error_model="numpy", fastmath=FASTMATH, forceinline=True)(function)


@_inlined
def _leapfrog(address, data, ints, scratch, q, p, v, g, pull, step, inverse_mass):
    """One step in place. Returns log density and kinetic energy.

    v = M^-1 p before and after. A dense mass also keeps pull = M^-1 g, so that a step costs one product with the matrix
    and not two.
    """
    dim = q.size
    half = 0.5 * step
    twice = 0.0
    if inverse_mass.shape[0] == 1:
        for j in range(dim):
            p[j] += half * g[j]
            q[j] += step * inverse_mass[0, j] * p[j]
        log_density = log_density_at(address, q, g, data, ints, scratch)
        for j in range(dim):
            p[j] += half * g[j]
            v[j] = inverse_mass[0, j] * p[j]
        for j in range(dim):
            twice += p[j] * v[j]
        return log_density, 0.5 * twice
    for j in range(dim):
        p[j] += half * g[j]
        v[j] += half * pull[j]
        q[j] += step * v[j]
    log_density = log_density_at(address, q, g, data, ints, scratch)
    _product(inverse_mass, g, pull)
    for j in range(dim):
        p[j] += half * g[j]
        v[j] += half * pull[j]
    for j in range(dim):
        twice += p[j] * v[j]
    return log_density, 0.5 * twice


@_inlined
def _product(matrix, x, out):
    for i in range(x.size):
        total = 0.0
        for j in range(x.size):
            total += matrix[i, j] * x[j]
        out[i] = total


@_inlined
def _pair_dots(first_v, last_v, first_p, last_p):
    """Two single states: the products of the sum of their momenta with both velocities."""
    a, b = 0.0, 0.0
    for j in range(first_p.size):
        both = first_p[j] + last_p[j]
        a += first_v[j] * both
        b += last_v[j] * both
    return a, b


@_inlined
def _half_dots(first_v, old_p, old_v, old_rho, new_p, new_v, last_v, new_rho):
    """Two halves: the six products of `NutsTransitions.node_dots` in the order of making.

    (old_p, old_v): the last state of the old half; (new_p, new_v): the first state of the new half. Nothing is written
    here: with a store among so many arrays the compiler could not rule out overlap and would not vectorise.
    """
    a, b, c, d, e, f = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(old_p.size):
        both = old_rho[j] + new_rho[j]
        old = old_rho[j] + new_p[j]
        new = new_rho[j] + old_p[j]
        a += first_v[j] * both
        b += last_v[j] * both
        c += first_v[j] * old
        d += new_v[j] * old
        e += old_v[j] * new
        f += last_v[j] * new
    return a, b, c, d, e, f


@_inlined
def _span_dots(first_q, first_p, last_q, last_p, sign):
    """(q+ - q-) . p at both ends, in the order of making."""
    a, b = 0.0, 0.0
    for j in range(first_q.size):
        span = sign * (last_q[j] - first_q[j])
        a += span * first_p[j]
        b += span * last_p[j]
    return a, b


@kernel
def _record_leaf(inside, i, time, q, p, energy, log_weight, divergent):
    row = inside.leaves[i]
    if row < inside.leaf_time.shape[1]:
        inside.leaf_time[i, row] = time
        inside.leaf_position[i, row] = q
        inside.leaf_momentum[i, row] = p
        inside.leaf_energy[i, row] = energy
        inside.leaf_log_weight[i, row] = log_weight
        inside.leaf_divergent[i, row] = divergent
        inside.leaves[i] = row + 1


@kernel
def _record_node(inside, i, doubling, whole, first, last, dots, sign, turning, log_weight, uniform, took_new, proposal):
    """`first`, `last` and `dots` are in the order of making; what is kept is in the order of time."""
    row = inside.nodes[i]
    if row < inside.node_low.shape[1]:
        inside.node_low[i, row] = min(first, last)
        inside.node_high[i, row] = max(first, last)
        inside.node_doubling[i, row] = doubling
        inside.node_whole[i, row] = whole
        a, b, c, d, e, f = dots
        if sign > 0:
            inside.node_dots[i, row, 0], inside.node_dots[i, row, 1], inside.node_dots[i, row, 2] = a, b, c
            inside.node_dots[i, row, 3], inside.node_dots[i, row, 4], inside.node_dots[i, row, 5] = d, e, f
        else:
            inside.node_dots[i, row, 0], inside.node_dots[i, row, 1], inside.node_dots[i, row, 2] = b, a, f
            inside.node_dots[i, row, 3], inside.node_dots[i, row, 4], inside.node_dots[i, row, 5] = e, d, c
        inside.node_turning[i, row] = turning
        inside.node_log_weight[i, row] = log_weight
        inside.node_uniform[i, row] = uniform
        inside.node_took_new[i, row] = took_new
        inside.node_proposal[i, row] = proposal
        inside.node_kept[i, row] = True
        inside.nodes[i] = row + 1


@_inlined
def _goes_on(dots, sign, crossed, sliced, variant):
    """The U-turn test on products in the order of making."""
    a, b, c, d, e, f = dots
    if variant == 2:  # "reversed_dot": the later end in time
        if sign > 0:
            b, d, f = -b, -d, -f
        else:
            a, c, e = -a, -c, -e
    if sliced:
        return a >= 0.0 and b >= 0.0
    return a > 0.0 and b > 0.0 and (not crossed or (c > 0.0 and d > 0.0 and e > 0.0 and f > 0.0))


@kernel
def nuts_chunk(
    address,
    data,
    ints,
    scratch,
    rng,
    position,
    gradient,
    running,
    adaptation,
    rows,
    adapt_step,
    adapt_mass,
    target_accept,
    max_depth,
    sliced,
    variant,
    max_energy_error,
    n,
    trace,
    inside,
):
    """Advance one chain by n transitions. `running[0]` is the log density at `position`, `gradient` its gradient.

    Random numbers in order: momentum, then the slice; for each doubling its coin and one uniform for each merge that
    did not turn.
    """
    dim = position.size
    detailed = inside.proposal.size > 0
    inverse_mass, mass_root = mass_of(adaptation, rows, dim)
    shape = (max_depth, dim)
    waiting = _Waiting(
        np.empty(shape),
        np.empty(shape),
        np.empty(shape),
        np.empty(shape),
        np.empty(shape),
        np.empty(shape),
        np.empty(shape),
        np.empty(shape),
        np.empty(max_depth),
        np.empty(max_depth),
        np.empty(max_depth, np.int64),
        np.empty(max_depth),
    )
    ends_q, ends_p, ends_v, ends_g = np.empty((2, dim)), np.empty((2, dim)), np.empty((2, dim)), np.empty((2, dim))
    ends_pull = np.empty((2, dim))
    ends_time = np.empty(2, np.int64)
    rho, tree_rho, inner_p, inner_v, work = np.empty(dim), np.empty(dim), np.empty(dim), np.empty(dim), np.empty(dim)
    chosen_q, chosen_g = np.empty(dim), np.empty(dim)
    nothing = np.nan

    for i in range(n):
        step_size = adaptation[STEP]
        draw_momentum(rng, mass_root, work, inner_p)
        start_energy = kinetic_energy(inverse_mass, inner_p, inner_v) - running[0]
        for side in range(2):
            for j in range(dim):
                ends_q[side, j], ends_g[side, j] = position[j], gradient[j]
                ends_p[side, j], ends_v[side, j] = inner_p[j], inner_v[j]
            ends_time[side] = 0
            if rows > 1:
                _product(inverse_mass, gradient, ends_pull[side])
        for j in range(dim):
            tree_rho[j] = inner_p[j]
        chosen_time, chosen_energy, chosen_log_density = 0, start_energy, running[0]
        slice_log, limit = 0.0, max_energy_error
        if sliced:
            uniform = 1.0 - rng.random()
            slice_log = math.log(uniform)
            limit = max_energy_error - slice_log
            if detailed:
                inside.slice_uniform[i] = uniform
        if detailed:
            inside.leaves[i], inside.nodes[i] = 0, 0
            _record_leaf(inside, i, 0, position, inner_p, start_energy, 0.0, False)

        tree_weight, shift = 1.0, 0.0  # weights are exp(H_start - H - shift)
        accept_sum, evaluations, depth, ending, diverged = 0.0, 0, 0, TOO_DEEP, False
        while depth < max_depth:
            coin = rng.random()
            side = 1 if coin < 0.5 else 0
            sign = 2 * side - 1
            step = sign * step_size
            q, p, v, g, pull = ends_q[side], ends_p[side], ends_v[side], ends_g[side], ends_pull[side]
            for j in range(dim):
                inner_p[j], inner_v[j] = p[j], v[j]
            time = ends_time[side]
            node_row = inside.nodes[i] if detailed else 0

            # The extension: 2**depth leaves from this end.
            outcome = JOINED
            for leaf in range(1 << depth):
                log_density, kinetic = _leapfrog(address, data, ints, scratch, q, p, v, g, pull, step, inverse_mass)
                energy = kinetic - log_density
                time += sign
                evaluations += 1
                log_weight = start_energy - energy
                weight = 0.0
                if log_weight >= 0.0:
                    accept_sum += 1.0
                    weight = math.exp(log_weight - shift) if log_weight - shift <= _LARGE else 1.0
                elif log_weight < 0.0:
                    weight = math.exp(log_weight)
                    accept_sum += weight
                    if shift != 0.0:
                        weight = math.exp(log_weight - shift)
                if not (math.isfinite(energy) and -log_weight <= limit):
                    outcome = DIVERGED
                if sliced:
                    weight = 1.0 if slice_log <= log_weight else 0.0
                    log_weight = 0.0 if weight > 0.0 else -np.inf
                elif log_weight - shift > _LARGE:
                    factor = math.exp(shift - log_weight)
                    shift = log_weight
                    tree_weight *= factor
                    for level in range(max_depth):
                        waiting.weight[level] *= factor
                if detailed:
                    _record_leaf(inside, i, time, q, p, energy, log_weight, outcome == DIVERGED)
                if outcome == DIVERGED:
                    break

                # Join the halves that this leaf completes.
                level, chosen = 0, -1  # the slot of the current subtree's proposal; -1: the leaf itself
                turning = False
                while (leaf >> level) & 1:
                    first_p, first_v = waiting.first_p[level], waiting.first_v[level]
                    crossed = False
                    if sliced:
                        start_p = p if variant == 1 else first_p
                        a, b = _span_dots(waiting.first_q[level], start_p, q, p, sign)
                        dots = (a, b, nothing, nothing, nothing, nothing)
                    elif level == 0:
                        a, b = _pair_dots(v if variant == 1 else first_v, v, first_p, p)
                        dots = (a, b, nothing, nothing, nothing, nothing)
                        for j in range(dim):
                            rho[j] = first_p[j] + p[j]
                    else:
                        crossed = True
                        if variant == 1:
                            dots = _half_dots(v, p, v, waiting.rho[level], p, v, v, rho)
                        else:
                            dots = _half_dots(
                                first_v,
                                waiting.last_p[level],
                                waiting.last_v[level],
                                waiting.rho[level],
                                waiting.first_p[level - 1],
                                waiting.first_v[level - 1],
                                v,
                                rho,
                            )
                        for j in range(dim):
                            rho[j] += waiting.rho[level, j]
                    turning = not _goes_on(dots, sign, crossed, sliced, variant)
                    together = waiting.weight[level] + weight
                    uniform, took_new = nothing, False
                    if not turning:
                        uniform = rng.random()
                        took_new = uniform * together < weight
                    if not took_new:
                        chosen = level
                    weight = together
                    if detailed:
                        _record_node(
                            inside,
                            i,
                            depth,
                            False,
                            time - sign * ((2 << level) - 1),
                            time,
                            dots,
                            sign,
                            turning,
                            math.log(together) + shift,
                            uniform,
                            took_new,
                            time if chosen < 0 else waiting.proposal_time[chosen],
                        )
                    if turning:
                        break
                    level += 1
                if turning:
                    outcome = TURNED_INSIDE
                    break

                # The subtree now waits in slot `level`; what it is made of was in the slots below.
                waiting.weight[level] = weight
                if chosen < 0:
                    for j in range(dim):
                        waiting.proposal_q[level, j], waiting.proposal_g[level, j] = q[j], g[j]
                    (
                        waiting.proposal_log_density[level],
                        waiting.proposal_energy[level],
                        waiting.proposal_time[level],
                    ) = log_density, energy, time
                else:
                    for j in range(dim):
                        waiting.proposal_q[level, j], waiting.proposal_g[level, j] = (
                            waiting.proposal_q[chosen, j],
                            waiting.proposal_g[chosen, j],
                        )
                    waiting.proposal_log_density[level] = waiting.proposal_log_density[chosen]
                    waiting.proposal_energy[level] = waiting.proposal_energy[chosen]
                    waiting.proposal_time[level] = waiting.proposal_time[chosen]
                if level == 0:
                    for j in range(dim):
                        waiting.first_p[0, j], waiting.first_v[0, j] = p[j], v[j]
                    if sliced:
                        for j in range(dim):
                            waiting.first_q[0, j] = q[j]
                else:
                    for j in range(dim):
                        waiting.first_p[level, j], waiting.first_v[level, j] = (
                            waiting.first_p[level - 1, j],
                            waiting.first_v[level - 1, j],
                        )
                        waiting.last_p[level, j], waiting.last_v[level, j], waiting.rho[level, j] = p[j], v[j], rho[j]
                    if sliced:
                        for j in range(dim):
                            waiting.first_q[level, j] = waiting.first_q[level - 1, j]
            ends_time[side] = time
            if detailed:
                inside.doubling_coin[i, depth] = coin
                inside.doubling_direction[i, depth] = sign
                inside.doubling_ending[i, depth] = outcome
            if outcome != JOINED:
                ending = outcome
                diverged = outcome == DIVERGED
                if detailed:
                    inside.node_kept[i, node_row : inside.nodes[i]] = False
                break

            # Join the extension to the trajectory.
            new_weight = waiting.weight[depth]
            uniform = rng.random()
            took_new = uniform * tree_weight < new_weight
            if took_new:
                for j in range(dim):
                    chosen_q[j], chosen_g[j] = waiting.proposal_q[depth, j], waiting.proposal_g[depth, j]
                chosen_time, chosen_energy = waiting.proposal_time[depth], waiting.proposal_energy[depth]
                chosen_log_density = waiting.proposal_log_density[depth]
            tree_weight += new_weight
            far = 1 - side
            if sliced:
                a, b = _span_dots(ends_q[far], ends_p[far], q, p, sign)
                dots = (a, b, nothing, nothing, nothing, nothing)
            elif depth == 0:
                a, b = _pair_dots(inner_v, v, inner_p, p)
                dots = (a, b, nothing, nothing, nothing, nothing)
                for j in range(dim):
                    tree_rho[j] += p[j]
            else:
                new_rho = waiting.rho[depth]
                dots = _half_dots(
                    ends_v[far], inner_p, inner_v, tree_rho, waiting.first_p[depth], waiting.first_v[depth], v, new_rho
                )
                for j in range(dim):
                    tree_rho[j] += new_rho[j]
            turning = not _goes_on(dots, sign, depth > 0, sliced, variant)
            if detailed:
                _record_node(
                    inside,
                    i,
                    depth,
                    True,
                    ends_time[far],
                    time,
                    dots,
                    sign,
                    turning,
                    math.log(tree_weight) + shift,
                    uniform,
                    took_new,
                    chosen_time,
                )
            depth += 1
            if turning:
                ending = TURNED
                break

        accept = accept_sum / evaluations
        moved = chosen_time != 0
        if variant == 3:
            uniform = rng.random()
            moved = moved and uniform < accept
            if detailed:
                inside.final_uniform[i] = uniform
        if moved:
            running[0] = chosen_log_density
            for j in range(dim):
                position[j], gradient[j] = chosen_q[j], chosen_g[j]
        if detailed:
            inside.ending[i] = ending
            inside.proposal[i] = chosen_time
        if adaptation[DONE] < adaptation[TOTAL]:
            evaluations += learn(
                address,
                data,
                ints,
                scratch,
                rng,
                position,
                gradient,
                running,
                adaptation,
                rows,
                adapt_step,
                adapt_mass,
                target_accept,
                accept,
            )
        for j in range(dim):
            trace.draws[i, j] = position[j]
        trace.log_density[i] = running[0]
        trace.accept_prob[i] = accept
        trace.accepted[i] = moved
        trace.divergent[i] = diverged
        trace.gradient_evaluations[i] = evaluations
        trace.energy[i] = chosen_energy if moved or variant != 3 else start_energy
        trace.tree_depth[i] = depth
        trace.tree_ending[i] = ending
        trace.step_size[i] = step_size
