"""The books of a kernel, worked out again: every decision of some recorded transitions, from the definition.

The trial sees what a kernel does to distributions; a mistake too small for it is seen here, for each number that
decides is computed a second time, by other code, from the target alone. Rounding apart they must agree.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import ticket
from engine.judge.check import Check
from engine.samplers.gibbs import REACH
from engine.samplers.hmc import DIVERGENCE, trajectory
from engine.samplers.nuts import NutsTransitions
from engine.samplers.slice_sampling import GIVEN_UP, GROWN, LEVEL, PLACED, TAKEN
from engine.targets.target import Target

Array = NDArray[np.float64]

LIMIT = 1e-6  # relative error above which two computations of a number disagree
SMOOTH = 2.0  # energy error of a path up to which it must lead back
STEPS_BACK = 12
DECILES = np.array([-1.28, -0.52, 0.0, 0.52, 1.28])  # in units of a conditional's sd, about: where it is compared
LOST = 1e8  # log densities beyond are left out: nothing is accepted there, and rounding has no bound


def check(errors: list[float], decisions: int, what: str) -> Check:
    """The check that these relative errors of `decisions` recomputed decisions make."""
    name = "decisions worked out again"
    if not decisions:
        return Check(name, "unknown", math.nan, LIMIT, f"{what}: nothing was decided.", "relative error", kind="kernel")
    largest = float(np.max(np.nan_to_num(errors, nan=np.inf, posinf=np.inf))) if errors else 0.0
    sentence = (
        f"{what}: {decisions:,} recorded decisions were worked out again from the density itself, by other code. The "
        f"numbers agree to {largest:.1e}"
    )
    sentence += "." if largest < LIMIT else ": what decided is not what the formula says."
    verdict: Any = "pass" if largest < LIMIT else "fail"
    return Check(name, verdict, largest, LIMIT, sentence, "relative error", kind="kernel")


def apart(mine: Array | float, theirs: Array | float) -> float:
    """Largest relative difference; the same infinity on both sides counts as none."""
    a, b = np.asarray(mine, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    with np.errstate(all="ignore"):
        off = np.where(a == b, 0.0, np.abs(a - b) / np.maximum(1.0, np.maximum(np.abs(a), np.abs(b))))
    off = np.where(np.isnan(a) & np.isnan(b), 0.0, off)
    return float(np.max(np.nan_to_num(off, nan=np.inf, posinf=np.inf), initial=0.0))


def metropolis(target: Target, method: Any, before: Array, after: Array, inside: Any) -> list[float]:
    """One transition: ratio, decision, and where the chain stands then."""
    proposal, scale = inside.proposal, np.broadcast_to(np.asarray(method.scale, dtype=np.float64), before.shape)
    drift = np.asarray(method.drift, dtype=np.float64)
    drift = np.eye(len(before))[0] * drift if drift.ndim == 0 else drift
    here, there = target.log_density(before), target.log_density(proposal)
    step = proposal - before
    hastings = 0.5 * float((((step - drift) / scale) ** 2 - ((-step - drift) / scale) ** 2).sum())
    log_ratio = there - here + hastings
    return _decided(log_ratio, inside.log_ratio, inside.uniform, before, proposal, after, here, there)


def hmc(target: Target, method: Any, before: Array, after: Array, inside: Any, inverse_mass: Array) -> list[float]:
    """One transition: the energies of the path, the decision, and where the chain stands then."""
    steps = int(inside.steps)
    q, p = inside.path[: steps + 1], inside.path_momentum[: steps + 1]
    logs = target.log_density_many(q)
    kinetic = 0.5 * np.einsum("ni,ij,nj->n", p, inverse_mass, p)
    errors = [apart(logs[0], inside.path_log_density[0])]
    error = float((kinetic[-1] - logs[-1]) - (kinetic[0] - logs[0]))
    if steps < method.steps or not math.isfinite(error):
        return [*errors, 0.0 if np.array_equal(after, before) else math.inf]
    if abs(error) < SMOOTH:  # elsewhere chaos blows rounding errors up, whatever the code
        errors.append(_way_back(target, method, q, p, float(inside.step_size)))
    return [*errors, *_decided(-error, -inside.energy_error, inside.uniform, before, q[-1], after, logs[0], logs[-1])]


def _way_back(target: Target, method: Any, q: Array, p: Array, step_size: float) -> float:
    """The last of the path's steps run back with the momentum turned round: how far from the path they end."""
    first = max(0, len(q) - 1 - STEPS_BACK)
    back = trajectory(target, q[-1], -p[-1], step_size=step_size, steps=len(q) - 1 - first, mass=method.mass, integrator=method.integrator)
    return apart(back.position[-1], q[first])


