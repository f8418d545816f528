"""From draws to the picture: functions of the prior, six priors side by side, rejection by data, and the wide limit given
data.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import theme
from app.kit.player.scene import Axis, Editable, Panel, Phase, Scene, Show
from app.kit.preview import Preview
from app.kit.text import number
from lessons.prior_predictive import analysis
from lessons.prior_predictive.analysis import COMPARED, Functions, Tested
from lessons.prior_predictive.spec import MAX_POINTS, REACH, WIDER, X_RANGE, Y_RANGE, PriorSpec

Array = NDArray[np.float64]

PHASES = (Phase("draw", "draw the weights"), Phase("function", "compute the function"), Phase("count", "count it in"))
TESTS = (
    Phase("propose", "the prior proposes"),
    Phase("compare", "compare with the points"),
    Phase("u", "draw u"),
    Phase("decide", "accept or reject"),
)
TRAIL = 25  # curves that stay in the picture
DRAWN_UNITS = 16  # a layer of a network that is drawn, at most
DRAWN_NUMBERS = 40_000  # weights in one message
LEARNT = (-0.8, 1.5)  # outputs of networks that are given the six points
REGIONS = (0.5, 0.8, 0.95, 0.99)
FROM_FUNCTION = Show("all", phase=("function", None))
FROM_COUNT = Show("all", phase=("count", None))
FROM_COMPARE, FROM_U, FROM_DECIDE = (Show("all", phase=(phase, None)) for phase in ("compare", "u", "decide"))


PREVIEWS = dict.fromkeys(("noise_sd", "weight_sd", "bias_sd", "out_sd", "out_bias_sd", "at_a", "at_b"), Preview())


def scene(spec: PriorSpec, window: int | None) -> bytes:
    """The picture of the view. `window` is not used: a transition has no inside beyond its phases."""
    return {"functions": _functions, "compare": _compare, "rejection": _rejection, "limit": _limit}[spec.view](spec).encode()


def _new(spec: PriorSpec, steps: int, label: str, phases: tuple[Phase, ...], rate: float) -> Scene:
    run = hashlib.blake2b(repr(spec).encode(), digest_size=12).hexdigest()
    return Scene(run=run, steps=steps, label=label, phases=phases, rate=rate, theme=theme.palette())


# Functions of one prior -----------------------------------------------------------------------------------------------


def _functions(spec: PriorSpec) -> Scene:
    drawn = analysis.functions(spec)
    sd, pair, kernel = analysis.limit(analysis.meant(spec), spec.at_a, spec.at_b)
    picture = _new(
        spec,
        spec.draws,
        "Functions of networks drawn from their prior with the exact band of the wide limit, their values at two "
        "inputs, and the covariance of the two inputs against the exact kernel.",
        PHASES,
        rate=8.0,
    )
    title = f"Functions of a 1–{'–'.join([str(spec.width)] * spec.depth)}–1 network"
    low, high = _reach(drawn.curves, 3.2 * sd.max())
    panel = picture.panel(
        "functions", title=title, x=Axis("input x", -REACH, REACH), y=Axis("output f(x)", low, high), place=(0, 0, 2, 2), height=410
    )
    panel.line(drawn.grid, 0.0 * sd, band=(-2 * sd, 2 * sd), role="truth", width=1.0, dash=True, label="wide limit: mean ± 2 sd, 95 %")
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
        network = picture.panel("network", title="The network of this draw", place=(2, 2, 1, 1), height=200)
        network.network(drawn.prior.sizes, drawn.theta, labels=[["x"], *[None] * spec.depth, ["f"]])
    _arithmetic(picture, spec, drawn, pair)
    return picture


def _reach(curves: Array, least: float) -> tuple[float, float]:
    """A symmetric range that holds the exact band and nearly all curves."""
    top = max(least, float(np.quantile(np.abs(curves), 0.995)) * 1.1)
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
        label=f"the {trail} newest draws" if named else None,
    )
    present = Show("at", phase=("function", None)) if named else "at"
    panel.line(grid, curves, show=present, role="highlight", width=3.0, label="present draw" if named else None)


def _marginal(picture: Scene, spec: PriorSpec, drawn: Functions, pair: Array) -> None:
    sd = float(np.sqrt(pair[0, 0]))
    _, top = _reach(drawn.pair[:, :1], 4.0 * sd)
    panel = picture.panel("marginal", title="f(a) of all draws so far", x=Axis("f(a)", -top, top), place=(2, 0, 1, 1), height=195)
    panel.histogram(drawn.pair[:, 0], bins=(-top, top, 36), role="posterior", label="draws so far")
    xs = np.linspace(-top, top, 161)
    bell = np.exp(-0.5 * (xs / sd) ** 2) / (sd * np.sqrt(2 * np.pi))
    panel.line(xs, bell, role="truth", dash=True, width=2.0, label="wide limit: Gaussian")


def _pairs(picture: Scene, drawn: Functions, pair: Array) -> None:
    reach = _reach(drawn.pair, 3.6 * float(np.sqrt(pair.diagonal().max())))
    panel = picture.panel(
        "pairs", title="f(a) against f(b)", x=Axis("f(a)", *reach), y=Axis("f(b)", *reach), place=(2, 1, 1, 1), height=215, equal=True
    )
    xs = np.linspace(*reach, 81)
    precision = np.linalg.inv(pair + 1e-12 * np.eye(2) * np.trace(pair))
    plane = np.stack(np.meshgrid(xs, xs), axis=-1)
    depth = -0.5 * np.einsum("xyi,ij,xyj->xy", plane, precision, plane)
    levels = np.log(1.0 - np.array(REGIONS))  # a share s of a bivariate normal has squared radius -2 log(1 - s)
    panel.contour(depth, levels=levels, x=reach, y=reach, role="truth", label="wide limit: regions of 50, 80, 95, 99 %")
    panel.points(drawn.pair, show="upto", role="posterior", size=2.4, alpha=0.6)
    panel.points(drawn.pair, show=Show("at", phase=("function", None)), role="highlight", shape="diamond", size=5)


def _slice(picture: Scene, spec: PriorSpec, drawn: Functions, kernel: Array, place: tuple[int, int, int, int]) -> None:
    seen = np.cumsum(drawn.pair[:, :1] * drawn.slices, axis=0) / np.arange(1, spec.draws + 1)[:, None]
    top = max(1.25 * float(np.abs(kernel).max()), float(np.abs(seen[-1]).max()) * 1.1)
    low = min(0.0, 1.25 * float(kernel.min()), float(seen[-1].min()) * 1.1) - 0.05 * top
    panel = picture.panel(
        "kernel",
        title="The kernel: mean of f(a)·f(x) over the draws",
        x=Axis("input x", -REACH, REACH),
        y=Axis("covariance", low, top),
        place=place,
        height=200,
    )
    panel.line(drawn.at, kernel, role="truth", dash=True, width=2.5, label="exact kernel")
    panel.line(drawn.at, seen, show="at", role="posterior", width=2.0, label="average so far")
    panel.rule(x=spec.at_a, role="muted", dash=True)


def _arithmetic(picture: Scene, spec: PriorSpec, drawn: Functions, pair: Array) -> None:
    """The card: the first unit, the sum of all, and the average so far."""
    k, theta = spec.width, drawn.theta
    w, b = theta[:, 0], theta[:, k]
    v, c = theta[:, -k - 1], theta[:, -1]
    inside = w * spec.at_a + b
    name = {"linear": ""}.get(spec.activation, spec.activation)
    divisor = {"sqrt": f"{spec.out_sd:g}/√{k}", "none": f"{spec.out_sd:g}", "full": f"{spec.out_sd:g}/{k}"}[spec.scaling]
    picture.readout(
        "draw",
        f"draw: w₁ ~ N(0, sd {spec.weight_sd:g}) = {{w:.3f}}, b₁ ~ N(0, sd {spec.bias_sd:g}) = {{b:.3f}}, "
        f"v₁ ~ N(0, sd {divisor}) = {{v:.3f}}; {drawn.prior.dim:,} such numbers",
        w=w,
        b=b,
        v=v,
    )
    one = drawn.prior.replace(width=1, depth=1)
    alone = np.column_stack([w, b, np.ones_like(w), np.zeros_like(w)])
    picture.readout(
        "unit",
        f"unit 1{' of layer 1' if spec.depth > 1 else ''} at a: {name}(w₁a + b₁) = {name}({{i:.3f}}) = {{h:.3f}}",
        show=FROM_FUNCTION,
        i=inside,
        h=one.values(alone, [spec.at_a])[:, 0],
    )
    f = drawn.pair[:, 0]
    picture.readout(
        "sum",
        f"output: f(a) = c + Σⱼ vⱼhⱼ = {{c:.3f}} + {{s:.3f}} = {{f:.3f}}, a sum over {k} unit{'s' * (k > 1)}",
        show=FROM_FUNCTION,
        c=c,
        s=f - c,
        f=f,
    )
    product = drawn.pair[:, 0] * drawn.pair[:, 1]
    count = np.arange(1, spec.draws + 1)
    mean = np.cumsum(product) / count
    spread = np.sqrt(np.maximum(np.cumsum(product**2) / count - mean**2, 0.0) / count)
    meant = "the kernel that was meant" if spec.scaling != "sqrt" else "the exact kernel"
    picture.readout(
        "mean",
        f"average of f(a)·f(b) over {{n:d}} draw{{one?:s}}: {{m:.3f}} ± {{e:.3f}} (MCSE); {meant}: {pair[0, 1]:.3f}",
        show=FROM_COUNT,
        n=count,
        one=count == 1,
        m=mean,
        e=spread,
    )
    picture.say(
        "Draw {t} of {steps}: f(a) is {f:.2f}, f(b) is {g:.2f}; the average of their product is {m:.3f}.", f=f, g=drawn.pair[:, 1], m=mean
    )
    picture.table({"f(a)": f, "f(b)": drawn.pair[:, 1], "average of f(a) f(b)": mean, "w1": w, "b1": b, "v1": v, "c": c})


# Six priors on functions, one on weights ------------------------------------------------------------------------------


def _compare(spec: PriorSpec) -> Scene:
    six = analysis.compared(spec)
    picture = _new(spec, spec.draws, "Functions of networks of six sizes, all with the same prior on each weight.", (), rate=8.0)
    sds = [float(np.sqrt(drawn.prior.variance(spec.at_a)[0])) if drawn.prior.depth == 1 else None for drawn in six]
    for position, (drawn, (width, depth)) in enumerate(zip(six, COMPARED, strict=True)):
        top = max(float(np.quantile(np.abs(drawn.curves), 0.995)) * 1.1, 1e-3)
        panel = picture.panel(
            f"net-{position}",
            title=f"{width} unit{'s' * (width > 1)}, {depth} layer{'s' * (depth > 1)}",
            x=Axis("input x" if position > 2 else "", -REACH, REACH),
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
                label="exact mean ± 2 sd" if position == 0 else None,
            )
        _curves(panel, drawn.grid, drawn.curves, trail=14, named=False)
    running = [_running_sd(drawn.pair[:, 0]) for drawn in six]
    for row, name in ((0, "1 layer"), (3, "3 layers")):
        values: dict[str, Any] = {f"s{i}": running[row + i] for i in range(3)}
        parts = ", ".join(f"{COMPARED[row + i][0]} units {{s{i}:.3g}}" for i in range(3))
        known = [number(sd) for sd in sds[row : row + 3] if sd is not None]
        exact = f"; exactly {', '.join(known)}" if known else ""
        picture.readout(name, f"{name}, root mean square of f at a = {spec.at_a:g} so far: {parts}{exact}", **values)
    picture.readout(
        "weights",
        f"prior of every network: hidden weights sd {spec.weight_sd:g}, biases sd {spec.bias_sd:g}, output weights sd "
        f"{spec.out_sd:g}, divided by { {'sqrt': '√k', 'none': '1: no scaling', 'full': 'k'}[spec.scaling] }",
    )
    names = [f"f(a), {width} units, {depth} layers" for width, depth in COMPARED]
    picture.say("Draw {t} of {steps} of six networks with the same prior on each weight.")
    picture.table({name: drawn.pair[:, 0] for name, drawn in zip(names, six, strict=True)})
    return picture


def _running_sd(values: Array) -> Array:
    return np.sqrt(np.cumsum(values**2) / np.arange(1, len(values) + 1))


# Ever wider networks, given data --------------------------------------------------------------------------------------


def _limit(spec: PriorSpec) -> Scene:
    walked, grid = analysis.wider(spec), analysis.wide_grid()
    limit = analysis.limit_of(spec, grid)
    picture = _new(
        spec,
        len(walked[0].count),
        "Networks of ever more units given the same points: their mean and band beside those of the wide limit, and how far "
        "from it they are.",
        (),
        rate=10.0,
    )
    for number_of, each in enumerate(walked):
        first, column, row = number_of == 0, number_of % 2, number_of // 2
        panel = picture.panel(
            f"given-{each.width}",
            title=f"{each.width} unit{'s' * (each.width > 1)}{f', {spec.depth} layers' if spec.depth > 1 else ''}",
            x=Axis("input x" if row else "", *X_RANGE),
            y=Axis("" if column else "output f(x), data y", *(Y_RANGE if spec.data == "points" else LEARNT)),
            place=(column, row, 1, 1),
            height=260,
            editable=_editable(spec) if first else None,
        )
        band = (limit.mean - limit.sd, limit.mean + limit.sd)
        panel.line(grid, limit.mean, band=band, role="truth", dash=True, width=2.0, label="wide limit: mean ± sd" if first else None)
        shown = Show("upto", last=12, fade=True)
        panel.line(grid, each.curves, show=shown, role="posterior", width=1.0, alpha=0.35, label="newest networks" if first else None)
        panel.line(grid, each.mean, show="at", role="posterior", width=3.0, label="networks so far: mean" if first else None)
        for edge, name in ((each.mean - each.sd, "networks so far: mean ± sd"), (each.mean + each.sd, None)):
            panel.line(grid, edge, show="at", role="posterior", width=1.6, dash=True, label=name if first else None)
        _points(panel, spec, everywhere=not first)
    _distance(picture, walked, np.stack([analysis.distances(each, limit) for each in walked], axis=1))
    return picture


def _distance(picture: Scene, walked: list[analysis.Walked], apart: Array) -> None:
    """How far from the limit networks of each width are, apart (steps, widths, 2), and the card and table of it."""
    least = max(0.7 * float(apart[-1].min()), 1e-4)
    ticks = [(float(width), str(width)) for width in WIDER]
    panel = picture.panel(
        "distance",
        title="Off the limit by",
        x=Axis("units k (log scale)", 0.8, 1.25 * WIDER[-1], log=True, ticks=ticks),
        y=Axis("root mean square over x (log scale)", least, 1.5 * float(apart.max()), log=True),
        place=(2, 0, 1, 2),
        height=520,
    )
    widths = np.array(WIDER, dtype=np.float64)
    looks = ("distance of the mean", "posterior", "circle"), ("distance of the sd", "highlight", "diamond")
    for column, (name, role, shape) in enumerate(looks):
        values = np.maximum(apart[:, :, column], least)
        panel.line(widths, values, show="at", role=role, width=2.0, dash=column == 1, label=name)
        for place, width in enumerate(widths):
            at = np.column_stack([np.full(len(values), width), values[:, place]])
            panel.points(at, show="at", role=role, shape=shape, size=4)
    count = walked[0].count
    for column, name in enumerate(("mean", "sd")):
        gaps: dict[str, Any] = {f"w{place}": apart[:, place, column] for place in range(len(WIDER))}
        parts = ", ".join(f"{{w{place}:.3f}} with {width} unit{'s' * (width > 1)}" for place, width in enumerate(WIDER))
        picture.readout(name, f"{{n:d}} networks each: {name} of f off that of the limit by {parts}", n=count, **gaps)
    picture.say(
        "{n:d} networks of each width: the mean is off the limit's by {first:.3f} with one unit, by {last:.3f} with the most.",
        n=count,
        first=apart[:, 0, 0],
        last=apart[:, -1, 0],
    )
    columns = {f"{name}, {width} units": apart[:, place, i] for place, width in enumerate(WIDER) for i, name in enumerate(("mean", "sd"))}
    picture.table({"networks": count, **columns})


# Rejection ------------------------------------------------------------------------------------------------------------


def _rejection(spec: PriorSpec) -> Scene:
    tested, data, grid = analysis.tested(spec), analysis.data_of(spec), analysis.wide_grid()
    at = tested.times
    picture = _new(
        spec,
        len(at),
        "Networks drawn from the prior, tested against the points and accepted or rejected; the accepted curves, "
        "their mean and band, and how many survive.",
        TESTS,
        rate=6.0,
    )
    panel = picture.panel(
        "functions",
        title="The prior proposes, the likelihood rejects",
        x=Axis("input x", *X_RANGE),
        y=Axis("output f(x), data y", *Y_RANGE),
        place=(0, 0, 2, 2),
        height=420,
        editable=_editable(spec),
    )
    posterior = analysis.chains(spec)
    panel.line(
        grid,
        posterior.mean,
        band=(posterior.mean - posterior.sd, posterior.mean + posterior.sd),
        role="truth",
        dash=True,
        width=2.0,
        label="posterior by a Markov chain: mean ± sd",
    )
    _accepted(panel, tested, grid)
    _candidate(panel, tested, data, grid)
    _points(panel, spec)
    _survivors(picture, spec, tested)
    _noise(picture, spec, tested)
    _count(picture, tested)
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
        panel.points(np.column_stack([data.x, data.y]), role="ink", shape="square", size=5, label="data")
    if rest is not None:
        panel.points(np.column_stack([rest.x, rest.y]), role="muted", shape="ring", size=5, label="points not used yet")


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
    panel.line(
        grid, newest, show=Show("upto", last=60), role="posterior", width=1.0, alpha=0.35, label="accepted (the newest of each step)"
    )
    panel.line(grid, mean, show="at", role="posterior", width=3.0, label="accepted so far: mean")
    for edge in (mean - sd, mean + sd):
        panel.line(
            grid,
            edge,
            show="at",
            role="posterior",
            width=1.6,
            dash=True,
            label="accepted so far: mean ± sd" if edge[-1, 0] <= mean[-1, 0] else None,
        )


def _candidate(panel: Panel, tested: Tested, data: analysis.Curve, grid: Array) -> None:
    run, last = tested.run, tested.times - 1
    accepted = run.accepted[last][:, None]
    undecided, decided = Show("at", phase=("propose", "u")), Show("at", phase=("decide", None))
    panel.line(grid, tested.candidates, show=undecided, role="proposal", width=2.5, label="candidate")
    panel.line(grid, np.where(accepted, tested.candidates, np.nan), show=decided, role="accept", width=3.0, label="candidate accepted")
    panel.line(
        grid, np.where(accepted, np.nan, tested.candidates), show=decided, role="reject", width=2.0, dash=True, label="candidate rejected"
    )
    for point, (x, y) in enumerate(zip(data.x, data.y, strict=True)):
        start = np.column_stack([np.full(len(last), x), tested.residual_ends[:, point]])
        panel.arrows(
            start,
            np.tile([x, y], (len(last), 1)),
            show=Show("at", phase=("compare", "u")),
            role="energy",
            width=1.6,
            label="residuals" if point == 0 else None,
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
        left.append(np.cumsum(logs < ratio + scale)[tested.times - 1])
    counts = np.column_stack(left).astype(float)
    panel = picture.panel(
        "survivors",
        title="Survivors by points",
        x=Axis("points used", -0.3, max(points, 1) + 0.3, ticks=[(n, str(n)) for n in range(points + 1)]),
        y=Axis("networks", 0.5, 1.6 * spec.tries, log=True),
        place=(2, 0, 1, 1),
        height=205,
    )
    number_of = np.arange(points + 1.0)
    expected = analysis.expected_survivors(run, spec.noise_sd)
    panel.line(number_of, np.maximum(expected, 0.5), role="truth", dash=True, label="tested × mean of L/L_max")
    panel.line(number_of, np.where(counts > 0, counts, np.nan), show="at", role="posterior", width=2.0)
    for n in range(points + 1):
        at = np.column_stack([np.full(len(counts), float(n)), np.where(counts[:, n] > 0, counts[:, n], np.nan)])
        panel.points(at, show="at", role="posterior", size=4, label="survivors of those tested so far" if n == 0 else None)


def _noise(picture: Scene, spec: PriorSpec, tested: Tested) -> None:
    noise = np.geomspace(0.02, 1.0, 13)
    left = analysis.survivors_by_noise(tested.run, noise)
    low = max(float(left.min()), 1e-3)
    panel = picture.panel(
        "noise",
        title="Survivors by σ",
        x=Axis("noise sd σ", 0.02, 1.0, log=True),
        y=Axis("networks", min(low, 1.0), 1.6 * spec.tries, log=True),
        place=(2, 1, 1, 1),
        height=205,
    )
    panel.line(noise, np.maximum(left, low), role="truth", width=2.0, label="tested × mean of L/L_max")
    panel.rule(x=spec.noise_sd, role="posterior", dash=True, label="present σ")
    panel.rule(y=1.0, role="reject", dash=True, label="one single survivor")


def _count(picture: Scene, tested: Tested) -> None:
    at, total = tested.times.astype(float), np.cumsum(tested.run.accepted)[tested.times - 1].astype(float)
    panel = picture.panel(
        "count",
        title="Accepted so far",
        x=Axis("networks tested (log scale)", 1, float(at[-1]), log=True),
        y=Axis("accepted", 0, max(float(total[-1]) * 1.1, 1.0)),
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
    picture.readout("propose", f"propose: network {{n:d}} of {spec.tries:,}, {spec.prior().dim} numbers from the prior", n=last + 1)
    picture.readout(
        "compare", f"compare: S = Σ(yᵢ − f(xᵢ))² over {points} point{'s' * (points != 1)} = {{s:.4f}}", show=FROM_COMPARE, s=squares
    )
    if spec.bound == "exact":
        rule = f"L/L_max = exp(−S / 2σ²) = exp(−{{s:.4f}} / {2 * spec.noise_sd**2:.4g}) = {{r:.3g}}"
    elif spec.bound == "observed":
        rule = f"L over the largest L seen = exp(−{{s:.4f}} / {2 * spec.noise_sd**2:.4g} + {{c:.3f}}) = {{r:.3g}}"
    else:
        rule = f"L itself = exp({{c:.3f}} − {{s:.4f}} / {2 * spec.noise_sd**2:.4g}) = {{r:.3g}}: a density, not a probability"
    scale: dict[str, Any] = {"c": np.full(len(last), run.log_scale)} if spec.bound != "exact" else {}
    picture.readout("ratio", rule, show=FROM_COMPARE, s=squares, r=ratio, **scale)
    picture.readout("u", "draw: u = {u:.4f}, uniform between 0 and 1", show=FROM_U, u=u)
    total = np.cumsum(run.accepted)[last]
    picture.readout(
        "decide",
        "u < {r:.3g}: {ok?yes, accepted:no, rejected}. Accepted so far: {k:d} of {n:d}",
        show=FROM_DECIDE,
        r=ratio,
        ok=run.accepted[last],
        k=total,
        n=last + 1,
    )
    picture.say(
        "Network {n:d}: squared residuals {s:.3f}, {ok?accepted:rejected}. Accepted so far {k:d}.",
        n=last + 1,
        s=squares,
        ok=run.accepted[last],
        k=total,
    )
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
