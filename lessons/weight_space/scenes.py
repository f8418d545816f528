"""Recording → scene: the walk through weight space beside the function, or the predictions at one input by chain."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import theme
from app.kit.pictures import last_draw, trace_panel
from app.kit.player.scene import Axis, Editable, Panel, Phase, Scene, Show
from app.kit.preview import Preview
from app.kit.text import number
from engine.networks import symmetry
from lessons.weight_space import analysis
from lessons.weight_space.spec import MAX_POINTS, REACH, WORDS, WeightSpaceSpec

Array = NDArray[np.float64]

WALK = (
    Phase("draw", WORDS.phrase("stage.chain_moves")),
    Phase("copy", WORDS.phrase("stage.units_move")),
    Phase("compare", WORDS.phrase("stage.compare")),
)
COPIED, COMPARED = ("copy", None), ("compare", None)
TALL, LOW = 330, 190
LOWEST = 1e-3  # R-hat − 1 at the foot of the bars
TICKS = [(0.0, "≤1.001"), (1.0, "1.01"), (2.0, "1.1"), (3.0, "2"), (4.0, "11")]
MARGIN = 0.08
CHAINS_DRAWN = 4
BINS = 34
DECIMALS = 14  # of a log density: the last bits of numbers from 8 to 64

PREVIEWS = {"at": Preview(), **dict.fromkeys(("prior_sd", "noise_sd", "units", "chain", "warmup"), Preview(smooth=False))}


def scene(spec: WeightSpaceSpec, window: int | None = None) -> bytes:
    """The scene of a spec. It has no inner items, so `window` does not matter."""
    return (_walk(spec, analysis.draws_of(spec)) if spec.view == "walk" else _predictive(spec)).encode()


def grow(spec: WeightSpaceSpec, job: Any) -> bytes | None:
    """The same, with the first draws of a walk while the chains go on."""
    first = analysis.beginning(spec) if spec.view == "walk" else None
    if first is not None:
        job.publish(_walk(spec, first).encode())
    return None if job.is_set() else scene(spec)


def _made(spec: WeightSpaceSpec, steps: int, phases: tuple[Phase, ...] = ()) -> Scene:
    units = WORDS.phrase("stage.unit") if spec.units == 1 else WORDS.phrase("stage.units", units=spec.units)
    return Scene(
        run=repr(spec.simulation()) + spec.view,
        steps=steps,
        rate=12.0,
        start=analysis.start_of(spec),
        phases=phases,
        total=spec.draws if steps < spec.draws else None,
        theme=theme.palette(),
        label=WORDS.phrase(f"stage.{spec.view}", chains=spec.chains, units=units, data=WORDS["data"][spec.data], at=spec.at),
    )


# The walk -------------------------------------------------------------------------------------------------------------


def _walk(spec: WeightSpaceSpec, raw: Array) -> Scene:
    """`raw` : all draws (chains, n, dim), or the first ones."""
    picture = _made(spec, raw.shape[1], WALK)
    draws = analysis.compared(spec, raw)
    made = analysis.copied(spec, draws[spec.chain - 1])
    ghosts = _plane(picture, spec, draws, made)
    _function(picture, spec, made)
    weights, functions = _rhats(picture, spec, draws)
    _arithmetic(picture, spec, made, ghosts, weights, functions)
    return picture


def _plane(picture: Scene, spec: WeightSpaceSpec, draws: Array, made: analysis.Copied) -> int:
    """Draws of all chains on two weights, the present one, and where its copies fall; returns how many places."""
    net = analysis.network_of(spec)
    axes = [analysis.place_of(spec, name) for name in (spec.first, spec.second)]
    columns = [analysis.column(spec, name) for name in (spec.first, spec.second)]
    seen = draws[:, :, columns]
    ghosts = symmetry.shadows(net, made.before, *axes)
    own, others = ghosts[0], ghosts[1:]
    low, high = _limits(np.concatenate([seen.reshape(-1, 2), *others]))
    panel = picture.panel(
        "plane",
        title=WORDS.phrase("stage.plane", first=spec.first, second=spec.second),
        x=Axis(_named(spec, spec.first), float(low[0]), float(high[0])),
        y=Axis(_named(spec, spec.second), float(low[1]), float(high[1])),
        place=(0, 0, 6, 1),
        height=TALL,
    )
    panel.rule(x=0.0, role="grid").rule(y=0.0, role="grid")
    for chain, path in enumerate(seen):
        shape, name = theme.MARKERS[chain], WORDS.phrase("stage.chain", chain=chain + 1)
        panel.points(path, show="upto", shape=shape, size=2.2, alpha=0.5, chain=chain, label=name)
    for index, place in enumerate(others):
        label = WORDS.phrase("stage.copies", places=len(others)) if index == 0 else None
        panel.points(place, show="at", role="highlight", shape="diamond", size=4.5, alpha=0.9, label=label)
    after = made.after[:, columns]
    panel.arrows(own, after, show=Show("at", phase=COPIED), role="reject" if _wrong(spec) else "accept")
    last_draw(panel, own)
    return len(ghosts)


def _function(picture: Scene, spec: WeightSpaceSpec, made: analysis.Copied) -> None:
    """The function of the present draw, and that of its changed copy on top."""
    before, after = (analysis.function_at(spec, theta, analysis.GRID) for theta in (made.before, made.after))
    panel = _function_panel(picture, spec, np.concatenate([before, after]), (6, 0, 6, 1), TALL)
    panel.line(analysis.GRID, before, show=Show("upto", last=15, fade=True), role="muted", width=1.0, alpha=0.5)
    panel.line(analysis.GRID, before, show="at", role="posterior", width=4.0, label=WORDS.phrase("stage.of_draw", chain=spec.chain))
    role = "reject" if _wrong(spec) else "accept"
    panel.line(analysis.GRID, after, show=Show("at", phase=COPIED), role=role, width=2.0, dash=True, label=WORDS.phrase("stage.of_copy"))
    _data_layer(panel, spec)


def _function_panel(
    picture: Scene, spec: WeightSpaceSpec, values: Array, place: tuple[int, int, int, int], height: int, clickable: bool = False
) -> Panel:
    x, y = analysis.data_of(spec)
    editable = None
    if spec.data == "xor":
        # the corners lie at odd halves of a quarter turn
        axis, low, high = Axis(WORDS.phrase("stage.angle"), -REACH, REACH), 0.0, 1.0
        title, name = WORDS.phrase("stage.function_xor"), WORDS.phrase("stage.probability")
    else:
        ends = np.concatenate([np.quantile(values, [0.005, 0.995]), y])
        low, high = float(ends.min()), float(ends.max())
        axis = Axis(WORDS.phrase("stage.input"), -REACH, REACH)
        title, name = WORDS.phrase("stage.function"), WORDS.phrase("stage.value")
        if spec.data == "points" and not clickable:
            editable = Editable(points=np.column_stack([x[:, 0], y, np.zeros(len(y))]), limit=MAX_POINTS)
    pad = MARGIN * (high - low) or 1.0
    return picture.panel(
        "function",
        title=title,
        x=axis,
        y=Axis(name, low - pad, high + pad),
        place=place,
        height=height,
        editable=editable,
        clickable=clickable,
    )


def _data_layer(panel: Panel, spec: WeightSpaceSpec) -> None:
    x, y = analysis.data_of(spec)
    if spec.data == "xor":
        quarter = np.arctan2(x[:, 1], x[:, 0]) / (np.pi / 2)
        roles, shapes = ["class-0", "class-1"], ["circle", "cross"]
        rows, labels = np.column_stack([quarter, y]), [WORDS.phrase("classes.0"), WORDS.phrase("classes.1")]
        panel.points(rows, classes=y.astype(int), role=roles, shape=shapes, size=3.5, label=labels)
        return
    if spec.data == "hump":
        panel.line(analysis.GRID, analysis.hump(analysis.GRID), role="truth", dash=True, width=1.5, label=WORDS.phrase("stage.true_curve"))
    if len(y):
        panel.points(np.column_stack([x[:, 0], y]), role="ink", size=3.5, label=WORDS.phrase("stage.data"))


def _rhats(picture: Scene, spec: WeightSpaceSpec, draws: Array) -> tuple[Array, Array]:
    """Bars of R-hat so far, of every weight and of the function at fixed inputs; returns both, (steps, …)."""
    places = analysis.watched(spec)
    weights = analysis.running_rhat(draws[..., analysis.order_of(spec)], spec.draws)
    functions = analysis.running_rhat(analysis.function_at(spec, draws, places), spec.draws)
    rule = WORDS["rules"][spec.order]
    of_weights = WORDS.phrase("stage.rhat_of_weights" if spec.order == "none" else "stage.rhat_of_sorted_weights", rule=rule)
    rows = (
        ("weights", of_weights, spec.weights, weights, (0, 1, 7, 1), "reject"),
        ("functions", WORDS.phrase("stage.rhat_of_function"), [number(at) for at in places], functions, (7, 1, 5, 1), "accept"),
    )
    for id, title, labels, values, place, role in rows:
        axis = Axis(WORDS.phrase("stage.rhat"), 0.0, 4.0, ticks=TICKS)
        panel = picture.panel(id, title=title, y=axis, place=place, height=LOW)
        panel.bars(_height(values), labels=list(labels), role=role)
        panel.rule(y=float(_height(np.array(1.01))), role="ink", dash=True, label="1.01")
    return weights, functions


def _height(rhat: Array) -> Array:
    """R-hat as the height of a bar: decades of R-hat − 1 above `LOWEST`."""
    excess = np.where(np.isfinite(rhat), rhat - 1.0, np.nan)
    return np.clip(np.log10(np.maximum(excess, LOWEST) / LOWEST), 0.0, 4.0)


def _arithmetic(picture: Scene, spec: WeightSpaceSpec, made: analysis.Copied, ghosts: int, weights: Array, functions: Array) -> None:
    net = analysis.network_of(spec)
    k = spec.units
    (parts, _), (moved, _) = (symmetry.by_unit(net, theta) for theta in (made.before, made.after))
    names = ", ".join(spec.kinds)
    for unit in range(k):
        values: dict[str, Any] = {f"a{i}": parts[:, unit, i] for i in range(parts.shape[2])}
        values |= {f"z{i}": moved[:, unit, i] for i in range(parts.shape[2])}
        old, new = (", ".join(f"{{{letter}{i}:.2f}}" for i in range(parts.shape[2])) for letter in "az")
        picture.readout(f"unit{unit + 1}", WORDS.phrase("stage.unit_card", unit=unit + 1, weights=names, before=old, after=new), **values)
    for id, name, heights in (("before", "draw_card", made.log_density), ("after", "copy_card", made.log_density_after)):
        template, digits = _digits(heights)
        picture.readout(id, WORDS.phrase(f"stage.{name}", digits=template), show=Show(phase=COMPARED), **digits)
    picture.readout(
        "change",
        WORDS.phrase("stage.change_card"),
        show=Show(phase=COMPARED),
        d=made.log_density_after - made.log_density,
        u=made.ulps,
        f=made.function_error,
    )
    count = symmetry.copies(net)
    orders = WORDS.phrase("stage.orders_card", units=k)
    if symmetry.odd(net):
        orders = WORDS.phrase("stage.orders_and_signs_card", units=k, power="⁰¹²³⁴"[k])
    steps = np.ones(len(made.before))
    picture.readout("copies", orders, n=steps.astype(int) * count, g=steps.astype(int) * ghosts)
    worst_weight, worst_function = _worst(weights), _worst(functions)
    picture.readout("rhat", WORDS.phrase("stage.rhat_card", chains=spec.chains), w=worst_weight, f=worst_function)
    picture.say(WORDS.phrase("stage.said", chain=spec.chain), w=worst_weight, f=worst_function, u=made.ulps)
    columns = {name: made.before[:, at] for name, at in zip(spec.weights, analysis.order_of(spec), strict=True)}
    picture.table(
        {
            "draw": np.arange(1, len(steps) + 1),
            **columns,
            "log p(y, θ)": made.log_density,
            "log p(y, θ) of the copy": made.log_density_after,
            "apart (ulps)": made.ulps,
            "R-hat, worst weight": worst_weight,
            "R-hat, worst f": worst_function,
        }
    )


def _worst(rhats: Array) -> Array:
    known = np.all(np.isfinite(rhats), axis=1)
    return np.where(known, np.max(np.where(known[:, None], rhats, 1.0), axis=1), np.nan)


def _digits(values: Array) -> tuple[str, dict[str, Any]]:
    """A template, and its arrays, that show `values` (n,) with `DECIMALS` decimals. Reals travel in single precision,
    which would lose the bits that matter here: so every digit travels by itself."""
    texts = [f"{abs(value):.{DECIMALS}f}".split(".") for value in values]
    arrays = {"minus": np.array(values < 0), "whole": np.array([int(whole) for whole, _ in texts])}
    arrays |= {f"d{i}": np.array([int(tail[i]) for _, tail in texts], dtype=np.uint8) for i in range(DECIMALS)}
    choices = "|".join("0123456789")
    return "{minus?−:}{whole:d}." + "".join(f"{{d{i}|{choices}}}" for i in range(DECIMALS)), arrays


def _wrong(spec: WeightSpaceSpec) -> bool:
    return not analysis.is_symmetry(spec)


def _named(spec: WeightSpaceSpec, weight: str) -> str:
    kind = "w_of_two" if weight[0] == "w" and spec.inputs == 2 else weight[0]
    return WORDS.phrase(f"weights.{kind}", weight=weight, unit=weight[1:])


def _limits(points: Array) -> tuple[Array, Array]:
    low, high = np.quantile(points, 0.001, axis=0), np.quantile(points, 0.999, axis=0)
    pad = np.maximum(MARGIN * (high - low), 1e-3)
    return low - pad, high + pad


# The prediction -------------------------------------------------------------------------------------------------------


def _predictive(spec: WeightSpaceSpec) -> Scene:
    picture = _made(spec, spec.draws)
    draws = analysis.draws_of(spec)
    values = analysis.function_at(spec, draws, np.array([spec.at]))[..., 0]
    found = analysis.prediction(values)
    truth = analysis.exact_prediction(spec)
    low, high = (float(v) for v in np.quantile(values, [0.001, 0.999]))
    if truth is not None:
        low, high = min(low, truth.expectation - 2 * truth.spread), max(high, truth.expectation + 2 * truth.spread)
    pad = 2 * MARGIN * (high - low) or 0.5
    limits = (low - pad, high + pad)

    shown = analysis.function_at(spec, draws[:CHAINS_DRAWN], analysis.COARSE_GRID)
    panel = _function_panel(picture, spec, shown, (0, 0, 7, 1), TALL - 50, clickable=True)
    for chain, curves in enumerate(shown):
        panel.line(analysis.COARSE_GRID, curves, show="at", chain=chain, width=2.2, label=WORDS.phrase("stage.chain", chain=chain + 1))
    panel.rule(x=spec.at, role="highlight", dash=True, label=WORDS.phrase("stage.place"))
    _data_layer(panel, spec)

    name = _value(spec)
    grid = np.linspace(*limits, 161)
    exact = None if truth is None else truth.density(grid)
    pooled = picture.panel(
        "pooled",
        title=WORDS.phrase("stage.all_chains", at=number(spec.at)),
        x=Axis(name, *limits),
        y=Axis(WORDS.phrase("stage.density")),
        place=(7, 0, 5, 1),
        height=TALL - 50,
    )
    middles, density, width = _histogram(values.ravel(), limits)
    pooled.columns(middles, density, widths=width, role="posterior", label=WORDS.phrase("stage.all_draws"))
    if exact is not None:
        pooled.line(grid, exact, role="truth", dash=True, width=2.5, label=WORDS.phrase("stage.exact"))
    _by_chain(picture, spec, values, limits, grid, exact)
    at = 1 + (spec.chains - 1) // 3
    panel = trace_panel(picture, values, name, place=(0, at + 1, 12, 1), height=150, limits=limits)
    panel.rule(y=found.cut, role="ink", dash=True, label=WORDS.phrase("stage.cut"))
    _verdict(picture, spec, values, found, truth is not None)
    return picture


def _value(spec: WeightSpaceSpec) -> str:
    return WORDS.phrase("stage.probability_at_place" if spec.data == "xor" else "stage.at_place")


def _histogram(values: Array, limits: tuple[float, float]) -> tuple[Array, Array, float]:
    """Middles, densities and width of the bars of all draws."""
    density, edges = np.histogram(np.clip(values, *limits), bins=BINS, range=limits, density=True)
    return (edges[:-1] + edges[1:]) / 2, density, float(edges[1] - edges[0])


def _by_chain(picture: Scene, spec: WeightSpaceSpec, values: Array, limits: tuple[float, float], grid: Array, exact: Array | None) -> None:
    """A running histogram of each chain."""
    across = 4 if spec.chains in (2, 4) else 3
    across = min(across, spec.chains)
    span = 12 // across
    for chain, series in enumerate(values):
        panel = picture.panel(
            f"chain{chain + 1}",
            title=WORDS.phrase("stage.chain_so_far", chain=chain + 1),
            x=Axis(_value(spec), *limits),
            y=Axis("", 0.0, None, ticks=[]),
            place=(span * (chain % across), 1 + chain // across, span, 1),
            height=150,
        )
        panel.histogram(series, bins=(*limits, BINS), chain=chain)
        if exact is not None:
            panel.line(grid, exact, role="truth", dash=True, width=1.5)


def _verdict(picture: Scene, spec: WeightSpaceSpec, values: Array, found: analysis.Prediction, known: bool) -> None:
    n = spec.draws
    count = np.arange(1, n + 1)
    means = np.cumsum(values, axis=1) / count
    squares = np.cumsum(values**2, axis=1) / count
    with np.errstate(all="ignore"):
        within = ((squares - means**2) * count / (count - 1)).mean(axis=0)
    between = means.var(axis=0, ddof=1)
    rhat = analysis.running_rhat(values[:, :, None], n)[:, 0]
    shares = np.cumsum(values > found.cut, axis=1) / count
    picture.readout("within", WORDS.phrase("stage.within_card"), w=np.where(count > 1, within, np.nan))
    picture.readout("between", WORDS.phrase("stage.between_card"), b=between)
    picture.readout("rhat", WORDS.phrase("stage.prediction_card"), r=rhat)
    terms = ", ".join(WORDS.phrase("stage.share", chain=c) for c in range(1, spec.chains + 1))
    picture.readout("shares", WORDS.phrase("stage.shares_card", shares=terms), **{f"s{c}": share for c, share in enumerate(shares, 1)})
    words = "|".join(WORDS.phrase(f"verdicts.{name}", rhat=found.rhat) for name in analysis.VERDICTS)
    verdict = np.full(n, analysis.VERDICTS.index(found.verdict))
    picture.readout("verdict", WORDS.phrase("stage.verdict_card", verdicts=words), v=verdict)
    if known:
        truth = analysis.exact_prediction(spec)
        assert truth is not None
        picture.readout("truth", WORDS.phrase("stage.mean_card"), m=means.mean(axis=0), e=np.full(n, truth.expectation))
    picture.say(WORDS.phrase("stage.said_of_prediction"), r=rhat)
    table = {f"{_value(spec)}, chain {c + 1}": series for c, series in enumerate(values)}
    picture.table({"draw": count, **table, "W": within, "B/n": between, "split R-hat": rhat})


# What the reader does in the stage ------------------------------------------------------------------------------------


def on_event(spec: WeightSpaceSpec, event: dict) -> WeightSpaceSpec | None:
    """A click moves x′; points placed, moved or removed become the data."""
    if event.get("panel") != "function":
        return None
    if event.get("kind") == "click":
        return spec.replace(at=round(min(max(float(event["x"]), -REACH), REACH), 2))
    if event.get("kind") == "points":
        rows = [
            (round(min(max(float(x), -REACH), REACH), 3), round(min(max(float(y), -REACH), REACH), 3), 0)
            for x, y, *_ in event["points"][:MAX_POINTS]
        ]
        return spec.replace(data="points", points=tuple(rows))
    return None