def _decided(
    log_ratio: float, used: float, uniform: float, before: Array, proposal: Array, after: Array, here: float, there: float
) -> list[float]:
    """Errors of a Metropolis decision: the ratio, then 0 or infinity for where the chain stands."""
    if not (abs(here) < LOST and abs(there) < LOST):
        return [0.0 if np.array_equal(after, before) or log_ratio > 0 else math.inf] if not math.isnan(there) else []
    probability = math.exp(min(log_ratio, 0.0))
    if abs(uniform - probability) < 1e-6:
        return [apart(log_ratio, used)]
    stands = proposal if uniform < probability else before
    return [apart(log_ratio, used), 0.0 if np.array_equal(after, stands) else math.inf]


def nuts(
    target: Target, method: Any, before: Array, after: Array, inside: NutsTransitions, inverse_mass: Array
) -> tuple[list[float], list[tuple[float, float]]]:
    """One transition: energies of the states, products of the U-turn tests, and whether the draw is the state that the
    tree chose; then, for each subtree, whether it was stopped by the right criterion, and whether by the misprinted
    one (0, else infinity).

    Any criterion keeps the target that is a function of a subtree's states in order of time alone: the misprint, with
    the second product negative, is such a one, and only slow.
    """
    leaves = int(inside.leaves)
    q, p, times = inside.leaf_position[:leaves], inside.leaf_momentum[:leaves], inside.leaf_time[:leaves]
    diagonal = np.diag(inverse_mass)  # where it is nothing else a product of matrices would take most of the time
    velocity = p * diagonal if np.count_nonzero(inverse_mass) == len(diagonal) else p @ inverse_mass
    energy = 0.5 * (velocity * p).sum(axis=1) - target.log_density_many(q)
    near = np.abs(energy) < LOST
    errors = [apart(energy[near], inside.leaf_energy[:leaves][near])]
    if method.sampling == "multinomial":
        weight = inside.leaf_log_weight[:leaves]
        sound = near & (np.abs(energy - energy[0]) < DIVERGENCE)
        errors.append(apart((energy[0] - energy)[sound], weight[sound]))
    row_of = {int(time): row for row, time in enumerate(times)}
    if int(inside.proposal) in row_of:
        errors.append(0.0 if np.array_equal(q[row_of[int(inside.proposal)]], after) else math.inf)
    criteria = []
    for k in ticket.looking(range(int(inside.nodes))):  # a thousand in a deep tree
        span = range(int(inside.node_low[k]), int(inside.node_high[k]) + 1)
        if not all(time in row_of for time in (span[0], span[-1])):
            continue  # beyond what is recorded
        rows = [row_of[time] for time in span]
        dots = turn_products(q[rows], p[rows], velocity[rows], method.sampling)
        misprint = dots * np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
        errors.append(_close(dots, inside.node_dots[k]))
        right, reversed_ = (
            0.0 if turns(those, method.sampling) == bool(inside.node_turning[k]) else math.inf for those in (dots, misprint)
        )
        criteria.append((right, reversed_))
    return errors, criteria


def _close(mine: Array, theirs: Array) -> float:
    scale = max(1.0, float(np.nanmax(np.abs(mine), initial=0.0)))
    return apart(mine / scale, theirs / scale)


def turn_products(position: Array, momentum: Array, velocity: Array, sampling: str) -> Array:
    """The numbers of the U-turn test of a subtree whose states in order of time have these positions, momenta and
    velocities (n, dim), from the definition. (6,), NaN where there is none: see `NutsTransitions.node_dots`.
    """
    found = np.full(6, np.nan)
    if sampling == "slice":
        span = position[-1] - position[0]
        found[:2] = span @ momentum[0], span @ momentum[-1]
        return found
    total, half = momentum.sum(axis=0), len(momentum) // 2
    found[:2] = velocity[0] @ total, velocity[-1] @ total
    if len(momentum) > 2:
        left, right = momentum[: half + 1].sum(axis=0), momentum[half - 1 :].sum(axis=0)
        found[2:] = velocity[0] @ left, velocity[half] @ left, velocity[half - 1] @ right, velocity[-1] @ right
    return found


