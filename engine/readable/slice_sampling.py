"""Slice sampling: a height below the density, then a point from where the density is higher.

Each coordinate in turn, the others held fixed. The *level* is log y = log pi(x0) + log u. An *interval* of width w lies
at random around x0; it grows by w on both sides while its ends are inside the slice {x : log pi(x) > log y}
(*stepping out*), or to one side by a coin until both ends are outside (*doubling*). Points uniform in it are tried; one
outside the slice becomes the interval's new end on its side of x0 (*shrinkage*). Source: Neal 2003, figures 3 to 6;
the hyperrectangle, all coordinates at once, section 5.1 and figure 8.
"""

import math

import numpy as np


def slice_sampling(log_pi, x, n, rng, w=1.0, interval="stepping_out", limit=64, variant="exact"):
    """n sweeps (n, dim) over all coordinates, from x (dim,) on. log_pi(x) is the log density, up to a constant.

    w : width of the first interval, a number or (dim,); it grows to `limit` widths at most
    """
    w, draws = np.broadcast_to(w, x.shape), []
    log_pi_x = log_pi(x)
    for _ in range(n):
        for j in [None] if interval == "hyperrectangle" else range(x.size):
            x, log_pi_x = update(log_pi, x, log_pi_x, j, rng, w, interval, limit, variant)
        # phase: draw
        draws.append(x)
    return np.array(draws)


def update(log_pi, x, log_pi_x, j, rng, w, interval, limit, variant):
    """A new x and its log density; coordinate j alone moves, or all if j is None."""
    chosen = range(x.size) if j is None else [j]
    # phase: slice/level
    level = log_pi_x + math.log(1.0 - rng.random())
    low, high, point = x.copy(), x.copy(), x.copy()

    def inside(value):
        return log_pi(np.where(np.arange(x.size) == j, value, x)) > level

    # phase: slice/placed
    for d in chosen:
        u = rng.random()
        low[d] = x[d] - (0.0 if variant == "fixed_side" else u * w[d])  # wrong: fixed_side
        high[d] = low[d] + w[d]
    # phase: slice/grown
    if interval == "stepping_out":  # figure 3
        down = int(limit * rng.random())
        up = limit - 1 - down
        while down > 0 and inside(low[j]):
            low[j], down = low[j] - w[j], down - 1
        while up > 0 and inside(high[j]):
            high[j], up = high[j] + w[j], up - 1
    elif interval == "doubling":  # figure 4
        widths = 2
        while widths <= limit and (inside(low[j]) or inside(high[j])):
            if rng.random() < 0.5:
                low[j] -= high[j] - low[j]
            else:
                high[j] += high[j] - low[j]
            widths *= 2
    # phase: slice/outside, refused, taken
    widest = (low[j], high[j])
    for _ in range(200):  # figure 5; a right one ends long before, for the interval shrinks to x0
        for d in chosen:
            point[d] = low[d] + rng.random() * (high[d] - low[d])
        log_pi_point = log_pi(point)
        taken = log_pi_point > level
        if taken and interval == "doubling" and variant != "no_test":  # wrong: no_test
            taken = would_come_back(inside, x[j], point[j], *widest, w[j])
        if taken:
            # phase: slice/taken
            return point, log_pi_point
        # phase: slice/outside, refused
        for d in chosen:
            below = point[d] < x[d]
            if variant == "wrong_end":  # wrong: wrong_end
                (high if below else low)[d] = x[d]
            else:
                (low if below else high)[d] = point[d]
    return x, log_pi_x


def would_come_back(inside, x0, x1, left, right, w):
    """Figure 6: whether doubling from x1 could have made the same interval."""
    differ = False
    # phase: slice/refused, taken
    while right - left > 1.1 * w:
        middle = 0.5 * (left + right)
        differ = differ or (x0 < middle) != (x1 < middle)
        left, right = (left, middle) if x1 < middle else (middle, right)
        if differ and not (inside(left) or inside(right)):
            return False
    return True


if __name__ == "__main__":
    from engine.readable import beside

    beside.sampler(slice_sampling, beside.value_only, {"w": 2.0})
