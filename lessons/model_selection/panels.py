"""What stands below the stage: fit against freedom, cross-validation, average and winner, the prior's scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import charts, theme
from app.kit.charts import Column, Figure, Table
from app.kit.text import minus, number
from engine.diagnostics import summarise
from lessons.model_selection import analysis
from lessons.model_selection.spec import WORDS, ModelSelectionLesson

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
    figure = charts.blank(WORDS.phrase("stage.degree"), WORDS.phrase("panels.log_density"), height=TALL)
    for values, role, dash, symbol, words in (
        (fit, "likelihood", "dash", "triangle-up", WORDS.phrase("panels.fit")),
        (occam, "prior", "dot", "square", WORDS.phrase("panels.occam_factor")),
        (here.exact, "posterior", "solid", "circle", WORDS.phrase("panels.log_evidence")),
    ):
        marker = {"symbol": symbol, "size": 8, "color": theme.colour(role)}
        figure.add_scatter(x=degrees, y=values, mode="lines+markers", line=_line(role, dash), marker=marker, name=words)
    low = max(float(min(here.exact.min(), occam.min())), float(here.exact[best]) - DEPTH)
    high = float(fit.max())
    figure.layout.yaxis.range = [low - 3.0, high + 0.06 * (high - low) + 1.0]
    figure.layout.showlegend = True
    if best + 1 == degrees[-1]:
        said = WORDS.phrase("panels.still_pays")
    else:
        gained, paid, lost = fit[-1] - fit[best], occam[best] - occam[-1], here.exact[best] - here.exact[-1]
        nats = {"gained": number(gained), "paid": number(paid), "lost": number(lost)}
        said = WORDS.phrase("panels.paid", best=best + 1, highest=degrees[-1], **nats)
    alt, caption = WORDS.phrase("panels.occam_alt", best=best + 1, said=said), WORDS.phrase("panels.occam_caption", said=said)
    return Figure(WORDS.phrase("panels.occam"), figure, alt, caption)


def _cross(spec: ModelSelectionLesson) -> Figure:
    found, degrees = analysis.validation(spec), np.array(spec.all_degrees())
    figure = charts.blank(WORDS.phrase("stage.degree"), WORDS.phrase("panels.squared_error"), height=TALL)
    figure.layout.yaxis.type = "log"
    shown = (
        (found.training, "likelihood", "dash", "triangle-up", WORDS.phrase("panels.training")),
        (found.one_out, "posterior", "solid", "circle", WORDS.phrase("panels.one_out")),
        (found.shuffled, "accept", "dot", "square", WORDS.phrase("panels.shuffled", folds=found.folds)),
        (found.neighbours, "highlight", "dashdot", "diamond", WORDS.phrase("panels.neighbours", folds=found.folds)),
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
    lowest = [(words, at) for values, _, _, _, words in shown[1:] if (at := analysis.lowest(values)) is not None]
    listed = ", ".join(WORDS.phrase("panels.lowest_at", error=words, degree=at) for words, at in lowest)
    said = WORDS.phrase("panels.lowest", listed=listed) if lowest else WORDS.phrase("panels.too_few")
    caption = WORDS.phrase("panels.cross_caption", said=said, best=best, scored=1 + int(np.argmax(found.scores)))
    if np.isfinite(found.neighbours[-1]) and found.neighbours[-1] > 10.0:
        error = factor(float(np.log(found.neighbours[-1])))
        caption = f"{caption} {WORDS.phrase('panels.off_scale', degree=degrees[-1], error=error)}"
    return Figure(WORDS.phrase("panels.cross"), figure, WORDS.phrase("panels.cross_alt", said=said), caption)


def _factors(spec: ModelSelectionLesson) -> Table:
    here, cross = analysis.fits(spec), analysis.validation(spec)
    gap = here.shown.max() - here.shown
    best = int(np.argmax(here.shown))
    columns: dict[str, Column] = {
        "degree": list(spec.all_degrees()),
        "log evidence": [minus(f"{value:.2f}") for value in here.shown],
        "probability": list(here.probability),
        f"Bayes factor, {best + 1} over it": [factor(float(g)) for g in gap],
        f"evidence for {best + 1}": ["" if d == best else analysis.strength(float(g)) for d, g in enumerate(gap)],
        "leave-one-out error": list(cross.one_out),
        "leave-one-out log score": list(cross.scores),
    }
    caption = WORDS.phrase("panels.factors_caption", prior=WORDS.phrase(f"panels.prior_{spec.degree_prior}"))
    if spec.mistake != "none":
        caption = f"{caption} {WORDS.phrase('panels.with_mistake')}"
    return Table(WORDS.phrase("panels.factors"), columns, caption)


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
        (average, "posterior", "solid", WORDS.phrase("stage.average")),
        (single, "likelihood", "dash", WORDS.phrase("stage.alone", degree=here.best)),
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
        name=WORDS.phrase("stage.likely", degree=spec.degrees),
    )
    curve = analysis.truth(spec)
    if curve is not None:
        figure.add_scatter(x=at, y=curve, mode="lines", line=_line("truth", "dash"), name=WORDS.phrase("stage.true_curve"))
    marker = {"symbol": "circle-open", "size": 7, "color": theme.colour("ink")}
    figure.add_scatter(x=here.data.x, y=here.data.y, mode="markers", marker=marker, name=WORDS.phrase("panels.data"), showlegend=False)
    reach = max(1.75, 1.2 * float(np.abs(here.data.y).max()))
    figure.layout.yaxis.range = [-reach, reach]
    figure.layout.showlegend = True
    told = [WORDS.phrase("panels.winner", degree=here.best, probability=here.probability.max())]
    if np.isfinite(average[1]).all():
        ratio = average[1] / single[1]
        told.append(WORDS.phrase("panels.wider", most=ratio.max(), mean=ratio.mean()))
        if curve is not None:
            inside = [np.mean(np.abs(mean - curve) <= 2 * sd) for mean, sd in (average, single)]
            told.append(WORDS.phrase("panels.inside", average=inside[0], winner=inside[1]))
    said = " ".join(told)
    alt, caption = WORDS.phrase("panels.average_alt", said=said), WORDS.phrase("panels.average_caption", said=said)
    return Figure(WORDS.phrase("panels.average"), figure, alt, caption)


def _scale(spec: ModelSelectionLesson) -> Figure:
    found, scales = analysis.by_scale(spec), analysis.SCALES
    probability = analysis.softmax(spec.log_prior() + found)
    degrees = list(spec.all_degrees())
    winners = 1 + probability.argmax(axis=1)
    averaged = np.logaddexp.reduce(spec.log_prior() + found, axis=1)
    best = float(scales[int(np.argmax(averaged))])
    ends = {"least": scales[0], "winner": winners[0], "most": scales[-1], "last_winner": winners[-1]}
    said = WORDS.phrase("panels.winners", best=number(best, 2), **ends)
    made = charts.heat_map(
        WORDS.phrase("panels.scale"),
        probability.T,
        alt=WORDS.phrase("panels.scale_alt", said=said),
        x=WORDS.phrase("panels.prior_sd"),
        y=WORDS.phrase("stage.degree"),
        xs=scales,
        ys=degrees,
        unit=WORDS.phrase("panels.probability"),
        caption=WORDS.phrase("panels.scale_caption", said=said, prior_sd=spec.prior_sd),
    )
    figure = made.figure
    figure.layout.xaxis.type = "log"
    line = {"color": theme.colour("reject"), "width": 2, "dash": "dash"}
    figure.add_scatter(
        x=[spec.prior_sd] * 2, y=[0.5, degrees[-1] + 0.5], mode="lines", line=line, name=WORDS.phrase("panels.present"), showlegend=False
    )
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
        "quantity": [WORDS.phrase("panels.curve", at=spec.at)],
        "mean": list(found.mean),
        "exact": [float(mean[0])],
        "MCSE": list(found.mcse_mean),
        "sd": list(found.sd),
        "exact sd": [float(sd[0])],
        "R-hat": [f"{value:.3f}" for value in found.rhat],
        "ESS bulk": list(np.round(found.ess_bulk)),
    }
    return Table(WORDS.phrase("panels.draws"), columns, WORDS.phrase("panels.draws_caption", degrees=spec.degrees))
