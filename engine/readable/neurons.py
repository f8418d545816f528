"""Birth and death of a unit: reversible jump over the width k of a network with one hidden layer.

A birth, chosen with probability b_k, puts a unit at one of k + 1 places and draws its weights from their prior g; a
death, d_k = 1 - b_k, takes away one of k. The ratio of a birth, r, has these factors; a death has their reciprocals:

    p(D | theta') / p(D | theta)      p(k + 1) / p(k)      p(theta' | k + 1) / p(theta | k)      1 / g(u)
    d_{k+1} / b_k                     [1 / (k + 1)] / [1 / (k + 1)], the places      |Jacobian|

"rescaled" multiplies the weights out of hidden units by s = sqrt(k / (k + 1)) at a birth: one factor s each in the
Jacobian. "split" copies a partner's weights in, plus e, and shares its weights out: v becomes v / 2 + u and v / 2 - u;
the place then is a pair of places. "redraw" draws the whole network from its prior. Source: Green 1995; Berezowski 2021,
section 5.2.2.
"""

import math

import numpy as np

SPLIT = 0.6  # sds of what a split draws, in those of the prior


def neurons(log_likelihood, theta, n, rng, widths, prior_sd=1.0, log_p_k=None, jump="plain", variant="exact", within=None):
    """k (n,) and theta, a list of n networks, from the network theta on, a tuple (W (k, inputs), b (k,), V (outputs, k), c).

    log_likelihood(theta) : of the data
    widths : (lowest, highest); log_p_k : their log prior, default uniform
    within : theta, rng -> theta by a move that keeps p(theta | D, k), before each jump; None holds the weights
    """
    lowest, highest = widths
    log_p_k = np.zeros(highest - lowest + 1) if log_p_k is None else log_p_k
    ks, thetas, log_lik = [], [], log_likelihood(theta)
    for _ in range(n):
        if within is not None:
            # phase: within
            theta = within(theta, rng)
            log_lik = log_likelihood(theta)
        k = len(theta[1])
        # phase: propose
        up = k == lowest or (k < highest and rng.random() < 0.5)
        slot = int(rng.random() * (k + 1 if up else k))
        small, large, sign = (k, k + 1, 1.0) if up else (k - 1, k, -1.0)
        s, place = (math.sqrt(small / large) if jump == "rescaled" else 1.0), math.log(large)
        if jump == "redraw":
            new, place = drawn(theta, k + 1 if up else k - 1, prior_sd, rng), 0.0
            log_q = log_prior(flat(new), prior_sd) - log_prior(flat(theta), prior_sd)
        elif jump == "split":
            partner, place = int(rng.random() * small), math.log(large) + math.log(small)
            new, u = split(theta, slot, partner, SPLIT * prior_sd, rng) if up else merged(theta, slot, partner)
            log_q = sign * log_prior(u, SPLIT * prior_sd)
        else:
            new, u = born(theta, slot, s, prior_sd, rng) if up else died(theta, slot, s)
            log_q = sign * log_prior(u, prior_sd)
        # phase: weigh
        log_lik_new = log_likelihood(new)
        log_r = log_lik_new - log_lik + log_p_k[k + int(sign) - lowest] - log_p_k[k - lowest]
        log_r += log_prior(flat(new), prior_sd) - log_prior(flat(theta), prior_sd)
        log_r -= 0.0 if variant == "no_proposal" else log_q  # wrong: no_proposal
        log_d_b = math.log(0.5 if large < highest else 1.0) - math.log(0.5 if small > lowest else 1.0)
        log_r += 0.0 if variant in ("no_end_points", "as_coded") else sign * log_d_b  # wrong: no_end_points, as_coded
        log_r -= place if up and variant in ("slot_once", "as_coded") else 0.0  # wrong: slot_once, as_coded
        log_r += 0.0 if variant == "no_jacobian" else sign * small * len(new[3]) * math.log(s)  # wrong: no_jacobian
        # phase: decide
        if rng.random() < math.exp(min(log_r, 0.0)):
            theta, log_lik = new, log_lik_new
        ks.append(len(theta[1]))
        thetas.append(theta)
    return np.array(ks), thetas


def born(theta, slot, s, prior_sd, rng):
    """The network with one more unit, and the unit's parameters: its weights in, its bias, its weights out."""
    W, b, V, c = theta
    # phase: propose
    u = prior_sd * rng.standard_normal(W.shape[1] + 1 + len(c))
    row, bias, column = np.split(u, [W.shape[1], W.shape[1] + 1])
    return (np.insert(W, slot, row, 0), np.insert(b, slot, bias), np.insert(s * V, slot, column, 1), c), u


def died(theta, slot, s):
    """The network without the unit, and what it lost."""
    W, b, V, c = theta
    # phase: propose
    u = np.concatenate([W[slot], b[slot : slot + 1], V[:, slot]])
    return (np.delete(W, slot, 0), np.delete(b, slot), np.delete(V, slot, 1) / s, c), u


def split(theta, slot, partner, sd, rng):
    """The network in which the partner has become two units, and what was drawn for it."""
    W, b, V, c = theta
    # phase: propose
    u = sd * rng.standard_normal(W.shape[1] + 1 + len(c))
    row, bias, shares = np.split(u, [W.shape[1], W.shape[1] + 1])
    half, V = 0.5 * V[:, partner], V.copy()
    V[:, partner] = half + shares
    return (np.insert(W, slot, W[partner] + row, 0), np.insert(b, slot, b[partner] + bias), np.insert(V, slot, half - shares, 1), c), u


def merged(theta, slot, partner):
    """The network in which the unit has joined the partner, and what the split that undoes it would draw."""
    W, b, V, c = theta
    # phase: propose
    w, bias, column = W[slot], b[slot : slot + 1], V[:, slot]
    W, b, V = np.delete(W, slot, 0), np.delete(b, slot), np.delete(V, slot, 1)
    u = np.concatenate([w - W[partner], bias - b[partner], 0.5 * (V[:, partner] - column)])
    V[:, partner] += column
    return (W, b, V, c), u


def drawn(theta, k, sd, rng):
    """A network of k units from its prior."""
    inputs, outputs = theta[0].shape[1], len(theta[3])
    # phase: propose
    return tuple(sd * rng.standard_normal(shape) for shape in ((k, inputs), k, (outputs, k), outputs))


def flat(theta):
    """All parameters, (dim,)."""
    return np.concatenate([part.ravel() for part in theta])


def log_prior(values, prior_sd):
    """Normal with mean 0, each by itself."""
    return -0.5 * sum((values / prior_sd) ** 2) - values.size * math.log(prior_sd * math.sqrt(2.0 * math.pi))


if __name__ == "__main__":
    from engine.jumps.run import sample_architecture, start_architecture
    from engine.readable import beside

    network, x, y = beside.small_network()
    run = start_architecture(network, x, y, chains=1, draws=1000, within="none")
    start, stream, likelihood = beside.network_start(run)
    beside.report(
        "1000 births and deaths of units, weights held in between",
        lambda: neurons(likelihood, start, 1000, stream, network.width, network.prior_sd)[0],
        lambda: sample_architecture(network, x, y, chains=1, draws=1000, within="none").width[0].astype(float),
    )
