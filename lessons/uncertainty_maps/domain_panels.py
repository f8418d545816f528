"""What stands below the stage out of domain: ROC curves, the five posteriors on the same images."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.kit import charts, theme
from app.kit.charts import Figure, Table
from engine import scores
from lessons.families.digit_posteriors import sources
from lessons.families.digit_posteriors.spec import METHODS, NAMES
from lessons.uncertainty_maps import analysis, domain
from lessons.uncertainty_maps.analysis import SURE
from lessons.uncertainty_maps.domain import Area, Both
from lessons.uncertainty_maps.spec import WORDS, MapsSpec

LOOKS = {"total": ("ink", "circle"), "aleatoric": ("class-0", "square"), "epistemic": ("class-1", "diamond")}


def panels(spec: MapsSpec, cancel: Any) -> list[Figure | Table]:
    """The figures and tables of the present settings."""
    found: dict[str, Both] = {}
    for method in METHODS if sources.present(spec.data) == "digits" else (spec.method,):  # on MNIST each takes minutes
        networks = analysis.trained(spec, method, cancel.is_set)
        both = None if networks is None else domain.read(spec, networks, cancel.is_set)
        if both is None:
            return []
        found[method] = both
    areas = {method: {part: domain.area(both, part) for part in domain.PARTS} for method, both in found.items()}
    made: list[Figure | Table] = [_roc(spec, found[spec.method], areas[spec.method]), _areas(areas), _table(spec, found, areas)]
    return sources.captioned(made, spec.data)


def _roc(spec: MapsSpec, both: Both, areas: dict[str, Area]) -> Figure:
    figure = charts.blank(WORDS.phrase("panels.roc_x"), WORDS.phrase("panels.roc_y"))
    strange = np.concatenate([np.zeros(len(both.inside.total)), np.ones(len(both.outside.total))])
    dashes = {"total": "dot", "aleatoric": "dash", "epistemic": "solid"}
    for part, (role, _) in LOOKS.items():
        curve = scores.roc_curve(np.concatenate([getattr(both.inside, part), getattr(both.outside, part)]), strange)
        line = {"color": theme.colour(role), "dash": dashes[part]}
        figure.add_scatter(x=curve.x, y=curve.y, mode="lines", name=WORDS.phrase(f"parts.{part}"), line=line)
    told = ", ".join(
        WORDS.phrase("panels.area", part=WORDS.phrase(f"parts.{part}"), value=each.value, two_errors=2 * each.error)
        for part, each in areas.items()
    )
    caption = WORDS.phrase("panels.roc_caption", inside=len(both.inside.total), outside=len(both.outside.total), areas=told)
    return Figure(WORDS.phrase("panels.roc", method=NAMES[spec.method]), figure, caption, caption)


def _areas(areas: dict[str, dict[str, Area]]) -> Figure:
    figure = charts.blank(WORDS.phrase("panels.posterior"), WORDS.phrase("stage.auroc_axis"), xaxis_type="category")
    for part, (role, symbol) in LOOKS.items():
        rows = [of[part] for of in areas.values()]
        figure.add_scatter(
            x=[NAMES[method] for method in areas],
            y=[each.value for each in rows],
            mode="markers",
            name=WORDS.phrase(f"parts.{part}"),
            error_y={"type": "data", "array": [2 * each.error for each in rows], "color": theme.colour(role)},
            marker={"color": theme.colour(role), "symbol": symbol, "size": 9},
        )
    best = max(areas, key=lambda method: areas[method]["epistemic"].value)
    caption = WORDS.phrase("panels.areas_caption", best=NAMES[best])
    return Figure(WORDS.phrase("panels.areas"), figure, caption, caption)


def _table(spec: MapsSpec, found: dict[str, Both], areas: dict[str, dict[str, Area]]) -> Table:
    y = analysis.tests(spec)[1]
    rows = list(found.values())
    columns = {
        "posterior": [NAMES[method] for method in found],
        "test images right (%)": [f"{100 * scores.top_accuracy(both.inside.mean, y):.1f}" for both in rows],
        "sure of a test image (%)": [f"{100 * np.mean(both.inside.mean.max(axis=1) >= SURE):.0f}" for both in rows],
        "sure of no digit (%)": [f"{100 * np.mean(both.outside.mean.max(axis=1) >= SURE):.0f}" for both in rows],
    }
    for part in domain.PARTS:
        columns[f"AUROC, {part}"] = [f"{of[part].value:.3f} ± {2 * of[part].error:.3f}" for of in areas.values()]
    return Table(WORDS.phrase("panels.domain_table"), columns, WORDS.phrase("panels.domain_caption", sure=SURE))
