"""The books of jumps that go a way: over bridges, with a second try, between two moves within the models."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.judge import audit as books
from engine.judge.jump_ratio import Move, Sizes, born, decided, log_choice, log_normal, log_ratio, precisions_of
from engine.jumps.bridges import JITTER
from engine.jumps.recording import architecture_of
from engine.jumps.settings import size_range

Array = NDArray[np.float64]

SHARP = 1e-6  # of a log ratio: what is refused with less probability than this is not known to rounding error


def annealed(move: Move) -> list[float]:
    """The log weight of each bridge, each move on a bridge made again with the same random numbers, and the decision.

    The moves show at which bridge they were made: by the weights alone that cannot be seen.
    """
    jump, run = move.jump, move.kernel.run
    birth, small, large = _ends(move)
    new, rng = _replayed_choice(move, birth, small, large)
    path, rows = jump.bridge_position[:, : len(new)], len(jump.bridge_level)
    steps, leap = run.settings.crossing().moves, run.settings.crossing().steps
    step_size = float(move.step_sizes[_index(run, large)])
    levels = np.concatenate([[0.0 if birth else 1.0], jump.bridge_level])
    density = _Bridges(move, large, new)
    right, errors = 0.0, []
    for row in range(rows):
        gained = density(levels[row + 1], path[row])[0] - density(levels[row], path[row])[0]
        errors.append(books.apart(gained, float(jump.bridge_log_weight[row])))
        right += gained
        if row == rows - 1:
            break
        q = path[row]
        for _ in range(steps):
            q = _hmc(density, levels[row + 1], q, rng, step_size, leap)
        errors.append(books.apart(q, path[row + 1]))
    errors.append(books.apart(rng.random(), float(jump.uniform)))  # the same random numbers, to the last
    thin = path[0 if birth else -1][~new]
    up = log_choice(move.kernel, small, large) + _kept(move, thin, small, large, new)
    right += up if birth else -up
    there = (path[-1], large) if birth else (thin, small)
    return [*errors, books.apart(right, float(jump.log_ratio)), *decided(move, right, float(jump.uniform), there)]


def tempered(move: Move) -> list[float]:
    """The log weight of each level, and the decision."""
    jump, run = move.jump, move.kernel.run
    birth, small, large = _ends(move)
    sizes = move.here[1], large if birth else small
    power, T = run.settings.crossing().level, run.settings.bridges
    fits = [_Fit(move, each) for each in sizes]
    dims = [architecture_of(run.network, *each).dim for each in sizes]
    path = jump.bridge_position
    right, q = 0.0, move.here[0]
    for row in range(T):
        right += (power[row + 1] - power[row]) * fits[0](q)[0]
        q = path[row, : dims[0]]
    jumped = path[T, : dims[1]]
    right += power[T] * (fits[1](jumped)[0] - fits[0](q)[0])
    new, _ = born(move.kernel, large, jump)
    up = log_choice(move.kernel, small, large) + _kept(move, q if birth else jumped, small, large, new)
    right += up if birth else -up
    for row in range(T):
        q = path[T + 1 + row, : dims[1]]
        right += (power[T - row - 1] - power[T - row]) * fits[1](q)[0]
    there = q, sizes[1]
    return [books.apart(right, float(jump.log_ratio)), *decided(move, right, float(jump.uniform), there)]


def palindromic(move: Move) -> list[float]:
    """The bare ratio from the state after the first move to that before the second, and where an accepted one ends."""
    jump, network = move.jump, move.kernel.run.network
    width, depth = int(jump.width), int(jump.depth)
    step = 1 if jump.move in (0, 2) else -1
    aim = (width + step, depth) if jump.move < 2 else (width, depth + step)
    here, there = (
        (jump.bridge_position[row, : architecture_of(network, *sizes).dim], sizes) for row, sizes in ((0, (width, depth)), (1, aim))
    )
    right = log_ratio(move.kernel, here, there, jump, move.precisions, move.y)
    errors = [books.apart(right, float(jump.log_ratio))]
    if jump.uniform < math.exp(min(right, 0.0)) - books.LIMIT:
        end = jump.bridge_position[2, : architecture_of(network, *aim).dim]
        errors.append(books.apart(end, move.after[0]) if move.after[1] == aim else math.inf)
    return errors


def delayed(move: Move) -> list[float]:
    """The log ratio of each stage that was reached, and the decision of the last."""
    jump, kernel = move.jump, move.kernel
    birth, small, large = _ends(move)
    new, _ = born(kernel, large, jump)
    count = int(new.sum())
    thin = move.here if birth else (move.here[0][~new], small)

    def grown(u: Array) -> tuple[Array, Sizes]:
        theta = np.empty(len(new))
        theta[new], theta[~new] = u, thin[0]
        return theta, large

    def births(thick: tuple[Array, Sizes]) -> float:
        sides = (thin, thick) if birth else (thick, thin)
        ratio = log_ratio(kernel, *sides, jump, move.precisions, move.y)
        return ratio if birth else -ratio

    first = grown(jump.stage_parameters[0, :count]) if birth else move.here
    bare = births(first)
    right = bare if birth else -bare
    uniform, there = float(jump.stage_uniform[0]), first if birth else thin
    errors = [books.apart(right, float(jump.stage_log_ratio[0]))]
    if not math.isfinite(jump.stage_uniform[1]):
        return [*errors, *decided(move, right, uniform, there)]
    second = kernel.run.settings.second_draw(kernel.run.network)
    if second.informed or abs(right) < SHARP:
        return errors
    other = grown(jump.stage_parameters[1, :count])
    last, tried = (other, first) if birth else (first, other)  # of the second draw, and of the one that failed
    again, failed, u = births(last), births(tried), last[0][new]
    precision = precisions_of(kernel, large, move.precisions)[new]
    if jump.move < 2:
        centre, scale = np.zeros(count), np.where(_outgoing(move, large)[new], second.scale, 1.0)
    else:
        centre, scale = np.zeros(count), np.full(count, second.scale)
        centre[: large[0] ** 2] = np.eye(large[0]).ravel()
    drawn = float(log_normal(u - centre, precision / scale**2).sum())
    if min(abs(again), abs(failed)) < SHARP:
        return errors
    up = again + float(log_normal(u, precision).sum()) - drawn + _refused(-again) - _refused(failed)
    right = up if birth else -up
    there = last if birth else thin
    errors.append(books.apart(right, float(jump.stage_log_ratio[1])))
    return [*errors, *decided(move, right, float(jump.stage_uniform[1]), there)]


def _refused(log_ratio: float) -> float:
    """log(1 - min(1, exp(log_ratio)))."""
    return -math.inf if log_ratio >= 0.0 else math.log(-math.expm1(log_ratio))


def _ends(move: Move) -> tuple[bool, Sizes, Sizes]:
    """Whether a jump is a birth, and the smaller and the larger of its two architectures."""
    birth, (width, depth) = bool(move.jump.move in (0, 2)), move.here[1]
    step = 1 if birth else -1
    aim = (width + step, depth) if move.jump.move < 2 else (width, depth + step)
    return (True, move.here[1], aim) if birth else (False, aim, move.here[1])


def _outgoing(move: Move, large: Sizes) -> NDArray[np.bool_]:
    """Which of the larger network's parameters (dim,) lead out of the unit that comes or goes."""
    network = architecture_of(move.kernel.run.network, *large)
    found = np.zeros(network.dim, dtype=np.bool_)
    for weights, _ in network.unpack(np.arange(network.dim))[1:]:
        found[weights[:, move.jump.slot].astype(int)] = True
    return found


