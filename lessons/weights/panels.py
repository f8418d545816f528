"""What stands below the stage: the ratio with its error, the regions, other starts, the weights, diagnostics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import charts, theme
from app.kit.charts import Column, Figure, Table
from app.kit.text import minus, number
from lessons.weights import analysis, digit_panels
from lessons.weights.analysis import CHAINS, NETWORKS, SURE, Ratio
from lessons.weights.scenes import MAP, names
from lessons.weights.spec import REACH, WORDS, WeightsSpec
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
    least = int(np.argmin(found.ratio))
    words = WORDS.phrase(
        f"panels.said_{spec.problem}",
        narrower=100 * found.overconfident.mean(),
        wider=100 * found.too_wide.mean(),
        sure=SURE,
        at=", ".join(number(float(v), 2) for v in places(spec.problem)[least]),
        ratio=found.ratio[least],
        low=found.low[least],
        high=found.high[least],
    )
    return f"{words} {WORDS.phrase('panels.other_prior')}" if spec.prior == "mixture" else words


def _along(spec: WeightsSpec, found: Ratio) -> Figure:
    x = places("curve")[:, 0]
    figure = charts.blank("x", WORDS.phrase("panels.ratio_axis"))
    edge = {"width": 0, "color": theme.colour("reject")}
    figure.add_scatter(x=x, y=found.low, mode="lines", line=edge, showlegend=False, hoverinfo="skip")
    band = {"mode": "lines", "line": edge, "fill": "tonexty", "fillcolor": theme.colour("reject", 0.25)}
    figure.add_scatter(x=x, y=found.high, name=WORDS.phrase("panels.errors", sure=SURE), **band)
    line = {"color": theme.colour("reject"), "width": 2}
    figure.add_scatter(x=x, y=found.ratio, mode="lines", line=line, name=WORDS.phrase("panels.ratio"))
    look = {"color": theme.colour("ink"), "dash": "dash", "width": 1.5}
    figure.add_scatter(x=[x[0], x[-1]], y=[1.0, 1.0], mode="lines", line=look, name=WORDS.phrase("panels.equally_sure"))
    seen = data_of(spec)[0][:, 0]
    marker = {"symbol": "diamond", "size": 7, "color": theme.colour("class-1")}
    bottom = 0.9 * float(found.low.min())
    figure.add_scatter(x=seen, y=np.full(len(seen), bottom), mode="markers", marker=marker, name=WORDS.phrase("panels.data"))
    figure.update_yaxes(type="log", tickvals=[0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10])
    made = WORDS.phrase("panels.made_along", networks=number(NETWORKS), chains=CHAINS, draws=number(spec.draws))
    caption = f"{_said(spec, found)} {made}"
    return Figure(WORDS.phrase("panels.along"), figure, caption, caption)


def _over(spec: WeightsSpec, found: Ratio) -> Figure:
    middles = REACH["plane"] * (2 * np.arange(CELLS) + 1 - CELLS) / CELLS
    sure = found.overconfident | found.too_wide
    values = np.where(sure, np.log2(found.ratio), np.nan).reshape(CELLS, CELLS)
    figure = charts.blank("x₁", "x₂", height=380)
    scale = [[k / 2, theme.colour(role)] for k, role in enumerate(("class-0", "surface", "class-1"))]
    figure.add_heatmap(
        x=middles,
        y=middles,
        z=values,
        zmin=-MAP,
        zmax=MAP,
        colorscale=scale,
        name=WORDS.phrase("panels.log_ratio"),
        colorbar={"title": {"text": WORDS.phrase("panels.log_ratio")}},
    )
    x, y = data_of(spec)
    for label, symbol in ((0, "circle-open"), (1, "triangle-up-open")):
        marker = {"symbol": symbol, "size": 6, "color": theme.colour("ink")}
        rows = x[y == label]
        figure.add_scatter(x=rows[:, 0], y=rows[:, 1], mode="markers", marker=marker, name=WORDS.phrase("panels.class", label=label))
    figure.update_xaxes(constrain="domain")
    figure.update_yaxes(scaleanchor="x", constrain="domain")
    made = WORDS.phrase("panels.made_over", sure=SURE, networks=number(NETWORKS), chains=CHAINS, draws=number(spec.draws))
    caption = f"{_said(spec, found)} {made}"
    return Figure(WORDS.phrase("panels.over"), figure, caption, caption)


def _regions(spec: WeightsSpec, cancel: Any) -> Table:
    lines = analysis.compared(spec, cancel)
    columns: dict[str, list] = {
        "where": [line.name for line in lines],
        "sd of q": [line.q for line in lines],
        "sd of NUTS": [line.nuts for line in lines],
        "ratio": [line.ratio for line in lines],
        f"± {SURE:g} SE": [WORDS.phrase("panels.from_to", low=line.low, high=line.high) for line in lines],
        "NUTS inside q's 90 % band (%)": [f"{100 * line.inside:.0f}" for line in lines],
    }
    caption = WORDS.phrase("panels.regions_caption")
    if spec.problem == "curve" and spec.data == "made":
        for name, field in (("q", "q_truth"), ("NUTS", "nuts_truth")):
            shares = [getattr(line, field) for line in lines]
            columns[f"true curve in the band of {name} (%)"] = ["–" if math.isnan(share) else f"{100 * share:.0f}" for share in shares]
        caption = f"{caption} {WORDS.phrase('panels.one_curve')}"
    if spec.problem == "plane":
        draws = analysis.drawn(spec)
        chains = analysis.reference(spec, cancel).recording.draws
        right = [100 * analysis.right(spec, values) for values in (draws, chains.reshape(-1, draws.shape[1]))]
        caption = f"{caption} {WORDS.phrase('panels.points_right', points=spec.size, q=right[0], nuts=right[1])}"
    return Table(WORDS.phrase("panels.regions"), columns, caption)


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
        columns["ELBO (nats)"].append(minus(f"{value:.1f}"))
        columns["±"].append(f"{error:.1f}")
        columns["units in use"].append(WORDS.phrase("panels.of_units", used=units_in_use(other), units=spec.units))
        columns["typical sd"].append(float(np.median(sd)))
        if spec.problem == "plane":
            columns["points right (%)"].append(f"{100 * analysis.right(other, analysis.drawn(other)):.0f}")
    caption = WORDS.phrase("panels.starts_caption", networks=number(NETWORKS), in_use=IN_USE)
    return Table(WORDS.phrase("panels.starts"), columns, caption)


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
        "posterior by": [WORDS.phrase("panels.by_q"), "NUTS"],
        "networks": [WORDS.phrase("panels.any_number"), WORDS.phrase("panels.draws", chains=CHAINS, draws=number(spec.draws))],
        "gradients": [number(run.total), number(gradients)],
        "points a gradient": [run.batch, spec.size],
        "seconds": [run.seconds, recording.seconds],
        "R-hat of functions": ["–", f"{found.rhat:.3f}"],
        "least ESS": [WORDS.phrase("panels.independent"), number(round(found.ess))],
        "ESS / s": ["–", number(round(found.ess / max(recording.seconds, 1e-9)))],
        "divergent": ["–", int(recording.divergent.sum())],
    }
    words = WORDS.phrase(
        "panels.cost_caption",
        warmup=WARMUP,
        chains=CHAINS,
        places=len(analysis.watched(spec)),
        copies=number(round(math.exp(analysis.copies(spec)))),
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
    about = WORDS.phrase("panels.weights_caption", sd=spec.prior_sd)
    return [Table(WORDS.phrase("panels.cost"), cost, words), Table(WORDS.phrase("panels.weights"), weights, about)]
