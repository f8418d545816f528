"""Adaptation of step size and mass matrix during warm-up, as part of a chain's state.

Everything that adapts lives in one flat array, `Chain.adaptation`, which the kernels read and write after each
transition. A chain can therefore be cut, pickled and resumed anywhere in its warm-up. After the last warm-up transition
the array no longer changes.

- Step size: dual averaging (Hoffman & Gelman 2014, section 3.2) with mu = log(10 eps_0), gamma = 0.05, t0 = 10, kappa =
  0.75. Warm-up runs on eps_j; sampling uses the average eps-bar of the last window. eps_0 by doubling or halving until
  one leapfrog step is accepted with probability 0.8 (Stan's rule; Hoffman & Gelman have 0.5).
- Mass: the inverse of the variances (or covariances) seen in windows that double (Stan reference manual, "HMC algorithm
  parameters"), shrunk towards 1e-3 as Stan does. After each window the step size is sought anew.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels import kernel
from engine.samplers.chain import Chain, evaluate
from engine.samplers.hmc import draw_momentum, kinetic_energy, velocity
from engine.targets.target import Target

Array = NDArray[np.float64]

GAMMA, T0, KAPPA = 0.05, 10.0, 0.75
INITIAL_ACCEPT = 0.8  # of one leapfrog step at the step size with which dual averaging begins
SHRINK, SHRINK_TO = 5.0, 1e-3  # a window of n draws counts n / (n + 5), the rest is the variance 1e-3
MAX_DOUBLINGS = 60  # of the initial step size: a flat density would double it for ever

# The layout of `Chain.adaptation`: named numbers, the ends of the windows, then four matrices of (rows, dim), with rows
# = 1 for a diagonal mass and rows = dim for a dense one: inverse mass, root of the mass, sum of squared deviations, and
# in its first row the mean.
DONE, TOTAL, STEP, MU, H_BAR, LOG_BAR, COUNT, SEEN, WINDOW, FIRST_SLOW = range(10)
MAX_WINDOWS = 24
_MATRICES = 10 + MAX_WINDOWS


def windows(warmup: int) -> tuple[int, tuple[int, ...]]:
    """First transition whose draw is used for the mass, and after how many transitions the mass is estimated, as in
    Stan.

    1,000 transitions: from 75, estimated after 100, 150, 250, 450 and 950. Below 20 the mass is left alone.
    """
    if warmup < 20:
        return warmup, ()
    first, size, last = 75, 25, 50
    if first + size + last > warmup:
        first, last = int(0.15 * warmup), int(0.1 * warmup)
        size = warmup - first - last
    stop, end = warmup - last, first + size
    ends = [end]
    while end < stop:
        size *= 2
        end = end + size if end + size == stop or end + 3 * size <= stop else stop  # no room for another one: this one takes the rest
        ends.append(end)
    return first, tuple(ends)


class AdaptationTrace(NamedTuple):
    """What adaptation did in each warm-up transition of each chain.

    step_size_average : (chains, warmup), eps-bar after the transition (the step size used in it is `Warmup.step_size`)
    windows : after how many transitions the mass was estimated
    inverse_mass : (chains, 1 + windows, rows, dim), at the start and after each window; rows is 1 (diagonal) or dim
        (dense)
    """

    step_size_average: Array
    windows: tuple[int, ...]
    inverse_mass: Array

    @classmethod
    def empty(cls, chains: int, warmup: int, adaptation: Array, dim: int) -> AdaptationTrace:
        rows = rows_of(adaptation, dim)
        ends = windows(warmup)[1]
        trace = cls(np.empty((chains, warmup)), ends, np.empty((chains, 1 + len(ends), rows, dim)))
        return trace

    def write(self, c: int, done: int, adaptation: Array) -> None:
        """Note the mass of chain c after `done` transitions of its warm-up, where it was estimated then."""
        rows, dim = self.inverse_mass.shape[2:]
        if done == 0 or done in self.windows:
            row = 0 if done == 0 else 1 + self.windows.index(done)
            self.inverse_mass[c, row] = adaptation[_MATRICES : _MATRICES + rows * dim].reshape(rows, dim)


def rows_of(adaptation: Array, dim: int) -> int:
    """1 for a diagonal mass, dim for a dense one."""
    return (adaptation.size - _MATRICES) // (4 * dim)


def begin(target: Target, chain: Chain, warmup: int, step_size: float | None, inverse_mass: Array, mass_root: Array) -> int:
    """Give the chain its adaptation state for `warmup` transitions. Without `step_size` a first one is sought; returns
    the evaluations spent.
    """
    first, ends = windows(warmup)
    rows, dim = inverse_mass.shape
    state = np.zeros(_MATRICES + 4 * rows * dim)
    state[TOTAL], state[FIRST_SLOW] = warmup, first
    state[10 : 10 + MAX_WINDOWS] = np.inf
    state[10 : 10 + len(ends)] = ends
    state[_MATRICES : _MATRICES + rows * dim] = inverse_mass.ravel()
    state[_MATRICES + rows * dim : _MATRICES + 2 * rows * dim] = mass_root.ravel()
    state[STEP] = 1.0 if step_size is None else step_size
    chain.adaptation = state
    evaluations = 0
    if step_size is None:
        evaluations = restart(*chain.arguments(target), state, rows)
    else:
        state[LOG_BAR] = math.log(step_size)
    return evaluations


@kernel
def mass_of(adaptation, rows, dim):
    """Views (rows, dim) of the inverse mass and of a root of the mass."""
    size = rows * dim
    inverse_mass = adaptation[_MATRICES : _MATRICES + size].reshape(rows, dim)
    mass_root = adaptation[_MATRICES + size : _MATRICES + 2 * size].reshape(rows, dim)
    return inverse_mass, mass_root


@kernel
def learn(density, rng, state, adaptation, rows, adapt_step, adapt_mass, target_accept, accept):
    """Take one warm-up transition, now at `state`, with acceptance statistic `accept`. Returns the evaluations
    spent.
    """
    evaluations = 0
    done = adaptation[DONE] + 1.0
    if adapt_step:
        count = adaptation[COUNT] + 1.0
        weight = 1.0 / (count + T0)
        adaptation[COUNT] = count
        adaptation[H_BAR] += weight * (target_accept - accept - adaptation[H_BAR])
        log_step = adaptation[MU] - adaptation[H_BAR] * math.sqrt(count) / GAMMA
        adaptation[LOG_BAR] += count**-KAPPA * (log_step - adaptation[LOG_BAR])
        adaptation[STEP] = math.exp(log_step)
    window = int(adaptation[WINDOW])
    if adapt_mass and done > adaptation[FIRST_SLOW] and window < MAX_WINDOWS and adaptation[10 + window] < np.inf:
        _see(state.position, adaptation, rows)
        if done == adaptation[10 + window]:
            _estimate_mass(adaptation, rows, state.position.size)
            adaptation[WINDOW] += 1.0
            if adapt_step:
                evaluations = restart(density, rng, state, adaptation, rows)
    adaptation[DONE] = done
    if done == adaptation[TOTAL] and adapt_step:
        adaptation[STEP] = math.exp(adaptation[LOG_BAR])
    return evaluations


@kernel
def _see(position, adaptation, rows):
    """Welford's update of mean and squared deviations."""
    dim = position.size
    spread = adaptation[_MATRICES + 2 * rows * dim : _MATRICES + 3 * rows * dim].reshape(rows, dim)
    mean = adaptation[_MATRICES + 3 * rows * dim : _MATRICES + 3 * rows * dim + dim]
    n = adaptation[SEEN] + 1.0
    adaptation[SEEN] = n
    share = (n - 1.0) / n
    if rows == 1:
        for j in range(dim):
            off = position[j] - mean[j]
            spread[0, j] += share * off * off
    else:
        for i in range(dim):
            off = share * (position[i] - mean[i])
            for j in range(dim):
                spread[i, j] += off * (position[j] - mean[j])
    for j in range(dim):
        mean[j] += (position[j] - mean[j]) / n


