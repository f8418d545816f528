"""Forward and backward passes of a multi-layer perceptron over a block of samples.

Values live in *rows*: one unit (or one input, or one target) for up to `BLOCK` samples, contiguous, rows `ROW` apart.
Samples are the inner loop everywhere: it has no branches and becomes vector instructions, whatever the sizes of the
layers. The distance of rows is a constant, so that the compiler can see that they do not overlap. Everything works on
raw pointers: an array index in numba carries a test for negative values.

Parameters of a network lie layer by layer: weights (out, in) row by row, then biases (out).
"""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir
from numba import extending, types

from engine.kernels import inlined
from engine.vectormath import exp, log, sigmoid, tanh

intrinsic: Any = extending.intrinsic  # its own type says that calls take the typing context

BLOCK = 128  # samples handled at a time: few enough for the rows of a small network to stay in the first-level cache
ROW = BLOCK + 8  # one cache line more: rows a power of two apart would compete for the same places in the cache
ACTIVATIONS = ("tanh", "relu", "sigmoid", "linear", "elu")
TANH, RELU, SIGMOID, LINEAR, ELU = range(5)


@intrinsic
def pointer(typingctx, array):
    """Pointer to the first number of a contiguous array."""

    def codegen(context, builder, signature, args):
        return context.make_array(signature.args[0])(context, builder, value=args[0]).data

    return types.CPointer(array.dtype)(array), codegen


@intrinsic
def moved(typingctx, start, count):
    """The pointer `count` numbers after `start`."""

    def codegen(context, builder, signature, args):
        return builder.gep(args[0], [args[1]])

    return start(start, types.int64), codegen


@intrinsic
def aligned(typingctx, start):
    """The first pointer at or after `start` that begins a cache line (64 bytes): vectors then never straddle two."""

    def codegen(context, builder, signature, args):
        int64 = ir.IntType(64)
        address = builder.ptrtoint(args[0], int64)
        return builder.inttoptr(builder.and_(builder.add(address, int64(63)), int64(-64)), args[0].type)

    return start(start), codegen


@inlined
def combine(weights, step_in, step_out, bias, has_bias, n_in, n_out, x, z, n):
    """z[j] = bias[j] + sum_i weights[j * step_out + i * step_in] x[i], for `n_out` rows z of `n_in` rows x."""
    first = (n_in - 1) % 4 + 1
    for j in range(n_out):
        w, to = moved(weights, j * step_out), moved(z, j * ROW)
        b = bias[j] if has_bias else 0.0
        w0 = w[0]
        if first == 1:
            for s in range(n):
                to[s] = b + w0 * x[s]
        elif first == 2:
            w1 = w[step_in]
            for s in range(n):
                to[s] = b + w0 * x[s] + w1 * x[ROW + s]
        elif first == 3:
            w1, w2 = w[step_in], w[2 * step_in]
            for s in range(n):
                to[s] = b + w0 * x[s] + w1 * x[ROW + s] + w2 * x[2 * ROW + s]
        else:
            w1, w2, w3 = w[step_in], w[2 * step_in], w[3 * step_in]
            for s in range(n):
                to[s] = b + w0 * x[s] + w1 * x[ROW + s] + w2 * x[2 * ROW + s] + w3 * x[3 * ROW + s]
    # The rest four inputs at a time, and two outputs at a time so that a row is read once for both.
    for j in range(0, n_out - 1, 2):
        to = moved(z, j * ROW)
        for i in range(first, n_in, 4):
            v, row = moved(weights, j * step_out + i * step_in), moved(x, i * ROW)
            w = moved(v, step_out)
            v0, v1, v2, v3 = v[0], v[step_in], v[2 * step_in], v[3 * step_in]
            w0, w1, w2, w3 = w[0], w[step_in], w[2 * step_in], w[3 * step_in]
            for s in range(n):
                x0, x1, x2, x3 = row[s], row[ROW + s], row[2 * ROW + s], row[3 * ROW + s]
                to[s] += v0 * x0 + v1 * x1 + v2 * x2 + v3 * x3
                to[ROW + s] += w0 * x0 + w1 * x1 + w2 * x2 + w3 * x3
    if n_out % 2 == 1:
        to = moved(z, (n_out - 1) * ROW)
        for i in range(first, n_in, 4):
            v, row = moved(weights, (n_out - 1) * step_out + i * step_in), moved(x, i * ROW)
            v0, v1, v2, v3 = v[0], v[step_in], v[2 * step_in], v[3 * step_in]
            for s in range(n):
                to[s] += v0 * row[s] + v1 * row[ROW + s] + v2 * row[2 * ROW + s] + v3 * row[3 * ROW + s]


