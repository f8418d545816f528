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
from lessons.weight_space.spec import TWO_HUMPS, UNMIXED, WORDS, WeightSpaceSpec

Array = NDArray[np.float64]

RULES = WORDS["rules"]
LOOKS = {"none": ("reject", "circle"), "output": ("proposal", "square"), "bend": ("accept", "diamond")}
BINS = 30  # as many as in the thesis' figure 5.4
LEAST = 1e-3  # of R-hat − 1 on the logarithmic axis


def panels(spec: WeightSpaceSpec, cancel: Any) -> list[Figure | Table]:
    """R-hat of weights, sorted weights and function; the network of average weights; or the two kinds of two humps;
    points left out, and data drawn anew.
    """
    if spec.view == "predictive":
        mixed, unmixed = WORDS.phrase("panels.humps_mixed"), WORDS.phrase("panels.humps_unmixed")
        return [two_humps(TWO_HUMPS, mixed, cancel), two_humps(UNMIXED, unmixed, cancel), along(spec, cancel)]
    found = analysis.study(spec, cancel)
    predicted = analysis.predicted(spec, found.draws)
    made = researcher.classes_card if analysis.network_of(spec).classes else researcher.card
    return [rhats(spec, found), averages(spec, found), marginal(spec, found), *(made(predicted) if predicted is not None else [])]


def rhats(spec: WeightSpaceSpec, found: analysis.Study) -> Figure:
    """R-hat − 1 of every weight by sorting rule, and of the function."""
    figure = charts.blank("", WORDS.phrase("panels.excess"))
    places = [f"f({number(at)})" for at in analysis.watched(spec)]
    for rule, summary in found.sorted.items():
        role, symbol = LOOKS[rule]
        marker = {"color": theme.colour(role), "symbol": symbol, "size": 9}
        values = np.maximum(summary.rhat - 1.0, LEAST)
        figure.add_scatter(x=list(spec.weights), y=values, mode="markers", marker=marker, name=RULES[rule])
    marker = {"color": theme.colour("posterior"), "symbol": "cross", "size": 9}
    values = np.maximum(found.functions.rhat - 1.0, LEAST)
    figure.add_scatter(x=places, y=values, mode="markers", marker=marker, name=WORDS.phrase("panels.function"))
    figure.update_yaxes(type="log")
    line = {"color": theme.colour("ink"), "width": 1.5, "dash": "dash"}
    where = {"xref": "x domain", "yref": "y", "x0": 0, "x1": 1, "y0": 0.01, "y1": 0.01}
    figure.layout.shapes = [{"type": "line", "line": line, **where}]
    worst = {rule: number(float(np.max(summary.rhat))) for rule, summary in found.sorted.items()}
    worst["function"] = number(float(np.max(found.functions.rhat)))
    caption = WORDS.phrase("panels.rhats_caption", chains=how_many(spec.chains), draws=number(found.draws.shape[1]), **worst)
    return Figure(WORDS.phrase("panels.rhats"), figure, WORDS.phrase("panels.rhats_alt", caption=caption), caption)


