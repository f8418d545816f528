"""Log likelihood of a network that changes its size: from scratch, or from what a jump changes.

With one hidden layer the state of a chain keeps every unit's values and the sum of the outputs per sample. The birth or
death of a unit then costs one unit, whatever the width. Values stand in blocks of samples as in
`engine.networks.passes`: `hidden` (blocks, highest width + 1, ROW), `outputs` (blocks, logits, ROW). Unit j's values
are in row `units[j]`, so that a slot is found or freed without moving them; the last row is for a unit that is only
tried. A sum that is added to and taken from drifts by rounding (3e-14 per 100,000 jumps), so that it is computed anew
after every move that changes all weights, and after `REFRESH` accepted jumps.
"""

from __future__ import annotations

import math

from engine.kernels import inlined, kernel
from engine.networks.mlp import GAUSSIAN, HEADER, HIDDEN, OWN, SIZES, SOFTMAX, TWO_CLASSES
from engine.networks.passes import (
    BLOCK,
    ROW,
    activate,
    aligned,
    binary_value,
    combine,
    forward,
    gaussian_value,
    moved,
    pointer,
    softmax_value,
)
from engine.vectormath import exp, sigmoid

REFRESH = 1000  # accepted jumps after which the kept outputs are computed anew


@inlined
def _value(z, y, likelihood, temper, noise_precision, logits, n, spare):
    if likelihood == SOFTMAX:
        return softmax_value(z, y, temper, logits, spare, moved(spare, ROW), n)
    if likelihood == GAUSSIAN:
        return gaussian_value(z, y, noise_precision, logits, n)
    return binary_value(z, y, temper, n)


@inlined
def _constant(likelihood, samples, outputs, noise_precision):
    if likelihood == GAUSSIAN:
        return 0.5 * samples * outputs * math.log(noise_precision / (2.0 * math.pi))
    return 0.0


