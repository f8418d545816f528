"""What stands below the stage: dropout's sd beside the posterior's, and what moves either of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.kit import charts, theme
from app.kit.charts import Column, Figure, Table
from app.kit.text import chains, number
from engine.diagnostics import cost
from lessons.dropout import analysis
from lessons.dropout.analysis import KEEPS, Study
from lessons.dropout.spec import DropoutSpec

BINS = 40
TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)  # of logarithmic axes


def panels(spec: DropoutSpec, cancel: Any) -> list[Figure | Table]:
    """The figures and tables of the present settings."""
    study = analysis.study(spec, cancel)
    if study is None:
        return []
    found: list[Figure | Table] = [_by_region(spec, study)]
    if not spec.classifies:
        found.append(_ratio(spec, study))
    found.append(_at_probe(spec, study))
    if not cancel.is_set():
        found.append(_keeps(spec, study, cancel))
    if spec.data == "gap" and not cancel.is_set():
        found.append(_more_data(spec, cancel))
    return found


def _by_region(spec: DropoutSpec, study: Study) -> Table:
    """Mean sd by region, and the ratio with its error."""
    exact = analysis.everywhere(spec)
    columns: dict[str, list] = {"region": [], "dropout": [], "posterior": [], "± MCSE": [], "dropout / posterior": []}
    for name, mask in analysis.regions(spec).items():
        dropout, posterior = float(exact.sd[mask].mean()), float(study.sd[mask].mean())
        error = chain_error(study.values[:, :, mask])
        ratio = dropout / posterior
        told = f"{number(ratio, 2)} ± {number(ratio * error / posterior, 1)}"
        for column, value in zip(columns, (name, dropout, posterior, error, told), strict=True):
            columns[column].append(value)
    what = "P(class 1)" if spec.classifies else "f(x)"
    caption = (
        f"sd of {what}, averaged over each region. Dropout's is the sum over all {exact.masks:,} masks, so it has no "
        f"error; the posterior's is from {chains(len(study.values))} of NUTS. A ratio of 1 would be a faithful "
        f"posterior; this is one training, with seed {spec.seed}."
    )
    return Table("Its sd beside the posterior's", columns, caption)


def chain_error(values: np.ndarray) -> float:
    """Standard error of the mean sd over places, of values (chains, draws, m): from chain to chain."""
    each = values.std(axis=1).mean(axis=1)
    return float(each.std(ddof=1) / np.sqrt(len(each)))


def _ratio(spec: DropoutSpec, study: Study) -> Figure:
    at, exact = analysis.places(spec)[:, 0], analysis.everywhere(spec)
    figure = charts.blank("input x", "sd of dropout / sd of posterior (log)")
    ratio = exact.sd / study.sd
    figure.add_scatter(x=at, y=ratio, mode="lines", line={"color": theme.colour("proposal")}, name="ratio")
    marked = exact.sd[study.looked] / study.sd[study.looked]
    spread = 2 * marked * study.sd_error / study.sd[study.looked]
    bars = {"type": "data", "array": spread, "color": theme.colour("ink")}
    dot = {"color": theme.colour("proposal"), "size": 7}
    figure.add_scatter(x=at[study.looked], y=marked, mode="markers", marker=dot, error_y=bars, name="± 2 MCSE")
    figure.add_hline(y=1.0, line={"color": theme.colour("truth"), "dash": "dash"})
    x = analysis.data(spec)[0][:, 0]
    ticks = {"symbol": "line-ns-open", "size": 10, "color": theme.colour("ink")}
    low = float(max(np.nanmin(ratio), 1e-3))
    figure.add_scatter(x=x, y=np.full(len(x), 0.8 * low), mode="markers", marker=ticks, name="data")
    figure.update_yaxes(type="log", tickvals=TICKS)
    parts = ", ".join(f"{ratio[mask].mean():.2g} {name}" for name, mask in analysis.regions(spec).items())
    caption = f"Above 1 dropout is less sure than the posterior, below 1 surer. Mean ratio: {parts}."
    return Figure("Too wide, too narrow", figure, caption, caption)


def _at_probe(spec: DropoutSpec, study: Study) -> Figure:
    """The distribution at x*: masks against the posterior."""
    share, outputs = analysis.at_probe(spec)
    outputs = analysis.shown(spec, outputs)
    drawn = analysis.posterior_values(spec, study.recording, analysis.probe(spec)).ravel()
    low, high = min(outputs.min(), np.quantile(drawn, 0.001)), max(outputs.max(), np.quantile(drawn, 0.999))
    pad = 0.04 * float(high - low) or 0.5
    low, high = float(low) - pad, float(high) + pad
    masses, edges = np.histogram(outputs, BINS, (low, high), weights=share)
    counted, _ = np.histogram(drawn, edges)
    middle = (edges[1:] + edges[:-1]) / 2
    name = "P(class 1) at x*" if spec.classifies else "f(x*)"
    figure = charts.blank(name, "probability of a bin", bargap=0)
    blue = {"color": theme.colour("posterior", 0.55)}
    figure.add_bar(x=middle, y=counted / drawn.size, marker=blue, name="posterior by NUTS")
    line = {"color": theme.colour("proposal"), "width": 2, "shape": "hvh"}
    figure.add_scatter(x=middle, y=masses, mode="lines", line=line, name="dropout, all masks")
    caption = (
        f"x* = {spec.probe:g}. {len(share):,} masks put their probability on as many values at most; the five most "
        f"probable masks hold {100 * np.sort(share)[::-1][:5].sum():.0f} %. sd: dropout "
        f"{np.sqrt(share @ (outputs - share @ outputs) ** 2):.3f}, posterior {drawn.std():.3f}."
    )
    return Figure("One place, two distributions", figure, caption, caption)


def _keeps(spec: DropoutSpec, study: Study, cancel: Any) -> Figure:
    found = analysis.keep_sweep(spec, cancel)
    figure = charts.blank("probability p that a unit is kept", "mean sd")
    for index, (name, values) in enumerate(found.items()):
        colour = theme.colour(f"chain-{index}")
        look = {"symbol": ("circle", "square", "diamond")[index], "size": 8, "color": colour}
        figure.add_scatter(x=KEEPS, y=values, mode="lines+markers", marker=look, line={"color": colour}, name=f"dropout, {name}")
        level = float(study.sd[analysis.regions(spec)[name]].mean())
        dashed = {"color": colour, "dash": "dash"}
        figure.add_scatter(x=[KEEPS[0], KEEPS[-1]], y=[level] * 2, mode="lines", line=dashed, name=f"posterior, {name}")
    figure.update_layout(height=320)
    told = "; ".join(f"{name} {values[0]:.2f} to {values[-1]:.2f}" for name, values in found.items())
    caption = (
        f"A network trained for each of {len(KEEPS)} values of p. Mean sd from p = {KEEPS[0]:g} to {KEEPS[-1]:g}: "
        f"{told}. "
        "Dashed: the posterior's, which knows no p. A small p also makes training shrink the function, so the sd need "
        "not grow as p falls. "
    )
    if spec.method == "concrete_dropout":
        inputs, units = analysis.keeps(spec)
        caption += f"Concrete dropout learned p = {units:.3f} for the units and {inputs:.3f} for the inputs."
    return Figure("p slid", figure, caption, caption)


def _more_data(spec: DropoutSpec, cancel: Any) -> Figure:
    sweep = analysis.data_sweep(spec, cancel)
    figure = charts.blank("points of data n (log)", "mean sd at the data (log)")
    looks = (
        ("dropout", sweep.dropout, "proposal", "circle", "solid"),
        ("floor of dropout", sweep.floor, "truth", "triangle-up", "dot"),
        ("posterior by NUTS", sweep.posterior, "posterior", "square", "solid"),
    )
    for name, values, role, symbol, dash in looks:
        colour = theme.colour(role)
        bars = {"type": "data", "array": 2 * sweep.error} if role == "posterior" else None
        figure.add_scatter(
            x=sweep.settings,
            y=values,
            mode="lines+markers",
            line={"color": colour, "dash": dash},
            error_y=bars,
            marker={"symbol": symbol, "size": 8, "color": colour},
            name=name,
        )
    figure.update_xaxes(type="log", tickvals=list(sweep.settings))
    figure.update_yaxes(type="log", tickvals=TICKS)
    caption = (
        f"From n = {sweep.settings[0]:g} to {sweep.settings[-1]:g} the posterior's sd where the data are goes from "
        f"{sweep.posterior[0]:.3f} to {sweep.posterior[-1]:.3f}, dropout's from {sweep.dropout[0]:.3f} to "
        f"{sweep.dropout[-1]:.3f}. Error bars: ± 2 MCSE, from chain to chain (short chains)."
    )
    if spec.method == "concrete_dropout":
        caption += " Here p is learned anew for each n: " + ", ".join(f"{p:.3f}" for p in sweep.keep) + "."
    return Figure("More data", figure, caption, caption)


# Diagnostics ----------------------------------------------------------------------------------------------------------


def diagnostics(spec: DropoutSpec, cancel: Any) -> Table:
    """R-hat and effective draws of the function values, and what each side cost."""
    study = analysis.study(spec, cancel)
    if study is None:
        return Table("Do the chains agree?", {"stopped": []})
    at, summary = analysis.places(spec)[study.looked], study.summary
    columns: dict[str, Column] = {
        "at x" if not spec.classifies else "at (x₁, x₂)": [", ".join(f"{v:.2f}" for v in row) for row in at],
        "mean": summary.mean,
        "sd": summary.sd,
        "± MCSE of sd": study.sd_error,
        "R-hat": [number(value, 4) for value in summary.rhat],
        "ESS bulk": np.round(summary.ess_bulk),
        "ESS tail": np.round(summary.ess_tail),
    }
    price = cost(study.recording, summary)
    train = analysis.fit(spec)
    caption = (
        f"Of function values, as weights may trade places. NUTS: {price.gradient_evaluations:,} gradients in "
        f"{price.seconds:.2g} s, {price.ess_per_second:,.0f} effective draws a second at the worst place, "
        f"{int(study.recording.divergent.sum())} divergent. Dropout: {train.spec.epochs:,} training steps; then a "
        "pass costs one forward evaluation. That is what dropout has going for it."
    )
    return Table("Do the chains agree?", columns, caption)
