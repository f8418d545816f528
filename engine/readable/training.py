"""Training a network: steps of Adam down the mean loss of a minibatch, with dropout where asked.

loss = -log p(y | x, theta) / n + decay |theta|^2 / 2. The rows are shuffled each epoch. Under dropout every row has a
mask of its own: a hidden unit is kept with probability `keep` and then sends its value divided by `keep`, which is the
same network with the weights out of the unit at 0 or divided by `keep`. Several networks from several starts make an
ensemble; one seen through many masks is MC dropout. Source: Kingma and Ba 2015, algorithm 1; Srivastava et al. 2014;
Lakshminarayanan, Pritzel and Blundell 2017; Gal and Ghahramani 2016.
"""

import math

import numpy as np

BETA1, BETA2, TINY = 0.9, 0.999, 1e-8


def training(slope, theta, n, rng, rows, unit, batch=0, step_size=0.02, decay=0.0, keep=1.0):
    """theta before each of n steps and after the last, (n + 1, dim), from theta (dim,) on.

    slope : theta, numbers of rows -> gradient (dim,) of their log likelihood, summed; rows : so many there are
    unit : (dim,), the hidden unit that each weight leads out of, -1 where none; batch : rows of a minibatch, 0 for all
    """
    batch = min(batch or rows, rows)
    order, units, per_epoch = np.arange(rows), unit.max() + 1, -(-rows // batch)
    path, first, second = [theta], np.zeros_like(theta), np.zeros_like(theta)
    for t in range(n):
        begin = (t % per_epoch) * batch
        if begin == 0 and batch < rows:
            shuffle(order, rng)
        chosen = order[begin : begin + batch]
        if keep == 1.0:
            g = slope(theta, chosen)
        else:
            g = np.zeros_like(theta)
            for row in chosen:
                mask = passed(rng, keep, units)[unit]
                g = g + mask * slope(mask * theta, [row])
        g = g / len(chosen) - decay * theta
        first = BETA1 * first + (1.0 - BETA1) * g
        second = BETA2 * second + (1.0 - BETA2) * g * g
        root = np.sqrt(second) / math.sqrt(1.0 - BETA2 ** (t + 1))
        theta = theta + step_size / (1.0 - BETA1 ** (t + 1)) * first / (root + TINY)
        path.append(theta)
    return np.array(path)


def passed(rng, keep, units):
    """What each hidden unit's value is multiplied by; the last entry is for weights that lead out of none."""
    return np.append(np.where(rng.random(units) < keep, 1.0 / keep, 0.0), 1.0)


def shuffle(order, rng):
    for i in range(len(order) - 1, 0, -1):
        j = int(rng.random() * (i + 1))
        order[[i, j]] = order[[j, i]]


if __name__ == "__main__":
    from engine.readable import beside

    network, x, y = beside.small_network(width=4)
    settings = {"batch": 10, "keep": 0.8, "decay": 0.01}
    beside.report(
        "400 steps of a network under dropout: its weights",
        lambda: beside.trained_plainly(training, network, x, y, 400, 0, **settings),
        lambda: beside.trained_by_kernel(network, x, y, 400, 0, **settings),
    )
