"""One minibatch through a network in single precision: log likelihood and its gradient, by matrix products.

Layers l = 0 ... L - 1 have weights (n_l + 1, n_{l+1}) row by row, inputs by outputs, biases last: every layer's input
gets a last column of ones, so that biases are weights like any other. All layers stand in one flat array.

Ways to pass weights with a distribution on:
    sampled   one draw of all weights serves the whole minibatch
    local     the pre-activations are drawn instead, each sample its own: means m = x M and variances v = x^2 V from
              the weights' means and variances, z = m + sqrt(v) e (local reparameterisation, Kingma, Salimans and
              Welling 2015). Exact where weights are normal, a moment match where they are not.
    Flipout   one draw of all deviations D from the means serves the minibatch, but every sample has random signs r of
              its outputs and s of its inputs: z = x M + ((x s) D) r (Wen, Vicol, Ba, Tran and Grosse 2018). Each
              sample sees a draw of q, where q is symmetric around its means, and those of two samples are uncorrelated.
Units may carry noise, a factor for every sample and unit (dropout, scales of a horseshoe).

The products are sgemm of scipy's OpenBLAS. It runs on one thread: `engine/__init__.py` sees to that before scipy is
imported.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from engine import ticket
from engine.kernels import kernel
from engine.networks.passes import ELU, RELU, SIGMOID, TANH
from engine.variational.fused import (
    A_HALF,
    FLIPOUT,
    LOCAL,
    ONE,
    SAMPLED,
    TWO,
    ZERO,
    Single,
    exp,
    inlined,
    padded,
    sigmoid,
    single_kernel,
    square_root,
    tanh,
)

SOFTMAX, BERNOULLI, GAUSSIAN = range(3)
LIKELIHOODS = ("softmax", "bernoulli", "gaussian")
_SMALL = 3_000_000  # multiply-adds of a product that is over before another core has heard of it
FLOOR = np.float32(1e-12)  # of a pre-activation's variance: where every weight into a unit is gone its root has no slope


@dataclass(frozen=True)
class Shape:
    """Layer sizes (n_0, ..., n_L) of a network, inputs to outputs."""

    sizes: tuple[int, ...]

    @property
    def layers(self) -> int:
        return len(self.sizes) - 1

    @property
    def inputs(self) -> int:
        """Numbers that one sample has."""
        return self.sizes[0]

    @property
    def weights(self) -> int:
        """Weights of all layers, biases included."""
        return sum((a + 1) * b for a, b in pairwise(self.sizes))

    @property
    def work(self) -> int:
        """Multiply-adds of one sample."""
        return self.weights

    def workspace(self, batch: int, way: int, noisy: bool) -> Workspace:
        """Where a minibatch passes through."""
        return Workspace(self, batch, way, noisy)

    def forward(self, activation: int, x: Single, weights: Single) -> Single:
        """Network outputs (m, n_L) at x (m, n_0) for one draw of the weights."""
        found: Single = outputs(np.array(self.sizes), activation, x, weights)
        return found

    def split(self, flat: NDArray) -> list[NDArray]:
        """Views (n_l + 1, n_{l+1}) of every layer in a flat array, biases in the last row."""
        parts, at = [], 0
        for a, b in pairwise(self.sizes):
            parts.append(flat[at : at + (a + 1) * b].reshape(a + 1, b))
            at += (a + 1) * b
        return parts


class Workspace:
    """The arrays that one minibatch of `batch` samples passes through; flat, one layer after another.

    inputs : (batch, n_l + 1) of every layer, noise applied, last column ones
    squares : their squares, for local passes; with their signs turned, for Flipout
    values : (batch, n_{l+1}) pre-activations, then values, then derivatives
    spread : (batch, n_{l+1}), for local passes: normal draws, then what carries the derivative to the variance; signs
        of the outputs, for Flipout; in the end derivatives with respect to the variances, or to what deviations add
    signs : as `inputs`, their signs, for Flipout
    factors : (batch, n_l + 1) unit noise, last column ones
    slopes : as `inputs`, derivatives with respect to the log of every factor
    back, back_squares : (batch * (largest n_l + 1),), derivatives with respect to inputs and squares
    """

    def __init__(self, shape: Shape, batch: int, way: int, noisy: bool):
        ins = batch * sum(n + 1 for n in shape.sizes[:-1])
        outs = batch * sum(shape.sizes[1:])
        widest = batch * (max(shape.sizes) + 1)

        def zeros(count: int) -> Single:
            return np.zeros(padded(count), dtype=np.float32)

        self.shape, self.batch = shape, batch
        self._bounds = [0, *accumulate(batch * (n + 1) for n in shape.sizes[:-1])]
        self.inputs, self.values, self.back = zeros(ins), zeros(outs), zeros(widest)
        second = way != SAMPLED
        self.squares, self.spread = zeros(ins if second else 0), zeros(outs if second else 0)
        self.back_squares, self.signs = zeros(widest if second else 0), zeros(ins if way == FLIPOUT else 0)
        self.factors, self.slopes = zeros(ins if noisy else 0), zeros(ins if noisy else 0)

    def by_layer(self, flat: Single) -> list[Single]:
        """Views (batch, n_l + 1) of every layer's inputs in an array that is ordered like `inputs`."""
        return [flat[begin:end].reshape(self.batch, -1) for begin, end in pairwise(self._bounds)]

    def arrays(self) -> tuple[Single, ...]:
        kept = self.inputs, self.squares, self.values, self.spread, self.signs, self.factors, self.slopes
        return (*kept, self.back, self.back_squares)


