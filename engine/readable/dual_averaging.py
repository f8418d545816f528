"""How NUTS tunes itself while it warms up: the step size by dual averaging, the mass by variances seen in windows.

With a the mean acceptance of a transition, c its number since the last restart, and delta the one wanted:

    H <- (1 - 1 / (c + t0)) H + (delta - a) / (c + t0)
    log epsilon = mu - sqrt(c) H / gamma,    log epsilon_bar <- c^-kappa log epsilon + (1 - c^-kappa) log epsilon_bar

The next transition uses epsilon, the run afterwards epsilon_bar. Source: Hoffman and Gelman 2014, equation 6 and
algorithm 5; windows and the shrunk variances as in Stan's reference manual.
"""

import math

import numpy as np

from engine.readable.nuts import State, transition

GAMMA, T0, KAPPA = 0.05, 10.0, 0.75


def dual_averaging(target, q, n, rng, warmup=200, delta=0.8, move=transition):
    """warmup + n draws (., dim) from pi, from q (dim,) on, and the step size of each. target(q) gives log pi, gradient.

    delta : the mean acceptance wanted; move : how the next state is made
    """
    x, W, draws, used, seen = State(q, None, *target(q)), np.ones(q.size), [], [], []
    first, ends = windows(warmup)
    epsilon = first_step(target, x, rng, 1.0, W)
    mu, h, log_bar, c = math.log(10.0 * epsilon), 0.0, math.log(epsilon), 0
    for t in range(1, warmup + n + 1):
        # phase: follow
        used.append(epsilon)
        x, a = move(target, x, rng, epsilon, W)
        draws.append(x.q)
        if t > warmup:
            continue
        # phase: statistic
        c += 1
        h += (delta - a - h) / (c + T0)
        # phase: step
        log_epsilon = mu - h * math.sqrt(c) / GAMMA
        epsilon = math.exp(log_epsilon)
        # phase: average
        log_bar += c**-KAPPA * (log_epsilon - log_bar)
        # phase: mass
        if first < t <= (ends[-1] if ends else 0):
            seen.append(x.q)
        if t in ends:
            W, seen = variances(np.array(seen)), []
            epsilon = first_step(target, x, rng, epsilon, W)
            mu, h, log_bar, c = math.log(10.0 * epsilon), 0.0, math.log(epsilon), 0
        if t == warmup:
            epsilon = math.exp(log_bar)
    return np.array(draws), np.array(used)


def first_step(target, x, rng, epsilon, W):
    """Doubled or halved until one leapfrog step is no longer, or at last, accepted with probability 0.8."""
    direction = 0
    while True:
        p = rng.standard_normal(x.q.size) / np.sqrt(W)
        h0 = 0.5 * sum(p * W * p) - x.log_pi
        p = p + 0.5 * epsilon * x.g
        log_pi, g = target(x.q + epsilon * W * p)
        p = p + 0.5 * epsilon * g
        up = h0 - (0.5 * sum(p * W * p) - log_pi) > math.log(0.8)
        if direction == 0:
            direction = 1 if up else -1
        elif up != (direction == 1):
            return epsilon
        epsilon *= 2.0**direction


def variances(draws):
    """Of a window's draws, shrunk towards 1e-3: the diagonal of M^-1."""
    n = len(draws)
    return n / (n + 5.0) * draws.var(axis=0, ddof=1) + 1e-3 * 5.0 / (n + 5.0)


def windows(warmup):
    """From which transition on draws are seen, and after which ones the mass is estimated: ever longer windows."""
    if warmup < 20:
        return warmup, []
    first, size, last = (75, 25, 50) if warmup >= 150 else (int(0.15 * warmup), 0, int(0.1 * warmup))
    size = size or warmup - first - last
    stop, ends = warmup - last, [first + size]
    while ends[-1] < stop:
        size *= 2
        end = ends[-1] + size
        ends.append(end if end == stop or end + 2 * size <= stop else stop)
    return first, ends


if __name__ == "__main__":
    import engine
    from engine.readable import beside

    target = engine.targets.banana()
    start, stream = beside.streams(target)
    beside.report(  # each step size comes from all transitions before: the last digits soon differ, and then the draws
        "200 transitions of warm-up and 300 draws on the banana",
        lambda: dual_averaging(beside.with_gradient(target), start, 300, stream)[0],
        lambda: beside.with_warmup(engine.sample(target, "nuts", chains=1, draws=300, warmup=200, keep_warmup=True)),
        rows=30,
    )
