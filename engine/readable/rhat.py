"""R-hat: do several chains tell the same story? The variance between them, beside that within.

Of m chains of n draws, with W the mean variance within a chain and B/n the variance of the chains' means,

    R-hat = sqrt(((n - 1)/n W + B/n) / W)

1 where all agree. Split in halves, a chain that drifts disagrees with itself. (Today's form takes ranks of the draws
first: Vehtari et al. 2021.) Source: Gelman and Rubin 1992; Gelman et al. 2013, section 11.4.
"""

import math

import numpy as np


def rhat(draws, split=True):
    """R-hat of draws (m, n) of one quantity."""
    # phase: draw
    draws = np.asarray(draws, float)
    if split:
        half = draws.shape[1] // 2
        draws = np.concatenate([draws[:, :half], draws[:, half : 2 * half]])
    m, n = draws.shape
    means = draws.sum(axis=1) / n
    # phase: within
    W = sum(((draws[i] - means[i]) ** 2).sum() / (n - 1) for i in range(m)) / m
    # phase: between
    B_over_n = ((means - means.mean()) ** 2).sum() / (m - 1)
    # phase: rhat
    return math.sqrt(((n - 1) / n * W + B_over_n) / W)


if __name__ == "__main__":
    import engine
    from engine.diagnostics import split_rhat
    from engine.readable import beside

    draws = engine.sample(engine.targets.banana(), "metropolis", chains=4, draws=2000, seed=0, scale=1.0).draws
    beside.report(
        "R-hat of 4 Metropolis chains on the banana, after every 20 draws",
        lambda: np.array([[rhat(draws[:, :n, j]) for j in (0, 1)] for n in range(20, 2001, 20)]),
        lambda: np.array([split_rhat(draws[:, :n]) for n in range(20, 2001, 20)]),
    )
