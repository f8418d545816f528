"""What stands below the stage: fit against freedom, cross-validation, average and winner, the prior's scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import charts, theme
from app.kit.charts import Column, Figure, Table
from app.kit.text import number
from engine.diagnostics import summarise
from lessons.model_selection import analysis
from lessons.model_selection.spec import ModelSelectionLesson

Array = NDArray[np.float64]

DEPTH = 60.0  # nats below the best that are shown
TALL = 330  # px: the legend takes a third
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def panels(spec: ModelSelectionLesson, cancel: Any = None) -> list[Figure | Table]:
    """Figures and tables, in the order of the story."""
    made: list[Figure | Table] = []
    for part in (_occam, _cross, _factors, _average, _scale):
        if cancel is not None and cancel.is_set():
            break
        made.append(part(spec))
    return made


def _line(role: str, dash: str = "solid") -> dict:
    return {"color": theme.colour(role), "width": 2, "dash": dash}


def _occam(spec: ModelSelectionLesson) -> Figure:
    here, degrees = analysis.fits(spec), list(spec.all_degrees())
    fit = np.array([p.log_fit for p in here.posteriors])
    occam = np.array([p.log_occam for p in here.posteriors])
    best = int(np.argmax(here.exact))
    figure = charts.blank("degree", "log density (nats)", height=TALL)
    for values, role, dash, symbol, words in (
        (fit, "likelihood", "dash", "triangle-up", "fit"),
        (occam, "prior", "dot", "square", "log Occam factor"),
        (here.exact, "posterior", "solid", "circle", "their sum, the log evidence"),
    ):
        marker = {"symbol": symbol, "size": 8, "color": theme.colour(role)}
        figure.add_scatter(x=degrees, y=values, mode="lines+markers", line=_line(role, dash), marker=marker, name=words)
    low = max(float(min(here.exact.min(), occam.min())), float(here.exact[best]) - DEPTH)
    high = float(fit.max())
    figure.layout.yaxis.range = [low - 3.0, high + 0.06 * (high - low) + 1.0]
    figure.layout.showlegend = True
    said = (
        f"From degree {best + 1} to {degrees[-1]} the fit gains {number(fit[-1] - fit[best])} nats and freedom costs "
        f"{number(occam[best] - occam[-1])} more, so the evidence falls by {number(here.exact[best] - here.exact[-1])}."
    )
    if best + 1 == degrees[-1]:
        said = "Here the fit still pays for its freedom at the highest degree compared."
    alt = f"Fit, Occam factor and log evidence against the degree; the evidence is highest at degree {best + 1}. {said}"
    caption = (
        "Fit is log p(y | posterior mean); it and the log Occam factor add up to the log evidence, always the right "
        "one here. The Occam factor is about the posterior's width over the prior's, for all coefficients: the share "
        "of its freedom that a model was left with. " + said
    )
    return Figure("Fit gained, freedom paid", figure, alt, caption)


def _cross(spec: ModelSelectionLesson) -> Figure:
    found, degrees = analysis.validation(spec), np.array(spec.all_degrees())
    figure = charts.blank("degree", "mean squared error (log scale)", height=TALL)
    figure.layout.yaxis.type = "log"
    shown = (
        (found.training, "likelihood", "dash", "triangle-up", "on the data fitted to"),
        (found.one_out, "posterior", "solid", "circle", "leave-one-out"),
        (found.shuffled, "accept", "dot", "square", f"{found.folds} folds, shuffled"),
        (found.neighbours, "highlight", "dashdot", "diamond", f"{found.folds} folds of neighbours"),
    )
    for values, role, dash, symbol, words in shown:
        kept = np.where(values > 1e-12, values, np.nan)
        marker = {"symbol": symbol, "size": 7, "color": theme.colour(role)}
        figure.add_scatter(x=degrees, y=kept, mode="lines+markers", line=_line(role, dash), marker=marker, name=words)
    floor = float(np.nanmin(np.where(found.training > 1e-12, found.training, np.nan), initial=1.0))
    floor = max(floor, 1e-3 * spec.noise_sd**2)
    figure.layout.yaxis.range = [np.log10(0.6 * floor), np.log10(floor) + 3.6]
    figure.layout.showlegend = True
    best = analysis.fits(spec).best
    lowest = [
        f"{words} at {number(analysis.lowest(values))}" for values, _, _, _, words in shown[1:] if analysis.lowest(values) is not None
    ]
    said = "Lowest: " + ", ".join(lowest) + "." if lowest else "Too few points for cross-validation."
    scored = 1 + int(np.argmax(found.scores))
    caption = (
        f"Least-squares fits (no prior). {said} The most probable degree is {best}; the Bayesian leave-one-out "
        f"log score, which does use the prior, is best at {scored}. Folds of neighbours ask the curve to go on "
        "beyond its data, which high degrees cannot; a missing mark means that some fold leaves too few points "
        "for that degree."
    )
    last = degrees[-1]
    if np.isfinite(found.neighbours[-1]) and found.neighbours[-1] > 10.0:
        caption += f" Degree {last} is off the scale: {factor(float(np.log(found.neighbours[-1])))} with folds of neighbours."
    return Figure("Cross-validation beside it", figure, f"Mean squared errors against the degree. {said}", caption)


def _factors(spec: ModelSelectionLesson) -> Table:
    here, cross = analysis.fits(spec), analysis.validation(spec)
    gap = here.shown.max() - here.shown
    best = int(np.argmax(here.shown))
    columns: dict[str, Column] = {
        "degree": list(spec.all_degrees()),
        "log evidence": [f"{value:.2f}".replace("-", "−") for value in here.shown],
        "probability": list(here.probability),
        f"Bayes factor, {best + 1} over it": [factor(float(g)) for g in gap],
        f"evidence for {best + 1}": ["" if d == best else analysis.strength(float(g)) for d, g in enumerate(gap)],
        "leave-one-out error": list(cross.one_out),
        "leave-one-out log score": list(cross.scores),
    }
    wrong = "" if spec.mistake == "none" else " With the mistake made on purpose."
    caption = (
        "Words after Kass and Raftery (1995): Bayes factors to 3 are barely worth a mention, to 20 positive, to 150 "
        "strong, beyond very strong. They speak of two models; the probabilities also use the prior on degrees, "
        f"{'the same for all' if spec.degree_prior == 'uniform' else 'halved from each degree to the next'}.{wrong}"
    )
    return Table("Degrees compared", columns, caption)


def factor(log_factor: float) -> str:
    """A Bayes factor from 1 up, for people."""
    if log_factor < 9.0:
        return number(float(np.exp(log_factor)))
    power = int(log_factor / np.log(10.0))
    return f"{np.exp(log_factor - power * np.log(10.0)):.1f}×10{str(power).translate(RAISED)}"


def _average(spec: ModelSelectionLesson) -> Figure:
    here = analysis.fits(spec)
    at = analysis.GRID
    figure = charts.blank("x", "y", height=TALL)
    average, single = here.average(), here.curve(here.best)
    fill = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    for (mean, sd), role, dash, words in (
        (average, "posterior", "solid", "average over all degrees"),
        (single, "likelihood", "dash", f"degree {here.best} alone"),
    ):
        if np.isfinite(sd).all():
            figure.add_scatter(x=at, y=mean - 2 * sd, showlegend=False, **fill)
            shade = theme.colour(role, 0.25)
            figure.add_scatter(x=at, y=mean + 2 * sd, fill="tonexty", fillcolor=shade, showlegend=False, **fill)
        figure.add_scatter(x=at, y=mean, mode="lines", line=_line(role, dash), name=words)
    figure.add_scatter(
        x=at,
        y=here.least_squares(spec.degrees),
        mode="lines",
        line=_line("reject", "dot"),
        name=f"degree {spec.degrees}, maximum likelihood",
    )
    curve = analysis.truth(spec)
    if curve is not None:
        figure.add_scatter(x=at, y=curve, mode="lines", line=_line("truth", "dash"), name="true curve")
    marker = {"symbol": "circle-open", "size": 7, "color": theme.colour("ink")}
    figure.add_scatter(x=here.data.x, y=here.data.y, mode="markers", marker=marker, name="data", showlegend=False)
    reach = max(1.75, 1.2 * float(np.abs(here.data.y).max()))
    figure.layout.yaxis.range = [-reach, reach]
    figure.layout.showlegend = True
    said = f"The most probable degree, {here.best}, has probability {here.probability.max():.2f}."
    if np.isfinite(average[1]).all():
        ratio = average[1] / single[1]
        said += (
            f" The average's band is up to {ratio.max():.2g} times as wide as the winner's, "
            f"{ratio.mean():.2g} times in the mean: it does not pretend to know the degree."
        )
        if curve is not None:
            inside = [np.mean(np.abs(mean - curve) <= 2 * sd) for mean, sd in (average, single)]
            said += (
                f" The true curve runs inside the average's band over {inside[0]:.0%} of the range, inside the "
                f"winner's over {inside[1]:.0%}."
            )
    caption = f"Bands hold two standard deviations of the curve, without the noise of a measurement. {said}"
    return Figure("Model average against the single best", figure, f"Two curves with bands. {said}", caption)


def _scale(spec: ModelSelectionLesson) -> Figure:
    found, scales = analysis.by_scale(spec), analysis.SCALES
    probability = analysis.softmax(spec.log_prior() + found)
    degrees = list(spec.all_degrees())
    winners = 1 + probability.argmax(axis=1)
    averaged = np.logaddexp.reduce(spec.log_prior() + found, axis=1)
    best = float(scales[int(np.argmax(averaged))])
    said = (
        f"With s = {scales[0]:g} degree {winners[0]} wins, with s = {scales[-1]:g} degree {winners[-1]}. The data, "
        f"averaged over degrees, are most probable at s ≈ {number(best, 2)}."
    )
    text = (
        f"Each column is one prior sd s, the same data. {said} Beyond that each tenfold s costs up to ln 10 = 2.3 "
        f"nats a coefficient, without end. The dashed line is the present s = {spec.prior_sd:g}."
    )
    made = charts.heat_map(
        "The prior's scale decides, too",
        probability.T,
        alt=f"p(degree | data) over the prior sd. {said}",
        x="prior sd s of a coefficient (log scale)",
        y="degree",
        xs=scales,
        ys=degrees,
        unit="p(degree)",
        caption=text,
    )
    figure = made.figure
    figure.layout.xaxis.type = "log"
    line = {"color": theme.colour("reject"), "width": 2, "dash": "dash"}
    figure.add_scatter(x=[spec.prior_sd] * 2, y=[0.5, degrees[-1] + 0.5], mode="lines", line=line, name="present s", showlegend=False)
    figure.layout.yaxis.range = [0.5, degrees[-1] + 0.5]
    return made


def diagnostics(spec: ModelSelectionLesson, cancel: Any = None) -> Table:
    """The draws of the curve at x′ against the exact answer, as four chains would be judged."""
    means, scales, dof = analysis.value_laws(spec)
    weight = analysis.fits(spec).probability
    chains = np.stack([analysis.draw(spec, 1000, spec.seed + 10 + c).value for c in range(4)])
    found = summarise(chains[:, :, None])
    sds = scales * analysis.sd_of_student(dof)
    mean, sd = analysis.mixture(weight, means[:, None], sds[:, None])
    columns = {
        "quantity": [f"curve at x′ = {spec.at:g}"],
        "mean": list(found.mean),
        "exact": [float(mean[0])],
        "MCSE": list(found.mcse_mean),
        "sd": list(found.sd),
        "exact sd": [float(sd[0])],
        "R-hat": [f"{value:.3f}" for value in found.rhat],
        "ESS bulk": list(np.round(found.ess_bulk)),
    }
    caption = (
        "Four times 1 000 draws. They are independent, so R-hat is 1 and each counts in full. No gradient, no "
        "divergence, no warm-up: with normal noise and a normal prior everything has a closed form. "
        f"All {spec.degrees} degrees are solved by one singular value decomposition each."
    )
    return Table("Diagnostics of the draws", columns, caption)
