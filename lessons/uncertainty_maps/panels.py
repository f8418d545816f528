"""What stands below the stage: the same change of many images, by every posterior."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.kit import charts, theme
from app.kit.charts import Column, Figure, Table
from engine import scores
from lessons.families.digit_posteriors import sources
from lessons.families.digit_posteriors.checks import chain_rhat
from lessons.families.digit_posteriors.spec import METHODS, NAMES
from lessons.uncertainty_maps import analysis
from lessons.uncertainty_maps.analysis import MANY, SURE, Average
from lessons.uncertainty_maps.spec import WORDS, MapsSpec
from lessons.uncertainty_maps.sweep_scenes import CHANGED, UNITS, amount_name

LOOKS = dict(
    zip(
        METHODS, (("posterior", "circle"), ("class-1", "square"), ("class-2", "diamond"), ("highlight", "x"), ("ink", "cross")), strict=True
    )
)


def panels(spec: MapsSpec, cancel: Any) -> list[Figure | Table]:
    """The figures and tables of the present settings."""
    found: dict[str, Average] = {}
    for method in METHODS if sources.present(spec.data) == "digits" else (spec.method,):  # on MNIST each takes minutes
        average = analysis.average(spec, method, cancel.is_set)
        if average is None:
            return []
        found[method] = average
    return sources.captioned([_many(spec, found[spec.method]), _all(spec, found), _table(spec, found)], spec.data)


def said(spec: MapsSpec, amount: float) -> str:
    """An amount of the sweep with its unit."""
    unit = UNITS[spec.across]
    return f"{amount:.3g}{'' if unit == '°' else ' '}{unit}"


def _bars(values: np.ndarray) -> np.ndarray:
    """(T,) two standard errors over the images (images, T)."""
    return 2.0 * values.std(axis=0, ddof=1) / np.sqrt(len(values))


def _many(spec: MapsSpec, found: Average) -> Figure:
    figure = charts.blank(amount_name(spec.across), WORDS.phrase("panels.many_axis"))
    for name, role, symbol in (("total", "ink", "circle"), ("aleatoric", "class-0", "square"), ("epistemic", "class-1", "diamond")):
        values = getattr(found, name)
        figure.add_scatter(
            x=found.amounts,
            y=values.mean(axis=0),
            name=WORDS.phrase(f"parts.{name}"),
            mode="lines+markers",
            error_y={"type": "data", "array": _bars(values), "color": theme.colour(role)},
            line={"color": theme.colour(role)},
            marker={"symbol": symbol, "size": 7},
        )
    figure.add_scatter(
        x=found.amounts,
        y=found.sure_and_wrong,
        name=WORDS.phrase("panels.sure_and_wrong"),
        mode="lines",
        line={"color": theme.colour("reject"), "dash": "dash"},
    )
    worst = int(found.sure_and_wrong.argmax())
    caption = WORDS.phrase(
        "panels.many_caption", images=MANY, sure=SURE, amount=said(spec, found.amounts[worst]), wrong=100 * found.sure_and_wrong[worst]
    )
    return Figure(WORDS.phrase("panels.many", images=MANY, method=NAMES[spec.method]), figure, caption, caption)


def _all(spec: MapsSpec, found: dict[str, Average]) -> Figure:
    figure = charts.blank(amount_name(spec.across), WORDS.phrase("panels.all_axis"))
    for method, average in found.items():
        role, symbol = LOOKS[method]
        figure.add_scatter(
            x=average.amounts,
            y=average.epistemic.mean(axis=0),
            name=NAMES[method],
            mode="lines+markers",
            error_y={"type": "data", "array": _bars(average.epistemic), "color": theme.colour(role, 0.6)},
            line={"color": theme.colour(role)},
            marker={"symbol": symbol, "size": 7},
        )
    tops = ", ".join(f"{NAMES[method]} {each.epistemic.mean(axis=0).max():.2f}" for method, each in found.items())
    caption = WORDS.phrase("panels.all_caption", images=MANY, tops=tops)
    return Figure(WORDS.phrase("panels.all"), figure, caption, caption)


def _table(spec: MapsSpec, found: dict[str, Average]) -> Table:
    """Where most images are sure and wrong, by the method that is shown."""
    at = int(found[spec.method].sure_and_wrong.argmax())
    rows = list(found.values())
    where = said(spec, rows[0].amounts[at])
    columns = {
        "posterior": [NAMES[method] for method in found],
        "read right (%)": [f"{100 * each.right[:, at].mean():.0f}" for each in rows],
        "sure (%)": [f"{100 * each.sure[:, at].mean():.0f}" for each in rows],
        "sure and wrong (%)": [f"{100 * each.sure_and_wrong[at]:.0f}" for each in rows],
        "total (nats)": [f"{each.total[:, at].mean():.2f}" for each in rows],
        "aleatoric": [f"{each.aleatoric[:, at].mean():.2f}" for each in rows],
        "epistemic": [f"{each.epistemic[:, at].mean():.2f}" for each in rows],
    }
    caption = WORDS.phrase("panels.table_caption", images=MANY, error=50 / np.sqrt(MANY), sure=SURE, method=NAMES[spec.method])
    return Table(WORDS.phrase("panels.table", amount=where, changed=CHANGED[spec.across]), columns, caption)


def diagnostics(spec: MapsSpec, cancel: Any) -> Table:
    """How good the posterior is on test images as they are, and whether the chains of NUTS agree."""
    networks = analysis.trained(spec, stop=cancel.is_set)
    if networks is None:
        return Table(WORDS.phrase("panels.diagnostics"), {})
    images, y = analysis.tests(spec)
    draws = analysis.probabilities(networks, images, cancel.is_set)
    if draws is None:
        return Table(WORDS.phrase("panels.diagnostics"), {})
    mean = draws.mean(axis=0)
    columns: dict[str, Column] = {
        "posterior": [NAMES[spec.method]],
        "networks": [len(networks)],
        "test images right (%)": [f"{100 * scores.top_accuracy(mean, y):.1f}"],
        "log score (nats)": [f"{scores.log_scores(mean, y).mean():.3f}"],
        "calibration error": [f"{scores.calibration_error(mean, y):.3f}"],
    }
    if spec.method == "nuts":
        columns["R-hat of the entropy"] = [f"{chain_rhat(analysis.entropies(draws)):.3f}"]
    chains = WORDS.phrase("panels.rhat" if spec.method == "nuts" else "panels.no_chains")
    caption = f"{WORDS.phrase('panels.quality')} {chains}"
    (table,) = sources.captioned([Table(WORDS.phrase("panels.diagnostics"), columns, caption)], spec.data)
    return table
