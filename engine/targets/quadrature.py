"""The truth of any two-dimensional target by quadrature.

1. *Search.* On grids that are dense near a centre and reach far out (x = centre + scale * sinh(u)), centre and scale follow the weighted median
   and the interquartile range until they stay put. A density that does not fall off makes the scale grow without bound, or keeps mass
   at the border: it does not integrate, and the direction is reported.
2. *Integration.* Nested adaptive Gauss-Kronrod (7, 15) in u: rows along one coordinate inside columns along the other, so that jumps at the
   border of a constraint, kinks and thin ridges are found by bisection.
3. *Error.* Everything is computed twice, once with rows along x and once along y, from different initial panels. The difference is the error.

Source of the rule: Kronrod 1965; Piessens et al. 1983 (QUADPACK).
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.kernels import kernel, log_density_at
from engine.targets.densities import Density
from engine.targets.target import Target, TargetError, Truth

Array = NDArray[np.float64]
View = tuple[tuple[float, float], tuple[float, float]]

WANTED = 1e-6  # largest relative error of a truth; Truth.source promises it
BUDGET = 20_000_000  # evaluations for one integral, about half a second
LARGEST_SCALE = 1e12  # a density spread wider than this counts as not integrable
REACH = 80.0  # the search goes to scale * sinh(REACH), about 1e34 scales

# Gauss-Kronrod on [-1, 1]: the nodes above 0 and their weights; a Gauss weight of 0 marks a node that only Kronrod uses.
_HALF_NODES = [0.991455371120812639206854697526329, 0.949107912342758524526189684047851, 0.864864423359769072789712788640926, 0.741531185599394439863864773280788,
               0.586087235467691130294144838258730, 0.405845151377397166906606412076961, 0.207784955007898467600689403773245]  # fmt: skip
_HALF_KRONROD = [0.022935322010529224963732008058970, 0.063092092629978553290700663189204, 0.104790010322250183839876322541518, 0.140653259715525918745189590510238,
                 0.169004726639267902826583426598550, 0.190350578064785409913256402421014, 0.204432940075298892414161999234649]  # fmt: skip
_HALF_GAUSS = [0.0, 0.129484966168869693270611432679082, 0.0, 0.279705391489276667901467771423780, 0.0, 0.381830050505118944950369775488975, 0.0]
NODES = np.array([-x for x in _HALF_NODES] + [0.0] + _HALF_NODES[::-1])
KRONROD = np.array([*_HALF_KRONROD, 0.209482141084727828012999174891714, *_HALF_KRONROD[::-1]])
GAUSS = np.array([*_HALF_GAUSS, 0.417959183673469387755102040816327, *_HALF_GAUSS[::-1]])

ROW_TOLERANCE, TOLERANCE = 1e-10, 1e-8  # of the Gauss rule; the Kronrod rule that is kept is better by orders of magnitude
DEEPEST = 48  # bisections of one panel


@dataclass(frozen=True, eq=False)
class Quadrature:
    """What the quadrature found.

    target : the target it looked at
    truth : moments and marginals with a relative error below 1e-6, or None
    reason : why there is no truth, as a sentence for people; empty if there is one
    integrates : False when the density does not fall off: it is not a probability density and sampling it means nothing
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

    order : highest moment that the tails allow, 0 to 2
    """

    centre: Array
    scale: Array
    low: Array
    high: Array
    top: float
    order: int


class _Improper(Exception):
    """The density does not integrate."""


def quadrature_truth(target: Target, view: View | None = None) -> Quadrature:
    """Normaliser, mean, covariance and marginals of a target in two dimensions, and a view that shows its mass.

    view : where to begin to look, default around 0. Moments that the tails do not allow are NaN.

    Raises TargetError when the target has not two coordinates.
    """
    if target.dim != 2:
        raise TargetError(f"quadrature works in 2 dimensions, {target.name} has {target.dim}")
    try:
        frame = _search(target, view)
    except _Improper as error:
        return Quadrature(target, None, str(error), False, math.inf, target.view)
    first, unresolved = _integrate(target, frame, axis=0, panels=16)
    second, also_unresolved = _integrate(target, frame, axis=1, panels=25)
    scale = np.array([1.0, 1.0, 1.0, first[3] + 1.0, first[4] + 1.0, math.sqrt((first[3] + 1.0) * (first[4] + 1.0))])
    kept = (1, 3, 6)[frame.order]
    relative = np.abs(first - second)[:kept] / scale[:kept]
    relative[0] = abs(math.expm1(second[0] - first[0])) if np.isfinite(first[0] - second[0]) else math.inf
    error = float(np.max(relative)) + max(unresolved, also_unresolved)
    shown = _view(target, frame)
    if not error < WANTED:  # also when it is NaN
        reason = f"the exact answer is not known: the density is too rough for the quadrature (relative error about {error:.0e})"
        return Quadrature(target, None, reason, True, error, shown)
    log_z, mean, covariance = _moments(frame, first)
    truth = Truth(mean, covariance, (_marginal(target, frame, 0, log_z), _marginal(target, frame, 1, log_z)), "quadrature", log_z)
    return Quadrature(target, truth, "", True, error, shown)


def _search(target: Target, view: View | None) -> _Frame:
    """Centre, scale and extent of the mass. Raises _Improper."""
    centre, scale = np.zeros(2), np.ones(2)
    if view is not None:
        centre = np.array([0.5 * (low + high) for low, high in view])
        scale = np.array([(high - low) / 6.0 for low, high in view])
    u = np.linspace(-12.0, 12.0, 321)
    for attempt in range(60):
        weights, top = _weights(target, centre, scale, u, 0)
        if top == -math.inf:
            if attempt >= 12:
                raise _Improper("the density is 0, or has no value, at every point tried")
            # nothing met yet: other scales, and nodes that are no round numbers
            scale = np.full(2, 10.0 ** ((attempt + 1) // 2 * (-1) ** attempt) * 1.0437)
            continue
        settled = True
        for j in (0, 1):
            quarter, middle, rest = np.interp([0.25, 0.5, 0.75], *_cumulative(weights, j, u))
            step = scale[j] * math.cosh(middle) * (u[1] - u[0])
            new_centre = centre[j] + scale[j] * math.sinh(middle)
            new_scale = max(scale[j] * (math.sinh(rest) - math.sinh(quarter)) / 1.35, 0.7 * step)
            settled &= abs(new_centre - centre[j]) < 0.5 * new_scale and 0.6 < new_scale / scale[j] < 1.6
            centre[j], scale[j] = new_centre, new_scale
            if new_scale > LARGEST_SCALE or abs(new_centre) > LARGEST_SCALE:
                raise _Improper(_does_not_integrate(target, j, ""))
        if settled:
            break
    return _extent(target, centre, scale)


def _extent(target: Target, centre: Array, scale: Array) -> _Frame:
    # dense in the middle, coarse far out
    half = np.linspace(0.0, 1.0, 161)[1:]
    half = half + (REACH - 1.0) * half**4
    u = np.concatenate([-half[::-1], [0.0], half])
    for order in (2, 1, 0):
        weights, top = _weights(target, centre, scale, u, order)
        low, high = np.empty(2), np.empty(2)
        for j in (0, 1):
            cumulative, at = _cumulative(weights, j, u)
            low_mass, high_mass = cumulative[2], 1.0 - cumulative[-3]
            if max(low_mass, high_mass) > 1e-9:
                if order > 0:
                    break
                raise _Improper(_does_not_integrate(target, j, "−" if low_mass > 1e-9 and high_mass < 1e-9 else "" if low_mass > 1e-9 else "+"))
            first = int(np.searchsorted(cumulative, 1e-13))
            last = int(np.searchsorted(-cumulative[::-1], -(1.0 - 1e-13)))
            low[j] = min(at[max(first - 3, 0)], -1.0)
            high[j] = max(at[::-1][max(last - 3, 0)], 1.0)
        else:
            return _Frame(centre, scale, low, high, top, order)
    raise AssertionError("unreachable")


def _does_not_integrate(target: Target, axis: int, sign: str) -> str:
    label = target.labels[axis]
    where = f"{label} → {sign or '±'}∞"
    return f"this density does not integrate: it does not fall off (fast enough) towards {where}, so it is no probability density"


def _weights(target: Target, centre: Array, scale: Array, u: Array, order: int) -> tuple[Array, float]:
    """Share (nx, ny) of each grid cell in the mass weighted by distance**order, and the largest log density met."""
    with np.errstate(over="ignore", invalid="ignore"):
        t = np.sinh(u)
        log_density = target.density_grid(centre[0] + scale[0] * t, centre[1] + scale[1] * t).T
        usable = np.isfinite(log_density)
        if not usable.any():
            return np.zeros_like(log_density), -math.inf
        top = float(log_density[usable].max())
        log_cell = np.log(np.cosh(u)) + np.log(np.gradient(u))
        log_weight = np.where(usable, log_density + log_cell[:, None] + log_cell, -np.inf)
        if order:
            log_weight += 0.5 * order * np.log1p(t[:, None] ** 2 + t**2)
        weights = np.exp(log_weight - log_weight.max())
    return weights / weights.sum(), top


def _cumulative(weights: Array, axis: int, u: Array) -> tuple[Array, Array]:
    """(share of the mass up to there, right edge in u) of each cell along `axis`"""
    edges = np.append(0.5 * (u[1:] + u[:-1]), u[-1])
    return np.cumsum(weights.sum(axis=1 - axis)), edges


def _integrate(target: Target, frame: _Frame, *, axis: int, panels: int) -> tuple[Array, float]:
    """(log integral, mean x, mean y, var x, var y, covariance) in the frame's units, columns along `axis`; and the share not resolved."""
    spent = np.zeros(2, dtype=np.int64)
    with np.errstate(all="ignore"):
        total, unresolved = _plane(
            target.address, target.data, *target.buffers(), frame.centre, frame.scale, frame.low, frame.high, frame.top, axis, panels, frame.order, BUDGET, spent
        )  # fmt: skip
        if not (np.isfinite(total[0]) and total[0] > 0.0):
            return np.full(6, math.nan), math.inf
        mass, inner, inner_square, outer, outer_square, product = total
        along, across = outer / mass, inner / mass
        spread, spread_across = outer_square / mass - along**2, inner_square / mass - across**2
        both = [along, across], [spread, spread_across]
        (mean_x, mean_y), (var_x, var_y) = both if axis == 0 else (both[0][::-1], both[1][::-1])
        result = np.array([math.log(mass), mean_x, mean_y, var_x, var_y, product / mass - along * across])
    return result, unresolved / mass


