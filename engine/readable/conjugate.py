"""Conjugate updates: the posterior has the prior's form, and its numbers are the prior's plus those of the data.

With n observations x, their sum and their mean,

    coin         p ~ Beta(a, b)                          a + sum,  b + n - sum
    count        lambda ~ Gamma(a, rate b)               a + sum,  b + n
    wait         lambda ~ Gamma(a, rate b)               a + n,    b + sum
    precision    tau ~ Gamma(a, rate b), mean known      a + n/2,  b + sum (x - mean)^2 / 2
    mean         mu ~ N(m, s^2), sigma known             precisions 1/s^2 and n/sigma^2 add, m is their weighted mean
    both         mu ~ N(m, 1/(kappa tau)), tau ~ Gamma   as in `both`
    kinds        p ~ Dirichlet(a)                        a + counts

Source: Gelman et al. 2013, chapters 2 and 3.
"""

import numpy as np


def conjugate(pair, prior, x, known=0.0, variant="exact"):
    """The posterior's numbers, in the order of the prior's. known : the mean of "precision", the sigma of "mean"."""
    # phase: prior
    posterior = np.array(prior, float)
    # phase: datum
    x = np.asarray(x, float)
    if len(x) == 0:
        return posterior
    x = np.concatenate([x, x]) if variant == "twice" else x  # wrong: twice
    n = 1 if variant == "miscount" else len(x)  # wrong: miscount
    # phase: posterior
    if pair == "coin":
        failures = len(x) if variant == "miscount" else n - x.sum()  # wrong: miscount
        posterior += [x.sum(), failures]
    elif pair == "count":
        posterior += [x.sum(), n]
    elif pair == "wait":
        posterior += [n, x.sum()]
    elif pair == "precision":
        posterior += [0.5 * n, 0.5 * ((x - known) ** 2).sum()]
    elif pair == "mean":
        m, s = prior
        before, data = 1.0 / s**2, n / known**2
        posterior[:] = (before * m + data * x.mean()) / (before + data), 1.0 / np.sqrt(before + data)
    elif pair == "both":
        m, kappa, a, b = prior
        posterior[:] = both(m, kappa, a, b, x, n)
    else:
        counts = np.bincount(x.astype(int) - 1, minlength=len(prior))
        counts[-1] = len(x) if variant == "miscount" else counts[-1]  # wrong: miscount
        posterior += counts
    if variant == "scale" and pair in ("count", "wait", "precision", "both"):  # wrong: scale
        posterior[-1] = 1.0 / posterior[-1]
    return posterior


def both(m, kappa, a, b, x, n):
    """m, kappa, a, b of the Normal-Gamma; n counts in kappa and a alone."""
    # phase: posterior
    N, average = len(x), x.mean()
    within, between = 0.5 * ((x - average) ** 2).sum(), 0.5 * kappa * N * (average - m) ** 2 / (kappa + N)
    return (kappa * m + N * average) / (kappa + N), kappa + n, a + 0.5 * n, b + within + between


if __name__ == "__main__":
    from engine.conjugate.beliefs import NormalGamma
    from engine.readable import beside

    x = 5.0 + 2.0 * beside.stream(0).standard_normal(1000)
    names = "m", "kappa", "alpha", "beta"

    def kernel():
        beliefs = [NormalGamma().update(x[:n]) for n in range(1001)]
        return np.array([[getattr(belief, name) for name in names] for belief in beliefs])

    beside.report(
        "1000 normal measurements, one after the other: m, kappa, a, b",
        lambda: np.array([conjugate("both", (0.0, 1.0, 1.0, 1.0), x[:n]) for n in range(1001)]),
        kernel,
    )
