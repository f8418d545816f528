"""Bayes by Backprop: a network whose every weight has a normal distribution, trained by drawing it.

q(w) = N(mu, sigma^2), each weight by itself, sigma = log(1 + e^rho); the prior is N(0, s^2). A step draws
w = mu + sigma eps, eps ~ N(0, 1), and asks for g, the slope of log p(D | w) there. The KL from q to the prior is known,
so that the slopes of the ELBO are

    dmu    = g - mu / s^2
    dsigma = g eps - sigma / s^2 + 1 / sigma,    drho = dsigma / (1 + e^-rho)

and Adam climbs along them. A minibatch of B rows out of N counts N / B times in g. Source: Blundell, Cornebise,
Kavukcuoglu and Wierstra 2015, section 3.2; Graves 2011 (the KL in closed form); Kingma and Ba 2015, algorithm 1. The
kernel counts in single precision.
"""

import numpy as np

BETA1, BETA2, TINY = 0.9, 0.999, 1e-8


def bayes_by_backprop(slope, mu, sigma, n, noise, prior_sd=1.0, step_size=0.01, share=1.0, variant="exact"):
    """mu (n + 1, weights) and sigma (n + 1, weights), from mu and sigma (weights,) on.

    slope : w -> gradient of log p(D | w), (weights,), of a minibatch where share = B / N is below 1
    noise : t -> eps of step t = 0 .. n - 1, (weights,)
    """
    mu_adam, rho_adam = Adam(step_size), Adam(step_size)
    rho, path = sigma + np.log(-np.expm1(-sigma)), [(mu, sigma)]
    for t in range(n):
        # phase: draw
        eps = noise(t)
        w = mu + sigma * eps
        # phase: slope
        g = slope(w)
        g = g if variant == "no_scaling" else g / share  # wrong: no_scaling
        g = 10.0 * g if variant == "light_kl" else g  # wrong: light_kl
        d_mu = g - mu / prior_sd**2
        d_sigma = g * eps - sigma / prior_sd**2 + 1.0 / sigma
        # phase: step
        mu = mu + mu_adam(d_mu)
        rho = rho + rho_adam(d_sigma / (1.0 + np.exp(-rho)))
        sigma = np.log1p(np.exp(rho))
        path.append((mu, sigma))
    return tuple(np.array(part) for part in zip(*path, strict=True))


class Adam:
    """Steps along a noisy gradient: its running average over the root of that of its square."""

    def __init__(self, step_size):
        self.step_size, self.t, self.first, self.second = step_size, 0, 0.0, 0.0

    def __call__(self, g):
        # phase: step
        self.t += 1
        self.first = BETA1 * self.first + (1.0 - BETA1) * g
        self.second = BETA2 * self.second + (1.0 - BETA2) * g * g
        root = np.sqrt(self.second / (1.0 - BETA2**self.t) + TINY**2)
        return self.step_size / (1.0 - BETA1**self.t) * self.first / root


if __name__ == "__main__":
    from engine.readable import beside

    network, x, y = beside.small_network(width=4)
    slope, noise = beside.slope_of(network, x, y), beside.counted(network.dim)
    noise(0)  # compiled
    mean, sd = 0.3 * beside.stream(1).standard_normal(network.dim), np.full(network.dim, 0.1)
    beside.report(
        f"1000 steps of a network's {network.dim} weights: their means",
        lambda: bayes_by_backprop(slope, mean, sd, 1000, noise)[0],
        lambda: beside.trained(slope, mean, sd, 1000)[0],
        rows=30,
    )
