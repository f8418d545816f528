"""Jumps over bridges: the birth or death of a unit with moves on densities between the two ends.

Annealed: a birth draws the unit from its prior and fades it in, its output multiplied by s_0 = 0 < ... < s_T = 1, with
gamma_t = p(theta') p(D | theta' at s_t). It gains log gamma_{t+1} - log gamma_t where it is, then moves by HMC on
gamma_{t+1}, which stays as it is. A death goes the same way back. Tempered: the likelihood's power falls to b_T, there the
unit comes or goes, and the power rises again; each change gains a weight, and each level has its moves.

The sum of the gains stands in the ratio where the bare jump has log p(D | theta') / p(D | theta); g being the prior of
the unit, prior and proposal cancel, and so do the places. Source: Karagiannis and Andrieu 2013; Al-Awadhi, Hurn and
Jennison 2004.
"""

import math

import numpy as np

from engine.readable.hmc import energy, path
from engine.readable.neurons import born, died, flat, log_prior
from engine.readable.palindrome import split


def bridges(log_likelihood, theta, n, rng, widths, jump="annealed", levels=8, coldest=0.5, step_size=0.1, steps=5, variant="exact"):
    """k (n,) and theta, a list of n networks, from theta on, a tuple (W (k, inputs), b (k,), V (outputs, k), c (outputs,)).

    log_likelihood(theta) : of the data, and its gradient, a tuple of the same shapes; the prior is N(0, 1)
    widths : (lowest, highest), all as probable; coldest : b_T; step_size, steps : of the moves
    """
    lowest, highest = widths
    t = np.linspace(0.0, 1.0, levels + 1)
    ks, thetas = [], []
    for _ in range(n):
        k = len(theta[1])

        def chosen(k=k):
            # phase: propose
            up = k == lowest or (k < highest and rng.random() < 0.5)
            return up, int(rng.random() * (k + 1 if up else k))

        if jump == "annealed":
            up, slot = chosen()
            x = born(theta, slot, 1.0, 1.0, rng)[0] if up else theta
            faded = [(1.0, (slot, s)) for s in (t if up else t[::-1])]
            log_w = 0.0
            for i in range(levels):
                # phase: bridges
                log_w += power(log_likelihood, x, *faded[i + 1])[0] - power(log_likelihood, x, *faded[i])[0]
                if i + 1 < levels:
                    held = faded[i if variant == "old_level" else i + 1]  # wrong: old_level
                    x = moved(log_likelihood, x, *held, rng, step_size, steps)
            x = x if up else died(x, slot, 1.0)[0]
        else:
            x, log_w, b = theta, 0.0, coldest**t
            for i in range(levels):
                # phase: bridges
                log_w += (b[i + 1] - b[i]) * log_likelihood(x)[0]
                x = moved(log_likelihood, x, b[i + 1], None, rng, step_size, steps)
            up, slot = chosen()
            before = x
            x, u = born(x, slot, 1.0, 1.0, rng) if up else died(x, slot, 1.0)
            log_w += b[-1] * (log_likelihood(x)[0] - log_likelihood(before)[0])
            for i in range(levels, 0, -1):
                # phase: bridges
                x = moved(log_likelihood, x, b[i], None, rng, step_size, steps)
                log_w += (b[i - 1] - b[i]) * log_likelihood(x)[0]
            if variant == "no_kernel_densities":  # wrong: no_kernel_densities
                log_w = log_likelihood(x)[0] - log_likelihood(theta)[0] + log_prior(flat(x), 1.0) - log_prior(flat(theta), 1.0)
                log_w -= log_prior(u, 1.0) if up else -log_prior(u, 1.0)
        # phase: decide
        small, large = (k, k + 1) if up else (k - 1, k)
        log_d_b = math.log(0.5 if large < highest else 1.0) - math.log(0.5 if small > lowest else 1.0)
        if rng.random() < math.exp(min(log_w + (log_d_b if up else -log_d_b), 0.0)):
            theta = x
        ks.append(len(theta[1]))
        thetas.append(theta)
    return np.array(ks), thetas


def power(log_likelihood, x, b, fade):
    """b log p(D | x), the unit of fade = (slot, s) speaking s times as loud, and its gradient."""
    W, bias, V, c = x
    loud = np.ones(len(bias))
    if fade is not None:
        loud[fade[0]] = fade[1]
    value, (dW, dbias, dV, dc) = log_likelihood((W, bias, V * loud, c))
    return b * value, b * flat((dW, dbias, dV * loud, dc))


def moved(log_likelihood, x, b, fade, rng, step_size, steps):
    """One HMC transition on the level (b, fade)."""
    # phase: bridges
    shapes, q = [part.shape for part in x], flat(x)

    def target(q):
        value, slope = power(log_likelihood, split(q, shapes), b, fade)
        return value - 0.5 * q @ q, slope - q

    mass, epsilon = np.ones(q.size), step_size * (1.0 + 0.1 * (2.0 * rng.random() - 1.0))
    (log_pi, g), p = target(q), rng.standard_normal(q.size)
    q1, p1, _, log_pi1 = path(target, q, p, g, epsilon, steps, mass, "leapfrog")
    error = energy(log_pi1, p1, mass) - energy(log_pi, p, mass) if math.isfinite(log_pi1) else math.inf
    return split(q1, shapes) if rng.random() < math.exp(min(-error, 0.0)) else x


if __name__ == "__main__":
    from engine.jumps.run import sample_architecture, start_architecture
    from engine.readable import beside

    network, x, y = beside.small_network()
    settings = {"chains": 1, "draws": 100, "within": "none", "jump_step_size": 0.1}
    start, stream, _ = beside.network_start(start_architecture(network, x, y, "annealed", **settings))
    beside.report(
        "100 annealed jumps over 8 bridges: the number of units",
        lambda: bridges(beside.log_likelihood_and_slopes(x, y), start, 100, stream, network.width)[0].astype(float),
        lambda: sample_architecture(network, x, y, "annealed", **settings).width[0].astype(float),
    )
