"""What stands below the stage: all five posteriors on this digit, its place among test digits, how good they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.kit import charts, theme
from app.kit.charts import Column, Figure, Table
from lessons.digits import analysis
from lessons.digits.analysis import Reading
from lessons.digits.spec import WORDS, DigitsSpec
from lessons.families.digit_posteriors import sources
from lessons.families.digit_posteriors.checks import chain_rhat
from lessons.families.digit_posteriors.spec import METHODS, NAMES

LOOKS = (("posterior", ""), ("class-1", "/"), ("class-2", "x"), ("highlight", "."), ("ink", "-"))


def compared(spec: DigitsSpec) -> tuple[str, ...]:
    """All methods on the bundled digits; on other data, where each may take minutes, the one that is shown."""
    return METHODS if sources.present(spec.data) == "digits" else (spec.method,)


def panels(spec: DigitsSpec, cancel: Any) -> list[Figure | Table]:
    """The figures and tables of the present settings."""
    readings: dict[str, Reading] = {}
    for method in compared(spec):
        networks = analysis.trained(spec, method, cancel.is_set)
        if networks is None:
            return []
        readings[method] = analysis.read(spec, networks)
    return sources.captioned([_together(readings), _among(spec, readings[spec.method]), _table(readings)], spec.data)


def _together(readings: dict[str, Reading]) -> Figure:
    figure = charts.blank(WORDS.phrase("stage.digit"), WORDS.phrase("panels.averaged"), barmode="group", xaxis_type="category")
    for (method, reading), (role, pattern) in zip(readings.items(), LOOKS, strict=False):
        figure.add_bar(
            x=[str(digit) for digit in range(reading.draws.shape[1])],
            y=reading.mean[-1],
            name=NAMES[method],
            marker={"color": theme.colour(role), "pattern": {"shape": pattern}},
        )
    each = ", ".join(
        WORDS.phrase("panels.each", method=NAMES[method], digit=reading.predicted, probability=reading.mean[-1].max())
        for method, reading in readings.items()
    )
    alt, caption = (WORDS.phrase(path, each=each) for path in ("panels.together_alt", "panels.together_caption"))
    return Figure(WORDS.phrase("panels.together"), figure, alt, caption)


def _among(spec: DigitsSpec, reading: Reading) -> Figure:
    found = analysis.quality(spec)
    assert found is not None
    figure = charts.blank(WORDS.phrase("panels.aleatoric"), WORDS.phrase("panels.epistemic"))
    for flags, name, role, shape in ((~found.wrong, "read_right", "posterior", "circle"), (found.wrong, "read_wrong", "reject", "x")):
        figure.add_scatter(
            x=found.aleatoric[flags],
            y=found.epistemic[flags],
            mode="markers",
            name=WORDS.phrase(f"stage.{name}"),
            marker={"color": theme.colour(role, 0.6), "symbol": shape, "size": 6},
        )
    figure.add_scatter(
        x=reading.aleatoric[-1:],
        y=reading.epistemic[-1:],
        mode="markers",
        name=WORDS.phrase("panels.this_digit"),
        marker={"color": theme.colour("ink"), "symbol": "diamond", "size": 14},
    )
    less = float(np.mean(found.aleatoric + found.epistemic < reading.total[-1]))
    caption = WORDS.phrase(
        "panels.among_caption", digits=len(found.wrong), wrong=int(found.wrong.sum()), method=NAMES[spec.method], less=100 * less
    )
    return Figure(WORDS.phrase("panels.among"), figure, caption, caption)


def _table(readings: dict[str, Reading]) -> Table:
    rows = list(readings.values())
    columns: dict[str, Column] = {
        "posterior": [NAMES[method] for method in readings],
        "networks": [len(reading.draws) for reading in rows],
        "says": [reading.predicted for reading in rows],
        "probability": [f"{reading.mean[-1].max():.2f}" for reading in rows],
        "votes for it": [int(reading.votes[reading.predicted]) for reading in rows],
        "total (nats)": [f"{reading.total[-1]:.3f}" for reading in rows],
        "aleatoric": [f"{reading.aleatoric[-1]:.3f}" for reading in rows],
        "epistemic": [f"{reading.epistemic[-1]:.3f}" for reading in rows],
    }
    return Table(WORDS.phrase("panels.every"), columns, WORDS.phrase("panels.every_caption") if len(rows) > 1 else "")


def diagnostics(spec: DigitsSpec, cancel: Any) -> Table:
    """How good the posterior is on test digits, and whether the chains of NUTS agree."""
    networks = analysis.trained(spec, stop=cancel.is_set)
    found = analysis.quality(spec, stop=cancel.is_set)
    if networks is None or found is None:
        return Table(WORDS.phrase("panels.diagnostics"), {})
    weights = sum(layer[0].size for layer in networks.layers)
    columns: dict[str, Column] = {
        "posterior": [NAMES[spec.method]],
        "networks": [len(networks)],
        "weights of each": [weights],
        "test digits right (%)": [f"{100 * found.accuracy:.1f}"],
        "log score (nats)": [f"{found.log_score:.3f}"],
        "calibration error": [f"{found.calibration_error:.3f}"],
    }
    if spec.method == "nuts":
        columns["R-hat, this digit"] = [f"{chain_rhat(analysis.predicted(analysis.read(spec, networks))):.3f}"]
    chains = WORDS.phrase("panels.rhat" if spec.method == "nuts" else "panels.no_chains")
    caption = f"{WORDS.phrase('panels.quality')} {chains}"
    (table,) = sources.captioned([Table(WORDS.phrase("panels.diagnostics"), columns, caption)], spec.data)
    return table
