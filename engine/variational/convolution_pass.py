"""A minibatch of images through convolutions and pooling in single precision, forward and backward, by matrix products.

A stage is a convolution with stride 1, a bias, max-pooling over windows side by side, and an activation. Its weights
are (k k C + 1, F), rows by kernel row, kernel column, channel, the bias last; as everywhere in deep learning it is a
cross-correlation, the kernel is not turned. Every place of the output sees a *patch* of the input, k k C numbers and a
one. With patches as rows a convolution is a matrix product: the same weights serve every place. Maps are (image, row,
column, channel), so that a patch is k runs of k C numbers.

Images go in groups whose patches stay in the second-level cache. All activations grow, so pooling may come before them
and leaves less to do; of a window that has its maximum twice the first place wins.

Passes are those of `engine.variational.minibatch`. With local reparameterisation every place draws its own
pre-activation. The mean and variance of each are right, but places share their weights, and their draws ought to
depend on each other: what is climbed is not exactly q's ELBO. With drawn weights ("weights") it is. With Flipout an
image has one sign for every weight of a filter and one for every filter, the same at all places: every image sees one draw
of q, and what is climbed is the ELBO.

Wrong on purpose (`variant`): "flipped" reads and writes the patches of the backward pass with the kernel turned;
"padding" forgets in the backward pass that the input was padded.
"""

from __future__ import annotations

import numpy as np

from engine.networks.passes import moved, pointer
from engine.variational.fused import BLOCK, LOCAL, ONE, SAMPLED, ZERO, fill_normal, single_kernel
from engine.variational.minibatch import activate, add_product, add_squares, perturb, scale_by, square, through

SIDE, CHANNELS, KERNEL, PAD, PLACES, FILTERS, POOL, POOLED, GROUP = range(9)  # columns of a stage; PLACES a side
EXACT, FLIPPED, UNPADDED = range(3)


@single_kernel
def _take(x, rows, images):
    """Copy the samples `rows` of x (n, inputs) to (batch, inputs)."""
    for b in range(rows.size):
        source, to = x[rows[b]], images[b]
        for i in range(source.size):
            to[i] = source[i]


