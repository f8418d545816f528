"""The evidence of a linear model, one observation after the other: y = X theta + noise, theta ~ N(0, s^2 I).

    log p(y) = sum_t log p(y_t | y_1 .. y_{t-1}),    p(y_t | ...) = N(x_t' m, x_t' C x_t + sigma^2)

where N(m, C) is the posterior of theta so far. Then, with the gain K = C x_t / (x_t' C x_t + sigma^2),

    m <- m + K (y_t - x_t' m),    C <- C - K x_t' C

With the noise unknown, sigma a guess worth `dof` observations and theta scaled with the noise, each prediction is a
Student's with dof + t degrees of freedom, as wide as the surprises so far. Source: Bishop 2006, sections 3.3 and 3.4;
Kalman 1960 (the update).
"""

import math

import numpy as np


def evidence(X, y, noise_sd, prior_sd, dof=math.inf, variant="exact"):
    """log p(y_t | before) (n,), then m (k,) and C (k, k) after all; the scores' sum is the log evidence. X : (n, k)."""
    n, k = X.shape
    m, C, scores, surprise = np.zeros(k), prior_sd**2 * np.eye(k), [], 0.0
    for t in range(n):
        # phase: predict
        expected, variance = X[t] @ m, X[t] @ C @ X[t] + noise_sd**2
        # phase: observe
        off = y[t] - expected
        stretch = 1.0 if math.isinf(dof) else (dof + surprise) / (dof + t)
        scores.append(log_density(off, variance * stretch, dof + t))
        surprise += off**2 / variance
        # phase: update
        K = C @ X[t] / variance
        m = m + K * off
        C = C - np.outer(K, X[t] @ C)
    if variant == "constant":  # wrong: constant
        scores[0] += 0.5 * k * math.log(2.0 * math.pi * prior_sd**2)
    if variant == "best_fit":  # wrong: best_fit
        off = y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
        scores = [log_density(each, noise_sd**2, math.inf) for each in off]
    return np.array(scores), m, C


def log_density(off, variance, dof):
    """Of a normal, or of a Student's."""
    if math.isinf(dof):
        return -0.5 * (math.log(2.0 * math.pi * variance) + off**2 / variance)
    top = math.lgamma(0.5 * (dof + 1.0)) - math.lgamma(0.5 * dof) - 0.5 * math.log(dof * math.pi * variance)
    return top - 0.5 * (dof + 1.0) * math.log1p(off**2 / (dof * variance))


if __name__ == "__main__":
    from engine import linear
    from engine.readable import beside

    x = beside.stream(0).random(500)
    y = np.cos(6.0 * x) + 0.3 * beside.stream(1).standard_normal(500)
    X = linear.polynomial_design(x, 5)
    beside.report(
        "500 points and a polynomial of degree 5: log p of each given those before",
        lambda: evidence(X, y, 0.3, 1.0)[0],
        lambda: linear.arrive(X, y, [6], noise_sd=0.3, prior_sd=1.0).score[:, 0],
    )
