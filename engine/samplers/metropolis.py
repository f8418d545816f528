"""Random-walk Metropolis, and Metropolis-Hastings with an asymmetric proposal.

Proposal: `y = x + drift + scale * z`, `z ~ N(0, I)`. Without drift it is symmetric. With drift the Hastings ratio is
`log q(x|y) - log q(y|x) = -2 sum_j drift_j (y_j - x_j) / scale_j**2`.

Source: Metropolis et al. 1953; Hastings 1970: `accept_prob = min(1, pi(y) q(x|y) / (pi(x) q(y|x)))`, a rejection
counts as another visit.

Wrong on purpose (`variant`):
- "no_hastings" leaves the ratio of the q's out: the chain then samples `pi(x) exp(2 drift . x / scale**2)` instead of
pi;
- "drop_rejections" records accepted moves only: the chain then samples `pi(x) a(x)`, with `a(x)` the mean acceptance at
x.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.kernels import kernel
from engine.samplers.chain import Chain, Trace, evaluate, per_coordinate
from engine.spec import SpecError
from engine.targets.target import Target

Array = NDArray[np.float64]

VARIANTS = ("exact", "no_hastings", "drop_rejections")
MAX_TRIES = 1_000  # of "drop_rejections" for one draw


class MetropolisTransitions(NamedTuple):
    """The inside of Metropolis transitions, n of them.

    proposal : (n, dim)
    proposal_log_density : (n,)
    log_hastings : (n,), log q(x|y) - log q(y|x), also where the variant ignores it
    log_ratio : (n,), the log of the ratio that decided
    uniform : (n,), accepted if and only if uniform < exp(log_ratio)
    """

    proposal: Array
    proposal_log_density: Array
    log_hastings: Array
    log_ratio: Array
    uniform: Array


@dataclass(frozen=True)
class Metropolis:
    """Settings of the sampler.

    scale : sd of the proposal, scalar or (dim,), > 0
    drift : shift of the proposal, scalar (along the first coordinate) or (dim,)
    variant : "exact", or one of the wrong ones
    """

    name: ClassVar[str] = "metropolis"
    label: ClassVar[str] = "Metropolis"
    faults: ClassVar[tuple[str, ...]] = ("no_hastings", "drop_rejections")
    records: ClassVar[tuple[str, ...]] = ()
    scale: ArrayLike = 1.0
    drift: ArrayLike = 0.0
    variant: str = "exact"

    def prepare(self, target: Target) -> tuple[Any, ...]:
        """Validated kernel arguments. Raises SpecError naming the setting."""
        scale = per_coordinate("scale", self.scale, target.dim)
        if not np.all(scale > 0):
            raise SpecError("scale", "every entry must be above 0")
        drift = np.asarray(self.drift, dtype=np.float64)
        drift = per_coordinate("drift", np.eye(target.dim)[0] * drift if drift.ndim == 0 else drift, target.dim)
        if self.variant not in VARIANTS:
            raise SpecError("variant", f"{self.variant!r} is not one of {', '.join(VARIANTS)}")
        return scale, drift, VARIANTS.index(self.variant)

    def transitions(self, chains: int, n: int, dim: int) -> MetropolisTransitions:
        """Empty arrays for the inside of n transitions of each chain."""
        return MetropolisTransitions(np.empty((chains, n, dim)), *(np.empty((chains, n)) for _ in range(4)))

    def advance(self, target: Target, settings: tuple[Any, ...], chain: Chain, n: int, trace: Trace, inside: MetropolisTransitions) -> None:
        """Run n transitions, writing rows 0..n-1 of `trace` and, when it has any, of `inside`."""
        metropolis_chunk(*chain.arguments(target), *settings, n, trace, inside)


@kernel
def metropolis_chunk(density, rng, state, scale, drift, variant, n, trace, inside):
    """Advance one chain by n transitions. `running[0]` is the log density at `position`. Consumes dim normals and one
    uniform per proposal.
    """
    position, gradient, running = state
    dim = position.size
    proposal, tilt = np.empty(dim), np.empty(dim)
    for j in range(dim):
        tilt[j] = -2.0 * drift[j] / (scale[j] * scale[j])
    detailed = inside.uniform.size > 0
    current = running[0]
    for i in range(n):
        tries = 0
        while True:
            log_hastings = 0.0
            for j in range(dim):
                step = drift[j] + scale[j] * rng.standard_normal()
                proposal[j] = position[j] + step
                log_hastings += tilt[j] * step
            log_density = evaluate(density, proposal, gradient)
            tries += 1
            log_ratio = log_density - current
            if variant != 1:
                log_ratio += log_hastings
            accept_prob = 1.0 if log_ratio >= 0.0 else math.exp(log_ratio)
            if not accept_prob >= 0.0:  # a NaN density is a place the chain cannot go
                accept_prob = 0.0
            uniform = rng.random()
            accepted = uniform < accept_prob
            if accepted or variant != 2 or tries == MAX_TRIES:
                break
        if detailed:
            inside.proposal[i] = proposal
            inside.proposal_log_density[i] = log_density
            inside.log_hastings[i] = log_hastings
            inside.log_ratio[i] = log_ratio
            inside.uniform[i] = uniform
        if accepted:
            current = log_density
            for j in range(dim):
                position[j] = proposal[j]
        for j in range(dim):
            trace.draws[i, j] = position[j]
        trace.log_density[i] = current
        trace.accept_prob[i] = accept_prob
        trace.accepted[i] = accepted
        trace.divergent[i] = False
        trace.gradient_evaluations[i] = tries
    running[0] = current
