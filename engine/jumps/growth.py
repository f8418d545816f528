"""Parameters of a network that gains or loses a unit or a layer.

A network of `depth` hidden layers, all of one `width`, has its parameters `theta` layer by layer: weights (out, in)
row by row, then biases (out), as in `engine.networks`. A unit enters or leaves at the same place, its slot, of every
hidden layer; a layer enters or leaves as the last hidden one, and the output weights stay. What enters is drawn from
its prior, normal with the precisions of its layer.

`precisions`: of the output weights and biases, then of each hidden layer's weights and biases, last of the noise. With
`scaled`, weights that lead out of hidden units have their precision multiplied by the width: Neal's prior variance
sigma^2 / fan-in.

Source: Berezowski 2021, section 5.2.2.
"""

from __future__ import annotations

import math

from engine.kernels import kernel

HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


@kernel
def dimension(inputs, width, depth, outputs):
    """Number of parameters of an architecture with at least one hidden layer."""
    return (inputs + 1) * width + (depth - 1) * (width + 1) * width + (width + 1) * outputs


@kernel
def precision_of(precisions, layer, depth, biases, width, scaled):
    """Prior precision of the weights (or biases) of a layer, 1 to depth + 1, in a network of this width."""
    precision = precisions[(2 * layer if layer <= depth else 0) + biases]
    if scaled and layer > 1 and biases == 0:
        precision *= width
    return precision


@kernel
def log_prior(theta, inputs, width, depth, outputs, precisions, scaled):
    """Log prior density of all parameters, given architecture and precisions."""
    total, first = 0.0, 0
    for layer in range(1, depth + 2):
        n_in = inputs if layer == 1 else width
        n_out = width if layer <= depth else outputs
        for biases in range(2):
            count = n_out if biases == 1 else n_in * n_out
            precision = precision_of(precisions, layer, depth, biases, width, scaled)
            squares = 0.0
            for i in range(first, first + count):
                squares += theta[i] * theta[i]
            total += count * (0.5 * math.log(precision) - HALF_LOG_2PI) - 0.5 * precision * squares
            first += count
    return total


@kernel
def add_unit(rng, theta, inputs, width, depth, outputs, slot, stretch, precisions, scaled, grown, born):
    """Write the network with a new unit at `slot` to `grown`, and the new parameters, in their order there, to `born`.

    stretch : factor of the kept weights that lead out of hidden units
    Returns the number of new parameters, their log density, and log p(kept after) - log p(kept before).
    """
    source = at = count = 0
    log_density, kept = 0.0, 0.0
    changed = scaled or stretch != 1.0
    for layer in range(1, depth + 2):
        deep, hidden = layer > 1, layer <= depth
        n_in = width + 1 if deep else inputs
        n_out = width + 1 if hidden else outputs
        factor = stretch if deep else 1.0
        for biases in range(2):
            precision = precision_of(precisions, layer, depth, biases, width + 1, scaled)
            sd, before, squares = 1.0 / math.sqrt(precision), count, 0.0
            old_squares, old_count = 0.0, 0
            columns = 1 if biases == 1 else n_in
            for j in range(n_out):
                new_row = hidden and j == slot
                for i in range(columns):
                    if new_row or (deep and biases == 0 and i == slot):
                        value = sd * rng.standard_normal()
                        squares += value * value
                        born[count] = value
                        count += 1
                        grown[at] = value
                    elif biases == 1:
                        grown[at] = theta[source]
                        source += 1
                    else:
                        grown[at] = factor * theta[source]
                        old_squares += theta[source] * theta[source]
                        old_count += 1
                        source += 1
                    at += 1
            log_density += (count - before) * (0.5 * math.log(precision) - HALF_LOG_2PI) - 0.5 * precision * squares
            if changed and deep and biases == 0:
                old = precision_of(precisions, layer, depth, biases, width, scaled)
                kept += 0.5 * (old_count * math.log(precision / old) - (precision * factor**2 - old) * old_squares)
    return count, log_density, kept