def turns(dots: Array, sampling: str) -> bool:
    """Does the U-turn test stop here?"""
    seen = dots[np.isfinite(dots)]
    return bool(np.any(seen < 0.0)) if sampling == "slice" else not bool(np.all(seen > 0.0))


def delayed_rejection(target: Target, method: Any, before: Array, after: Array, inside: Any) -> list[float]:
    """One transition: the probability that decided each stage, and where the chain stands then."""
    stages = int(inside.stages)
    points = [before, *inside.proposal[:stages]]
    logs = [target.log_density(point) for point in points]
    if not all(abs(value) < LOST for value in logs):
        return []
    errors, stands, sure = [], before, True
    for tries in range(1, stages + 1):
        probability = path_probability(points, logs, method, tuple(range(tries + 1)))
        errors.append(apart(probability, float(inside.accept_prob[tries - 1])))
        sure &= abs(float(inside.uniform[tries - 1]) - probability) > 1e-6
        if inside.uniform[tries - 1] < probability:
            stands = points[tries]
            break
    return [*errors, 0.0 if not sure or np.array_equal(stands, after) else math.inf]


def path_probability(points: list[Array], logs: list[float], method: Any, path: tuple[int, ...]) -> float:
    """alpha of the last of the tries on `path`, places in `points`: the probability of the whole path back over that
    of the path there (Mira 2001).
    """

    def log_proposals(way: tuple[int, ...]) -> float:
        start, total = points[way[0]], 0.0
        for stage, (failed, to) in enumerate(pairwise(way)):
            pull, scale = (method.pull if stage else 0.0), np.asarray(method.scale) * method.shrink**stage
            total -= 0.5 * float((((points[to] - start - pull * (points[failed] - start)) / scale) ** 2).sum())
        return total

    back = (path[-1], *path[-2:0:-1], path[0])
    log_ratio = logs[path[-1]] - logs[path[0]] + log_proposals(back) - log_proposals(path)
    with np.errstate(divide="ignore", invalid="ignore"):
        for end in range(2, len(path)):
            log_ratio += np.log1p(-path_probability(points, logs, method, back[:end]))
            log_ratio -= np.log1p(-path_probability(points, logs, method, path[:end]))
    return math.exp(min(log_ratio, 0.0)) if not math.isnan(log_ratio) else 0.0


def gibbs(target: Target, method: Any, before: Array, after: Array, inside: Any) -> list[float]:
    """One sweep: the ratio and the decision of every Metropolis update; of every draw from a conditional, that
    conditional against the joint density along its line.
    """
    errors, now = [], before.copy()
    for update in range(len(inside.coordinate)):
        j = int(inside.coordinate[update])
        trial = now.copy()
        if method.update == "metropolis" and method.variant == "exact":
            trial[j] = inside.proposal[update]
            here, there = target.log_density(now), target.log_density(trial)
            moved = now.copy()
            moved[j] = inside.after[update]
            errors += _decided(there - here, inside.log_ratio[update], inside.uniform[update], now, trial, moved, here, there)
        elif method.variant == "exact" and not method.block:
            a, b = inside.parameters[update]
            if inside.conditional[update] == 0:  # normal, mean a and sd b
                at = a + b * DECILES
                law = -0.5 * DECILES**2
            else:  # gamma, shape a and rate b
                at = a * np.exp(DECILES / math.sqrt(a)) / b
                law = (a - 1.0) * np.log(at) - b * at
            line = np.tile(now, (len(at), 1))
            line[:, j] = at
            gap = target.log_density_many(line) - law
            errors.append(float(np.ptp(gap)) if np.all(np.isfinite(gap)) else 0.0)
        elif method.variant == "window":  # always accepted, which is right only where both windows weigh the same
            scale = float(np.broadcast_to(np.asarray(method.scale, dtype=np.float64), before.shape)[j])
            errors.append(abs(math.expm1(_window(target, now, j, float(inside.after[update]), scale))))
        now[j] = inside.after[update]
    return [*errors, 0.0 if np.array_equal(now, after) else math.inf]


def _window(target: Target, point: Array, j: int, after: float, scale: float) -> float:
    """Log of what the window around where coordinate j is weighs, over what that around where it goes does."""
    grid = scale * np.arange(-REACH, REACH + 1)
    logs = []
    for centre in (float(point[j]), after):
        line = np.tile(point, (len(grid), 1))
        line[:, j] = centre + grid
        logs.append(float(np.logaddexp.reduce(target.log_density_many(line))))
    return logs[0] - logs[1]


