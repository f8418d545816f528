"""Birth and death of a layer: reversible jump over the depth L of a network whose layers all have the same width.

A birth, chosen with probability b_L, puts a hidden layer before the outputs and draws its weights and biases from their
prior; a death, d_L = 1 - b_L, takes the last one away. With the prior as the proposal, both cancel, and the ratio of a
birth is

    r = [p(D | theta') / p(D | theta)] [p(L + 1) / p(L)] [d_{L+1} / b_L]

A death has its reciprocal. A layer has no place among others, and nothing is stretched: no more factors. "redraw" draws
the whole network of the new depth from its prior. Source: Green 1995; Berezowski 2021, section 5.2.1.
"""

import math

import numpy as np


def layers(log_likelihood, theta, n, rng, depths, prior_sd=1.0, log_p_L=None, jump="plain", variant="exact", within=None):
    """L (n,) and theta, a list of n networks, from theta on: a list of the (weights (out, in), biases (out,)) of each layer.

    log_likelihood(theta) : of the data
    depths : (fewest, most) hidden layers; log_p_L : their log prior, default uniform
    within : theta, rng -> theta by a move that keeps p(theta | D, L), before each jump; None holds the weights
    """
    fewest, most = depths
    log_p_L = np.zeros(most - fewest + 1) if log_p_L is None else log_p_L
    Ls, thetas, log_lik = [], [], log_likelihood(theta)
    for _ in range(n):
        if within is not None:
            # phase: within
            theta = within(theta, rng)
            log_lik = log_likelihood(theta)
        depth = len(theta) - 1
        # phase: propose
        up = depth == fewest or (depth < most and rng.random() < 0.5)
        width = len(theta[0][1])
        if jump == "redraw":
            outputs, inputs = len(theta[-1][1]), theta[0][0].shape[1]
            sizes = [inputs, *[width] * (depth + 1 if up else depth - 1), outputs]
            new = [drawn(sizes[i], sizes[i + 1], prior_sd, rng) for i in range(len(sizes) - 1)]
        elif up:
            new = [*theta[:-1], drawn(width, width, prior_sd, rng), theta[-1]]
        else:
            new = [*theta[:-2], theta[-1]]
        # phase: weigh
        small, large = (depth, depth + 1) if up else (depth - 1, depth)
        log_lik_new, sign = log_likelihood(new), 1.0 if up else -1.0
        log_r = log_lik_new - log_lik + log_p_L[len(new) - 1 - fewest] - log_p_L[depth - fewest]
        log_d_b = math.log(0.5 if large < most else 1.0) - math.log(0.5 if small > fewest else 1.0)
        log_r += 0.0 if variant in ("no_end_points", "as_coded") else sign * log_d_b  # wrong: no_end_points, as_coded
        # phase: decide
        if rng.random() < math.exp(min(log_r, 0.0)):
            theta, log_lik = new, log_lik_new
        Ls.append(len(theta) - 1)
        thetas.append(theta)
    return np.array(Ls), thetas


def drawn(n_in, n_out, sd, rng):
    """Weights (n_out, n_in) and biases (n_out,) of a layer from their prior."""
    # phase: propose
    return sd * rng.standard_normal((n_out, n_in)), sd * rng.standard_normal(n_out)


if __name__ == "__main__":
    from engine.jumps.run import sample_architecture
    from engine.readable import beside

    network, x, y = beside.deep_network()
    settings = {"chains": 1, "draws": 1000, "within": "none"}
    beside.report(
        "1000 births and deaths of layers, weights held in between: the number of hidden layers",
        lambda: beside.layered(layers, network, x, y, "exact", **settings)[0].astype(float),
        lambda: sample_architecture(network, x, y, "plain", **settings).depth[0].astype(float),
    )