def _moments(frame: _Frame, values: Array) -> tuple[float, Array, Array]:
    log_z = float(values[0] + frame.top + np.log(frame.scale).sum())
    mean = frame.centre + frame.scale * values[1:3] if frame.order >= 1 else np.full(2, math.nan)
    covariance = np.full((2, 2), math.nan)
    if frame.order == 2:
        covariance = np.array([[values[3], values[5]], [values[5], values[4]]]) * np.outer(frame.scale, frame.scale)
    return log_z, mean, covariance


def _marginal(target: Target, frame: _Frame, axis: int, log_z: float) -> Density:
    shift = frame.top + math.log(frame.scale[1 - axis]) - log_z

    def density(x: Array) -> Array:
        at = np.asarray(x, dtype=np.float64)
        rows = _marginal_rows(target, frame, axis, at.ravel())
        return np.asarray(rows * math.exp(shift)).reshape(at.shape)

    return density


def _marginal_rows(target: Target, frame: _Frame, axis: int, at: Array) -> Array:
    out = np.empty(at.size)
    _rows(target.address, target.data, *target.buffers(), frame.centre, frame.scale, frame.low, frame.high, frame.top, axis, np.ascontiguousarray(at), out)
    return out


def _view(target: Target, frame: _Frame) -> View:
    """The middle 96 percent of each marginal, widened to 3.5 sd of a Gaussian, but not beyond the support."""
    sides = []
    for j in (0, 1):
        u = np.linspace(frame.low[j], frame.high[j], 401)
        x = frame.centre[j] + frame.scale[j] * np.sinh(u)
        mass = _marginal_rows(target, frame, j, x) * np.cosh(u)
        mass = np.where(np.isfinite(mass), mass, 0.0)
        if not mass.sum() > 0.0:
            return target.view
        low, high = np.interp([0.02, 0.98], np.cumsum(mass) / mass.sum(), x)
        inside = x[mass > 0.0]
        middle, half = 0.5 * (low + high), 1.7 * 0.5 * (high - low)
        margin = 0.05 * (min(middle + half, inside[-1]) - max(middle - half, inside[0]))
        sides.append((max(middle - half, inside[0] - margin), min(middle + half, inside[-1] + margin)))
    return (float(sides[0][0]), float(sides[0][1])), (float(sides[1][0]), float(sides[1][1]))