def averages(spec: WeightSpaceSpec, found: analysis.Study) -> Figure:
    """The mean of the functions, and the function of the mean weights by sorting rule."""
    net, grid = analysis.network_of(spec), analysis.GRID
    some = found.draws[:, :: max(1, found.draws.shape[1] // 250)]
    mean = analysis.function_at(spec, some, grid).mean(axis=(0, 1))
    axes = ("panels.angle", "stage.probability") if spec.data == "xor" else ("stage.input", "panels.value")
    figure = charts.blank(*map(WORDS.phrase, axes))
    line = {"color": theme.colour("posterior"), "width": 4}
    figure.add_scatter(x=grid, y=mean, mode="lines", line=line, name=WORDS.phrase("panels.mean_function"))
    off = {}
    for (rule, words), dash in zip(RULES.items(), ("dot", "dash", "longdash"), strict=True):
        weights = symmetry.ordered(net, found.draws, rule).mean(axis=(0, 1))
        curve = analysis.function_at(spec, weights[None], grid)[0]
        off[rule] = number(float(np.sqrt(np.mean((curve - mean) ** 2))))
        look = {"color": theme.colour(LOOKS[rule][0]), "width": 2, "dash": dash}
        figure.add_scatter(x=grid, y=curve, mode="lines", line=look, name=WORDS.phrase("panels.mean_weights", rule=words))
    caption = WORDS.phrase("panels.averages_caption", **off)
    return Figure(WORDS.phrase("panels.averages"), figure, WORDS.phrase("panels.averages_alt", caption=caption), caption)


def marginal(spec: WeightSpaceSpec, found: analysis.Study) -> Figure:
    """Histograms of the first chosen weight: as sampled by chain, and of all chains sorted."""
    net, at = analysis.network_of(spec), analysis.column(spec, spec.first)
    rule = spec.order if spec.order != "none" else "bend"
    raw, arranged = found.draws[..., at], symmetry.ordered(net, found.draws, rule)[..., at]
    low, high = np.quantile(np.concatenate([raw, arranged]), [0.002, 0.998])
    edges = np.linspace(low, high, 61)
    middles = (edges[:-1] + edges[1:]) / 2
    figure = charts.blank(spec.first, WORDS.phrase("stage.density"))
    for chain, values in enumerate(raw):
        density, _ = np.histogram(values, edges, density=True)
        look = {"color": theme.colour(f"chain-{chain}"), "width": 1.5, "dash": theme.DASHES[chain]}
        figure.add_scatter(x=middles, y=density, mode="lines", line=look, name=WORDS.phrase("stage.chain", chain=chain + 1))
    density, _ = np.histogram(arranged, edges, density=True)
    look = {"color": theme.colour("ink"), "width": 3}
    figure.add_scatter(x=middles, y=density, mode="lines", line=look, name=WORDS.phrase("panels.all_draws", rule=RULES[rule]))
    j = spec.weights.index(spec.first)
    rhats = {"rhat": found.weights.rhat[j], "sorted_rhat": found.sorted[rule].rhat[j]}
    told = [WORDS.phrase("panels.marginal_caption", weight=spec.first, rule=RULES[rule], **rhats)]
    if spec.first != "c":
        alike = "panels.all_alike_odd" if symmetry.odd(net) else "panels.all_alike"
        told.append(WORDS.phrase(alike, copies=number(symmetry.copies(net))))
    caption = " ".join(told)
    title = WORDS.phrase("panels.marginal", weight=spec.first)
    return Figure(title, figure, WORDS.phrase("panels.marginal_alt", caption=caption), caption)


def two_humps(spec: WeightSpaceSpec, title: str, cancel: Any) -> Figure:
    """Predictions at x′ in 30 bins, stacked by chain."""
    values = analysis.function_at(spec, analysis.study(spec, cancel).draws, np.array([spec.at]))[..., 0]
    found = analysis.prediction(values)
    truth = analysis.exact_prediction(spec)
    low, high = np.quantile(values, [0.001, 0.999])
    edges = np.linspace(low, high, BINS + 1)
    middles, width = (edges[:-1] + edges[1:]) / 2, float(edges[1] - edges[0])
    figure = charts.blank(WORDS.phrase("panels.value_at", at=number(spec.at)), WORDS.phrase("stage.density"), barmode="stack", bargap=0)
    for chain, series in enumerate(values):
        counts, _ = np.histogram(series, edges)
        pattern = {"shape": ("", "/", "x", "-", "\\", ".")[chain]}
        look = {"color": theme.colour(f"chain-{chain}"), "pattern": pattern}
        figure.add_bar(x=middles, y=counts / (values.size * width), marker=look, name=WORDS.phrase("stage.chain", chain=chain + 1))
    told = WORDS.phrase("panels.not_known")
    if truth is not None:
        grid = np.linspace(edges[0], edges[-1], 201)
        dashed = {"color": theme.colour("ink"), "width": 2, "dash": "dash"}
        figure.add_scatter(x=grid, y=truth.density(grid), mode="lines", line=dashed, name=WORDS.phrase("stage.exact"))
        exact, drawn = (number(round(float(mean), 2) + 0.0) for mean in (truth.expectation, values.mean()))
        told = WORDS.phrase("panels.means", exact=exact, drawn=drawn)
    shares = ", ".join(f"{100 * share:.0f}" for share in found.upper)
    draws = number(values.shape[1])
    caption = WORDS.phrase("panels.humps_caption", bins=BINS, draws=draws, shares=shares, rhat=found.rhat, told=told)
    return Figure(title, figure, WORDS.phrase("panels.humps_alt", caption=caption), caption)


def along(spec: WeightSpaceSpec, cancel: Any) -> Figure:
    """R-hat of f along the whole axis, and the spread between and within chains."""
    found = analysis.study(spec, cancel)
    grid = analysis.COARSE_GRID
    some = found.draws[:, :: max(1, found.draws.shape[1] // 500)]
    values = analysis.function_at(spec, some, grid)
    within = np.sqrt(values.var(axis=1, ddof=1).mean(axis=0))
    between = values.mean(axis=1).std(axis=0, ddof=1)
    x = WORDS.phrase("panels.angle" if spec.data == "xor" else "panels.input")
    figure = charts.blank(x, WORDS.phrase("panels.sd"))
    for words, series, role, dash in (
        (WORDS.phrase("panels.within"), within, "posterior", "solid"),
        (WORDS.phrase("panels.between"), between, "reject", "dash"),
    ):
        line = {"color": theme.colour(role), "width": 2, "dash": dash}
        figure.add_scatter(x=grid, y=series, mode="lines", line=line, name=words)
    worst = int(np.argmax(between / np.maximum(within, 1e-12)))
    at, between_there, within_there = (number(float(values[worst])) for values in (grid, between, within))
    caption = WORDS.phrase("panels.along_caption", at=at, between=between_there, within=within_there)
    return Figure(WORDS.phrase("panels.along"), figure, WORDS.phrase("panels.along_alt", caption=caption), caption)


def diagnostics(spec: WeightSpaceSpec, cancel: Any) -> Table:
    """R-hat and effective draws: of the weights, of the sorted weights, of the function."""
    found = analysis.study(spec, cancel)
    rows = [
        *((WORDS.phrase("panels.of_weights", rule=RULES[rule]), summary) for rule, summary in found.sorted.items()),
        (WORDS.phrase("panels.of_function", inputs=len(analysis.watched(spec))), found.functions),
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
    caption = WORDS.phrase(
        "panels.diagnostics_caption",
        chains=how_many(spec.chains),
        warmup=spec.warmup,
        draws=number(found.draws.shape[1]),
        gradients=number(found.gradients),
        seconds=number(found.seconds),
        divergent=number(int(found.divergent.sum())),
    )
    return Table(WORDS.phrase("panels.diagnostics"), columns, caption)
