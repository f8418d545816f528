"""What stands below the stage: where draws come from, both ways of sampling in numbers, the trace, the diagnostics."""

from __future__ import annotations

import numpy as np

from app.kit import charts, pictures
from app.kit.charts import Column, Figure, Table
from app.kit.text import chains, number
from lessons.nuts import analysis
from lessons.nuts.spec import NutsLesson


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
    caption = (
        f"{chains(spec.chains)}, ε = {number(walk.step_size)}{' (found in warm-up)' if spec.tuning == 'adapt' else ''}."
        f" {number(cost.gradient_evaluations)} gradient evaluations, {number(1000 * cost.seconds)} ms, warm-up "
        f"included. Leapfrog steps thrown away: {100 * walk.waste:.0f} % (chain 1). Divergent transitions: "
        f"{found.divergences} of {total}. Cut short at the maximum depth of {spec.max_depth}: {found.saturated} of "
        f"{total}. Mean acceptance statistic {number(found.acceptance)}. MCSE is the Monte Carlo standard error of the "
        "mean."
    )
    return Table("Diagnostics of this run", columns, caption)


def _origins(spec: NutsLesson) -> Figure:
    chance, share, count = analysis.origins(spec)
    used = max(3, int(np.flatnonzero(np.maximum(chance, share) > 5e-4).max()) + 1)
    names = ["the last"] + ["one before" if k == 1 else f"{k} before" for k in range(1, used)]
    alt = (
        f"Chance that the draw comes from the last doubling that joined, {100 * chance[0]:.0f} %, and from the ones "
        f"before it. By weight alone it would be {100 * share[0]:.0f} %."
    )
    figure = charts.bars(
        "Which doubling the draw comes from",
        names,
        chance[:used],
        alt=alt,
        x="doubling, counted back from the last that joined",
        y="chance",
        truth=share[:used],
        caption="Diamonds: the share of the weight there, which drawing in proportion to the weights would give. "
        f"Biased progressive sampling takes {100 * chance[0]:.0f} % from the last doubling, which holds "
        f"{100 * share[0]:.0f} % of the weight: draws far from the start, which counts as the earliest. "
        f"Mean over {count} transitions.",
    )
    for trace, name in zip(figure.figure.data, ("chance", "share of the weight"), strict=True):
        trace.name = name
    return figure


def _depths(spec: NutsLesson) -> Figure:
    walk = analysis.simulate(spec)
    depths = np.arange(walk.depth.max() + 1)
    used = [float((walk.leapfrogs - walk.wasted)[walk.depth == d].sum()) for d in depths]
    lost = [float(walk.wasted[walk.depth == d].sum()) for d in depths]
    total = float(walk.leapfrogs.sum())
    figure = charts.blank("doublings that joined", "share of all leapfrog steps", barmode="stack")
    names = [str(d) for d in depths]
    for values, role, name, pattern in ((used, "posterior", "in the trajectory", ""), (lost, "reject", "thrown away", "/")):
        figure.add_bar(
            x=names, y=np.array(values) / total, name=name, marker={"color": charts.theme.colour(role, 0.8), "pattern": {"shape": pattern}}
        )
    saturated = int(walk.saturated.sum())
    caption = f"{100 * walk.waste:.0f} % of the {number(total)} leapfrog steps of chain 1 were thrown away."
    if saturated:
        caption += f" {saturated} of {walk.steps} transitions were cut short at the maximum depth of {spec.max_depth}."
    alt = f"Leapfrog steps by the number of doublings that joined, used and thrown away. {caption}"
    return Figure("What the leapfrog steps were spent on", figure, alt, caption)


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
    caption = (
        f"Both forms with the same settings and seed, {analysis.CHECK_CHAINS} chains of {analysis.FORM_DRAWS:,} draws "
        "each. ESS of the worst of all coordinates and their squares. The U-turn tests differ, too: see the formula."
    )
    return Table("Multinomial and slice sampling", columns, caption)


def _trace(spec: NutsLesson) -> Figure:
    walk = analysis.simulate(spec)
    name = walk.target.labels[0]
    known = walk.target.truth is not None and np.isfinite(walk.target.truth.mean[0])
    alt = (
        f"{name} against the number of the draw, {spec.chains} chain{'s' * (spec.chains > 1)} of {spec.draws} draws; "
        "the exact mean is a dashed line."
    )
    return charts.trace(
        f"Trace of {name}",
        walk.recording.draws[:, :, 0],
        alt=alt,
        y=name,
        truth=float(walk.target.truth.mean[0]) if known and walk.target.truth else None,
    )
