"""What stands below the stage: the ratio with its error, the regions, other starts, the weights, diagnostics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import charts, theme
from app.kit.charts import Column, Figure, Table
from app.kit.text import number
from lessons.weights import analysis, digit_panels
from lessons.weights.analysis import CHAINS, NETWORKS, SURE, Ratio
from lessons.weights.scenes import MAP, names
from lessons.weights.spec import REACH, WeightsSpec
from lessons.weights.training import CELLS, WARMUP, data_of, of_q, places

Array = NDArray[np.float64]

STARTS = (0.02, 0.1, 0.3, 1.0)
IN_USE = 2.0  # sds that the weight out of a unit lies from 0 if the unit is in use


def panels(spec: WeightsSpec, cancel: Any) -> list[Figure | Table]:
    """The figures and tables of the present settings."""
    if spec.problem == "digits":
        return digit_panels.panels(spec, cancel)
    found: list[Figure | Table] = []
    for make in (_ratio, _regions, _starts):
        if cancel.is_set():
            break
        found.append(make(spec, cancel))
    return found


def _ratio(spec: WeightsSpec, cancel: Any) -> Figure:
    found = analysis.ratio(spec, cancel)
    return _along(spec, found) if spec.problem == "curve" else _over(spec, found)


def _said(spec: WeightsSpec, found: Ratio) -> str:
    """Where q is overconfident and by how much, in words."""
    where = "of the line" if spec.problem == "curve" else "of the plane"
    least = int(np.argmin(found.ratio))
    at = ", ".join(number(float(v), 2) for v in places(spec.problem)[least])
    words = (
        f"q is narrower than NUTS on {100 * found.overconfident.mean():.0f} % {where} shown and wider on "
        f"{100 * found.too_wide.mean():.0f} %, beyond {SURE:g} standard errors. It is most overconfident at ({at}), "
        f"where its sd is {found.ratio[least]:.2f} ({found.low[least]:.2f} to {found.high[least]:.2f}) of the other "
        "(errors are those of one place; this is the smallest of many)."
    )
    if spec.prior == "mixture":
        words += " NUTS has the wide normal as its prior here, so this compares two posteriors."
    return words


def _along(spec: WeightsSpec, found: Ratio) -> Figure:
    x = places("curve")[:, 0]
    figure = charts.blank("x", "sd of q / sd of NUTS (log scale)")
    edge = {"width": 0, "color": theme.colour("reject")}
    figure.add_scatter(x=x, y=found.low, mode="lines", line=edge, showlegend=False, hoverinfo="skip")
    band = {"mode": "lines", "line": edge, "fill": "tonexty", "fillcolor": theme.colour("reject", 0.25)}
    figure.add_scatter(x=x, y=found.high, name=f"± {SURE:g} standard errors", **band)
    line = {"color": theme.colour("reject"), "width": 2}
    figure.add_scatter(x=x, y=found.ratio, mode="lines", line=line, name="ratio")
    look = {"color": theme.colour("ink"), "dash": "dash", "width": 1.5}
    figure.add_scatter(x=[x[0], x[-1]], y=[1.0, 1.0], mode="lines", line=look, name="equally sure")
    seen = data_of(spec)[0][:, 0]
    marker = {"symbol": "diamond", "size": 7, "color": theme.colour("class-1")}
    bottom = 0.9 * float(found.low.min())
    figure.add_scatter(x=seen, y=np.full(len(seen), bottom), mode="markers", marker=marker, name="data")
    figure.update_yaxes(type="log", tickvals=[0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10])
    caption = (
        f"{_said(spec, found)} Monte Carlo error of {number(NETWORKS)} networks drawn from q and {CHAINS} × "
        f"{number(spec.draws)} NUTS draws."
    )
    return Figure("How overconfident, along x", figure, caption, caption)


def _over(spec: WeightsSpec, found: Ratio) -> Figure:
    middles = REACH["plane"] * (2 * np.arange(CELLS) + 1 - CELLS) / CELLS
    sure = found.overconfident | found.too_wide
    values = np.where(sure, np.log2(found.ratio), np.nan).reshape(CELLS, CELLS)
    figure = charts.blank("x₁", "x₂", height=380)
    scale = [[k / 2, theme.colour(role)] for k, role in enumerate(("class-0", "surface", "class-1"))]
    figure.add_heatmap(
        x=middles, y=middles, z=values, zmin=-MAP, zmax=MAP, colorscale=scale, name="log₂ ratio", colorbar={"title": {"text": "log₂ ratio"}}
    )
    x, y = data_of(spec)
    for label, symbol in ((0, "circle-open"), (1, "triangle-up-open")):
        marker = {"symbol": symbol, "size": 6, "color": theme.colour("ink")}
        rows = x[y == label]
        figure.add_scatter(x=rows[:, 0], y=rows[:, 1], mode="markers", marker=marker, name=f"class {label}")
    figure.update_xaxes(constrain="domain")
    figure.update_yaxes(scaleanchor="x", constrain="domain")
    caption = (
        f"{_said(spec, found)} −1 (blue): half as wide as NUTS, +1 (orange): twice. Cells whose ratio is within "
        f"{SURE:g} standard errors of 1 are left empty. {number(NETWORKS)} networks from q, "
        f"{CHAINS} × {number(spec.draws)} NUTS draws."
    )
    return Figure("How overconfident, over the plane", figure, caption, caption)


def _regions(spec: WeightsSpec, cancel: Any) -> Table:
    lines = analysis.compared(spec, cancel)
    columns: dict[str, list] = {
        "where": [line.name for line in lines],
        "sd of q": [line.q for line in lines],
        "sd of NUTS": [line.nuts for line in lines],
        "ratio": [line.ratio for line in lines],
        f"± {SURE:g} SE": [f"{line.low:.2f} to {line.high:.2f}" for line in lines],
        "NUTS inside q's 90 % band (%)": [f"{100 * line.inside:.0f}" for line in lines],
    }
    caption = (
        "Medians over the places of each region. A q that were right would hold 90 % of the NUTS draws in its 90 % "
        "band everywhere: less is overconfidence, more is the opposite. A band may be as wide and still lie elsewhere."
    )
    if spec.problem == "curve" and spec.data == "made":
        for name, field in (("q", "q_truth"), ("NUTS", "nuts_truth")):
            shares = [getattr(line, field) for line in lines]
            columns[f"true curve in the band of {name} (%)"] = ["–" if math.isnan(share) else f"{100 * share:.0f}" for share in shares]
        caption += " The true curve is one curve and one data set, judged only where |x| < 2: a share, not a guarantee."
    if spec.problem == "plane":
        draws = analysis.drawn(spec)
        chains = analysis.reference(spec, cancel).recording.draws
        caption += (
            f" Of the {spec.size} points the averaged networks of q get {100 * analysis.right(spec, draws):.0f} % "
            f"right, those of NUTS {100 * analysis.right(spec, chains.reshape(-1, draws.shape[1])):.0f} %."
        )
    return Table("By region, and coverage", columns, caption)


def _starts(spec: WeightsSpec, cancel: Any) -> Table:
    """Where training ends from other starts."""
    columns: dict[str, list] = {"sd at the start": [], "ELBO (nats)": [], "±": [], "units in use": [], "typical sd": []}
    if spec.problem == "plane":
        columns["points right (%)"] = []
    for start in sorted({*STARTS, spec.initial_sd}):
        if cancel.is_set():
            break
        other = spec.replace(initial_sd=start)
        value, error = analysis.elbo(other)
        _, sd = of_q(analysis.trained(analysis.same_training(other)))
        columns["sd at the start"].append(start)
        columns["ELBO (nats)"].append(f"{value:.1f}".replace("-", "−"))
        columns["±"].append(f"{error:.1f}")
        columns["units in use"].append(f"{units_in_use(other)} of {spec.units}")
        columns["typical sd"].append(float(np.median(sd)))
        if spec.problem == "plane":
            columns["points right (%)"].append(f"{100 * analysis.right(other, analysis.drawn(other)):.0f}")
    caption = (
        "The same settings and seed, trained again from other sds. The ELBO is that of the right objective, over "
        f"{number(NETWORKS)} draws; different ends mean local maxima, or training that has not come to rest. A unit is "
        f"in use if the weight that leads out of it has |μ| above {IN_USE:g} sd."
    )
    return Table("Other starts", columns, caption)


def units_in_use(spec: WeightsSpec) -> int:
    """Units whose outgoing weight lies more than `IN_USE` of its sds from 0."""
    mean, sd = of_q(analysis.trained(analysis.same_training(spec)))
    out = slice(-spec.units - 1, -1)
    return int((np.abs(mean[out]) > IN_USE * sd[out]).sum())


def diagnostics(spec: WeightsSpec, cancel: Any) -> list[Table]:
    """What both cost, the chains in function space, and every weight."""
    if spec.problem == "digits":
        return [digit_panels.cost(spec)]
    found = analysis.reference(spec, cancel)
    run = analysis.trained(analysis.same_training(spec))
    recording = found.recording
    gradients = int(recording.gradient_evaluations.sum() + recording.warmup_gradient_evaluations.sum())
    cost: dict[str, Column] = {
        "posterior by": ["q (Bayes by Backprop)", "NUTS"],
        "networks": ["any number, at once", f"{CHAINS} × {number(spec.draws)} draws"],
        "gradients": [number(run.total), number(gradients)],
        "points a gradient": [run.batch, spec.size],
        "seconds": [run.seconds, recording.seconds],
        "R-hat of functions": ["–", f"{found.rhat:.3f}"],
        "least ESS": ["independent", number(round(found.ess))],
        "ESS / s": ["–", number(round(found.ess / max(recording.seconds, 1e-9)))],
        "divergent": ["–", int(recording.divergent.sum())],
    }
    words = (
        f"NUTS with {WARMUP} warm-up transitions, {CHAINS} chains. R-hat and ESS are those of the function at "
        f"{len(analysis.watched(spec))} places, never of weights: {number(round(math.exp(analysis.copies(spec))))} "
        "weight vectors make the same function (units change places, or flip both their signs)."
    )
    mean, sd = of_q(run)
    flat = recording.draws.reshape(-1, len(mean))
    chains = recording.draws.mean(axis=1)
    weights: dict[str, Column] = {
        "weight": names(spec),
        "q: mean": list(mean),
        "q: sd": list(sd),
        "NUTS: mean": list(flat.mean(axis=0)),
        "NUTS: sd": list(flat.std(axis=0)),
        "mean of chain 1": list(chains[0]),
        "mean of chain 2": list(chains[1]),
    }
    about = (
        f"w: to a unit; b: its bias; v: out of it; c: the output's bias. Prior sd {spec.prior_sd:g}. Chains that agree "
        "on every function may sit at different copies of it, and q at one alone."
    )
    return [Table("Cost", cost, words), Table("The weights", weights, about)]
