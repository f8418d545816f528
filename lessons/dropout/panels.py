"""What stands below the stage: dropout's sd beside the posterior's, and what moves either of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.kit import charts, theme
from app.kit.charts import Column, Figure, Table
from app.kit.text import chains, number
from engine.diagnostics import cost
from lessons.dropout import analysis, digit_panels
from lessons.dropout.analysis import KEEPS, Study
from lessons.dropout.spec import WORDS, DropoutSpec

BINS = 40
TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)  # of logarithmic axes


def panels(spec: DropoutSpec, cancel: Any) -> list[Figure | Table]:
    """The figures and tables of the present settings."""
    if spec.data == "digits":
        return digit_panels.panels(spec, cancel)
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
    what = WORDS.phrase("stage.class_1") if spec.classifies else "f(x)"
    caption = WORDS.phrase("panels.by_region_caption", what=what, masks=exact.masks, chains=chains(len(study.values)), seed=spec.seed)
    return Table(WORDS.phrase("panels.by_region"), columns, caption)


def chain_error(values: np.ndarray) -> float:
    """Standard error of the mean sd over places, of values (chains, draws, m): from chain to chain."""
    each = values.std(axis=1).mean(axis=1)
    return float(each.std(ddof=1) / np.sqrt(len(each)))


def _ratio(spec: DropoutSpec, study: Study) -> Figure:
    at, exact = analysis.places(spec)[:, 0], analysis.everywhere(spec)
    figure = charts.blank(WORDS.phrase("stage.input"), WORDS.phrase("panels.ratio_axis"))
    ratio = exact.sd / study.sd
    figure.add_scatter(x=at, y=ratio, mode="lines", line={"color": theme.colour("proposal")}, name=WORDS.phrase("panels.ratio"))
    marked = exact.sd[study.looked] / study.sd[study.looked]
    spread = 2 * marked * study.sd_error / study.sd[study.looked]
    bars = {"type": "data", "array": spread, "color": theme.colour("ink")}
    dot = {"color": theme.colour("proposal"), "size": 7}
    figure.add_scatter(x=at[study.looked], y=marked, mode="markers", marker=dot, error_y=bars, name=WORDS.phrase("panels.bars"))
    figure.add_hline(y=1.0, line={"color": theme.colour("truth"), "dash": "dash"})
    x = analysis.data(spec)[0][:, 0]
    ticks = {"symbol": "line-ns-open", "size": 10, "color": theme.colour("ink")}
    low = float(max(np.nanmin(ratio), 1e-3))
    figure.add_scatter(x=x, y=np.full(len(x), 0.8 * low), mode="markers", marker=ticks, name=WORDS.phrase("stage.data"))
    figure.update_yaxes(type="log", tickvals=TICKS)
    parts = ", ".join(f"{ratio[mask].mean():.2g} {name}" for name, mask in analysis.regions(spec).items())
    caption = WORDS.phrase("panels.width_caption", parts=parts)
    return Figure(WORDS.phrase("panels.width"), figure, caption, caption)


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
    name = WORDS.phrase("panels.class_1_there") if spec.classifies else "f(x*)"
    figure = charts.blank(name, WORDS.phrase("panels.of_a_bin"), bargap=0)
    blue = {"color": theme.colour("posterior", 0.55)}
    figure.add_bar(x=middle, y=counted / drawn.size, marker=blue, name=WORDS.phrase("panels.posterior"))
    line = {"color": theme.colour("proposal"), "width": 2, "shape": "hvh"}
    figure.add_scatter(x=middle, y=masses, mode="lines", line=line, name=WORDS.phrase("panels.all_masks"))
    sds = dict(dropout=np.sqrt(share @ (outputs - share @ outputs) ** 2), posterior=drawn.std())
    five = 100 * np.sort(share)[::-1][:5].sum()
    caption = WORDS.phrase("panels.place_caption", probe=spec.probe, masks=len(share), five=five, **sds)
    return Figure(WORDS.phrase("panels.place"), figure, caption, caption)


def _keeps(spec: DropoutSpec, study: Study, cancel: Any) -> Figure:
    found = analysis.keep_sweep(spec, cancel)
    figure = charts.blank(WORDS.phrase("panels.keep_axis"), WORDS.phrase("panels.mean_sd"))
    for index, (name, values) in enumerate(found.items()):
        colour = theme.colour(f"chain-{index}")
        look = {"symbol": ("circle", "square", "diamond")[index], "size": 8, "color": colour}
        said = WORDS.phrase("panels.dropout_there", name=name)
        figure.add_scatter(x=KEEPS, y=values, mode="lines+markers", marker=look, line={"color": colour}, name=said)
        level = float(study.sd[analysis.regions(spec)[name]].mean())
        dashed = {"color": colour, "dash": "dash"}
        said = WORDS.phrase("panels.posterior_there", name=name)
        figure.add_scatter(x=[KEEPS[0], KEEPS[-1]], y=[level] * 2, mode="lines", line=dashed, name=said)
    figure.update_layout(height=320)
    told = "; ".join(WORDS.phrase("panels.from_to", name=name, first=values[0], last=values[-1]) for name, values in found.items())
    caption = WORDS.phrase("panels.keeps_caption", count=len(KEEPS), low=KEEPS[0], high=KEEPS[-1], told=told)
    if spec.method == "concrete_dropout":
        inputs, units = analysis.keeps(spec)
        caption = f"{caption} {WORDS.phrase('panels.learned', units=units, inputs=inputs)}"
    return Figure(WORDS.phrase("panels.keeps"), figure, caption, caption)


def _more_data(spec: DropoutSpec, cancel: Any) -> Figure:
    sweep = analysis.data_sweep(spec, cancel)
    figure = charts.blank(WORDS.phrase("panels.points_axis"), WORDS.phrase("panels.sd_axis"))
    looks = (
        (WORDS.phrase("panels.dropout"), sweep.dropout, "proposal", "circle", "solid"),
        (WORDS.phrase("panels.floor"), sweep.floor, "truth", "triangle-up", "dot"),
        (WORDS.phrase("panels.posterior"), sweep.posterior, "posterior", "square", "solid"),
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
    caption = WORDS.phrase("panels.more_data_caption", n=sweep.settings, posterior=sweep.posterior, dropout=sweep.dropout)
    if spec.method == "concrete_dropout":
        caption = f"{caption} {WORDS.phrase('panels.learned_anew', keep=', '.join(f'{p:.3f}' for p in sweep.keep))}"
    return Figure(WORDS.phrase("panels.more_data"), figure, caption, caption)


# Diagnostics ----------------------------------------------------------------------------------------------------------


def diagnostics(spec: DropoutSpec, cancel: Any) -> Table:
    """R-hat and effective draws of the function values, and what each side cost."""
    if spec.data == "digits":
        return digit_panels.cost(spec)
    study = analysis.study(spec, cancel)
    if study is None:
        return Table(WORDS.phrase("panels.agree"), {"stopped": []})
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
    divergent, epochs = int(study.recording.divergent.sum()), train.spec.epochs
    caption = WORDS.phrase("panels.agree_caption", price=price, divergent=divergent, epochs=epochs)
    return Table(WORDS.phrase("panels.agree"), columns, caption)