@kernel
def whole(theta, data, ints, scratch, noise_precision):
    """Log likelihood of the network that `ints` describes, by a forward pass."""
    q, numbers, whole_numbers = pointer(theta), pointer(data), pointer(ints)
    samples, likelihood, kind, hidden = ints[0], ints[1], ints[2], ints[HIDDEN]
    sizes = moved(whole_numbers, SIZES)
    inputs, width, outputs = sizes[0], sizes[hidden], sizes[hidden + 1]
    targets = outputs if likelihood == GAUSSIAN else 1
    h = aligned(moved(pointer(scratch), ints[OWN]))
    z = moved(h, hidden * width * ROW)
    spare = moved(z, outputs * ROW)
    logits = 1 if likelihood == TWO_CLASSES else outputs
    total = _constant(likelihood, samples, outputs, noise_precision)
    for first in range(0, samples, BLOCK):
        n = min(BLOCK, samples - first)
        x = moved(numbers, HEADER + (first // BLOCK) * (inputs + targets) * ROW)
        at, rows = forward(q, sizes, hidden, kind, x, h, n)
        last = moved(h, (rows - width) * ROW)
        combine(moved(q, at), 1, width, moved(q, at + width * outputs), True, width, outputs, last, z, n)
        if likelihood == TWO_CLASSES:
            for s in range(n):
                z[s] = z[ROW + s] - z[s]
        total += _value(z, moved(x, inputs * ROW), likelihood, data[0], noise_precision, logits, n, spare)
    return total


@inlined
def _of_logit(q, first, step, likelihood, o):
    """Output weight or bias number `o`; for two classes the difference of theirs."""
    return q[first + step] - q[first] if likelihood == TWO_CLASSES else q[first + o * step]


@kernel
def refresh(theta, width, data, ints, scratch, noise_precision, hidden, outputs, units):
    """Compute all kept values of a network with one hidden layer. Returns the log likelihood."""
    q, numbers = pointer(theta), pointer(data)
    samples, likelihood, kind = ints[0], ints[1], ints[2]
    inputs, classes, logits = ints[SIZES], ints[SIZES + 2], outputs.shape[1]
    targets = classes if likelihood == GAUSSIAN else 1
    spare = aligned(moved(pointer(scratch), ints[OWN]))
    head = width * (inputs + 1)
    total = _constant(likelihood, samples, classes, noise_precision)
    for first in range(0, samples, BLOCK):
        n, block = min(BLOCK, samples - first), first // BLOCK
        x = moved(numbers, HEADER + block * (inputs + targets) * ROW)
        z = moved(pointer(outputs), block * logits * ROW)
        for o in range(logits):
            to, bias = moved(z, o * ROW), _of_logit(q, head + width * classes, 1, likelihood, o)
            for s in range(n):
                to[s] = bias
        for j in range(width):
            row = moved(pointer(hidden), (block * hidden.shape[1] + units[j]) * ROW)
            combine(moved(q, j * inputs), 1, 0, moved(q, width * inputs + j), True, inputs, 1, x, row, n)
            activate(kind, row, 1, n)
            for o in range(logits):
                to, weight = moved(z, o * ROW), _of_logit(q, head + j, width, likelihood, o)
                for s in range(n):
                    to[s] += weight * row[s]
        total += _value(z, moved(x, inputs * ROW), likelihood, data[0], noise_precision, logits, n, spare)
    return total


@kernel
def changed(theta, width, slot, birth, stretch, data, ints, scratch, noise_precision, hidden, outputs, unit, proposed):
    """Log likelihood after a birth or a death, from the kept outputs; the new outputs go to `proposed`.

    theta, width : of the network that has the unit: after a birth, before a death
    stretch : factor of the kept output weights
    unit : row of `hidden` for the unit: filled at a birth, read at a death
    """
    q, numbers = pointer(theta), pointer(data)
    samples, likelihood, kind = ints[0], ints[1], ints[2]
    inputs, classes, logits = ints[SIZES], ints[SIZES + 2], outputs.shape[1]
    targets = classes if likelihood == GAUSSIAN else 1
    spare = aligned(moved(pointer(scratch), ints[OWN]))
    head = width * (inputs + 1)
    total = _constant(likelihood, samples, classes, noise_precision)
    for first in range(0, samples, BLOCK):
        n, block = min(BLOCK, samples - first), first // BLOCK
        x = moved(numbers, HEADER + block * (inputs + targets) * ROW)
        z, new = moved(pointer(outputs), block * logits * ROW), moved(pointer(proposed), block * logits * ROW)
        row = moved(pointer(hidden), (block * hidden.shape[1] + unit) * ROW)
        if birth:
            combine(moved(q, slot * inputs), 1, 0, moved(q, width * inputs + slot), True, inputs, 1, x, row, n)
            activate(kind, row, 1, n)
        for o in range(logits):
            # z = bias + sum of weight * unit: the bias is not stretched, at a death the unit leaves before stretching.
            bias = (1.0 - stretch) * _of_logit(q, head + width * classes, 1, likelihood, o)
            weight = _of_logit(q, head + slot, width, likelihood, o) * (1.0 if birth else -stretch)
            old, to = moved(z, o * ROW), moved(new, o * ROW)
            for s in range(n):
                to[s] = stretch * old[s] + (weight * row[s] + bias)
        total += _value(new, moved(x, inputs * ROW), likelihood, data[0], noise_precision, logits, n, spare)
    return total


@inlined
def _sum(a, b, n):
    total = 0.0
    for s in range(n):
        total += a[s] * b[s]
    return total


@inlined
def _total(a, n):
    total = 0.0
    for s in range(n):
        total += a[s]
    return total


@inlined
def _softmax_weights(z, temper, classes, row, weighted, top, norm, n):
    """weighted[j] = row p_j, with p the class probabilities of the outputs z."""
    for s in range(n):
        top[s] = z[s]
        norm[s] = 0.0
    for j in range(1, classes):
        here = moved(z, j * ROW)
        for s in range(n):
            top[s] = max(top[s], here[s])
    for j in range(classes):
        here, to = moved(z, j * ROW), moved(weighted, j * ROW)
        for s in range(n):
            to[s] = exp(temper * (here[s] - top[s]))
            norm[s] += to[s]
    for s in range(n):
        norm[s] = row[s] / norm[s]
    for j in range(classes):
        to = moved(weighted, j * ROW)
        for s in range(n):
            to[s] *= norm[s]


@inlined
def _label_sum(label, mine, row, n):
    total = 0.0
    for s in range(n):
        total += row[s] if label[s] == mine else 0.0
    return total


@inlined
def _binary_weights(z, sign, temper, row, weighted, n):
    """Sum of row x slope of the log likelihood in z; weighted = row x curvature."""
    total = 0.0
    for s in range(n):
        other = sigmoid(-temper * z[s] * sign[s])
        total += temper * sign[s] * other * row[s]
        weighted[s] = temper * temper * other * (1.0 - other) * row[s]
    return total


@inlined
def _residual_sum(z, y, precision, row, n):
    total = 0.0
    for s in range(n):
        total += precision * (y[s] - z[s]) * row[s]
    return total


@kernel
def informed_normal(theta, width, slot, precision, data, ints, scratch, noise_precision, hidden, outputs, unit, curvature, slope):
    """The log posterior of the weights that lead out of one unit, around 0: its slope (outputs,), and minus its second
    derivatives (outputs, outputs), lower triangle.

    theta, width, slot : the network with the unit; its weights out are not read
    precision : prior precision of the weights out
    outputs : kept outputs of the network without the unit; unit : row of `hidden`, filled with the unit's values
    """
    q, numbers = pointer(theta), pointer(data)
    samples, likelihood, kind = ints[0], ints[1], ints[2]
    inputs, classes, logits = ints[SIZES], ints[SIZES + 2], outputs.shape[1]
    targets = classes if likelihood == GAUSSIAN else 1
    temper = data[0]
    weighted = aligned(moved(pointer(scratch), ints[OWN]))
    spare = moved(weighted, logits * ROW)
    for o in range(classes):
        slope[o] = 0.0
        for other in range(o + 1):
            curvature[o, other] = precision if o == other else 0.0
    for first in range(0, samples, BLOCK):
        n, block = min(BLOCK, samples - first), first // BLOCK
        x = moved(numbers, HEADER + block * (inputs + targets) * ROW)
        y, z = moved(x, inputs * ROW), moved(pointer(outputs), block * logits * ROW)
        row = moved(pointer(hidden), (block * hidden.shape[1] + unit) * ROW)
        combine(moved(q, slot * inputs), 1, 0, moved(q, width * inputs + slot), True, inputs, 1, x, row, n)
        activate(kind, row, 1, n)
        if likelihood == SOFTMAX:
            _softmax_weights(z, temper, classes, row, weighted, spare, moved(spare, ROW), n)
            for o in range(classes):
                mine = moved(weighted, o * ROW)
                slope[o] += temper * _label_sum(y, float(o), row, n)
                slope[o] -= temper * _total(mine, n)
                curvature[o, o] += temper * temper * _sum(mine, row, n)
                for other in range(o + 1):
                    curvature[o, other] -= temper * temper * _sum(mine, moved(weighted, other * ROW), n)
        elif likelihood == GAUSSIAN:
            squares = noise_precision * _sum(row, row, n)
            for o in range(classes):
                slope[o] += _residual_sum(moved(z, o * ROW), moved(y, o * ROW), noise_precision, row, n)
                curvature[o, o] += squares
        else:
            gain = _binary_weights(z, y, temper, row, weighted, n)
            bend = _sum(row, weighted, n)
            slope[classes - 1] += gain
            curvature[classes - 1, classes - 1] += bend
            if likelihood == TWO_CLASSES:
                slope[0] -= gain
                curvature[0, 0] += bend
                curvature[1, 0] -= bend


@kernel
def insert_row(units, width, slot):
    """Give the unit born at `slot` of a layer of `width` units the first free row."""
    free = units[width]
    for j in range(width, slot, -1):
        units[j] = units[j - 1]
    units[slot] = free


@kernel
def remove_row(units, width, slot):
    """Free the row of the unit that died at `slot` of a layer of `width` units."""
    free = units[slot]
    for j in range(slot, width - 1):
        units[j] = units[j + 1]
    units[width - 1] = free
