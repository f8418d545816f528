"""Metropolis-Hastings on a ring of islands: the discrete chain with which the Metropolis lesson begins.

From island i the walker proposes the neighbour to the right with probability `p_right`, else the one to the left, and
moves with
`min(1, w_j q(i|j) / (w_i q(j|i)))`, w the islands' weights (people). Being finite, the chain's transition matrix is
known exactly.

Wrong on purpose: the same variants as `Metropolis`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.kernels import kernel
from engine.samplers.metropolis import VARIANTS
from engine.spec import SpecError

Array = NDArray[np.float64]

MAX_ISLANDS = 50


class Islands(NamedTuple):
    """A walk over islands, n transitions.

    draws : (n,) int64, the island after each transition, 0-based
    proposal : (n,) int64
    ratio : (n,), the ratio that decided
    uniform : (n,), accepted if and only if uniform < ratio
    accepted : (n,) bool
    start : the island before the first transition
    """

    draws: NDArray[np.int64]
    proposal: NDArray[np.int64]
    ratio: Array
    uniform: Array
    accepted: NDArray[np.bool_]
    start: int


def walk_islands(weights: ArrayLike, draws: int, seed: int, *, p_right: float = 0.5, start: int = 0, variant: str = "exact") -> Islands:
    """Walk `draws` transitions over `len(weights)` islands (3 to 50, weights finite and above 0). Raises SpecError
    naming the parameter.
    """
    w = _weights(weights)
    if not 0 < p_right < 1:
        raise SpecError("p_right", f"{p_right} is not between 0 and 1")
    if not 0 <= start < len(w):
        raise SpecError("start", f"{start} is not one of the islands 0 to {len(w) - 1}")
    if variant not in VARIANTS:
        raise SpecError("variant", f"{variant!r} is not one of {', '.join(VARIANTS)}")
    if draws < 1:
        raise SpecError("draws", f"{draws} is below 1")
    walk = Islands(
        np.empty(draws, dtype=np.int64),
        np.empty(draws, dtype=np.int64),
        np.empty(draws),
        np.empty(draws),
        np.empty(draws, dtype=np.bool_),
        start,
    )
    rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed)))
    _walk(rng, w, p_right, VARIANTS.index(variant), *walk)
    return walk


def transition_matrix(weights: ArrayLike, *, p_right: float = 0.5, variant: str = "exact") -> Array:
    """(n, n) matrix P of the walk, P[i, j] the probability of being on j after a transition from i.

    For "drop_rejections", the chain of accepted moves.
    """
    w = _weights(weights)
    n = len(w)
    matrix = np.zeros((n, n))
    for i in range(n):
        for j, forth, back in (((i + 1) % n, p_right, 1 - p_right), ((i - 1) % n, 1 - p_right, p_right)):
            hastings = 1.0 if variant == "no_hastings" else back / forth
            matrix[i, j] += forth * min(1.0, w[j] / w[i] * hastings)
        if variant == "drop_rejections":
            matrix[i] /= matrix[i].sum()
        else:
            matrix[i, i] += 1.0 - matrix[i].sum()
    return matrix


def stationary(matrix: Array) -> Array:
    """(n,) distribution that the transition matrix leaves unchanged."""
    n = len(matrix)
    system = np.vstack([matrix.T - np.eye(n), np.ones(n)])
    return np.linalg.lstsq(system, np.append(np.zeros(n), 1.0), rcond=None)[0]


def _weights(weights: ArrayLike) -> Array:
    w = np.ascontiguousarray(weights, dtype=np.float64)
    if w.ndim != 1 or not 3 <= len(w) <= MAX_ISLANDS:
        raise SpecError("weights", f"a ring has 3 to {MAX_ISLANDS} islands, got shape {w.shape}")
    if not (np.all(np.isfinite(w)) and np.all(w > 0)):
        raise SpecError("weights", "every island needs a finite weight above 0")
    return w


@kernel
def _walk(rng, weights, p_right, variant, draws, proposals, ratios, uniforms, accepts, at):
    n = weights.size
    for t in range(draws.size):
        while True:
            if rng.random() < p_right:
                proposal, hastings = (at + 1) % n, (1.0 - p_right) / p_right
            else:
                proposal, hastings = (at - 1) % n, p_right / (1.0 - p_right)
            ratio = weights[proposal] / weights[at]
            if variant != 1:
                ratio *= hastings
            uniform = rng.random()
            accepted = uniform < ratio
            if accepted or variant != 2:
                break
        if accepted:
            at = proposal
        draws[t], proposals[t], ratios[t], uniforms[t], accepts[t] = at, proposal, ratio, uniform, accepted
