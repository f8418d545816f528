"""What stands below the stage: every prior on the same data, the prior that a weight sees, the diagnostics."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.kit import charts, researcher, theme
from app.kit.charts import Column, Figure, Table
from app.kit.text import chains, number
from lessons.priors import analysis
from lessons.priors.analysis import LONG, NAMES, TESTED
from lessons.priors.scenes import priors_of
from lessons.priors.spec import PriorsLesson

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
    figure = charts.blank("size of a weight: root mean square over the draws", "prior sd s = 1/√(mean of τ)")
    marker = {"color": theme.colour("posterior"), "size": 8, "symbol": SYMBOLS[spec.weights]}
    figure.add_scatter(x=size, y=seen, mode="markers", marker=marker, name="a weight or bias of this run")
    w = np.linspace(0.0, 1.15 * float(size.max()), 80)
    alone = analysis.expected_sd(w, 0.0, 1, spec.weight_shape, spec.weight_rate)
    figure.add_scatter(x=w, y=alone, mode="lines", line={"color": theme.colour("ink"), "dash": "dash"}, name="a τ of its own, exact")
    caption = (
        "Dashed: 1/√E[τ | w] for one weight alone, √((b + ½w²)/(a + ½)): the larger a weight, the wider the prior it "
        "sees. Weights that share a τ stand on one level: a large one among small ones is held back, small ones are "
        "let loose."
    )
    return Figure("The prior that each weight sees", figure, f"Prior sd against size of the weight. {caption}", caption)


def _learned(spec: PriorsLesson, scores: dict[str, analysis.Score]) -> Figure:
    names = list(analysis.family_of(spec).names)
    figure = charts.blank("group of weights", "prior sd s (median over draws)")
    for weights, score in scores.items():
        figure.add_scatter(
            x=names,
            y=score.sds,
            mode="markers",
            name=NAMES[weights],
            marker={"symbol": SYMBOLS[weights], "size": 10, "color": theme.colour(_role(weights))},
        )
    figure.update_yaxes(type="log")
    caption = (
        "Root mean square within the group; for “mean and sd a weight” the mean counts in. "
        + ("W1[:,i]: what leads out of input i; the data use inputs 1 and 2. " if spec.data == "inputs" else "")
        + _made(spec)
    )
    listed = "; ".join(f"{NAMES[w]}: " + ", ".join(f"{s:.2g}" for s in score.sds) for w, score in scores.items())
    return Figure("What each prior has learned", figure, f"Prior sd of {', '.join(names)}. {listed}.", caption)


def _role(weights: str) -> str:
    return f"chain-{list(NAMES).index(weights)}"


def _made(spec: PriorsLesson) -> str:
    return f"From {LONG['chains']} chains of {LONG['draws']} sweeps each, after {LONG['warmup']}; the exact sampler."


def _predicted(spec: PriorsLesson, scores: dict[str, analysis.Score]) -> Table:
    best = max(scores, key=lambda weights: scores[weights].log_score)
    apart = {weights: score.each - scores[best].each for weights, score in scores.items()}
    against = {weights: f"{d.mean():.3f} ± {d.std(ddof=1) / np.sqrt(len(d)):.3f}" for weights, d in apart.items()}
    against[best] = "–"
    columns: dict[str, Column] = {
        "precision": [NAMES[weights] for weights in scores],
        "RMSE on new points": [score.rmse for score in scores.values()],
        "log score, nats a point": [score.log_score for score in scores.values()],
        "against the best": [against[weights].replace("-", "−") for weights in scores],
        "inside the 90 % band": [f"{100 * score.coverage:.0f} %" for score in scores.values()],
        "R-hat of f": [f"{score.rhat:.3f}" for score in scores.values()],
        "divergent": [f"{100 * score.divergent:.1f} %" for score in scores.values()],
    }
    caption = (
        f"{TESTED} new points, noise sd {number(spec.true_noise)}, so no RMSE can be far below that. Log score: mean "
        "log predictive density, higher is better; against the best: ± one standard error on the same points. It is "
        "one data set, and the best of several is partly luck. The 90 % band here holds new observations, noise "
        "included. " + _made(spec)
    )
    return Table("How well each prior predicts", columns, caption)


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
    caption = (
        f"{chains(spec.chains)} of 500 sweeps with the settings of the stage. {number(found.gradients)} gradients, "
        f"{number(found.seconds)} s; {100 * found.divergent:.1f} % of the sweeps divergent. Single weights are left "
        "out: hidden units swap places and signs."
    )
    return Table("Diagnostics", columns, caption)
