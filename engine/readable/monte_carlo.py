"""Monte Carlo and importance sampling: an integral is the mean of a value over draws, and says how wrong it may be.

    I = E_p[f(x)] = E_q[f(x) p(x) / q(x)],   estimate mean_n = (1/n) sum_i f(x_i) w(x_i),   w = p / q

with independent draws x_i of q. Its standard error is s / sqrt(n), s the standard deviation of the n values: whatever
the dimension, where the variance is finite. Source: Owen 2013, chapters 2 and 9.
"""

import math

import numpy as np


def monte_carlo(draw, f, n, rng, weight=None, variant="exact"):
    """Running means (n,) and their standard errors (n,), NaN for one draw.

    draw(rng, n) : n independent draws of q; f : one draw -> value; weight : one draw -> p / q, None where q is p
    """
    means, errors, mean, squares = np.empty(n), np.full(n, math.nan), 0.0, 0.0
    for i, x in enumerate(draw(rng, n)):
        # phase: draw
        count = i + 1
        # phase: value
        w = 1.0 if weight is None or variant == "no_weight" else weight(x)  # wrong: no_weight
        value = f(x) * w
        # phase: average
        off = value - mean
        mean += off / count
        squares += off * (value - mean)
        means[i] = mean
        if count > 1:
            s = math.sqrt(squares / (count - 1))
            errors[i] = s / (count if variant == "band" else math.sqrt(count))  # wrong: band
    return means, errors


# The integrals of the page ---------------------------------------------------------------------------------------------


def ball(dimension):
    """The volume of the ball of radius 1, by darts at the cube around it."""
    return lambda rng, n: 2.0 * rng.random((n, dimension)) - 1.0, lambda x: 2.0**dimension if x @ x <= 1.0 else 0.0, None


def power(a, b):
    """The integral of x^-a over (0, 1), with draws of density q(x) = (1 - b) x^-b."""
    return (
        lambda rng, n: (1.0 - rng.random((n, 1))) ** (1.0 / (1.0 - b)),
        lambda x: x[0] ** -a,
        (lambda x: x[0] ** b / (1.0 - b)) if b else None,
    )


def rare(threshold, shift):
    """P(z > threshold) of a standard normal, with draws of N(shift, 1)."""
    return (
        lambda rng, n: shift + rng.standard_normal((n, 1)),
        lambda x: 1.0 if x[0] > threshold else 0.0,
        (lambda x: math.exp(shift * (0.5 * shift - x[0]))) if shift else None,
    )


def square(scale):
    """E[z^2] of a standard normal, with draws of N(0, scale^2)."""
    return (
        lambda rng, n: scale * rng.standard_normal((n, 1)),
        lambda x: x[0] ** 2,
        (lambda x: scale * math.exp(-0.5 * x[0] ** 2 * (1.0 - scale**-2))) if scale != 1.0 else None,
    )


def cauchy():
    """The mean of a Cauchy, which does not exist."""
    return lambda rng, n: rng.standard_cauchy((n, 1)), lambda x: x[0], None


if __name__ == "__main__":
    from engine import montecarlo
    from engine.readable import beside

    draw, f, weight = rare(3.0, 3.0)
    beside.report(
        "P(z > 3) = 0.00134990 by 100,000 draws of N(3, 1): running mean",
        lambda: monte_carlo(draw, f, 100_000, beside.replication(0), weight)[0],
        lambda: montecarlo.replicate(montecarlo.rare(3.0, 3.0), replications=1, draws=100_000, seed=0).means[0],
    )
