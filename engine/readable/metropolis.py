"""Random-walk Metropolis, with Hastings' correction for a proposal that drifts.

From x propose y ~ q(y | x) = N(x + drift, scale^2 I). With u ~ U(0, 1) go there if u < r,

    r = pi(y) q(x | y) / (pi(x) q(y | x)),    log q(x | y) - log q(y | x) = -2 sum_j drift_j (y_j - x_j) / scale_j^2

and otherwise stay: x counts once more. Source: Metropolis et al. 1953; Hastings 1970, section 2.
"""

import math

import numpy as np


def metropolis(log_pi, x, n, rng, scale=1.0, drift=0.0, variant="exact"):
    """n draws (n, dim) from the density pi, from x (dim,) on. log_pi(x) is its logarithm, up to a constant.

    scale, drift : of the proposal, numbers or (dim,); a number as drift is along the first coordinate
    """
    drift = np.eye(x.size)[0] * drift if np.ndim(drift) == 0 else drift
    log_pi_x, draws = log_pi(x), list[np.ndarray]()
    while len(draws) < n:
        # phase: propose
        step = drift + scale * rng.standard_normal(x.size)
        y = x + step
        # phase: ratio
        log_q = sum(-2.0 * drift / (scale * scale) * step)
        log_pi_y = log_pi(y)
        log_r = log_pi_y - log_pi_x + (0.0 if variant == "no_hastings" else log_q)  # wrong: no_hastings
        # phase: u
        u = rng.random()
        # phase: decide
        if u < math.exp(min(log_r, 0.0)):
            x, log_pi_x = y, log_pi_y
        elif variant == "drop_rejections":  # wrong: drop_rejections
            continue  # x is not counted again
        draws.append(x)
    return np.array(draws)


if __name__ == "__main__":
    from engine.readable import beside

    beside.sampler(metropolis, beside.value_only, {"scale": 1.5})
