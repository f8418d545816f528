"""What stands below the stage: the map of settings, the traces, the diagnostics."""

from __future__ import annotations

import numpy as np

from app.kit import charts, pictures
from app.kit.charts import Figure, Table
from app.kit.text import chains, number
from lessons.hmc import analysis
from lessons.hmc.analysis import MAP_CHAINS, TuningMap, map_draws
from lessons.hmc.spec import WORDS, HmcLesson


def panels(spec: HmcLesson, cancel: object = None) -> list[Figure]:
    """The map of settings twice, by acceptance and by effective draws per gradient, and the traces."""
    tuning = analysis.tuning_map(spec, cancel)
    return [_map(spec, tuning, "acceptance"), _map(spec, tuning, "ess"), _trace(spec)]


def diagnostics(spec: HmcLesson, cancel: object = None) -> Table:
    """One row a coordinate: R-hat, effective draws, what they cost."""
    walk, found = analysis.simulate(spec), analysis.diagnose(spec)
    summary, cost = found.summary, found.cost
    columns = charts.estimates(
        walk.target.labels, summary, *pictures.exact(walk.target), per="gradients", spent=cost.gradient_evaluations, seconds=cost.seconds
    )
    caption = WORDS.phrase(
        "panels.cost",
        chains=chains(spec.chains),
        gradients=number(cost.gradient_evaluations),
        seconds=number(1000 * cost.seconds),
        acceptance=number(found.acceptance),
        divergences=found.divergences,
        transitions=number(spec.chains * spec.draws),
        waste=100 * found.waste,
    )
    return Table(WORDS.phrase("panels.diagnostics"), columns, caption)


def _map(spec: HmcLesson, tuning: TuningMap, what: str) -> Figure:
    """One heat map; the axes count doublings, so that all cells have one size."""
    best_size, best_steps = tuning.best()
    if what == "acceptance":
        title, values, unit = WORDS.phrase("panels.acceptance"), tuning.acceptance, ""
        lesson = WORDS.phrase("panels.acceptance_hangs")
    else:
        title, values, unit = WORDS.phrase("panels.ess"), tuning.ess_per_1000, ""
        lesson = WORDS.phrase("panels.best", step_size=number(best_size), steps=best_steps)
        if best_steps == 1:
            lesson = f"{lesson} {WORDS.phrase('panels.mala')}"
    xs = np.log2(tuning.step_sizes)
    ys = np.log2(np.array(tuning.steps, dtype=float))
    alt = WORDS.phrase(
        "panels.map",
        title=title,
        smallest=number(tuning.step_sizes[0]),
        largest=number(tuning.step_sizes[-1]),
        fewest=tuning.steps[0],
        most=tuning.steps[-1],
        said=lesson,
        step_size=number(spec.step_size),
        steps=spec.steps,
    )
    present = xs[0] - 0.5 <= np.log2(spec.step_size) <= xs[-1] + 0.5 and np.log2(spec.steps) <= ys[-1] + 0.5
    told = [lesson, WORDS.phrase("panels.cross")]
    if not present:
        told.append(WORDS.phrase("panels.away"))
    told.append(WORDS.phrase(f"panels.cells_{what}", chains=MAP_CHAINS, fewest=map_draws(128), most=map_draws(1)))
    if what == "ess" and (spec.integrator == "euler" or spec.variant != "exact"):
        told.append(WORDS.phrase("panels.wrong"))
    figure = charts.heat_map(
        title,
        values,
        alt=alt,
        x=WORDS.phrase("panels.step_size"),
        y=WORDS.phrase("panels.steps"),
        xs=xs,
        ys=ys,
        unit=unit,
        caption=" ".join(told),
    )
    ticks = range(0, len(xs), 3)
    figure.figure.update_xaxes(tickvals=[xs[i] for i in ticks], ticktext=[number(tuning.step_sizes[i], 2) for i in ticks])
    figure.figure.update_yaxes(tickvals=list(ys), ticktext=[str(steps) for steps in tuning.steps])
    cells = [
        [f"ε = {number(size)}, L = {steps}: {number(values[r, c])}" for c, size in enumerate(tuning.step_sizes)]
        for r, steps in enumerate(tuning.steps)
    ]
    figure.figure.update_traces(text=cells, hoverinfo="text")
    if what == "ess":
        _mark(figure, np.log2(best_size), np.log2(best_steps), "diamond-open", "best")
    if present:
        _mark(figure, np.log2(spec.step_size), np.log2(spec.steps), "x-thin", "now")
    figure.figure.update_layout(showlegend=False)
    return figure


def _mark(figure: Figure, x: float, y: float, symbol: str, name: str) -> None:
    """A marker that is seen on every colour of Viridis: dark under bright."""
    for width, colour in ((6, "#000000"), (2.5, "#ffffff")):
        marker = {"symbol": symbol, "size": 13, "color": colour, "line": {"width": width, "color": colour}}
        figure.figure.add_scatter(x=[x], y=[y], mode="markers", marker=marker, name=name, hoverinfo="name")


def _trace(spec: HmcLesson) -> Figure:
    walk = analysis.simulate(spec)
    name = walk.target.labels[0]
    known = walk.target.truth is not None and np.isfinite(walk.target.truth.mean[0])
    truth = float(walk.target.known.mean[0]) if known else None
    which = "panels.trace_of_one" if spec.chains == 1 else "panels.trace_of_several"
    alt = WORDS.phrase(which, name=name, chains=spec.chains, draws=spec.draws)
    draws = walk.recording.draws[:, :, 0]
    return charts.trace(
        WORDS.phrase("stage.trace", name=name),
        draws,
        alt=alt,
        y=name,
        truth=truth,
        caption=WORDS.phrase("panels.neighbours", correlation=_neighbours(draws)),
    )


def _neighbours(draws: np.ndarray) -> float:
    """Correlation of each draw with the next, chains pooled."""
    centred = draws - draws.mean()
    spread = float((centred**2).mean())
    return float((centred[:, 1:] * centred[:, :-1]).mean()) / spread if spread > 0 else float("nan")
