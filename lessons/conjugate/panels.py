"""What stands below the stage: the prior's width, the conflict of prior and data, the diagnostics of the chain."""

from __future__ import annotations

import numpy as np

from app.kit import charts, researcher, theme
from app.kit.charts import Figure, Table
from app.kit.text import number
from engine.conjugate import DirichletCategorical
from engine.predicted import Predicted
from lessons.conjugate import analysis
from lessons.conjugate.pairs import TERMS
from lessons.conjugate.spec import WORDS, ConjugateLesson


def panels(spec: ConjugateLesson, cancel: object = None) -> list[Figure | Table]:
    """The estimate as the prior's width slides; what data the prior expects; of a walk, observations left out, and data
    drawn anew.
    """
    found = analysis.predicted(spec)
    return [_width(spec), _conflict(spec), *([] if found is None else researcher.card(found, _compared(spec, found)))]


def _compared(spec: ConjugateLesson, found: Predicted) -> researcher.Statistics:
    """What is compared of data and of data drawn; of classes their numbers mean nothing."""
    if not isinstance(spec.prior(), DirichletCategorical):
        return researcher.VALUES
    names, counts = np.unique(found.y, return_counts=True)
    most = names[counts.argmax()]
    return {WORDS.phrase("panels.most_frequent"): lambda values: (values == most).mean(axis=-1)}


def _width(spec: ConjugateLesson) -> Figure:
    name = TERMS[spec.pair].unknowns[spec.shown()]
    found = analysis.widths(spec)
    likely = analysis.course(spec).best[-1]
    figure = charts.blank(WORDS.phrase("panels.width_axis"), name)
    figure.layout.xaxis.type = "log"
    fill = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    for low, high, role, words in (
        (found.prior_low, found.prior_high, "prior", WORDS.phrase("panels.prior")),
        (found.low, found.high, "posterior", WORDS.phrase("panels.posterior")),
    ):
        figure.add_scatter(x=found.factor, y=low, showlegend=False, **fill)
        figure.add_scatter(x=found.factor, y=high, fill="tonexty", fillcolor=theme.colour(role, 0.22), name=words, **fill)
    for values, role, dash, words in (
        (found.mean, "posterior", "solid", WORDS.phrase("panels.posterior_mean")),
        (found.mode, "highlight", "dot", WORDS.phrase("panels.map")),
        (np.full(len(found.factor), likely), "likelihood", "dash", WORDS.phrase("stage.maximum_likelihood")),
    ):
        line = {"color": theme.colour(role), "width": 2, "dash": dash}
        figure.add_scatter(x=found.factor, y=values, mode="lines", line=line, name=words)
    lowest, highest = float(found.low.min()), float(found.high.max())
    pad = 0.6 * (highest - lowest)
    figure.layout.yaxis.range = [lowest - pad, highest + pad]
    figure.layout.showlegend = True
    means = {"ignored": number(found.mean[0]), "strong": number(found.mean[-1])}
    text = WORDS.phrase("panels.width_caption", **means)
    if spec.pair == "both":
        text = f"{text} {WORDS.phrase('panels.only_kappa')}"
    alt = WORDS.phrase("panels.width_alt", unknown=name, likely=number(likely), **means)
    return Figure(WORDS.phrase("panels.width"), figure, alt, text)


def _conflict(spec: ConjugateLesson) -> Figure:
    found = analysis.conflict(spec)
    which = "_2" if spec.pair == "both" and spec.shown() else ""
    what = WORDS.phrase(f"pairs.{spec.pair}.statistic{which}", kind=spec.shown() + 1)
    finite = found.imagined[np.isfinite(found.imagined)]
    low, high = np.quantile(finite, [0.01, 0.99])
    low, high = min(low, found.observed), max(high, found.observed)
    pad = 0.05 * (high - low) or 0.5
    figure = charts.blank(what, WORDS.phrase("panels.data_sets", repeats=number(analysis.REPEATS)))
    heights, edges = np.histogram(finite, bins=40, range=(low - pad, high + pad))
    look = {"color": theme.colour("prior", 0.7)}
    figure.add_bar(x=0.5 * (edges[1:] + edges[:-1]), y=heights, marker=look, name=WORDS.phrase("panels.expected"))
    line = {"color": theme.colour("likelihood"), "width": 3}
    figure.add_scatter(
        x=[found.observed] * 2,
        y=[0, float(heights.max())],
        mode="lines+markers",
        line=line,
        marker={"symbol": "diamond", "size": 9},
        name=WORDS.phrase("panels.data"),
    )
    figure.layout.showlegend = True
    verdict = WORDS.phrase("panels.conflict" if found.share < 0.01 else "panels.no_conflict")
    outside = WORDS.phrase("panels.outside", percent=number(100 * found.share)) if found.share else WORDS.phrase("panels.none_outside")
    text = WORDS.phrase("panels.expects_caption", repeats=number(analysis.REPEATS), outside=outside, verdict=verdict)
    alt = WORDS.phrase("panels.expects_alt", statistic=what, observed=number(found.observed), verdict=verdict)
    return Figure(WORDS.phrase("panels.expects"), figure, alt, text)


def diagnostics(spec: ConjugateLesson, cancel: object = None) -> Table:
    """One row an unknown: the Metropolis chains against the exact posterior."""
    found, cost = analysis.summary(spec)
    after = analysis.course(spec).shown[-1]
    run = analysis.walk(spec)
    columns = {
        "unknown": list(after.unknowns),
        "mean": list(found.mean),
        "exact": list(after.mean()),
        "MCSE": list(found.mcse_mean),
        "sd": list(found.sd),
        "exact sd": [float(v) for v in np.sqrt(np.diag(after.covariance()))],
        "R-hat": [f"{value:.3f}" for value in found.rhat],
        "ESS bulk": list(np.round(found.ess_bulk)),
        "ESS / s": [ess / max(cost.seconds, 1e-9) for ess in found.ess_bulk],
    }
    caption = WORDS.phrase(
        "panels.cost",
        chains=analysis.CHAINS,
        draws=number(spec.draws),
        accepted=100 * float(run.accepted.mean()),
        evaluations=number(int(run.gradient_evaluations.sum())),
        milliseconds=number(1000 * cost.seconds),
    )
    return Table(WORDS.phrase("panels.chains"), columns, caption)
