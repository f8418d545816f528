"""Delayed rejection: a Metropolis chain that, before it counts a rejection, tries again from where it stands.

Stage 1 proposes `y1 ~ N(x, scale^2)`. After a rejection stage i proposes `yi ~ N(x + pull (y(i-1) - x), (scale
shrink^(i-1))^2)`: with pull 0 a timid step around x; else one that uses where the last stage failed, away from it
(pull < 0) or part of the way towards it (pull > 0). With `q1, q2, q3` the densities of the proposals,

    a1(x, y1) = min(1, pi(y1) / pi(x))
    a2(x, y1, y2) = min(1, pi(y2) q1(y2, y1) q2(y2, y1, x) [1 - a1(y2, y1)]
                         / pi(x)  q1(x, y1)  q2(x, y1, y2) [1 - a1(x, y1)])
    a3(x, y1, y2, y3) = min(1, pi(y3) q1(y3, y2) q2(y3, y2, y1) q3(y3, y2, y1, x) [1 - a1(y3, y2)] [1 - a2(y3, y2, y1)]
                             / pi(x)  q1(x, y1)  q2(x, y1, y2)  q3(x, y1, y2, y3) [1 - a1(x, y1)]  [1 - a2(x, y1, y2)])

The numerators belong to the way back, on which the same points fail in reverse order; each stage has a uniform of its
own. Source: Tierney and Mira 1999; Mira 2001; across dimensions Green and Mira 2001, see `engine.jumps.delayed`.

Another move has this name in Berezowski 2021, section 5.3.2: a jump to another dimension that is followed by ordinary
moves before it is first judged. There nothing is tried after a rejection.

Wrong on purpose (`variant`): "no_rejection_terms" leaves out the factors 1 - a.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.kernels import kernel, part
from engine.samplers.chain import Chain, Trace, evaluate, per_coordinate
from engine.spec import SpecError
from engine.targets.target import Target

Array = NDArray[np.float64]

VARIANTS = ("exact", "no_rejection_terms")
MAX_STAGES = 3
FACTORS = ("target", "first proposal", "second proposal", "third proposal", "first rejection", "second rejection")
TARGET, FIRST, SECOND, THIRD, FIRST_REJECTED, SECOND_REJECTED = range(6)


class DelayedRejectionTransitions(NamedTuple):
    """The inside of n transitions of S stages; what a stage not reached would have done is NaN.

    stages : (n,) int8, stages that proposed: the last of them decided
    proposal : (n, S, dim)
    proposal_log_density : (n, S)
    factors : (n, S, 6), the logs, way back minus way there, named by `FACTORS`; a variant's forgotten ones too
    log_ratio : (n, S), their sum from left to right, without the forgotten ones
    accept_prob : (n, S), a1, a2, a3
    back : (n, S, 2), a1 and a2 of the way back, with which the same points fail when the chain starts at the proposal;
        NaN where it has no such stage
    uniform : (n, S), accepted if and only if uniform < accept_prob
    """

    stages: NDArray[np.int8]
    proposal: Array
    proposal_log_density: Array
    factors: Array
    log_ratio: Array
    accept_prob: Array
    back: Array
    uniform: Array


@dataclass(frozen=True)
class DelayedRejection:
    """Settings of the sampler. In a recording `accept_prob` is that of the stage that decided.

    scale : sd of the first proposal, scalar or (dim,), > 0
    stages : 1 (plain Metropolis) to 3
    shrink : factor of the scale at each further stage, > 0
    pull : where a further stage is centred, from the present point (0) towards the one just rejected (1)
    variant : "exact" or "no_rejection_terms"
    """

    name: ClassVar[str] = "delayed_rejection"
    label: ClassVar[str] = "Delayed rejection"
    faults: ClassVar[tuple[str, ...]] = ("no_rejection_terms",)
    records: ClassVar[tuple[str, ...]] = ()
    scale: ArrayLike = 1.0
    stages: int = 2
    shrink: float = 0.2
    pull: float = 0.0
    variant: str = "exact"

    def prepare(self, target: Target) -> tuple[Any, ...]:
        """Validated kernel arguments. Raises SpecError naming the setting."""
        scale = per_coordinate("scale", self.scale, target.dim)
        if not np.all(scale > 0):
            raise SpecError("scale", "every entry must be above 0")
        if not 1 <= int(self.stages) <= MAX_STAGES or int(self.stages) != self.stages:
            raise SpecError("stages", f"{self.stages} is not a whole number from 1 to {MAX_STAGES}")
        if not (math.isfinite(self.shrink) and self.shrink > 0):
            raise SpecError("shrink", f"{self.shrink} is not a finite number above 0")
        if not math.isfinite(self.pull):
            raise SpecError("pull", f"{self.pull} is not a finite number")
        if self.variant not in VARIANTS:
            raise SpecError("variant", f"{self.variant!r} is not one of {', '.join(VARIANTS)}")
        return scale, int(self.stages), float(self.shrink), float(self.pull), VARIANTS.index(self.variant)

    def transitions(self, chains: int, n: int, dim: int) -> DelayedRejectionTransitions:
        """Empty arrays for the inside of n transitions of each chain."""
        shape = (chains, n, int(self.stages))
        return DelayedRejectionTransitions(
            np.empty((chains, n), dtype=np.int8),
            np.empty((*shape, dim)),
            np.empty(shape),
            np.empty((*shape, len(FACTORS))),
            np.empty(shape),
            np.empty(shape),
            np.empty((*shape, 2)),
            np.empty(shape),
        )

    def advance(
        self, target: Target, settings: tuple[Any, ...], chain: Chain, n: int, trace: Trace, inside: DelayedRejectionTransitions
    ) -> None:
        """Run n transitions, writing rows 0..n-1 of `trace` and, when it has any, of `inside`."""
        delayed_rejection_chunk(*chain.arguments(target), *settings, n, trace, inside)


@kernel
def _log_proposal(x, failed, y, scale, pull):
    """Log density, up to a constant, of proposing y from x by a stage of this scale; `failed` is the point it has just
    rejected.
    """
    squares = 0.0
    for j in range(x.size):
        z = (y[j] - x[j] - pull * (failed[j] - x[j])) / scale[j]
        squares += z * z
    return -0.5 * squares


@kernel
def _probability(log_ratio):
    """min(1, exp(log_ratio)), 0 for what is not a number: a NaN density is a place the chain cannot go."""
    if log_ratio >= 0.0:
        return 1.0
    return math.exp(log_ratio) if log_ratio < 0.0 else 0.0


@kernel
def _first(log_x, log_y):
    """a1(x, y)."""
    return _probability(log_y - log_x)


@kernel
def _log_ratio(factors, forgetful):
    total = 0.0
    for f in range(FIRST_REJECTED if forgetful else len(FACTORS)):
        total += factors[f]
    return total


@kernel
def _second(x, y1, y2, log_x, log_1, log_2, scales, pull, factors):
    """Fill the factors of the log ratio of a2(x, y1, y2). Returns a1 of the way back."""
    back = _first(log_2, log_1)
    factors[:] = 0.0
    factors[TARGET] = log_2 - log_x
    factors[FIRST] = _log_proposal(y2, y2, y1, scales[0], 0.0) - _log_proposal(x, x, y1, scales[0], 0.0)
    factors[SECOND] = _log_proposal(y2, y1, x, scales[1], pull) - _log_proposal(x, y1, y2, scales[1], pull)
    factors[FIRST_REJECTED] = math.log1p(-back) - math.log1p(-_first(log_x, log_1))
    return back


@kernel
def _third(x, y, log_x, log_y, scales, pull, forgetful, rejected, factors, back_factors):
    """Fill the factors of the log ratio of a3(x, y[0], y[1], y[2]). Returns a1 and a2 of the way back.

    rejected : log(1 - a2) of the way there
    """
    _second(y[2], y[1], y[0], log_y[2], log_y[1], log_y[0], scales, pull, back_factors)
    back_1, back_2 = _first(log_y[2], log_y[1]), _probability(_log_ratio(back_factors, forgetful))
    factors[TARGET] = log_y[2] - log_x
    factors[FIRST] = _log_proposal(y[2], y[2], y[1], scales[0], 0.0) - _log_proposal(x, x, y[0], scales[0], 0.0)
    factors[SECOND] = _log_proposal(y[2], y[1], y[0], scales[1], pull) - _log_proposal(x, y[0], y[1], scales[1], pull)
    factors[THIRD] = _log_proposal(y[2], y[0], x, scales[2], pull) - _log_proposal(x, y[1], y[2], scales[2], pull)
    factors[FIRST_REJECTED] = math.log1p(-back_1) - math.log1p(-_first(log_x, log_y[0]))
    if back_1 == 1.0:  # the way back ends at its first stage: the factor above is 0, and there is no second
        factors[SECOND_REJECTED] = 0.0
        return back_1, np.nan
    factors[SECOND_REJECTED] = math.log1p(-back_2) - rejected
    return back_1, back_2


class _Tried(NamedTuple):
    """What a stage came to, see `DelayedRejectionTransitions`."""

    log_density: float
    log_ratio: float
    accept_prob: float
    back_1: float
    back_2: float
    uniform: float


@part
def _propose(rng, position, y, stage, scales, pull):
    """y[stage], around the position at first, then pulled to the point just rejected."""
    for j in range(position.size):
        centre = position[j] if stage == 0 else position[j] + pull * (y[stage - 1, j] - position[j])
        y[stage, j] = centre + scales[stage, j] * rng.standard_normal()


@part
def _record(inside, i, stage, y, factors, tried):
    for j in range(y.size):
        inside.proposal[i, stage, j] = y[j]
    for f in range(factors.size):
        inside.factors[i, stage, f] = factors[f]
    inside.proposal_log_density[i, stage] = tried.log_density
    inside.log_ratio[i, stage], inside.accept_prob[i, stage] = tried.log_ratio, tried.accept_prob
    inside.back[i, stage, 0], inside.back[i, stage, 1] = tried.back_1, tried.back_2
    inside.uniform[i, stage] = tried.uniform


@kernel
def delayed_rejection_chunk(density, rng, state, scale, stages, shrink, pull, variant, n, trace, inside):
    """Advance one chain by n transitions. `state.running[0]` is the log density at `state.position`. Consumes dim
    normals and one uniform per stage.
    """
    position, gradient, running = state
    dim = position.size
    y, log_y = np.empty((MAX_STAGES, dim)), np.empty(MAX_STAGES)
    factors, back_factors, scales = np.empty(len(FACTORS)), np.empty(len(FACTORS)), np.empty((MAX_STAGES, dim))
    for stage in range(MAX_STAGES):
        for j in range(dim):
            scales[stage, j] = scale[j] * shrink**stage
    detailed, forgetful = inside.stages.size > 0, variant == 1
    current = running[0]
    for i in range(n):
        if detailed:
            inside.proposal[i], inside.proposal_log_density[i], inside.factors[i] = np.nan, np.nan, np.nan
            inside.log_ratio[i], inside.accept_prob[i], inside.back[i] = np.nan, np.nan, np.nan
            inside.uniform[i] = np.nan
        tried, accepted, accept_prob, rejected = 0, False, 0.0, 0.0
        for stage in range(stages):
            _propose(rng, position, y, stage, scales, pull)
            log_y[stage] = evaluate(density, y[stage], gradient)
            back_1 = back_2 = np.nan
            if stage == 0:
                factors[:] = 0.0
                factors[TARGET] = log_y[0] - current
            elif stage == 1:
                back_1 = _second(position, y[0], y[1], current, log_y[0], log_y[1], scales, pull, factors)
            else:
                back_1, back_2 = _third(position, y, current, log_y, scales, pull, forgetful, rejected, factors, back_factors)
            log_ratio = _log_ratio(factors, forgetful)
            accept_prob = _probability(log_ratio)
            uniform = rng.random()
            tried += 1
            accepted = uniform < accept_prob
            if detailed:
                this = _Tried(log_y[stage], log_ratio, accept_prob, back_1, back_2, uniform)
                _record(inside, i, stage, y[stage], factors, this)
            if accepted:
                break
            rejected = math.log1p(-accept_prob)
        if accepted:
            current = log_y[tried - 1]
            for j in range(dim):
                position[j] = y[tried - 1, j]
        if detailed:
            inside.stages[i] = tried
        for j in range(dim):
            trace.draws[i, j] = position[j]
        trace.log_density[i] = current
        trace.accept_prob[i] = accept_prob
        trace.accepted[i] = accepted
        trace.divergent[i] = False
        trace.gradient_evaluations[i] = tried
    running[0] = current