@inlined
def activate(kind, h, count, n):
    """Apply the activation to `count` rows in place."""
    for j in range(count):
        row = moved(h, j * ROW)
        if kind == TANH:
            for s in range(n):
                row[s] = tanh(row[s])
        elif kind == RELU:
            for s in range(n):
                row[s] = max(0.0, row[s])
        elif kind == SIGMOID:
            for s in range(n):
                row[s] = sigmoid(row[s])
        elif kind == ELU:
            for s in range(n):
                row[s] = max(0.0, row[s]) + (exp(min(0.0, row[s])) - 1.0)


@inlined
def through_activation(kind, slope, h, n):
    """Turn one row of unit values `h` into the derivatives with respect to their pre-activations; returns their sum.

    slope : derivatives with respect to the unit's values. At 0 the derivative of ReLU counts as 0.
    """
    total = 0.0
    if kind == TANH:
        for s in range(n):
            h[s] = slope[s] * (1.0 - h[s] * h[s])
            total += h[s]
    elif kind == RELU:
        for s in range(n):
            h[s] = slope[s] if h[s] > 0.0 else 0.0
            total += h[s]
    elif kind == SIGMOID:
        for s in range(n):
            h[s] = slope[s] * (h[s] * (1.0 - h[s]))
            total += h[s]
    elif kind == ELU:
        for s in range(n):
            h[s] = slope[s] * (1.0 + min(0.0, h[s]))  # exp(z) below 0, told by the value exp(z) - 1
            total += h[s]
    else:
        for s in range(n):
            h[s] = slope[s]
            total += h[s]
    return total


@inlined
def add_products(slopes, n_out, x, n_in, n, gradient):
    """gradient[j * n_in + i] += sum over samples of slopes[j] * x[i], for `n_out` rows of slopes and `n_in` rows x."""
    fours = n_in - n_in % 4
    for j in range(0, n_out - 1, 2):
        a, b = moved(slopes, j * ROW), moved(slopes, (j + 1) * ROW)
        for i in range(0, fours, 4):
            row, g, f = moved(x, i * ROW), moved(gradient, j * n_in + i), moved(gradient, (j + 1) * n_in + i)
            g0 = g1 = g2 = g3 = f0 = f1 = f2 = f3 = 0.0
            for s in range(n):
                x0, x1, x2, x3 = row[s], row[ROW + s], row[2 * ROW + s], row[3 * ROW + s]
                g0 += a[s] * x0
                g1 += a[s] * x1
                g2 += a[s] * x2
                g3 += a[s] * x3
                f0 += b[s] * x0
                f1 += b[s] * x1
                f2 += b[s] * x2
                f3 += b[s] * x3
            g[0] += g0
            g[1] += g1
            g[2] += g2
            g[3] += g3
            f[0] += f0
            f[1] += f1
            f[2] += f2
            f[3] += f3
    for j in range(n_out):
        a = moved(slopes, j * ROW)
        for i in range(0 if n_out % 2 == 1 and j == n_out - 1 else fours, fours, 4):
            row, g = moved(x, i * ROW), moved(gradient, j * n_in + i)
            g0 = g1 = g2 = g3 = 0.0
            for s in range(n):
                g0 += a[s] * row[s]
                g1 += a[s] * row[ROW + s]
                g2 += a[s] * row[2 * ROW + s]
                g3 += a[s] * row[3 * ROW + s]
            g[0] += g0
            g[1] += g1
            g[2] += g2
            g[3] += g3
        for i in range(fours, n_in - 1, 2):
            row, g = moved(x, i * ROW), moved(gradient, j * n_in + i)
            g0 = g1 = 0.0
            for s in range(n):
                g0 += a[s] * row[s]
                g1 += a[s] * row[ROW + s]
            g[0] += g0
            g[1] += g1
        if n_in % 2 == 1:
            row = moved(x, (n_in - 1) * ROW)
            g0 = 0.0
            for s in range(n):
                g0 += a[s] * row[s]
            gradient[j * n_in + n_in - 1] += g0