@kernel
def drop_unit(theta, inputs, width, depth, outputs, slot, stretch, precisions, scaled, shrunk, born):
    """Undo `add_unit`: write the network without the unit at `slot` to `shrunk`, what it lost to `born`.

    stretch : the factor that undoes that of the birth
    Returns the number of lost parameters, their log density, and log p(kept after) - log p(kept before).
    """
    source = at = count = 0
    log_density, kept = 0.0, 0.0
    changed = scaled or stretch != 1.0
    for layer in range(1, depth + 2):
        deep, hidden = layer > 1, layer <= depth
        n_in = width if deep else inputs
        n_out = width if hidden else outputs
        factor = stretch if deep else 1.0
        for biases in range(2):
            precision = precision_of(precisions, layer, depth, biases, width, scaled)
            before, squares = count, 0.0
            old_squares, old_count = 0.0, 0
            columns = 1 if biases == 1 else n_in
            for j in range(n_out):
                lost_row = hidden and j == slot
                for i in range(columns):
                    value = theta[source]
                    source += 1
                    if lost_row or (deep and biases == 0 and i == slot):
                        squares += value * value
                        born[count] = value
                        count += 1
                    elif biases == 1:
                        shrunk[at] = value
                        at += 1
                    else:
                        shrunk[at] = factor * value
                        old_squares += value * value
                        old_count += 1
                        at += 1
            log_density += (count - before) * (0.5 * math.log(precision) - HALF_LOG_2PI) - 0.5 * precision * squares
            if changed and deep and biases == 0:
                new = precision_of(precisions, layer, depth, biases, width - 1, scaled)
                kept += 0.5 * (old_count * math.log(new / precision) - (new * factor**2 - precision) * old_squares)
    return count, log_density, kept


@kernel
def add_layer(rng, theta, inputs, width, depth, outputs, precisions, scaled, grown, born):
    """Write the network with one more hidden layer before the output to `grown`, its parameters also to `born`.

    Returns the number of new parameters and their log density.
    """
    first = dimension(inputs, width, depth, outputs) - (width + 1) * outputs
    for i in range(first):
        grown[i] = theta[i]
    count, log_density = 0, 0.0
    for biases in range(2):
        precision = precision_of(precisions, depth + 1, depth + 1, biases, width, scaled)
        sd, squares = 1.0 / math.sqrt(precision), 0.0
        number = width if biases == 1 else width * width
        for _ in range(number):
            value = sd * rng.standard_normal()
            squares += value * value
            born[count] = value
            grown[first + count] = value
            count += 1
        log_density += number * (0.5 * math.log(precision) - HALF_LOG_2PI) - 0.5 * precision * squares
    for i in range((width + 1) * outputs):
        grown[first + count + i] = theta[first + i]
    return count, log_density


@kernel
def drop_layer(theta, inputs, width, depth, outputs, precisions, scaled, shrunk, born):
    """Undo `add_layer`: write the network without its last hidden layer to `shrunk`, what it lost to `born`.

    Returns the number of lost parameters and their log density.
    """
    lost = (width + 1) * width
    first = dimension(inputs, width, depth, outputs) - (width + 1) * outputs - lost
    for i in range(first):
        shrunk[i] = theta[i]
    count, log_density = 0, 0.0
    for biases in range(2):
        precision = precision_of(precisions, depth, depth, biases, width, scaled)
        squares = 0.0
        number = width if biases == 1 else width * width
        for _ in range(number):
            value = theta[first + count]
            squares += value * value
            born[count] = value
            count += 1
        log_density += number * (0.5 * math.log(precision) - HALF_LOG_2PI) - 0.5 * precision * squares
    for i in range((width + 1) * outputs):
        shrunk[first + i] = theta[first + lost + i]
    return lost, log_density


@kernel
def draw_all(rng, inputs, width, depth, outputs, precisions, scaled, drawn):
    """Write a network of this architecture, drawn from the prior, to `drawn`. Returns the number of its parameters."""
    at = 0
    for layer in range(1, depth + 2):
        n_in = inputs if layer == 1 else width
        n_out = width if layer <= depth else outputs
        for biases in range(2):
            sd = 1.0 / math.sqrt(precision_of(precisions, layer, depth, biases, width, scaled))
            for _ in range(n_out if biases == 1 else n_in * n_out):
                drawn[at] = sd * rng.standard_normal()
                at += 1
    return at


