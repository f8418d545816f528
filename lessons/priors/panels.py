"""What stands below the stage: every prior on the same data, the prior that a weight sees, the diagnostics."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.kit import charts, researcher, theme
from app.kit.charts import Column, Figure, Table
from app.kit.text import chains, minus, number
from lessons.priors import analysis
from lessons.priors.analysis import LONG, NAMES, TESTED
from lessons.priors.scenes import priors_of
from lessons.priors.spec import WORDS, PriorsLesson

SYMBOLS = {"fixed": "square", "per_layer": "circle", "per_input": "diamond", "per_weight": "cross", "own_mean": "x"}


def panels(spec: PriorsLesson, cancel: Any = None) -> list[Figure | Table]:
    """The prior that a weight sees; then, from longer chains, what each prior learned and how well it predicts."""
    found: list[Figure | Table] = [_seen(spec)]
    scores = {}
    for weights in priors_of(spec):
        if cancel is not None and cancel.is_set():
            return found
        scores[weights] = analysis.scores(spec, weights)
    card = researcher.card(analysis.predicted(spec, analysis.simulate(spec).recording))
    return [*found, _learned(spec, scores), _predicted(spec, scores), *card]


def _seen(spec: PriorsLesson) -> Figure:
    """Prior sd against the weight that sees it."""
    run = analysis.simulate(spec)
    size = np.sqrt(np.mean(run.theta**2, axis=0))
    seen = 1.0 / np.sqrt(np.mean(run.sd**-2.0, axis=0))
    figure = charts.blank(WORDS.phrase("panels.size"), WORDS.phrase("panels.sd"))
    marker = {"color": theme.colour("posterior"), "size": 8, "symbol": SYMBOLS[spec.weights]}
    figure.add_scatter(x=size, y=seen, mode="markers", marker=marker, name=WORDS.phrase("panels.of_run"))
    w = np.linspace(0.0, 1.15 * float(size.max()), 80)
    alone = analysis.expected_sd(w, 0.0, 1, spec.weight_shape, spec.weight_rate)
    figure.add_scatter(x=w, y=alone, mode="lines", line={"color": theme.colour("ink"), "dash": "dash"}, name=WORDS.phrase("panels.own"))
    caption = WORDS.phrase("panels.seen_caption")
    return Figure(WORDS.phrase("panels.seen"), figure, WORDS.phrase("panels.seen_alt", caption=caption), caption)


def _learned(spec: PriorsLesson, scores: dict[str, analysis.Score]) -> Figure:
    names = list(analysis.family_of(spec).names)
    figure = charts.blank(WORDS.phrase("panels.group"), WORDS.phrase("panels.median"))
    for weights, score in scores.items():
        figure.add_scatter(
            x=names,
            y=score.sds,
            mode="markers",
            name=NAMES[weights],
            marker={"symbol": SYMBOLS[weights], "size": 10, "color": theme.colour(_role(weights))},
        )
    figure.update_yaxes(type="log")
    inputs = [WORDS.phrase("panels.of_inputs")] if spec.data == "inputs" else []
    caption = " ".join([WORDS.phrase("panels.root_mean_square"), *inputs, _made(spec)])
    listed = "; ".join(f"{NAMES[w]}: " + ", ".join(f"{s:.2g}" for s in score.sds) for w, score in scores.items())
    return Figure(
        WORDS.phrase("panels.learned"), figure, WORDS.phrase("panels.learned_alt", names=", ".join(names), listed=listed), caption
    )


def _role(weights: str) -> str:
    return f"chain-{list(NAMES).index(weights)}"


def _made(spec: PriorsLesson) -> str:
    return WORDS.phrase("panels.made", chains=LONG["chains"], draws=LONG["draws"], warmup=LONG["warmup"])


def _predicted(spec: PriorsLesson, scores: dict[str, analysis.Score]) -> Table:
    best = max(scores, key=lambda weights: scores[weights].log_score)
    apart = {weights: score.each - scores[best].each for weights, score in scores.items()}
    against = {weights: f"{d.mean():.3f} ± {d.std(ddof=1) / np.sqrt(len(d)):.3f}" for weights, d in apart.items()}
    against[best] = "–"
    columns: dict[str, Column] = {
        "precision": [NAMES[weights] for weights in scores],
        "RMSE on new points": [score.rmse for score in scores.values()],
        "log score, nats a point": [score.log_score for score in scores.values()],
        "against the best": [minus(against[weights]) for weights in scores],
        "inside the 90 % band": [f"{100 * score.coverage:.0f} %" for score in scores.values()],
        "R-hat of f": [f"{score.rhat:.3f}" for score in scores.values()],
        "divergent": [f"{100 * score.divergent:.1f} %" for score in scores.values()],
    }
    caption = WORDS.phrase("panels.predicted_caption", points=TESTED, noise=number(spec.true_noise))
    caption = f"{caption} {_made(spec)}"
    return Table(WORDS.phrase("panels.predicted"), columns, caption)


def diagnostics(spec: PriorsLesson, cancel: Any = None) -> Table:
    """R-hat and effective draws of the function and of the scales: both are blind to the order of the hidden units."""
    found = analysis.diagnose(spec)
    summary, seconds = found.summary, max(found.seconds, 1e-9)
    columns = {
        "quantity": list(found.names),
        "mean": list(summary.mean),
        "sd": list(summary.sd),
        "MCSE": list(summary.mcse_mean),
        "R-hat": [f"{value:.3f}" for value in summary.rhat],
        "ESS bulk": list(np.round(summary.ess_bulk)),
        "ESS tail": list(np.round(summary.ess_tail)),
        "ESS / s": [ess / seconds for ess in summary.ess_bulk],
        "ESS / 1000 gradients": [1000 * ess / found.gradients for ess in summary.ess_bulk],
    }
    caption = WORDS.phrase(
        "panels.cost",
        chains=chains(spec.chains),
        gradients=number(found.gradients),
        seconds=number(found.seconds),
        divergent=100 * found.divergent,
    )
    return Table(WORDS.phrase("panels.mixing"), columns, caption)