def slice_sampling(target: Target, method: Any, before: Array, after: Array, inside: Any) -> list[float]:
    """One transition: every level, interval, point and what became of it, and where the chain stands then."""
    kept = int((inside.kind >= 0).sum())
    if kept < int(inside.events):
        return []  # not all of it is there
    w = np.broadcast_to(np.asarray(method.w, dtype=np.float64), before.shape)
    errors, now, level, events = [], before.copy(), 0.0, range(kept)
    low, high = now.copy(), now.copy()
    for k in ticket.looking(events):
        kind, j = int(inside.kind[k]), int(inside.coordinate[k])
        free = slice(None) if method.interval == "hyperrectangle" else slice(j, j + 1)
        if kind == LEVEL:
            low, high = now.copy(), now.copy()
            level = target.log_density(now) + math.log(inside.uniform[j])
            errors.append(apart(level, float(inside.log_level[j])))
        elif kind == PLACED:
            low[free] -= w[free] * inside.offset[free]
            high[free] = low[free] + w[free]
            errors.append(max(apart(low, inside.low[k]), apart(high, inside.high[k])))
            if method.interval != "hyperrectangle":
                grown = [i for i in events if i > k and inside.kind[i] == GROWN and inside.coordinate[i] == j]
                ends = [(float(inside.low[i, j]), float(inside.high[i, j])) for i in (k, *grown)]
                errors.append(_grown(target, method, now, j, float(w[j]), level, ends, float(inside.split[j])))
                low[j], high[j] = found = ends[-1]
        elif kind == GIVEN_UP:
            errors.append(math.inf)  # an interval around x0 never comes to this
        elif kind != GROWN:
            point, above = inside.point[k], target.log_density(inside.point[k]) > level
            taken = above and (method.interval != "doubling" or _comes_back(target, now, j, point, found, w[j], level))
            within = bool(np.all((low <= point) & (point <= high)))
            errors.append(0.0 if within and taken == (kind == TAKEN) else math.inf)
            if kind == TAKEN:
                now = point.copy()
            else:
                low, high = np.where(point < now, point, low), np.where(point > now, point, high)
                errors.append(max(apart(low, inside.low[k]), apart(high, inside.high[k])))
    return [*errors, 0.0 if np.array_equal(now, after) else math.inf]


def _line(target: Target, point: Array, j: int, at: Any) -> Array:
    """Log densities at `point` with coordinate j at each of `at`."""
    line = np.tile(point, (len(at), 1))
    line[:, j] = at
    return target.log_density_many(line)


def _grown(target: Target, method: Any, now: Array, j: int, w: float, level: float, ends: list[tuple[float, float]], split: float) -> float:
    """How far the last of these intervals is from where the first one must grow to, given the coins seen."""
    if method.interval == "stepping_out":
        down = int(method.limit * split)
        lows = ends[0][0] - w * np.arange(down + 1)
        highs = ends[0][1] + w * np.arange(method.limit - down)
        (low,), (high,) = (side[[np.argmin(np.append(_line(target, now, j, side[:-1]) > level, False))]] for side in (lows, highs))
        return max(apart(low, ends[-1][0]), apart(high, ends[-1][1]))
    error = 0.0
    for (low, high), (next_low, next_high) in pairwise(ends):
        inside = bool(np.any(_line(target, now, j, (low, high)) > level))
        doubled = ((low, 2 * high - low), (2 * low - high, high))
        error = max(error, min(apart(np.array(each), np.array((next_low, next_high))) for each in doubled))
        error = error if inside else math.inf
    full = 2.0 ** len(ends) > method.limit
    return error if full or not np.any(_line(target, now, j, ends[-1]) > level) else math.inf


def _comes_back(target: Target, now: Array, j: int, point: Array, ends: tuple[float, float], w: float, level: float) -> bool:
    """Whether doubling from `point` could have led to the same `ends`: of the intervals through which it would have
    passed, those without x0 must all have had an end inside the slice.
    """
    widths = w * 2.0 ** np.arange(round(math.log2((ends[1] - ends[0]) / w)))
    there, here = np.floor((point[j] - ends[0]) / widths), np.floor((now[j] - ends[0]) / widths)
    lows = (ends[0] + there * widths)[there != here]
    highs = lows + widths[there != here]
    return bool(np.all((_line(target, now, j, lows) > level) | (_line(target, now, j, highs) > level)))
