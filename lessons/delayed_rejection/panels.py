"""What stands below the stage: efficiency and gain over scales, what forgetting does, the diagnostics."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import charts, pictures, theme
from app.kit.charts import Figure, Table
from app.kit.text import chains, number
from engine import diagnostics as measures
from lessons.delayed_rejection import analysis
from lessons.delayed_rejection.analysis import LONG_CHAINS, SWEEP_DRAWS, TRIES, Sweep
from lessons.delayed_rejection.spec import DelayedRejectionLesson

NAMES = {1: "one try (Metropolis)", 2: "two tries", 3: "three tries"}
LOOKS = {1: ("truth", "circle", "solid"), 2: ("posterior", "square", "dash"), 3: ("highlight", "diamond", "dot")}


def panels(spec: DelayedRejectionLesson, cancel: Any = None) -> list[Figure]:
    """Effective draws and gain over scales; then what the forgotten factors do, or how transitions end."""
    found = analysis.sweep(spec, cancel)
    figures = [_efficiency(spec, found), _gain(spec, found)]
    if spec.forgets and analysis.spread_is_known(spec.build_target()):
        return [*figures, _bias(spec, cancel)]
    return [*figures, _endings(spec, found)]


def diagnostics(spec: DelayedRejectionLesson, cancel: Any = None) -> Table:
    """One row a coordinate: R-hat, effective draws, what they cost."""
    walk = analysis.simulate(spec)
    summary = measures.summarise(walk.recording.draws)
    cost = measures.cost(walk.recording, summary)
    columns = charts.estimates(
        walk.target.labels, summary, *pictures.exact(walk.target), per="evaluations", spent=cost.gradient_evaluations, seconds=cost.seconds
    )
    shares = [float((walk.ending == stage).mean()) for stage in range(spec.stages)]
    told = ", ".join(f"{100 * share:.0f} %" for share in shares)
    caption = (
        f"{chains(spec.chains)}, {number(cost.gradient_evaluations)} evaluations of the density, "
        f"{cost.gradient_evaluations / (spec.chains * spec.draws):.2f} a transition, {number(1000 * cost.seconds)} ms. "
        f"Transitions of chain 1 that ended by accepting the first, second … try: {told}. MCSE is the Monte Carlo "
        "standard error of the mean."
    )
    return Table("Diagnostics of this run", columns, caption)


# Over scales ----------------------------------------------------------------------------------------------------------


def _over_scales(spec: DelayedRejectionLesson, y: str) -> Any:
    """An empty figure over the scale of the first try, with a rule at the present one."""
    figure = charts.blank("scale σ of the first try", y)
    figure.update_xaxes(type="log", dtick=1)
    figure.add_vline(x=spec.scale, line={"color": theme.colour("ink"), "dash": "dot", "width": 1.5})
    return figure


def _add(figure: Any, x: NDArray, y: NDArray, tries: int, name: str, dash: str | None = None) -> None:
    role, symbol, line = LOOKS[tries]
    look = {"line": {"color": theme.colour(role), "dash": dash or line}, "marker": {"symbol": symbol, "size": 7}}
    figure.add_scatter(x=x, y=y, mode="lines+markers", name=name, **look)


def _efficiency(spec: DelayedRejectionLesson, found: Sweep) -> Figure:
    figure = _over_scales(spec, "ESS per 1 000 evaluations")
    figure.update_yaxes(type="log", dtick=1)
    best = {}
    for tries in TRIES:
        values = found.of(tries, "per_evaluation")
        _add(figure, found.scales, values, tries, NAMES[tries])
        best[tries] = _best(found.scales, values)
    told = "; ".join(f"{NAMES[tries]} {value:.3g} at σ = {scale:.2g}" for tries, (scale, value) in best.items())
    return Figure(
        "Effective draws per evaluation",
        figure,
        f"Effective draws per 1 000 evaluations of the density against the scale, for one, two and three tries. Best: {told}.",
        f"Best on this grid: {told}. Dotted: the present scale. {LONG_CHAINS} chains of {SWEEP_DRAWS:,} draws of the "
        "right sampler each, ESS of the worst of all coordinates and their squares: differences of ten or twenty per "
        f"cent are noise. A gap: fewer than {analysis.FEWEST:.0f} effective draws, too few to tell.",
    )


def _best(scales: NDArray, values: NDArray) -> tuple[float, float]:
    if not np.any(np.isfinite(values)):
        return float("nan"), float("nan")
    at = int(np.nanargmax(values))
    return float(scales[at]), float(values[at])


def _gain(spec: DelayedRejectionLesson, found: Sweep) -> Figure:
    tries = max(spec.stages, 2)
    figure = _over_scales(spec, "effective draws ÷ Metropolis's")
    figure.update_yaxes(type="log")
    per_evaluation, per_transition = found.gain(tries, "per_evaluation"), found.gain(tries, "per_transition")
    _add(figure, found.scales, per_transition, tries, "per transition", dash="dash")
    _add(figure, found.scales, per_evaluation, 1, "per evaluation", dash="solid")
    figure.add_hline(y=1.0, line={"color": theme.colour("muted"), "width": 1.2})
    wins = found.scales[per_evaluation > 1.0]
    where = "at no scale of this grid" if not len(wins) else f"at σ = {', '.join(number(scale, 2) for scale in wins)}"
    return Figure(
        f"Gain of {NAMES[tries]} over Metropolis at the same scale",
        figure,
        f"Effective draws of {NAMES[tries]} over those of plain Metropolis at each scale, per transition and per "
        f"evaluation of the density. Per evaluation it is above 1 {where}.",
        f"Above 1 it pays. Per evaluation it measured more than 1 {where}. Per transition a try more can only help: "
        "each off-diagonal move becomes more likely (Peskun's ordering; Tierney and Mira 1999), so a value below 1 "
        "there is noise.",
    )


def _endings(spec: DelayedRejectionLesson, found: Sweep) -> Figure:
    tries = max(spec.stages, 2)
    shares = np.array([row.shares for row in found.by_tries[tries]])
    figure = _over_scales(spec, "share of transitions")
    figure.update_yaxes(range=[0, 1])
    for stage in range(tries):
        name = ("first", "second", "third")[stage] + " try accepted"
        _add(figure, found.scales, shares[:, stage], stage + 1, name)
    return Figure(
        "Which try is accepted, over scales",
        figure,
        f"Share of transitions that end with each of {tries} tries, against the scale of the first.",
        "What is missing to 1 ends with every try rejected. The bolder the first, the more the others are asked.",
    )


# What forgetting does -------------------------------------------------------------------------------------------------


def _bias(spec: DelayedRejectionLesson, cancel: Any) -> Figure:
    measured = list(analysis.biases(spec, cancel))
    scales = np.array([scale for scale, _, _ in measured])
    name = spec.build_target().labels[0]
    figure = _over_scales(spec, f"error of the sd of {name} (%)")
    for tries, which, label in ((2, 0, "right ratio"), (3, 1, "1 − α forgotten")):
        role, symbol, dash = LOOKS[tries]
        rows = [(right, forgotten)[which] for _, right, forgotten in measured]
        figure.add_scatter(
            x=scales,
            y=[100 * row.error for row in rows],
            mode="lines+markers",
            name=label,
            error_y={"type": "data", "array": [200 * row.mcse for row in rows]},
            line={"color": theme.colour(role), "dash": dash},
            marker={"symbol": symbol, "size": 8},
        )
    figure.add_hline(y=0.0, line={"color": theme.colour("muted"), "width": 1.2})
    worst = max(measured, key=lambda row: abs(row[2].error))
    hidden = [number(scale, 2) for scale, _, wrong in measured if abs(wrong.error) < 2 * wrong.mcse]
    told = f"Largest at σ = {worst[0]:.2g}: {100 * worst[2].error:+.1f} %."
    if hidden:
        told += f" At σ = {', '.join(hidden)} even these long chains do not see it."
    return Figure(
        "What forgetting 1 − α does to the spread",
        figure,
        f"Error of the standard deviation of {name} against the scale, for the right and the wrong sampler. {told}",
        f"{told} Bars: ± 2 Monte Carlo standard errors; {LONG_CHAINS} chains of {analysis.BIAS_DRAWS:,} draws each. "
        "The sd of one coordinate: other targets may hide their error in other quantities.",
    )