@kernel
def _estimate_mass(adaptation, rows, dim):
    """Inverse mass = shrunk covariance of the window; the window starts afresh."""
    inverse_mass, mass_root = mass_of(adaptation, rows, dim)
    spread = adaptation[_MATRICES + 2 * rows * dim : _MATRICES + 3 * rows * dim].reshape(rows, dim)
    n = adaptation[SEEN]
    scale = n / (n + SHRINK) / max(n - 1.0, 1.0)
    floor = SHRINK_TO * SHRINK / (n + SHRINK)
    for i in range(rows):
        for j in range(dim):
            inverse_mass[i, j] = scale * spread[i, j]
            if rows == 1 or i == j:
                inverse_mass[i, j] += floor
    if rows == 1:
        for j in range(dim):
            mass_root[0, j] = 1.0 / math.sqrt(inverse_mass[0, j])
    else:
        _root_of_inverse(inverse_mass, mass_root)
    adaptation[SEEN] = 0.0
    for k in range(_MATRICES + 2 * rows * dim, adaptation.size):
        adaptation[k] = 0.0


@kernel
def _root_of_inverse(matrix, root):
    """Lower triangular R with R R' = matrix^-1: matrix = U U' with U upper triangular, R = U^-T."""
    dim = matrix.shape[0]
    upper = np.zeros((dim, dim))
    for j in range(dim - 1, -1, -1):
        for i in range(j, -1, -1):
            total = matrix[i, j]
            for k in range(j + 1, dim):
                total -= upper[i, k] * upper[j, k]
            upper[i, j] = math.sqrt(total) if i == j else total / upper[j, j]
    root[:] = 0.0
    for i in range(dim):  # U' R = I, solved column by column from the top
        root[i, i] = 1.0 / upper[i, i]
        for j in range(i):
            total = 0.0
            for k in range(j, i):
                total -= upper[k, i] * root[k, j]
            root[i, j] = total / upper[i, i]