@inlined
def forward(q, sizes, hidden, kind, x, h, n):
    """Values of all hidden units: rows of layer 1, then of layer 2, ... from `h` on.

    Returns how many parameters and how many rows were used.
    """
    at = rows = 0
    row = x
    for layer in range(hidden):
        n_in, n_out = sizes[layer], sizes[layer + 1]
        to = moved(h, rows * ROW)
        combine(moved(q, at), 1, n_in, moved(q, at + n_in * n_out), True, n_in, n_out, row, to, n)
        activate(kind, to, n_out, n)
        at += (n_in + 1) * n_out
        rows += n_out
        row = to
    return at, rows


@inlined
def backward(q, gradient, sizes, hidden, kind, x, h, at, rows, slopes, n):
    """Add the derivatives of everything below the outputs to `gradient`. Destroys the rows of `h`.

    at, rows : as `forward` returned them
    slopes : rows of derivatives with respect to the last hidden layer's values
    """
    slope = slopes
    for layer in range(hidden, 0, -1):
        n_in, n_out = sizes[layer - 1], sizes[layer]
        at -= (n_in + 1) * n_out
        rows -= n_out
        here = moved(h, rows * ROW)
        below = moved(h, (rows - n_in) * ROW) if layer > 1 else x
        for j in range(n_out):
            delta = moved(here, j * ROW)
            gradient[at + n_in * n_out + j] += through_activation(kind, moved(slope, j * ROW), delta, n)
        add_products(here, n_out, below, n_in, n, moved(gradient, at))
        if layer > 1:
            combine(moved(q, at), n_in, 1, q, False, n_out, n_in, here, slopes, n)


@inlined
def backward_plane(slope, head, head_gradient, units, x, h, n, gradient):
    """The whole backward pass for two inputs, one layer of tanh units and one logit, in one loop a unit.

    Most lessons have such a network; it takes a fifth less time than the general way.

    slope : the row of derivatives with respect to the logit
    """
    for j in range(units):
        row = moved(h, j * ROW)
        out = bias = w0 = w1 = 0.0
        for s in range(n):
            product = slope[s] * row[s]
            delta = slope[s] - product * row[s]
            out += product
            bias += delta
            w0 += delta * x[s]
            w1 += delta * x[ROW + s]
        head_gradient[j] += out
        gradient[2 * j] += head[j] * w0
        gradient[2 * j + 1] += head[j] * w1
        gradient[2 * units + j] += head[j] * bias


@inlined
def binary_loss(z, sign, temper, n):
    """Log likelihood of the signs (+1, -1) under sigmoid(temper z), and the sum of its derivatives, left in z."""
    linear = total = 0.0
    product = 1.0  # of n numbers between 1/2 and 1: one logarithm for all of them
    for s in range(n):
        t = temper * z[s] * sign[s]
        certain = sigmoid(abs(t))
        product *= certain
        linear += min(0.0, t)
        z[s] = temper * sign[s] * (1.0 - certain if t > 0.0 else certain)
        total += z[s]
    return linear + math.log(product), total


@inlined
def softmax_loss(z, label, temper, classes, top, norm, n, bias_gradient):
    """Log likelihood of the labels (0, 1, ...) under softmax(temper z). Leaves the derivatives in z."""
    for s in range(n):
        top[s] = z[s]
        norm[s] = 0.0
    for j in range(1, classes):
        row = moved(z, j * ROW)
        for s in range(n):
            top[s] = max(top[s], row[s])
    linear = 0.0
    for j in range(classes):
        row = moved(z, j * ROW)
        mine = float(j)
        for s in range(n):
            t = temper * (row[s] - top[s])
            linear += t if label[s] == mine else 0.0
            row[s] = exp(t)
            norm[s] += row[s]
    product = 1.0  # of n numbers between 1 and `classes`: one logarithm for all of them
    for s in range(n):
        product *= norm[s]
        norm[s] = 1.0 / norm[s]
    for j in range(classes):
        row = moved(z, j * ROW)
        mine = float(j)
        total = 0.0
        for s in range(n):
            row[s] = temper * ((1.0 if label[s] == mine else 0.0) - row[s] * norm[s])
            total += row[s]
        bias_gradient[j] += total
    return linear - math.log(product)


