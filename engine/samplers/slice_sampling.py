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
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.kernels import kernel, part
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


class SliceSamplingSettings(NamedTuple):
    """Settings as the kernel takes them. w : (dim,); interval, variant : index into `INTERVALS`, `VARIANTS`."""

    w: Array
    interval: int
    limit: int
    variant: int


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

    def prepare(self, target: Target) -> SliceSamplingSettings:
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
        return SliceSamplingSettings(w, INTERVALS.index(self.interval), int(self.limit), VARIANTS.index(self.variant))

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
        self, target: Target, settings: SliceSamplingSettings, chain: Chain, n: int, trace: Trace, inside: SliceSamplingTransitions
    ) -> None:
        """Run n transitions, writing rows 0..n-1 of `trace` and, when it has any, of `inside`."""
        slice_sampling_chunk(*chain.arguments(target), settings, n, trace, inside)


class _Update(NamedTuple):
    """What an update works on, in place.

    low, high, point : (dim,), the interval, and the point tried
    logs : (4,), log density at the lower end, the upper end and the point, and the level log y
    counts : (2,), of this transition: evaluations spent, events written
    """

    low: Array
    high: Array
    point: Array
    logs: Array
    counts: NDArray[np.int64]


AT_LOW, AT_HIGH, AT_POINT, AT_LEVEL = range(4)
SPENT, WRITTEN = range(2)


@part
def _coordinates(settings, j, dim):
    """Update j moves coordinates first to last - 1."""
    return (0, dim) if settings.interval == HYPERRECTANGLE else (j, j + 1)


@part
def _log_density_along(density, state, j, value, counts):
    """Log density at the position with coordinate j at `value`; the position itself stays."""
    position, gradient, _ = state
    kept = position[j]
    position[j] = value
    log_density = evaluate(density, position, gradient)
    position[j] = kept
    counts[SPENT] += 1
    return log_density


@part
def _note(inside, i, j, kind, update):
    """Write an event of transition i, where there is room: beginnings and ends of updates always have it."""
    if inside.kind.size == 0:
        return
    k = update.counts[WRITTEN]
    inside.events[i] += 1
    if GROWN <= kind <= REFUSED and k >= inside.kind.shape[1] - 4 * update.low.size:
        return
    ends, tried = PLACED <= kind <= GROWN, kind > GROWN
    inside.kind[i, k], inside.coordinate[i, k] = kind, j
    for d in range(update.low.size):
        inside.low[i, k, d], inside.high[i, k, d] = update.low[d], update.high[d]
        inside.point[i, k, d] = update.point[d] if tried else np.nan
    inside.log_density[i, k, AT_LOW] = update.logs[AT_LOW] if ends else np.nan
    inside.log_density[i, k, AT_HIGH] = update.logs[AT_HIGH] if ends else np.nan
    inside.log_density[i, k, AT_POINT] = update.logs[AT_POINT] if tried else np.nan
    update.counts[WRITTEN] = k + 1


@part
def _draw_level(rng, state, update, inside, i, j):
    """log y = log pi(x0) + log u; the interval is x0 itself as yet."""
    uniform = 1.0 - rng.random()
    for d in range(update.low.size):
        update.low[d] = update.high[d] = update.point[d] = state.position[d]
    update.logs[AT_LEVEL] = state.running[0] + math.log(uniform)
    update.logs[AT_LOW] = update.logs[AT_HIGH] = np.nan
    if inside.kind.size > 0:
        inside.uniform[i, j], inside.log_level[i, j] = uniform, update.logs[AT_LEVEL]
    _note(inside, i, j, LEVEL, update)


@part
def _place(density, rng, state, settings, update, inside, i, j):
    """An interval w wide, x0 at a uniform place in it; for the hyperrectangle one in each coordinate."""
    first, last = _coordinates(settings, j, update.low.size)
    for d in range(first, last):
        offset = rng.random()
        update.low[d] = state.position[d] - (0.0 if settings.variant == FIXED_SIDE else offset * settings.w[d])
        update.high[d] = update.low[d] + settings.w[d]
        if inside.kind.size > 0:
            inside.offset[i, d] = offset
    if settings.interval != HYPERRECTANGLE:
        update.logs[AT_LOW] = _log_density_along(density, state, j, update.low[j], update.counts)
        update.logs[AT_HIGH] = _log_density_along(density, state, j, update.high[j], update.counts)
    _note(inside, i, j, PLACED, update)


@part
def _step_out(density, rng, state, settings, update, inside, i, j):
    """Each end moves on by w while it is inside the slice, in all to at most `limit` widths (figure 3)."""
    low, high, _, logs, counts = update
    split = rng.random()
    down = int(settings.limit * split)
    up = settings.limit - 1 - down
    if inside.kind.size > 0:
        inside.split[i, j] = split
    while down > 0 and logs[AT_LOW] > logs[AT_LEVEL]:
        low[j] -= settings.w[j]
        logs[AT_LOW] = _log_density_along(density, state, j, low[j], counts)
        down -= 1
        _note(inside, i, j, GROWN, update)
    while up > 0 and logs[AT_HIGH] > logs[AT_LEVEL]:
        high[j] += settings.w[j]
        logs[AT_HIGH] = _log_density_along(density, state, j, high[j], counts)
        up -= 1
        _note(inside, i, j, GROWN, update)


