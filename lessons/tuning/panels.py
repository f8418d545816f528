"""What stands below the stage: what each target acceptance yields, what a wrong use of the warm-up does, the trace, and
the diagnostics.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.kit import charts, theme
from app.kit.charts import Figure, Table
from app.kit.text import chains, number
from lessons.tuning import analysis
from lessons.tuning.analysis import LONG_CHAINS, LONG_DRAWS, LONG_SETS, SWEEP_CHAINS, WAYS, Sweep
from lessons.tuning.spec import SEVERAL, TuningLesson

NAMES = {"frozen": "as it should be", "counted": "warm-up counted too", "adapting": "never stops tuning"}


def panels(spec: TuningLesson, cancel: object = None) -> list[Figure]:
    """Long runs of the view with δ = 0.99, the sweep over δ, short runs, the trace."""
    figures = []
    if spec.view == "pair":
        figures.append(_long(spec))
    elif spec.tuning == "adapt" and spec.warmup:
        found = analysis.sweep(spec, cancel)
        if found is not None:
            figures += [_yield(spec, found), _price(spec, found)]
    short = _short(spec)
    return [*figures, *([short] if short else []), _trace(spec)]


def diagnostics(spec: TuningLesson, cancel: object = None) -> Table:
    """One row a coordinate and one for the quantity that the averages follow."""
    tuned, found = analysis.simulate(spec), analysis.diagnose(spec)
    summary, total = found.summary, found.gradients + found.gradients_warm
    columns = charts.estimates(
        found.labels, summary, found.exact, found.exact_sd, per="gradients", spent=total, seconds=found.seconds, of="of"
    )
    last = tuned.step_size[:, -1]
    words = f"ε of each chain after its warm-up: {', '.join(number(size, 3) for size in last)}. "
    counted = "all transitions, warm-up too" if spec.count == "all" else "the draws after the warm-up"
    target = f" (target δ = {spec.target_accept:g})" if spec.tuning == "adapt" else ""
    caption = (
        f"{chains(spec.chains)}, {counted}. {words}"
        f"Mean acceptance after the warm-up {tuned.accept[:, tuned.kept].mean():.3f}{target}. "
        f"Gradients: {number(found.gradients_warm)} in the warm-up, {number(found.gradients)} after it; "
        f"{number(1000 * found.seconds)} ms. Divergent transitions after the warm-up: "
        f"{int(tuned.divergent[:, tuned.kept].sum())} of {number(spec.chains * spec.draws)}. MCSE is the Monte Carlo "
        f"standard error of the mean."
    )
    return Table("Diagnostics of this run", columns, caption)


def _yield(spec: TuningLesson, found: Sweep) -> Figure:
    each = 1000.0 * found.ess_least / (found.gradients * found.draws * SWEEP_CHAINS)
    best = int(np.argmax(found.efficiency))
    lesson = f"Best of these: δ = {found.deltas[best]:g}, {number(found.efficiency[best])} per 1 000 gradients."
    title = "Effective draws per 1 000 gradients"
    figure = _dots(title, found.deltas, each, found.efficiency, "effective draws / 1 000 gradients", spec)
    caption = (
        f"{lesson} Of the slowest of all coordinates and their squares. Each dot: {SWEEP_CHAINS} chains of "
        f"{found.draws:,} draws after {spec.warmup} transitions of warm-up, whose gradients do not count; the line is "
        f"the geometric mean."
    )
    divergent = [int(count) for count in found.divergent.sum(axis=1)]
    if sum(divergent):
        caption += " Divergent transitions, from left to right: " + ", ".join(map(str, divergent)) + "."
        caption += " Where chains diverge they shun a region, and the effective draws themselves are overrated."
    alt = f"{title} at target acceptances {', '.join(f'{delta:g}' for delta in found.deltas)}. {lesson}"
    return Figure(title, figure, alt, caption)


def _price(spec: TuningLesson, found: Sweep) -> Figure:
    title = "Gradients per draw"
    mean = found.gradients.mean(axis=1)
    figure = _dots(title, found.deltas, found.gradients, mean, "gradients per draw", spec)
    sizes = ", ".join(f"{number(size, 2)}" for size in found.step_size.mean(axis=(1, 2)))
    alt = f"{title} rise from {number(mean[0], 2)} at δ = {found.deltas[0]:g} to {number(mean[-1], 2)} at 0.99."
    return Figure(title, figure, alt, f"The same runs. Mean step sizes, from left to right: {sizes}.")


def _long(spec: TuningLesson) -> Figure:
    deltas = SEVERAL["pair"]
    runs = [analysis.long_runs(spec, delta) for delta in deltas]
    each = np.stack([run.ess for run in runs])
    ratio = analysis.ess_ratio(spec, deltas[1], deltas[0])
    name = analysis.quantity(spec.build_target()).name
    title = f"Effective draws of {name} in {LONG_CHAINS * LONG_DRAWS:,}"
    figure = _dots(title, deltas, each, np.exp(np.log(each).mean(axis=1)), "effective draws", spec)
    lesson = f"With δ = {deltas[0]:g} there are {ratio:.0f} times fewer than with {deltas[1]:g}."
    per_gradient = ratio * runs[0].gradients.mean() / runs[1].gradients.mean()
    means = "; ".join(f"δ = {delta:g}: " + ", ".join(f"{mean:.2f}" for mean in run.mean) for delta, run in zip(deltas, runs, strict=True))
    caption = (
        f"{lesson} Per gradient, since the longer paths cost more, {per_gradient:.0f} times. Each dot: {LONG_CHAINS} "
        f"chains of {LONG_DRAWS:,} draws, {LONG_SETS} sets with other seeds. "
        f"Their averages, where 1 is exact: {means}. "
        f"Divergent transitions: {int(runs[0].divergent.sum()):,} against {int(runs[1].divergent.sum()):,}."
    )
    return Figure(title, figure, f"{title}. {lesson}", caption)


def _dots(
    title: str, deltas: Sequence[float], each: np.ndarray, middle: np.ndarray, y: str, spec: TuningLesson
):  # the figure of `charts.blank`
    """Values `each` (deltas, sets) as dots and their `middle` as a line, on a logarithmic scale."""
    figure = charts.blank("target acceptance δ", y)
    labels = [f"{delta:g}" for delta in deltas]
    marker = {"symbol": "circle", "size": 7, "color": theme.colour("posterior", 0.7)}
    for values in each.T:
        figure.add_scatter(x=labels, y=values, mode="markers", marker=marker, hoverinfo="y", showlegend=False)
    line = {"color": theme.colour("highlight"), "width": 2}
    diamond = {"symbol": "diamond", "size": 10, "color": theme.colour("highlight")}
    figure.add_scatter(x=labels, y=middle, mode="lines+markers", line=line, marker=diamond, name=title, showlegend=False)
    if spec.target_accept in deltas:
        at = deltas.index(spec.target_accept)
        ring = {"symbol": "circle-open", "size": 19, "color": theme.colour("ink"), "line": {"width": 2}}
        figure.add_scatter(x=[labels[at]], y=[middle[at]], mode="markers", marker=ring, name="now", showlegend=True)
    figure.update_yaxes(type="log")
    figure.update_xaxes(type="category")
    return figure


def _short(spec: TuningLesson) -> Figure | None:
    """Averages of many short runs, used in three ways."""
    if spec.warmup == 0 or (spec.tuning == "fixed" and spec.mass not in ("diagonal", "dense")):
        return None
    found = [short for way in WAYS if (short := analysis.short_runs(spec, way)) is not None]
    if len(found) < len(WAYS):
        return None
    means, errors = [short.mean for short in found], [2.0 * short.se for short in found]
    name = analysis.quantity(spec.build_target()).name
    told = "; ".join(f"{NAMES[way]} {short.mean:.3f} ({short.z:+.1f} SE)" for way, short in zip(WAYS, found, strict=True))
    title = f"Average of {name} over {found[0].runs} short runs"
    where = "exact draws" if spec.start == "random" else "the start chosen"
    caption = (
        f"{told}. Exact: {found[0].exact:g}. Each run: {spec.warmup} transitions of warm-up and {spec.draws} after it, "
        f"from {where}. Error bars hold two standard errors (SE) either way. "
    )
    if abs(found[0].z) >= 3.0:
        caption += (
            "Even used as it should be the runs are off here: frozen in an unlucky state they are too short to forget "
            "it. That fades with more draws, the other two ways need not."
        )
    else:
        caption += "Tuning looks at the draws; averages over draws that were tuned on are biased, most on bent targets."
    return charts.bars(
        title,
        [NAMES[way] for way in WAYS],
        means,
        alt=f"{title}: {told}.",
        x="use of the warm-up",
        y="average",
        truth=[short.exact for short in found],
        error=errors,
        caption=caption,
    )


def _trace(spec: TuningLesson) -> Figure:
    tuned = analysis.simulate(spec)
    name, truth = tuned.target.labels[1], tuned.target.truth
    known = truth is not None and np.isfinite(truth.mean[1])
    alt = (
        f"{name} against the transition, {spec.chains} chain{'s' * (spec.chains > 1)} of {spec.warmup} transitions of "
        f"warm-up and {spec.draws} draws; the exact mean is a dashed line."
    )
    return charts.trace(
        f"Trace of {name}",
        tuned.draws[:, :, 1],
        alt=alt,
        y=name,
        x="transition" + (f" (warm-up: the first {spec.warmup})" if spec.warmup else ""),
        truth=float(truth.mean[1]) if known and truth else None,
    )
