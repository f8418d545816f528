"""Delayed rejection: a Metropolis chain that tries again, up to twice, before it counts a rejection.

With q_1, q_2, q_3 the densities of the proposals, y_1 .. y_i is accepted at stage i with a_i = min(1, r_i),

    r_1 = pi(y1) / pi(x)
    r_2 = pi(y2) q_1(y2, y1) q_2(y2, y1, x) [1 - a_1(y2, y1)] / (pi(x) q_1(x, y1) q_2(x, y1, y2) [1 - a_1(x, y1)])

and so on: above, the same points fail in reverse order on the way back. Stage 1 is N(x, scale^2), stage i
N(x + pull (y_(i-1) - x), (scale shrink^(i-1))^2). Source: Tierney and Mira 1999, section 2; Mira 2001, section 2.
"""

import math

import numpy as np


def delayed_rejection(log_pi, x, n, rng, scale=1.0, stages=2, shrink=0.2, pull=0.0, variant="exact"):
    """n draws (n, dim) from pi, from x (dim,) on. log_pi(x) is its logarithm, up to a constant."""
    scales = [np.broadcast_to(scale, x.shape) * shrink**i for i in range(stages)]
    log_pi_x, draws = log_pi(x), []
    for _ in range(n):
        y, log_y = list[np.ndarray](), list[float]()
        for i in range(stages):
            # phase: try
            y.append(x + (pull * (y[-1] - x) if i else 0.0) + scales[i] * rng.standard_normal(x.size))
            log_y.append(log_pi(y[-1]))
            # phase: alpha
            a = probability([x, *y], [log_pi_x, *log_y], scales, pull, variant)
            # phase: u
            u = rng.random()
            # phase: decide
            if u < a:
                x, log_pi_x = y[-1], log_y[-1]
                break
        draws.append(x)
    return np.array(draws)


def probability(points, log_pi, scales, pull, variant):
    """a_i of the path x, y_1 .. y_i through `points` (i + 1, dim), at which the log densities are `log_pi` (i + 1,)."""
    there, back, log_back = points, points[::-1], log_pi[::-1]
    # phase: alpha
    log_r = log_pi[-1] - log_pi[0]
    for i in range(1, len(points)):  # the proposals; the first of a way is between its first two points, and so on
        log_r += log_q(back[: i + 1], scales, pull) - log_q(there[: i + 1], scales, pull)
    if variant == "no_rejection_terms":  # wrong: no_rejection_terms
        return math.exp(min(log_r, 0.0))
    # phase: back
    for i in range(2, len(points)):  # the rejections before
        a_back = probability(back[:i], log_back[:i], scales, pull, variant)
        if not a_back < 1.0:
            return 0.0  # the way back would have ended there
        log_r += math.log1p(-a_back) - math.log1p(-probability(there[:i], log_pi[:i], scales, pull, variant))
    return math.exp(min(log_r, 0.0))


def log_q(path, scales, pull):
    """Log density, up to a constant, of proposing the last point of a path from its first, after those between failed."""
    i = len(path) - 2
    centre = path[0] + (pull * (path[-2] - path[0]) if i else 0.0)
    return -0.5 * sum(((path[-1] - centre) / scales[i]) ** 2)


if __name__ == "__main__":
    from engine.readable import beside

    beside.sampler(delayed_rejection, beside.value_only, {"scale": 3.0, "stages": 3})