@inlined
def gaussian_loss(z, y, precision, outputs, n, bias_gradient):
    """Log density of y under N(z, 1 / precision), without its constant. Leaves the derivatives in z."""
    squares = 0.0
    for j in range(outputs):
        row, wanted = moved(z, j * ROW), moved(y, j * ROW)
        total = 0.0
        for s in range(n):
            residual = wanted[s] - row[s]
            squares += residual * residual
            row[s] = precision * residual
            total += row[s]
        bias_gradient[j] += total
    return -0.5 * precision * squares


@inlined
def binary_value(z, sign, temper, n):
    """What `binary_loss` returns first, without derivatives; z stays."""
    linear = 0.0
    product = 1.0
    for s in range(n):
        t = temper * z[s] * sign[s]
        product *= sigmoid(abs(t))
        linear += min(0.0, t)
    return linear + math.log(product)


@inlined
def softmax_value(z, label, temper, classes, top, norm, n):
    """What `softmax_loss` returns, without derivatives; z stays."""
    for s in range(n):
        top[s] = z[s]
        norm[s] = 0.0
    for j in range(1, classes):
        row = moved(z, j * ROW)
        for s in range(n):
            top[s] = max(top[s], row[s])
    linear = 0.0
    for j in range(classes):
        row = moved(z, j * ROW)
        mine = float(j)
        for s in range(n):
            t = temper * (row[s] - top[s])
            linear += t if label[s] == mine else 0.0
            norm[s] += exp(t)
    product = 1.0
    for s in range(n):
        product *= norm[s]
    return linear - math.log(product)


@inlined
def gaussian_value(z, y, precision, outputs, n):
    """What `gaussian_loss` returns, without derivatives; z stays."""
    squares = 0.0
    for j in range(outputs):
        row, wanted = moved(z, j * ROW), moved(y, j * ROW)
        for s in range(n):
            residual = wanted[s] - row[s]
            squares += residual * residual
    return -0.5 * precision * squares


@inlined
def class_probabilities(z, logits, temper, entropy, spare, n):
    """Turn rows of outputs into rows of class probabilities, and fill `entropy` (nats).

    One logit becomes the two rows of the classes 0 and 1.

    spare : two rows to scribble in
    """
    if logits <= 2:
        for s in range(n):
            t = temper * (z[ROW + s] - z[s] if logits == 2 else z[s])
            size = min(abs(t), 700.0)
            e = exp(-size)
            small = e / (1.0 + e)
            z[s] = small if t > 0.0 else 1.0 - small
            z[ROW + s] = 1.0 - small if t > 0.0 else small
            entropy[s] = log(1.0 + e) + size * small
        return
    top, norm = spare, moved(spare, ROW)
    for s in range(n):
        top[s] = z[s]
        norm[s] = 0.0
        entropy[s] = 0.0
    for j in range(1, logits):
        row = moved(z, j * ROW)
        for s in range(n):
            top[s] = max(top[s], row[s])
    for j in range(logits):
        row = moved(z, j * ROW)
        for s in range(n):
            t = max(temper * (row[s] - top[s]), -700.0)
            row[s] = exp(t)
            norm[s] += row[s]
            entropy[s] -= row[s] * t
    # -sum p log p with p = exp(t) / norm
    for s in range(n):
        inverse = 1.0 / norm[s]
        entropy[s] = entropy[s] * inverse + log(norm[s])
        norm[s] = inverse
    for j in range(logits):
        row = moved(z, j * ROW)
        for s in range(n):
            row[s] *= norm[s]