def _kept(move: Move, thin: Array, small: Sizes, large: Sizes, new: NDArray[np.bool_]) -> float:
    """log of the prior density of what is kept, `thin`, in the larger network, less that in the smaller: not 0 where
    prior variances depend on the width.
    """
    of_large, of_small = (precisions_of(move.kernel, sizes, move.precisions) for sizes in (large, small))
    return float((log_normal(thin, of_large[~new]) - log_normal(thin, of_small)).sum())


def _index(run: Any, sizes: Sizes) -> int:
    rules = run.settings.rules(run.network)
    return int((sizes[1] - rules.lowest_depth) * len(rules.log_width_prior) + sizes[0] - rules.lowest_width)


def _replayed_choice(move: Move, birth: bool, small: Sizes, large: Sizes) -> tuple[NDArray[np.bool_], Any]:
    """What is born or dies, and the generator after the choice of the jump and the draws of a birth."""
    rng, network, layers = move.rng, move.kernel.run.network, move.jump.move >= 2
    if isinstance(network.width, tuple) and isinstance(network.depth, tuple):
        rng.random()
    low, high = size_range("depth", network.depth) if layers else size_range("width", network.width)
    if low < move.here[1][1 if layers else 0] < high:
        rng.random()
    if not layers:
        rng.random()
    new, _ = born(move.kernel, large, move.jump)
    if birth:
        rng.standard_normal(int(new.sum()))
    return new, rng