@single_kernel
def _gather(x, rows, inputs):
    """Copy the samples `rows` of x (n, inputs) to (batch, inputs + 1), ones last."""
    for b in range(rows.size):
        source, to = x[rows[b]], inputs[b]
        for i in range(source.size):
            to[i] = source[i]
        to[source.size] = ONE


@single_kernel
def scale_by(values, factors):
    for i in range(values.size):
        values[i] *= factors[i]


@single_kernel
def square(values, squares):
    for i in range(values.size):
        squares[i] = values[i] * values[i]


@single_kernel
def perturb(mean, variance, noise):
    """mean += sqrt(variance) noise; leaves in `noise` what turns a derivative in the mean into one in the variance."""
    for i in range(mean.size):
        sd = square_root(variance[i] + FLOOR)
        mean[i] += sd * noise[i]
        noise[i] = A_HALF * noise[i] / sd


@single_kernel
def activate(kind, values):
    if kind == TANH:
        for i in range(values.size):
            values[i] = tanh(values[i])
    elif kind == RELU:
        for i in range(values.size):
            values[i] = max(ZERO, values[i])
    elif kind == SIGMOID:
        for i in range(values.size):
            values[i] = sigmoid(values[i])
    elif kind == ELU:
        for i in range(values.size):
            values[i] = max(ZERO, values[i]) + (exp(min(ZERO, values[i])) - ONE)


@single_kernel
def _place(values, to):
    """Copy (batch, n) into (batch, n + 1), ones last."""
    n = values.shape[1]
    for b in range(values.shape[0]):
        source, row = values[b], to[b]
        for i in range(n):
            row[i] = source[i]
        row[n] = ONE


@single_kernel
def through(kind, values, back):
    """Turn values (batch, n) of units into derivatives with respect to their pre-activations, from those with respect
    to the values, back (batch, n + 1).
    """
    for b in range(values.shape[0]):
        h, slope = values[b], back[b]
        if kind == TANH:
            for i in range(h.size):
                h[i] = slope[i] * (ONE - h[i] * h[i])
        elif kind == RELU:
            for i in range(h.size):
                h[i] = slope[i] if h[i] > ZERO else ZERO
        elif kind == SIGMOID:
            for i in range(h.size):
                h[i] = slope[i] * (h[i] * (ONE - h[i]))
        elif kind == ELU:
            for i in range(h.size):
                h[i] = slope[i] * (ONE + min(ZERO, h[i]))
        else:
            for i in range(h.size):
                h[i] = slope[i]


@single_kernel
def add_squares(back, inputs, back_squares):
    """back += 2 inputs back_squares."""
    for i in range(back.size):
        back[i] += TWO * inputs[i] * back_squares[i]


@single_kernel
def add_product(a, b, to):
    for i in range(a.size):
        to[i] += a[i] * b[i]


@single_kernel
def _times(a, b, out):
    for i in range(a.size):
        out[i] = a[i] * b[i]


@kernel
def _loss(likelihood, precision, z, y, rows, scale):
    """Log likelihood of the samples `rows` (constants included) and how many are classified right.

    Leaves its derivatives, times `scale`, in the outputs z (batch, outputs). y (n, 1) labels or (n, outputs) values.
    """
    total, right = 0.0, 0
    outputs = z.shape[1]
    if likelihood == SOFTMAX:
        for b in range(rows.size):
            row, label = z[b], int(y[rows[b], 0])
            top, best = row[0], 0
            for j in range(1, outputs):
                if row[j] > top:
                    top, best = row[j], j
            right += best == label
            mine, norm = row[label] - top, ZERO
            for j in range(outputs):
                row[j] = exp(row[j] - top)
                norm += row[j]
            total += mine - math.log(norm)
            factor = scale / norm
            for j in range(outputs):
                row[j] *= -factor
            row[label] += scale
    elif likelihood == BERNOULLI:
        for b in range(rows.size):
            t, label = z[b, 0], y[rows[b], 0]
            right += (t > ZERO) == (label > A_HALF)
            signed = t if label > A_HALF else -t
            total += min(signed, ZERO) - math.log1p(math.exp(-abs(t)))
            z[b, 0] = scale * (label - sigmoid(t))
    else:
        for b in range(rows.size):
            row = z[b]
            for j in range(outputs):
                residual = y[rows[b], j] - row[j]
                total -= 0.5 * precision * residual * residual
                row[j] = scale * precision * residual
            total += 0.5 * outputs * (math.log(precision) - math.log(2.0 * math.pi))
    return total, right


