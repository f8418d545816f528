"""The truth of any two-dimensional target by quadrature.

1. *Search.* On grids that are dense near a centre and reach far out (x = centre + scale * sinh(u)), centre and scale
   follow the weighted median and the interquartile range until they stay put. A density that does not fall off makes
   the scale grow without bound, or keeps mass at the border: it does not integrate, and the direction is reported.
   Local maxima of the first grid are climbed, so that panels can meet at narrow modes. (A spike narrower than the grid
   that leaves no trace on it stays unseen, as for any quadrature.)
2. *Integration.* Nested adaptive Gauss-Kronrod (7, 15) in u: rows along one coordinate inside columns along the other,
   so that jumps at the border of a constraint, kinks and thin ridges are found by bisection.
3. *Error.* Everything is computed twice, once with rows along x and once along y, from different initial panels. The
   difference is the error.
4. *Draws.* Cells of a grid that is dense where the mass is are drawn by their bounds, and points in them are kept by
   the density itself: exact but for what exceeds the bounds or slips between the nodes, which is measured.

Each step pays from one allowance of evaluations, the same on every machine, and looks at its job's ticket.

Source of the rule: Kronrod 1965; Piessens et al. 1983 (QUADPACK).
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine import ticket
from engine.kernels import kernel, log_density_at
from engine.targets.densities import Density
from engine.targets.target import Draw, Target, TargetError, Truth

Array = NDArray[np.float64]
View = tuple[tuple[float, float], tuple[float, float]]

WANTED = 1e-6  # largest relative error of a truth; Truth.source promises it
EVALUATIONS = 20_000_000  # for the whole truth, less than a second of a simple density
BUDGET = 6_000_000  # for one integral
BLOCK = 20_000  # evaluations between looks at the ticket
ROW_BUDGET = 6_000  # evaluations for one row of it
LARGEST_SCALE = 1e12  # a density spread wider than this counts as not integrable
SMALLEST_SCALE = 1e-13  # and so does one that is more concentrated than numbers can tell
CLIMBS = 16  # local maxima to climb from
MOST_MAXIMA = 1_000  # that are ranked for it
REACH = 80.0  # the search goes to scale * sinh(REACH), about 1e34 scales
HEAVY = 300.0  # E t^8 / (E t^4)^2 above which tails are heavy: 12 of a Gaussian, 70 of a Laplace, 136 of a Student t9

# Gauss-Kronrod on [-1, 1]: the nodes above 0 and their weights; a Gauss weight of 0 marks a node that only Kronrod
# uses.
_HALF_NODES = [
    0.991455371120812639206854697526329,
    0.949107912342758524526189684047851,
    0.864864423359769072789712788640926,
    0.741531185599394439863864773280788,
    0.586087235467691130294144838258730,
    0.405845151377397166906606412076961,
    0.207784955007898467600689403773245,
]
_HALF_KRONROD = [
    0.022935322010529224963732008058970,
    0.063092092629978553290700663189204,
    0.104790010322250183839876322541518,
    0.140653259715525918745189590510238,
    0.169004726639267902826583426598550,
    0.190350578064785409913256402421014,
    0.204432940075298892414161999234649,
]
_HALF_GAUSS = [
    0.0,
    0.129484966168869693270611432679082,
    0.0,
    0.279705391489276667901467771423780,
    0.0,
    0.381830050505118944950369775488975,
    0.0,
]
NODES = np.array([-x for x in _HALF_NODES] + [0.0] + _HALF_NODES[::-1])
KRONROD = np.array([*_HALF_KRONROD, 0.209482141084727828012999174891714, *_HALF_KRONROD[::-1]])
GAUSS = np.array([*_HALF_GAUSS, 0.417959183673469387755102040816327, *_HALF_GAUSS[::-1]])

ROW_TOLERANCE, TOLERANCE = (1e-10, 1e-8)  # of the Gauss rule; the Kronrod rule that is kept is better by orders of magnitude
ROW_MARGIN = 30.0  # how far above it the log density may rise before the row's scale is changed
TRAIL = 16  # rows remembered, to guess where the next one has its mass
SCAN, RIDGES = 4, 8  # points per first panel of a row where thin ridges are looked for, and how many are followed
DEEPEST = 48  # bisections of one panel
ROWS_AT_ONCE = 64  # between looks at the ticket


@dataclass(frozen=True, eq=False)
class Quadrature:
    """What the quadrature found.

    target : the target it looked at
    truth : moments and marginals with a relative error below 1e-6, or None
    reason : why there is no truth, as a sentence for people; empty if there is one
    integrates : False when the density does not fall off: it is not a probability density and sampling it means
        nothing; or when the allowance was spent before that could be told
    error : estimated relative error of the integral and of the moments
    view : where the mass is
    """

    target: Target
    truth: Truth | None
    reason: str
    integrates: bool
    error: float
    view: View

    def attach(self) -> Target:
        """The target with truth and view. Raises TargetError when it does not integrate."""
        if not self.integrates:
            raise TargetError(self.reason)
        return dataclasses.replace(self.target, truth=self.truth, view=self.view)


@dataclass(frozen=True)
class _Frame:
    """The region that holds the mass, in u: coordinate j is centre[j] + scale[j] * sinh(u).

    low, high : (2,), its borders in u
    modes : (n, 2), points in u where panels must meet, so that no narrow mode slips between nodes
    order : highest moment that the tails allow, 0 to 2
    heavy : whether averages of squares hang on a few extreme draws
    """

    centre: Array
    scale: Array
    low: Array
    high: Array
    modes: Array
    top: float
    order: int
    heavy: bool

    def edges(self, axis: int, panels: int) -> Array:
        """Borders of the first panels along `axis`."""
        even = np.linspace(self.low[axis], self.high[axis], panels + 1)
        extra = self.modes[:, axis]
        return np.union1d(even, extra[(extra > even[0]) & (extra < even[-1])])


class _Improper(Exception):
    """The density does not integrate."""


class _TooSlow(Exception):
    """The allowance is spent."""


class _Allowance:
    """The evaluations that a truth may still cost."""

    def __init__(self, evaluations: int):
        self.total, self.spent = evaluations, 0

    def spend(self, evaluations: int) -> None:
        """Raises _TooSlow when there are no more, InterruptedError when nobody waits any more."""
        self.spent += int(evaluations)
        ticket.report(min(self.spent, self.total), self.total)
        if self.spent > self.total:
            raise _TooSlow


def quadrature_truth(target: Target, view: View | None = None, *, evaluations: int = EVALUATIONS) -> Quadrature:
    """Normaliser, mean, covariance, marginals and draws of a target in two dimensions, and a view that shows its mass.

    view : where to begin to look, default around 0; evaluations : of the target, at most. Moments that the tails do not
        allow are NaN.

    Raises TargetError when the target has not two coordinates, and InterruptedError when its job's ticket is set.
    """
    if target.dim != 2:
        raise TargetError(f"quadrature works in 2 dimensions, {target.name} has {target.dim}")
    allowance = _Allowance(evaluations)
    try:
        frame = _search(target, view, allowance)
    except _Improper as refusal:
        return Quadrature(target, None, str(refusal), False, math.inf, target.view)
    except _TooSlow:
        reason = "whether this is a probability density takes too long to find out: it needs fewer operations"
        return Quadrature(target, None, reason, False, math.inf, target.view)
    try:
        first, unresolved = _integrate(target, frame, allowance, axis=0, panels=16)
        second, also_unresolved = _integrate(target, frame, allowance, axis=1, panels=25)
    except _TooSlow:
        reason = "the exact answer is not known: integrating this density takes too long"
        return Quadrature(target, None, reason, True, math.inf, _rough_view(frame))
    spread = first[3:5] + 1.0
    scale = np.array([1.0, *np.sqrt(spread), *spread, math.sqrt(spread[0] * spread[1])])
    difference = (np.abs(first - second) / scale)[: (1, 3, 6)[frame.order]]
    error = float(np.max(difference)) + max(unresolved, also_unresolved)
    shown = _view(target, frame, allowance)
    if not error < WANTED:  # also when it is NaN
        rough = f"the density is too rough for the quadrature (relative error about {error:.0e})"
        reason = f"the exact answer is not known: {rough}"
        return Quadrature(target, None, reason, True, error, shown)
    log_z, mean, covariance = _moments(frame, first)
    truth = Truth(
        mean,
        covariance,
        (_marginal(target, frame, 0, log_z), _marginal(target, frame, 1, log_z)),
        "quadrature",
        log_z,
        draw=_draws(target, frame, float(first[0]), _Allowance(max(evaluations // 4, 1))),
        heavy_tails=frame.heavy,
    )
    return Quadrature(target, truth, "", True, error, shown)


def _search(target: Target, view: View | None, allowance: _Allowance) -> _Frame:
    """Where the mass is. Raises _Improper and _TooSlow."""
    centre, scale = np.zeros(2), np.ones(2)
    if view is not None:
        centre = np.array([0.5 * (low + high) for low, high in view])
        scale = np.array([(high - low) / 6.0 for low, high in view])
    u = np.linspace(-12.0, 12.0, 321)
    modes: Array | None = None
    for attempt in range(60):
        log_density = _grid(target, centre, scale, u, allowance)
        if not np.isfinite(log_density).any():
            if attempt >= 12:
                raise _Improper("the density is 0, or has no value, at every point tried")
            # nothing met yet: other scales, and nodes that are no round numbers
            scale = np.full(2, 10.0 ** ((attempt + 1) // 2 * (-1) ** attempt) * 1.0437)
            continue
        if modes is None:
            modes = _climb(target, centre, scale, u, log_density, allowance)
        weights = _weights(log_density, u, 0)
        settled = True
        for j in (0, 1):
            quarter, middle, rest = np.interp([0.25, 0.5, 0.75], *_cumulative(weights, j, u))
            step = scale[j] * math.cosh(middle) * (u[1] - u[0])
            new_centre = centre[j] + scale[j] * math.sinh(middle)
            new_scale = max(scale[j] * (math.sinh(rest) - math.sinh(quarter)) / 1.35, 0.7 * step)
            if abs(new_centre) < 1e-9 * new_scale:
                new_centre = 0.0  # symmetric, but for rounding: keep the axis on the grid, a ridge may run along it
            settled &= abs(new_centre - centre[j]) < 0.5 * new_scale and 0.6 < new_scale / scale[j] < 1.6
            centre[j], scale[j] = new_centre, new_scale
            if new_scale > LARGEST_SCALE or abs(new_centre) > LARGEST_SCALE:
                raise _Improper(_does_not_fall(target, j, np.sign(new_centre) if abs(new_centre) > 0.5 * new_scale else 0))
            if new_scale < SMALLEST_SCALE * max(abs(new_centre), 1.0):
                place = f"{target.labels[j]} = {round(new_centre, 9) + 0.0:g}"
                raise _Improper(f"this is no probability density: it grows too fast near {place} to integrate")
        if settled:
            break
    return _extent(target, centre, scale, np.empty((0, 2)) if modes is None else modes, allowance)


def _climb(target: Target, centre: Array, scale: Array, u: Array, log_density: Array, allowance: _Allowance) -> Array:
    """The points (n, 2) that a pattern search reaches from the highest local maxima of the grid, those that matter."""
    padded = np.pad(np.where(np.isfinite(log_density), log_density, -np.inf), 1, constant_values=-np.inf)
    n = len(u)
    around = np.max([padded[i : i + n, j : j + n] for i in range(3) for j in range(3) if (i, j) != (1, 1)], axis=0)
    rows, columns = np.nonzero(np.isfinite(log_density) & (log_density > around))
    if len(rows) > MOST_MAXIMA:
        highest_first = np.argsort(log_density[rows, columns])[::-1][:MOST_MAXIMA]
        rows, columns = rows[highest_first], columns[highest_first]
    allowance.spend(len(rows))
    steps = np.abs(np.cosh(u)) * (u[1] - u[0])
    # a narrow mode may lie half a cell away, far above the node: rank by a quadratic guess of its height
    optimistic = []
    for i, j in zip(rows.tolist(), columns.tolist(), strict=True):
        if len(rows) <= CLIMBS:
            optimistic.append(0.0)
            continue
        point = centre + scale * np.sinh([u[i], u[j]])
        gradient = target.log_density_and_gradient(point)[1]
        optimistic.append(log_density[i, j] + 0.25 * float(np.abs(gradient) @ (scale * [steps[i], steps[j]])))
    directions = np.array([(a, b) for a in (-1.0, 0.0, 1.0) for b in (-1.0, 0.0, 1.0) if (a, b) != (0.0, 0.0)])
    found: list[tuple[float, Array]] = []
    for index in np.argsort(optimistic)[::-1][:CLIMBS]:
        i, j = int(rows[index]), int(columns[index])
        point, height = centre + scale * np.sinh([u[i], u[j]]), float(log_density[i, j])
        step = 0.5 * scale * [steps[i], steps[j]]
        for _ in range(120):
            heights = target.log_density_many(point + directions * step)
            allowance.spend(len(directions))
            best = int(np.argmax(np.where(np.isfinite(heights), heights, -np.inf)))
            if heights[best] > height:
                point, height = point + directions[best] * step, float(heights[best])
            else:
                step = 0.5 * step
                if np.all(step <= 1e-9 * (np.abs(point) + scale)):
                    break
        found.append((height, point))
    highest = max((height for height, _ in found), default=0.0)
    return np.array([point for height, point in found if height > highest - 40.0]).reshape(-1, 2)


def _extent(target: Target, centre: Array, scale: Array, modes: Array, allowance: _Allowance) -> _Frame:
    """The box, in u, outside which less than 1e-12 of the mass and of the highest existing moment lies. Raises
    _Improper.
    """
    half = np.linspace(0.0, 1.0, 161)[1:]
    half = 2.0 * half + (REACH - 2.0) * half**3  # dense in the middle, coarse far out
    u = np.concatenate([-half[::-1], [0.0], half])
    log_density = _grid(target, centre, scale, u, allowance)
    if not np.isfinite(log_density).any():
        raise _Improper("the density is 0, or has no value, at every point tried")
    places = np.arcsinh((modes - centre) / scale)
    top = float(log_density[np.isfinite(log_density)].max())
    for order in (2, 1, 0):
        weights = _weights(log_density, u, order)
        low, high = np.empty(2), np.empty(2)
        for j in (0, 1):
            cumulative, edges = _cumulative(weights, j, u)
            below, above = cumulative[2] > 1e-9, 1.0 - cumulative[-3] > 1e-9
            if below or above:
                if order > 0:
                    break
                raise _Improper(_does_not_fall(target, j, int(above) - int(below)))
            first = int(np.searchsorted(cumulative, 1e-13))
            last = int(np.searchsorted(cumulative, 1.0 - 1e-13))
            low[j] = min(edges[max(first - 3, 0)], -1.0, *(places[:, j] - 1.0))
            high[j] = max(edges[min(last + 3, len(u) - 1)], 1.0, *(places[:, j] + 1.0))
        else:
            heavy = order < 2 or _hangs_on_few(_weights(log_density, u, 0), u)
            return _Frame(centre, scale, low, high, places, top, order, heavy)
    raise AssertionError("unreachable")


def _hangs_on_few(weights: Array, u: Array) -> bool:
    """Whether few draws make up the averages of squares: the error bar of their average is a fourth moment, and the
    eighth says how well that is known."""
    t = np.sinh(u)
    for axis in (0, 1):
        share = weights.sum(axis=1 - axis)
        if not float(share @ t**8) <= HEAVY * float(share @ t**4) ** 2:
            return True
    return False


def _does_not_fall(target: Target, axis: int, sign: float) -> str:
    where = f"{target.labels[axis]} → {'+' if sign > 0 else '−' if sign < 0 else '±'}∞"
    return f"this is no probability density: it does not fall off fast enough towards {where} to integrate"


def _grid(target: Target, centre: Array, scale: Array, u: Array, allowance: _Allowance) -> Array:
    """Log density (nx, ny) at centre + scale * sinh(u)."""
    t = np.sinh(u)
    return _grid_at(target, centre[0] + scale[0] * t, centre[1] + scale[1] * t, allowance)


def _grid_at(target: Target, x: Array, y: Array, allowance: _Allowance) -> Array:
    """Log density (nx, ny), block by block."""
    log_density = np.empty((len(x), len(y)))
    rows = max(1, BLOCK // len(y))
    for begin in range(0, len(x), rows):
        block = slice(begin, begin + rows)
        allowance.spend(len(x[block]) * len(y))
        log_density[block] = target.density_grid(x[block], y).T
    return log_density


def _weights(log_density: Array, u: Array, order: int) -> Array:
    """Share (nx, ny) of each grid cell in the mass weighted by distance**order."""
    log_cell = np.log(np.cosh(u)) + np.log(np.gradient(u))
    log_weight = np.where(np.isfinite(log_density), log_density, -np.inf) + log_cell[:, None] + log_cell
    if order:
        t = np.sinh(u)
        log_weight += 0.5 * order * np.log1p(t[:, None] ** 2 + t**2)
    weights = np.exp(log_weight - log_weight.max())
    return np.asarray(weights / weights.sum())


def _cumulative(weights: Array, axis: int, u: Array) -> tuple[Array, Array]:
    """(share of the mass up to there, right edge in u) of each cell along `axis`"""
    edges = np.append(0.5 * (u[1:] + u[:-1]), u[-1])
    return np.cumsum(weights.sum(axis=1 - axis)), edges


def _integrate(target: Target, frame: _Frame, allowance: _Allowance, *, axis: int, panels: int) -> tuple[Array, float]:
    """(log integral, mean x, mean y, var x, var y, covariance) in the frame's units, columns along `axis`; and the
    share not resolved. Raises _TooSlow.
    """
    total, unresolved = _plane(target, frame, axis, frame.edges(axis, panels), frame.edges(1 - axis, panels), allowance)
    mass = float(total[0])
    if not (0.0 < mass < math.inf):
        return np.full(6, math.nan), math.inf
    across, across_square, along, along_square, product = total[1:] / mass
    mean = np.array([along, across])
    variance = np.array([along_square, across_square]) - mean**2
    if axis == 1:
        mean, variance = mean[::-1], variance[::-1]
    return np.array([math.log(mass), *mean, *variance, product - along * across]), unresolved


def _moments(frame: _Frame, values: Array) -> tuple[float, Array, Array]:
    log_z = float(values[0] + frame.top + np.log(frame.scale).sum())
    mean = frame.centre + frame.scale * values[1:3] if frame.order >= 1 else np.full(2, math.nan)
    covariance = np.full((2, 2), math.nan)
    if frame.order == 2:
        covariance = np.array([[values[3], values[5]], [values[5], values[4]]]) * np.outer(frame.scale, frame.scale)
    return log_z, mean, covariance


def _marginal(target: Target, frame: _Frame, axis: int, log_z: float) -> Density:
    factor = math.exp(frame.top + math.log(frame.scale[1 - axis]) - log_z)

    def density(x: Array) -> Array:
        at = np.asarray(x, dtype=np.float64)
        return np.asarray(factor * _rows_at(target, frame, axis, at.ravel())).reshape(at.shape)

    return density


def _rows_at(target: Target, frame: _Frame, axis: int, at: Array, allowance: _Allowance | None = None) -> Array:
    """Integral over the other coordinate at each of `at` (n,), in the frame's units."""
    at, out = np.ascontiguousarray(at), np.empty(at.size)
    edges = frame.edges(1 - axis, 24)
    field, work = _field(target, frame), _work(edges)
    for begin in range(0, at.size, ROWS_AT_ONCE):
        ticket.look()
        block = slice(begin, begin + ROWS_AT_ONCE)
        spent = _rows(field, frame.top, axis, edges, work, at[block], out[block])
        if allowance is not None:
            allowance.spend(spent)
    return out


