"""What stands below the stage: a long run against the exact answer, all variants, the spread s, the diagnostics."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.kit import charts, theme
from app.kit.charts import Figure, Table
from app.kit.text import number
from engine.jumps.shares import running_shares, shares
from engine.jumps.toy import VARIANTS
from lessons.dimensions import analysis
from lessons.dimensions.analysis import LONG, LONG_CHAINS
from lessons.dimensions.scenes import names
from lessons.dimensions.spec import WORDS, DimensionsLesson
from lessons.families.growing.sizes import HELD

SPREADS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0)
SYMBOLS = dict(zip(VARIANTS, ("circle", "cross", "square", "triangle-up", "x"), strict=True))
RUN = WORDS.phrase("panels.run", chains=LONG_CHAINS, sweeps=LONG)


def panels(spec: DimensionsLesson, cancel: Any = None) -> list[Figure]:
    """The long run, its shares as they settle, every variant on these data, and what the spread does."""
    figures = [_long(spec), _running(spec), _variants(spec)]
    if cancel is None or not cancel.is_set():
        figures.append(_tilt(spec) if spec.variant == "no_jacobian" else _spread(spec, cancel))
    return figures


def _listed(labels: list[str], *rows: np.ndarray) -> str:
    columns = zip(labels, *rows, strict=True)
    return "; ".join(f"{label}: {', '.join(number(value) for value in values)}" for label, *values in columns)


def _long(spec: DimensionsLesson) -> Figure:
    (found, errors, *_), true = analysis.long_shares(spec), analysis.exact(spec)
    figure = charts.bars(
        WORDS.phrase("panels.long"),
        names(spec),
        found,
        error=HELD * np.nan_to_num(errors),
        truth=true,
        x=WORDS.phrase("panels.model"),
        y=WORDS.phrase("panels.share"),
        alt=WORDS.phrase("panels.long_alt", listed=_listed(names(spec), found, true)),
        caption=WORDS.phrase("panels.long_caption", run=RUN, held=HELD),
    )
    known = analysis.limit(spec)
    if spec.variant != "exact" and known is not None:
        marker = {"symbol": "circle-open", "size": 13, "color": theme.colour("divergent"), "line": {"width": 2}}
        figure.figure.add_scatter(x=names(spec), y=known, mode="markers", marker=marker, name=WORDS.phrase("panels.limit"))
    return figure


def _running(spec: DimensionsLesson) -> Figure:
    rows = running_shares(analysis.long_run(spec, spec.likelihood).model, 1, spec.models)
    at = np.unique(np.geomspace(10, LONG, 120).astype(int))
    figure = charts.blank(WORDS.phrase("panels.sweeps"), WORDS.phrase("panels.so_far"))
    figure.update_xaxes(type="log", dtick=1)
    last = []
    for k, (name, p) in enumerate(zip(names(spec), analysis.exact(spec), strict=True), 1):
        share = rows[at - 1, k - 1]
        line = {"color": theme.colour(f"chain-{k - 1}"), "width": 2, "dash": theme.DASHES[k - 1]}
        figure.add_scatter(x=at, y=share, mode="lines", line=line, name=name)
        ends = {"symbol": "diamond-open", "size": 10, "color": theme.colour(f"chain-{k - 1}"), "line": {"width": 2}}
        figure.add_scatter(x=[at[-1]], y=[p], mode="markers", marker=ends, name=WORDS.phrase("panels.exact"), showlegend=False)
        last.append(share[-1])
    figure.update_yaxes(rangemode="tozero")
    alt = WORDS.phrase("panels.running_alt", listed=_listed(names(spec), np.array(last), analysis.exact(spec)))
    return Figure(WORDS.phrase("panels.running"), figure, alt, WORDS.phrase("panels.running_caption", chains=LONG_CHAINS))


def _variants(spec: DimensionsLesson) -> Figure:
    figure = charts.blank(WORDS.phrase("panels.model"), WORDS.phrase("panels.share"), height=300)
    true = analysis.exact(spec)
    told = []
    for offset, variant in zip(np.linspace(-0.24, 0.24, len(VARIANTS)), VARIANTS, strict=True):
        found = analysis.long_shares(spec.replace(variant=variant)).mean
        name = WORDS.phrase("panels.right" if variant == "exact" else f"panels.{variant}")
        role = "posterior" if variant == "exact" else f"chain-{VARIANTS.index(variant)}"
        marker = {"symbol": SYMBOLS[variant], "size": 10, "color": theme.colour(role)}
        figure.add_scatter(x=np.arange(spec.models) + offset, y=found, mode="markers", marker=marker, name=name)
        told.append(_listed([name], *found[:, None]))
    line, exact = {"color": theme.colour("ink"), "width": 1.5, "dash": "dash"}, WORDS.phrase("panels.exact")
    for k, p in enumerate(true):
        figure.add_scatter(x=[k - 0.36, k + 0.36], y=[p, p], mode="lines", line=line, name=exact, showlegend=k == 0)
    figure.update_xaxes(tickvals=list(range(spec.models)), ticktext=names(spec))
    figure.update_yaxes(rangemode="tozero")
    alt = WORDS.phrase("panels.variants_alt", exact=", ".join(number(p) for p in true), listed="; ".join(told))
    return Figure(WORDS.phrase("panels.variants"), figure, alt, WORDS.phrase("panels.variants_caption", run=RUN))


def _tilt(spec: DimensionsLesson) -> Figure:
    """What forgetting the Jacobian does, by spread: closed form."""
    at = np.geomspace(0.05, 5.0, 81)
    found = np.array([analysis.limit(spec.replace(spread=float(s))) for s in at])
    figure = charts.blank(WORDS.phrase("panels.spread"), WORDS.phrase("panels.settles"))
    figure.update_xaxes(type="log", dtick=1)
    for k, (name, p) in enumerate(zip(names(spec), analysis.exact(spec), strict=True)):
        colour = theme.colour(f"chain-{k}")
        line = {"color": colour, "width": 2, "dash": theme.DASHES[k]}
        figure.add_scatter(x=at, y=found[:, k], mode="lines", name=name, line=line)
        line = {"color": colour, "width": 1, "dash": "dot"}
        figure.add_scatter(x=[at[0], at[-1]], y=[p, p], mode="lines", line=line, showlegend=False)
    figure.add_vline(x=spec.spread, line={"color": theme.colour("ink"), "dash": "dash", "width": 1.5})
    caption = WORDS.phrase("panels.tilt_caption", neutral=0.5 if spec.family == "means" else 1.0)
    listed = _listed(names(spec), analysis.settles(spec), analysis.exact(spec))
    alt = WORDS.phrase("panels.tilt_alt", spread=number(spec.spread), listed=listed)
    return Figure(WORDS.phrase("panels.tilt"), figure, alt, caption)


def _spread(spec: DimensionsLesson, cancel: Any) -> Figure:
    """Acceptance and effective draws of the right sampler, by spread."""
    at, accepted, effective = [], [], []
    for s in SPREADS:
        if cancel is not None and cancel.is_set():
            break
        one, two = analysis.efficiency(spec.replace(variant="exact", spread=s))
        at.append(s)
        accepted.append(1000.0 * one)
        effective.append(two)
    figure = charts.blank(WORDS.phrase("panels.spread"), WORDS.phrase("panels.per_sweeps"))
    figure.update_xaxes(type="log", dtick=1)
    for values, role, symbol, dash, name in (
        (accepted, "accept", "square", "dash", WORDS.phrase("panels.jumps")),
        (effective, "posterior", "circle", "solid", WORDS.phrase("panels.effective")),
    ):
        figure.add_scatter(
            x=at,
            y=values,
            mode="lines+markers",
            marker={"symbol": symbol, "size": 8},
            line={"color": theme.colour(role), "dash": dash},
            name=name,
        )
    figure.add_vline(x=spec.spread, line={"color": theme.colour("ink"), "dash": "dot", "width": 1.5})
    figure.update_yaxes(rangemode="tozero")
    best = at[int(np.argmax(effective))]
    rows = zip(at, accepted, effective, strict=True)
    listed = "; ".join(WORDS.phrase("panels.at_spread", spread=s, jumps=jumps, effective=draws) for s, jumps, draws in rows)
    alt, caption = WORDS.phrase("panels.worth_alt", listed=listed), WORDS.phrase("panels.worth_caption", run=RUN, best=number(best))
    return Figure(WORDS.phrase("panels.worth"), figure, alt, caption)


def diagnostics_table(spec: DimensionsLesson, cancel: Any = None) -> Table:
    """One row a model: its share on the stage's chains and in the long run, against the exact probability."""
    recording = analysis.recorded(spec)
    true, found = analysis.exact(spec), analysis.long_shares(spec)
    seconds = analysis.long_run(spec, spec.likelihood).seconds
    births: list[str] = []
    deaths: list[str] = []
    ledger = recording.ledger
    assert ledger is not None
    for k in range(1, spec.models + 1):
        for birth, rates in ((True, births), (False, deaths)):
            moves = (ledger.source == k) & (ledger.birth == birth)
            rates.append(f"{100 * recording.accepted[moves].mean():.0f} %" if moves.any() else "–")
    columns = {
        "model": names(spec),
        "on the stage": list(shares(recording.model, 1, spec.models).mean),
        "long run": list(found.mean),
        "MCSE": list(found.mcse),
        "exact": list(true),
        "error / MCSE": list((found.mean - true) / found.mcse),
        "ESS": list(np.round(found.ess)),
        "ESS / s": list(np.round(found.ess / seconds)),
        "births accepted": births,
        "deaths accepted": deaths,
    }
    if spec.chains == 1:
        stage = WORDS.phrase("panels.one_chain", sweeps=number(spec.draws), start=spec.start)
    else:
        stage = WORDS.phrase("panels.chains", chains=spec.chains, sweeps=number(spec.draws), start=spec.start)
    caption = WORDS.phrase("panels.cost", stage=stage, run=RUN, ms=1000 * seconds, rhat=found.rhat)
    return Table(WORDS.phrase("panels.table"), columns, caption)
