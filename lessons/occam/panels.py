"""Still figures and tables below the stage."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.kit import charts, researcher, theme
from app.kit.charts import Column, Figure, Table
from engine.diagnostics import ess_mean, rhat
from engine.evidence import ArchitectureEvidence
from engine.jumps.predict import of_data
from engine.jumps.shares import shares
from lessons.families.growing.sizes import HELD, size_figure
from lessons.occam.analysis import Split, Study, evidence, exact, score_of_all, split, study
from lessons.occam.spec import THESIS, WORDS, OccamSpec

UNSURE = 1.05  # R-hat of the two chains at a k, above which its fit is not drawn
REACH = 12.0  # nats from the best k, at most, that the balance shows
SCORES = 0.08  # nats a point below the best k that the scores show


def panels(spec: OccamSpec, cancel: Any) -> list[Figure | Table]:
    """p(k | D) by two methods; fit against price; predictions at each k; the thesis's prior beside this one;
    points left out, and classes drawn anew.
    """
    found, runs, parts = evidence(spec, cancel), study(spec, cancel), split(spec, cancel)
    made: list[Figure | Table] = [share_figure(spec, runs, found), balance(spec, found, parts)]
    if np.isfinite(parts.score).any():
        made.append(predictions(spec, runs, parts))
    reference = as_in_the_thesis(spec)
    if reference != spec:
        made.append(beside(spec, found, reference, evidence(reference, cancel)))
    learned = of_data(runs.recording.after(runs.burn), *spec.data_set(), spec.seed)
    return [*made, numbers(spec, found, parts), *(researcher.classes_card(learned) if learned is not None else [])]


def as_in_the_thesis(spec: OccamSpec) -> OccamSpec:
    """The same data and range with the thesis's priors, temper and run."""
    kept = {name: getattr(spec, name) for name in ("data", "corner", "variance", "points", "highest")}
    same = {name: getattr(THESIS, name) for name in ("temper", "prior_sd", "scaling", "prior")}
    if all(getattr(spec, name) == value for name, value in same.items()):
        return spec
    return THESIS.replace(**kept, seed=spec.seed)


def log_data(spec: OccamSpec, found: ArchitectureEvidence) -> float:
    """log p(D) of the whole model, k summed over its prior."""
    return float(np.logaddexp.reduce(spec.log_prior() + found.log_evidence))


def share_figure(spec: OccamSpec, runs: Study, found: ArchitectureEvidence) -> Figure:
    """The first part of the long run beside annealing."""
    drawn = shares(runs.widths, 1, spec.highest)
    caption = WORDS.phrase("panels.methods_caption", chains=runs.widths.shape[0], sweeps=runs.widths.shape[1], rhat=drawn.rhat)
    prior = np.exp(spec.log_prior())
    return size_figure(WORDS.phrase("panels.methods"), drawn, 1, exact=exact(spec, found), prior=prior, caption=caption)


def balance(spec: OccamSpec, found: ArchitectureEvidence, parts: Split) -> Figure:
    """Fit, price and log evidence of each k relative to the k of the highest evidence."""
    k = np.arange(1, spec.highest + 1)
    best = int(found.log_evidence.argmax())
    sure = sure_of(parts)
    near = sure & (found.log_evidence > found.log_evidence[best] - 2 * REACH)
    figure = charts.blank(WORDS.phrase("panels.hidden_units_k"), WORDS.phrase("panels.relative", k=best + 1))
    lines = (
        (WORDS.phrase("panels.fit"), parts.fit - parts.fit[best], parts.fit_error, "likelihood", "circle", "solid"),
        (WORDS.phrase("panels.price"), parts.price[best] - parts.price, parts.price_error, "highlight", "square", "dash"),
        (WORDS.phrase("panels.evidence"), found.log_evidence - found.log_evidence[best], found.error, "ink", "diamond", "solid"),
    )
    for name, values, error, role, symbol, dash in lines:
        shown = found.log_evidence > found.log_evidence[best] - 2 * REACH if role == "ink" else near
        figure.add_scatter(
            x=k[shown],
            y=values[shown],
            mode="markers+lines",
            name=name,
            marker={"symbol": symbol, "size": 7, "color": theme.colour(role)},
            line={"color": theme.colour(role), "dash": dash, "width": 2},
            error_y={"type": "data", "array": 2 * error[shown], "color": theme.colour(role), "thickness": 1},
        )
    widest = max(float(np.abs(values[near]).max()) for _, values, *_ in lines)
    figure.layout.yaxis.range = [-min(REACH, 1.2 * widest + 0.5), min(REACH, 1.2 * widest + 0.5)]
    left_out = [str(int(j)) for j in k[~sure]]
    told = [WORDS.phrase("panels.balance_caption")]
    if left_out:
        told.append(WORDS.phrase("panels.left_out", left_out=", ".join(left_out)))
    ends, alt = near.nonzero()[0], WORDS.phrase("panels.highest", k=best + 1)
    if len(ends):
        a, b = int(ends[0]), int(ends[-1])
        changes = {"fit": parts.fit[b] - parts.fit[a], "price": parts.price[b] - parts.price[a]}
        change = WORDS.phrase("panels.change", low=a + 1, high=b + 1, **changes)
        told.append(change)
        alt = f"{alt} {change}"
    return Figure(WORDS.phrase("panels.balance"), figure, alt, " ".join(told))


