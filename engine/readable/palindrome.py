"""A palindromic jump: the birth or death of a unit between two moves within the models.

theta -> theta~ by a move K_k within the model of k units, theta~ -> theta' by the bare jump, theta' -> theta* by a move
K_k' within the other model. The way back reads the same, moves in reverse order. A move that is reversible has

    K_k(theta, theta~) pi(theta) = K_k(theta~, theta) pi(theta~)

so that all densities of the moves cancel, and what decides is the ratio of the bare jump from theta~ to theta'. If it
says no, the chain is at theta again. Source: Green 1995, equation 7; Duane et al. 1987 (the move within).
"""

import math

import numpy as np

from engine.readable.hmc import energy, path
from engine.readable.neurons import born, died, flat, log_prior


def palindrome(log_likelihood, theta, n, rng, widths, prior_sd=1.0, step_size=0.1, steps=10, variant="exact"):
    """k (n,) and theta, a list of n networks, from theta on, a tuple (W (k, inputs), b (k,), V (outputs, k), c (outputs,)).

    log_likelihood(theta) : of the data, and its gradient, a tuple of the same shapes
    widths : (lowest, highest), all as probable; step_size, steps : of the move within
    """
    lowest, highest = widths
    ks, thetas = [], []

    def posterior(shapes):
        def of(q):
            value, slopes = log_likelihood(split(q, shapes))
            return value + log_prior(q, prior_sd), flat(slopes) - q / prior_sd**2

        return of

    def within(theta):
        """One transition of Hamiltonian Monte Carlo: reversible, for each trajectory can be run back."""
        target, q, mass = posterior([part.shape for part in theta]), flat(theta), np.ones(flat(theta).size)
        log_pi, g = target(q)
        epsilon = step_size * (1.0 + 0.1 * (2.0 * rng.random() - 1.0))
        p = rng.standard_normal(q.size)
        q1, p1, _, log_pi1 = path(target, q, p, g, epsilon, steps, mass, "leapfrog")
        error = energy(log_pi1, p1, mass) - energy(log_pi, p, mass) if math.isfinite(log_pi1) else math.inf
        return split(q1, [part.shape for part in theta]) if rng.random() < math.exp(min(-error, 0.0)) else theta

    for _ in range(n):
        theta = within(theta)
        before = within(theta)
        k = len(theta[1])
        up = k == lowest or (k < highest and rng.random() < 0.5)
        slot = int(rng.random() * (k + 1 if up else k))
        small, large = (k, k + 1) if up else (k - 1, k)
        after, u = born(before, slot, 1.0, prior_sd, rng) if up else died(before, slot, 1.0)
        end = within(after)
        sign = 1.0 if up else -1.0
        old, new = (theta, end) if variant == "no_kernel_densities" else (before, after)  # wrong: no_kernel_densities
        log_r = log_likelihood(new)[0] - log_likelihood(old)[0]
        log_r += log_prior(flat(new), prior_sd) - log_prior(flat(old), prior_sd) - sign * log_prior(u, prior_sd)
        log_r += sign * (math.log(0.5 if large < highest else 1.0) - math.log(0.5 if small > lowest else 1.0))
        if rng.random() < math.exp(min(log_r, 0.0)):
            theta = end
        ks.append(len(theta[1]))
        thetas.append(theta)
    return np.array(ks), thetas


def split(q, shapes):
    ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
    return tuple(part.reshape(shape) for part, shape in zip(np.split(q, ends), shapes, strict=True))


if __name__ == "__main__":
    from engine.jumps.run import sample_architecture, start_architecture
    from engine.readable import beside

    network, x, y = beside.small_network()
    settings = {"chains": 1, "draws": 200, "within": "hmc", "step_size": 0.1}
    start, stream, _ = beside.network_start(start_architecture(network, x, y, "palindromic", **settings))
    likelihood = beside.log_likelihood_and_slopes(x, y)
    beside.report(
        "200 jumps between moves of Hamiltonian Monte Carlo: the number of units",
        lambda: palindrome(likelihood, start, 200, stream, network.width)[0].astype(float),
        lambda: sample_architecture(network, x, y, "palindromic", **settings).width[0].astype(float),
    )
