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
from lessons.weight_space.spec import MAX_POINTS, REACH, WeightSpaceSpec

Array = NDArray[np.float64]

WALK = (Phase("draw", "the chain moves"), Phase("copy", "the units are exchanged or flipped"), Phase("compare", "what has changed?"))
COPIED, COMPARED = ("copy", None), ("compare", None)
TALL, LOW = 330, 190
LOWEST = 1e-3  # R-hat − 1 at the foot of the bars
TICKS = [(0.0, "≤1.001"), (1.0, "1.01"), (2.0, "1.1"), (3.0, "2"), (4.0, "11")]
MARGIN = 0.08
CHAINS_DRAWN = 4
BINS = 34
DECIMALS = 14  # of a log density: the last bits of numbers from 8 to 64
NAMES = {"hump": "a hump", "gap": "two levels with a gap", "uneven": "three levels", "xor": "XOR", "points": "own points"}


PREVIEWS = {"at": Preview(), **dict.fromkeys(("prior_sd", "noise_sd", "units", "chain", "warmup"), Preview(smooth=False))}


def scene(spec: WeightSpaceSpec, window: int | None = None) -> bytes:
    """The scene of a spec. It has no inner items, so `window` does not matter."""
    return (_walk if spec.view == "walk" else _predictive)(spec).encode()


def _made(spec: WeightSpaceSpec, what: str, phases: tuple[Phase, ...] = ()) -> Scene:
    return Scene(
        run=repr(spec.simulation()) + spec.view,
        steps=spec.draws,
        rate=12.0,
        start=min(spec.draws - 1, spec.draws // 4),
        phases=phases,
        theme=theme.palette(),
        label=f"{spec.chains} chains of NUTS over the weights of a network with {spec.units} hidden "
        f"{'unit' if spec.units == 1 else 'units'} on {NAMES[spec.data]}: {what}",
    )


# The walk -------------------------------------------------------------------------------------------------------------


def _walk(spec: WeightSpaceSpec) -> Scene:
    picture = _made(spec, "a plane of two weights, the function, and R-hat of weights and of the function.", WALK)
    raw = analysis.draws_of(spec)
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
        title=f"Weight space: {spec.first} against {spec.second}",
        x=Axis(f"{_named(spec, spec.first)}", float(low[0]), float(high[0])),
        y=Axis(f"{_named(spec, spec.second)}", float(low[1]), float(high[1])),
        place=(0, 0, 6, 1),
        height=TALL,
    )
    panel.rule(x=0.0, role="grid").rule(y=0.0, role="grid")
    for chain, path in enumerate(seen):
        shape = theme.MARKERS[chain]
        panel.points(path, show="upto", shape=shape, size=2.2, alpha=0.5, chain=chain, label=f"chain {chain + 1}")
    for index, place in enumerate(others):
        label = f"its copies: {len(others)} other places" if index == 0 else None
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
    panel.line(analysis.GRID, before, show="at", role="posterior", width=4.0, label=f"f of this draw, chain {spec.chain}")
    role = "reject" if _wrong(spec) else "accept"
    panel.line(analysis.GRID, after, show=Show("at", phase=COPIED), role=role, width=2.0, dash=True, label="f of the copy")
    _data_layer(panel, spec)


def _function_panel(
    picture: Scene, spec: WeightSpaceSpec, values: Array, place: tuple[int, int, int, int], height: int, clickable: bool = False
) -> Panel:
    x, y = analysis.data_of(spec)
    editable = None
    if spec.data == "xor":
        # the corners lie at odd halves of a quarter turn
        axis, low, high = Axis("angle on the circle (quarter turns)", -REACH, REACH), 0.0, 1.0
        title, name = "Function space: P(class 1) around the corners", "P(class 1)"
    else:
        ends = np.concatenate([np.quantile(values, [0.005, 0.995]), y])
        low, high = float(ends.min()), float(ends.max())
        axis, title, name = Axis("input x", -REACH, REACH), "Function space", "y and f(x)"
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
        rows = np.column_stack([quarter, y])
        panel.points(rows, classes=y.astype(int), role=roles, shape=shapes, size=3.5, label=["class 0", "class 1"])
        return
    if spec.data == "hump":
        panel.line(analysis.GRID, analysis.hump(analysis.GRID), role="truth", dash=True, width=1.5, label="true curve")
    if len(y):
        panel.points(np.column_stack([x[:, 0], y]), role="ink", size=3.5, label="data")


