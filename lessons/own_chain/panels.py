"""What stands below the stage: what stands out, curves of the quantity on stage, and the table of all quantities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from app.kit import charts, methods, theme
from app.kit.charts import Column, Figure, Quote, Table
from app.kit.text import number, plain
from engine.diagnostics import autocorrelation, ebfmi, ess_quantiles, rank_curves
from engine.judge import MAX_RHAT
from engine.judge.run import LOW_ENERGY
from engine.targets.constrained import CONSTRAINTS, TRANSFORMS
from lessons.own_chain import analysis, findings
from lessons.own_chain.analysis import Found
from lessons.own_chain.spec import WORDS, OwnChain

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
        name = WORDS.phrase("stage.chain", chain=chain + 1)
        figure.add_scatter(x=x, y=line, mode="lines", line=look, name=name)  # type: ignore[attr-defined]


def _ranks(values: np.ndarray, name: str) -> Figure:
    found = rank_curves(values)
    figure = charts.blank(WORDS.phrase("panels.rank"), WORDS.phrase("panels.below"))
    edge = {"color": theme.colour("muted", 0.0), "width": 0}
    figure.add_scatter(x=found.places, y=found.high, mode="lines", line=edge, showlegend=False, hoverinfo="skip")
    band = {"fill": "tonexty", "fillcolor": theme.colour("muted", 0.25), "name": WORDS.phrase("panels.agree")}
    figure.add_scatter(x=found.places, y=found.low, mode="lines", line=edge, **band)
    _lines(figure, found.places, found.difference)
    outside = np.any((found.difference < found.low) | (found.difference > found.high), axis=1)
    which = ", ".join(str(c + 1) for c in np.flatnonzero(outside))
    caption = WORDS.phrase("panels.outside", chains=which) if which else WORDS.phrase("panels.none_outside")
    alt = WORDS.phrase("panels.ranks_alt", caption=caption)
    return Figure(WORDS.phrase("panels.ranks", name=name), figure, alt, caption)


def _autocorrelation(values: np.ndarray, name: str) -> Figure:
    lags = min(LAGS, values.shape[1] // 2)
    figure = charts.blank(WORDS.phrase("panels.lag"), WORDS.phrase("panels.autocorrelation"))
    _lines(figure, np.arange(lags + 1), autocorrelation(values, lags))
    caption = WORDS.phrase("panels.autocorrelation_caption")
    alt = WORDS.phrase("panels.autocorrelation_alt", caption=caption)
    return Figure(WORDS.phrase("panels.autocorrelation_of", name=name), figure, alt, caption)


def _quantiles(values: np.ndarray, name: str) -> Figure:
    ess = ess_quantiles(values, SHARES)
    figure = charts.blank(WORDS.phrase("panels.quantile"), WORDS.phrase("panels.effective"))
    line = {"color": theme.colour("posterior"), "width": 2}
    figure.add_scatter(x=SHARES, y=ess, mode="lines+markers", line=line, name=WORDS.phrase("panels.quantile_ess"))
    figure.update_yaxes(rangemode="tozero")
    worst = int(np.nanargmin(ess)) if np.isfinite(ess).any() else 0
    caption = WORDS.phrase("panels.quantiles_caption", percent=100 * SHARES[worst], ess=number(float(ess[worst])))
    alt = WORDS.phrase("panels.quantiles_alt", caption=caption)
    return Figure(WORDS.phrase("panels.quantiles", name=name), figure, alt, caption)


def _energy(energy: np.ndarray) -> Figure:
    levels, steps = (energy - energy.mean()).ravel(), np.diff(energy, axis=1).ravel()
    low, high = np.quantile(np.concatenate([levels, steps]), [0.001, 0.999])
    edges = np.linspace(low, high, 41)
    figure = charts.blank(WORDS.phrase("panels.energy_less_mean"), WORDS.phrase("panels.density"))
    for values, words, role, dash in (
        (levels, WORDS.phrase("panels.energy_itself"), "posterior", "solid"),
        (steps, WORDS.phrase("panels.energy_change"), "energy", "dash"),
    ):
        heights, _ = np.histogram(values, edges, density=True)
        line = {"color": theme.colour(role), "width": 2, "dash": dash, "shape": "hvh"}
        figure.add_scatter(x=(edges[1:] + edges[:-1]) / 2, y=heights, mode="lines", line=line, name=words)
    found = ebfmi(energy)
    each = ", ".join(f"{value:.2f}" for value in found[:CHAINS])
    caption = WORDS.phrase("panels.energy_caption", each=each, limit=LOW_ENERGY)
    return Figure(WORDS.phrase("panels.energy"), figure, WORDS.phrase("panels.energy_alt", caption=caption), caption)


def what_stands_out(found: Found) -> Table:
    """The findings, or that there are none; and what the file said."""
    told = findings.sentences(found) or [WORDS.phrase("panels.nothing_stands_out")]
    card, (count, draws, quantities) = found.run.card, found.run.draws.shape
    read = WORDS.phrase("panels.read", name=card.name, source=card.source, chains=count, draws=draws, quantities=quantities)
    return Table(WORDS.phrase("panels.stands_out"), {"finding": told}, " ".join([read, *found.run.notes]))


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
    caption = WORDS.phrase("panels.transforms_caption")
    if spec.jacobian == "forgotten":
        caption = f"{caption} {WORDS.phrase('panels.forgotten')}"
    return [Table(WORDS.phrase("panels.transforms"), columns, caption)]


def methods_section(spec: OwnChain, found: Found) -> Quote:
    """What a methods section says of this run."""
    energy, bad = found.run.stats.get("energy"), found.run.stats.get("divergent")
    sampler = found.run.card.name if spec.source != "file" else WORDS.phrase("panels.sampler")
    text = methods.sentences(
        sampler,
        (found.run.draws.shape[0], found.run.draws.shape[1]),
        found.summary,
        warmup=found.run.warmup if spec.source != "file" else found.run.warmup or None,
        burn=spec.burn,
        divergent=None if bad is None else bad > 0,
        ebfmi=None if energy is None or not np.isfinite(energy).all() else ebfmi(energy),
    )
    return Quote(WORDS.phrase("panels.methods"), text)


def columns_of(found: Found, rows: np.ndarray) -> dict[str, list]:
    """A row a quantity, in this order."""
    summary = found.summary
    broken, steady = WORDS.phrase("panels.not_finite"), WORDS.phrase("panels.never_changes")
    words = np.where(found.broken, broken, np.where(found.steady, steady, ""))
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
    caption = WORDS.phrase("panels.table_caption", rhat=MAX_RHAT)
    if len(found.order) > ROWS:
        caption = f"{caption} {WORDS.phrase('panels.worst_shown', shown=ROWS, quantities=len(found.order))}"
    return Table(WORDS.phrase("panels.table"), columns_of(found, rows), caption)
