"""What stands below the stage: where draws come from, both ways of sampling in numbers, the trace, the diagnostics."""

from __future__ import annotations

import numpy as np

from app.kit import charts, pictures
from app.kit.charts import Column, Figure, Table
from app.kit.text import chains, number
from lessons.nuts import analysis
from lessons.nuts.spec import WORDS, NutsLesson


def panels(spec: NutsLesson, cancel: object = None) -> list[Figure | Table]:
    """Which doubling the draws come from, what the leapfrog steps were spent on, the two forms, the trace."""
    return [_origins(spec), _depths(spec), _forms(spec), _trace(spec)]


def diagnostics(spec: NutsLesson, cancel: object = None) -> Table:
    """One row a coordinate: R-hat, effective draws, what they cost."""
    walk, found = analysis.simulate(spec), analysis.diagnose(spec)
    summary, cost = found.summary, found.cost
    columns = charts.estimates(
        walk.target.labels, summary, *pictures.exact(walk.target), per="gradients", spent=cost.gradient_evaluations, seconds=cost.seconds
    )
    total = number(spec.chains * spec.draws)
    caption = WORDS.phrase(
        "panels.cost_tuned" if spec.tuning == "adapt" else "panels.cost",
        chains=chains(spec.chains),
        step_size=number(walk.step_size),
        gradients=number(cost.gradient_evaluations),
        seconds=number(1000 * cost.seconds),
        waste=100 * walk.waste,
        divergences=found.divergences,
        total=total,
        max_depth=spec.max_depth,
        saturated=found.saturated,
        acceptance=number(found.acceptance),
    )
    return Table(WORDS.phrase("panels.diagnostics"), columns, caption)


def _origins(spec: NutsLesson) -> Figure:
    chance, share, count = analysis.origins(spec)
    used = max(3, int(np.flatnonzero(np.maximum(chance, share) > 5e-4).max()) + 1)
    further = (WORDS.phrase("panels.further", k=k) for k in range(2, used))
    names = [WORDS.phrase("panels.last"), WORDS.phrase("panels.before"), *further]
    alt = WORDS.phrase("panels.chance_alt", chance=100 * chance[0], share=100 * share[0])
    figure = charts.bars(
        WORDS.phrase("panels.which_doubling"),
        names,
        chance[:used],
        alt=alt,
        x=WORDS.phrase("panels.doubling"),
        y=WORDS.phrase("panels.chance"),
        truth=share[:used],
        caption=WORDS.phrase("panels.chance_caption", chance=100 * chance[0], share=100 * share[0], count=count),
    )
    for trace, name in zip(figure.figure.data, (WORDS.phrase("panels.chance"), WORDS.phrase("panels.weight")), strict=True):
        trace.name = name
    return figure


def _depths(spec: NutsLesson) -> Figure:
    walk = analysis.simulate(spec)
    depths = np.arange(walk.depth.max() + 1)
    used = [float((walk.leapfrogs - walk.wasted)[walk.depth == d].sum()) for d in depths]
    lost = [float(walk.wasted[walk.depth == d].sum()) for d in depths]
    total = float(walk.leapfrogs.sum())
    figure = charts.blank(WORDS.phrase("panels.doublings"), WORDS.phrase("panels.share"), barmode="stack")
    names = [str(d) for d in depths]
    for values, role, name, pattern in (
        (used, "posterior", WORDS.phrase("stage.in_trajectory"), ""),
        (lost, "reject", WORDS.phrase("panels.thrown_away"), "/"),
    ):
        figure.add_bar(
            x=names, y=np.array(values) / total, name=name, marker={"color": charts.theme.colour(role, 0.8), "pattern": {"shape": pattern}}
        )
    saturated = int(walk.saturated.sum())
    caption = WORDS.phrase("panels.thrown", waste=100 * walk.waste, total=number(total))
    if saturated:
        cut = WORDS.phrase("panels.cut_short", saturated=saturated, steps=walk.steps, max_depth=spec.max_depth)
        caption = f"{caption} {cut}"
    alt = WORDS.phrase("panels.spent_alt", caption=caption)
    return Figure(WORDS.phrase("panels.spent"), figure, alt, caption)


def _forms(spec: NutsLesson) -> Table:
    pair = {s.sampling: analysis.form(s) for s in (spec, spec.other_form())}
    names = ["multinomial", "slice"]
    rows = [pair[name] for name in names]
    columns: dict[str, Column] = {
        "sampling": names,
        "ε": [row.step_size for row in rows],
        "leapfrog steps a draw": [row.leapfrogs for row in rows],
        "thrown away": [f"{100 * row.waste:.0f} %" for row in rows],
        "doublings": [row.depth for row in rows],
        "acceptance statistic": [row.acceptance for row in rows],
        "jump (rms)": [row.jump for row in rows],
        "ESS / 1000 gradients": [row.ess_per_1000 for row in rows],
    }
    caption = WORDS.phrase("panels.forms_caption", chains=analysis.CHECK_CHAINS, draws=analysis.FORM_DRAWS)
    return Table(WORDS.phrase("panels.forms"), columns, caption)


def _trace(spec: NutsLesson) -> Figure:
    walk = analysis.simulate(spec)
    name = walk.target.labels[0]
    known = walk.target.truth is not None and np.isfinite(walk.target.truth.mean[0])
    which = "panels.trace_of_one" if spec.chains == 1 else "panels.trace_of_several"
    alt = WORDS.phrase(which, name=name, chains=spec.chains, draws=spec.draws)
    return charts.trace(
        WORDS.phrase("stage.trace", name=name),
        walk.recording.draws[:, :, 0],
        alt=alt,
        y=name,
        truth=float(walk.target.truth.mean[0]) if known and walk.target.truth else None,
    )
