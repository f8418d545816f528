"""A convolutional network by hand: its log likelihood, and how that changes with every weight.

A kernel of k x k weights goes over an image padded with zeros; at every place (i, j) it writes

    z_ij = b + sum_ab w_ab x_(i+a)(j+b)

The largest of every pool x pool places goes on, through a ReLU; after the last stage come dense layers and a softmax. On
the way back the slope of w_ab is the sum over all places of slope(z_ij) x_(i+a)(j+b): the weight is one, the places are
many. For the same reason a KL counts a weight once. A pixel's slope collects w_ab slope(z_ij) from every place that saw it:
the kernel, turned. `bayes_by_backprop` trains with these slopes. Source: LeCun, Bottou, Bengio and Haffner 1998; Blundell,
Cornebise, Kavukcuoglu and Wierstra 2015.
"""

import numpy as np


def convolution(w, images, labels, filters, hidden, k=3, pool=2, variant="exact"):
    """Log likelihood of labels (n,) and its gradient (weights,), for images (n, side, side, channels).

    w : (weights,), layer by layer, the biases of each in its last row; filters, hidden : sizes of stages and dense layers
    """
    x, stages, layers, at = images, [], [], 0

    def take(rows, columns):
        nonlocal at
        at += rows * columns
        return w[at - rows * columns : at].reshape(rows, columns)

    for count in filters:
        layer = take(k * k * x.shape[3] + 1, count)
        seen = patches(x, k)
        z = seen @ layer[:-1] + layer[-1]
        top, winner = pooled(z, pool)
        stages.append((layer, seen, winner, top, x.shape))
        x = np.maximum(top, 0.0)
    h = x.reshape(len(x), -1)
    widths = (*hidden, int(labels.max()) + 1)
    for number, width in enumerate(widths, start=1):
        layer = take(h.shape[1] + 1, width)
        layers.append((layer, h))
        h = h @ layer[:-1] + layer[-1]
        h = np.maximum(h, 0.0) if number < len(widths) else h
    log_p = h - np.logaddexp.reduce(h, axis=1, keepdims=True)
    value, slope = log_p[np.arange(len(x)), labels].sum(), -np.exp(log_p)
    slope[np.arange(len(x)), labels] += 1.0

    found = []
    for layer, h in reversed(layers):
        found.append(np.vstack([h.T @ slope, slope.sum(axis=0)]))
        slope = (slope @ layer[:-1].T) * (h > 0.0)
    slope = slope.reshape(x.shape)
    for number, (layer, seen, winner, top, shape) in enumerate(reversed(stages)):
        if number:
            slope = slope * (top > 0.0)
        places = unpooled(slope, winner, seen.shape[1], pool)
        kernel = layer[:-1].reshape(k, k, shape[3], -1)
        # one weight, many places: the sum over images and places
        of_kernel = np.einsum("nijc,nijf->cf", seen, places).reshape(kernel.shape)
        if variant == "flipped":
            kernel, of_kernel = kernel[::-1, ::-1], of_kernel[::-1, ::-1]  # wrong: flipped
        found.append(np.vstack([of_kernel.reshape(layer[:-1].shape), places.sum(axis=(0, 1, 2))]))
        slope = spread(places, kernel, shape)
    return value, np.concatenate([part.ravel() for part in reversed(found)])


def kl(mu, sigma, prior_sd=1.0):
    """Of q = N(mu, sigma^2) from N(0, prior_sd^2), all weights, each once."""
    return float((np.log(prior_sd / sigma) + 0.5 * (sigma**2 + mu**2) / prior_sd**2 - 0.5).sum())


def patches(x, k):
    """(n, side, side, k k channels): what the kernel sees at every place, by row, column and channel."""
    side, rim = x.shape[1], k // 2
    wide = np.pad(x, ((0, 0), (rim, rim), (rim, rim), (0, 0)))
    return np.concatenate([wide[:, a : a + side, b : b + side] for a in range(k) for b in range(k)], axis=3)


def spread(places, kernel, shape):
    """Slopes (n, side, side, channels) of the pixels: each collects from every place that saw it."""
    k, side, rim = len(kernel), shape[1], len(kernel) // 2
    wide = np.zeros((shape[0], side + 2 * rim, side + 2 * rim, shape[3]))
    for a in range(k):
        for b in range(k):
            wide[:, a : a + side, b : b + side] += places @ kernel[a, b].T
    return wide[:, rim : rim + side, rim : rim + side]


def pooled(z, pool):
    """The largest of each window (n, p, p, filters), and which of the window it is."""
    n, side, _, count = z.shape
    p = side // pool
    windows = z[:, : p * pool, : p * pool].reshape(n, p, pool, p, pool, count).transpose(0, 1, 3, 5, 2, 4).reshape(n, p, p, count, -1)
    return windows.max(axis=4), windows.argmax(axis=4)


def unpooled(slope, winner, side, pool):
    """Slopes of all places: the winner of each window has its own, the others have none."""
    n, p, _, count = slope.shape
    windows = (winner[..., None] == np.arange(pool * pool)) * slope[..., None]
    z = np.zeros((n, side, side, count))
    cells = windows.reshape(n, p, p, count, pool, pool).transpose(0, 1, 4, 2, 5, 3)
    z[:, : p * pool, : p * pool] = cells.reshape(n, p * pool, p * pool, count)
    return z


if __name__ == "__main__":
    from engine.readable import beside
    from engine.readable.bayes_by_backprop import bayes_by_backprop

    run, images, labels = beside.small_convolution()
    mean, sd, noise = run.posterior.mean.astype(float), run.posterior.sd.astype(float), beside.counted(run.shape.weights)
    noise(0)  # compiled
    beside.report(
        f"30 steps of a convolutional network's {run.shape.weights} weights: their means",
        lambda: bayes_by_backprop(lambda w: convolution(w, images, labels, (3, 4), (5,))[1], mean, sd, 30, noise)[0],
        lambda: beside.trained_convolution(30)[0],
        rows=30,
    )
