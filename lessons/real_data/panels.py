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
from lessons.real_data.spec import RealDataSpec

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
    y, names = rows.y_test, [f"always the {'base rate' if rows.classes else 'mean'}", "trained network", "posterior"]
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
        caption = f"{len(y)} test rows; cross-entropy in nats a row, costs a row."
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
        caption = (
            f"{len(y)} test rows, so a share of 90 % has an sd of {chance:.0f} % by chance. The trained network has no "
            "interval of its own: its guess ± its residuals on the rows it learned from stands in for one."
        )
    early = " Stopping early learned from 70 % of the rows." if spec.training == "early_stopping" else ""
    return Table("The same rows, three answers", columns, caption + early)


def by_chain(spec: RealDataSpec, found: Study) -> Figure:
    """The draws of one case, chain by chain: uncertainty, or chains that have not met?"""
    rows, at = analysis.problem(spec), analysis.case(spec)
    what = f"P({scenes.class_one(rows)})" if rows.classes else f"{scenes.word(rows.task.target)} without noise"
    values = found.values[:, :, at]
    edges = np.linspace(values.min(), values.max() + 1e-12, BINS + 1)
    figure = charts.blank(f"{what} of case {spec.case}", "draws", barmode="stack", bargap=0)
    for chain, drawn in enumerate(values):
        counts, _ = np.histogram(drawn, edges)
        colour = {"color": theme.colour(f"chain-{chain}", 0.8)}
        figure.add_bar(x=(edges[1:] + edges[:-1]) / 2, y=counts, marker=colour, name=f"chain {chain + 1}")
    summary = analysis.case_summary(spec, found)
    rhat, means = float(summary.rhat[0]), ", ".join(number(float(mean)) for mean in values.mean(axis=1))
    verdict = (
        "the chains agree: its width is uncertainty"
        if rhat <= MAX_RHAT
        else "the chains have not met yet: a hump may be a chain, not an uncertainty"
    )
    caption = f"R-hat {rhat:.3f}, means of the chains {means}: {verdict}."
    return Figure("One case, chain by chain", figure, f"Stacked histogram. {caption}", caption)


def calibration(spec: RealDataSpec, found: Study) -> Figure:
    """Among rows with about the same probability: how many were of class 1?"""
    rows, fit = analysis.problem(spec), analysis.fit(spec)
    figure = charts.blank("stated probability of the likelier class", "share that was right")
    told = []
    for name, guess, role, symbol in (
        ("posterior", found.guess, "posterior", "circle"),
        ("trained network", fit.guess, "proposal", "square"),
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
        told.append(f"{name} {analysis.cross_entropy(guess, rows.y_test):.3f} nats")
    dashed = {"color": theme.colour("truth"), "dash": "dash"}
    figure.add_scatter(x=[0.5, 1.0], y=[0.5, 1.0], mode="lines", line=dashed, name="as stated")
    caption = f"Groups of test rows by stated probability; on the dashed line it is kept. {', '.join(told)}."
    return Figure("Is a stated probability kept?", figure, caption, caption)


def scaling(spec: RealDataSpec, found: Study, cancel: Any) -> Table:
    """The same network and the same posterior on columns scaled, and as they are."""
    other = spec.replace(scaled="no" if spec.scaled == "yes" else "yes", draws=min(spec.draws, OTHER_DRAWS))
    columns: dict[str, list] = {"columns": [], "trained network": [], "posterior": [], "R-hat of the case": []}
    columns["gradients a sweep"] = []
    for here in sorted((spec, other), key=lambda each: each.scaled, reverse=True):
        study = found if here is spec else analysis.studied(here, cancel)
        fit, recording = analysis.fit(here), analysis.chains(here).run.recording()
        row = (
            "scaled" if here.scaled == "yes" else "as they are",
            float(fit.test[fit.best]),
            study.error,
            f"{float(analysis.case_summary(here, study).rhat[0]):.2f}",
            float(recording.gradient_evaluations.mean()),
        )
        for column, value in zip(columns, row, strict=True):
            columns[column].append(value)
    what = "cross-entropy" if analysis.problem(spec).classes else "RMSE"
    caption = (
        f"Test {what}, on the same rows. Scaling uses the mean and sd of the rows learned from only. With the "
        f"columns as "
        "they are the same prior means another thing for each of them."
    )
    return Table("With and without scaling", columns, caption)


def diagnostics(spec: RealDataSpec, cancel: Any) -> Table:
    """R-hat and effective draws of the function at test rows, and what it cost."""
    if spec.lottery:
        return Table("Do the chains agree?", {"not run": ["no chain runs: draws from an urn do not hang on each other"]})
    if spec.show == "protocol" or not analysis.is_here(spec):
        return Table("Do the chains agree?", {"not run": ["R-hat of each sampled model stands in the card above, once it has been run"]})
    try:
        recording = analysis.chains(spec).upto(spec.draws, cancel)
    except InterruptedError:
        return Table("Do the chains agree?", {"state": ["stopped"]})
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
    what = "log odds of class 1" if rows.classes else f"{plain(scenes.word(rows.task.target))} without noise"
    caption = (
        f"Of the function ({what}), as weights may trade places. {chains(recording.draws.shape[0])}, "
        f"{price.gradient_evaluations:,} gradients in {price.seconds:.2g} s, {price.ess_per_second:,.0f} effective "
        f"draws "
        f"a second at the worst row, {int(recording.divergent.sum())} divergent. The trained network took "
        f"{analysis.fit(spec).trained.seconds:.2g} s."
    )
    return Table("Do the chains agree?", columns, caption)
