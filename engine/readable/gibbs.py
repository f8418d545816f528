"""Gibbs sampling, and Metropolis one variable at a time.

Each coordinate in turn is drawn from its full conditional, pi(x_j | all others). As a Metropolis step it would always be
accepted, for the ratio of the pi's and that of the proposals cancel. Where a conditional is not known, propose
x_j + scale_j z, z ~ N(0, 1), and accept with min(1, pi(y) / pi(x)). Source: Geman and Geman 1984; Gelfand and Smith
1990, section 2.3.
"""

import math

import numpy as np

REACH = 5  # points of the wrong grid on each side


def gibbs(log_pi, x, n, rng, conditional=None, update="conditional", scale=1.0, scan="systematic", variant="exact"):
    """n sweeps (n, dim) over all coordinates, from x (dim,) on. log_pi(x) is the log density, up to a constant.

    conditional : (x, j) -> ("normal", mean, sd) or ("gamma", shape, rate)
    scale : of the Metropolis proposal, a number or (dim,)
    """
    x, scale, draws = x.copy(), np.broadcast_to(scale, x.shape), []
    for _ in range(n):
        for k in range(x.size):
            # phase: fix
            j = min(int(rng.random() * x.size), x.size - 1) if scan == "random" else k
            if variant == "window":  # wrong: window
                x[j] = from_window(log_pi, x, j, scale[j], rng)
            elif update == "conditional":
                # phase: curve
                kind, first, second = conditional(x, j)
                # phase: move
                x[j] = first + second * rng.standard_normal() if kind == "normal" else rng.standard_gamma(first) / second
            else:
                x[j] = by_metropolis(log_pi, x, j, scale[j], rng)
        draws.append(x.copy())
    return np.array(draws)


def moved(x, j, value):
    """x with coordinate j at a value."""
    y = x.copy()
    y[j] = value
    return y


def by_metropolis(log_pi, x, j, scale, rng):
    """Metropolis for coordinate j alone."""
    # phase: propose
    y = moved(x, j, x[j] + scale * rng.standard_normal())
    # phase: ratio
    log_r = log_pi(y) - log_pi(x)
    # phase: move
    return y[j] if rng.random() < math.exp(min(log_r, 0.0)) else x[j]


def from_window(log_pi, x, j, scale, rng):
    """Wrong: from the conditional on a grid that moves with x, whose normaliser differs from that of the way back."""
    # phase: curve
    grid = [x[j] + k * scale for k in range(-REACH, REACH + 1)]
    weights = [math.exp(min(log_pi(moved(x, j, value)) - log_pi(x), 700.0)) for value in grid]
    # phase: move
    level, k = rng.random() * sum(weights), 0
    while k < 2 * REACH and level >= weights[k]:
        level, k = level - weights[k], k + 1
    return grid[k]


if __name__ == "__main__":
    import engine
    from engine.readable import beside, densities

    target = engine.targets.gaussian()
    start, stream = beside.streams(target)
    beside.report(
        "1000 sweeps over a Gaussian with correlation 0.8",
        lambda: gibbs(beside.value_only(target), start, 1000, stream, densities.gaussian_conditional(target)),
        lambda: engine.sample(target, "gibbs", chains=1, draws=1000).draws[0],
    )