@kernel
def _row(address, data, ints, scratch, q, grad, axis, centre, scale, low, high, top, order, panels, values, stack, sums, out, spent):  # type: ignore[no-untyped-def]
    """Integrate over the coordinate `1 - axis` at q[axis]: out[k] = integral of exp(log density - top) t**k dt, t = (coordinate - centre) / scale.

    values : (panels, 15), sums : (panels, 4), stack : (DEEPEST + 2, 2) work space. Adds the evaluations to spent[0], and 1 to spent[1] for
    each panel that stays unresolved. Exponentials are taken relative to the row's own largest value, so that a ridge
    that passes between the first nodes is still felt.
    """
    other = 1 - axis
    begin, width = low[other], (high[other] - low[other]) / panels
    shift = -np.inf
    for panel in range(panels):
        for i in range(15):
            t = math.sinh(begin + (panel + 0.5 + 0.5 * NODES[i]) * width)
            q[other] = centre[other] + scale[other] * t
            value = log_density_at(address, q, grad, data, ints, scratch)
            if not value < np.inf:  # NaN, or +inf: a point that no chain can visit
                value = -np.inf
            values[panel, i] = value
            shift = max(shift, value)
    spent[0] += 15 * panels
    out[:] = 0.0
    if shift == -np.inf:
        return
    higher = shift
    for _ in range(20):
        shift = higher
        out[:] = 0.0
        size = 0.0
        for panel in range(panels):
            k0, k1, k2, g0, g1, g2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for i in range(15):
                u = begin + (panel + 0.5 + 0.5 * NODES[i]) * width
                t = math.sinh(u)
                f = math.exp(values[panel, i] - shift) * math.cosh(u)
                k0 += KRONROD[i] * f
                k1 += KRONROD[i] * f * t
                k2 += KRONROD[i] * f * t * t
                g0 += GAUSS[i] * f
                g1 += GAUSS[i] * f * t
                g2 += GAUSS[i] * f * t * t
            sums[panel, 0], sums[panel, 1], sums[panel, 2] = 0.5 * width * k0, 0.5 * width * k1, 0.5 * width * k2
            error = abs(k0 - g0)
            if order > 0:
                error += abs(k1 - g1)
            weight = k0
            if order > 1:
                error += abs(k2 - g2)
                weight += k2
            sums[panel, 3] = 0.5 * width * error
            size += 0.5 * width * weight
        for panel in range(panels):
            if sums[panel, 3] <= ROW_TOLERANCE * size:
                for k in range(3):
                    out[k] += sums[panel, k]
                continue
            stack[0, 0], stack[0, 1] = begin + panel * width, width
            depth = 1
            while depth > 0:
                depth -= 1
                start, length = stack[depth, 0], stack[depth, 1]
                k0, k1, k2, g0, g1, g2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
                for i in range(15):
                    u = start + (0.5 + 0.5 * NODES[i]) * length
                    t = math.sinh(u)
                    q[other] = centre[other] + scale[other] * t
                    value = log_density_at(address, q, grad, data, ints, scratch)
                    if not value < np.inf:
                        value = -np.inf
                    higher = max(higher, value)
                    f = math.exp(value - shift) * math.cosh(u)
                    k0 += KRONROD[i] * f
                    k1 += KRONROD[i] * f * t
                    k2 += KRONROD[i] * f * t * t
                    g0 += GAUSS[i] * f
                    g1 += GAUSS[i] * f * t
                    g2 += GAUSS[i] * f * t * t
                spent[0] += 15
                if higher > shift + 30.0:
                    break
                error = abs(k0 - g0)
                if order > 0:
                    error += abs(k1 - g1)
                if order > 1:
                    error += abs(k2 - g2)
                half = 0.5 * length
                if half * error > ROW_TOLERANCE * size:
                    if depth + 2 <= stack.shape[0] and half > 1e-13 * (1.0 + abs(start)):
                        stack[depth, 0], stack[depth, 1] = start + half, half
                        stack[depth + 1, 0], stack[depth + 1, 1] = start, half
                        depth += 2
                        continue
                    spent[1] += 1
                out[0] += half * k0
                out[1] += half * k1
                out[2] += half * k2
            if higher > shift + 30.0:
                break
        if higher <= shift + 30.0:
            break
    factor = math.exp(shift - top)
    for k in range(3):
        out[k] *= factor


