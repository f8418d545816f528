"""Delayed rejection across dimensions: a birth or death of a unit that is refused is tried a second time.

R(x, y) is the ratio of the bare birth from x to y, whose unit comes from its prior g1. If y1 is refused, a second unit
comes from g2, whose weights out have a smaller sd, and y2 is accepted with min(1, r),

    r = R(x, y2) [g1(u2) / g2(u2)] [1 - min(1, 1 / R(x, y2))] / [1 - min(1, R(x, y1))]

for the death of y2's unit fails first on the way back. A refused death from y2 to x is tried again with 1 / r, for which
a y1 is drawn from g1: the first try of the birth back, which must have failed. Source: Tierney and Mira 1999; Green and
Mira 2001.
"""

import math

import numpy as np

from engine.readable.neurons import born, died, log_prior


def delayed_jump(log_likelihood, theta, n, rng, widths, scale=0.5, variant="exact"):
    """k (n,) and theta, a list of n networks, from theta on, a tuple (W (k, inputs), b (k,), V (outputs, k), c (outputs,)).

    log_likelihood(theta) : of the data; the prior is N(0, 1); widths : (lowest, highest), all as probable
    scale : the sd of the weights out in g2
    """
    lowest, highest = widths
    ks, thetas, log_lik = [], [], log_likelihood(theta)
    for _ in range(n):
        k = len(theta[1])
        # phase: propose
        up = k == lowest or (k < highest and rng.random() < 0.5)
        slot = int(rng.random() * (k + 1 if up else k))
        small, large = (k, k + 1) if up else (k - 1, k)
        log_d_b = math.log(0.5 if large < highest else 1.0) - math.log(0.5 if small > lowest else 1.0)
        new, u = born(theta, slot, 1.0, 1.0, rng) if up else died(theta, slot, 1.0)
        log_new = log_likelihood(new)
        # phase: weigh
        log_r = log_new - log_lik + log_d_b if up else log_new - log_lik - log_d_b
        taken = rng.random() < math.exp(min(log_r, 0.0))
        if not taken:
            # phase: second
            if up:
                new, u = born_narrow(theta, slot, scale, rng)
                log_new = log_likelihood(new)
                back = -(log_new - log_lik + log_d_b)
                log_r2 = -back + log_prior(u, 1.0) - log_g2(u, len(theta[3]), scale)
            else:
                back = -math.inf
                if variant != "no_auxiliary":  # wrong: no_auxiliary
                    first, _ = born(new, slot, 1.0, 1.0, rng)
                    back = log_likelihood(first) - log_new + log_d_b
                log_r2 = log_r - log_prior(u, 1.0) + log_g2(u, len(theta[3]), scale)
            if variant != "no_rejection_terms":  # wrong: no_rejection_terms
                log_r2 += log_refused(back) - log_refused(log_r)
            taken = rng.random() < math.exp(min(log_r2, 0.0))
        # phase: decide
        if taken:
            theta, log_lik = new, log_new
        ks.append(len(theta[1]))
        thetas.append(theta)
    return np.array(ks), thetas


def born_narrow(theta, slot, scale, rng):
    """The network with a unit from g2, and the unit's parameters."""
    W, b, V, c = theta
    # phase: second
    u = rng.standard_normal(W.shape[1] + 1 + len(c))
    u[W.shape[1] + 1 :] *= scale
    row, bias, column = np.split(u, [W.shape[1], W.shape[1] + 1])
    return (np.insert(W, slot, row, 0), np.insert(b, slot, bias), np.insert(V, slot, column, 1), c), u


def log_g2(u, outputs, scale):
    return log_prior(u[:-outputs], 1.0) + log_prior(u[-outputs:], scale)


def log_refused(log_r):
    """log(1 - min(1, r))."""
    return -math.inf if log_r >= 0.0 else math.log(-math.expm1(log_r))


if __name__ == "__main__":
    from engine.jumps.run import sample_architecture, start_architecture
    from engine.readable import beside

    network, x, y = beside.small_network()
    settings = {"chains": 1, "draws": 1000, "within": "none"}
    start, stream, likelihood = beside.network_start(start_architecture(network, x, y, "delayed", **settings))
    beside.report(
        "1000 jumps with a second try: the number of units",
        lambda: delayed_jump(likelihood, start, 1000, stream, network.width)[0].astype(float),
        lambda: sample_architecture(network, x, y, "delayed", **settings).width[0].astype(float),
    )
