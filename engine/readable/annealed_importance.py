"""Annealed importance sampling: a population carried from a normal reference r to a target pi, for pi's integral.

Levels 0 = beta_0 < beta_1 < ... < beta_T = 1 of log gamma_beta = (1 - beta) log r + beta log pi. At each of them

    log w += (beta_t - beta_{t-1}) (log pi(q) - log r(q))     where the particle is

(where pi is a likelihood alone and r its prior, log r + beta log pi, and log r is not taken away), then one HMC
transition leaves gamma_{beta_t} as it is. The mean weight is an unbiased estimate of the integral of pi. (Where asked,
the population is resampled in between, systematically, and its mean weight carried on.) Source: Neal 2001, equations 3
and 4; Del Moral, Doucet and Jasra 2006.
"""

import math

import numpy as np


def annealed_importance(target, reference, path, n, rng, variant="exact"):
    """Positions (n, dim), log weights (n,) and log of the mean weight. target(q) gives log pi and its gradient (dim,).

    reference : mean, precision (dim,), log density at the mean, `included` 1 where pi holds all factors, 0 where pi is
        a likelihood and r its prior; path : beta (T + 1,), resample, step_size, steps (T,), scale (T, dim)
    """
    r, levels = reference, len(path.steps)
    q = r.mean + 1.0 / np.sqrt(r.precision) * rng.standard_normal((n, len(r.mean)))
    log_pi, g = map(np.array, zip(*(target(each) for each in q), strict=True))
    log_w, running = np.zeros(n), 0.0

    def log_r(q):
        return r.log_constant - 0.5 * (r.precision * (q - r.mean) ** 2).sum(axis=-1)

    for t in range(levels):
        beta, raised = path.beta[t + 1], path.beta[t + 1] - path.beta[t]
        gain = raised * (log_pi - r.included * log_r(q))
        if not (variant == "skipped_weight" and t == levels // 2) and variant != "late_weights":  # wrong: skipped_weight
            log_w += gain
        if path.resample[t]:
            chosen, log_mean = systematic(log_w, rng)
            q, g, log_pi, log_w, running = q[chosen], g[chosen], log_pi[chosen], np.zeros(n), running + log_mean
        for i in range(n):
            q[i], g[i], log_pi[i] = hmc(target, q[i], g[i], log_pi[i], log_r, r, beta, path, t, rng)
        if variant == "late_weights":  # wrong: late_weights
            log_w += raised * (log_pi - r.included * log_r(q))
    return q, log_w, running + np.logaddexp.reduce(log_w) - math.log(n)


def hmc(target, q, g, log_pi, log_r, r, beta, path, t, rng):
    """One transition that leaves gamma_beta as it is, in coordinates divided by `scale`."""
    kept, scale, steps = 1.0 - beta * r.included, path.scale[t], path.steps[t]
    epsilon = path.step_size[t] * (1.0 + 0.2 * (2.0 * rng.random() - 1.0))
    p, q1, g1 = rng.standard_normal(q.size), q, g
    h0 = 0.5 * p @ p - kept * log_r(q) - beta * log_pi
    p = p + 0.5 * epsilon * scale * (beta * g - kept * r.precision * (q - r.mean))
    for step in range(steps):
        q1 = q1 + epsilon * scale * p
        log_pi1, g1 = target(q1)
        if not math.isfinite(log_pi1):
            break
        p = p + epsilon * (0.5 if step == steps - 1 else 1.0) * scale * (beta * g1 - kept * r.precision * (q1 - r.mean))
    h1 = 0.5 * p @ p - kept * log_r(q1) - beta * log_pi1 if math.isfinite(log_pi1) else math.inf
    return (q1, g1, log_pi1) if rng.random() < math.exp(min(h0 - h1, 0.0)) else (q, g, log_pi)


def systematic(log_w, rng):
    """Whose place each of n particles takes, (n,), and the log of the mean weight."""
    n, top = len(log_w), log_w.max()
    reached = np.cumsum(np.exp(log_w - top))
    chosen = np.searchsorted(reached * n, (rng.random() + np.arange(n)) * reached[-1])
    return np.minimum(chosen, n - 1), top + math.log(reached[-1] / n)


if __name__ == "__main__":
    import engine
    from engine.readable import beside

    target, particles = engine.targets.banana(), 200
    reference, path = beside.annealing_path(target)
    beside.report(
        f"{particles} particles from a normal to the banana, {len(path.steps)} levels",
        lambda: annealed_importance(beside.with_gradient(target), reference, path, particles, beside.stream(0))[0],
        lambda: beside.annealed(target, reference, path, particles).position,
    )
