"""Pieces of pictures that lessons share: the map of a density, draws on it, running marginals, traces, the window of
inner detail.

Each function adds one panel, or layers, to a scene and returns the panel, so that a lesson can draw more on it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from app.kit import theme
from app.kit.player.scene import MAX_WINDOW, Axis, Panel, Place, Scene, Show
from app.kit.words import Words
from engine.kept import kept
from engine.scores import Performance
from engine.targets.target import Target

WORDS = Words(__file__)

Array = NDArray[np.float64]
View = tuple[tuple[float, float], tuple[float, float]]  # (low, high) of both coordinates

SHARES = (0.5, 0.8, 0.95, 0.99)  # of the probability that the regions of a density map hold
REGIONS = WORDS.phrase("stage.regions", shares=", ".join(f"{100 * share:.0f}" for share in SHARES))

_HIGHEST = 1.5  # nats a point: of the axis of a loss, at most
_GRID = 121  # nodes a side of the map that is sent
_FINE = 1201  # nodes along y when the mass is counted: a neck must not fall between two of them
_DEEP = 40.0  # log units below the lowest isoline where the map is cut off

# Role, width and dash of a curve: on the points they learn from, unless it says otherwise.
PERFORMANCE = {"present": ("muted", 1.2, False), "average": ("posterior", 2.2, False), "held": ("likelihood", 2.2, True)}


# The density ----------------------------------------------------------------------------------------------------------


@kept
def density_map(target: Target) -> tuple[Array, Array]:
    """The log density of the first two coordinates on `target.view`, (121, 121), and the levels whose regions hold
    `SHARES` of the probability in view, rising. Of a target in more dimensions it is the marginal where that is known,
    else a slice through 0."""
    target = target.plane or target
    x_view, y_view = target.view
    x, y = np.linspace(*x_view, _GRID), np.linspace(*y_view, _GRID)
    values = _finite(target.density_grid(x, y))
    fine = _finite(target.density_grid(x, np.linspace(*y_view, _FINE))).ravel()
    descending = np.sort(fine)[::-1]
    held = np.cumsum(np.exp(descending - descending[0]))
    at = np.searchsorted(held, np.array(SHARES[::-1]) * held[-1])
    levels = np.unique(descending[np.minimum(at, len(descending) - 1)])
    return np.maximum(values, levels[0] - _DEEP), levels


def _finite(values: Array) -> Array:
    """Points of density zero as a very low log density, so that isolines end there."""
    lowest = values[np.isfinite(values)].min(initial=0.0)
    return np.where(np.isfinite(values), values, lowest - 2.0 * _DEEP)


def density_panel(
    scene: Scene,
    target: Target,
    *,
    id: str = "plane",
    title: str = WORDS.phrase("stage.position"),
    place: Place | None = None,
    height: int = 420,
    clickable: bool = False,
    view: View | None = None,
    equal: bool | None = None,
) -> Panel:
    """The target from above, on its first two coordinates: highest-density regions that hold 50, 80, 95 and 99 % of the
    probability in view.

    view : range of the axes, default that of the target; the map itself always covers the target's own view.
    equal : one unit of x as long as one of y, default where that wastes little room.
    """
    (x_low, x_high), (y_low, y_high) = view or target.view
    ratio = (x_high - x_low) / (y_high - y_low)
    panel = scene.panel(
        id,
        title=title,
        x=Axis(target.labels[0], x_low, x_high),
        y=Axis(target.labels[1], y_low, y_high),
        place=place,
        equal=0.5 < ratio < 2.0 if equal is None else equal,
        height=height,
        clickable=clickable,
    )
    values, levels = density_map(target)
    label = REGIONS if (target.plane or target).dim == 2 else WORDS.phrase("stage.slice_through")
    return panel.contour(values, levels=levels, x=target.view[0], y=target.view[1], role="truth", label=label)


# Draws ----------------------------------------------------------------------------------------------------------------


def draw_layers(panel: Panel, draws: Array, *, size: float = 2.4) -> Panel:
    """The draws (chains, steps, dim) up to the cursor on their first two coordinates; several chains differ by shape
    and colour.
    """
    for chain, path in enumerate(draws):
        several = len(draws) > 1
        panel.points(
            path[:, :2],
            show="upto",
            role="posterior",
            size=size,
            alpha=0.55,
            chain=chain if several else None,
            shape=theme.MARKERS[chain % len(theme.MARKERS)],
            label=WORDS.phrase("stage.draws_of_chain", chain=chain + 1) if several else WORDS.phrase("stage.draws"),
        )
    return panel


def marginal_panel(
    scene: Scene,
    target: Target,
    draws: Array,
    coordinate: int,
    *,
    place: Place | None = None,
    height: int = 200,
    bins: int = 40,
    burn: int = 0,
    label: str = WORDS.phrase("stage.draws_so_far"),
) -> Panel:
    """The running histogram of `draws` (steps,) of one coordinate under the exact marginal, where that is known."""
    name = target.labels[coordinate]
    low, high = coordinate_range(target, coordinate)
    panel = scene.panel(
        f"marginal-{coordinate}",
        title=WORDS.phrase("stage.marginal", name=name),
        x=Axis(name, low, high),
        y=Axis(WORDS.phrase("stage.density")),
        place=place,
        height=height,
    )
    panel.histogram(draws, bins=(low, high, bins), burn=burn, role="posterior", label=label)
    if target.truth is not None:
        label = WORDS.phrase("stage.truth", source=source_of(target))
        panel.line(*_exact_marginal(target, coordinate), role="truth", dash=True, width=2.5, label=label)
    return panel


@kept
def _exact_marginal(target: Target, coordinate: int) -> tuple[Array, Array]:
    """Places (161,) and the known density there: by quadrature it takes as long as a short run."""
    xs = np.linspace(*coordinate_range(target, coordinate), 161)
    return xs, target.known.marginals[coordinate](xs)


def trace_panel(
    scene: Scene,
    values: Array,
    name: str,
    *,
    id: str = "trace",
    place: Place | None = None,
    height: int = 200,
    truth: float | None = None,
    limits: tuple[float, float] | None = None,
) -> Panel:
    """`values` (chains, steps) of a quantity called `name` against the transition, drawn up to the cursor; `truth` is
    its exact mean.
    """
    low, high = limits or (None, None)
    panel = scene.panel(
        id,
        title=WORDS.phrase("stage.trace", name=name),
        x=Axis(WORDS.phrase("stage.transition"), 0, scene.steps),
        y=Axis(name, low, high),
        place=place,
        height=height,
    )
    at = np.arange(1, scene.steps + 1, dtype=float)
    for chain, series in enumerate(values):
        several = len(values) > 1
        panel.line(
            at,
            series,
            show="upto",
            role="posterior",
            width=1.2,
            chain=chain if several else None,
            label=WORDS.phrase("stage.chain", chain=chain + 1) if several else None,
        )
    if truth is not None and np.isfinite(truth):
        panel.rule(y=truth, role="truth", dash=True, label=WORDS.phrase("stage.exact_mean"))
    return panel


def upright(x: Array, low: Array, high: Array) -> Array:
    """(3 n, 2) upright lines at x (n,) from low to high (n,), as one broken path."""
    gap = np.full(len(x), np.nan)
    return np.stack([np.stack([x, x, gap], axis=1), np.stack([low, high, gap], axis=1)], axis=2).reshape(-1, 2)


def heights(draws: Array, view: tuple[float, float], bins: int = 50) -> tuple[Array, Array]:
    """Midpoints and heights of the histogram of draws: of what a kernel draws from, as near as they tell."""
    counts, edges = np.histogram(draws, bins=bins, range=view)
    return 0.5 * (edges[1:] + edges[:-1]), counts / (draws.size * (edges[1] - edges[0]))


# What is true ---------------------------------------------------------------------------------------------------------


def coordinate_range(target: Target, coordinate: int) -> tuple[float, float]:
    """Where to look at one coordinate: the view of the first two, four standard deviations of a further one."""
    if coordinate < 2:
        return target.view[coordinate]
    if target.truth is None or not np.isfinite(target.truth.covariance[coordinate, coordinate]):
        return target.view[1]
    mean, sd = target.truth.mean[coordinate], np.sqrt(target.truth.covariance[coordinate, coordinate])
    return float(mean - 4 * sd), float(mean + 4 * sd)


def source_of(target: Target) -> str:
    """How the truth about a target is known, in two words."""
    if target.truth is None:
        return WORDS.phrase("truth.unknown")
    return WORDS.phrase("truth.exact" if target.truth.source == "exact" else "truth.quadrature")


def truth_note(target: Target) -> str:
    """A sentence on what the dashed truth is."""
    if target.truth is None:
        return WORDS.phrase("truth.none_drawn")
    return WORDS.phrase("truth.in_closed_form" if target.truth.source == "exact" else "truth.by_integration")


# The window -----------------------------------------------------------------------------------------------------------


def exact(target: Target) -> tuple[list[float], list[float]]:
    """Exact mean and sd of each coordinate; NaN where they are not known."""
    if target.truth is None:
        return [math.nan] * target.dim, [math.nan] * target.dim
    return list(target.truth.mean), list(np.sqrt(np.diag(target.truth.covariance)))


def window_around(wanted: int | None, steps: int, items: int, *, budget: int) -> tuple[int, int]:
    """First transition and number of transitions of the window of inner detail that holds `wanted`.

    items : inner items of one transition; budget : inner items that may travel. Windows lie side by side, so the same
    one is never made twice.
    """
    width = max(1, min(MAX_WINDOW, steps, budget // max(items, 1)))
    first = min(max(wanted or 0, 0), steps - 1) // width * width
    return first, min(width, steps - first)


def divergences(panel: Panel, points: Array, divergent: NDArray[np.bool_], label: str) -> None:
    """Crosses at `points` (steps, 2) of the transitions that diverged, where any did."""
    if divergent.any():
        panel.points(points, show="upto", mask=divergent, role="divergent", shape="cross", size=4.5, label=label)


def last_draw(panel: Panel, draws: Array) -> Panel:
    """A ring around the newest settled draw, (steps, 2)."""
    return panel.points(draws, show=Show("upto", last=1), role="ink", shape="ring", size=6, label=WORDS.phrase("stage.present"))


# How well networks predict --------------------------------------------------------------------------------------------


def performance_panels(
    made: Scene, at: Array, x: Axis, curves: dict[str, Performance], *, first: int, places: tuple[Place, Place], height: int
) -> list[Panel]:
    """Panels "right" and "loss" over the states `at` (n,), with a curve for each of `PERFORMANCE` that is given.

    first : states of the first picture; the axis of the loss is what it needs, so that it stays as the run grows
    """
    top = min(1.05 * max(float(one.loss[:first].max()) for one in curves.values()), _HIGHEST)
    right = made.panel("right", title=WORDS.phrase("performance.right"), x=x, y=Axis("", 0.0, 101.0), place=places[0], height=height)
    loss = made.panel("loss", title=WORDS.phrase("performance.loss"), x=x, y=Axis("", 0.0, top), place=places[1], height=height)
    for whose, one in curves.items():
        role, width, dash = PERFORMANCE[whose]
        right.line(at, one.right, show="upto", role=role, width=width, dash=dash, label=WORDS.phrase(f"performance.{whose}"))
        loss.line(at, one.loss, show="upto", role=role, width=width, dash=dash)
    return [right, loss]
