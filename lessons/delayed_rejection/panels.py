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
from lessons.delayed_rejection.spec import ORDINAL, WORDS, DelayedRejectionLesson

NAMES = {1: WORDS.phrase("panels.one"), 2: WORDS.phrase("runs.two"), 3: WORDS.phrase("runs.three")}
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
    caption = WORDS.phrase(
        "panels.cost",
        chains=chains(spec.chains),
        spent=number(cost.gradient_evaluations),
        each=cost.gradient_evaluations / (spec.chains * spec.draws),
        seconds=number(1000 * cost.seconds),
        told=told,
    )
    return Table(WORDS.phrase("panels.diagnostics"), columns, caption)


# Over scales ----------------------------------------------------------------------------------------------------------


def _over_scales(spec: DelayedRejectionLesson, y: str) -> Any:
    """An empty figure over the scale of the first try, with a rule at the present one."""
    figure = charts.blank(WORDS.phrase("panels.scale"), y)
    figure.update_xaxes(type="log", dtick=1)
    figure.add_vline(x=spec.scale, line={"color": theme.colour("ink"), "dash": "dot", "width": 1.5})
    return figure


def _add(figure: Any, x: NDArray, y: NDArray, tries: int, name: str, dash: str | None = None) -> None:
    role, symbol, line = LOOKS[tries]
    look = {"line": {"color": theme.colour(role), "dash": dash or line}, "marker": {"symbol": symbol, "size": 7}}
    figure.add_scatter(x=x, y=y, mode="lines+markers", name=name, **look)


def _efficiency(spec: DelayedRejectionLesson, found: Sweep) -> Figure:
    figure = _over_scales(spec, WORDS.phrase("panels.ess"))
    figure.update_yaxes(type="log", dtick=1)
    best = {}
    for tries in TRIES:
        values = found.of(tries, "per_evaluation")
        _add(figure, found.scales, values, tries, NAMES[tries])
        best[tries] = _best(found.scales, values)
    told = "; ".join(WORDS.phrase("panels.best", tries=NAMES[tries], value=value, scale=scale) for tries, (scale, value) in best.items())
    return Figure(
        WORDS.phrase("panels.efficiency"),
        figure,
        WORDS.phrase("panels.efficiency_alt", told=told),
        WORDS.phrase("panels.efficiency_caption", told=told, chains=LONG_CHAINS, draws=SWEEP_DRAWS, fewest=analysis.FEWEST),
    )


def _best(scales: NDArray, values: NDArray) -> tuple[float, float]:
    if not np.any(np.isfinite(values)):
        return float("nan"), float("nan")
    at = int(np.nanargmax(values))
    return float(scales[at]), float(values[at])


def _gain(spec: DelayedRejectionLesson, found: Sweep) -> Figure:
    tries = max(spec.stages, 2)
    figure = _over_scales(spec, WORDS.phrase("panels.gain_axis"))
    figure.update_yaxes(type="log")
    per_evaluation, per_transition = found.gain(tries, "per_evaluation"), found.gain(tries, "per_transition")
    _add(figure, found.scales, per_transition, tries, WORDS.phrase("panels.per_transition"), dash="dash")
    _add(figure, found.scales, per_evaluation, 1, WORDS.phrase("panels.per_evaluation"), dash="solid")
    figure.add_hline(y=1.0, line={"color": theme.colour("muted"), "width": 1.2})
    wins = found.scales[per_evaluation > 1.0]
    where = (
        WORDS.phrase("panels.nowhere")
        if not len(wins)
        else WORDS.phrase("panels.somewhere", scales=", ".join(number(scale, 2) for scale in wins))
    )
    return Figure(
        WORDS.phrase("panels.gain", tries=NAMES[tries]),
        figure,
        WORDS.phrase("panels.gain_alt", tries=NAMES[tries], where=where),
        WORDS.phrase("panels.gain_caption", where=where),
    )


def _endings(spec: DelayedRejectionLesson, found: Sweep) -> Figure:
    tries = max(spec.stages, 2)
    shares = np.array([row.shares for row in found.by_tries[tries]])
    figure = _over_scales(spec, WORDS.phrase("panels.share"))
    figure.update_yaxes(range=[0, 1])
    for stage in range(tries):
        name = WORDS.phrase("stage.accepted", name=ORDINAL[stage])
        _add(figure, found.scales, shares[:, stage], stage + 1, name)
    return Figure(
        WORDS.phrase("panels.endings"), figure, WORDS.phrase("panels.endings_alt", tries=tries), WORDS.phrase("panels.endings_caption")
    )


# What forgetting does -------------------------------------------------------------------------------------------------


def _bias(spec: DelayedRejectionLesson, cancel: Any) -> Figure:
    measured = list(analysis.biases(spec, cancel))
    scales = np.array([scale for scale, _, _ in measured])
    name = spec.build_target().labels[0]
    figure = _over_scales(spec, WORDS.phrase("panels.error_axis", name=name))
    for tries, which, label in ((2, 0, WORDS.phrase("panels.right")), (3, 1, WORDS.phrase("panels.forgotten"))):
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
    told = WORDS.phrase("panels.largest", scale=worst[0], error=100 * worst[2].error)
    if hidden:
        told = f"{told} {WORDS.phrase('panels.hidden', scales=', '.join(hidden))}"
    return Figure(
        WORDS.phrase("panels.error"),
        figure,
        WORDS.phrase("panels.error_alt", name=name, told=told),
        WORDS.phrase("panels.error_caption", told=told, chains=LONG_CHAINS, draws=analysis.BIAS_DRAWS),
    )