@part
def _double(density, rng, state, settings, update, inside, i, j):
    """The interval doubles, to a side by a fair coin, until both ends are outside the slice (figure 4)."""
    low, high, _, logs, counts = update
    widths = 2
    while widths <= settings.limit and (logs[AT_LOW] > logs[AT_LEVEL] or logs[AT_HIGH] > logs[AT_LEVEL]):
        if rng.random() < 0.5:
            low[j] -= high[j] - low[j]
            logs[AT_LOW] = _log_density_along(density, state, j, low[j], counts)
        else:
            high[j] += high[j] - low[j]
            logs[AT_HIGH] = _log_density_along(density, state, j, high[j], counts)
        widths *= 2
        _note(inside, i, j, GROWN, update)


@part
def _would_come_back(density, state, settings, update, j, left, right):
    """The test of figure 6 for the point tried: halve the interval that doubling found until one of width w is left.
    No half that holds the point but not x0 may have both ends outside the slice: doubling from there would have stopped
    at it.
    """
    value, level = update.point[j], update.logs[AT_LEVEL]
    differ = False
    while right - left > 1.1 * settings.w[j]:
        middle = 0.5 * (left + right)
        differ = differ or (state.position[j] < middle) != (value < middle)
        if value < middle:
            right = middle
        else:
            left = middle
        if differ:
            log_left = _log_density_along(density, state, j, left, update.counts)
            log_right = _log_density_along(density, state, j, right, update.counts)
            if not (log_left > level or log_right > level):
                return False
    return True


@part
def _pull_in(state, settings, update, j):
    """The point tried becomes the new end on its side of x0, in each coordinate that moves."""
    first, last = _coordinates(settings, j, update.low.size)
    for d in range(first, last):
        below = update.point[d] < state.position[d]
        if settings.variant == WRONG_END:
            if below:
                update.high[d] = state.position[d]
            else:
                update.low[d] = state.position[d]
        elif below:
            update.low[d] = update.point[d]
        else:
            update.high[d] = update.point[d]


@part
def _shrink(density, rng, state, settings, update, inside, i, j):
    """Points uniform in the interval, which shrinks to each that misses (figure 5), until one is taken. Whether the
    position is another one now.
    """
    first, last = _coordinates(settings, j, update.low.size)
    left, right = update.low[j], update.high[j]
    tested = settings.interval == DOUBLING and settings.variant != NO_TEST
    for _ in range(MAX_POINTS):
        for d in range(first, last):
            update.point[d] = update.low[d] + rng.random() * (update.high[d] - update.low[d])
        log_point = evaluate(density, update.point, state.gradient)
        update.logs[AT_POINT] = log_point
        update.counts[SPENT] += 1
        if log_point > update.logs[AT_LEVEL]:
            if not tested or _would_come_back(density, state, settings, update, j, left, right):
                _note(inside, i, j, TAKEN, update)
                return _move(state, update, first, last)
            _pull_in(state, settings, update, j)
            _note(inside, i, j, REFUSED, update)
        else:
            _pull_in(state, settings, update, j)
            _note(inside, i, j, OUTSIDE, update)
    _give_up(state, update, inside, i, j)
    return False


@part
def _move(state, update, first, last):
    """Go to the point tried. Whether it is another one."""
    moved = False
    for d in range(first, last):
        moved = moved or state.position[d] != update.point[d]
        state.position[d] = update.point[d]
    state.running[0] = update.logs[AT_POINT]
    return moved


@part
def _give_up(state, update, inside, i, j):
    """No point was taken, which no exact update comes to: stay."""
    for d in range(update.point.size):
        update.point[d] = state.position[d]
    update.logs[AT_POINT] = state.running[0]
    _note(inside, i, j, GIVEN_UP, update)


@kernel
def slice_sampling_chunk(density, rng, state, settings, n, trace, inside):
    """Advance one chain by n transitions. `state.running[0]` is the log density at `state.position`.

    Random numbers per update: the level; a place for each coordinate of the interval; stepping out: the split of the
    limit; doubling: a coin each time; for each point tried one a coordinate.
    """
    dim = state.position.size
    update = _Update(np.empty(dim), np.empty(dim), np.empty(dim), np.empty(4), np.empty(2, np.int64))
    updates = 1 if settings.interval == HYPERRECTANGLE else dim
    for i in range(n):
        update.counts[SPENT] = update.counts[WRITTEN] = 0
        moved = False
        for j in range(updates):
            _draw_level(rng, state, update, inside, i, j)
            _place(density, rng, state, settings, update, inside, i, j)
            if settings.interval == STEPPING_OUT:
                _step_out(density, rng, state, settings, update, inside, i, j)
            elif settings.interval == DOUBLING:
                _double(density, rng, state, settings, update, inside, i, j)
            moved = _shrink(density, rng, state, settings, update, inside, i, j) or moved
        for d in range(dim):
            trace.draws[i, d] = state.position[d]
        trace.log_density[i] = state.running[0]
        trace.accept_prob[i], trace.accepted[i], trace.divergent[i] = 1.0, moved, False
        trace.gradient_evaluations[i] = update.counts[SPENT]
