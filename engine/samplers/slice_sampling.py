"""Slice sampling: draw a height uniformly below the density, then a point uniformly from where the density is higher.

From x0 each coordinate j in turn is updated as follows, the others held fixed (Neal 2003, "Slice sampling"):

1. *Level.* `log y = log pi(x0) + log u`, u uniform in (0, 1]: the slice is the set of points with `log pi(x) > log y`.
2. *Interval.* Of width w, x0 at a uniform place in it. It grows by *stepping out* (section 4.1, figure 3): each end by
   w while it is inside the slice, in all to at most `limit` widths; or by *doubling* (figure 4): to the left or the
   right by a fair coin, until both ends are outside, at most to the largest power of two of widths within `limit`.
3. *Shrinkage* (section 4.2, figure 5). Points uniform in the interval; one outside the slice becomes the new end on
   its side of x0; the first one inside is the new point. After doubling it must also pass the test of figure 6: would
   the same doublings from there have stopped no sooner?

"hyperrectangle" updates all coordinates at once (section 5.1): a box with sides w, which does not grow, and shrinks in
every coordinate.

Wrong on purpose (`variant`):
- "wrong_end": a point outside the slice pulls the other end in to x0, so that the side on which it missed is left;
- "no_test": after doubling whatever is inside the slice is taken, which is right only where no slice has a gap;
- "fixed_side": the first interval always begins at x0, in place of a uniform place before it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.kernels import kernel
from engine.samplers.chain import Chain, Trace, evaluate, per_coordinate
from engine.spec import SpecError
from engine.targets.target import Target

Array = NDArray[np.float64]

INTERVALS = ("stepping_out", "doubling", "hyperrectangle")
STEPPING_OUT, DOUBLING, HYPERRECTANGLE = range(3)
VARIANTS = ("exact", "wrong_end", "no_test", "fixed_side")
WRONG_END, NO_TEST, FIXED_SIDE = 1, 2, 3
MAX_LIMIT = 1_000
MAX_POINTS = 200  # tried in one update; an exact one ends long before, for the interval shrinks to x0

EVENTS = ("level", "placed", "grown", "outside", "refused", "taken", "given up")
LEVEL, PLACED, GROWN, OUTSIDE, REFUSED, TAKEN, GIVEN_UP = range(7)
RECORDED = 96  # events that are kept of a transition, for each coordinate


class SliceSamplingTransitions(NamedTuple):
    """The inside of n transitions, each a row of events; what an event does not have is NaN.

    events : (n,) int32, how many there were; E = dim * `RECORDED` have room, and what grows or shrinks beyond is lost
    kind, coordinate : (n, E) int8, what happened, see `EVENTS` (-1: nothing more), and to which coordinate (0 for the
        hyperrectangle)
    low, high : (n, E, dim), ends of the interval after the event; coordinates held fixed have both ends where they are
    point : (n, E, dim), the point tried
    log_density : (n, E, 3), at the lower end, at the upper end (where they were needed) and at the point
    uniform, log_level : (n, dim), u and log y of each update, in order
    offset : (n, dim), uniform: share of the first interval below x0, also where the variant ignores it
    split : (n, dim), uniform: stepping out may go `floor(limit split)` times down, and up for the rest of limit - 1
    """

    events: NDArray[np.int32]
    kind: NDArray[np.int8]
    coordinate: NDArray[np.int8]
    low: Array
    high: Array
    point: Array
    log_density: Array
    uniform: Array
    log_level: Array
    offset: Array
    split: Array


class Events(NamedTuple):
    """The events of some transitions, one after the other, M of them.

    offsets : (n + 1,), where each transition begins
    kind, coordinate : (M,), see `SliceSamplingTransitions`
    x0, low, high, point : (M, dim), where the update began, its interval, the point tried
    log_density : (M, 4), at the lower end, the upper end, the point, and x0
    uniform, offset, log_level : (M,), of the update
    """

    offsets: NDArray[np.int64]
    kind: NDArray[np.int8]
    coordinate: NDArray[np.int8]
    x0: Array
    low: Array
    high: Array
    point: Array
    log_density: Array
    uniform: Array
    offset: Array
    log_level: Array


def events_of(inside: SliceSamplingTransitions) -> Events:
    """The events of n transitions of one chain: arrays (n, ...) as it has them."""
    there = inside.kind >= 0
    kind, j, row = inside.kind[there], inside.coordinate[there], np.nonzero(there)[0]
    began = np.maximum.accumulate(np.where(kind == LEVEL, np.arange(len(kind)), 0))
    low, high, uniform, log_level = (*(each[there] for each in (inside.low, inside.high)), inside.uniform[row, j], inside.log_level[row, j])
    x0, no_interval = low[began], (kind == LEVEL)[:, None]
    return Events(
        np.concatenate([[0], np.cumsum(there.sum(axis=1))]),
        kind,
        j,
        x0,
        np.where(no_interval, np.nan, low),
        np.where(no_interval, np.nan, high),
        inside.point[there],
        np.column_stack([inside.log_density[there], log_level - np.log(uniform)]),
        uniform,
        inside.offset[row, j],
        log_level,
    )


@dataclass(frozen=True)
class SliceSampling:
    """Settings of the sampler. One transition is a sweep over all coordinates, or one hyperrectangle.

    w : width of the first interval, about that of a typical slice; scalar or (dim,), > 0
    interval : "stepping_out", "doubling" or "hyperrectangle"
    limit : widths w to which an interval may grow
    variant : "exact", or one of the wrong ones
    """

    name: ClassVar[str] = "slice_sampling"
    label: ClassVar[str] = "Slice sampling"
    faults: ClassVar[tuple[str, ...]] = ("wrong_end", "no_test", "fixed_side")
    records: ClassVar[tuple[str, ...]] = ()
    w: ArrayLike = 1.0
    interval: str = "stepping_out"
    limit: int = 64
    variant: str = "exact"

    def prepare(self, target: Target) -> tuple[Any, ...]:
        """Validated kernel arguments. Raises SpecError naming the setting."""
        w = per_coordinate("w", self.w, target.dim)
        if not np.all(w > 0):
            raise SpecError("w", "every entry must be above 0")
        if self.interval not in INTERVALS:
            raise SpecError("interval", f"{self.interval!r} is not one of {', '.join(INTERVALS)}")
        if not 1 <= int(self.limit) <= MAX_LIMIT or int(self.limit) != self.limit:
            raise SpecError("limit", f"{self.limit} is not a whole number from 1 to {MAX_LIMIT:,}")
        if self.variant not in VARIANTS:
            raise SpecError("variant", f"{self.variant!r} is not one of {', '.join(VARIANTS)}")
        return w, INTERVALS.index(self.interval), int(self.limit), VARIANTS.index(self.variant)

    def transitions(self, chains: int, n: int, dim: int) -> SliceSamplingTransitions:
        """Empty arrays for the inside of n transitions of each chain."""
        shape = (chains, n, dim * RECORDED)
        return SliceSamplingTransitions(
            events=np.zeros((chains, n), np.int32),
            kind=np.full(shape, -1, np.int8),
            coordinate=np.empty(shape, np.int8),
            low=np.empty((*shape, dim)),
            high=np.empty((*shape, dim)),
            point=np.empty((*shape, dim)),
            log_density=np.empty((*shape, 3)),
            uniform=np.full((chains, n, dim), np.nan),
            log_level=np.full((chains, n, dim), np.nan),
            offset=np.full((chains, n, dim), np.nan),
            split=np.full((chains, n, dim), np.nan),
        )

    def advance(
        self, target: Target, settings: tuple[Any, ...], chain: Chain, n: int, trace: Trace, inside: SliceSamplingTransitions
    ) -> None:
        """Run n transitions, writing rows 0..n-1 of `trace` and, when it has any, of `inside`."""
        slice_sampling_chunk(*chain.arguments(target), *settings, n, trace, inside)


@kernel
def _log_density_along(density, gradient, point, j, value):
    """Log density at `point` with coordinate j at `value`; the point itself stays."""
    kept = point[j]
    point[j] = value
    log_density = evaluate(density, point, gradient)
    point[j] = kept
    return log_density


@kernel
def _would_come_back(density, gradient, position, j, value, left, right, w, level):
    """The test of figure 6 for a point at `value`: halve the interval that doubling found until one of width w is left.
    No half that holds the point but not x0 may have both ends outside the slice: doubling from there would have stopped
    at it. Returns the answer and the evaluations spent.
    """
    differ, spent = False, 0
    while right - left > 1.1 * w:
        middle = 0.5 * (left + right)
        differ = differ or (position[j] < middle) != (value < middle)
        if value < middle:
            right = middle
        else:
            left = middle
        if differ:
            spent += 2
            log_left = _log_density_along(density, gradient, position, j, left)
            log_right = _log_density_along(density, gradient, position, j, right)
            if not (log_left > level or log_right > level):
                return False, spent
    return True, spent


@kernel
def _note(inside, i, k, kind, j, low, high, point, log_low, log_high, log_point):
    """Write an event of transition i to place k, where there is room: beginnings and ends of updates always have it.
    Returns the next place.
    """
    inside.events[i] += 1
    if GROWN <= kind <= REFUSED and k >= inside.kind.shape[1] - 4 * low.size:
        return k
    inside.kind[i, k], inside.coordinate[i, k] = kind, j
    inside.low[i, k], inside.high[i, k] = low, high
    inside.point[i, k] = np.nan
    if kind > GROWN:
        inside.point[i, k] = point
    inside.log_density[i, k, 0], inside.log_density[i, k, 1] = log_low, log_high
    inside.log_density[i, k, 2] = log_point
    return k + 1


@kernel
def slice_sampling_chunk(density, rng, state, w, interval, limit, variant, n, trace, inside):
    """Advance one chain by n transitions. `running[0]` is the log density at `position`.

    Random numbers per update: the level; a place for each coordinate of the interval; stepping out: the split of the
    limit; doubling: a coin each time; for each point tried one a coordinate.
    """
    position, gradient, running = state
    dim = position.size
    low, high, point = np.empty(dim), np.empty(dim), np.empty(dim)
    detailed = inside.kind.size > 0
    updates = 1 if interval == HYPERRECTANGLE else dim
    for i in range(n):
        spent, place, moved = 0, 0, False
        for j in range(updates):
            first, last = (0, dim) if interval == HYPERRECTANGLE else (j, j + 1)
            for d in range(dim):
                low[d] = high[d] = point[d] = position[d]
            uniform = 1.0 - rng.random()
            level = running[0] + math.log(uniform)
            log_low = log_high = np.nan
            if detailed:
                inside.uniform[i, j], inside.log_level[i, j] = uniform, level
                place = _note(inside, i, place, LEVEL, j, low, high, point, np.nan, np.nan, np.nan)

            for d in range(first, last):
                offset = rng.random()
                low[d] = position[d] - (0.0 if variant == FIXED_SIDE else offset * w[d])
                high[d] = low[d] + w[d]
                if detailed:
                    inside.offset[i, d] = offset
            if interval != HYPERRECTANGLE:
                log_low = _log_density_along(density, gradient, position, j, low[j])
                log_high = _log_density_along(density, gradient, position, j, high[j])
                spent += 2
            if detailed:
                place = _note(inside, i, place, PLACED, j, low, high, point, log_low, log_high, np.nan)

            if interval == STEPPING_OUT:
                split = rng.random()
                down = int(limit * split)
                up = limit - 1 - down
                if detailed:
                    inside.split[i, j] = split
                while down > 0 and log_low > level:
                    low[j] -= w[j]
                    log_low = _log_density_along(density, gradient, position, j, low[j])
                    spent, down = spent + 1, down - 1
                    if detailed:
                        place = _note(inside, i, place, GROWN, j, low, high, point, log_low, log_high, np.nan)
                while up > 0 and log_high > level:
                    high[j] += w[j]
                    log_high = _log_density_along(density, gradient, position, j, high[j])
                    spent, up = spent + 1, up - 1
                    if detailed:
                        place = _note(inside, i, place, GROWN, j, low, high, point, log_low, log_high, np.nan)
            elif interval == DOUBLING:
                widths = 2
                while widths <= limit and (log_low > level or log_high > level):
                    if rng.random() < 0.5:
                        low[j] -= high[j] - low[j]
                        log_low = _log_density_along(density, gradient, position, j, low[j])
                    else:
                        high[j] += high[j] - low[j]
                        log_high = _log_density_along(density, gradient, position, j, high[j])
                    spent, widths = spent + 1, 2 * widths
                    if detailed:
                        place = _note(inside, i, place, GROWN, j, low, high, point, log_low, log_high, np.nan)

            left, right = low[j], high[j]
            for _ in range(MAX_POINTS):
                for d in range(first, last):
                    point[d] = low[d] + rng.random() * (high[d] - low[d])
                log_point = evaluate(density, point, gradient)
                spent += 1
                kind = TAKEN if log_point > level else OUTSIDE
                if kind == TAKEN and interval == DOUBLING and variant != NO_TEST:
                    passed, tested = _would_come_back(density, gradient, position, j, point[j], left, right, w[j], level)
                    kind, spent = TAKEN if passed else REFUSED, spent + tested
                if kind != TAKEN:
                    for d in range(first, last):
                        below = point[d] < position[d]
                        if below and variant != WRONG_END:
                            low[d] = point[d]
                        elif below:
                            high[d] = position[d]
                        elif variant != WRONG_END:
                            high[d] = point[d]
                        else:
                            low[d] = position[d]
                if detailed:
                    place = _note(inside, i, place, kind, j, low, high, point, np.nan, np.nan, log_point)
                if kind == TAKEN:
                    running[0] = log_point
                    for d in range(first, last):
                        moved = moved or position[d] != point[d]
                        position[d] = point[d]
                    break
            else:
                if detailed:
                    place = _note(inside, i, place, GIVEN_UP, j, low, high, position, np.nan, np.nan, running[0])
        for d in range(dim):
            trace.draws[i, d] = position[d]
        trace.log_density[i] = running[0]
        trace.accept_prob[i] = 1.0
        trace.accepted[i] = moved
        trace.divergent[i] = False
        trace.gradient_evaluations[i] = spent
