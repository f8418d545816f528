"""Reversible jump between nested models: k = 1 .. K parameters, y = X_k theta + noise.

A birth, from k, is chosen with probability b_k (1 at the bottom, 0 at the top), a death with d_k = 1 - b_k. A birth
draws u ~ N(0, 1) = q and maps theta' = A_k (theta, u); it is accepted with min(1, r),

    r = [lik(theta') / lik(theta)] [p(k+1) / p(k)] [p(theta') / p(theta)] [1 / q(u)] [d_{k+1} / b_k] |det A_k|

A death computes (theta', u) = A_{k-1}^-1 theta; its r is one over that of the birth that undoes it. After each jump
theta is drawn anew given k (Gibbs). Source: Green 1995, equation 7.
"""

import math

import numpy as np

LOG_2PI = math.log(2.0 * math.pi)


def reversible_jump(models, k, theta, n, rng, birth=0.5, variant="exact"):
    """k (n,) and theta (n, K), NaN beyond k, from k and theta (k,) on.

    models : see `engine.jumps.nested.Nested`: sums of squares, maps and posteriors of all models
    birth : b_k where both moves are possible
    """
    K = len(models.log_prior)
    b = np.array([1.0, *[birth] * (K - 2), 0.0])  # b[k - 1] is b_k
    ks, thetas = [], np.full((n, K), np.nan)
    for t in range(n):
        # phase: choose
        up = rng.random() < b[k - 1]
        low = k if up else k - 1  # the smaller of both models
        # phase: u
        u = [rng.standard_normal()] if up else []
        # phase: map
        A = (models.maps if up else models.inverses)[low - 1][: low + 1, : low + 1]
        there = np.array([sum(row * np.array([*theta, *u])) for row in A])
        new, u = (there, u[0]) if up else (there[:-1], there[-1])
        sign = 1.0 if up else -1.0
        # phase: likelihood
        log_r = log_likelihood(models, new) - log_likelihood(models, theta)
        # phase: model prior
        log_r += models.log_prior[len(new) - 1] - models.log_prior[k - 1]
        # phase: parameter prior
        log_r += log_prior(models, new) - log_prior(models, theta)
        # phase: proposal density
        log_q = -0.5 * (u * u + LOG_2PI)
        log_r -= 0.0 if variant == "no_proposal" else sign * log_q  # wrong: no_proposal
        # phase: choice of the move
        log_d_b = math.log(1.0 - b[low]) - math.log(b[low - 1])
        forgets = variant == "no_end_points" or (variant == "one_sided" and not up)  # wrong: no_end_points, one_sided
        log_r += 0.0 if forgets else sign * log_d_b
        # phase: Jacobian
        log_r += 0.0 if variant == "no_jacobian" else sign * models.log_jacobian[low - 1]  # wrong: no_jacobian
        # phase: alpha
        a = math.exp(min(log_r, 0.0))
        # phase: v
        v = rng.random()
        # phase: verdict
        if v < a:
            k = len(new)
        # phase: redraw
        z = rng.standard_normal(k)
        theta = np.array([models.mean[k - 1, i] + sum(models.root[k - 1, i, : i + 1] * z[: i + 1]) for i in range(k)])
        ks.append(k)
        thetas[t, :k] = theta
    return np.array(ks), thetas


def log_likelihood(models, theta):
    """log p(y | theta, k) from X'X and X'y, in units of the noise."""
    k = len(theta)
    gram, moment = models.gram[k - 1, :k, :k], models.moment[k - 1, :k]
    return models.log_constant + sum(theta * (moment - 0.5 * (gram @ theta)))


def log_prior(models, theta):
    """log p(theta | k), normal with mean 0."""
    return 0.5 * len(theta) * (math.log(models.prior_precision) - LOG_2PI) - 0.5 * models.prior_precision * sum(theta * theta)


if __name__ == "__main__":
    from engine.jumps import toy
    from engine.readable import beside

    spec = toy.ToySpec(chains=1, draws=1000)
    start, stream = beside.nested_start(spec)
    beside.report(
        "1000 jumps between one, two and three means",
        lambda: reversible_jump(toy.models_of(spec), spec.start, start, spec.draws, stream)[1],
        lambda: toy.record(spec).theta[0],
    )
