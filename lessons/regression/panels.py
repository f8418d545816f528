"""Still figures below the stage, and the table of diagnostics."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.kit import charts, researcher, theme
from app.kit.charts import Figure, Table
from app.kit.text import chains as chain_words
from app.kit.text import number
from engine.diagnostics import summarise
from engine.networks.predictive import outputs
from lessons.regression import analysis
from lessons.regression.analysis import GRID, HELD
from lessons.regression.proof import PLACES, watched
from lessons.regression.scenes import NAMES
from lessons.regression.spec import METHODS, RegressionLesson

TRACED = 300  # draws of each chain in the figure of the chains


def panels(spec: RegressionLesson, cancel: Any) -> list[Figure | Table]:
    """The five methods in numbers, the chains, and what bands should hold against what they hold."""
    made: list[Figure | Table] = [spreads(spec, cancel), traces(spec, cancel)]
    if spec.data != "points":
        made.append(holds(spec, cancel))
    made.append(side_by_side(spec, cancel))
    return [*made, *predictive(spec, cancel)]


def predictive(spec: RegressionLesson, cancel: Any) -> list[Figure | Table]:
    """Points left out, and data drawn from the posterior predictive of the four chains."""
    return researcher.card(analysis.predicted(spec, analysis.study(spec, cancel)))


def answers(spec: RegressionLesson, cancel: Any) -> dict[str, analysis.Answer]:
    """Every method on the same data and seed; the posterior by four chains."""
    found = {}
    for method in METHODS:
        if cancel.is_set():
            raise InterruptedError
        found[method] = analysis.studied(spec, cancel) if method == "nuts" else analysis.answer(spec, method)
    return found


def spreads(spec: RegressionLesson, cancel: Any) -> Figure:
    """Epistemic sd against the input, a line a method."""
    figure = charts.blank("input x", "epistemic sd, in units of y")
    found = answers(spec, cancel)
    for index, (method, one) in enumerate(found.items()):
        line = {"color": theme.colour(f"chain-{index}"), "width": 2, "dash": theme.DASHES[index]}
        figure.add_scatter(x=GRID, y=one.epistemic, mode="lines", line=line, name=NAMES[method])
    top = 1.5 * max(float(found["nuts"].epistemic.max()), found["nuts"].aleatoric)
    figure.update_yaxes(range=[0, top])
    over = [NAMES[method] for method, one in found.items() if one.epistemic.max() > top]
    caption = "How much the curves of one method differ, at every input. "
    if over:
        caption += f"Beyond the picture: {', '.join(over)}."
    return Figure("Who opens the band in the gap?", figure, alt="Epistemic sd by input and method.", caption=caption)


def traces(spec: RegressionLesson, cancel: Any) -> Figure:
    """The curve at x′, a line a chain."""
    chains = analysis.study(spec, cancel)
    late = chains.theta[:, :TRACED]
    flat = late.reshape(-1, late.shape[2])
    values = outputs(analysis.network_of(spec), flat, [[spec.at]])[:, 0, 0].reshape(late.shape[:2])
    return charts.trace(
        "Four chains, one curve",
        values,
        alt="Height of the curve at x′ in each draw of four chains.",
        y=f"curve at x′ = {number(spec.at)}",
        caption=f"The first {late.shape[1]} draws of each chain after its warm-up.",
    )


def holds(spec: RegressionLesson, cancel: Any) -> Figure:
    """Calibration of every method on fresh measurements."""
    figure = charts.blank("the band should hold (%)", "it holds of fresh measurements (%)")
    for index, (method, one) in enumerate(answers(spec, cancel).items()):
        says, found = analysis.calibration(one)
        line = {"color": theme.colour(f"chain-{index}"), "width": 2, "dash": theme.DASHES[index]}
        figure.add_scatter(x=100 * says, y=100 * found, mode="lines", line=line, name=NAMES[method])
    dashed = {"color": theme.colour("ink"), "width": 1.5, "dash": "dot"}
    figure.add_scatter(x=[0, 100], y=[0, 100], mode="lines", line=dashed, name="as it should")
    caption = (
        f"{analysis.FRESH} fresh measurements at inputs where there are data. Below the dotted line: too sure. In "
        "the gap nothing is measured, so this figure says nothing about it."
    )
    return Figure("Do the bands hold?", figure, alt="Share held against share claimed, by method.", caption=caption)


def side_by_side(spec: RegressionLesson, cancel: Any) -> Table:
    """All methods in numbers."""
    found = answers(spec, cancel)
    columns: dict[str, list] = {
        "method": [NAMES[method] for method in found],
        "networks": [len(one.theta) for one in found.values()],
        "noise σ": [one.aleatoric for one in found.values()],
        f"epistemic sd at x′ = {number(spec.at)}": [float(one.at([spec.at]).std()) for one in found.values()],
        "seconds": [one.seconds for one in found.values()],
    }
    caption = "Same data, network, prior and seed (for dropout's output weights the prior sd is in effect s/√p). "
    if spec.data != "points":
        held = [analysis.covered(one) for one in found.values()]
        columns |= {
            "new measurements held (%)": [f"{100 * c.new:.1f} ± {100 * c.error:.1f}" for c in held],
            "true curve held on the data (%)": [100 * c.near for c in held],
            "in the gap (%)": [100 * c.gap for c in held],
            "at the ends (%)": [100 * c.ends for c in held],
            "width of the band": [c.width for c in held],
            "log score (nats)": [c.log_score for c in held],
        }
        caption += (
            f"Bands of {100 * HELD:.0f} %. New measurements: {analysis.FRESH} fresh ones where there are data, ± one "
            "binomial standard error. The true curve is one curve, so its share jumps in long pieces: for that look at "
            "*many data sets*. The log score is the mean log density at the fresh measurements: higher is better."
        )
    return Table("Five methods, side by side", columns, caption)


def diagnostics(spec: RegressionLesson, cancel: Any) -> list[Table]:
    """R-hat and effective draws of the curve, beside the exact values where they are known."""
    chains = analysis.study(spec, cancel)
    values = watched(spec, chains)
    labels = [f"curve at x = {number(float(place))}" for place in PLACES]
    nothing = [float("nan")] * len(PLACES)
    mean, sd = nothing, nothing
    if spec.model == "line":
        true = analysis.exact(spec, PLACES)
        mean, sd = list(true.mean), list(true.sd)
    if spec.noise == "learned":
        values = np.concatenate([values, chains.noise[:, :, None]], axis=2)
        labels.append("noise σ")
        mean, sd = [*mean, float("nan")], [*sd, float("nan")]
    table = charts.estimates(
        labels, summarise(values), mean, sd, per="gradients", spent=chains.gradients, seconds=chains.seconds, of="quantity"
    )
    weights = summarise(chains.theta).rhat
    caption = (
        f"{chain_words(len(values))} of {values.shape[1]} draws after {analysis.study_warmup(spec)} of warm-up: "
        f"{chains.gradients:,} gradients in {chains.seconds:.2g} s, {chains.divergent} divergent. The curve is what "
        f"counts. The weights themselves have R-hat up to {np.nanmax(weights):.2f}: hidden units can change places, or "
        "flip their sign, without changing the curve."
    )
    return [Table("Do the chains agree on the curve?", table, caption)]
