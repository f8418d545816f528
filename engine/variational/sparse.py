"""The forward pass of a network most of whose weights are absent: what is zero costs nothing.

Samples are the inner loop, `LANES` at a time, so that one weight serves a run of contiguous numbers; for every unit only
the inputs that it has are visited, four at a time. A dense product runs nearer to the peak of the machine: sparse wins
where less than a fifth or so of the weights is there (measured in `benchmarks.digits28`).
"""

from __future__ import annotations

import numpy as np

from engine.networks.passes import moved, pointer
from engine.variational.fused import ZERO, Single, single_kernel
from engine.variational.minibatch import Shape, activate

LANES = 128  # samples at a time: an input layer of 785 rows of them fits the second-level cache
DENSITY = 0.15  # of the weights, below which the sparse pass is taken
FEWEST = 100_000  # weights from which on it is looked for


@single_kernel
def _listed(layer, starts, inputs, values):
    """The weights of layer (n + 1, m) that are not 0, unit by unit: those of unit j stand at starts[j] to starts[j + 1]
    of `inputs` and `values`. Biases are left out.
    """
    n, m = layer.shape[0] - 1, layer.shape[1]
    starts[:] = 0
    for i in range(n):
        row = layer[i]
        for j in range(m):
            if row[j] != ZERO:
                starts[j + 1] += 1
    for j in range(m):
        starts[j + 1] += starts[j]
    at = starts[:m].copy()
    for i in range(n):
        row = layer[i]
        for j in range(m):
            if row[j] != ZERO:
                inputs[at[j]] = i
                values[at[j]] = row[j]
                at[j] += 1


@single_kernel
def _through(starts, inputs, values, bias, x, z):
    """z (m, LANES) = bias + the sum of what every unit has of x (n, LANES)."""
    source = pointer(x)
    for j in range(bias.size):
        to, b = moved(pointer(z), j * LANES), bias[j]
        for s in range(LANES):
            to[s] = b
        k, end = starts[j], starts[j + 1]
        while k + 4 <= end:
            w0, w1, w2, w3 = values[k], values[k + 1], values[k + 2], values[k + 3]
            x0, x1 = moved(source, inputs[k] * LANES), moved(source, inputs[k + 1] * LANES)
            x2, x3 = moved(source, inputs[k + 2] * LANES), moved(source, inputs[k + 3] * LANES)
            for s in range(LANES):
                to[s] += w0 * x0[s] + w1 * x1[s] + w2 * x2[s] + w3 * x3[s]
            k += 4
        while k < end:
            w0, x0 = values[k], moved(source, inputs[k] * LANES)
            for s in range(LANES):
                to[s] += w0 * x0[s]
            k += 1


class SparseLayers:
    """The weights of one network that are not 0."""

    def __init__(self, shape: Shape, weights: Single):
        self.shape, self._layers = shape, []
        for layer in shape.split(weights):
            count, m = int(np.count_nonzero(layer[:-1])), layer.shape[1]
            listed = np.empty(m + 1, np.int64), np.empty(count, np.int64), np.empty(count, np.float32)
            _listed(layer, *listed)
            self._layers.append((*listed, np.ascontiguousarray(layer[-1])))

    def forward(self, activation: int, x: Single) -> Single:
        """Network outputs (m, n_L) at x (m, n_0)."""
        found = np.empty((len(x), self.shape.sizes[-1]), np.float32)
        for begin in range(0, len(x), LANES):
            part = x[begin : begin + LANES]
            h = np.zeros((x.shape[1], LANES), np.float32)
            h[:, : len(part)] = part.T
            for number, (starts, inputs, values, bias) in enumerate(self._layers):
                z = np.empty((len(bias), LANES), np.float32)
                _through(starts, inputs, values, bias, h, z)
                if number < len(self._layers) - 1:
                    activate(activation, z.reshape(-1))
                h = z
            found[begin : begin + LANES] = h[:, : len(part)].T
        return found


def worth_it(shape: Shape, weights: Single) -> bool:
    """Whether the sparse pass is the quicker one for a network."""
    return type(shape) is Shape and shape.weights >= FEWEST and int(np.count_nonzero(weights)) < DENSITY * shape.weights
