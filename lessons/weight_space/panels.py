"""What stands below the stage, and the table of diagnostics: the same chains sampled on, judged by arviz-stats."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import charts, researcher, theme
from app.kit.charts import Figure, Table
from app.kit.text import chains as how_many
from app.kit.text import number
from engine.networks import symmetry
from lessons.weight_space import analysis
from lessons.weight_space.spec import TWO_HUMPS, UNMIXED, WeightSpaceSpec

Array = NDArray[np.float64]

RULES = {"none": "as sampled", "output": "sorted by v", "bend": "sorted by −b/w"}
LOOKS = {"none": ("reject", "circle"), "output": ("proposal", "square"), "bend": ("accept", "diamond")}
BINS = 30  # as many as in the thesis' figure 5.4
LEAST = 1e-3  # of R-hat − 1 on the logarithmic axis
PAIR = ((TWO_HUMPS, "every chain visits both"), (UNMIXED, "each chain in its own"))


def panels(spec: WeightSpaceSpec, cancel: Any) -> list[Figure | Table]:
    """R-hat of weights, sorted weights and function; the network of average weights; or the two kinds of two humps;
    points left out, and data drawn anew.
    """
    if spec.view == "predictive":
        return [*(two_humps(pair, what, cancel) for pair, what in PAIR), along(spec, cancel)]
    found = analysis.study(spec, cancel)
    predicted = analysis.predicted(spec, found.draws)
    made = researcher.classes_card if analysis.network_of(spec).classes else researcher.card
    return [rhats(spec, found), averages(spec, found), marginal(spec, found), *(made(predicted) if predicted is not None else [])]


def rhats(spec: WeightSpaceSpec, found: analysis.Study) -> Figure:
    """R-hat − 1 of every weight by sorting rule, and of the function."""
    figure = charts.blank("", "R-hat − 1 (logarithmic)")
    places = [f"f({number(at)})" for at in analysis.watched(spec)]
    for rule, summary in found.sorted.items():
        role, symbol = LOOKS[rule]
        marker = {"color": theme.colour(role), "symbol": symbol, "size": 9}
        values = np.maximum(summary.rhat - 1.0, LEAST)
        figure.add_scatter(x=list(spec.weights), y=values, mode="markers", marker=marker, name=RULES[rule])
    marker = {"color": theme.colour("posterior"), "symbol": "cross", "size": 9}
    values = np.maximum(found.functions.rhat - 1.0, LEAST)
    figure.add_scatter(x=places, y=values, mode="markers", marker=marker, name="the function")
    figure.update_yaxes(type="log")
    line = {"color": theme.colour("ink"), "width": 1.5, "dash": "dash"}
    where = {"xref": "x domain", "yref": "y", "x0": 0, "x1": 1, "y0": 0.01, "y1": 0.01}
    figure.layout.shapes = [{"type": "line", "line": line, **where}]
    worst = {rule: number(float(np.max(summary.rhat))) for rule, summary in found.sorted.items()}
    caption = (
        f"{how_many(spec.chains)} of {number(found.draws.shape[1])} draws, the same chains sampled on. Largest R-hat "
        f"of a weight: {worst['none']} as sampled, {worst['output']} sorted by v, {worst['bend']} sorted by −b/w; "
        f"of the function {number(float(np.max(found.functions.rhat)))}. The dashed line is 1.01; below 1.001 lies on "
        "the bottom."
    )
    return Figure("R-hat: weights against function", figure, f"Dots for every weight and input. {caption}", caption)


def averages(spec: WeightSpaceSpec, found: analysis.Study) -> Figure:
    """The mean of the functions, and the function of the mean weights by sorting rule."""
    net, grid = analysis.network_of(spec), analysis.GRID
    some = found.draws[:, :: max(1, found.draws.shape[1] // 250)]
    mean = analysis.function_at(spec, some, grid).mean(axis=(0, 1))
    xor = spec.data == "xor"
    figure = charts.blank("angle (quarter turns)" if xor else "input x", "P(class 1)" if xor else "f(x)", height=charts.HEIGHT)
    line = {"color": theme.colour("posterior"), "width": 4}
    figure.add_scatter(x=grid, y=mean, mode="lines", line=line, name="mean of the functions")
    off = {}
    for (rule, words), dash in zip(RULES.items(), ("dot", "dash", "longdash"), strict=True):
        weights = symmetry.ordered(net, found.draws, rule).mean(axis=(0, 1))
        curve = analysis.function_at(spec, weights[None], grid)[0]
        off[rule] = float(np.sqrt(np.mean((curve - mean) ** 2)))
        look = {"color": theme.colour(LOOKS[rule][0]), "width": 2, "dash": dash}
        figure.add_scatter(x=grid, y=curve, mode="lines", line=look, name=f"mean weights, {words}")
    caption = (
        "The blue curve averages functions, which is what a prediction is. The others first average the weights. Their "
        f"root mean squared distance from it: {number(off['none'])} as sampled, {number(off['output'])} sorted by v, "
        f"{number(off['bend'])} sorted by −b/w."
    )
    return Figure("The network of the average weights", figure, f"Four curves. {caption}", caption)


def marginal(spec: WeightSpaceSpec, found: analysis.Study) -> Figure:
    """Histograms of the first chosen weight: as sampled by chain, and of all chains sorted."""
    net, at = analysis.network_of(spec), analysis.column(spec, spec.first)
    rule = spec.order if spec.order != "none" else "bend"
    raw, arranged = found.draws[..., at], symmetry.ordered(net, found.draws, rule)[..., at]
    low, high = np.quantile(np.concatenate([raw, arranged]), [0.002, 0.998])
    edges = np.linspace(low, high, 61)
    middles = (edges[:-1] + edges[1:]) / 2
    figure = charts.blank(f"{spec.first}", "density")
    for chain, values in enumerate(raw):
        density, _ = np.histogram(values, edges, density=True)
        look = {"color": theme.colour(f"chain-{chain}"), "width": 1.5, "dash": theme.DASHES[chain]}
        figure.add_scatter(x=middles, y=density, mode="lines", line=look, name=f"chain {chain + 1}")
    density, _ = np.histogram(arranged, edges, density=True)
    look = {"color": theme.colour("ink"), "width": 3}
    figure.add_scatter(x=middles, y=density, mode="lines", line=look, name=f"all, {RULES[rule]}")
    j = spec.weights.index(spec.first)
    caption = (
        f"Histograms of {spec.first} by chain as sampled (R-hat {found.weights.rhat[j]:.2f}), and of all draws with "
        f"their units {RULES[rule]} (R-hat {found.sorted[rule].rhat[j]:.2f}, thick)."
    )
    if spec.first != "c":
        even = " and is symmetric about 0" if symmetry.odd(net) else ""
        count = number(symmetry.copies(net))
        caption += f" The exact posterior, all {count} copies together, is the same for every unit{even}."
    return Figure(f"One weight: {spec.first}", figure, f"Lines of histograms. {caption}", caption)


def two_humps(spec: WeightSpaceSpec, what: str, cancel: Any) -> Figure:
    """Predictions at x′ in 30 bins, stacked by chain."""
    values = analysis.function_at(spec, analysis.study(spec, cancel).draws, np.array([spec.at]))[..., 0]
    found = analysis.prediction(values)
    truth = analysis.exact_prediction(spec)
    low, high = np.quantile(values, [0.001, 0.999])
    edges = np.linspace(low, high, BINS + 1)
    middles, width = (edges[:-1] + edges[1:]) / 2, float(edges[1] - edges[0])
    figure = charts.blank(f"f(x′) at x′ = {number(spec.at)}", "density", barmode="stack", bargap=0)
    for chain, series in enumerate(values):
        counts, _ = np.histogram(series, edges)
        pattern = {"shape": ("", "/", "x", "-", "\\", ".")[chain]}
        look = {"color": theme.colour(f"chain-{chain}"), "pattern": pattern}
        figure.add_bar(x=middles, y=counts / (values.size * width), marker=look, name=f"chain {chain + 1}")
    told = "not known"
    if truth is not None:
        grid = np.linspace(edges[0], edges[-1], 201)
        dashed = {"color": theme.colour("ink"), "width": 2, "dash": "dash"}
        figure.add_scatter(x=grid, y=truth.density(grid), mode="lines", line=dashed, name="exact (quadrature)")
        exact, drawn = (number(round(float(mean), 2) + 0.0) for mean in (truth.expectation, values.mean()))
        told = f"exact mean {exact}, mean of all draws {drawn}"
    shares = ", ".join(f"{100 * share:.0f}" for share in found.upper)
    caption = (
        f"{BINS} bins, {number(values.shape[1])} draws of each chain. Share of each chain's draws in the upper hump: "
        f"{shares} %. Split R-hat {found.rhat:.2f}; {told}."
    )
    return Figure(f"Two humps: {what}", figure, f"Stacked histogram. {caption}", caption)


def along(spec: WeightSpaceSpec, cancel: Any) -> Figure:
    """R-hat of f along the whole axis, and the spread between and within chains."""
    found = analysis.study(spec, cancel)
    grid = analysis.COARSE_GRID
    some = found.draws[:, :: max(1, found.draws.shape[1] // 500)]
    values = analysis.function_at(spec, some, grid)
    within = np.sqrt(values.var(axis=1, ddof=1).mean(axis=0))
    between = values.mean(axis=1).std(axis=0, ddof=1)
    figure = charts.blank("angle (quarter turns)" if spec.data == "xor" else "input x′", "standard deviation of f")
    for words, series, role, dash in (
        ("within a chain", within, "posterior", "solid"),
        ("between the chains' means", between, "reject", "dash"),
    ):
        line = {"color": theme.colour(role), "width": 2, "dash": dash}
        figure.add_scatter(x=grid, y=series, mode="lines", line=line, name=words)
    worst = int(np.argmax(between / np.maximum(within, 1e-12)))
    caption = (
        f"At x′ = {number(float(grid[worst]))} the chains differ most: sd {number(float(between[worst]))} "
        f"between their means, {number(float(within[worst]))} within a chain. Where the dashed line is near the solid "
        "one, the spread of all draws together is disagreement of chains."
    )
    return Figure("Within and between, at every input", figure, f"Two curves. {caption}", caption)


def diagnostics(spec: WeightSpaceSpec, cancel: Any) -> Table:
    """R-hat and effective draws: of the weights, of the sorted weights, of the function."""
    found = analysis.study(spec, cancel)
    rows = [
        *((f"weights, {RULES[rule]}", summary) for rule, summary in found.sorted.items()),
        (f"f at {len(analysis.watched(spec))} inputs", found.functions),
    ]
    seconds = max(found.seconds, 1e-9)
    columns: dict[str, list] = {
        "of what": [name for name, _ in rows],
        "largest R-hat": [f"{np.max(summary.rhat):.3f}" for _, summary in rows],
        "least ESS bulk": [float(np.round(np.min(summary.ess_bulk))) for _, summary in rows],
        "least ESS tail": [float(np.round(np.min(summary.ess_tail))) for _, summary in rows],
        "ESS / s": [float(np.min(summary.ess_bulk)) / seconds for _, summary in rows],
        "ESS / 1000 gradients": [1000 * float(np.min(summary.ess_bulk)) / found.gradients for _, summary in rows],
    }
    caption = (
        f"{how_many(spec.chains)} of {spec.warmup} + {number(found.draws.shape[1])} NUTS transitions, "
        f"{number(found.gradients)} gradients in {number(found.seconds)} s, "
        f"{number(int(found.divergent.sum()))} divergent. R-hat is the rank-normalised one of arviz-stats; the bars in "
        "the stage are plain split R-hat of the draws so far. Only the last row is about what the network says."
    )
    return Table("Weights against function", columns, caption)
