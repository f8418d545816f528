"""Five ways down a surface: how a gradient g of the height becomes a step.

    sgd       -eta g                                        momentum   v = mu v + g,  -eta v
    rmsprop   s = rho s + (1 - rho) g^2,  -eta g / sqrt s   nesterov   v = mu v + g,  -eta (g + mu v)
    adam      the averages m of g and s of g^2, each over 1 - beta^t for their start at 0:  -eta m / sqrt s

Source: Robbins and Monro 1951; Polyak 1964; Nesterov 1983; Tieleman and Hinton 2012; Kingma and Ba 2015, algorithm 1.
"""

import numpy as np

TINY = 1e-8


def descend(target, q, n, rule, eta, rng=None, noise=0.0, mu=0.9, rho=0.9, beta=(0.9, 0.999)):
    """q before each step and after the last, (n + 1, dim). target(q) gives the log density, which is climbed, and its slope.

    noise : sd of what is added to each slope, as a minibatch does
    """
    path, m, s = [q], np.zeros_like(q), np.zeros_like(q)
    for t in range(1, n + 1):
        g = target(q)[1]
        if noise:
            g = g + noise * rng.standard_normal(q.size)
        if rule == "sgd":
            step = g
        elif rule in ("momentum", "nesterov"):
            m = mu * m + g
            step = g + mu * m if rule == "nesterov" else m
        elif rule == "rmsprop":
            s = rho * s + (1.0 - rho) * g * g
            step = g / (np.sqrt(s) + TINY)
        else:
            m, s = beta[0] * m + (1.0 - beta[0]) * g, beta[1] * s + (1.0 - beta[1]) * g * g
            step = m / (1.0 - beta[0] ** t) / (np.sqrt(s / (1.0 - beta[1] ** t)) + TINY)
        q = q + eta * step
        path.append(q)
    return np.array(path)


if __name__ == "__main__":
    import engine
    from engine.readable import beside
    from engine.training.descent import descend as kernel
    from engine.variational.optimisers import Adam

    target, start = engine.targets.banana(), np.array([2.0, 4.0])
    beside.report(
        "1000 steps of Adam down the banana",
        lambda: descend(beside.with_gradient(target), start, 1000, "adam", 0.05),
        lambda: kernel(target, Adam(0.05), start, steps=1000).path,
    )
