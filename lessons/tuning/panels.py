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
from lessons.tuning.spec import SEVERAL, WORDS, TuningLesson

NAMES = {way: WORDS.phrase(f"panels.{way}") for way in WAYS}


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
    sizes = ", ".join(number(size, 3) for size in last)
    acceptance = {"acceptance": tuned.accept[:, tuned.kept].mean(), "delta": spec.target_accept}
    caption = WORDS.phrase(
        "panels.cost",
        chains=chains(spec.chains),
        counted=WORDS.phrase("panels.all" if spec.count == "all" else "panels.after"),
        sizes=sizes,
        acceptance=WORDS.phrase("panels.aimed" if spec.tuning == "adapt" else "panels.accepted", **acceptance),
        tuning=number(found.gradients_warm),
        gradients=number(found.gradients),
        seconds=number(1000 * found.seconds),
        divergences=int(tuned.divergent[:, tuned.kept].sum()),
        transitions=number(spec.chains * spec.draws),
    )
    return Table(WORDS.phrase("panels.diagnostics"), columns, caption)


def _yield(spec: TuningLesson, found: Sweep) -> Figure:
    each = 1000.0 * found.ess_least / (found.gradients * found.draws * SWEEP_CHAINS)
    best = int(np.argmax(found.efficiency))
    lesson = WORDS.phrase("panels.best", delta=found.deltas[best], ess=number(found.efficiency[best]))
    title = WORDS.phrase("panels.ess")
    figure = _dots(title, found.deltas, each, found.efficiency, WORDS.phrase("panels.ess_axis"), spec)
    caption = WORDS.phrase("panels.ess_caption", said=lesson, chains=SWEEP_CHAINS, draws=found.draws, warmup=spec.warmup)
    divergent = [int(count) for count in found.divergent.sum(axis=1)]
    if sum(divergent):
        caption = f"{caption} {WORDS.phrase('panels.divergent', counts=', '.join(map(str, divergent)))}"
    alt = WORDS.phrase("panels.ess_alt", title=title, deltas=", ".join(f"{delta:g}" for delta in found.deltas), said=lesson)
    return Figure(title, figure, alt, caption)


def _price(spec: TuningLesson, found: Sweep) -> Figure:
    title = WORDS.phrase("panels.gradients")
    mean = found.gradients.mean(axis=1)
    figure = _dots(title, found.deltas, found.gradients, mean, WORDS.phrase("panels.gradients_axis"), spec)
    sizes = ", ".join(f"{number(size, 2)}" for size in found.step_size.mean(axis=(1, 2)))
    alt = WORDS.phrase("panels.gradients_alt", title=title, least=number(mean[0], 2), delta=found.deltas[0], most=number(mean[-1], 2))
    return Figure(title, figure, alt, WORDS.phrase("panels.gradients_caption", sizes=sizes))


def _long(spec: TuningLesson) -> Figure:
    deltas = SEVERAL["pair"]
    runs = [analysis.long_runs(spec, delta) for delta in deltas]
    each = np.stack([run.ess for run in runs])
    ratio = analysis.ess_ratio(spec, deltas[1], deltas[0])
    name = analysis.quantity(spec.build_target()).name
    title = WORDS.phrase("panels.pair", name=name, draws=LONG_CHAINS * LONG_DRAWS)
    figure = _dots(title, deltas, each, np.exp(np.log(each).mean(axis=1)), WORDS.phrase("panels.pair_axis"), spec)
    lesson = WORDS.phrase("panels.fewer", delta=deltas[0], ratio=ratio, other=deltas[1])
    per_gradient = ratio * runs[0].gradients.mean() / runs[1].gradients.mean()
    means = "; ".join(f"δ = {delta:g}: " + ", ".join(f"{mean:.2f}" for mean in run.mean) for delta, run in zip(deltas, runs, strict=True))
    caption = WORDS.phrase(
        "panels.pair_caption",
        said=lesson,
        per_gradient=per_gradient,
        chains=LONG_CHAINS,
        draws=LONG_DRAWS,
        sets=LONG_SETS,
        means=means,
        divergences=int(runs[0].divergent.sum()),
        other=int(runs[1].divergent.sum()),
    )
    return Figure(title, figure, f"{title}. {lesson}", caption)


def _dots(
    title: str, deltas: Sequence[float], each: np.ndarray, middle: np.ndarray, y: str, spec: TuningLesson
):  # the figure of `charts.blank`
    """Values `each` (deltas, sets) as dots and their `middle` as a line, on a logarithmic scale."""
    figure = charts.blank(WORDS.phrase("panels.delta"), y)
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
        figure.add_scatter(x=[labels[at]], y=[middle[at]], mode="markers", marker=ring, name=WORDS.phrase("panels.now"), showlegend=True)
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
    title = WORDS.phrase("panels.use", name=name, runs=found[0].runs)
    where = WORDS.phrase("panels.exact_draws" if spec.start == "random" else "panels.start_chosen")
    caption = WORDS.phrase("panels.use_caption", told=told, exact=found[0].exact, warmup=spec.warmup, draws=spec.draws, where=where)
    caption = f"{caption} {WORDS.phrase('panels.use_unlucky' if abs(found[0].z) >= 3.0 else 'panels.use_biased')}"
    return charts.bars(
        title,
        [NAMES[way] for way in WAYS],
        means,
        alt=f"{title}: {told}.",
        x=WORDS.phrase("panels.use_axis"),
        y=WORDS.phrase("panels.average"),
        truth=[short.exact for short in found],
        error=errors,
        caption=caption,
    )


def _trace(spec: TuningLesson) -> Figure:
    tuned = analysis.simulate(spec)
    name, truth = tuned.target.labels[1], tuned.target.truth
    known = truth is not None and np.isfinite(truth.mean[1])
    which = "panels.trace_of_one" if spec.chains == 1 else "panels.trace_of_several"
    alt = WORDS.phrase(which, name=name, chains=spec.chains, warmup=spec.warmup, draws=spec.draws)
    return charts.trace(
        WORDS.phrase("stage.trace", name=name),
        tuned.draws[:, :, 1],
        alt=alt,
        y=name,
        x=WORDS.phrase("panels.transition_tuned" if spec.warmup else "stage.transition", warmup=spec.warmup),
        truth=float(truth.mean[1]) if known and truth else None,
    )