@kernel
def _panel(address, data, ints, scratch, q, grad, axis, centre, scale, low, high, top, order, panels, values, stack, sums, row, spent, start, length, kronrod):  # type: ignore[no-untyped-def]  # fmt: skip
    """One panel of columns: fills kronrod (6,), returns the error of the Gauss rule."""
    gauss = np.zeros(6)
    column = np.zeros(6)
    kronrod[:] = 0.0
    for i in range(15):
        u = start + (0.5 + 0.5 * NODES[i]) * length
        t = math.sinh(u)
        q[axis] = centre[axis] + scale[axis] * t
        _row(address, data, ints, scratch, q, grad, axis, centre, scale, low, high, top, order, panels, values, stack, sums, row, spent)
        jacobian = math.cosh(u)
        column[0], column[1], column[2] = row[0], row[1], row[2]
        column[3], column[4], column[5] = t * row[0], t * t * row[0], t * row[1]
        for k in range(6):
            kronrod[k] += 0.5 * length * KRONROD[i] * jacobian * column[k]
            gauss[k] += 0.5 * length * GAUSS[i] * jacobian * column[k]
    error = abs(kronrod[0] - gauss[0])
    if order > 0:
        error += abs(kronrod[1] - gauss[1]) + abs(kronrod[3] - gauss[3])
    if order > 1:
        error += abs(kronrod[2] - gauss[2]) + abs(kronrod[4] - gauss[4]) + abs(kronrod[5] - gauss[5])
    return error