def _rhats(picture: Scene, spec: WeightSpaceSpec, draws: Array) -> tuple[Array, Array]:
    """Bars of R-hat so far, of every weight and of the function at fixed inputs; returns both, (steps, …)."""
    places = analysis.watched(spec)
    weights = analysis.running_rhat(draws[..., analysis.order_of(spec)])
    functions = analysis.running_rhat(analysis.function_at(spec, draws, places))
    sorted_by = {"none": "", "output": ", units sorted by v", "bend": ", units sorted by −b/w"}[spec.order]
    rows = (
        ("weights", f"R-hat of each weight{sorted_by}", spec.weights, weights, (0, 1, 7, 1), "reject"),
        ("functions", "R-hat of f at fixed inputs", [number(at) for at in places], functions, (7, 1, 5, 1), "accept"),
    )
    for id, title, labels, values, place, role in rows:
        panel = picture.panel(id, title=title, y=Axis("R-hat so far", 0.0, 4.0, ticks=TICKS), place=place, height=LOW)
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
        picture.readout(f"unit{unit + 1}", f"unit {unit + 1}, ({names}): ({old}) → ({new})", **values)
    for id, name, heights in (("before", "draw", made.log_density), ("after", "copy", made.log_density_after)):
        template, digits = _digits(heights)
        picture.readout(id, f"log p(y, θ) of the {name} = {template} nats", show=Show(phase=COMPARED), **digits)
    picture.readout(
        "change",
        "apart by {d:.2g} nats = {u:.2g} ulps (ulp: a number's last bit); f changes by at most {f:.1e}",
        show=Show(phase=COMPARED),
        d=made.log_density_after - made.log_density,
        u=made.ulps,
        f=made.function_error,
    )
    count = symmetry.copies(net)
    signs = f" × 2{'⁰¹²³⁴'[k]} signs" if symmetry.odd(net) else ""
    steps = np.ones(spec.draws)
    picture.readout(
        "copies",
        f"{k}! orders{signs} = {{n:d}} copies of this draw, at {{g:d}} places of this plane",
        n=steps.astype(int) * count,
        g=steps.astype(int) * ghosts,
    )
    worst_weight, worst_function = _worst(weights), _worst(functions)
    picture.readout(
        "rhat", f"{spec.chains} chains: largest split R-hat of a weight {{w:.3f}}, of f {{f:.3f}}", w=worst_weight, f=worst_function
    )
    picture.say(
        "Draw {t:d} of chain " + str(spec.chain) + ". Largest R-hat of a weight {w:.2f}, of the function {f:.2f}. "
        "The copy's log density is {u:.2g} ulps away.",
        w=worst_weight,
        f=worst_function,
        u=made.ulps,
    )
    columns = {name: made.before[:, analysis.column(spec, name)] for name in spec.weights}
    picture.table(
        {
            "draw": np.arange(1, spec.draws + 1),
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
    if weight == "c":
        return "output bias c"
    words = {"w": "weight in" if spec.inputs == 1 else "weight from x₁", "u": "weight from x₂", "b": "bias"}
    return f"{weight}: {words.get(weight[0], 'weight out')}, unit {weight[1:]}"


def _limits(points: Array) -> tuple[Array, Array]:
    low, high = np.quantile(points, 0.001, axis=0), np.quantile(points, 0.999, axis=0)
    pad = np.maximum(MARGIN * (high - low), 1e-3)
    return low - pad, high + pad


# The prediction -------------------------------------------------------------------------------------------------------


def _predictive(spec: WeightSpaceSpec) -> Scene:
    picture = _made(spec, f"the function of each chain, and histograms of its value at {spec.at:g} by chain.")
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
        panel.line(analysis.COARSE_GRID, curves, show="at", chain=chain, width=2.2, label=f"chain {chain + 1}")
    panel.rule(x=spec.at, role="highlight", dash=True, label="x′")
    _data_layer(panel, spec)

    name = _value(spec)
    grid = np.linspace(*limits, 161)
    exact = None if truth is None else truth.density(grid)
    pooled = picture.panel(
        "pooled",
        title=f"All chains, x′ = {number(spec.at)}",
        x=Axis(name, *limits),
        y=Axis("density"),
        place=(7, 0, 5, 1),
        height=TALL - 50,
    )
    middles, density, width = _histogram(values.ravel(), limits)
    pooled.columns(middles, density, widths=width, role="posterior", label="all draws of the run")
    if exact is not None:
        pooled.line(grid, exact, role="truth", dash=True, width=2.5, label="exact (quadrature)")
    _by_chain(picture, spec, values, limits, grid, exact)
    at = 1 + (spec.chains - 1) // 3
    panel = trace_panel(picture, values, name, place=(0, at + 1, 12, 1), height=150, limits=limits)
    panel.rule(y=found.cut, role="ink", dash=True, label="cut between the halves")
    _verdict(picture, spec, values, found, truth is not None)
    return picture


def _value(spec: WeightSpaceSpec) -> str:
    return "P(class 1) at x′" if spec.data == "xor" else "f(x′)"


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
            title=f"Chain {chain + 1} so far",
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
    rhat = analysis.running_rhat(values[:, :, None])[:, 0]
    shares = np.cumsum(values > found.cut, axis=1) / count
    picture.readout("within", "within the chains: W = mean of their variances = {w:.4f}", w=np.where(count > 1, within, np.nan))
    picture.readout("between", "between them: B/n = variance of their means = {b:.4f}", b=between)
    picture.readout("rhat", "split R-hat of f(x′) so far = {r:.3f}", r=rhat)
    terms = ", ".join(f"chain {c + 1}: {{s{c}:.2f}}" for c in range(spec.chains))
    picture.readout("shares", f"share of draws above the cut: {terms}", **{f"s{c}": share for c, share in enumerate(shares)})
    words = "|".join(verdict_words(spec, found, name) for name in analysis.VERDICTS)
    verdict = np.full(n, analysis.VERDICTS.index(found.verdict))
    picture.readout("verdict", f"verdict on the whole run: {{v|{words}}}", v=verdict)
    if known:
        truth = analysis.exact_prediction(spec)
        assert truth is not None
        picture.readout("truth", "mean of all draws so far {m:.3f}, exact {e:.3f}", m=means.mean(axis=0), e=np.full(n, truth.expectation))
    picture.say("Draw {t:d} of each chain: R-hat of the prediction {r:.2f}.", r=rhat)
    table = {f"{_value(spec)}, chain {c + 1}": series for c, series in enumerate(values)}
    picture.table({"draw": count, **table, "W": within, "B/n": between, "split R-hat": rhat})


def verdict_words(spec: WeightSpaceSpec, found: analysis.Prediction, name: str) -> str:
    """A verdict in a few words."""
    return {
        "one hump": f"one hump, R-hat {found.rhat:.2f}",
        "uncertainty": f"two humps, and every chain visits both: R-hat {found.rhat:.2f}. This is uncertainty",
        "unmixed": f"two humps, but the chains disagree: R-hat {found.rhat:.2f}. Unmixed chains, not an answer",
        "open": f"two humps, R-hat {found.rhat:.2f}: too few crossings to tell",
    }[name]


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