def _field(target: Target, frame: _Frame) -> tuple:
    """The target, where it is evaluated, the frame: what the kernels take first."""
    return (target.address, target.data, *target.buffers(), np.zeros(2), np.zeros(2), frame.centre, frame.scale)


def _view(target: Target, frame: _Frame, allowance: _Allowance) -> View:
    """The middle 96 percent of each marginal, widened to 3.5 sd of a Gaussian, but not beyond the support."""
    sides = []
    for j in (0, 1):
        u = np.linspace(frame.low[j], frame.high[j], 201)
        x = frame.centre[j] + frame.scale[j] * np.sinh(u)
        try:
            mass = _rows_at(target, frame, j, x, allowance) * np.cosh(u)
        except _TooSlow:
            return _rough_view(frame)
        mass = np.where(np.isfinite(mass), mass, 0.0)
        if not mass.sum() > 0.0:
            return target.view
        low, high = np.interp([0.02, 0.98], (np.cumsum(mass) - 0.5 * mass) / mass.sum(), x)
        inside = x[mass > 0.0]
        middle, half = 0.5 * (low + high), 1.7 * 0.5 * (high - low)
        margin = 0.05 * (min(middle + half, inside[-1]) - max(middle - half, inside[0]))
        sides.append((float(max(middle - half, inside[0] - margin)), float(min(middle + half, inside[-1] + margin))))
    return sides[0], sides[1]