@kernel
def restart(density, rng, state, adaptation, rows):
    """Start dual averaging from a step size sought by doubling or halving from the present one. Returns the evaluations
    spent.

    With a fresh momentum each time, one leapfrog step is taken; the step size goes up (down) until its acceptance falls
    below (rises above) 0.8.
    """
    position, gradient, running = state
    dim = position.size
    inverse_mass, mass_root = mass_of(adaptation, rows, dim)
    q, p, g, work = np.empty(dim), np.empty(dim), np.empty(dim), np.empty(dim)
    step_size = adaptation[STEP]
    direction = 0
    evaluations = 0
    while evaluations < MAX_DOUBLINGS:
        draw_momentum(rng, mass_root, work, p)
        energy = kinetic_energy(inverse_mass, p, work) - running[0]
        for j in range(dim):
            p[j] += 0.5 * step_size * gradient[j]
        velocity(inverse_mass, p, work)
        for j in range(dim):
            q[j] = position[j] + step_size * work[j]
        log_density = evaluate(density, q, g)
        for j in range(dim):
            p[j] += 0.5 * step_size * g[j]
        gain = energy - kinetic_energy(inverse_mass, p, work) + log_density
        evaluations += 1
        up = gain > math.log(INITIAL_ACCEPT)  # False for NaN: a step out of the support was too long
        if direction == 0:
            direction = 1 if up else -1
        elif up != (direction == 1):
            break
        step_size *= 2.0**direction
    adaptation[STEP] = step_size
    adaptation[MU] = math.log(10.0 * step_size)
    adaptation[LOG_BAR] = math.log(step_size)  # the first update replaces it
    adaptation[H_BAR] = 0.0
    adaptation[COUNT] = 0.0
    return evaluations


def present_step_size(chain: Chain) -> float:
    """The step size the next transition of an adapted chain will use."""
    return float(chain.adaptation[STEP])


def present_inverse_mass(chain: Chain) -> Any:
    """(1, dim) or (dim, dim): the inverse mass that the next transition will use."""
    dim = chain.position.size
    return mass_of(chain.adaptation, rows_of(chain.adaptation, dim), dim)[0].copy()
