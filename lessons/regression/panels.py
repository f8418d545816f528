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
from lessons.regression.spec import METHODS, WORDS, RegressionLesson

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
    figure = charts.blank(WORDS.phrase("stage.x"), WORDS.phrase("panels.epistemic_axis"))
    found = answers(spec, cancel)
    for index, (method, one) in enumerate(found.items()):
        line = {"color": theme.colour(f"chain-{index}"), "width": 2, "dash": theme.DASHES[index]}
        figure.add_scatter(x=GRID, y=one.epistemic, mode="lines", line=line, name=NAMES[method])
    top = 1.5 * max(float(found["nuts"].epistemic.max()), found["nuts"].aleatoric)
    figure.update_yaxes(range=[0, top])
    over = [NAMES[method] for method, one in found.items() if one.epistemic.max() > top]
    caption = WORDS.phrase("panels.spreads_caption")
    if over:
        caption = f"{caption} {WORDS.phrase('panels.beyond', methods=', '.join(over))}"
    return Figure(WORDS.phrase("panels.spreads"), figure, alt=WORDS.phrase("panels.spreads_alt"), caption=caption)


def traces(spec: RegressionLesson, cancel: Any) -> Figure:
    """The curve at x′, a line a chain."""
    chains = analysis.study(spec, cancel)
    late = chains.theta[:, :TRACED]
    flat = late.reshape(-1, late.shape[2])
    values = outputs(analysis.network_of(spec), flat, [[spec.at]])[:, 0, 0].reshape(late.shape[:2])
    return charts.trace(
        WORDS.phrase("panels.chains"),
        values,
        alt=WORDS.phrase("panels.chains_alt"),
        y=WORDS.phrase("panels.curve_at", at=number(spec.at)),
        caption=WORDS.phrase("panels.chains_caption", draws=late.shape[1]),
    )


def holds(spec: RegressionLesson, cancel: Any) -> Figure:
    """Calibration of every method on fresh measurements."""
    figure = charts.blank(WORDS.phrase("stage.should_hold"), WORDS.phrase("panels.holds_fresh"))
    for index, (method, one) in enumerate(answers(spec, cancel).items()):
        says, found = analysis.calibration(one)
        line = {"color": theme.colour(f"chain-{index}"), "width": 2, "dash": theme.DASHES[index]}
        figure.add_scatter(x=100 * says, y=100 * found, mode="lines", line=line, name=NAMES[method])
    dashed = {"color": theme.colour("ink"), "width": 1.5, "dash": "dot"}
    figure.add_scatter(x=[0, 100], y=[0, 100], mode="lines", line=dashed, name=WORDS.phrase("stage.as_it_should"))
    caption = WORDS.phrase("panels.holds_caption", fresh=analysis.FRESH)
    return Figure(WORDS.phrase("panels.holds"), figure, alt=WORDS.phrase("panels.holds_alt"), caption=caption)


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
    caption = WORDS.phrase("panels.same")
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
        caption = f"{caption} {WORDS.phrase('panels.bands', held=100 * HELD, fresh=analysis.FRESH)}"
    return Table(WORDS.phrase("panels.methods"), columns, caption)


def diagnostics(spec: RegressionLesson, cancel: Any) -> list[Table]:
    """R-hat and effective draws of the curve, beside the exact values where they are known."""
    chains = analysis.study(spec, cancel)
    values = watched(spec, chains)
    labels = [WORDS.phrase("panels.curve", x=number(float(place))) for place in PLACES]
    nothing = [float("nan")] * len(PLACES)
    mean, sd = nothing, nothing
    if spec.model == "line":
        true = analysis.exact(spec, PLACES)
        mean, sd = list(true.mean), list(true.sd)
    if spec.noise == "learned":
        values = np.concatenate([values, chains.noise[:, :, None]], axis=2)
        labels.append(WORDS.phrase("panels.noise"))
        mean, sd = [*mean, float("nan")], [*sd, float("nan")]
    table = charts.estimates(
        labels, summarise(values), mean, sd, per="gradients", spent=chains.gradients, seconds=chains.seconds, of="quantity"
    )
    weights = summarise(chains.theta).rhat
    caption = WORDS.phrase(
        "panels.agree_caption",
        chains=chain_words(len(values)),
        draws=values.shape[1],
        warmup=analysis.study_warmup(spec),
        gradients=chains.gradients,
        seconds=chains.seconds,
        divergent=chains.divergent,
        rhat=np.nanmax(weights),
    )
    return [Table(WORDS.phrase("panels.agree"), table, caption)]
