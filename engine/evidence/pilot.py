"""Choosing the path: temperatures, step sizes and scales, found by a population of its own and then frozen."""

from __future__ import annotations

import math

import numpy as np

from engine.evidence.annealing import EXACT, Array, Path, Population, Reference
from engine.targets.target import Target, TargetError
from engine.ticket import look

ACCEPTANCE = 0.8  # mean acceptance probability that step sizes are led to
MAX_STEPS = 50
MAX_STAGES = 10_000


def explore(
    target: Target,
    reference: Reference,
    seed: np.random.SeedSequence,
    *,
    particles: int,
    moves: int,
    overlap: float,
    trajectory: float,
    resample: bool,
) -> Path:
    """Carry one population to the target and write down the path it took.

    A stage raises beta as far as an effective `overlap` of the population goes along, in `moves` levels of equal rise
    with one transition each; the population is resampled at its end. The step size follows the acceptance
    probabilities, the number of steps makes trajectories `trajectory` population spreads long.

    overlap : effective share of the particles, (sum w)^2 / (n sum w^2), after a stage
    resample : whether other populations on this path shall be resampled; the pilot always is

    Raises TargetError where the reference and the target hardly overlap.
    """
    population = Population.from_reference(target, reference, particles, seed)
    beta, step_size = 0.0, 0.5
    rows: list[tuple[float, float, int, Array]] = []  # beta, step size, steps and scale of every level
    for _ in range(MAX_STAGES):
        gain = population.log_target - reference.included * _log_references(reference, population.position)
        gain = np.where(np.isfinite(gain), gain, -np.inf)
        if np.count_nonzero(gain > -np.inf) < 0.1 * particles:
            raise TargetError(f"hardly any of {particles} draws of the reference have a positive density under {target.name}")
        rise = _rise(gain, 1.0 - beta, overlap)
        scale = _spread(population.position, np.exp(rise * gain - np.max(rise * gain)))
        for m in range(1, moves + 1):
            end = 1.0 if beta + rise >= 1.0 and m == moves else beta + rise * m / moves
            steps = int(min(max(math.ceil(trajectory / step_size), 1), MAX_STEPS))
            level = Path(
                np.array([rows[-1][0] if rows else 0.0, end]), np.array([m == moves]), np.array([step_size]), np.array([steps]), scale[None]
            )
            rows.append((end, step_size, steps, scale))
            look()
            accept = float(population.advance(target, reference, level, 0, 1, EXACT)[0])
            step_size *= math.exp(accept - ACCEPTANCE)
        beta = rows[-1][0]
        if beta == 1.0:
            break
    else:
        raise TargetError(f"no path of {MAX_STAGES} stages leads from the reference to {target.name}")
    betas, step_sizes, steps_, scales = zip(*rows, strict=True)
    ends = np.arange(1, len(rows) + 1) % moves == 0
    return Path(np.concatenate([[0.0], betas]), ends & resample, np.array(step_sizes), np.array(steps_), np.stack(scales))


def _log_references(reference: Reference, q: Array) -> Array:
    """Log density of the reference at each row of q (n, dim)."""
    return reference.log_constant - 0.5 * ((q - reference.mean) ** 2 @ reference.precision)


def _rise(gain: Array, most: float, overlap: float) -> float:
    """The largest rise of beta, up to `most`, that keeps the effective share of weights exp(rise gain) at `overlap`."""

    def share(rise: float) -> float:
        w = np.exp(rise * gain - np.max(rise * gain))
        return float(w.sum() ** 2 / (w @ w)) / len(w)

    if share(most) >= overlap:
        return most
    low, high = 0.0, most
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if share(middle) >= overlap else (low, middle)
    return max(low, 1e-12)


def _spread(q: Array, weight: Array) -> Array:
    """Weighted standard deviation of every column of q (n, dim)."""
    weight = weight / weight.sum()
    return np.sqrt(weight @ (q - weight @ q) ** 2) + 1e-12