def _rough_view(frame: _Frame) -> View:
    """What the search knows: its scale is the spread of the middle half."""
    low, high = frame.centre - 3.5 * frame.scale, frame.centre + 3.5 * frame.scale
    return (float(low[0]), float(high[0])), (float(low[1]), float(high[1]))


# Draws. Cells are halved both ways until each one's bound lies close above the density in it. A bound is the highest of
# nine points that reach beyond the cell, and of the modes in it or beside it. What it cuts off all the same shows in a
# trial.

COARSEST = (192, 96)  # cells along each axis to begin with: the first that half of the allowance pays for
CLOSE = 2e-5  # share of the whole that a bound may lie above the density, summed over its cell
MOST_CELLS = 60_000
MARGIN = 1.05
TRIAL = 20_000  # points
LOST = 1e-3  # largest share of the mass that may lie above the bounds
_REACHES = np.array([(a, b) for a in (-0.25, 0.5, 1.25) for b in (-0.25, 0.5, 1.25)])  # in a cell's width


def _draws(target: Target, frame: _Frame, log_mass: float, allowance: _Allowance) -> Draw | None:
    """Independent draws; None where cells do not hold the density well enough, or the allowance is spent.

    log_mass : of the integral in u, relative to the frame's top
    """
    affordable = [cells for cells in COARSEST if 2 * len(_REACHES) * cells**2 <= allowance.total]
    if not affordable:
        return None
    sides = (frame.high - frame.low) / affordable[0]
    steps = [low + side * np.arange(affordable[0]) for low, side in zip(frame.low, sides, strict=True)]
    waiting, kept = np.stack(np.meshgrid(*steps)).reshape(2, -1).T, []
    mass, whole = math.exp(log_mass), 0
    heights = _in_u(target, frame, frame.modes)
    try:
        while len(waiting):
            allowance.spend(len(_REACHES) * len(waiting))
            around = (waiting[:, None] + sides * _REACHES).reshape(-1, 2)
            values = _in_u(target, frame, around).reshape(-1, len(_REACHES))
            bound = values.max(axis=1)
            for mode, height in zip(frame.modes, heights, strict=True):
                inside = np.all((mode >= waiting - sides) & (mode <= waiting + 2.0 * sides), axis=1)
                bound = np.where(inside, np.maximum(bound, height), bound)
            size = float(sides.prod())
            split = (bound - values.mean(axis=1)) * size > CLOSE * mass
            if whole + 4 * int(split.sum()) > MOST_CELLS:
                split[:] = False
            done = ~split & (bound > 0.0)
            whole += int(done.sum())
            kept.append((waiting[done], np.broadcast_to(sides, (int(done.sum()), 2)), MARGIN * bound[done]))
            sides = 0.5 * sides
            waiting = (waiting[split][:, None] + sides * np.array([(0, 0), (0, 1), (1, 0), (1, 1)])).reshape(-1, 2)
        allowance.spend(TRIAL)
    except _TooSlow:
        return None
    corner, widths, bounds = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    under = np.cumsum(bounds * widths.prod(axis=1))
    if not 0.0 < under[-1] < math.inf:
        return None
    cells = _Cells(target, frame, corner, widths, bounds, under)
    ratio = cells.propose(np.random.Generator(np.random.SFC64(0)), TRIAL)[1]
    share, error = float(ratio.mean()), float(ratio.std()) / math.sqrt(TRIAL)
    above = float(np.maximum(ratio - 1.0, 0.0).mean())
    missed = abs(share * float(under[-1]) / mass - 1.0)
    good = share > 0.2 and above < LOST * share and missed < LOST + 4.0 * error / share
    return cells if good else None


