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
from lessons.conjugate.spec import ConjugateLesson


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
    return {"share of the most frequent class": lambda values: (values == most).mean(axis=-1)}


def _width(spec: ConjugateLesson) -> Figure:
    name = TERMS[spec.pair].unknowns[spec.shown()]
    found = analysis.widths(spec)
    likely = analysis.course(spec).best[-1]
    figure = charts.blank("prior taken how seriously (× its imagined data; log scale)", name)
    figure.layout.xaxis.type = "log"
    fill = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    for low, high, role, words in (
        (found.prior_low, found.prior_high, "prior", "prior, 95 %"),
        (found.low, found.high, "posterior", "posterior, 95 %"),
    ):
        figure.add_scatter(x=found.factor, y=low, showlegend=False, **fill)
        figure.add_scatter(x=found.factor, y=high, fill="tonexty", fillcolor=theme.colour(role, 0.22), name=words, **fill)
    for values, role, dash, words in (
        (found.mean, "posterior", "solid", "posterior mean"),
        (found.mode, "highlight", "dot", "MAP"),
        (np.full(len(found.factor), likely), "likelihood", "dash", "maximum likelihood"),
    ):
        line = {"color": theme.colour(role), "width": 2, "dash": dash}
        figure.add_scatter(x=found.factor, y=values, mode="lines", line=line, name=words)
    lowest, highest = float(found.low.min()), float(found.high.max())
    pad = 0.6 * (highest - lowest)
    figure.layout.yaxis.range = [lowest - pad, highest + pad]
    figure.layout.showlegend = True
    shift = f"{number(found.mean[0])} with the prior nearly ignored to {number(found.mean[-1])} with it taken 100 times"
    text = (
        "Bands hold 95 % of the prior and of the posterior, with equal tails. On the left the prior counts for a "
        f"hundredth of its imagined data, on the right for a hundred times: the posterior mean goes from {shift}. MAP "
        "is the top of the posterior; it equals maximum likelihood only where the prior is flat in this unknown."
    )
    if spec.pair == "both":
        text += " Here only κ is scaled, the weight of the prior mean."
    alt = f"{name} against the weight of the prior: posterior mean from {shift}; maximum likelihood {number(likely)}."
    return Figure("As the prior's width slides", figure, alt, text)


def _conflict(spec: ConjugateLesson) -> Figure:
    found = analysis.conflict(spec)
    what = {
        "bernoulli": "share of heads",
        "poisson": "mean count",
        "exponential": "mean waiting time (min)",
        "precision": "mean square distance from μ",
        "mean": "mean of the data",
        "both": "mean of the data" if spec.shown() == 0 else "variance of the data",
        "categorical": f"share of kind {spec.shown() + 1}",
    }[spec.pair]
    finite = found.imagined[np.isfinite(found.imagined)]
    low, high = np.quantile(finite, [0.01, 0.99])
    low, high = min(low, found.observed), max(high, found.observed)
    pad = 0.05 * (high - low) or 0.5
    figure = charts.blank(what, "data sets out of 4 000")
    heights, edges = np.histogram(finite, bins=40, range=(low - pad, high + pad))
    figure.add_bar(x=0.5 * (edges[1:] + edges[:-1]), y=heights, marker={"color": theme.colour("prior", 0.7)}, name="data the prior expects")
    line = {"color": theme.colour("likelihood"), "width": 3}
    figure.add_scatter(
        x=[found.observed] * 2,
        y=[0, float(heights.max())],
        mode="lines+markers",
        line=line,
        marker={"symbol": "diamond", "size": 9},
        name="the data",
    )
    figure.layout.showlegend = True
    verdict = "conflict: the prior hardly allows these data" if found.share < 0.01 else "no conflict to speak of"
    outside = f"{number(100 * found.share)} %" if found.share else "none of them"
    text = (
        f"{analysis.REPEATS:,} data sets drawn from the prior predictive (an unknown from the prior, then as many "
        f"observations as there are). At least as far out as the data, counted on both sides: "
        f"{outside}, {verdict}. In conjugate pairs with light tails prior and data are averaged "
        "however badly they disagree, so look before you average."
    ).replace(",", "\u202f", 1)
    alt = f"Histogram of the {what} under the prior predictive, observed {number(found.observed)}; {verdict}."
    return Figure("Does the prior expect such data?", figure, alt, text)


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
    caption = (
        f"{analysis.CHAINS} chains of random-walk Metropolis on prior × likelihood, {number(spec.draws)} "
        f"transitions each, "
        f"the first tenth left out; accepted {100 * float(run.accepted.mean()):.0f} %, "
        f"{number(int(run.gradient_evaluations.sum()))} evaluations of the density, {number(1000 * cost.seconds)} ms. "
        "The formula needed one addition. Divergences: none, this sampler uses no gradients."
    )
    return Table("Diagnostics of the Metropolis chains", columns, caption)