@single_kernel
def _pad(maps, side, channels, pad, padded):
    """Copy maps (images, side, side, channels) into padded (images, side + 2 pad, side + 2 pad, channels)."""
    wide = side + 2 * pad
    padded[:] = ZERO
    run = side * channels
    for line in range(maps.size // run):
        b, y = line // side, line % side
        source, to = moved(pointer(maps), line * run), moved(pointer(padded), ((b * wide + y + pad) * wide + pad) * channels)
        for i in range(run):
            to[i] = source[i]


@single_kernel
def _unpad(padded, side, channels, pad, edge, maps):
    """What `_pad` does, back. `edge` is `pad`, or wrong."""
    wide = side + 2 * pad
    run = side * channels
    for line in range(maps.size // run):
        b, y = line // side, line % side
        source, to = moved(pointer(padded), ((b * wide + y + edge) * wide + edge) * channels), moved(pointer(maps), line * run)
        for i in range(run):
            to[i] = source[i]


@single_kernel
def _patches(maps, wide, channels, kernel, places, flipped, patches):
    """Patches (images, places, places, k k C + 1) of maps (images, wide, wide, channels), ones last."""
    columns, run = kernel * kernel * channels + 1, kernel * channels
    for line in range(patches.size // (columns * places)):
        b, y = line // places, line % places
        for x in range(places):
            to = moved(pointer(patches), (line * places + x) * columns)
            for ky in range(kernel):
                at = kernel - 1 - ky if flipped else ky
                source = moved(pointer(maps), ((b * wide + y + at) * wide + x) * channels)
                part = moved(to, ky * run)
                if flipped:
                    for i in range(run):
                        part[i] = source[(kernel - 1 - i // channels) * channels + i % channels]
                else:
                    for i in range(run):
                        part[i] = source[i]
            to[columns - 1] = ONE


@single_kernel
def _spread(patches, wide, channels, kernel, places, flipped, maps):
    """Add patches up where they came from: the transpose of `_patches`."""
    columns, run = kernel * kernel * channels + 1, kernel * channels
    maps[:] = ZERO
    for line in range(patches.size // (columns * places)):
        b, y = line // places, line % places
        for x in range(places):
            source = moved(pointer(patches), (line * places + x) * columns)
            for ky in range(kernel):
                at = kernel - 1 - ky if flipped else ky
                to = moved(pointer(maps), ((b * wide + y + at) * wide + x) * channels)
                part = moved(source, ky * run)
                if flipped:
                    for i in range(run):
                        to[(kernel - 1 - i // channels) * channels + i % channels] += part[i]
                else:
                    for i in range(run):
                        to[i] += part[i]


@single_kernel
def _pooled(z, spread, second, places, filters, pool, side, values, winners, carry):
    """The largest value of every window (pool, pool) of z (images, places, places, filters) and where it stood; the
    rest of a side that is no multiple is left out.

    values, winners, carry : (images, side, side, filters); carry, of what stands in `spread` there, if `second`
    """
    for row in range(values.size // filters):
        b, y, x = row // (side * side), row // side % side, row % side
        to, won = moved(pointer(values), row * filters), moved(pointer(winners), row * filters)
        kept = moved(pointer(carry), row * filters)
        for dy in range(pool):
            for dx in range(pool):
                at = ((b * places + y * pool + dy) * places + x * pool + dx) * filters
                source, beside = moved(pointer(z), at), moved(pointer(spread), at)
                number = np.uint8(dy * pool + dx)
                if number == 0:
                    for f in range(filters):
                        to[f] = source[f]
                        won[f] = number
                else:
                    for f in range(filters):
                        larger = source[f] > to[f]
                        to[f] = source[f] if larger else to[f]
                        won[f] = number if larger else won[f]
                if second:
                    for f in range(filters):
                        kept[f] = beside[f] if won[f] == number else kept[f]


@single_kernel
def _unpooled(slopes, winners, places, filters, pool, side, z):
    """Derivatives in z (images, places, places, filters) from those in the pooled values: each to its winner."""
    if places % pool:
        z[:] = ZERO
    for row in range(slopes.size // filters):
        b, y, x = row // (side * side), row // side % side, row % side
        slope, won = moved(pointer(slopes), row * filters), moved(pointer(winners), row * filters)
        for dy in range(pool):
            for dx in range(pool):
                to = moved(pointer(z), ((b * places + y * pool + dy) * places + x * pool + dx) * filters)
                number = np.uint8(dy * pool + dx)
                for f in range(filters):
                    to[f] = slope[f] if won[f] == number else ZERO


@single_kernel
def _turned(patches, signs, places, columns, turned):
    """Patches (images, places, columns) with the signs (images, columns) of their image."""
    for line in range(patches.size // columns):
        source, to = moved(pointer(patches), line * columns), moved(pointer(turned), line * columns)
        sign = moved(pointer(signs), line // places * columns)
        for i in range(columns):
            to[i] = source[i] * sign[i]


@single_kernel
def _everywhere(signs, places, filters, out):
    """The signs (images, filters) at every place: (images, places, filters)."""
    for line in range(out.size // filters):
        to, sign = moved(pointer(out), line * filters), moved(pointer(signs), line // places * filters)
        for f in range(filters):
            to[f] = sign[f]


@single_kernel
def _plus(a, b):
    for i in range(a.size):
        a[i] += b[i]


@single_kernel
def _normals(out, index, first, second):
    """Fill `out` with draws of N(0, 1): the blocks from `index` on of the stream of the key; its end is left over."""
    for block in range(-(-out.size // BLOCK)):
        fill_normal(moved(pointer(out), block * BLOCK), index + block, first, second)


@single_kernel
def convolve(stages, activation, x, rows, weights, variances, way, first, second, work):
    """Forward: leaves the activated maps of every stage in `maps`, the last stage's last.

    stages : (S, 9) whole numbers; columns as named above
    x, rows : samples (n, inputs) and which of them
    weights, variances : of all stages, one after another; variances (deviations, for Flipout) are read unless the way
        is sampled
    way : of weights with a distribution, see `engine.variational.minibatch`
    first, second : the key of the normal draws of a local pass
    work : `Maps.of_stages()`; the signs of Flipout stand in it
    """
    images, maps, winners, carry, padded, patches, squares, z, spread, back, _, signs = work
    batch = rows.size
    inputs = stages[0, SIDE] ** 2 * stages[0, CHANNELS]
    _take(x, rows, images[: batch * inputs].reshape(batch, inputs))
    at_below, at_map, at_weight, index, at_sign = 0, 0, 0, 0, 0
    for s in range(stages.shape[0]):
        side, channels, kernel, pad, places, filters, pool, pooled, group = stages[s]
        below = images[: batch * inputs] if s == 0 else maps[at_below:at_map]
        size_in, size_z, size_out = side * side * channels, places * places * filters, pooled * pooled * filters
        columns, wide = kernel * kernel * channels + 1, side + 2 * pad
        w = weights[at_weight : at_weight + columns * filters].reshape(columns, filters)
        for begin in range(0, batch, group):
            count = min(group, batch - begin)
            source = below[begin * size_in : (begin + count) * size_in]
            if pad:
                _pad(source, side, channels, pad, padded[: count * wide * wide * channels])
                source = padded[: count * wide * wide * channels]
            lines = count * places * places
            p = patches[: lines * columns]
            _patches(source, wide, channels, kernel, places, False, p)
            values = z[: count * size_z]
            np.dot(p.reshape(lines, columns), w, values.reshape(lines, filters))
            noise = spread[: count * size_z]
            if way != SAMPLED:
                q, variance = squares[: lines * columns], back[: count * size_z]
                if way == LOCAL:
                    square(p, q)
                    _normals(noise, index + begin * -(-size_z // BLOCK), first, second)
                else:
                    at_output = at_sign + batch * columns
                    _turned(p, signs[at_sign + begin * columns : at_output], places * places, columns, q)
                    _everywhere(signs[at_output + begin * filters : at_output + batch * filters], places * places, filters, noise)
                v = variances[at_weight : at_weight + columns * filters].reshape(columns, filters)
                np.dot(q.reshape(lines, columns), v, variance.reshape(lines, filters))
                if way == LOCAL:
                    perturb(values, variance, noise)
                else:
                    add_product(variance, noise, values)
            span = slice(at_map + begin * size_out, at_map + (begin + count) * size_out)
            kept = carry[span] if way != SAMPLED else carry
            _pooled(values, noise, way != SAMPLED, places, filters, pool, pooled, maps[span], winners[span], kept)
            activate(activation, maps[span])
        index += batch * -(-size_z // BLOCK)
        at_sign += batch * (columns + filters)
        at_weight += columns * filters
        at_below = at_map
        at_map += batch * size_out


@single_kernel
def convolve_back(stages, activation, batch, slopes, weights, variances, way, gradient, variance_gradient, variant, work):
    """Backward, after `convolve`: leaves derivatives in `gradient` and, unless the way is sampled, in `variance_gradient`.

    slopes : (batch * outputs of the last stage,), derivatives with respect to them; overwritten
    variant : EXACT, or a wrong one
    """
    images, maps, winners, carry, padded, patches, squares, z, _, back, part, signs = work
    inputs = stages[0, SIDE] ** 2 * stages[0, CHANNELS]
    at_map, at_weight, at_sign = 0, 0, 0
    for s in range(stages.shape[0]):
        at_sign += batch * (stages[s, KERNEL] ** 2 * stages[s, CHANNELS] + 1 + stages[s, FILTERS])
        at_map += batch * stages[s, POOLED] ** 2 * stages[s, FILTERS]
        at_weight += (stages[s, KERNEL] ** 2 * stages[s, CHANNELS] + 1) * stages[s, FILTERS]
    for s in range(stages.shape[0] - 1, -1, -1):
        side, channels, kernel, pad, places, filters, pool, pooled, group = stages[s]
        size_in, size_z, size_out = side * side * channels, places * places * filters, pooled * pooled * filters
        columns, wide = kernel * kernel * channels + 1, side + 2 * pad
        at_weight -= columns * filters
        at_sign -= batch * (columns + filters)
        at_map -= batch * size_out
        at_below = at_map - batch * size_in
        below = images[: batch * inputs] if s == 0 else maps[at_below:at_map]
        here = slice(at_weight, at_weight + columns * filters)
        w = weights[here].reshape(columns, filters)
        gradient[here] = ZERO
        if way != SAMPLED:
            variance_gradient[here] = ZERO
        mine = maps[at_map : at_map + batch * size_out]
        through(activation, mine.reshape(batch, size_out), slopes[: batch * size_out].reshape(batch, size_out))
        flipped = variant == FLIPPED
        edge = 0 if variant == UNPADDED else pad
        product = part[: columns * filters]
        for begin in range(0, batch, group):
            count = min(group, batch - begin)
            source = below[begin * size_in : (begin + count) * size_in]
            span = slice(at_map + begin * size_out, at_map + (begin + count) * size_out)
            if pad:
                _pad(source, side, channels, pad, padded[: count * wide * wide * channels])
                source = padded[: count * wide * wide * channels]
            lines = count * places * places
            p = patches[: lines * columns]
            _patches(source, wide, channels, kernel, places, flipped, p)
            d = z[: count * size_z].reshape(lines, filters)
            _unpooled(maps[span], winners[span], places, filters, pool, pooled, z[: count * size_z])
            np.dot(p.reshape(lines, columns).T, d, product.reshape(columns, filters))
            _plus(gradient[here], product)
            down = back[: lines * columns]
            if s:
                np.dot(d, w.T, down.reshape(lines, columns))
            if way != SAMPLED:
                # from here on derivatives with respect to the variances, or to what the deviations add
                scale_by(maps[span], carry[span])
                _unpooled(maps[span], winners[span], places, filters, pool, pooled, z[: count * size_z])
                q, turns = squares[: lines * columns], signs[at_sign + begin * columns : at_sign + batch * columns]
                if way == LOCAL:
                    square(p, q)
                else:
                    _turned(p, turns, places * places, columns, q)
                np.dot(q.reshape(lines, columns).T, d, product.reshape(columns, filters))
                _plus(variance_gradient[here], product)
                if s:
                    v = variances[here].reshape(columns, filters)
                    np.dot(d, v.T, q.reshape(lines, columns))
                    if way == LOCAL:
                        add_squares(down, p, q)
                    else:
                        _turned(q, turns, places * places, columns, q)
                        _plus(down, q)
            if s:
                to = slopes[begin * size_in : (begin + count) * size_in]
                wider = padded[: count * wide * wide * channels]
                _spread(down, wide, channels, kernel, places, flipped, wider)
                _unpad(wider, side, channels, pad, edge, to)