def sure_of(parts: Split) -> Any:
    """At which k the two chains agree, (K,) bool."""
    return parts.rhat < UNSURE


def predictions(spec: OccamSpec, runs: Study, parts: Split) -> Figure:
    """The score on new points of the networks of each k, and of all together."""
    k, sure = np.arange(1, spec.highest + 1), sure_of(parts)
    together, doubt = score_of_all(spec, runs)
    figure = charts.blank(WORDS.phrase("panels.hidden_units_k"), WORDS.phrase("panels.score"))
    spread = {"type": "data", "color": theme.colour("posterior"), "thickness": 1}
    figure.add_scatter(
        x=k[sure],
        y=parts.score[sure],
        mode="markers+lines",
        name=WORDS.phrase("panels.of_one"),
        marker={"symbol": "circle", "size": 7, "color": theme.colour("posterior")},
        line={"color": theme.colour("posterior"), "width": 1.5},
        error_y={**spread, "array": HELD * parts.score_error[sure]},
    )
    figure.add_scatter(
        x=k[[0, -1]],
        y=[together] * 2,
        mode="lines",
        name=WORDS.phrase("panels.of_all"),
        line={"color": theme.colour("ink"), "dash": "dash", "width": 2},
    )
    best, alike = best_of(parts)
    top = float(np.max(parts.score[sure]))
    figure.layout.yaxis.range = [max(float(np.min(parts.score[sure])), top - SCORES) - 0.004, top + 0.008]
    told = [WORDS.phrase("panels.best", best=best, score=parts.score[best - 1], error=HELD * parts.score_error[best - 1])]
    if alike:
        told.append(WORDS.phrase("panels.alike", alike=", ".join(map(str, alike))))
    told.append(WORDS.phrase("panels.together", together=together, error=HELD * doubt))
    alt = "; ".join(told)
    caption = WORDS.phrase("panels.score_caption", held=HELD, alt=alt)
    return Figure(WORDS.phrase("panels.predicts"), figure, alt, caption)


def best_of(parts: Split) -> tuple[int, list[int]]:
    """The k with the highest score, and those whose scores are within two standard errors of the difference of it."""
    score = np.where(sure_of(parts), parts.score, -np.inf)
    best = int(score.argmax())
    near = score[best] - score < HELD * np.hypot(parts.score_error, parts.score_error[best])
    return best + 1, [int(k) + 1 for k in np.flatnonzero(near) if k != best]


def beside(spec: OccamSpec, found: ArchitectureEvidence, reference: OccamSpec, other: ArchitectureEvidence) -> Figure:
    """p(k | D) here and under the thesis's prior, the same data."""
    k = np.arange(1, spec.highest + 1)
    figure = charts.blank(WORDS.phrase("panels.hidden_units_k"), WORDS.phrase("panels.probability"))
    rows = (
        (WORDS.phrase("panels.here"), exact(spec, found), "posterior", "circle", "solid"),
        (WORDS.phrase("panels.thesis"), exact(reference, other), "muted", "square", "dash"),
    )
    for name, p, role, symbol, dash in rows:
        figure.add_scatter(
            x=k,
            y=p.probability,
            mode="markers+lines",
            name=name,
            marker={"symbol": symbol, "size": 7, "color": theme.colour(role)},
            line={"color": theme.colour(role), "dash": dash, "width": 2},
            error_y={"type": "data", "array": HELD * p.error, "color": theme.colour(role), "thickness": 1},
        )
    here, there = log_data(spec, found), log_data(reference, other)
    alt = WORDS.phrase(
        "panels.beside_alt",
        here=rows[0][1].probability.argmax() + 1,
        there=rows[1][1].probability.argmax() + 1,
        log_here=here,
        log_there=there,
    )
    return Figure(WORDS.phrase("panels.beside"), figure, alt, f"{alt} {WORDS.phrase('panels.bars')}")


def numbers(spec: OccamSpec, found: ArchitectureEvidence, parts: Split) -> Table:
    """The split, k by k."""
    p = exact(spec, found)
    columns = {
        "k": list(range(1, spec.highest + 1)),
        "p(k | D)": p.probability.tolist(),
        "log evidence": found.log_evidence.tolist(),
        "fit": parts.fit.tolist(),
        "price": parts.price.tolist(),
        "R-hat of the fit": parts.rhat.tolist(),
    }
    return Table(WORDS.phrase("panels.numbers"), columns)


def diagnostics(spec: OccamSpec, cancel: Any) -> Table:
    """Mixing and cost of the chains over k."""
    runs = study(spec, cancel)
    recording, k = runs.recording, runs.widths.astype(float)
    accept, seconds = recording.jump_accept, max(recording.seconds, 1e-9)
    columns: dict[str, Column] = {
        "R-hat of k": [rhat(k)],
        "effective draws of k": [ess_mean(k)],
        "a second": [ess_mean(k) / seconds],
        "births accepted (%)": [100 * accept.get("neuron birth", np.nan)],
        "deaths accepted (%)": [100 * accept.get("neuron death", np.nan)],
        "NUTS acceptance": [float(recording.accept_prob.mean())],
        "divergences": [int(recording.divergent.sum())],
        "gradient evaluations": [int(recording.gradient_evaluations.sum())],
    }
    caption = WORDS.phrase("panels.cost", sweeps=recording.width.shape[1], burn=runs.burn)
    return Table(WORDS.phrase("panels.mixing"), columns, caption)
