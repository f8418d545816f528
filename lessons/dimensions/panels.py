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
from lessons.dimensions.spec import DimensionsLesson
from lessons.families.growing.sizes import HELD

SPREADS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0)
LOOKS = {
    "exact": ("right", "circle"),
    "no_jacobian": ("no Jacobian", "cross"),
    "no_end_points": ("no d/b", "square"),
    "no_proposal": ("no q(u)", "triangle-up"),
    "one_sided": ("d/b one way", "x"),
}
RUN = f"{LONG_CHAINS} chains of {LONG // 1000},000 sweeps"


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
    title = "The same sampler, run longer"
    caption = f"{RUN}. Error bars: {HELD:g} Monte Carlo standard errors each way, often smaller than the line."
    figure = charts.bars(
        title,
        names(spec),
        found,
        error=HELD * np.nan_to_num(errors),
        truth=true,
        x="model",
        y="share of sweeps",
        alt=f"{title}: share and exact probability of each model. {_listed(names(spec), found, true)}.",
        caption=caption,
    )
    known = analysis.limit(spec)
    if spec.variant != "exact" and known is not None:
        marker = {"symbol": "circle-open", "size": 13, "color": theme.colour("divergent"), "line": {"width": 2}}
        figure.figure.add_scatter(x=names(spec), y=known, mode="markers", marker=marker, name="its limit, exact")
    return figure


def _running(spec: DimensionsLesson) -> Figure:
    rows = running_shares(analysis.long_run(spec, spec.likelihood).model, 1, spec.models)
    at = np.unique(np.geomspace(10, LONG, 120).astype(int))
    figure = charts.blank("sweeps of each chain (log scale)", "share of sweeps so far")
    figure.update_xaxes(type="log", dtick=1)
    last = []
    for k, (name, p) in enumerate(zip(names(spec), analysis.exact(spec), strict=True), 1):
        share = rows[at - 1, k - 1]
        line = {"color": theme.colour(f"chain-{k - 1}"), "width": 2, "dash": theme.DASHES[k - 1]}
        figure.add_scatter(x=at, y=share, mode="lines", line=line, name=name)
        ends = {"symbol": "diamond-open", "size": 10, "color": theme.colour(f"chain-{k - 1}"), "line": {"width": 2}}
        figure.add_scatter(x=[at[-1]], y=[p], mode="markers", marker=ends, name="exact", showlegend=False)
        last.append(share[-1])
    figure.update_yaxes(rangemode="tozero")
    caption = f"Average over {LONG_CHAINS} chains. Diamonds: exact. More sweeps bring a right sampler to them, and no other."
    told = _listed(names(spec), np.array(last), analysis.exact(spec))
    alt = f"Share of each model against the number of sweeps. At the end, and exact: {told}."
    return Figure("The shares as they settle", figure, alt, caption)


def _variants(spec: DimensionsLesson) -> Figure:
    figure = charts.blank("model", "share of sweeps", height=300)
    true = analysis.exact(spec)
    told = []
    for offset, variant in zip(np.linspace(-0.24, 0.24, len(VARIANTS)), VARIANTS, strict=True):
        found = analysis.long_shares(spec.replace(variant=variant)).mean
        name, symbol = LOOKS[variant]
        role = "posterior" if variant == "exact" else f"chain-{VARIANTS.index(variant)}"
        marker = {"symbol": symbol, "size": 10, "color": theme.colour(role)}
        figure.add_scatter(x=np.arange(spec.models) + offset, y=found, mode="markers", marker=marker, name=name)
        told.append(f"{name}: {', '.join(number(value) for value in found)}")
    for k, p in enumerate(true):
        line = {"color": theme.colour("ink"), "width": 1.5, "dash": "dash"}
        figure.add_scatter(x=[k - 0.36, k + 0.36], y=[p, p], mode="lines", line=line, name="exact", showlegend=k == 0)
    figure.update_xaxes(tickvals=list(range(spec.models)), ticktext=names(spec))
    figure.update_yaxes(rangemode="tozero")
    alt = f"Share of each model under five samplers. Exact: {', '.join(number(p) for p in true)}. {'; '.join(told)}."
    return Figure("One factor forgotten at a time", figure, alt, f"The present settings, {RUN} each.")


def _tilt(spec: DimensionsLesson) -> Figure:
    """What forgetting the Jacobian does, by spread: closed form."""
    at = np.geomspace(0.05, 5.0, 81)
    found = np.array([analysis.limit(spec.replace(spread=float(s))) for s in at])
    figure = charts.blank("spread s of the jump (log scale)", "share it settles at")
    figure.update_xaxes(type="log", dtick=1)
    for k, (name, p) in enumerate(zip(names(spec), analysis.exact(spec), strict=True)):
        colour = theme.colour(f"chain-{k}")
        line = {"color": colour, "width": 2, "dash": theme.DASHES[k]}
        figure.add_scatter(x=at, y=found[:, k], mode="lines", name=name, line=line)
        line = {"color": colour, "width": 1, "dash": "dot"}
        figure.add_scatter(x=[at[0], at[-1]], y=[p, p], mode="lines", line=line, showlegend=False)
    figure.add_vline(x=spec.spread, line={"color": theme.colour("ink"), "dash": "dash", "width": 1.5})
    neutral = 0.5 if spec.family == "means" else 1.0
    caption = (
        "Exact, no sampling. Dotted: the true probabilities; dashed: the present s. At s = "
        f"{neutral:g} the Jacobian is 1, and forgetting it does no harm; below, the large models gain, above, the "
        "small ones. A posterior must not depend on a setting of the sampler."
    )
    told = _listed(names(spec), analysis.settles(spec), analysis.exact(spec))
    alt = f"Shares without the Jacobian against s. At s = {number(spec.spread)}, and exact: {told}."
    return Figure("Without the Jacobian the answer hangs on s", figure, alt, caption)


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
    figure = charts.blank("spread s of the jump (log scale)", "per 1 000 sweeps")
    figure.update_xaxes(type="log", dtick=1)
    for values, role, symbol, dash, name in (
        (accepted, "accept", "square", "dash", "jumps accepted"),
        (effective, "posterior", "circle", "solid", "effective draws of k"),
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
    caption = (
        f"The right sampler, {RUN} for each s. Dotted: the present s. Every s gives the same answer; a good one gives "
        f"it sooner (here about {number(best)})."
    )
    told = "; ".join(f"s = {s:g}: {a:.0f} and {e:.0f}" for s, a, e in zip(at, accepted, effective, strict=True))
    return Figure("What the spread is for", figure, f"Jumps accepted and effective draws per 1000 sweeps, by s. {told}.", caption)


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
    chains = f"{spec.chains} chain{'s' * (spec.chains > 1)} of {number(spec.draws)} sweeps, from model {spec.start}"
    caption = (
        f"On the stage: {chains}; acceptance is theirs. Long run: {RUN} in {1000 * seconds:.0f} ms, R-hat of k "
        f"{found.rhat:.3f}. MCSE: Monte Carlo standard error of a share; ESS: effective draws behind it. No gradient "
        "is evaluated: a jump compares two densities."
    )
    return Table("Diagnostics", columns, caption)
