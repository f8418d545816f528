"""What stands below the stage: what stands out, curves of the quantity on stage, and the table of all quantities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from app.kit import charts, methods, theme
from app.kit.charts import Column, Figure, Quote, Table
from app.kit.text import number, plain
from engine.diagnostics import autocorrelation, ebfmi, ess_quantiles, rank_curves
from engine.judge import MAX_RHAT
from engine.targets.constrained import CONSTRAINTS, TRANSFORMS
from lessons.own_chain import analysis, findings
from lessons.own_chain.analysis import Found
from lessons.own_chain.spec import OwnChain

LAGS = 60
SHARES = np.arange(1, 20) / 20
CHAINS = 8  # drawn
ROWS = 40  # of the table on the page; the report has all


def panels(spec: OwnChain, cancel: object = None) -> list[Figure | Table | Quote]:
    """Figures of the quantity on stage, what stands out, and the sentences of a methods section."""
    found = analysis.look(spec)
    drawn: list[Figure | Table] = [*figures(spec, found), what_stands_out(found), *transforms(spec)]
    shown = [replace(item, title=plain(item.title), caption=plain(item.caption)) for item in drawn]  # names come from files
    return [*shown, methods_section(spec, found)]


def figures(spec: OwnChain, found: Found) -> list[Figure]:
    """Rank curves, autocorrelation, ESS of quantiles, energy."""
    j, _ = analysis.on_stage(spec)
    if j not in found.moving:
        return []
    values, name = found.run.draws[:, :, j], found.run.names[j]
    made = [_autocorrelation(values, name), _quantiles(values, name)]
    if len(values) > 1:
        made.insert(0, _ranks(values, name))
    energy = found.run.stats.get("energy")
    if energy is not None and np.isfinite(energy).all():
        made.append(_energy(energy))
    return made


def _lines(figure: object, x: np.ndarray, rows: np.ndarray) -> None:
    for chain, line in enumerate(rows[:CHAINS]):
        look = {"color": theme.colour(f"chain-{chain}"), "width": 1.5, "dash": theme.DASHES[chain]}
        figure.add_scatter(x=x, y=line, mode="lines", line=look, name=f"chain {chain + 1}")  # type: ignore[attr-defined]


def _ranks(values: np.ndarray, name: str) -> Figure:
    found = rank_curves(values)
    figure = charts.blank("rank among all draws, as a share", "share below, minus the rank")
    edge = {"color": theme.colour("muted", 0.0), "width": 0}
    figure.add_scatter(x=found.places, y=found.high, mode="lines", line=edge, showlegend=False, hoverinfo="skip")
    band = {"fill": "tonexty", "fillcolor": theme.colour("muted", 0.25), "name": "chains that agree"}
    figure.add_scatter(x=found.places, y=found.low, mode="lines", line=edge, **band)
    _lines(figure, found.places, found.difference)
    outside = np.any((found.difference < found.low) | (found.difference > found.high), axis=1)
    which = ", ".join(str(c + 1) for c in np.flatnonzero(outside))
    caption = (
        "Chains that agree stay inside the band, all along and all together, about 19 times of 20. "
        f"Outside: {f'chain {which}' if which else 'none'}."
    )
    return Figure(f"Ranks of {name}, cumulated", figure, f"A curve a chain around 0. {caption}", caption)


def _autocorrelation(values: np.ndarray, name: str) -> Figure:
    lags = min(LAGS, values.shape[1] // 2)
    figure = charts.blank("lag: draws apart", "autocorrelation")
    _lines(figure, np.arange(lags + 1), autocorrelation(values, lags))
    caption = "The slower these curves fall to 0, the fewer effective draws."
    return Figure(f"Autocorrelation of {name}", figure, f"A curve a chain. {caption}", caption)


def _quantiles(values: np.ndarray, name: str) -> Figure:
    ess = ess_quantiles(values, SHARES)
    figure = charts.blank("quantile", "effective draws")
    line = {"color": theme.colour("posterior"), "width": 2}
    figure.add_scatter(x=SHARES, y=ess, mode="lines+markers", line=line, name="ESS of the quantile")
    figure.update_yaxes(rangemode="tozero")
    worst = int(np.nanargmin(ess)) if np.isfinite(ess).any() else 0
    caption = f"Least at the {100 * SHARES[worst]:.0f} % quantile: {number(float(ess[worst]))}. An interval is known as well as its ends."
    return Figure(f"ESS of quantiles of {name}", figure, f"Effective draws against the quantile. {caption}", caption)


def _energy(energy: np.ndarray) -> Figure:
    levels, steps = (energy - energy.mean()).ravel(), np.diff(energy, axis=1).ravel()
    low, high = np.quantile(np.concatenate([levels, steps]), [0.001, 0.999])
    edges = np.linspace(low, high, 41)
    figure = charts.blank("energy, less its mean", "density")
    for values, words, role, dash in ((levels, "energy", "posterior", "solid"), (steps, "its change from draw to draw", "energy", "dash")):
        heights, _ = np.histogram(values, edges, density=True)
        line = {"color": theme.colour(role), "width": 2, "dash": dash, "shape": "hvh"}
        figure.add_scatter(x=(edges[1:] + edges[:-1]) / 2, y=heights, mode="lines", line=line, name=words)
    found = ebfmi(energy)
    each = ", ".join(f"{value:.2f}" for value in found[:CHAINS])
    caption = f"E-BFMI of each chain: {each}. Below 0.3 the change is too narrow to cross the levels."
    return Figure("Energy", figure, f"Two histograms. {caption}", caption)


def what_stands_out(found: Found) -> Table:
    """The findings, or that there are none; and what the file said."""
    told = findings.sentences(found) or ["Nothing stands out: the chains agree and there are enough effective draws."]
    shape = found.run.draws.shape
    read = f"{found.run.card.name} ({found.run.card.source}): {shape[0]} chains, {shape[1]:,} draws each, {shape[2]} quantities."
    return Table("What stands out", {"finding": told}, " ".join([read, *found.run.notes]))


def transforms(spec: OwnChain) -> list[Table]:
    """Of a density that was typed: how each parameter comes from free coordinates."""
    if spec.source != "density":
        return []
    names = {number: words for words, number in CONSTRAINTS.items()}
    blocks = spec.build().blocks
    columns: dict[str, Column] = {
        "parameter": [block.name for block in blocks],
        "constraint": [names[block.constraint] for block in blocks],
        "values": [len(block.values) for block in blocks],
        "free coordinates": [block.free for block in blocks],
        "x of u": [TRANSFORMS[block.constraint][0] for block in blocks],
        "log Jacobian": [TRANSFORMS[block.constraint][1] for block in blocks],
    }
    forgotten = " It is left out on purpose here." if spec.jacobian == "forgotten" else ""
    return [
        Table("From free coordinates u to parameters x", columns, f"NUTS moves u. The log Jacobian is added to the log density.{forgotten}")
    ]


def methods_section(spec: OwnChain, found: Found) -> Quote:
    """What a methods section says of this run."""
    energy, bad = found.run.stats.get("energy"), found.run.stats.get("divergent")
    sampler = found.run.card.name if spec.source != "file" else "The sampler"
    text = methods.sentences(
        sampler,
        (found.run.draws.shape[0], found.run.draws.shape[1]),
        found.summary,
        warmup=found.run.warmup if spec.source != "file" else found.run.warmup or None,
        burn=spec.burn,
        divergent=None if bad is None else bad > 0,
        ebfmi=None if energy is None or not np.isfinite(energy).all() else ebfmi(energy),
    )
    return Quote("For a methods section", text)


def columns_of(found: Found, rows: np.ndarray) -> dict[str, list]:
    """A row a quantity, in this order."""
    summary = found.summary
    words = np.where(found.broken, "not finite", np.where(found.steady, "never changes", ""))
    return {
        "quantity": [found.run.names[j] for j in rows],
        "say": [analysis.said(float(summary.mean[j]), float(found.decimals[j])) for j in rows],
        "mean": list(summary.mean[rows]),
        "MCSE": list(summary.mcse_mean[rows]),
        "sd": list(summary.sd[rows]),
        "R-hat": [f"{value:.3f}" if np.isfinite(value) else "–" for value in summary.rhat[rows]],
        "ESS bulk": list(np.round(summary.ess_bulk[rows])),
        "ESS tail": list(np.round(summary.ess_tail[rows])),
        "note": [str(word) for word in words[rows]],
    }


def diagnostics(spec: OwnChain, cancel: object = None) -> Table:
    """Every quantity, the worst first."""
    found = analysis.look(spec)
    rows = found.order[:ROWS]
    more = f" The {ROWS} worst of {len(found.order)} are shown; the report has all." if len(found.order) > ROWS else ""
    caption = (
        "“Say” is the mean to as many digits as its error leaves alone: two MCSE are at most half a unit of the last one. "
        f"A dash: no digit is sure, or R-hat is above {MAX_RHAT}.{more}"
    )
    return Table("Every quantity, by trouble", columns_of(found, rows), caption)
