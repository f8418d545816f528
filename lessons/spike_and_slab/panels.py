"""What stands below the stage: the models, mean-field's climb, its bias against the twins' correlation, diagnostics."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.kit import charts, researcher, theme
from app.kit.charts import Figure, Table
from app.kit.text import chains, number
from engine import diagnostics as measures
from lessons.spike_and_slab import analysis, criteria, network_panels
from lessons.spike_and_slab.analysis import CORRELATIONS
from lessons.spike_and_slab.spec import SpikeAndSlabSpec

SHOWN = 8  # models in the figure
DIAMOND = {"symbol": "diamond-open", "size": 10, "line": {"width": 2}}


def panels(spec: SpikeAndSlabSpec, cancel: Any) -> list[Figure | Table]:
    """The figures of the part that is shown."""
    if spec.part == "network":
        return network_panels.panels(spec, cancel)
    card = researcher.card if spec.likelihood == "linear" else researcher.classes_card
    return [_models(spec), criteria_table(spec), _climb(spec), _bias(spec, cancel), *card(analysis.predicted(spec))]


def _models(spec: SpikeAndSlabSpec) -> Figure:
    here, run = analysis.setup(spec), analysis.record(spec)
    best = np.argsort(here.truth.probability)[::-1][:SHOWN]
    exact = here.truth.probability[best]
    rows = analysis.model_number(run.included).ravel()
    found = np.bincount(rows, minlength=len(here.truth.models))[best] / rows.size
    product = analysis.product_probability(here.truth, here.field.inclusion[-1])[best]
    labels = [_name(here.labels, here.truth.models[m]) for m in best]
    figure = charts.blank("predictors that are in", "probability", barmode="group", height=300)
    figure.add_bar(x=labels, y=found, name="Gibbs", marker={"color": theme.colour("posterior", 0.8)})
    product_look = {"symbol": "square", "size": 9, "color": theme.colour("reject")}
    figure.add_scatter(x=labels, y=product, mode="markers", marker=product_look, name="mean-field")
    marker = {**DIAMOND, "color": theme.colour("ink")}
    figure.add_scatter(x=labels, y=exact, mode="markers", marker=marker, name="exact")
    figure.update_xaxes(type="category")
    caption = (
        f"The {len(best)} most probable of {number(len(here.truth.models))} models hold {100 * exact.sum():.0f} % of "
        f"the exact probability. Bars: shares of {number(rows.size)} sweeps ({spec.chains} × {spec.draws}). Squares: "
        "the product of mean-field's separate probabilities."
    )
    listed = "; ".join(f"{label}: exact {e:.2f}, Gibbs {g:.2f}" for label, e, g in zip(labels, exact, found, strict=True))
    return Figure("Which models", figure, f"{listed}. {caption}", caption)


def _name(labels: list[str], inside: np.ndarray) -> str:
    return " ".join(label for label, taken in zip(labels, inside, strict=True) if taken) or "none"


def criteria_table(spec: SpikeAndSlabSpec) -> Table:
    """AIC and BIC of the most probable models, beside what each approximates, and by how much it is off."""
    here = analysis.setup(spec)
    found, exact = criteria.criteria(here), here.truth.probability
    best = np.argsort(exact)[::-1][:SHOWN]
    linear = spec.likelihood == "linear"

    def percent(values: np.ndarray) -> list[str]:
        return [f"{100 * value:.1f}" for value in values[best]]

    def deviance(values: np.ndarray) -> list[str]:
        return [f"{value:.1f}" for value in values[best]]

    columns = {
        "predictors in": [_name(here.labels, here.truth.models[m]) for m in best],
        "exact probability (%)": percent(exact),
        "from BIC (%)": percent(found.from_bic),
        "from AIC (%)": percent(found.from_aic),
        "−2 log p(y | model)": deviance(found.evidence),
        "the same, unit information": deviance(found.unit_information),
        "BIC": deviance(found.bic),
        "AIC": deviance(found.aic),
        "deviance of new y, mean": deviance(found.expected),
    }
    if not linear:
        columns.pop("the same, unit information")
    top = best[0]
    wide = f"It is {_off(found.bic[top] - found.unit_information[top])} the value under that slab, and" if linear else ""
    caption = (
        f"The {len(best)} most probable of {number(len(exact))} models; the numbers that follow are the first one's. "
        "**BIC** stands for −2 log p(y | model) with a slab worth as much as one row (unit information). "
        f"{wide or 'It is'} {_off(found.bic[top] - found.evidence[top])} the value under the slab of this page. "
        "**AIC** estimates the deviance that *new* y at the same x would have, known here because the data are made. "
        f"It is {_off(found.aic[top] - found.expected[top])} it for these data. On average over data sets, for a model "
        f"named beforehand, it is {'exactly' if linear else 'about'} right. Neither is a probability. Take exp(−BIC/2) "
        f"for the odds of a model, and {100 * criteria.distance(found.from_bic, exact):.0f} % of the probability lands "
        f"on the wrong models; with exp(−AIC/2) {100 * criteria.distance(found.from_aic, exact):.0f} %."
    )
    return Table("AIC and BIC beside what they approximate", columns, caption)


def _off(difference: float) -> str:
    return f"{abs(difference):.1f} {'above' if difference > 0 else 'below'}"


def _climb(spec: SpikeAndSlabSpec) -> Figure:
    here = analysis.setup(spec)
    elbo, total = here.field.elbo, here.truth.log_total
    figure = charts.blank("sweep of coordinate ascent", "log p(y) − ELBO (nats, log)")
    look = {"symbol": "square", "size": 6, "color": theme.colour("reject")}
    gap = np.maximum(total - elbo, 1e-12)
    figure.add_scatter(y=gap, mode="lines+markers", marker=look, line={"color": theme.colour("reject")}, name="gap")
    figure.update_yaxes(type="log")
    ending = "it had converged" if here.field.converged else "it was stopped there"
    slack = ", plus the slack of the likelihood's own bound" if spec.likelihood == "logistic" else ""
    caption = (
        f"log p(y) = {total:.2f}; the ELBO ends at {elbo[-1]:.2f} after {len(elbo) - 1} sweeps ({ending}). "
        f"The gap of {total - elbo[-1]:.2f} nats is KL(q‖posterior){slack}."
    )
    return Figure("Mean-field climbs", figure, caption, caption)


def _bias(spec: SpikeAndSlabSpec, cancel: Any) -> Figure:
    sweep, labels = analysis.correlation_sweep(spec, cancel), analysis.names("x", 2)
    figure = charts.blank("correlation of the first two predictors", "inclusion probability")
    for j, (role, dash) in enumerate((("posterior", "solid"), ("reject", "dash"))):
        line = {"color": theme.colour(role), "dash": dash}
        square = {"symbol": "square", "size": 8, "color": theme.colour(role)}
        figure.add_scatter(
            x=CORRELATIONS,
            y=sweep.exact[:, j],
            mode="lines+markers",
            line=line,
            marker={**DIAMOND, "color": theme.colour(role)},
            name=f"{labels[j]} exact",
        )
        figure.add_scatter(x=CORRELATIONS, y=sweep.field[:, j], mode="markers", marker=square, name=f"{labels[j]} mean-field")
    figure.update_yaxes(range=[-0.05, 1.05])
    off = np.abs(sweep.field - sweep.exact).max(axis=1)
    caption = (
        "The same random numbers, only the correlation changes. Largest distance of square and diamond: "
        + ", ".join(f"{o:.2f} at {c:g}" for c, o in zip(CORRELATIONS, off, strict=True) if np.isfinite(o))
        + "."
    )
    return Figure("How the twins mislead mean-field", figure, caption, caption)


def diagnostics(spec: SpikeAndSlabSpec, cancel: Any) -> Table:
    """Inclusion per predictor: exact, Gibbs and mean-field, with R-hat and effective sweeps of γ; or what
    training a network cost."""
    if spec.part == "network":
        return network_panels.cost(spec)
    here, run = analysis.setup(spec), analysis.record(spec)
    found = measures.summarise(run.included.astype(np.float64))
    field = here.field.inclusion[-1]
    columns = {
        "predictor": here.labels,
        "true effect": list(here.effects),
        "exact": list(here.truth.inclusion),
        "Gibbs": list(found.mean),
        "MCSE": list(found.mcse_mean),
        "smoothed": list(run.inclusion),
        "mean-field": list(field),
        "its error": list(np.round(field - here.truth.inclusion, 3)),
        "R-hat": [number(value, 4) for value in found.rhat],
        "ESS": list(np.round(found.ess_bulk)),
    }
    caption = (
        f"{chains(spec.chains)} of {number(spec.draws)} sweeps from the first on, γ in or out. Smoothed: the average "
        "of the probabilities each γ was drawn with, less noisy. ESS: effective sweeps; a dash where γ never changed. "
        f"A sweep weighs {here.predictors + 1} models and makes no gradient evaluation."
    )
    return Table("Inclusion probabilities", columns, caption)