# A pass, layer by layer. With two kinds of weights to a layer, means and variances (or deviations), each direction has two
# products that do not depend on each other, `forward` and `backward` with `second` false and true: two cores may share
# them. What joins them is short.


@inlined
def _place_of(l, sizes, batch):
    """Where layer l begins in the arrays of inputs, of outputs and of weights; its inputs, biases included, and outputs."""
    at_in = at_out = at = 0
    for k in range(l):
        at_in += batch * (sizes[k] + 1)
        at_out += batch * sizes[k + 1]
        at += (sizes[k] + 1) * sizes[k + 1]
    return at_in, at_out, at, sizes[l] + 1, sizes[l + 1]


@kernel
def enter(x, rows, sizes, noisy, work):
    """The samples `rows` of x become the inputs of the first layer."""
    inputs, _, _, _, _, factors, _, _, _ = work
    size = rows.size * (sizes[0] + 1)
    _gather(x, rows, inputs[:size].reshape(rows.size, sizes[0] + 1))
    if noisy:
        scale_by(inputs[:size], factors[:size])


@kernel
def forward(l, second, sizes, batch, way, weights, work):
    """The product of layer l with its `weights`: means or the draw, or `second`, variances or deviations."""
    inputs, squares, values, _, signs, _, _, back, _ = work
    at_in, at_out, at, n, m = _place_of(l, sizes, batch)
    a, z = inputs[at_in : at_in + batch * n], values[at_out : at_out + batch * m]
    if second:
        s, z = squares[at_in : at_in + batch * n], back[: batch * m]
        if way == LOCAL:
            square(a, s)
        else:
            _times(a, signs[at_in : at_in + batch * n], s)
        a = s
    np.dot(a.reshape(batch, n), weights[at : at + n * m].reshape(n, m), z.reshape(batch, m))


@kernel
def leave(l, sizes, batch, activation, way, noisy, work):
    """Pre-activations of layer l become the inputs of the next, or the outputs."""
    inputs, _, values, spread, _, factors, _, back, _ = work
    at_in, at_out, _, n, m = _place_of(l, sizes, batch)
    z, noise = values[at_out : at_out + batch * m], spread[at_out : at_out + batch * m]
    if way == LOCAL:
        perturb(z, back[: batch * m], noise)
    elif way != SAMPLED:
        add_product(back[: batch * m], noise, z)
    if l < sizes.size - 2:
        activate(activation, z)
        at_in += batch * n
        size = batch * (m + 1)
        _place(z.reshape(batch, m), inputs[at_in : at_in + size].reshape(batch, m + 1))
        if noisy:
            scale_by(inputs[at_in : at_in + size], factors[at_in : at_in + size])


@kernel
def backward(l, second, sizes, batch, to_inputs, weights, gradient, work):
    """The gradient of layer l, and the derivatives of what it read; `second`, those of variances and squares (or of
    deviations and of inputs with their signs).
    """
    inputs, squares, values, spread, _, _, _, back, back_squares = work
    at_in, at_out, at, n, m = _place_of(l, sizes, batch)
    a, z, below = inputs[at_in : at_in + batch * n], values[at_out : at_out + batch * m], back[: batch * n]
    if second:
        carried = spread[at_out : at_out + batch * m]
        scale_by(carried, z)  # derivatives with respect to the variances, or to what the deviations add
        a, z, below = squares[at_in : at_in + batch * n], carried, back_squares[: batch * n]
    np.dot(a.reshape(batch, n).T, z.reshape(batch, m), gradient[at : at + n * m].reshape(n, m))
    if l > 0 or to_inputs:
        np.dot(z.reshape(batch, m), weights[at : at + n * m].reshape(n, m).T, below.reshape(batch, n))


@kernel
def descend(l, sizes, batch, activation, way, noisy, to_inputs, work):
    """Derivatives of what layer l read become those of the pre-activations below."""
    inputs, _, values, _, signs, factors, slopes, back, back_squares = work
    at_in, at_out, _, n, _ = _place_of(l, sizes, batch)
    a, below = inputs[at_in : at_in + batch * n], back[: batch * n]
    if l > 0 or to_inputs:
        if way == LOCAL:
            add_squares(below, a, back_squares[: batch * n])
        elif way != SAMPLED:
            add_product(back_squares[: batch * n], signs[at_in : at_in + batch * n], below)
    if noisy:
        _times(below, a, slopes[at_in : at_in + batch * n])
        scale_by(below, factors[at_in : at_in + batch * n])
    if l > 0:
        at_out -= batch * (n - 1)
        through(activation, values[at_out : at_out + batch * (n - 1)].reshape(batch, n - 1), below.reshape(batch, n))


