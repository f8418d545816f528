"""Gibbs sampling, and Metropolis one variable at a time. One transition is a sweep: as many coordinate updates as there
are coordinates.

Gibbs draws each coordinate from its full conditional: a Metropolis-Hastings step that is always accepted. It needs a
target whose conditionals are known (`Target.conditionals`). Variable-at-a-time Metropolis proposes `x_j + scale_j z`, z
~ N(0, 1), accepts with min(1, pi(y) / pi(x)), and runs on any target.

Sources: Geman & Geman 1984; Gelfand & Smith 1990.

Wrong on purpose (`variant`): "window" draws each coordinate from its conditional density on a grid of 11 points within
5 scales of where it is, and always accepts (the "Gibbs" of a published app). The window moves with the state, so the
normalisers of there and back differ and do not cancel: draws come out too narrow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import ArrayLike, NDArray

from engine.kernels import kernel, native_call, part
from engine.samplers.chain import Chain, Trace, evaluate, per_coordinate
from engine.spec import SpecError
from engine.targets.target import Target

Array = NDArray[np.float64]

UPDATES = ("conditional", "metropolis")
SCANS = ("systematic", "random")
VARIANTS = ("exact", "window")
CONDITIONAL, METROPOLIS, WINDOW = range(3)  # how a coordinate is updated
REACH = 5  # grid points of the window on either side


class GibbsTransitions(NamedTuple):
    """The inside of sweeps, n of them, each of dim updates.

    coordinate : (n, dim) int32, which one was updated
    before, after : (n, dim), its value
    conditional : (n, dim) int8, 0 normal, 1 gamma, -1 not by conditional
    parameters : (n, dim, 2), of the conditional: (mean, sd) or (shape, rate); NaN for Metropolis, the two ends of the
        window for "window"
    proposal, log_ratio, uniform : (n, dim), of Metropolis, accepted if and only if uniform < exp(log_ratio); else NaN
    """

    coordinate: NDArray[np.int32]
    before: Array
    after: Array
    conditional: NDArray[np.int8]
    parameters: Array
    proposal: Array
    log_ratio: Array
    uniform: Array


@dataclass(frozen=True)
class Gibbs:
    """Settings of the sampler.

    update : "conditional" (Gibbs) or "metropolis" (variable at a time)
    scale : sd of the Metropolis proposal, or step of the window's grid; scalar or (dim,), > 0
    scan : "systematic" (coordinates in order) or "random" (each update picks one)
    block : draw coordinates that belong together jointly, where the target knows how: each given those before it
    variant : "exact" or "window"
    """

    name: ClassVar[str] = "gibbs"
    label: ClassVar[str] = "Gibbs"
    faults: ClassVar[tuple[str, ...]] = ("window",)
    records: ClassVar[tuple[str, ...]] = ()
    update: str = "conditional"
    scale: ArrayLike = 1.0
    scan: str = "systematic"
    block: bool = False
    variant: str = "exact"

    def prepare(self, target: Target) -> tuple[Any, ...]:
        """Validated kernel arguments. Raises SpecError naming the setting."""
        if self.update not in UPDATES:
            raise SpecError("update", f"{self.update!r} is not one of {', '.join(UPDATES)}")
        if self.scan not in SCANS:
            raise SpecError("scan", f"{self.scan!r} is not one of {', '.join(SCANS)}")
        if self.variant not in VARIANTS:
            raise SpecError("variant", f"{self.variant!r} is not one of {', '.join(VARIANTS)}")
        scale = per_coordinate("scale", self.scale, target.dim)
        if not np.all(scale > 0):
            raise SpecError("scale", "every entry must be above 0")
        known = target.conditionals
        by_conditional = self.update == "conditional" and self.variant == "exact"
        if by_conditional and known is None:
            raise SpecError("update", f"the conditionals of {target.name} are not known: use metropolis")
        if self.block and not (by_conditional and known is not None and known.blocked and self.scan == "systematic"):
            reason = "joint draws need conditional updates in systematic order, and a target that knows them"
            raise SpecError("block", f"{reason}; {target.name} was asked")
        rule = WINDOW if self.variant == "window" else UPDATES.index(self.update)
        return (int(known.owner.address) if by_conditional and known else 0, rule, scale, self.scan == "random", bool(self.block))

    def transitions(self, chains: int, n: int, dim: int) -> GibbsTransitions:
        """Empty arrays for the inside of n sweeps of each chain."""
        shape = (chains, n, dim)
        return GibbsTransitions(
            np.zeros(shape, np.int32),
            np.empty(shape),
            np.empty(shape),
            np.zeros(shape, np.int8),
            np.full((*shape, 2), np.nan),
            np.full(shape, np.nan),
            np.full(shape, np.nan),
            np.full(shape, np.nan),
        )

    def advance(self, target: Target, settings: tuple[Any, ...], chain: Chain, n: int, trace: Trace, inside: GibbsTransitions) -> None:
        """Run n sweeps, writing rows 0..n-1 of `trace` and, when it has any, of `inside`."""
        gibbs_chunk(*chain.arguments(target), *settings, n, trace, inside)


@native_call
def _conditional_at(typingctx, address, coordinate, q, out, data, ints, scratch):
    """Call the conditional kernel at `address` for a coordinate: returns the kind, fills `out` (2,)."""
    signature = types.float64(types.int64, types.int64, q, out, data, ints, scratch)

    def codegen(context, builder, signature, args):
        double, int64 = ir.DoubleType(), ir.IntType(64)
        at, target, numbers, integers, scratch_ = (
            context.make_array(t)(context, builder, value=v).data for t, v in zip(signature.args[2:], args[2:], strict=True)
        )
        kinds = [double.as_pointer(), double.as_pointer(), int64, double.as_pointer(), int64.as_pointer(), double.as_pointer()]
        function = builder.inttoptr(args[0], ir.FunctionType(double, kinds).as_pointer())
        return builder.call(function, [at, target, args[1], numbers, integers, scratch_])

    return signature, codegen


class _Update(NamedTuple):
    """One update, see `GibbsTransitions`; `first` and `second` are its parameters. accept : its acceptance probability;
    evaluations : of the target.
    """

    before: float
    conditional: float
    first: float
    second: float
    proposal: float
    log_ratio: float
    uniform: float
    accept: float
    evaluations: int


@kernel
def gibbs_chunk(density, rng, state, conditionals, rule, scale, random_scan, block, n, trace, inside):
    """Advance one chain by n sweeps. `state.running[0]` is the log density at `state.position`.

    Random numbers per update: the choice of coordinate (random scan), then one normal or gamma; or one normal and one
    uniform; or one uniform (window).
    """
    position, gradient, running = state
    dim = position.size
    parameters, grid = np.empty(2), np.empty(2 * REACH + 1)
    for i in range(n):
        evaluations, accept_sum, moved = 0, 0.0, False
        for k in range(dim):
            j = k
            if random_scan:
                j = min(int(rng.random() * dim), dim - 1)
            if rule == CONDITIONAL:
                update = _from_conditional(density, rng, position, j, j + dim if block else j, conditionals, parameters)
            elif rule == METROPOLIS:
                update = _by_metropolis(density, rng, state, j, scale[j])
            else:
                update = _from_window(density, rng, state, j, scale[j], grid)
            evaluations += update.evaluations
            accept_sum += update.accept
            moved = moved or position[j] != update.before
            if inside.before.size > 0:
                _record(inside, i, k, j, position[j], update)
        if rule == CONDITIONAL:
            running[0] = evaluate(density, position, gradient)
            evaluations += 1
        for j in range(dim):
            trace.draws[i, j] = position[j]
        trace.log_density[i] = running[0]
        trace.accept_prob[i] = accept_sum / dim
        trace.accepted[i] = moved
        trace.divergent[i] = False
        trace.gradient_evaluations[i] = evaluations


@part
def _from_conditional(density, rng, position, j, coordinate, conditionals, parameters):
    """Gibbs: draw coordinate j from its conditional, which the target knows by the number `coordinate`."""
    before = position[j]
    kind = _conditional_at(conditionals, coordinate, position, parameters, density.data, density.ints, density.scratch)
    first, second = parameters[0], parameters[1]
    if kind == 0.0:
        position[j] = first + second * rng.standard_normal()
    else:
        position[j] = rng.standard_gamma(first) / second
    return _Update(before, kind, first, second, np.nan, np.nan, np.nan, 1.0, 0)


@part
def _by_metropolis(density, rng, state, j, scale):
    """Metropolis for coordinate j alone."""
    position, gradient, running = state
    before = position[j]
    proposal = before + scale * rng.standard_normal()
    position[j] = proposal
    log_density = evaluate(density, position, gradient)
    log_ratio = log_density - running[0]
    accept = 1.0 if log_ratio >= 0.0 else math.exp(log_ratio)
    if not accept >= 0.0:  # a NaN density is a place the chain cannot go
        accept = 0.0
    uniform = rng.random()
    if uniform < accept:
        running[0] = log_density
    else:
        position[j] = before
    return _Update(before, -1.0, np.nan, np.nan, proposal, log_ratio, uniform, accept, 1)


@part
def _from_window(density, rng, state, j, scale, grid):
    """Wrong on purpose, "window": draw coordinate j from its conditional on a grid around where it is."""
    position, gradient, running = state
    before, total = position[j], 0.0
    for k in range(2 * REACH + 1):
        position[j] = before + (k - REACH) * scale
        grid[k] = evaluate(density, position, gradient) - running[0]
        grid[k] = math.exp(min(grid[k], 700.0)) if grid[k] == grid[k] else 0.0
        total += grid[k]
    uniform = rng.random()
    level, k = uniform * total, 0
    while k < 2 * REACH and level >= grid[k]:
        level -= grid[k]
        k += 1
    position[j] = before + (k - REACH) * scale
    running[0] = evaluate(density, position, gradient)
    low, high = before - REACH * scale, before + REACH * scale
    return _Update(before, -1.0, low, high, np.nan, np.nan, uniform, 1.0, 2 * REACH + 2)


@part
def _record(inside, i, k, j, after, update):
    inside.coordinate[i, k] = j
    inside.before[i, k], inside.after[i, k] = update.before, after
    inside.conditional[i, k] = int(update.conditional)
    inside.parameters[i, k, 0], inside.parameters[i, k, 1] = update.first, update.second
    inside.proposal[i, k], inside.log_ratio[i, k] = update.proposal, update.log_ratio
    inside.uniform[i, k] = update.uniform
