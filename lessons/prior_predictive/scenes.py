"""From draws to the picture: functions of the prior, six priors side by side, rejection by data, and the wide limit given
data.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import theme
from app.kit.player.scene import Axis, Editable, Panel, Phase, Scene, Show
from app.kit.preview import Preview
from app.kit.text import number
from lessons.prior_predictive import analysis
from lessons.prior_predictive.analysis import COMPARED, Functions, Tested
from lessons.prior_predictive.spec import MAX_POINTS, REACH, WIDER, WORDS, X_RANGE, Y_RANGE, PriorSpec, counted

Array = NDArray[np.float64]

PHASES = tuple(Phase(name, WORDS.phrase(f"phases.{name}")) for name in ("draw", "function", "count"))
TESTS = tuple(Phase(name, WORDS.phrase(f"phases.{name}")) for name in ("propose", "compare", "u", "decide"))
TRAIL = 25  # curves that stay in the picture
DRAWN_UNITS = 16  # a layer of a network that is drawn, at most
DRAWN_NUMBERS = 40_000  # weights in one message
LEARNT = (-0.8, 1.5)  # outputs of networks that are given the six points
FIRST_COMPARED = 40  # of six priors side by side, in the picture that is there while the others are drawn
REGIONS = (0.5, 0.8, 0.95, 0.99)
FROM_FUNCTION = Show("all", phase=("function", None))
FROM_COUNT = Show("all", phase=("count", None))
FROM_COMPARE, FROM_U, FROM_DECIDE = (Show("all", phase=(phase, None)) for phase in ("compare", "u", "decide"))


PREVIEWS = dict.fromkeys(("noise_sd", "weight_sd", "bias_sd", "out_sd", "out_bias_sd", "at_a", "at_b"), Preview())


def scene(spec: PriorSpec, window: int | None) -> bytes:
    """The picture of the view. `window` is not used: a transition has no inside beyond its phases."""
    if spec.view == "rejection":
        return _rejection(spec, analysis.tested(spec), analysis.chains(spec)).encode()
    if spec.view == "limit":
        return _limit(spec, [analysis.walked(spec, width) for width in WIDER]).encode()
    return (_functions(spec) if spec.view == "functions" else _compare(spec, analysis.compared(spec))).encode()


def grow(spec: PriorSpec, job: Any) -> bytes | None:
    """The same, with pictures of what is known while networks are tested and chains walk."""
    for picture in _beginnings(spec):
        if job.is_set():
            return None
        job.publish(picture.encode())
    return None if job.is_set() else scene(spec, None)


def _beginnings(spec: PriorSpec) -> Iterator[Scene]:
    if spec.view == "rejection" and analysis.chains.peek(spec) is None:
        yield _rejection(spec, analysis.beginning(spec), None)
    if spec.view == "limit" and analysis.walked.peek(spec, WIDER[-1]) is None:
        for number_of in range(1, len(WIDER)):
            yield _limit(spec, [analysis.walked(spec, width) for width in WIDER[:number_of]])
    if spec.view == "compare" and spec.draws > FIRST_COMPARED and analysis.compared.peek(spec) is None:
        yield _compare(spec, analysis.compared(spec.replace(draws=FIRST_COMPARED)))


def _new(spec: PriorSpec, steps: int, label: str, phases: tuple[Phase, ...], rate: float, total: int | None = None) -> Scene:
    run = hashlib.blake2b(repr(spec).encode(), digest_size=12).hexdigest()
    return Scene(run=run, steps=steps, label=label, phases=phases, rate=rate, total=total, theme=theme.palette())


# Functions of one prior -----------------------------------------------------------------------------------------------


def _functions(spec: PriorSpec) -> Scene:
    drawn = analysis.functions(spec)
    sd, pair, kernel = analysis.limit(analysis.meant(spec), spec.at_a, spec.at_b)
    picture = _new(spec, spec.draws, WORDS.phrase("stage.picture"), PHASES, rate=8.0)
    title = WORDS.phrase("stage.functions", sizes="–".join([str(spec.width)] * spec.depth))
    low, high = _reach(drawn.curves, 3.2 * sd.max())
    panel = picture.panel(
        "functions",
        title=title,
        x=Axis(WORDS.phrase("stage.x"), -REACH, REACH),
        y=Axis(WORDS.phrase("stage.f"), low, high),
        place=(0, 0, 2, 2),
        height=410,
    )
    panel.line(drawn.grid, 0.0 * sd, band=(-2 * sd, 2 * sd), role="truth", width=1.0, dash=True, label=WORDS.phrase("stage.wide_band"))
    _curves(panel, drawn.grid, drawn.curves)
    for place, name in ((spec.at_a, "a"), (spec.at_b, "b")):
        panel.rule(x=place, role="muted", dash=True)
        panel.text(place, high - 0.06 * (high - low), name, role="muted")
    for column, place in enumerate((spec.at_a, spec.at_b)):
        at = np.column_stack([np.full(spec.draws, place), drawn.pair[:, column]])
        panel.points(at, show=Show("at", phase=("function", None)), role="highlight", shape="diamond", size=5)
    _marginal(picture, spec, drawn, pair)
    _pairs(picture, drawn, pair)
    drawable = spec.width <= DRAWN_UNITS and drawn.theta.size <= DRAWN_NUMBERS
    _slice(picture, spec, drawn, kernel, place=(0, 2, 2 if drawable else 3, 1))
    if drawable:
        network = picture.panel("network", title=WORDS.phrase("stage.network"), place=(2, 2, 1, 1), height=200)
        network.network(drawn.prior.sizes, drawn.theta, labels=[["x"], *[None] * spec.depth, ["f"]])
    _arithmetic(picture, spec, drawn, pair)
    return picture


def _reach(curves: Array, least: float) -> tuple[float, float]:
    """A symmetric range that holds the exact band and nearly all curves; to the next half of its decade, as an axis is in
    view before the curves are.
    """
    top = max(least, float(np.quantile(np.abs(curves), 0.995)) * 1.1)
    half = 0.5 * 10.0 ** math.floor(math.log10(top))
    top = half * math.ceil(top / half)
    return -top, top


def _curves(panel: Panel, grid: Array, curves: Array, *, trail: int = TRAIL, named: bool = True) -> None:
    """The newest curves, and the present one in bold."""
    panel.line(
        grid,
        curves,
        show=Show("upto", last=trail, fade=True),
        role="posterior",
        width=1.1,
        alpha=0.6,
        label=WORDS.phrase("stage.newest_draws", newest=trail) if named else None,
    )
    present = Show("at", phase=("function", None)) if named else "at"
    panel.line(grid, curves, show=present, role="highlight", width=3.0, label=WORDS.phrase("stage.present") if named else None)


def _marginal(picture: Scene, spec: PriorSpec, drawn: Functions, pair: Array) -> None:
    sd = float(np.sqrt(pair[0, 0]))
    _, top = _reach(drawn.pair[:, :1], 4.0 * sd)
    panel = picture.panel("marginal", title=WORDS.phrase("stage.marginal"), x=Axis("f(a)", -top, top), place=(2, 0, 1, 1), height=195)
    panel.histogram(drawn.pair[:, 0], bins=(-top, top, 36), role="posterior", label=WORDS.phrase("stage.draws_so_far"))
    xs = np.linspace(-top, top, 161)
    bell = np.exp(-0.5 * (xs / sd) ** 2) / (sd * np.sqrt(2 * np.pi))
    panel.line(xs, bell, role="truth", dash=True, width=2.0, label=WORDS.phrase("stage.wide_density"))


def _pairs(picture: Scene, drawn: Functions, pair: Array) -> None:
    reach = _reach(drawn.pair, 3.6 * float(np.sqrt(pair.diagonal().max())))
    panel = picture.panel(
        "pairs",
        title=WORDS.phrase("stage.pairs"),
        x=Axis("f(a)", *reach),
        y=Axis("f(b)", *reach),
        place=(2, 1, 1, 1),
        height=215,
        equal=True,
    )
    xs = np.linspace(*reach, 81)
    precision = np.linalg.inv(pair + 1e-12 * np.eye(2) * np.trace(pair))
    plane = np.stack(np.meshgrid(xs, xs), axis=-1)
    depth = -0.5 * np.einsum("xyi,ij,xyj->xy", plane, precision, plane)
    levels = np.log(1.0 - np.array(REGIONS))  # a share s of a bivariate normal has squared radius -2 log(1 - s)
    panel.contour(depth, levels=levels, x=reach, y=reach, role="truth", label=WORDS.phrase("stage.wide_regions"))
    panel.points(drawn.pair, show="upto", role="posterior", size=2.4, alpha=0.6)
    panel.points(drawn.pair, show=Show("at", phase=("function", None)), role="highlight", shape="diamond", size=5)


def _slice(picture: Scene, spec: PriorSpec, drawn: Functions, kernel: Array, place: tuple[int, int, int, int]) -> None:
    seen = np.cumsum(drawn.pair[:, :1] * drawn.slices, axis=0) / np.arange(1, spec.draws + 1)[:, None]
    top = max(1.25 * float(np.abs(kernel).max()), float(np.abs(seen[-1]).max()) * 1.1)
    low = min(0.0, 1.25 * float(kernel.min()), float(seen[-1].min()) * 1.1) - 0.05 * top
    panel = picture.panel(
        "kernel",
        title=WORDS.phrase("stage.kernel"),
        x=Axis(WORDS.phrase("stage.x"), -REACH, REACH),
        y=Axis(WORDS.phrase("stage.covariance"), low, top),
        place=place,
        height=200,
    )
    panel.line(drawn.at, kernel, role="truth", dash=True, width=2.5, label=WORDS.phrase("stage.exact_kernel"))
    panel.line(drawn.at, seen, show="at", role="posterior", width=2.0, label=WORDS.phrase("stage.average_so_far"))
    panel.rule(x=spec.at_a, role="muted", dash=True)


def _arithmetic(picture: Scene, spec: PriorSpec, drawn: Functions, pair: Array) -> None:
    """The card: the first unit, the sum of all, and the average so far."""
    k, theta = spec.width, drawn.theta
    w, b = theta[:, 0], theta[:, k]
    v, c = theta[:, -k - 1], theta[:, -1]
    inside = w * spec.at_a + b
    name = {"linear": ""}.get(spec.activation, spec.activation)
    out_sd = {"sqrt": f"{spec.out_sd:g}/√{k}", "none": f"{spec.out_sd:g}", "full": f"{spec.out_sd:g}/{k}"}[spec.scaling]
    picture.readout(
        "draw",
        WORDS.phrase("stage.draw_card", weight_sd=spec.weight_sd, bias_sd=spec.bias_sd, out_sd=out_sd, numbers=drawn.prior.dim),
        w=w,
        b=b,
        v=v,
    )
    one = drawn.prior.replace(width=1, depth=1)
    alone = np.column_stack([w, b, np.ones_like(w), np.zeros_like(w)])
    picture.readout(
        "unit",
        WORDS.phrase("stage.unit_of_layer_card" if spec.depth > 1 else "stage.unit_card", activation=name),
        show=FROM_FUNCTION,
        i=inside,
        h=one.values(alone, [spec.at_a])[:, 0],
    )
    f = drawn.pair[:, 0]
    picture.readout("sum", WORDS.phrase("stage.sum_card", units=counted("unit", k)), show=FROM_FUNCTION, c=c, s=f - c, f=f)
    product = drawn.pair[:, 0] * drawn.pair[:, 1]
    count = np.arange(1, spec.draws + 1)
    mean = np.cumsum(product) / count
    spread = np.sqrt(np.maximum(np.cumsum(product**2) / count - mean**2, 0.0) / count)
    kernel = WORDS.phrase("stage.of_exact_kernel" if spec.scaling == "sqrt" else "stage.of_kernel_meant")
    picture.readout(
        "mean",
        WORDS.phrase("stage.mean_card", kernel=kernel, covariance=pair[0, 1]),
        show=FROM_COUNT,
        n=count,
        one=count == 1,
        m=mean,
        e=spread,
    )
    picture.say(WORDS.phrase("stage.said"), f=f, g=drawn.pair[:, 1], m=mean)
    picture.table({"f(a)": f, "f(b)": drawn.pair[:, 1], "average of f(a) f(b)": mean, "w1": w, "b1": b, "v1": v, "c": c})


# Six priors on functions, one on weights ------------------------------------------------------------------------------


def _compare(spec: PriorSpec, six: list[Functions]) -> Scene:
    """`six` : all draws of each, or the first ones."""
    steps = len(six[0].theta)
    picture = _new(spec, steps, WORDS.phrase("stage.picture_of_six"), (), rate=8.0, total=spec.draws if steps < spec.draws else None)
    sds = [float(np.sqrt(drawn.prior.variance(spec.at_a)[0])) if drawn.prior.depth == 1 else None for drawn in six]
    for position, (drawn, (width, depth)) in enumerate(zip(six, COMPARED, strict=True)):
        top = max(float(np.quantile(np.abs(drawn.curves[:FIRST_COMPARED]), 0.995)) * 1.1, 1e-3)
        panel = picture.panel(
            f"net-{position}",
            title=f"{counted('unit', width)}, {counted('layer', depth)}",
            x=Axis(WORDS.phrase("stage.x") if position > 2 else "", -REACH, REACH),
            y=Axis("f(x)" if position % 3 == 0 else "", -top, top),
            place=(position % 3, position // 3, 1, 1),
            height=230,
        )
        if sds[position] is not None:
            sd = np.sqrt(drawn.prior.variance(drawn.grid))
            panel.line(
                drawn.grid,
                0.0 * sd,
                band=(-2 * sd, 2 * sd),
                role="truth",
                width=1.0,
                dash=True,
                label=WORDS.phrase("stage.exact_band") if position == 0 else None,
            )
        _curves(panel, drawn.grid, drawn.curves, trail=14, named=False)
    running = [_running_sd(drawn.pair[:, 0]) for drawn in six]
    for row, name in ((0, "1 layer"), (3, "3 layers")):
        values: dict[str, Any] = {f"s{i}": running[row + i] for i in range(3)}
        parts = ", ".join(f"{counted('unit', COMPARED[row + i][0])} {{s{i}:.3g}}" for i in range(3))
        line = WORDS.phrase("stage.size_card", layers=counted("layer", COMPARED[row][1]), a=spec.at_a, parts=parts)
        known = ", ".join(number(sd) for sd in sds[row : row + 3] if sd is not None)
        words = f"{line}; {WORDS.phrase('stage.exactly', sizes=known)}" if known else line
        picture.readout(name, words, withheld=True, **values)  # asked is how the sizes compare
    divisor = WORDS.phrase(f"stage.divisor_{spec.scaling}")
    sds_of_prior = {"weight_sd": spec.weight_sd, "bias_sd": spec.bias_sd, "out_sd": spec.out_sd}
    picture.readout("weights", WORDS.phrase("stage.prior_card", divisor=divisor, **sds_of_prior))
    picture.say(WORDS.phrase("stage.said_of_six"))
    picture.table({f"f(a), {width} units, {depth} layers": drawn.pair[:, 0] for (width, depth), drawn in zip(COMPARED, six, strict=True)})
    return picture


def _running_sd(values: Array) -> Array:
    return np.sqrt(np.cumsum(values**2) / np.arange(1, len(values) + 1))


# Ever wider networks, given data --------------------------------------------------------------------------------------


def _limit(spec: PriorSpec, walked: list[analysis.Walked]) -> Scene:
    """`walked` : of all widths, or of the first ones."""
    grid = analysis.wide_grid()
    limit = analysis.limit_of(spec, grid)
    picture = _new(spec, len(walked[0].count), WORDS.phrase("stage.picture_of_limit"), (), rate=10.0)
    for number_of, width in enumerate(WIDER):
        first, column, row = number_of == 0, number_of % 2, number_of // 2
        panel = picture.panel(
            f"given-{width}",
            title=", ".join([counted("unit", width), *([counted("layer", spec.depth)] if spec.depth > 1 else [])]),
            x=Axis(WORDS.phrase("stage.x") if row else "", *X_RANGE),
            y=Axis("" if column else WORDS.phrase("stage.f_and_y"), *(Y_RANGE if spec.data == "points" else LEARNT)),
            place=(column, row, 1, 1),
            height=260,
            editable=_editable(spec) if first else None,
        )
        band = (limit.mean - limit.sd, limit.mean + limit.sd)
        panel.line(grid, limit.mean, band=band, role="truth", dash=True, width=2.0, label=WORDS.phrase("stage.limit") if first else None)
        if number_of < len(walked):
            _networks(panel, grid, walked[number_of], named=first)
        _points(panel, spec, everywhere=not first)
    _distance(picture, walked, np.stack([analysis.distances(each, limit) for each in walked], axis=1))
    return picture


def _networks(panel: Panel, grid: Array, each: analysis.Walked, named: bool) -> None:
    """Networks of one width: the newest, and mean and sd of all so far."""
    panel.line(
        grid,
        each.curves,
        show=Show("upto", last=12, fade=True),
        role="posterior",
        width=1.0,
        alpha=0.35,
        label=WORDS.phrase("stage.newest_networks") if named else None,
    )
    panel.line(grid, each.mean, show="at", role="posterior", width=3.0, label=WORDS.phrase("stage.networks_mean") if named else None)
    for edge, name in ((each.mean - each.sd, WORDS.phrase("stage.networks_band")), (each.mean + each.sd, None)):
        panel.line(grid, edge, show="at", role="posterior", width=1.6, dash=True, label=name if named else None)


def _distance(picture: Scene, walked: list[analysis.Walked], apart: Array) -> None:
    """How far from the limit networks of each width are, `apart` (steps, widths, 2), and the card and table of it."""
    least = max(0.7 * float(apart[-1].min()), 1e-4)
    ticks = [(float(width), str(width)) for width in WIDER]
    panel = picture.panel(
        "distance",
        title=WORDS.phrase("stage.distance"),
        x=Axis(WORDS.phrase("stage.units"), 0.8, 1.25 * WIDER[-1], log=True, ticks=ticks),
        y=Axis(WORDS.phrase("stage.root_mean_square"), least, 1.5 * float(apart.max()), log=True),
        place=(2, 0, 1, 2),
        height=520,
    )
    widths = np.array([each.width for each in walked], dtype=np.float64)
    looks = (WORDS.phrase("stage.of_mean"), "posterior", "circle"), (WORDS.phrase("stage.of_sd"), "highlight", "diamond")
    for column, (name, role, shape) in enumerate(looks):
        values = np.maximum(apart[:, :, column], least)
        panel.line(widths, values, show="at", role=role, width=2.0, dash=column == 1, label=name)
        for place, width in enumerate(widths):
            at = np.column_stack([np.full(len(values), width), values[:, place]])
            panel.points(at, show="at", role=role, shape=shape, size=4)
    count = walked[0].count
    for column, name in enumerate(("mean", "sd")):
        gaps: dict[str, Any] = {f"w{place}": apart[:, place, column] for place in range(len(walked))}
        parts = ", ".join(WORDS.phrase("stage.off_with", place=i, units=counted("unit", each.width)) for i, each in enumerate(walked))
        picture.readout(name, WORDS.phrase(f"stage.{name}_off_card", parts=parts), n=count, **gaps)
    if len(walked) == len(WIDER):
        picture.say(WORDS.phrase("stage.said_of_limit"), n=count, first=apart[:, 0, 0], last=apart[:, -1, 0])
    columns = {
        f"{name}, {each.width} units": apart[:, place, i] for place, each in enumerate(walked) for i, name in enumerate(("mean", "sd"))
    }
    picture.table({"networks": count, **columns})


# Rejection ------------------------------------------------------------------------------------------------------------


def _rejection(spec: PriorSpec, tested: Tested, posterior: analysis.Chains | None) -> Scene:
    """`tested` : all networks, or the first ones; `posterior` : by chains, once it is known."""
    data, grid = analysis.data_of(spec), analysis.wide_grid()
    steps, total = len(tested.times), len(analysis.times(spec.tries))
    picture = _new(spec, steps, WORDS.phrase("stage.picture_of_rejection"), TESTS, rate=6.0, total=total if steps < total else None)
    panel = picture.panel(
        "functions",
        title=WORDS.phrase("stage.rejection"),
        x=Axis(WORDS.phrase("stage.x"), *X_RANGE),
        y=Axis(WORDS.phrase("stage.f_and_y"), *Y_RANGE),
        place=(0, 0, 2, 2),
        height=420,
        editable=_editable(spec),
    )
    if posterior is not None:
        panel.line(
            grid,
            posterior.mean,
            band=(posterior.mean - posterior.sd, posterior.mean + posterior.sd),
            role="truth",
            dash=True,
            width=2.0,
            label=WORDS.phrase("stage.by_chain"),
        )
    _accepted(panel, tested, grid)
    _candidate(panel, tested, data, grid)
    _points(panel, spec)
    _survivors(picture, spec, tested)
    _noise(picture, spec, tested)
    _count(picture, spec, tested)
    _test_arithmetic(picture, spec, tested)
    return picture


def _editable(spec: PriorSpec) -> Editable | None:
    if spec.data != "points":
        return None
    rows = np.array(spec.points, dtype=float).reshape(-1, 3)[:, :2] if spec.points else ()
    return Editable(points=rows, classes=("point",), limit=MAX_POINTS)


def _points(panel: Panel, spec: PriorSpec, everywhere: bool = False) -> None:
    """The data; own points are drawn where they are edited, and, if so asked, `everywhere`."""
    if spec.data == "points" and not everywhere:
        return
    data, rest = analysis.data_of(spec), analysis.left_out(spec)
    if len(data.x):
        panel.points(np.column_stack([data.x, data.y]), role="ink", shape="square", size=5, label=WORDS.phrase("stage.data"))
    if rest is not None:
        panel.points(np.column_stack([rest.x, rest.y]), role="muted", shape="ring", size=5, label=WORDS.phrase("stage.not_used"))


def _running(tested: Tested) -> tuple[NDArray[np.int64], Array, Array]:
    """Accepted so far (steps,), and mean and sd of their curves (steps, NODES), NaN below two of them."""
    counted = np.searchsorted(tested.run.index, tested.times)  # of the accepted ones whose curves are kept
    curves = tested.accepted_curves
    zero = np.zeros((1, curves.shape[1]))
    once, twice = (np.concatenate([zero, np.cumsum(values, axis=0)])[counted] for values in (curves, curves**2))
    with np.errstate(all="ignore"):
        mean = np.where(counted[:, None] > 0, once / counted[:, None], np.nan)
        sd = np.sqrt(np.maximum(twice / counted[:, None] - mean**2, 0.0))
    sd[counted < 2] = np.nan
    return counted, mean, sd


def _accepted(panel: Panel, tested: Tested, grid: Array) -> None:
    counted, mean, sd = _running(tested)
    newest = np.full((len(counted), len(grid)), np.nan)
    for step, (before, now) in enumerate(zip(np.concatenate([[0], counted[:-1]]), counted, strict=True)):
        if now > before:
            newest[step] = tested.accepted_curves[now - 1]
    panel.line(grid, newest, show=Show("upto", last=60), role="posterior", width=1.0, alpha=0.35, label=WORDS.phrase("stage.accepted"))
    panel.line(grid, mean, show="at", role="posterior", width=3.0, label=WORDS.phrase("stage.accepted_mean"))
    for edge in (mean - sd, mean + sd):
        panel.line(
            grid,
            edge,
            show="at",
            role="posterior",
            width=1.6,
            dash=True,
            label=WORDS.phrase("stage.accepted_band") if edge[-1, 0] <= mean[-1, 0] else None,
        )


def _candidate(panel: Panel, tested: Tested, data: analysis.Curve, grid: Array) -> None:
    run, last = tested.run, tested.times - 1
    accepted = run.accepted[last][:, None]
    undecided, decided = Show("at", phase=("propose", "u")), Show("at", phase=("decide", None))
    panel.line(grid, tested.candidates, show=undecided, role="proposal", width=2.5, label=WORDS.phrase("stage.candidate"))
    panel.line(
        grid,
        np.where(accepted, tested.candidates, np.nan),
        show=decided,
        role="accept",
        width=3.0,
        label=WORDS.phrase("stage.candidate_accepted"),
    )
    panel.line(
        grid,
        np.where(accepted, np.nan, tested.candidates),
        show=decided,
        role="reject",
        width=2.0,
        dash=True,
        label=WORDS.phrase("stage.candidate_rejected"),
    )
    for point, (x, y) in enumerate(zip(data.x, data.y, strict=True)):
        start = np.column_stack([np.full(len(last), x), tested.residual_ends[:, point]])
        panel.arrows(
            start,
            np.tile([x, y], (len(last), 1)),
            show=Show("at", phase=("compare", "u")),
            role="energy",
            width=1.6,
            label=WORDS.phrase("stage.residuals") if point == 0 else None,
        )


def _survivors(picture: Scene, spec: PriorSpec, tested: Tested) -> None:
    """How many of the networks tested so far the first 0, 1, 2, … points would leave."""
    run = tested.run
    points = len(run.squares) - 1
    logs = np.log(np.maximum(run.uniform, 1e-300))
    left = []
    for n in range(points + 1):
        ratio = run.log_ratio(spec.noise_sd, n)
        scale = {"exact": 0.0, "observed": -ratio.max(), "undivided": run.log_scale * n / max(points, 1)}[spec.bound]
        left.append(np.searchsorted(np.flatnonzero(logs < ratio + scale), tested.times))
    counts = np.column_stack(left).astype(float)
    panel = picture.panel(
        "survivors",
        title=WORDS.phrase("stage.survivors"),
        x=Axis(WORDS.phrase("stage.points_used"), -0.3, max(points, 1) + 0.3, ticks=[(n, str(n)) for n in range(points + 1)]),
        y=Axis(WORDS.phrase("stage.networks"), 0.5, 1.6 * spec.tries, log=True),
        place=(2, 0, 1, 1),
        height=205,
    )
    number_of = np.arange(points + 1.0)
    expected = analysis.expected_survivors(run, spec.noise_sd, spec.tries)
    panel.line(number_of, np.maximum(expected, 0.5), role="truth", dash=True, label=WORDS.phrase("stage.expected"))
    panel.line(number_of, np.where(counts > 0, counts, np.nan), show="at", role="posterior", width=2.0)
    for n in range(points + 1):
        at = np.column_stack([np.full(len(counts), float(n)), np.where(counts[:, n] > 0, counts[:, n], np.nan)])
        panel.points(at, show="at", role="posterior", size=4, label=WORDS.phrase("stage.left") if n == 0 else None)


def _noise(picture: Scene, spec: PriorSpec, tested: Tested) -> None:
    noise = np.geomspace(0.02, 1.0, 13)
    left = analysis.survivors_by_noise(tested.run, noise, spec.tries)
    low = max(float(left.min()), 1e-3)
    panel = picture.panel(
        "noise",
        title=WORDS.phrase("stage.survivors_by_noise"),
        x=Axis(WORDS.phrase("stage.noise"), 0.02, 1.0, log=True),
        y=Axis(WORDS.phrase("stage.networks"), min(low, 1.0), 1.6 * spec.tries, log=True),
        place=(2, 1, 1, 1),
        height=205,
    )
    panel.line(noise, np.maximum(left, low), role="truth", width=2.0, label=WORDS.phrase("stage.expected"))
    panel.rule(x=spec.noise_sd, role="posterior", dash=True, label=WORDS.phrase("stage.present_noise"))
    panel.rule(y=1.0, role="reject", dash=True, label=WORDS.phrase("stage.single"))


def _count(picture: Scene, spec: PriorSpec, tested: Tested) -> None:
    at, total = tested.times.astype(float), np.cumsum(tested.run.accepted)[tested.times - 1].astype(float)
    of_all = float(total[-1]) * spec.tries / tested.run.tried
    panel = picture.panel(
        "count",
        title=WORDS.phrase("stage.count"),
        x=Axis(WORDS.phrase("stage.tested"), 1, spec.tries, log=True),
        y=Axis(WORDS.phrase("stage.number_accepted"), 0, max(of_all * 1.1, 1.0)),
        place=(0, 2, 3, 1),
        height=140,
    )
    panel.line(at, total, show="upto", role="posterior", width=2.0)


def _test_arithmetic(picture: Scene, spec: PriorSpec, tested: Tested) -> None:
    run, last = tested.run, tested.times - 1
    squares, u = run.squares[-1][last], run.uniform[last]
    log_ratio = -squares / (2 * spec.noise_sd**2) + run.log_scale
    ratio = np.exp(np.clip(log_ratio, -700.0, 700.0))
    points = len(run.squares) - 1
    picture.readout("propose", WORDS.phrase("stage.propose_card", tries=spec.tries, numbers=spec.prior().dim), n=last + 1)
    picture.readout("compare", WORDS.phrase("stage.compare_card", points=counted("point", points)), show=FROM_COMPARE, s=squares)
    rule = WORDS.phrase(f"stage.ratio_{spec.bound}_card", two_variances=2 * spec.noise_sd**2)
    scale: dict[str, Any] = {"c": np.full(len(last), run.log_scale)} if spec.bound != "exact" else {}
    picture.readout("ratio", rule, show=FROM_COMPARE, s=squares, r=ratio, **scale)
    picture.readout("u", WORDS.phrase("stage.u_card"), show=FROM_U, u=u)
    total = np.cumsum(run.accepted)[last]
    picture.readout("decide", WORDS.phrase("stage.decide_card"), show=FROM_DECIDE, r=ratio, ok=run.accepted[last], k=total, n=last + 1)
    picture.say(WORDS.phrase("stage.said_of_rejection"), n=last + 1, s=squares, ok=run.accepted[last], k=total)
    picture.table(
        {
            "network": last + 1,
            "sum of squared residuals": squares,
            "ratio": ratio,
            "u": u,
            "accepted": run.accepted[last],
            "accepted so far": total,
        }
    )
