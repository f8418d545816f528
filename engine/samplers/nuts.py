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
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.kernels import fast_part, kernel, part
from engine.samplers import adaptation as adapting
from engine.samplers.adaptation import DONE, LOG_BAR, STEP, TOTAL, learn, mass_of
from engine.samplers.chain import Chain, Density, Trace, evaluate
from engine.samplers.hmc import DIVERGENCE, draw_momentum, factor_mass, kinetic_energy
from engine.spec import SpecError
from engine.targets.target import Target

Array = NDArray[np.float64]
Whole = NDArray[np.int32]

SAMPLINGS = ("multinomial", "slice")
VARIANTS = ("exact", "aliased_momentum", "reversed_dot", "final_accept")
_, ALIASED_MOMENTUM, REVERSED_DOT, FINAL_ACCEPT = range(4)
ADAPTED_MASSES = ("diagonal", "dense")
MAX_DEPTH = 14
MAX_LEAVES = 2**MAX_DEPTH - 1

# How a doubling, and a transition, ended.
JOINED, TURNED_INSIDE, DIVERGED, TURNED, TOO_DEEP = range(5)
ENDINGS = ("joined", "turned inside the extension", "diverged", "turned", "maximum depth")

NO_AVERAGES = np.empty(0)
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


class NutsSettings(NamedTuple):
    """Settings as the kernel takes them. rows : of the mass, 1 for a diagonal one; variant : index into `VARIANTS`."""

    rows: int
    adapt_step: bool
    adapt_mass: bool
    target_accept: float
    max_depth: int
    sliced: bool
    variant: int
    max_energy_error: float


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

    def prepare(self, target: Target) -> NutsSettings:
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
        return NutsSettings(
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
        one, leaf, node, doubling = ((chains, n), (chains, n, new + 1), (chains, n, new), (chains, n, int(self.max_depth)))
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
        self,
        target: Target,
        settings: NutsSettings,
        chain: Chain,
        n: int,
        trace: Trace,
        inside: NutsTransitions,
        averages: Array = NO_AVERAGES,
    ) -> None:
        """Run n transitions, writing rows 0..n-1 of `trace` and, when they have any, of `inside` and of `averages`, the
        average step size after each.
        """
        if chain.adaptation.size == 0:
            self.begin(target, chain, 0)
        nuts_chunk(*chain.arguments(target), chain.adaptation, settings, n, trace, inside, averages)


class _Phase(NamedTuple):
    """A point of phase space that a leapfrog step moves: position, momentum, v = M^-1 p, gradient, and of a dense mass
    pull = M^-1 gradient; each (dim,)."""

    q: Array
    p: Array
    v: Array
    g: Array
    pull: Array


class _Start(NamedTuple):
    """Which transition, its step size, H of its first state, log U of the slice (0 for multinomial), and by how much H
    may rise."""

    transition: int
    step_size: float
    energy: float
    slice_log: float
    limit: float


class _Doubling(NamedTuple):
    """Which transition, which of its doublings, +1 forwards or -1 backwards."""

    transition: int
    depth: int
    sign: int


class _Leaf(NamedTuple):
    """What is known of the newest state: its number in the extension, its time, and what a leapfrog step gave."""

    number: int
    time: int
    log_density: float
    energy: float
    log_weight: float
    weight: float
    divergent: bool


class _Merged(NamedTuple):
    """Two halves joined: time of the first state and of the last in the order of making, what the criterion looked at
    and found, log of the weight, and how the proposal was chosen, see `NutsTransitions`."""

    first: int
    last: int
    dots: tuple[float, float, float, float, float, float]
    turning: bool
    log_weight: float
    uniform: float
    took_new: bool
    proposal: int


class _Ends(NamedTuple):
    """Both ends of the trajectory, the earlier one in row 0: q, p, v, g, pull (2, dim), time (2,).

    near_p, near_v : (dim,), the end from which the present extension set out
    """

    q: Array
    p: Array
    v: Array
    g: Array
    pull: Array
    time: NDArray[np.int64]
    near_p: Array
    near_v: Array


