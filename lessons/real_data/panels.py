"""What stands below the stage: predictions side by side, one case chain by chain, with and without scaling."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from app.kit import charts, researcher, theme
from app.kit.charts import Figure, Table
from app.kit.text import chains, number, plain
from engine.diagnostics import cost
from engine.judge import MAX_RHAT
from engine.scores import reliability
from lessons.real_data import analysis, lottery_scenes, place_scenes, scenes
from lessons.real_data.analysis import Study
from lessons.real_data.spec import WORDS, RealDataSpec

BINS = 30
GROUPS = 5  # of the calibration figure
OTHER_DRAWS = 200  # of each chain, at most, where the columns are treated the other way


def panels(spec: RealDataSpec, cancel: Any) -> list[Figure | Table]:
    """The figures and tables of the present settings; none before the table is there."""
    if spec.show == "protocol" or not analysis.is_here(spec):
        return []
    if spec.lottery:
        return [lottery_scenes.power(spec), lottery_scenes.waiting(spec)]
    try:
        found = analysis.studied(spec, cancel)
        if spec.show == "place":
            return [place_scenes.models(spec), *predictive(spec)]
        made: list[Figure | Table] = [by_chain(spec, found)]
        if analysis.problem(spec).classes:
            made.append(calibration(spec, found))
        made += [side_by_side(spec, found), scaling(spec, found, cancel), *predictive(spec)]
    except InterruptedError:
        return []
    return made


def predictive(spec: RealDataSpec) -> list[Figure | Table]:
    """Rows left out, and data drawn from the posterior predictive: of the rows learned from, once the chains are there."""
    theta, noise, _ = analysis.thinned(spec, analysis.chains(spec).run.recording())
    card = researcher.classes_card if analysis.problem(spec).classes else researcher.card
    return card(analysis.of_rows(spec, theta, noise))


def side_by_side(spec: RealDataSpec, found: Study) -> Table:
    """A constant, the trained network and the posterior on the same rows."""
    rows, fit = analysis.problem(spec), analysis.fit(spec)
    y = rows.y_test
    names = [scenes.always(bool(rows.classes)), WORDS.phrase("stage.trained"), WORDS.phrase("stage.by_posterior")]
    guesses = [np.full(len(y), rows.y_units.mean()), fit.guess, found.guess]
    errors = [analysis.error(spec, guess, y) for guess in guesses]
    learned = [analysis.error(spec, np.full(len(rows.y), rows.y_units.mean()), rows.y_units), fit.train[fit.best], found.train]
    columns: dict[str, list] = {"who guesses": names}
    if rows.classes:
        cut = analysis.best_threshold(spec)
        columns |= {
            "cross-entropy, test": errors,
            "learned from": learned,
            "right at 0.5": [f"{100 * np.mean((guess > 0.5) == (y > 0.5)):.0f} %" for guess in guesses],
            f"cost at {cut:.2g}": [float(analysis.costs(spec, guess, y, np.array([cut]))[0]) for guess in guesses],
            "cost at 0.5": [float(analysis.costs(spec, guess, y, np.array([0.5]))[0]) for guess in guesses],
        }
        caption = WORDS.phrase("panels.classes_caption", rows=len(y))
    else:
        residual = fit.residual_sd
        score = float(np.mean(-0.5 * ((y - fit.guess) / residual) ** 2) - math.log(residual * math.sqrt(2 * math.pi)))
        sd = float(rows.y_units.std())
        flat = float(np.mean(-0.5 * ((y - guesses[0]) / sd) ** 2) - math.log(sd * math.sqrt(2 * math.pi)))
        at, rates = int(np.argmin(np.abs(analysis.LEVELS - 0.9))), (analysis.trained_rates(spec), found.rates)
        columns |= {
            "RMSE, test": errors,
            "learned from": learned,
            "log score (nats a row)": [flat, score, found.log_score],
            "90 % intervals hold": ["–", *(f"{100 * share[at]:.0f} %" for share in rates)],
        }
        chance = 100 * math.sqrt(0.9 * 0.1 / len(y))
        caption = WORDS.phrase("panels.values_caption", rows=len(y), chance=chance)
    if spec.training == "early_stopping":
        caption += " " + WORDS.phrase("panels.stopped_early")
    return Table(WORDS.phrase("panels.answers"), columns, caption)


def by_chain(spec: RealDataSpec, found: Study) -> Figure:
    """The draws of one case, chain by chain: uncertainty, or chains that have not met?"""
    rows, at = analysis.problem(spec), analysis.case(spec)
    what = f"P({scenes.class_one(rows)})" if rows.classes else WORDS.phrase("panels.without_noise", target=scenes.word(rows.task.target))
    values = found.values[:, :, at]
    edges = np.linspace(values.min(), values.max() + 1e-12, BINS + 1)
    figure = charts.blank(WORDS.phrase("panels.of_case", what=what, case=spec.case), WORDS.phrase("stage.draws"), barmode="stack", bargap=0)
    for chain, drawn in enumerate(values):
        counts, _ = np.histogram(drawn, edges)
        colour = {"color": theme.colour(f"chain-{chain}", 0.8)}
        figure.add_bar(x=(edges[1:] + edges[:-1]) / 2, y=counts, marker=colour, name=WORDS.phrase("stage.chain", chain=chain + 1))
    summary = analysis.case_summary(spec, found)
    rhat, means = float(summary.rhat[0]), ", ".join(number(float(mean)) for mean in values.mean(axis=1))
    verdict = WORDS.phrase("panels.met" if rhat <= MAX_RHAT else "panels.not_met")
    caption = WORDS.phrase("panels.by_chain_caption", rhat=rhat, means=means, verdict=verdict)
    return Figure(WORDS.phrase("panels.by_chain"), figure, WORDS.phrase("panels.by_chain_alt", caption=caption), caption)


def calibration(spec: RealDataSpec, found: Study) -> Figure:
    """Among rows with about the same probability: how many were of class 1?"""
    rows, fit = analysis.problem(spec), analysis.fit(spec)
    figure = charts.blank(WORDS.phrase("panels.stated"), WORDS.phrase("panels.was_right"))
    told = []
    for name, guess, role, symbol in (
        (WORDS.phrase("stage.by_posterior"), found.guess, "posterior", "circle"),
        (WORDS.phrase("stage.trained"), fit.guess, "proposal", "square"),
    ):
        curve = reliability(np.column_stack([1.0 - guess, guess]), rows.y_test.astype(int), GROUPS)
        figure.add_scatter(
            x=curve.confidence,
            y=curve.accuracy,
            mode="lines+markers",
            name=name,
            line={"color": theme.colour(role)},
            marker={"symbol": symbol, "size": 8},
        )
        told.append(WORDS.phrase("panels.scored", name=name, nats=analysis.cross_entropy(guess, rows.y_test)))
    dashed = {"color": theme.colour("truth"), "dash": "dash"}
    figure.add_scatter(x=[0.5, 1.0], y=[0.5, 1.0], mode="lines", line=dashed, name=WORDS.phrase("panels.as_stated"))
    caption = WORDS.phrase("panels.kept_caption", listed=", ".join(told))
    return Figure(WORDS.phrase("panels.kept"), figure, caption, caption)


def scaling(spec: RealDataSpec, found: Study, cancel: Any) -> Table:
    """The same network and the same posterior on columns scaled, and as they are."""
    other = spec.replace(scaled="no" if spec.scaled == "yes" else "yes", draws=min(spec.draws, OTHER_DRAWS))
    columns: dict[str, list] = {"columns": [], "trained network": [], "posterior": [], "R-hat of the case": []}
    columns["gradients a sweep"] = []
    for here in sorted((spec, other), key=lambda each: each.scaled, reverse=True):
        study = found if here is spec else analysis.studied(here, cancel)
        fit, recording = analysis.fit(here), analysis.chains(here).run.recording()
        row = (
            WORDS.phrase("panels.scaled" if here.scaled == "yes" else "panels.raw"),
            float(fit.test[fit.best]),
            study.error,
            f"{float(analysis.case_summary(here, study).rhat[0]):.2f}",
            float(recording.gradient_evaluations.mean()),
        )
        for column, value in zip(columns, row, strict=True):
            columns[column].append(value)
    caption = WORDS.phrase("panels.scaling_caption", what=scenes.error_name(analysis.problem(spec)))
    return Table(WORDS.phrase("panels.scaling"), columns, caption)


def diagnostics(spec: RealDataSpec, cancel: Any) -> Table:
    """R-hat and effective draws of the function at test rows, and what it cost."""
    title = WORDS.phrase("panels.agree")
    if spec.lottery:
        return Table(title, {"not run": [WORDS.phrase("panels.no_chain")]})
    if spec.show == "protocol" or not analysis.is_here(spec):
        return Table(title, {"not run": [WORDS.phrase("panels.in_card")]})
    try:
        recording = analysis.chains(spec).upto(spec.draws, cancel)
    except InterruptedError:
        return Table(title, {"state": [WORDS.phrase("panels.stopped")]})
    rows = analysis.problem(spec)
    summary = recording.function_diagnostics(rows.x_test[: analysis.WATCHED])
    price = cost(recording, summary)
    columns = {
        "test row": list(range(1, len(summary.rhat) + 1)),
        "mean": list(rows.centre + rows.scale * summary.mean),
        "sd": list(rows.scale * summary.sd),
        "R-hat": [f"{value:.3f}" for value in summary.rhat],
        "ESS bulk": list(np.round(summary.ess_bulk)),
        "ESS tail": list(np.round(summary.ess_tail)),
    }
    if rows.classes:
        what = WORDS.phrase("panels.log_odds")
    else:
        what = WORDS.phrase("panels.without_noise", target=plain(scenes.word(rows.task.target)))
    caption = WORDS.phrase(
        "panels.cost",
        what=what,
        chains=chains(recording.draws.shape[0]),
        gradients=price.gradient_evaluations,
        seconds=price.seconds,
        effective=price.ess_per_second,
        divergent=int(recording.divergent.sum()),
        trained=analysis.fit(spec).trained.seconds,
    )
    return Table(title, columns, caption)
