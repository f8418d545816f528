"""One draw of the Polya-Gamma distribution PG(1, eta): the weight that makes a logistic likelihood normal.

    1 / (1 + e^-eta) is proportional to e^(eta / 2) E[e^(-omega eta^2 / 2)],   omega ~ PG(1, 0)

The density of X = 4 omega is an alternating series, x small or large each with one of its own,

    a_n(x) = pi (n + 1/2) (2 / (pi x))^(3/2) e^(-2 (n + 1/2)^2 / x)   or   pi (n + 1/2) e^(-(n + 1/2)^2 pi^2 x / 2)

Its first term, tilted by eta, is the proposal: inverse Gaussian below the cut, exponential above. A proposal stands once
the partial sums fall below, or stay above, a uniform height under the first term. Source: Polson, Scott and Windle
2013, section 4; Devroye 1986.
"""

import math

CUT = 0.64


def polya_gamma(rng, eta):
    z = 0.5 * abs(eta)
    rate = 0.125 * math.pi**2 + 0.5 * z * z
    right = math.pi / (2.0 * rate) * math.exp(-rate * CUT)
    below = normal_below((CUT * z - 1.0) / math.sqrt(CUT))
    if z < 30.0:  # else the second term is nothing
        below += math.exp(2.0 * z) * normal_below(-(CUT * z + 1.0) / math.sqrt(CUT))
    left = 2.0 * math.exp(-z) * below
    while True:
        if rng.random() * (right + left) < right:
            x = CUT + rng.standard_exponential() / rate
        else:
            x = inverse_gaussian_below_cut(rng, z)
        total = term(0, x)
        height, n = rng.random() * total, 0
        while True:
            n += 1
            total += term(n, x) * (-1.0) ** n
            if n % 2 == 1 and height <= total:
                return 0.25 * x
            if n % 2 == 0 and height > total:
                break


def term(n, x):
    """a_n(x)."""
    k = n + 0.5
    if x <= CUT:
        return math.pi * k * (2.0 / (math.pi * x)) ** 1.5 * math.exp(-2.0 * k * k / x)
    return math.pi * k * math.exp(-0.5 * k * k * math.pi**2 * x)


def inverse_gaussian_below_cut(rng, z):
    """With mean 1 / z and shape 1, given that it is below the cut."""
    while z * CUT < 1.0:  # a far mean: 1 / chi squared, tilted
        first, second = rng.standard_exponential(), rng.standard_exponential()
        while first * first > 2.0 * second / CUT:
            first, second = rng.standard_exponential(), rng.standard_exponential()
        x = CUT / (1.0 + CUT * first) ** 2
        if rng.random() <= math.exp(-0.5 * z * z * x):
            return x
    mu, x = 1.0 / z, math.inf
    while x >= CUT:
        y = rng.standard_normal() ** 2
        x = mu + 0.5 * mu * mu * y - 0.5 * mu * math.sqrt(4.0 * mu * y + (mu * y) ** 2)
        if rng.random() > mu / (mu + x):
            x = mu * mu / x
    return x


def normal_below(z):
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


if __name__ == "__main__":
    import numpy as np

    from engine.kernels import kernel
    from engine.readable import beside
    from engine.spike_and_slab.gibbs import polya_gamma as compiled

    @kernel
    def many(rng, eta, n):
        return np.array([compiled(rng, eta) for _ in range(n)])

    beside.report(
        "10,000 draws of PG(1, 2), whose mean is tanh(1) / 4 = 0.1904",
        lambda: np.array([polya_gamma(stream, 2.0) for stream in [beside.stream(0)] for _ in range(10_000)]),
        lambda: many(beside.stream(0), 2.0, 10_000),
    )
