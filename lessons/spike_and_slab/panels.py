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
from lessons.spike_and_slab.spec import WORDS, SpikeAndSlabSpec

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
    figure = charts.blank(WORDS.phrase("panels.predictors"), WORDS.phrase("panels.probability"), barmode="group", height=300)
    figure.add_bar(x=labels, y=found, name=WORDS.phrase("panels.gibbs"), marker={"color": theme.colour("posterior", 0.8)})
    product_look = {"symbol": "square", "size": 9, "color": theme.colour("reject")}
    figure.add_scatter(x=labels, y=product, mode="markers", marker=product_look, name=WORDS.phrase("panels.mean_field"))
    marker = {**DIAMOND, "color": theme.colour("ink")}
    figure.add_scatter(x=labels, y=exact, mode="markers", marker=marker, name=WORDS.phrase("panels.exact"))
    figure.update_xaxes(type="category")
    caption = WORDS.phrase(
        "panels.models_caption",
        shown=len(best),
        models=number(len(here.truth.models)),
        held=100 * exact.sum(),
        sweeps=number(rows.size),
        chains=spec.chains,
        draws=spec.draws,
    )
    listed = "; ".join(
        WORDS.phrase("panels.models_item", model=label, exact=e, found=g) for label, e, g in zip(labels, exact, found, strict=True)
    )
    return Figure(WORDS.phrase("panels.models"), figure, f"{listed}. {caption}", caption)


def _name(labels: list[str], inside: np.ndarray) -> str:
    return " ".join(label for label, taken in zip(labels, inside, strict=True) if taken) or WORDS.phrase("panels.no_predictor")


def criteria_table(spec: SpikeAndSlabSpec) -> Table:
    """AIC and BIC of the most probable models, beside what each approximates, and by how much it is off."""
    here = analysis.setup(spec)
    found, exact = criteria.criteria(here), here.truth.probability
    best = np.argsort(exact)[::-1][:SHOWN]

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
        **({"the same, unit information": deviance(found.unit_information)} if spec.likelihood == "linear" else {}),
        "BIC": deviance(found.bic),
        "AIC": deviance(found.aic),
        "deviance of new y, mean": deviance(found.expected),
    }
    top = best[0]
    slabs = {"unit": _off(found.bic[top] - found.unit_information[top]), "slab": _off(found.bic[top] - found.evidence[top])}
    caption = WORDS.phrase(
        "panels.criteria_caption",
        shown=len(best),
        models=number(len(exact)),
        bic=WORDS.phrase(f"panels.bic_{spec.likelihood}", **slabs),
        aic=WORDS.phrase(f"panels.aic_{spec.likelihood}", off=_off(found.aic[top] - found.expected[top])),
        wrong_bic=100 * criteria.distance(found.from_bic, exact),
        wrong_aic=100 * criteria.distance(found.from_aic, exact),
    )
    return Table(WORDS.phrase("panels.criteria"), columns, caption)


def _off(difference: float) -> str:
    return WORDS.phrase("panels.above" if difference > 0 else "panels.below", by=abs(difference))


def _climb(spec: SpikeAndSlabSpec) -> Figure:
    here = analysis.setup(spec)
    elbo, total = here.field.elbo, here.truth.log_total
    figure = charts.blank(WORDS.phrase("panels.ascent_sweep"), WORDS.phrase("panels.gap_in_nats"))
    look = {"symbol": "square", "size": 6, "color": theme.colour("reject")}
    gap = np.maximum(total - elbo, 1e-12)
    figure.add_scatter(y=gap, mode="lines+markers", marker=look, line={"color": theme.colour("reject")}, name=WORDS.phrase("panels.gap"))
    figure.update_yaxes(type="log")
    ending = WORDS.phrase("panels.converged" if here.field.converged else "panels.stopped")
    ended = {"total": total, "elbo": elbo[-1], "sweeps": len(elbo) - 1, "ending": ending, "gap": total - elbo[-1]}
    caption = WORDS.phrase(f"panels.climb_{spec.likelihood}", **ended)
    return Figure(WORDS.phrase("panels.climb"), figure, caption, caption)


def _bias(spec: SpikeAndSlabSpec, cancel: Any) -> Figure:
    sweep, labels = analysis.correlation_sweep(spec, cancel), analysis.names("x", 2)
    figure = charts.blank(WORDS.phrase("panels.correlation"), WORDS.phrase("stage.inclusion_probability"))
    for j, (role, dash) in enumerate((("posterior", "solid"), ("reject", "dash"))):
        line = {"color": theme.colour(role), "dash": dash}
        square = {"symbol": "square", "size": 8, "color": theme.colour(role)}
        figure.add_scatter(
            x=CORRELATIONS,
            y=sweep.exact[:, j],
            mode="lines+markers",
            line=line,
            marker={**DIAMOND, "color": theme.colour(role)},
            name=WORDS.phrase("panels.exact_of", predictor=labels[j]),
        )
        name = WORDS.phrase("panels.mean_field_of", predictor=labels[j])
        figure.add_scatter(x=CORRELATIONS, y=sweep.field[:, j], mode="markers", marker=square, name=name)
    figure.update_yaxes(range=[-0.05, 1.05])
    off = np.abs(sweep.field - sweep.exact).max(axis=1)
    known = [(c, o) for c, o in zip(CORRELATIONS, off, strict=True) if np.isfinite(o)]
    listed = ", ".join(WORDS.phrase("panels.bias_item", off=o, correlation=c) for c, o in known)
    caption = WORDS.phrase("panels.bias_caption", listed=listed)
    return Figure(WORDS.phrase("panels.bias"), figure, caption, caption)


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
    length = {"chains": chains(spec.chains), "draws": number(spec.draws)}
    caption = WORDS.phrase("panels.inclusion_caption", **length, models=here.predictors + 1)
    return Table(WORDS.phrase("panels.inclusion"), columns, caption)
