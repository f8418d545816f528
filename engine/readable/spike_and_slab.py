"""Gibbs sampling over which predictors are in: gamma_j ~ Bernoulli, beta_j ~ N(0, slab^2) where gamma_j = 1, else 0.

y ~ N(X beta, noise^2). With the coefficients integrated out, and P their prior precision,

    log p(y | gamma) = b' S^-1 b / 2 - log |S| / 2 + log |P| / 2 + constant,   S = X'X / noise^2 + P,   b = X'y / noise^2

over the columns that are in. Each gamma_j is drawn in turn given the others,

    p(gamma_j = 1 | rest) = 1 / (1 + p(y | out) (1 - pi_j) / (p(y | in) pi_j)),

then beta ~ N(S^-1 b, S^-1). For y of 0 and 1, p(y = 1) = 1 / (1 + exp(-x beta)), each row first draws a weight omega_i ~
PG(1, x_i beta); given them S = X' Omega X + P and b = X'(y - 1/2). Source: George and McCulloch 1997, section 3; Polson,
Scott and Windle 2013, section 3 (the weights).
"""

import math

import numpy as np

from engine.readable.polya_gamma import polya_gamma


def spike_and_slab(X, y, precision, log_odds, noise_sd, n, rng, included, beta=None, variant="exact"):
    """gamma (n, p), p(gamma_j = 1 | rest) as it was drawn (n, p), beta (n, K), from gamma = `included` (p,) on.

    X : (n, K), the columns that are always in first; precision : (K,), of the priors; log_odds : (p,), of being in
    noise_sd : None where y is 0 or 1; then beta : (K,), where the weights begin
    """
    logistic = noise_sd is None
    gram, b = (None, X.T @ (y - 0.5)) if logistic else (X.T @ X / noise_sd**2, X.T @ y / noise_sd**2)
    p, included = len(log_odds), included.copy()
    found: tuple[list, list, list] = [], [], []
    always = np.ones(len(b) - p, bool)
    if variant == "no_normaliser":  # wrong: no_normaliser
        log_odds = log_odds + 0.5 * np.log(2.0 * np.pi / precision[len(always) :])
    for _ in range(n):
        if logistic:
            # phase: weights
            omega = np.array([polya_gamma(rng, eta) for eta in X @ beta])
            gram = X.T @ (omega[:, None] * X)
        chances, beta = np.empty(p), np.zeros(len(b))
        # phase: flip
        for j in range(p):
            evidence = []
            for value in (False, True):
                included[j] = value
                evidence.append(log_evidence(gram, b, precision, np.append(always, included))[0])
            chances[j] = 1.0 / (1.0 + math.exp(evidence[0] - evidence[1] - log_odds[j]))
            included[j] = rng.random() < chances[j]
        # phase: draw
        columns = np.append(always, included)
        _, root, half = log_evidence(gram, b, precision, columns)
        beta[columns] = np.linalg.solve(root.T, half + rng.standard_normal(len(half)))
        for each, value in zip(found, (included.copy(), chances, beta), strict=True):
            each.append(value)
    return tuple(np.array(each) for each in found)


def log_evidence(gram, b, precision, columns):
    """log p(y | gamma) up to a constant, the root R of S = R R', and R^-1 b."""
    S = gram[np.ix_(columns, columns)] + np.diag(precision[columns])
    root = np.linalg.cholesky(S)
    half = np.linalg.solve(root, b[columns])
    return 0.5 * half @ half - np.log(np.diag(root)).sum() + 0.5 * np.log(precision[columns]).sum(), root, half


if __name__ == "__main__":
    from engine.readable import beside
    from engine.spike_and_slab.gibbs import sample_models

    model = beside.selection("logistic")
    beside.report(
        "200 sweeps over logistic models of 8 predictors: coefficients",
        lambda: beside.selected(spike_and_slab, model, 200)[2],
        lambda: sample_models(model, chains=1, draws=200, warmup=0).coefficients[0],
    )
