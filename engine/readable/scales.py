"""Neal's Gibbs sampler for a network whose prior is learned: NUTS for the weights, gamma draws for the precisions.

Weights in a group g share a precision tau_g, theta_j ~ N(0, 1 / (f_j tau_g)), f_j = k for a weight out of k hidden units
under scaling by width, else 1; y ~ N(output, 1 / tau_y). With tau ~ Gamma(a, rate b), n_g weights in the group, and half
the squared residuals E,

    tau_g | theta ~ Gamma(a + n_g / 2, b + sum_j f_j theta_j^2 / 2),    tau_y | theta ~ Gamma(a_y + n_y / 2, b_y + E)

A sweep moves theta given all tau by one NUTS transition, then draws every tau given theta. Source: Neal 1996, section
3.2. The mass that NUTS takes is Neal's guess of the posterior's width (section 3.2.3): any positive one is right.
"""

import numpy as np

from engine.readable.nuts import State, transition


def scales(
    half_squares, theta, n, rng, group, factor, tau, tau_y, mass, epsilon, prior=(1.0, 1.0), noise_prior=None, values=0, variant="exact"
):
    """theta (n, dim), tau (n, groups) and tau_y (n,), from theta (dim,), tau (groups,) and tau_y on.

    half_squares : theta -> E and its gradient (dim,); group, factor : (dim,); mass : precisions (dim,), tau_y -> (dim,)
    prior, noise_prior : (a, b), None keeps what it is of; values : n_y
    """
    found: tuple[list, list, list] = [], [], []
    for _ in range(n):
        # phase: weights
        theta = moved(half_squares, theta, rng, factor * tau[group], tau_y, mass, epsilon)
        if prior is not None:
            # phase: sum
            a, b = prior
            count = 0.0 if variant == "no_half_count" else np.bincount(group)  # wrong: no_half_count
            size = np.abs(theta) if variant == "no_square" else theta**2  # wrong: no_square
            shape, rate = a + 0.5 * count, b + 0.5 * np.bincount(group, factor * size)
            # phase: draw
            tau = gamma(rng, shape * np.ones(len(tau)), rate, variant)
        if noise_prior is not None:
            # phase: draw
            a, b = noise_prior
            tau_y = gamma(rng, a + 0.5 * values, b + half_squares(theta)[0], variant)
        for each, value in zip(found, (theta, tau, tau_y), strict=True):
            each.append(value)
    return tuple(np.array(each) for each in found)


def moved(half_squares, theta, rng, precision, tau_y, mass, epsilon):
    """One NUTS transition that leaves p(theta | tau, y) as it is."""

    def target(q):
        E, slope = half_squares(q)
        return -tau_y * E - 0.5 * sum(precision * q * q), -tau_y * slope - precision * q

    # phase: weights
    x, _ = transition(target, State(theta, None, *target(theta)), rng, epsilon, 1.0 / mass(precision, tau_y))
    return x.q


def gamma(rng, shape, rate, variant):
    # phase: draw
    drawn = rng.standard_gamma(shape)
    return drawn * rate if variant == "rate_as_scale" else drawn / rate  # wrong: rate_as_scale


if __name__ == "__main__":
    from engine.networks.sweep import sample_network
    from engine.readable import beside

    network, x, y = beside.small_regression()
    settings = {"chains": 1, "draws": 200, "warmup": 0, "tuning": "fixed", "noise": "learned"}
    beside.report(
        "200 sweeps of a network with learned precisions: the precisions of its layers",
        lambda: beside.swept(scales, network, x, y, None, **settings)[1],
        lambda: sample_network(network, x, y, **settings).precisions[0],
        rows=20,
    )
