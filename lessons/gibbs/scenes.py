"""A run as a scene, one coordinate update a step: the map with the slice being updated, and beside it the marginals,
trace and memory, or the groups of the hierarchical model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import pictures, theme
from app.kit.player.scene import Axis, Panel, Phase, Scene, Show
from app.kit.preview import Preview
from engine.diagnostics import autocorrelation
from engine.kept import kept
from lessons.gibbs import analysis
from lessons.gibbs.analysis import CURVE, Plane, Walk
from lessons.gibbs.spec import WORDS, GibbsLesson

Array = NDArray[np.float64]

HOLD = Phase("fix", WORDS.phrase("stage.hold"))
CONDITIONAL = (HOLD, Phase("curve", WORDS.phrase("stage.conditional")), Phase("move", WORDS.phrase("stage.draw_and_move")))
BLOCK = (Phase("fix", WORDS.phrase("stage.pick_coordinate")), *CONDITIONAL[1:])
METROPOLIS = (
    HOLD,
    Phase("propose", WORDS.phrase("stage.propose")),
    Phase("ratio", WORDS.phrase("stage.ratio")),
    Phase("move", WORDS.phrase("stage.decide")),
)
WINDOW = (HOLD, Phase("curve", WORDS.phrase("stage.weigh", points=analysis.WINDOW)), Phase("move", WORDS.phrase("stage.pick_and_move")))

BUDGET = 200 * CURVE  # points of curves that travel at once
MAP = (0, 0, 9, 2)
BESIDE = ((9, 0, 6, 1), (9, 1, 6, 1))
TALL = (9, 0, 6, 2)
HEIGHT = 420
TRAIL = 40  # newest updates whose path stays visible
LAGS = 20
BINS = 40
LIFT = 0.16  # of the map: the height of a conditional's curve above its slice
GRID = 121


PREVIEWS = dict.fromkeys(
    ("correlation", "scale_ratio", "width", "curvature", "scale", "shape", "rate", "kappa", "prior_sd"), Preview(smooth=False)
)


def scene(spec: GibbsLesson, window: int | None = None) -> bytes:
    """The scene of a run, with the curves of the updates around `window`."""
    walk, plane = analysis.simulate(spec), analysis.plane(spec)
    detail = _Detail.around(spec, walk, plane, window)
    picture = Scene(
        run=repr(spec.simulation()),
        steps=walk.steps,
        rate=5.0,
        phases=phases(spec),
        theme=theme.palette(),
        label=WORDS.phrase("stage.picture", sampler=_name(spec), target=spec.target.replace("_", "-")),
    )
    picture.window(detail.first, detail.offsets)
    _map(picture, spec, walk, plane, detail)
    if spec.view == "memory":
        _trace(picture, walk, plane)
        _memory(picture, spec, walk)
    elif spec.target == "hierarchical":
        _groups(picture, spec, walk, detail)
    else:
        for axis in (0, 1):
            _marginal(picture, spec, walk, plane, detail, axis)
    _arithmetic(picture, spec, walk)
    _words(picture, spec, walk)
    return picture.encode()


def phases(spec: GibbsLesson) -> tuple[Phase, ...]:
    """The parts of one update."""
    if spec.variant == "window":
        return WINDOW
    if spec.blocked:
        return BLOCK
    return CONDITIONAL if spec.by_conditional else METROPOLIS


def _name(spec: GibbsLesson) -> str:
    if spec.variant == "window":
        return WORDS.phrase("stage.by_window")
    return WORDS.phrase("stage.by_gibbs" if spec.by_conditional else "stage.by_metropolis")


# The curve of each update ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Detail:
    """The conditional of each update first..first+count-1 along its slice: (count * CURVE,).

    coordinate : of each point, which coordinate was updated
    place, height : on the scale of the target, and relative to the curve's top
    shown : place on the scale of its axis
    at : (count * CURVE, 2) the state on the map before the update
    """

    first: int
    count: int
    coordinate: NDArray[np.int64]
    shown: Array
    height: Array
    at: Array

    @property
    def offsets(self) -> NDArray[np.int32]:
        return np.arange(self.count + 1, dtype=np.int32) * CURVE

    def on_map(self, plane: Plane) -> Array:
        """The curves above their slices; NaN for coordinates that are not on the map."""
        points = np.full((len(self.shown), 2), np.nan)
        for axis, j in enumerate(plane.coordinates):
            mine, (low, high) = self.coordinate == j, plane.view[1 - axis]
            points[mine, axis] = self.shown[mine]
            points[mine, 1 - axis] = self.at[mine, 1 - axis] + LIFT * (high - low) * self.height[mine]
        return points

    def above(self, bases: dict[int, float], top: float) -> Array:
        """The curves of some coordinates over a horizontal axis, `top` high above the base of each; NaN for others."""
        base = np.full(int(self.coordinate.max()) + 1, np.nan)
        for j, value in bases.items():
            if j < len(base):
                base[j] = value
        height = base[self.coordinate] + top * self.height
        return np.column_stack([np.where(np.isnan(height), np.nan, self.shown), height])

    def of_window(self, walk: Walk, plane: Plane) -> Array:
        """The points that each windowed update looks at, on the map; NaN for the rest."""
        part = slice(self.first, self.first + self.count)
        ends = analysis.window_ends(walk)[part]
        points = np.full((self.count, CURVE, 2), np.nan)
        for k in range(ends.shape[1]):
            states = walk.before[part].copy()
            states[np.arange(self.count), walk.coordinate[part]] = ends[:, k]
            points[:, k] = plane.points(states)
        return points.reshape(-1, 2)

    @classmethod
    def around(cls, spec: GibbsLesson, walk: Walk, plane: Plane, wanted: int | None) -> _Detail:
        first, count = pictures.window_around(wanted, walk.steps, CURVE, budget=BUDGET)
        shown, height = np.empty((2, count, CURVE))
        for row, t in enumerate(range(first, first + count)):
            j = int(walk.coordinate[t])
            axis = plane.axis_of(j)
            log_spread = plane.log_spread and axis == 1
            if spec.by_conditional:
                shown[row], height[row] = analysis.conditional_curve(int(walk.kind[t]), walk.parameters[t], log_spread=log_spread)
            elif log_spread:  # along log s, and as a density of it: times |dw / d log s| = 2w
                log_s = np.linspace(*plane.view[1], CURVE)
                w = np.exp(-2.0 * log_s)
                points = np.tile(walk.before[t], (CURVE, 1))
                points[:, j] = w
                log_p = walk.target.log_density_many(points) + np.log(w)
                shown[row], height[row] = log_s, np.exp(log_p - log_p.max())
            else:
                low, high = plane.view[axis] if axis is not None else _range(walk, j)
                shown[row], height[row] = analysis.slice_curve(walk.target, walk.before[t], j, low, high)
        part = slice(first, first + count)
        return cls(
            first,
            count,
            np.repeat(walk.coordinate[part], CURVE),
            shown.ravel(),
            height.ravel(),
            np.repeat(plane.points(walk.before[part]), CURVE, axis=0),
        )


def _range(walk: Walk, coordinate: int) -> tuple[float, float]:
    """Where to look at a coordinate that is not on the map."""
    truth = walk.target.known
    mean, sd = float(truth.mean[coordinate]), float(np.sqrt(truth.covariance[coordinate, coordinate]))
    return mean - 4.0 * sd, mean + 4.0 * sd


# Panels ---------------------------------------------------------------------------------------------------------------


def _map(picture: Scene, spec: GibbsLesson, walk: Walk, plane: Plane, detail: _Detail) -> Panel:
    panel = _density(picture, spec, plane)
    places, before = plane.points(walk.after), plane.points(walk.before)
    start, newest = Show("at", phase=(None, None)), Show("upto", last=TRAIL, fade=True)
    undecided = Show("at", phase=(None, phases(spec)[-2].id))
    panel.points(places, show="upto", mask=walk.sweep_ends, role="posterior", size=2.4, alpha=0.6, label=WORDS.phrase("stage.draws"))
    for axis, j in enumerate(plane.coordinates):
        integrated_out = spec.blocked and spec.target == "gaussian" and axis == 0  # then nothing is held fixed
        along = np.where((walk.coordinate == j) & (not integrated_out), before[:, 1 - axis], np.nan)
        panel.rule(
            x=None if axis == 0 else along,
            y=along if axis == 0 else None,
            show=start,
            role="muted",
            dash=True,
            label=WORDS.phrase("stage.slice") if axis == 0 else None,
        )
    panel.path(places, show=newest, role="ink", width=1.4, alpha=0.75, label=WORDS.phrase("stage.newest", updates=TRAIL))
    curve = "propose" if phases(spec) == METROPOLIS else "curve"
    label = WORDS.phrase("stage.drawn_from" if spec.blocked else "stage.along_slice")
    panel.path(detail.on_map(plane), show=Show("inner_all", phase=(curve, None)), role="highlight", width=2.2, label=label)
    panel.points(before, show=undecided, role="ink", shape="circle", size=6)
    if phases(spec) == METROPOLIS:
        proposal = _proposals(walk, plane)
        panel.arrows(before, proposal, show=Show("at", phase=("propose", "ratio")), role="proposal", width=2.2)
        panel.points(
            proposal,
            show=Show("at", phase=("propose", "ratio")),
            role="proposal",
            shape="diamond",
            size=6,
            label=WORDS.phrase("stage.proposal"),
        )
        panel.points(
            np.where(walk.accepted[:, None], np.nan, proposal),
            show=Show("upto", last=TRAIL, fade=True),
            role="reject",
            shape="cross",
            size=4,
            label=WORDS.phrase("stage.rejected"),
        )
    if phases(spec) == WINDOW:
        panel.points(
            detail.of_window(walk, plane),
            show=Show("inner_all", phase=("curve", None)),
            role="divergent",
            shape="square",
            size=2.6,
            label=WORDS.phrase("stage.window"),
        )
    panel.points(places, show=Show("at", phase=("move", None)), role="accept", shape="ring", size=7, label=WORDS.phrase("stage.present"))
    return panel


def _proposals(walk: Walk, plane: Plane) -> Array:
    """(N, 2) proposals on the map; where the coordinate is not on the map, the state."""
    states = walk.before.copy()
    states[np.arange(walk.steps), walk.coordinate] = walk.proposal
    return plane.points(states)


def _density(picture: Scene, spec: GibbsLesson, plane: Plane) -> Panel:
    if spec.target != "hierarchical":
        return pictures.density_panel(picture, spec.build_target(), place=MAP, height=HEIGHT)
    values, levels = _hierarchical_map(spec.replace(view="marginals", seed=1))
    (x_low, x_high), (y_low, y_high) = plane.view
    panel = picture.panel(
        "plane",
        title=WORDS.phrase("stage.effect_and_spread"),
        x=Axis(WORDS.phrase("stage.effect_of", name=plane.names[0], group=spec.group), x_low, x_high),
        y=Axis(plane.names[1], y_low, y_high),
        place=MAP,
        height=HEIGHT,
    )
    return panel.contour(values, levels=levels, x=plane.view[0], y=plane.view[1], role="truth", label=pictures.REGIONS)


@kept
def _hierarchical_map(spec: GibbsLesson) -> tuple[Array, Array]:
    """Exact log density (GRID, GRID) of the two axes, and the levels whose regions hold `pictures.SHARES`."""
    plane = analysis.plane(spec)
    values = analysis.log_density(spec, *(np.linspace(*side, GRID) for side in plane.view))
    descending = np.sort(values.ravel())[::-1]
    held = np.cumsum(np.exp(descending - descending[0]))
    levels = np.unique(descending[np.searchsorted(held, np.array(pictures.SHARES) * held[-1])])
    return np.maximum(values, levels[0] - 40.0), levels


def _marginal(picture: Scene, spec: GibbsLesson, walk: Walk, plane: Plane, detail: _Detail, axis: int) -> None:
    (low, high), name = plane.view[axis], plane.names[axis]
    at_ends = np.where(walk.sweep_ends, plane.points(walk.after)[:, axis], np.nan)
    xs = np.linspace(low, high, 161)
    exact = None if plane.marginals is None else plane.marginals[axis](xs)
    bins = _bins(spec, walk, plane, axis)
    counts, _ = np.histogram(at_ends[np.isfinite(at_ends)], bins[2], bins[:2], density=True)
    top = 1.12 * max(1e-9, float(counts.max()), 0.0 if exact is None else 1.1 * float(exact.max()))
    panel = picture.panel(
        f"marginal-{axis}",
        title=WORDS.phrase("stage.marginal", name=name),
        x=Axis(name, low, high),
        y=Axis(WORDS.phrase("stage.density"), 0.0, top),
        place=BESIDE[axis],
        height=HEIGHT // 2,
    )
    panel.histogram(at_ends, bins=bins, role="posterior", label=WORDS.phrase("stage.draws_so_far"))
    if exact is not None:
        label = WORDS.phrase("stage.truth", source=pictures.source_of(walk.target))
        panel.line(xs, exact, role="truth", dash=True, width=2.5, label=label)
    panel.path(
        detail.above({plane.coordinates[axis]: 0.0}, 0.92 * top),
        show="inner_all",
        role="highlight",
        width=2.0,
        label=WORDS.phrase("stage.where_updated") if axis == 0 else None,
    )


def _bins(spec: GibbsLesson, walk: Walk, plane: Plane, axis: int) -> tuple[float, float, int]:
    """Bins of a marginal. The windowed walk lives on a lattice: then one bin a lattice point, or it looks like a comb."""
    low, high = plane.view[axis]
    j = plane.coordinates[axis]
    step = float(spec.scales()[j])
    if spec.variant != "window" or not (high - low) / 80 < step < (high - low) / 6:
        return low, high, BINS
    first = float(walk.before[0, j]) - (np.floor((walk.before[0, j] - low) / step) + 0.5) * step
    return float(first), float(first + np.ceil((high - first) / step) * step), int(np.ceil((high - first) / step))


def _trace(picture: Scene, walk: Walk, plane: Plane) -> None:
    values, (low, high) = plane.points(walk.after), plane.view[0]
    sweep = np.arange(1, walk.steps + 1) / walk.target.dim
    panel = picture.panel(
        "trace",
        title=WORDS.phrase("stage.trace", name=plane.names[0]),
        x=Axis(WORDS.phrase("stage.sweep"), 0, sweep[-1]),
        y=Axis(plane.names[0], low, high),
        place=BESIDE[0],
        height=HEIGHT // 2,
    )
    panel.line(sweep, values[:, 0], show="upto", role="posterior", width=1.2)
    truth = walk.target.truth
    if truth is not None and np.isfinite(truth.mean[plane.coordinates[0]]):
        panel.rule(y=float(truth.mean[plane.coordinates[0]]), role="truth", dash=True, label=WORDS.phrase("stage.exact_mean"))


def _memory(picture: Scene, spec: GibbsLesson, walk: Walk) -> None:
    j = analysis.plane(spec).coordinates[0]
    found = autocorrelation(walk.recording.draws[:, :, j], LAGS, pooled=True)[1:]
    exact = analysis.exact_autocorrelation(spec, LAGS)
    panel = picture.panel(
        "memory",
        title=WORDS.phrase("stage.memory", name=walk.target.labels[j]),
        x=Axis(WORDS.phrase("stage.lag"), 0, LAGS),
        y=Axis(WORDS.phrase("stage.correlation"), min(-0.2, float(np.nanmin(found, initial=0.0))), 1.0),
        place=BESIDE[1],
        height=HEIGHT // 2,
    )
    names = [str(lag) if lag % 5 == 0 else "" for lag in range(1, LAGS + 1)]
    truth = None if exact is None else exact[1:]
    panel.bars(np.nan_to_num(found), labels=names, truth=truth, label=WORDS.phrase("stage.all_draws"))


def _groups(picture: Scene, spec: GibbsLesson, walk: Walk, detail: _Detail) -> None:
    """Partial pooling: each group's estimate, its exact posterior, and where its effect is now."""
    y, sigma = (np.array(values) for values in spec.groups())
    n, truth = len(y), walk.target.known
    sd = np.sqrt(np.diag(truth.covariance))
    low = float(min((y - 1.2 * sigma).min(), truth.mean[1] - 3 * sd[1]))
    high = float(max((y + 1.2 * sigma).max(), truth.mean[1] + 3 * sd[1]))
    rows = {1: 0.0, **{j + 2: float(j + 1) for j in range(n)}}  # coordinate → its row; the common mean at the bottom
    names = {j: walk.target.labels[j] for j in rows}
    panel = picture.panel(
        "groups",
        title=WORDS.phrase("stage.groups"),
        x=Axis(WORDS.phrase("stage.effect"), low, high),
        y=Axis(WORDS.phrase("stage.rows"), -0.5, n + 0.9, ticks=[(row, names[j]) for j, row in rows.items()]),
        place=TALL,
        height=HEIGHT,
    )
    bars = [((y[k] - sigma[k], k + 0.82), (y[k] + sigma[k], k + 0.82), (np.nan, np.nan)) for k in range(n)]
    panel.path(np.array(bars).reshape(-1, 2), role="muted", width=3, alpha=0.6)
    panel.points(np.column_stack([y, np.arange(n) + 0.82]), role="muted", shape="square", size=3.5, label=WORDS.phrase("stage.estimate"))
    at = np.array(list(rows.values()))
    mean, spread = truth.mean[1:], sd[1:]
    exact = [((m - s, row - 0.3), (m + s, row - 0.3), (np.nan, np.nan)) for m, s, row in zip(mean, spread, at, strict=True)]
    panel.path(np.array(exact).reshape(-1, 2), role="truth", width=3, alpha=0.8)
    panel.points(np.column_stack([mean, at - 0.3]), role="truth", shape="diamond", size=4, label=WORDS.phrase("stage.posterior_mean"))
    panel.rule(x=walk.after[:, 1], show="at", role="accept", dash=True, label=WORDS.phrase("stage.common_mean_now"))
    for j, row in rows.items():
        panel.points(
            np.column_stack([walk.after[:, j], np.full(walk.steps, row)]),
            show="at",
            role="posterior",
            size=4,
            label=WORDS.phrase("stage.state_now") if j == 1 else None,
        )
    panel.path(detail.above(rows, 0.75), show="inner_all", role="highlight", width=2.0, label=WORDS.phrase("stage.where_updated"))