class _Fit:
    """Log likelihood of one architecture, with its gradient."""

    def __init__(self, move: Move, sizes: Sizes):
        run = move.kernel.run
        network = architecture_of(run.network, *sizes)
        if network.likelihood == "gaussian":
            network = dataclasses.replace(network, noise_sd=float(move.precisions[-1] ** -0.5))
        self._target = network.log_likelihood(run.x, move.y)

    def __call__(self, q: Array) -> tuple[float, Array]:
        return self._target.log_density_and_gradient(q)


class _Bridges:
    """The densities between two architectures: a unit fades in by the scale of its output, a layer by powers of both
    likelihoods. Called with a level and the larger network's parameters: log likelihood, log density, gradient.
    """

    def __init__(self, move: Move, large: Sizes, new: NDArray[np.bool_]):
        self._whole = _Fit(move, large)
        self._layers, self._kept = move.jump.move >= 2, ~new
        self._precision = precisions_of(move.kernel, large, move.precisions)
        if self._layers:
            self._without = _Fit(move, (large[0], large[1] - 1))
        else:
            self._fading = _outgoing(move, large)

    def __call__(self, level: float, q: Array) -> tuple[float, float, Array]:
        if self._layers:
            (fit, slope), (less, rest) = self._whole(q), self._without(q[self._kept])
            value, gradient = level * fit + (1.0 - level) * less, level * slope
            gradient[self._kept] += (1.0 - level) * rest
        else:
            scale = np.where(self._fading, level, 1.0)
            value, slope = self._whole(scale * q)
            gradient = scale * slope
        prior = -0.5 * float((self._precision * q) @ q)
        return value, value + prior, gradient - self._precision * q


def _hmc(density: _Bridges, level: float, q: Array, rng: Any, step_size: float, steps: int) -> Array:
    """One transition of HMC, as `engine.jumps.bridges` says that it is made."""
    epsilon = step_size * (1.0 + JITTER * (2.0 * rng.random() - 1.0))
    p = rng.standard_normal(len(q))
    _, log_density, gradient = density(level, q)
    energy, x = 0.5 * float(p @ p) - log_density, q
    for _ in range(steps):
        p = p + 0.5 * epsilon * gradient
        x = x + epsilon * p
        _, log_density, gradient = density(level, x)
        if not math.isfinite(log_density):
            break
        p = p + 0.5 * epsilon * gradient
    change = energy - (0.5 * float(p @ p) - log_density) if math.isfinite(log_density) else -math.inf
    return x if rng.random() < math.exp(min(change, 0.0)) else q
