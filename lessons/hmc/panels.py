"""What stands below the stage: the map of settings, the traces, the diagnostics."""

from __future__ import annotations

import numpy as np

from app.kit import charts, pictures
from app.kit.charts import Figure, Table
from app.kit.text import chains, number
from lessons.hmc import analysis
from lessons.hmc.analysis import MAP_CHAINS, TuningMap, map_draws
from lessons.hmc.spec import HmcLesson


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
    caption = (
        f"{chains(spec.chains)}, {number(cost.gradient_evaluations)} gradient evaluations, "
        f"{number(1000 * cost.seconds)} ms. "
        f"Mean acceptance probability {number(found.acceptance)}. Divergent transitions: {found.divergences} of "
        f"{number(spec.chains * spec.draws)}. "
        f"Steps after the U-turn: {100 * found.waste:.0f} % of all (chain 1). MCSE is the Monte Carlo standard error "
        f"of the mean."
    )
    return Table("Diagnostics of this run", columns, caption)


def _map(spec: HmcLesson, tuning: TuningMap, what: str) -> Figure:
    """One heat map; the axes count doublings, so that all cells have one size."""
    best_size, best_steps = tuning.best()
    if what == "acceptance":
        title, values, unit = "Mean acceptance probability", tuning.acceptance, ""
        lesson = "Acceptance hangs on the step size and hardly on the number of steps: beyond the cliff leapfrog is unstable."
    else:
        title, values, unit = "Effective draws per 1 000 gradients", tuning.ess_per_1000, ""
        lesson = f"Best on this grid: ε = {number(best_size)}, L = {best_steps}, marked by a diamond."
        if best_steps == 1:
            lesson += " One large step at a time (MALA) is hard to beat in the plane; longer paths win as dimensions and correlations grow."
    xs = np.log2(tuning.step_sizes)
    ys = np.log2(np.array(tuning.steps, dtype=float))
    alt = (
        f"{title} over step size {number(tuning.step_sizes[0])} to {number(tuning.step_sizes[-1])} and "
        f"{tuning.steps[0]} to {tuning.steps[-1]} steps. "
        f"{lesson} The present setting is ε = {number(spec.step_size)}, L = {spec.steps}."
    )
    present = xs[0] - 0.5 <= np.log2(spec.step_size) <= xs[-1] + 0.5 and np.log2(spec.steps) <= ys[-1] + 0.5
    away = "" if present else " The present setting lies outside this map."
    caption = f"{lesson} The cross is the present setting.{away} Each cell: {MAP_CHAINS} chains of {map_draws(128)} to {map_draws(1)} draws"
    caption += "." if what == "acceptance" else ", ESS of the worst of all coordinates and their squares."
    if what == "ess" and (spec.integrator == "euler" or spec.variant != "exact"):
        caption += (
            " A kernel that is wrong on purpose has effective draws too, of the wrong density; the map is made with the Metropolis step."
        )
    figure = charts.heat_map(
        title, values, alt=alt, x="step size ε (log scale)", y="steps L (log scale)", xs=xs, ys=ys, unit=unit, caption=caption
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
    alt = (
        f"{name} against the number of the draw, {spec.chains} chain{'s' * (spec.chains > 1)} of {spec.draws} "
        "draws; the exact mean is a dashed line."
    )
    draws = walk.recording.draws[:, :, 0]
    return charts.trace(
        f"Trace of {name}", draws, alt=alt, y=name, truth=truth, caption=f"Autocorrelation of neighbours: {_neighbours(draws):.2f}."
    )


def _neighbours(draws: np.ndarray) -> float:
    """Correlation of each draw with the next, chains pooled."""
    centred = draws - draws.mean()
    spread = float((centred**2).mean())
    return float((centred[:, 1:] * centred[:, :-1]).mean()) / spread if spread > 0 else float("nan")