class _Subtrees(NamedTuple):
    """Subtrees that wait for their other half: slot k holds one of 2**k states. "First" and "last" are in the order of
    making. The last slot, number max_depth, is that of the trajectory: its proposal, its weight and its rho.

    first_p, first_v, last_p, last_v, rho, first_q : (max_depth + 1, dim)
    proposal_q, proposal_g : (max_depth + 1, dim), and proposal_log_density, proposal_energy : (max_depth + 1,),
        proposal_time : (max_depth + 1,)
    weight : (max_depth + 1,), exp(H_start - H - shift)
    new_rho : (dim,), of the half that came last
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
    new_rho: Array


class _Halves(NamedTuple):
    """Two neighbouring subtrees in the order of making: the first state of the old one, its last, the first of the new
    one, its last, and the sums of their momenta; each (dim,)."""

    first_q: Array
    first_p: Array
    first_v: Array
    old_p: Array
    old_v: Array
    old_rho: Array
    new_p: Array
    new_v: Array
    new_rho: Array
    last_q: Array
    last_p: Array
    last_v: Array


class _Work(NamedTuple):
    """What all parts of a chunk work with."""

    density: Density
    rng: np.random.Generator
    inverse_mass: Array
    settings: NutsSettings
    ends: _Ends
    subtrees: _Subtrees


@kernel
def nuts_chunk(density, rng, state, adaptation, settings, n, trace, inside, averages):
    """Advance one chain by n transitions. `state.running[0]` is the log density at `state.position`.

    Random numbers in order: momentum, then the slice; for each doubling its coin and one uniform for each merge that
    did not turn.
    """
    position, gradient, running = state
    top = settings.max_depth
    inverse_mass, mass_root = mass_of(adaptation, settings.rows, position.size)
    pair, shape = (2, position.size), (top + 1, position.size)
    ends = _Ends(
        np.empty(pair),
        np.empty(pair),
        np.empty(pair),
        np.empty(pair),
        np.empty(pair),
        np.empty(2, np.int64),
        np.empty(position.size),
        np.empty(position.size),
    )
    subtrees = _Subtrees(
        np.empty(shape),
        np.empty(shape),
        np.empty(shape),
        np.empty(shape),
        np.empty(shape),
        np.empty(shape),
        np.empty(shape),
        np.empty(shape),
        np.empty(top + 1),
        np.empty(top + 1),
        np.empty(top + 1, np.int64),
        np.empty(top + 1),
        np.empty(position.size),
    )
    work = _Work(density, rng, inverse_mass, settings, ends, subtrees)
    for i in range(n):
        step_size = adaptation[STEP]
        draw_momentum(rng, mass_root, subtrees.new_rho, ends.near_p)
        start = _begin(work, state, i, step_size, inside)
        depth, ending, accept_sum = _double(work, start, inside)
        evaluations = ends.time[1] - ends.time[0]
        accept = accept_sum / evaluations
        moved, energy = subtrees.proposal_time[top] != 0, subtrees.proposal_energy[top]
        if settings.variant == FINAL_ACCEPT:
            moved, energy = _accept_again(rng, accept, moved, energy, start, inside)
        if moved:
            running[0] = subtrees.proposal_log_density[top]
            for j in range(position.size):
                position[j], gradient[j] = subtrees.proposal_q[top, j], subtrees.proposal_g[top, j]
        if inside.proposal.size > 0:
            inside.ending[i], inside.proposal[i] = ending, subtrees.proposal_time[top]
        if adaptation[DONE] < adaptation[TOTAL]:
            evaluations += learn(
                density, rng, state, adaptation, settings.rows, settings.adapt_step, settings.adapt_mass, settings.target_accept, accept
            )
        if averages.size > 0:
            averages[i] = math.exp(adaptation[LOG_BAR])
        for j in range(position.size):
            trace.draws[i, j] = position[j]
        trace.log_density[i], trace.energy[i] = running[0], energy
        trace.accept_prob[i], trace.accepted[i] = accept, moved
        trace.divergent[i], trace.gradient_evaluations[i] = ending == DIVERGED, evaluations
        trace.tree_depth[i], trace.tree_ending[i], trace.step_size[i] = depth, ending, step_size


@part
def _begin(work, state, i, step_size, inside):
    """A trajectory of one state, the chain's position with the momentum in `near_p`; and the slice under its
    density."""
    ends, subtrees, settings = work.ends, work.subtrees, work.settings
    top, p, v = settings.max_depth, ends.near_p, ends.near_v
    energy = kinetic_energy(work.inverse_mass, p, v) - state.running[0]
    for side in range(2):
        for j in range(p.size):
            ends.q[side, j], ends.g[side, j] = state.position[j], state.gradient[j]
            ends.p[side, j], ends.v[side, j] = p[j], v[j]
        ends.time[side] = 0
        if settings.rows > 1:
            _product(work.inverse_mass, state.gradient, ends.pull[side])
    for j in range(p.size):
        subtrees.rho[top, j] = p[j]
    subtrees.weight[top], subtrees.proposal_time[top] = 1.0, 0
    subtrees.proposal_log_density[top], subtrees.proposal_energy[top] = state.running[0], energy
    slice_log, limit = 0.0, settings.max_energy_error
    if settings.sliced:
        uniform = 1.0 - work.rng.random()
        slice_log = math.log(uniform)
        limit = settings.max_energy_error - slice_log
        if inside.proposal.size > 0:
            inside.slice_uniform[i] = uniform
    if inside.proposal.size > 0:
        inside.leaves[i], inside.nodes[i] = 0, 0
        _record_leaf(inside, i, _Leaf(0, 0, state.running[0], energy, 0.0, 1.0, False), state.position, p)
    return _Start(i, step_size, energy, slice_log, limit)


@part
def _double(work, start, inside):
    """Double the trajectory, forwards or backwards by a coin, until it turns. Returns doublings, why it ended, and the
    sum of the acceptance statistic.
    """
    i, accept_sum, shift, depth, ending = start.transition, 0.0, 0.0, 0, JOINED
    while ending == JOINED and depth < work.settings.max_depth:
        coin = work.rng.random()
        doubling = _Doubling(i, depth, 1 if coin < 0.5 else -1)
        node_row = inside.nodes[i] if inside.proposal.size > 0 else 0
        ending, accept_sum, shift = _build_tree(work, start, doubling, accept_sum, shift, inside)
        if inside.proposal.size > 0:
            inside.doubling_coin[i, depth], inside.doubling_direction[i, depth] = coin, doubling.sign
            inside.doubling_ending[i, depth] = ending
            if ending != JOINED:
                for row in range(node_row, inside.nodes[i]):
                    inside.node_kept[i, row] = False
        if ending == JOINED:
            if _join(work, doubling, shift, inside):
                ending = TURNED
            depth += 1
    return depth, ending if ending != JOINED else TOO_DEEP, accept_sum


@part
def _build_tree(work, start, doubling, accept_sum, shift, inside):
    """The extension: a tree of 2**depth leaves from one end of the trajectory, unless it turns or diverges inside.

    Returns how it ended, and accept_sum and shift brought up to date.
    """
    ends, sign, side = work.ends, doubling.sign, (doubling.sign + 1) // 2
    end = _Phase(ends.q[side], ends.p[side], ends.v[side], ends.g[side], ends.pull[side])
    for j in range(end.p.size):
        ends.near_p[j], ends.near_v[j] = end.p[j], end.v[j]
    time, step, outcome = ends.time[side], sign * start.step_size, JOINED
    for number in range(1 << doubling.depth):
        log_density, kinetic = _leapfrog(work.density, end, step, work.inverse_mass)
        energy = kinetic - log_density
        time += sign
        log_weight = start.energy - energy
        weight, accept = _weigh(log_weight, shift)
        accept_sum += accept
        if not (math.isfinite(energy) and -log_weight <= start.limit):
            outcome = DIVERGED
        if work.settings.sliced:
            weight = 1.0 if start.slice_log <= log_weight else 0.0
            log_weight = 0.0 if weight > 0.0 else -np.inf
        elif log_weight - shift > _LARGE:
            shift = _shift_to(log_weight, shift, work.subtrees.weight)
        leaf = _Leaf(number, time, log_density, energy, log_weight, weight, outcome == DIVERGED)
        if inside.proposal.size > 0:
            _record_leaf(inside, start.transition, leaf, end.q, end.p)
        if leaf.divergent:
            break
        level, chosen, weight, turning = _merge(work, doubling, end, leaf, shift, inside)
        if turning:
            outcome = TURNED_INSIDE
            break
        _wait(work, level, chosen, weight, end, leaf)
    ends.time[side] = time
    return outcome, accept_sum, shift


@fast_part
def _leapfrog(density, end, step, inverse_mass):
    """One step in place. Returns log density and kinetic energy.

    v = M^-1 p before and after. A dense mass also keeps pull = M^-1 g, so that a step costs one product with the matrix
    and not two.
    """
    q, p, v, g, pull = end
    dim = q.size
    half = 0.5 * step
    twice = 0.0
    if inverse_mass.shape[0] == 1:
        for j in range(dim):
            p[j] += half * g[j]
            q[j] += step * inverse_mass[0, j] * p[j]
        log_density = evaluate(density, q, g)
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
    log_density = evaluate(density, q, g)
    _product(inverse_mass, g, pull)
    for j in range(dim):
        p[j] += half * g[j]
        v[j] += half * pull[j]
    for j in range(dim):
        twice += p[j] * v[j]
    return log_density, 0.5 * twice


@fast_part
def _product(matrix, x, out):
    for i in range(x.size):
        total = 0.0
        for j in range(x.size):
            total += matrix[i, j] * x[j]
        out[i] = total


@part
def _weigh(log_weight, shift):
    """The weight of a state, and its acceptance statistic min(1, exp(log_weight))."""
    weight, accept = 0.0, 0.0
    if log_weight >= 0.0:
        accept = 1.0
        weight = math.exp(log_weight - shift) if log_weight - shift <= _LARGE else 1.0
    elif log_weight < 0.0:
        accept = math.exp(log_weight)
        weight = accept if shift == 0.0 else math.exp(log_weight - shift)
    return weight, accept


@part
def _shift_to(log_weight, shift, weights):
    """Weigh all anew relative to a state so much likelier that its weight would leave the range of numbers."""
    factor = math.exp(shift - log_weight)
    for slot in range(weights.size):
        weights[slot] *= factor
    return log_weight


@part
def _merge(work, doubling, end, leaf, shift, inside):
    """Join the halves that this leaf completes, a level at a time, until one turns or must wait for its other half.

    Returns the level, the slot of the proposal (-1: the leaf itself), the weight, and whether it turned.
    """
    subtrees, settings, sign = work.subtrees, work.settings, doubling.sign
    level, chosen, weight, turning = 0, -1, leaf.weight, False
    for j in range(end.p.size):  # a leaf is a subtree of one
        subtrees.new_rho[j] = end.p[j]
    while (leaf.number >> level) & 1:
        # The half in slot `level`, and the one that ends here: its first state, unless a leaf, waits a slot below.
        halves = _Halves(
            subtrees.first_q[level],
            subtrees.first_p[level],
            subtrees.first_v[level],
            subtrees.last_p[level],
            subtrees.last_v[level],
            subtrees.rho[level],
            subtrees.first_p[level - 1],
            subtrees.first_v[level - 1],
            subtrees.new_rho,
            end.q,
            end.p,
            end.v,
        )
        aliased = settings.variant == ALIASED_MOMENTUM
        dots = _products(halves, level == 0, settings.sliced, aliased, sign)
        for j in range(end.p.size):
            subtrees.new_rho[j] += subtrees.rho[level, j]
        turning = _u_turn(dots, level > 0, settings, sign)
        old_weight = subtrees.weight[level]
        uniform, took_new = np.nan, False
        if not turning:  # uniform progressive sampling: in proportion to the weights
            uniform = work.rng.random()
            took_new = uniform * (old_weight + weight) < weight
        if not took_new:
            chosen = level
        weight = old_weight + weight
        if inside.proposal.size > 0:
            first, proposal = leaf.time - sign * ((2 << level) - 1), leaf.time
            if chosen >= 0:
                proposal = subtrees.proposal_time[chosen]
            log_weight = math.log(weight) + shift
            merged = _Merged(first, leaf.time, dots, turning, log_weight, uniform, took_new, proposal)
            _record_node(inside, doubling, False, merged)
        if turning:
            break
        level += 1
    return level, chosen, weight, turning


@part
def _products(halves, single, sliced, aliased, sign):
    """What the criterion looks at, in the order of making. `aliased`, wrong on purpose: all ends have the momentum of
    the last state.
    """
    first_p, first_v, p, v = halves.first_p, halves.first_v, halves.last_p, halves.last_v
    if sliced:
        return _span_dots(halves.first_q, p if aliased else first_p, halves.last_q, p, sign)
    if single:
        return _pair_dots(v if aliased else first_v, v, halves.old_rho, halves.new_rho)
    if aliased:
        return _half_dots(v, p, v, halves.old_rho, p, v, v, halves.new_rho)
    return _half_dots(first_v, halves.old_p, halves.old_v, halves.old_rho, halves.new_p, halves.new_v, v, halves.new_rho)


@fast_part
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


@fast_part
def _pair_dots(first_v, last_v, first_p, last_p):
    """Two single states: the products of the sum of their momenta with both velocities."""
    a, b = 0.0, 0.0
    for j in range(first_p.size):
        both = first_p[j] + last_p[j]
        a += first_v[j] * both
        b += last_v[j] * both
    return a, b, np.nan, np.nan, np.nan, np.nan


@fast_part
def _span_dots(first_q, first_p, last_q, last_p, sign):
    """(q+ - q-) . p at both ends, in the order of making."""
    a, b = 0.0, 0.0
    for j in range(first_q.size):
        span = sign * (last_q[j] - first_q[j])
        a += span * first_p[j]
        b += span * last_p[j]
    return a, b, np.nan, np.nan, np.nan, np.nan


@part
def _u_turn(dots, crossed, settings, sign):
    """The U-turn criterion, on products in the order of making."""
    if settings.variant == REVERSED_DOT:
        dots = _reversed_dot(dots, sign)
    a, b, c, d, e, f = dots
    if settings.sliced:
        return not (a >= 0.0 and b >= 0.0)
    return not (a > 0.0 and b > 0.0 and (not crossed or (c > 0.0 and d > 0.0 and e > 0.0 and f > 0.0)))


@part
def _wait(work, level, chosen, weight, end, leaf):
    """The subtree now waits in slot `level`; what it is made of was in the slots below."""
    subtrees, sliced = work.subtrees, work.settings.sliced
    subtrees.weight[level] = weight
    if chosen < 0:
        for j in range(end.q.size):
            subtrees.proposal_q[level, j], subtrees.proposal_g[level, j] = end.q[j], end.g[j]
        subtrees.proposal_log_density[level] = leaf.log_density
        subtrees.proposal_energy[level], subtrees.proposal_time[level] = leaf.energy, leaf.time
    else:
        _hand_up(subtrees, chosen, level)
    if level == 0:
        for j in range(end.q.size):
            subtrees.first_p[0, j], subtrees.first_v[0, j], subtrees.rho[0, j] = end.p[j], end.v[j], end.p[j]
        if sliced:
            for j in range(end.q.size):
                subtrees.first_q[0, j] = end.q[j]
    else:
        for j in range(end.q.size):
            subtrees.first_p[level, j], subtrees.first_v[level, j] = (subtrees.first_p[level - 1, j], subtrees.first_v[level - 1, j])
            subtrees.last_p[level, j], subtrees.last_v[level, j] = end.p[j], end.v[j]
            subtrees.rho[level, j] = subtrees.new_rho[j]
        if sliced:
            for j in range(end.q.size):
                subtrees.first_q[level, j] = subtrees.first_q[level - 1, j]


@part
def _hand_up(subtrees, source, slot):
    """The proposal of one slot becomes that of another."""
    for j in range(subtrees.proposal_q.shape[1]):
        subtrees.proposal_q[slot, j], subtrees.proposal_g[slot, j] = (subtrees.proposal_q[source, j], subtrees.proposal_g[source, j])
    subtrees.proposal_log_density[slot] = subtrees.proposal_log_density[source]
    subtrees.proposal_energy[slot] = subtrees.proposal_energy[source]
    subtrees.proposal_time[slot] = subtrees.proposal_time[source]


@part
def _join(work, doubling, shift, inside):
    """Join the extension to the trajectory. Returns whether they turn."""
    ends, subtrees, settings = work.ends, work.subtrees, work.settings
    top, depth, side = settings.max_depth, doubling.depth, (doubling.sign + 1) // 2
    uniform = work.rng.random()  # biased progressive sampling: the extension's with probability min(1, w_new / w_old)
    took_new = uniform * subtrees.weight[top] < subtrees.weight[depth]
    if took_new:
        _hand_up(subtrees, depth, top)
    subtrees.weight[top] += subtrees.weight[depth]
    far, rho = 1 - side, subtrees.rho[top]
    halves = _Halves(
        ends.q[far],
        ends.p[far],
        ends.v[far],
        ends.near_p,
        ends.near_v,
        rho,
        subtrees.first_p[depth],
        subtrees.first_v[depth],
        subtrees.rho[depth],
        ends.q[side],
        ends.p[side],
        ends.v[side],
    )
    dots = _products(halves, depth == 0, settings.sliced, False, doubling.sign)
    for j in range(rho.size):
        rho[j] += subtrees.rho[depth, j]
    turning = _u_turn(dots, depth > 0, settings, doubling.sign)
    if inside.proposal.size > 0:
        log_weight, proposal = math.log(subtrees.weight[top]) + shift, subtrees.proposal_time[top]
        merged = _Merged(ends.time[far], ends.time[side], dots, turning, log_weight, uniform, took_new, proposal)
        _record_node(inside, doubling, True, merged)
    return turning


@part
def _reversed_dot(dots, sign):
    """Misprinted on purpose, "reversed_dot": the products with the later end in time."""
    a, b, c, d, e, f = dots
    if sign > 0:
        return a, -b, c, -d, e, -f
    return -a, b, -c, d, -e, f


@part
def _accept_again(rng, accept, moved, energy, start, inside):
    """Wrong on purpose, "final_accept": the draw is accepted once more. Returns (moved, energy)."""
    uniform = rng.random()
    if inside.proposal.size > 0:
        inside.final_uniform[start.transition] = uniform
    moved = moved and uniform < accept
    return moved, energy if moved else start.energy


@part
def _record_leaf(inside, i, leaf, q, p):
    row = inside.leaves[i]
    if row < inside.leaf_time.shape[1]:
        inside.leaf_time[i, row] = leaf.time
        for j in range(q.size):
            inside.leaf_position[i, row, j], inside.leaf_momentum[i, row, j] = q[j], p[j]
        inside.leaf_energy[i, row] = leaf.energy
        inside.leaf_log_weight[i, row] = leaf.log_weight
        inside.leaf_divergent[i, row] = leaf.divergent
        inside.leaves[i] = row + 1


@part
def _record_node(inside, doubling, whole, merged):
    """What is kept is in the order of time."""
    i = doubling.transition
    row = inside.nodes[i]
    if row < inside.node_low.shape[1]:
        inside.node_low[i, row] = min(merged.first, merged.last)
        inside.node_high[i, row] = max(merged.first, merged.last)
        inside.node_doubling[i, row] = doubling.depth
        inside.node_whole[i, row] = whole
        a, b, c, d, e, f = merged.dots
        if doubling.sign > 0:
            inside.node_dots[i, row, 0], inside.node_dots[i, row, 1], inside.node_dots[i, row, 2] = a, b, c
            inside.node_dots[i, row, 3], inside.node_dots[i, row, 4], inside.node_dots[i, row, 5] = d, e, f
        else:
            inside.node_dots[i, row, 0], inside.node_dots[i, row, 1], inside.node_dots[i, row, 2] = b, a, f
            inside.node_dots[i, row, 3], inside.node_dots[i, row, 4], inside.node_dots[i, row, 5] = e, d, c
        inside.node_turning[i, row] = merged.turning
        inside.node_log_weight[i, row] = merged.log_weight
        inside.node_uniform[i, row] = merged.uniform
        inside.node_took_new[i, row] = merged.took_new
        inside.node_proposal[i, row] = merged.proposal
        inside.node_kept[i, row] = True
        inside.nodes[i] = row + 1
