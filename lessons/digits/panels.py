"""What stands below the stage: all five posteriors on this digit, its place among test digits, how good they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.kit import charts, theme
from app.kit.charts import Column, Figure, Table
from lessons.digits import analysis
from lessons.digits.analysis import Reading
from lessons.digits.spec import DigitsSpec
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
    figure = charts.blank("digit", "averaged probability", barmode="group", xaxis_type="category")
    for (method, reading), (role, pattern) in zip(readings.items(), LOOKS, strict=False):
        figure.add_bar(
            x=[str(digit) for digit in range(reading.draws.shape[1])],
            y=reading.mean[-1],
            name=NAMES[method],
            marker={"color": theme.colour(role), "pattern": {"shape": pattern}},
        )
    said = ", ".join(f"{NAMES[method]} {reading.predicted} ({reading.mean[-1].max():.2f})" for method, reading in readings.items())
    return Figure("The same digit, read by each", figure, f"Most probable digit: {said}.", f"Most probable: {said}.")


def _among(spec: DigitsSpec, reading: Reading) -> Figure:
    found = analysis.quality(spec)
    assert found is not None
    figure = charts.blank("aleatoric (nats)", "epistemic (nats)")
    for flags, name, role, shape in ((~found.wrong, "read right", "posterior", "circle"), (found.wrong, "read wrong", "reject", "x")):
        figure.add_scatter(
            x=found.aleatoric[flags],
            y=found.epistemic[flags],
            mode="markers",
            name=name,
            marker={"color": theme.colour(role, 0.6), "symbol": shape, "size": 6},
        )
    here = reading.aleatoric[-1], reading.epistemic[-1]
    figure.add_scatter(
        x=[here[0]], y=[here[1]], mode="markers", name="this digit", marker={"color": theme.colour("ink"), "symbol": "diamond", "size": 14}
    )
    less = float(np.mean(found.aleatoric + found.epistemic < reading.total[-1]))
    caption = (
        f"{len(found.wrong)} test digits, {int(found.wrong.sum())} of them read wrong by {NAMES[spec.method]}. "
        f"{100 * less:.0f} % of them are less uncertain, in total, than this digit."
    )
    return Figure("This digit among test digits", figure, caption, caption)


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
    caption = (
        "NUTS samples another network (16 tanh units on 20 principal components) on 500 digits; the others have ReLU "
        "units on all pixels and all digits. So differences from NUTS are not those of the method alone."
    )
    return Table("One digit, every posterior", columns, caption if len(rows) > 1 else "")


def diagnostics(spec: DigitsSpec, cancel: Any) -> Table:
    """How good the posterior is on test digits, and whether the chains of NUTS agree."""
    networks = analysis.trained(spec, stop=cancel.is_set)
    found = analysis.quality(spec, stop=cancel.is_set)
    if networks is None or found is None:
        return Table("Diagnostics", {})
    weights = sum(layer[0].size for layer in networks.layers)
    columns: dict[str, Column] = {
        "posterior": [NAMES[spec.method]],
        "networks": [len(networks)],
        "weights of each": [weights],
        "test digits right (%)": [f"{100 * found.accuracy:.1f}"],
        "log score (nats)": [f"{found.log_score:.3f}"],
        "calibration error": [f"{found.calibration_error:.3f}"],
    }
    caption = (
        "Of the averaged probabilities, on test digits that were not learnt from. Log score: mean −log of the "
        "probability of the truth, smaller is better. Calibration error: mean gap between confidence and accuracy in "
        "ten bins."
    )
    if spec.method == "nuts":
        columns["R-hat, this digit"] = [f"{chain_rhat(analysis.predicted(analysis.read(spec, networks))):.3f}"]
        caption += " R-hat of the predicted probability: weights of networks may be exchanged, functions not."
    else:
        caption += " There are no chains, so there is no R-hat and no effective sample size."
    (table,) = sources.captioned([Table("How good this posterior is", columns, caption)], spec.data)
    return table