# Numbers and words ----------------------------------------------------------------------------------------------------


def formulas(spec: GibbsLesson) -> list[str]:
    """The full conditional of each coordinate in symbols."""
    labels = spec.build_target().labels
    if spec.target == "normal_gamma":
        return [WORDS.phrase("conditionals.mean"), WORDS.phrase("conditionals.precision")]
    if spec.target == "hierarchical":
        common = WORDS.phrase("conditionals.common_mean_in_block" if spec.blocked else "conditionals.common_mean")
        effects = [WORDS.phrase("conditionals.effect", name=name) for name in labels[2:]]
        return [WORDS.phrase("conditionals.spread"), common, *effects]
    first = "conditionals.first_in_block" if spec.blocked else "conditionals.first"
    return [WORDS.phrase(path, x=labels[0], y=labels[1]) for path in (first, "conditionals.second")]


def _arithmetic(picture: Scene, spec: GibbsLesson, walk: Walk) -> None:
    """The card of the present update."""
    dim = walk.target.dim
    names = "|".join(walk.target.labels)
    sweep = np.arange(walk.steps) // dim + 1
    common: dict[str, Any] = {"j": walk.coordinate, "old": walk.old_value, "new": walk.value}
    picture.readout(
        "fix",
        WORDS.phrase("stage.fix", dimension=dim, names=names),
        s=sweep,
        k=np.arange(walk.steps) % dim + 1,
        j=walk.coordinate,
        old=walk.old_value,
        show=Show("at"),
    )
    last = Show("at", phase=("move", None))
    if spec.by_conditional:
        normal = walk.kind == 0
        with np.errstate(invalid="ignore", divide="ignore"):
            z = np.where(normal, (walk.value - walk.parameters[:, 0]) / walk.parameters[:, 1], np.nan)
            g = np.where(normal, np.nan, walk.value * walk.parameters[:, 1])
        values = {"j": walk.coordinate, "n": normal, "a": walk.parameters[:, 0], "b": walk.parameters[:, 1]}
        picture.readout(
            "law", WORDS.phrase("stage.law", conditionals="|".join(formulas(spec))), show=Show("at", phase=("curve", None)), **values
        )
        drawn = np.where(normal, z, g)
        picture.readout("draw", WORDS.phrase("stage.draw", names=names), show=last, z=drawn, n=normal, j=walk.coordinate, new=walk.value)
        picture.readout("accept", WORDS.phrase("stage.always"), show=last)
    elif spec.variant == "window":
        picture.readout(
            "window",
            WORDS.phrase("stage.weights", points=analysis.WINDOW),
            show=Show("at", phase=("curve", None)),
            lo=walk.parameters[:, 0],
            hi=walk.parameters[:, 1],
        )
        picture.readout("pick", WORDS.phrase("stage.pick", names=names), show=last, u=walk.uniform, j=walk.coordinate, new=walk.value)
    else:
        scales = spec.scales()[walk.coordinate]
        with np.errstate(invalid="ignore"):
            z = (walk.proposal - walk.old_value) / scales
            ratio = np.minimum(np.exp(np.minimum(walk.log_ratio, 14.0)), 1e6)
        picture.readout(
            "propose",
            WORDS.phrase("stage.proposed", names=names),
            show=Show("at", phase=("propose", None)),
            j=walk.coordinate,
            old=walk.old_value,
            c=scales,
            z=z,
            p=walk.proposal,
        )
        picture.readout("ratio", WORDS.phrase("stage.log_ratio"), show=Show("at", phase=("ratio", None)), l=walk.log_ratio, r=ratio)
        picture.readout("decide", WORDS.phrase("stage.decided"), show=last, u=walk.uniform, r=ratio, ok=walk.accepted)
        rate = np.cumsum(walk.accepted) / np.arange(1, walk.steps + 1)
        picture.readout("rate", WORDS.phrase("stage.rate"), show=last, rate=rate)
    picture.say(WORDS.phrase("stage.said", names=names), **common)


def _words(picture: Scene, spec: GibbsLesson, walk: Walk) -> None:
    columns = {"coordinate (number)": (walk.coordinate + 1).astype(np.int32), "before": walk.old_value, "after": walk.value}
    if spec.update == "metropolis" and spec.variant == "exact":
        columns |= {"proposal": walk.proposal, "log r": walk.log_ratio, "u": walk.uniform, "accepted": walk.accepted}
    elif spec.by_conditional:
        columns |= {"conditional mean or shape": walk.parameters[:, 0], "conditional sd or rate": walk.parameters[:, 1]}
    picture.table(columns)