def _in_u(target: Target, frame: _Frame, at: Array) -> Array:
    """Density (n,) in u at the points (n, 2), relative to the frame's top; with a look before each `BLOCK` of them."""
    if len(at) > BLOCK:
        return np.concatenate([_in_u(target, frame, at[k : k + BLOCK]) for k in ticket.looking(range(0, len(at), BLOCK))])
    log_density = target.log_density_many(frame.centre + frame.scale * np.sinh(at))
    with np.errstate(over="ignore"):
        density = np.where(log_density < math.inf, np.exp(log_density - frame.top), 0.0)
    return np.asarray(density * np.cosh(at).prod(axis=1))


@dataclass(frozen=True, eq=False)
class _Cells:
    """Draws by rejection from bounds that are constant on cells.

    corner, widths : (cells, 2), in u; bounds : (cells,); under : their integral up to the end of each cell
    """

    target: Target
    frame: _Frame
    corner: Array
    widths: Array
    bounds: Array
    under: Array

    def propose(self, rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        """Points (n, 2) in u, and the density there in units of the bound."""
        cell = np.searchsorted(self.under, rng.random(n) * self.under[-1], side="right")
        cell = np.minimum(cell, len(self.under) - 1)
        at = self.corner[cell] + self.widths[cell] * rng.random((n, 2))
        return at, _in_u(self.target, self.frame, at) / self.bounds[cell]

    def __call__(self, rng: np.random.Generator, n: int) -> Array:
        """n draws (n, 2)."""
        found, missing = [np.empty((0, 2))], n
        while missing > 0:
            ticket.look()
            at, ratio = self.propose(rng, 2 * missing + 16)
            found.append(at[rng.random(len(at)) < ratio][:missing])
            missing -= len(found[-1])
        return self.frame.centre + self.frame.scale * np.sinh(np.concatenate(found))


# A panel of a row or of columns leaves behind its integrals, then (mass, size of the moments, error of the mass, error
# of the moments). An error is the difference of the Gauss and the Kronrod rule. Mass and moments are judged apart: a
# heavy tail must not excuse an error in the middle. A panel's two ends are looked at too: the border of the support may
# lie between an end and the first node, where both rules miss it.
# `field` is (address, data, ints, scratch, q, gradient, centre, scale): the target, where it is evaluated, the frame.


@kernel
def _row_panel(field, other, order, start, length, shift, sums):
    """One panel of a row: sums = (integrals of exp(log density - shift) t**k dt for k = 0, 1, 2; two sizes; two
    errors).

    Returns the largest log density met. NaN and +inf count as density 0: no chain can visit such a point.
    """
    address, data, ints, scratch, q, grad, centre, scale = field
    k0, k1, k2, g0, g1, g2, distance, highest = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -np.inf
    border, border_moment = 0.0, 0.0
    end, end_moment, last, last_moment = 0.0, 0.0, 0.0, 0.0
    for i in range(17):
        fraction = 0.0 if i == 0 else 1.0 if i == 16 else 0.5 + 0.5 * NODES[i - 1]
        e = math.exp(start + fraction * length)
        t, jacobian = 0.5 * (e - 1.0 / e), 0.5 * (e + 1.0 / e)
        q[other] = centre[other] + scale[other] * t
        value = log_density_at(address, q, grad, data, ints, scratch)
        f = 0.0
        if value < np.inf:
            highest = max(highest, value)
            f = math.exp(value - shift) * jacobian
        f1, f2 = f * t, f * t * t
        if i == 1 or i == 16:
            end, end_moment = f, f2
            if (last > 0.0) != (end > 0.0):
                border += last + end
                border_moment += last_moment + end_moment
        last, last_moment = f, f2
        if 0 < i < 16:
            kronrod, gauss = KRONROD[i - 1], GAUSS[i - 1]
            k0 += kronrod * f
            k1 += kronrod * f1
            k2 += kronrod * f2
            g0 += gauss * f
            g1 += gauss * f1
            g2 += gauss * f2
            distance += kronrod * abs(f1)
    size, error = k0, 0.0
    if order > 0:
        size += distance
        error += abs(k1 - g1)
    if order > 1:
        size += k2
        error += abs(k2 - g2) + border_moment
    half = 0.5 * length
    sums[0], sums[1], sums[2] = half * k0, half * k1, half * k2
    sums[3], sums[4], sums[5], sums[6] = half * k0, half * size, half * (abs(k0 - g0) + border), half * error
    return highest


@kernel
def _sort(values, n):
    """Sort values[:n] by insertion; a call of np.sort takes a second longer to compile."""
    for i in range(1, n):
        value, j = values[i], i
        while j > 0 and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value


@kernel
def _work(edges):
    """Work space of `_row`: scan, panel borders, first panels, open panels, trail of (position, mean) of past rows."""
    most = edges.size + RIDGES * 32
    trail = np.empty((TRAIL + 1, 2))
    for i in range(TRAIL):
        trail[i, 0] = np.nan
    trail[TRAIL, 0] = 0.0  # where to write next
    return np.empty(SCAN * (edges.size - 1) + 2), np.empty(most), np.empty((most, 7)), np.empty((DEEPEST + 2, 2)), trail


@kernel
def _extrapolate(trail, position):
    """Mean of the row at `position` by the line through the two nearest rows of the trail; NaN when there are none."""
    near, next_near = -1, -1
    for i in range(TRAIL):
        distance = abs(trail[i, 0] - position)
        if distance < np.inf:
            if near < 0 or distance < abs(trail[near, 0] - position):
                near, next_near = i, near
            elif trail[i, 0] != trail[near, 0] and (next_near < 0 or distance < abs(trail[next_near, 0] - position)):
                next_near = i
    if near < 0:
        return np.nan
    if next_near < 0:
        return trail[near, 1]
    slope = (trail[next_near, 1] - trail[near, 1]) / (trail[next_near, 0] - trail[near, 0])
    return trail[near, 1] + slope * (position - trail[near, 0])


@kernel
def _row_value(field, other, u):
    address, data, ints, scratch, q, grad, centre, scale = field
    q[other] = centre[other] + scale[other] * math.sinh(u)
    value = log_density_at(address, q, grad, data, ints, scratch)
    return value if value < np.inf else -np.inf


@kernel
def _row_edges(field, other, edges, scan, fine):
    """Borders of the first panels of one row, in fine[:count]: `edges`, and more around every ridge too thin for those.

    A ridge is thin where the log density bends by more than 2 between neighbours of a scan. Its top is climbed until
    the step is as narrow as the ridge. scan : (SCAN * panels + 2,) work space.

    Returns (count, evaluations spent, largest log density met).
    """
    panels = edges.size - 1
    n = SCAN * panels
    scan[0], scan[n + 1] = -np.inf, -np.inf
    for i in range(n):
        at = edges[i // SCAN] + (i % SCAN + 0.5) / SCAN * (edges[i // SCAN + 1] - edges[i // SCAN])
        scan[i + 1] = _row_value(field, other, at)
    spent, count, ridges = n, panels + 1, 0
    highest = -np.inf
    for i in range(n + 2):
        highest = max(highest, scan[i])
    for i in range(count):
        fine[i] = edges[i]
    for i in range(1, n + 1):
        value, before, after = scan[i], scan[i - 1], scan[i + 1]
        if not (value > before and value >= after and 2.0 * value - before - after > 2.0) or ridges == RIDGES:
            continue
        panel = (i - 1) // SCAN
        step = 0.5 * (edges[panel + 1] - edges[panel]) / SCAN
        at = edges[panel] + ((i - 1) % SCAN + 0.5) * 2.0 * step
        for _ in range(200):
            left = _row_value(field, other, at - step)
            right = _row_value(field, other, at + step)
            spent += 2
            if left > value and left >= right:
                at, value = at - step, left
            elif right > value:
                at, value = at + step, right
            elif 2.0 * value - left - right < 1.0 or step < 1e-14 * (1.0 + abs(at)):
                break
            else:
                step *= 0.5
        highest = max(highest, value)
        if value < highest - 60.0:
            continue
        ridges += 1
        fine[count] = at
        count += 1
        distance = 4.0 * step
        while distance < 1.0 and count + 2 <= fine.size:
            fine[count], fine[count + 1] = max(at - distance, edges[0]), min(at + distance, edges[panels])
            count += 2
            distance *= 8.0
    _sort(fine, count)
    return count, spent, highest


@kernel
def _row(field, axis, at, top, order, edges, work, out):
    """Integrate over t = (coordinate - centre) / scale of the coordinate `1 - axis`, where that of `axis` is `at`.

    out[k] = integral of exp(log density - top) t**k dt for k = 0, 1, 2.

    Returns the evaluations spent. Exponentials are taken relative to the largest value met on the row, so that nothing
    underflows.
    """
    scan, fine, first, stack, trail = work
    q, centre, scale = field[4], field[6], field[7]
    q[axis] = centre[axis] + scale[axis] * at
    other = 1 - axis
    count, spent, highest = _row_edges(field, other, edges, scan, fine)
    if not highest > -np.inf:
        # nothing met: the support may be smaller than the scan sees, as in a corner; look where past rows point to
        hint = math.asinh(_extrapolate(trail, at))
        if fine[0] < hint < fine[count - 1]:
            fine[count] = hint
            count += 1
            _sort(fine, count)
    panels = count - 1
    part = first[panels]
    limit = spent + ROW_BUDGET
    higher, shift, mass, moments = -1e300, -np.inf, 0.0, 0.0
    while higher > shift + ROW_MARGIN:  # until the scale is that of the row
        shift, mass, moments = higher, 0.0, 0.0
        for panel in range(panels):
            length = fine[panel + 1] - fine[panel]
            highest = _row_panel(field, other, order, fine[panel], length, shift, first[panel])
            higher = max(higher, highest)
            mass += first[panel, 3]
            moments += first[panel, 4]
        spent += 17 * panels
    for k in range(3):
        out[k] = 0.0
    for panel in range(panels):
        if first[panel, 5] <= ROW_TOLERANCE * mass and first[panel, 6] <= ROW_TOLERANCE * moments:
            for k in range(3):
                out[k] += first[panel, k]
            continue
        stack[0, 0], stack[0, 1] = fine[panel], fine[panel + 1] - fine[panel]
        depth = 1
        while depth > 0:
            start, length = stack[depth - 1, 0], stack[depth - 1, 1]
            half = 0.5 * length
            higher = _row_panel(field, other, order, start, length, shift, part)
            spent += 17
            if higher > shift + ROW_MARGIN:
                # a ridge far above all before: see everything relative to it and look at this panel again
                factor = math.exp(shift - higher)
                shift = higher
                for k in range(3):
                    out[k] *= factor
                for later in range(panel + 1, panels):
                    for k in range(7):
                        first[later, k] *= factor
                mass *= factor
                moments *= factor
                continue
            depth -= 1
            mass, moments = max(mass, part[3]), max(moments, part[4])
            good = part[5] <= ROW_TOLERANCE * mass and part[6] <= ROW_TOLERANCE * moments
            if good or depth + 2 > stack.shape[0] or half < 1e-13 * (1.0 + abs(start)) or spent >= limit:
                for k in range(3):
                    out[k] += part[k]
            else:
                stack[depth, 0], stack[depth, 1] = start + half, half
                stack[depth + 1, 0], stack[depth + 1, 1] = start, half
                depth += 2
    if out[0] > 0.0:
        oldest = int(trail[TRAIL, 0])
        trail[oldest, 0], trail[oldest, 1] = at, out[1] / out[0]
        trail[TRAIL, 0] = (oldest + 1) % TRAIL
    factor = math.exp(shift - top)
    for k in range(3):
        out[k] *= factor
    return spent


@kernel
def _column_panel(field, axis, top, order, edges, work, row, start, length, sums):
    """One panel of columns: sums = (integrals of 1, s, s**2, t, t**2, s*t; two sizes; two errors).

    Returns the evaluations spent.
    """
    spent = 0
    kronrod, gauss, term = np.zeros(6), np.zeros(6), np.zeros(6)
    distance, border, border_moment, last, last_moment = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(17):
        fraction = 0.0 if i == 0 else 1.0 if i == 16 else 0.5 + 0.5 * NODES[i - 1]
        e = math.exp(start + fraction * length)
        t, jacobian = 0.5 * (e - 1.0 / e), 0.5 * (e + 1.0 / e)
        spent += _row(field, axis, t, top, order, edges, work, row)
        end, end_moment = jacobian * row[0], jacobian * (t * t * row[0] + row[2])
        if (i == 1 or i == 16) and (last > 0.0) != (end > 0.0):
            border += last + end
            border_moment += last_moment + end_moment
        last, last_moment = end, end_moment
        if 0 < i < 16:
            term[0], term[1], term[2] = row[0], row[1], row[2]
            term[3], term[4], term[5] = t * row[0], t * t * row[0], t * row[1]
            for k in range(6):
                kronrod[k] += KRONROD[i - 1] * jacobian * term[k]
                gauss[k] += GAUSS[i - 1] * jacobian * term[k]
            distance += KRONROD[i - 1] * jacobian * (abs(t) * row[0] + abs(row[1]))
    size, error = kronrod[0], 0.0
    if order > 0:
        size += distance
        error += abs(kronrod[1] - gauss[1]) + abs(kronrod[3] - gauss[3])
    if order > 1:
        size += kronrod[2] + kronrod[4]
        error += abs(kronrod[2] - gauss[2]) + abs(kronrod[4] - gauss[4]) + abs(kronrod[5] - gauss[5]) + border_moment
    half = 0.5 * length
    for k in range(6):
        sums[k] = half * kronrod[k]
    sums[6], sums[7], sums[8], sums[9] = (half * kronrod[0], half * size, half * (abs(kronrod[0] - gauss[0]) + border), half * error)
    return spent


def _plane(target: Target, frame: _Frame, axis: int, columns: Array, edges: Array, allowance: _Allowance) -> tuple[Array, float]:
    """Integrate over the plane.

    columns, edges : borders of the first panels along `axis` and across

    Returns the integrals of (1, s, s**2, t, t**2, s*t), t along `axis` and s across, and the relative error left over.
    Raises _TooSlow.
    """
    field, work, row = _field(target, frame), _work(edges), np.zeros(3)
    spent = 0

    def integrated(start: float, length: float) -> Array:
        nonlocal spent
        sums = np.empty(10)
        cost = _column_panel(field, axis, frame.top, frame.order, edges, work, row, start, length, sums)
        spent += cost
        allowance.spend(cost)
        return sums

    lengths = np.diff(columns)
    parts = [integrated(start, length) for start, length in zip(columns[:-1], lengths, strict=True)]
    mass, moments = sum(part[6] for part in parts), sum(part[7] for part in parts)

    def good(part: Array) -> bool:
        return bool(part[8] <= TOLERANCE * mass and part[9] <= TOLERANCE * moments)

    total, left = np.zeros(6), 0.0
    for first, start_of_panel, whole in zip(parts, columns[:-1], lengths, strict=True):
        if good(first):
            total += first[:6]
            continue
        waiting = [(start_of_panel, whole)]
        while waiting:
            start, length = waiting.pop()
            half = 0.5 * length
            part = integrated(start, length)
            mass, moments = max(mass, part[6]), max(moments, part[7])
            if good(part) or len(waiting) > DEEPEST or half < 1e-12 * (1.0 + abs(start)) or spent >= BUDGET:
                total += part[:6]
                if not good(part):
                    left += part[8] / mass + part[9] / max(moments, 1e-300)
            else:
                waiting += [(start + half, half), (start, half)]
    return total, left


@kernel
def _rows(field, top, axis, edges, work, at, out):
    """out[i] = integral over the other coordinate at at[i]. Returns the evaluations spent."""
    centre, scale = field[6], field[7]
    row, spent = np.zeros(3), 0
    for i in range(at.size):
        spent += _row(field, axis, (at[i] - centre[axis]) / scale[axis], top, 0, edges, work, row)
        out[i] = row[0]
    return spent