@kernel
def _plane(address, data, ints, scratch, centre, scale, low, high, top, axis, panels, order, budget, spent):  # type: ignore[no-untyped-def]
    """Integrate over the plane. Returns the integrals of (1, s, s**2, t, t**2, s*t), t along `axis` and s across, and the error left over."""
    q, grad, row = np.zeros(2), np.zeros(2), np.zeros(3)
    values, sums, stack = np.empty((panels, 15)), np.empty((panels, 4)), np.empty((DEEPEST + 2, 2))
    columns = np.empty((DEEPEST + 2, 2))
    parts, errors, total, part = np.empty((panels, 6)), np.empty(panels), np.zeros(6), np.zeros(6)
    begin, width = low[axis], (high[axis] - low[axis]) / panels
    size = 0.0
    for panel in range(panels):
        errors[panel] = _panel(address, data, ints, scratch, q, grad, axis, centre, scale, low, high, top, order, panels, values, stack, sums, row, spent, begin + panel * width, width, parts[panel])  # fmt: skip
        size += parts[panel, 0]
        if order > 1:
            size += parts[panel, 2] + parts[panel, 4]
    left = 0.0
    for panel in range(panels):
        if errors[panel] <= TOLERANCE * size:
            total += parts[panel]
            continue
        columns[0, 0], columns[0, 1] = begin + panel * width, width
        depth = 1
        while depth > 0:
            depth -= 1
            start, length = columns[depth, 0], columns[depth, 1]
            error = _panel(address, data, ints, scratch, q, grad, axis, centre, scale, low, high, top, order, panels, values, stack, sums, row, spent, start, length, part)  # fmt: skip
            half = 0.5 * length
            if error > TOLERANCE * size:
                if depth + 2 <= columns.shape[0] and half > 1e-12 * (1.0 + abs(start)) and spent[0] < budget:
                    columns[depth, 0], columns[depth, 1] = start + half, half
                    columns[depth + 1, 0], columns[depth + 1, 1] = start, half
                    depth += 2
                    continue
                left += error
            total += part
    return total, left


@kernel
def _rows(address, data, ints, scratch, centre, scale, low, high, top, axis, at, out):  # type: ignore[no-untyped-def]
    """out[i] = integral over the other coordinate at at[i]."""
    panels = 24
    q, grad, row = np.zeros(2), np.zeros(2), np.zeros(3)
    values, sums, stack = np.empty((panels, 15)), np.empty((panels, 4)), np.empty((DEEPEST + 2, 2))
    spent = np.zeros(2, dtype=np.int64)
    for i in range(at.size):
        q[axis] = at[i]
        _row(address, data, ints, scratch, q, grad, axis, centre, scale, low, high, top, 0, panels, values, stack, sums, row, spent)
        out[i] = row[0]