@kernel
def compare(likelihood, precision, scale, sizes, y, rows, work):
    """`_loss` of the outputs."""
    batch, values = rows.size, work[2]
    _, at_out, _, _, m = _place_of(sizes.size - 2, sizes, batch)
    return _loss(likelihood, precision, values[at_out : at_out + batch * m].reshape(batch, m), y, rows, scale)


@kernel
def train_pass(sizes, settings, precision, scale, x, y, rows, weights, gradient, variances, variance_gradient, way, noisy, to_inputs, work):
    """Forward and backward over the samples `rows` of (x, y).

    settings : (activation, likelihood)
    precision : of the noise, for the Gaussian likelihood
    scale : n / batch, on the derivatives only
    weights, gradient : (weights,) drawn weights (their means, unless the way is sampled) and the derivatives left there
    variances, variance_gradient : the same for a local pass; of the draw's deviations, for Flipout
    way, noisy : what the pass does; unit noise stands in the workspace
    to_inputs : whether `back` is to hold the derivatives with respect to the inputs (batch, n_0 + 1) in the end
    work : `Workspace.arrays()`; normal draws of a local pass stand in `spread`, signs for Flipout there and in `signs`
    Returns the minibatch's log likelihood and how many of its samples are classified right.
    """
    activation, likelihood = settings
    batch, layers = rows.size, sizes.size - 1
    to_inputs = to_inputs or noisy
    enter(x, rows, sizes, noisy, work)
    for l in range(layers):
        forward(l, False, sizes, batch, way, weights, work)
        if way != SAMPLED:
            forward(l, True, sizes, batch, way, variances, work)
        leave(l, sizes, batch, activation, way, noisy, work)
    total, right = compare(likelihood, precision, scale, sizes, y, rows, work)
    for l in range(layers - 1, -1, -1):
        backward(l, False, sizes, batch, to_inputs, weights, gradient, work)
        if way != SAMPLED:
            backward(l, True, sizes, batch, to_inputs, variances, variance_gradient, work)
        descend(l, sizes, batch, activation, way, noisy, to_inputs, work)
    return total, right


def train_pass_by_two(
    sizes: NDArray[np.int64],
    settings: tuple[int, int],
    precision: float,
    scale: np.float32,
    x: Single,
    y: Single,
    rows: NDArray[np.int64],
    weights: Single,
    gradient: Single,
    variances: Single,
    variance_gradient: Single,
    way: int,
    work: tuple[Single, ...],
) -> tuple[float, int]:
    """`train_pass` with two kinds of weights and no unit noise, its products on two cores where nobody needs the other:
    the same bytes.
    """
    activation, likelihood = settings
    batch, layers = rows.size, sizes.size - 1
    kinds = ((False, weights, gradient), (True, variances, variance_gradient))

    def both(l: int, product: Callable[..., object]) -> None:
        if batch * int(sizes[l] + 1) * int(sizes[l + 1]) >= _SMALL:
            ticket.each(lambda kind: product(l, *kind), kinds)
        else:
            for kind in kinds:
                product(l, *kind)

    def onward(l: int, second: bool, along: Single, _: Single) -> None:
        forward(l, second, sizes, batch, way, along, work)

    def back(l: int, second: bool, along: Single, slopes: Single) -> None:
        backward(l, second, sizes, batch, False, along, slopes, work)

    enter(x, rows, sizes, False, work)
    for l in range(layers):
        both(l, onward)
        leave(l, sizes, batch, activation, way, False, work)
    total, right = compare(likelihood, precision, scale, sizes, y, rows, work)
    for l in range(layers - 1, -1, -1):
        both(l, back)
        descend(l, sizes, batch, activation, way, False, False, work)
    return total, right


@kernel
def outputs(sizes, activation, x, weights):
    """Network outputs (m, outputs) at x (m, inputs) for one draw of the weights."""
    batch, at = x.shape[0], 0
    h = x
    for l in range(sizes.size - 1):
        n, m = sizes[l], sizes[l + 1]
        z = np.dot(h, weights[at : at + n * m].reshape(n, m))
        bias = weights[at + n * m : at + (n + 1) * m]
        for b in range(batch):
            for j in range(m):
                z[b, j] += bias[j]
        if l < sizes.size - 2:
            activate(activation, z.reshape(batch * m))
        at += (n + 1) * m
        h = z
    return h
