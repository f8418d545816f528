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
from lessons.uncertainty_maps.spec import MapsSpec
from lessons.uncertainty_maps.sweep_scenes import CHANGES

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


def axis(spec: MapsSpec) -> str:
    """What lies along the way."""
    words, unit = CHANGES[spec.across]
    return f"{words} ({unit})"


def said(spec: MapsSpec, amount: float) -> str:
    """An amount of the sweep with its unit."""
    unit = CHANGES[spec.across][1]
    return f"{amount:.3g}{'' if unit == '°' else ' '}{unit}"


def _bars(values: np.ndarray) -> np.ndarray:
    """(T,) two standard errors over the images (images, T)."""
    return 2.0 * values.std(axis=0, ddof=1) / np.sqrt(len(values))


def _many(spec: MapsSpec, found: Average) -> Figure:
    figure = charts.blank(axis(spec), "nats; share of images")
    for name, role, symbol in (("total", "ink", "circle"), ("aleatoric", "class-0", "square"), ("epistemic", "class-1", "diamond")):
        values = getattr(found, name)
        figure.add_scatter(
            x=found.amounts,
            y=values.mean(axis=0),
            name=name,
            mode="lines+markers",
            error_y={"type": "data", "array": _bars(values), "color": theme.colour(role)},
            line={"color": theme.colour(role)},
            marker={"symbol": symbol, "size": 7},
        )
    figure.add_scatter(
        x=found.amounts,
        y=found.sure_and_wrong,
        name="sure and wrong (share)",
        mode="lines",
        line={"color": theme.colour("reject"), "dash": "dash"},
    )
    worst = int(found.sure_and_wrong.argmax())
    caption = (
        f"Means over {MANY} test images, all changed alike, with two standard errors. Dashed: share of them that is "
        f"read wrong though a digit has a probability of at least {SURE:g}; at its worst, "
        f"{said(spec, found.amounts[worst])}, {100 * found.sure_and_wrong[worst]:.0f} %."
    )
    return Figure(f"{MANY} images, by {NAMES[spec.method]}", figure, caption, caption)


def _all(spec: MapsSpec, found: dict[str, Average]) -> Figure:
    figure = charts.blank(axis(spec), "mean epistemic part (nats)")
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
    caption = f"The same {MANY} images by every posterior, with two standard errors. Largest means: {tops} nats. "
    caption += "NUTS has a smaller network and the first 500 images: not all of its difference is the method's."
    return Figure("Who notices?", figure, caption, caption)


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
    caption = (
        f"Of {MANY} test images, so a share has a standard error of up to {50 / np.sqrt(MANY):.0f} %. Sure: some digit "
        f"has a probability of at least {SURE:g}. The amount is the worst for {NAMES[spec.method]}, so the table is "
        "hard on it."
    )
    return Table(f"Every posterior at {where} ({CHANGES[spec.across][0]})", columns, caption)


def diagnostics(spec: MapsSpec, cancel: Any) -> Table:
    """How good the posterior is on test images as they are, and whether the chains of NUTS agree."""
    networks = analysis.trained(spec, stop=cancel.is_set)
    if networks is None:
        return Table("Diagnostics", {})
    images, y = analysis.tests(spec)
    draws = analysis.probabilities(networks, images, cancel.is_set)
    if draws is None:
        return Table("Diagnostics", {})
    mean = draws.mean(axis=0)
    columns: dict[str, Column] = {
        "posterior": [NAMES[spec.method]],
        "networks": [len(networks)],
        "test images right (%)": [f"{100 * scores.top_accuracy(mean, y):.1f}"],
        "log score (nats)": [f"{scores.log_scores(mean, y).mean():.3f}"],
        "calibration error": [f"{scores.calibration_error(mean, y):.3f}"],
    }
    caption = "Of the averaged probabilities, on 450 test images as they are."
    if spec.method == "nuts":
        columns["R-hat of the entropy"] = [f"{chain_rhat(analysis.entropies(draws)):.3f}"]
        caption += " R-hat of a network's mean entropy: weights of networks may be exchanged, functions not."
    else:
        caption += " There are no chains, so there is no R-hat and no effective sample size."
    (table,) = sources.captioned([Table("How good this posterior is", columns, caption)], spec.data)
    return table