@kernel
def _log_apart(apart, sd):
    return -0.5 * (apart / sd) ** 2 - math.log(sd) - HALF_LOG_2PI


@kernel
def split_unit(rng, theta, inputs, width, outputs, slot, partner, scale, precisions, scaled, grown, born):
    """Write a network of one hidden layer in which unit `partner` is split to `grown`: what leads into the new unit, at
    `slot`, is that of the partner and a normal e; each weight v out of the partner becomes v / 2 + u, and v / 2 - u that
    of the new unit. With e = 0 the function stays as it is. The new unit's parameters, in their order, go to `born`, and
    behind them the number of the partner in the smaller network.

    scale : sds of e and u, times those of the prior
    Returns the number of values in `born` and the log density of e and u. The Jacobian is 1.
    """
    sd_in = scale / math.sqrt(precision_of(precisions, 1, 1, 0, width + 1, scaled))
    sd_bias = scale / math.sqrt(precision_of(precisions, 1, 1, 1, width + 1, scaled))
    sd_out = scale / math.sqrt(precision_of(precisions, 2, 1, 0, width + 1, scaled))
    count, log_density = 0, 0.0
    for i in range(inputs + 1):
        sd, old = (sd_in, partner * inputs + i) if i < inputs else (sd_bias, inputs * width + partner)
        apart = sd * rng.standard_normal()
        log_density += _log_apart(apart, sd)
        born[count] = theta[old] + apart
        count += 1
    old_head, head = (inputs + 1) * width, (inputs + 1) * (width + 1)
    for j in range(width + 1):
        old = j - 1 if j > slot else j
        for i in range(inputs):
            grown[j * inputs + i] = born[i] if j == slot else theta[old * inputs + i]
        grown[(width + 1) * inputs + j] = born[inputs] if j == slot else theta[width * inputs + old]
    for o in range(outputs):
        half, apart = 0.5 * theta[old_head + o * width + partner], sd_out * rng.standard_normal()
        log_density += _log_apart(apart, sd_out)
        born[count] = half - apart
        count += 1
        for j in range(width + 1):
            old = j - 1 if j > slot else j
            value = half - apart
            if j != slot:
                value = half + apart if old == partner else theta[old_head + o * width + old]
            grown[head + o * (width + 1) + j] = value
        grown[head + outputs * (width + 1) + o] = theta[old_head + outputs * width + o]
    born[count] = partner
    return count + 1, log_density


@kernel
def merge_units(theta, inputs, width, outputs, slot, partner, scale, precisions, scaled, shrunk, born):
    """Undo `split_unit`: the unit at `slot` goes, and its weights out join those of `partner`, counted without it."""
    sd_in = scale / math.sqrt(precision_of(precisions, 1, 1, 0, width, scaled))
    sd_bias = scale / math.sqrt(precision_of(precisions, 1, 1, 1, width, scaled))
    sd_out = scale / math.sqrt(precision_of(precisions, 2, 1, 0, width, scaled))
    kept = partner + 1 if partner >= slot else partner  # its place before
    count, log_density = 0, 0.0
    for i in range(inputs + 1):
        sd, step, first = (sd_in, inputs, i) if i < inputs else (sd_bias, 1, inputs * width)
        born[count] = theta[first + slot * step]
        log_density += _log_apart(born[count] - theta[first + kept * step], sd)
        count += 1
    old_head, head = (inputs + 1) * width, (inputs + 1) * (width - 1)
    for j in range(width - 1):
        old = j + 1 if j >= slot else j
        for i in range(inputs):
            shrunk[j * inputs + i] = theta[old * inputs + i]
        shrunk[(width - 1) * inputs + j] = theta[width * inputs + old]
    for o in range(outputs):
        born[count] = theta[old_head + o * width + slot]
        log_density += _log_apart(0.5 * (theta[old_head + o * width + kept] - born[count]), sd_out)
        for j in range(width - 1):
            old = j + 1 if j >= slot else j
            joined = born[count] if j == partner else 0.0
            shrunk[head + o * (width - 1) + j] = theta[old_head + o * width + old] + joined
        shrunk[head + outputs * (width - 1) + o] = theta[old_head + outputs * width + o]
        count += 1
    born[count] = partner
    return count + 1, log_density
