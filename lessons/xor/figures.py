"""Still figures below the stage, and the table of diagnostics."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import charts, researcher, theme
from app.kit.charts import Column, Figure, Table
from datasets.xor import NOISY_VARIANCE, VARIANCE, xor
from engine.networks.predictive import probabilities
from lessons.xor.chains import CHAINS, PLACES, Study, odd, study, twins
from lessons.xor.learning import data_of, modes, predicted, predictor_of
from lessons.xor.spec import WORDS, XorSpec

Array = NDArray[np.float64]

CUT_POINTS = 121
CUT_DRAWS = 600
FRESH = 500  # fresh points a corner for the score
SINGLES = 5
TRACED = 300  # states of each chain in the figure of the chains
RADIUS = 1.3
PREDICTED = 2000  # draws for what is predicted
HELD = (5, 95)  # percentiles of the band


def panels(spec: XorSpec, cancel: Any) -> list[Figure | Table]:
    """A walk around the data, the weights against the prior, the four chains, and the MAP's score beside the
    ensemble's.
    """
    chains = study(spec, cancel)
    made: list[Figure | Table] = [around(spec, chains), weights(spec, chains), traces(chains)]
    if spec.data in ("xor", "noisy"):
        made.append(scores(spec, chains))
    return [*made, *predictive(spec, chains)]


def predictive(spec: XorSpec, chains: Study) -> list[Figure | Table]:
    """Points left out, and classes drawn from the posterior predictive."""
    if not len(data_of(spec)[1]):
        return []
    draws = chains.draws[:, :: -(-chains.draws.shape[0] * chains.draws.shape[1] // PREDICTED)]
    return researcher.classes_card(predicted(spec, draws))


def _some(chains: Study, number: int) -> Array:
    weights = chains.weights
    return weights[np.linspace(0, len(weights) - 1, min(number, len(weights))).astype(int)]


def around(spec: XorSpec, chains: Study) -> Figure:
    """Predictions along a circle around all clouds."""
    angle = np.linspace(0, 360, CUT_POINTS)
    circle = RADIUS * np.stack([np.cos(np.radians(angle)), np.sin(np.radians(angle))], axis=1)
    predictor = predictor_of(spec)
    draws = probabilities(predictor, _some(chains, CUT_DRAWS), circle)[:, :, 1]
    low, high = np.percentile(draws, HELD, axis=0)
    mean = draws.mean(axis=0)
    single = probabilities(predictor, modes(spec)[0][None], circle)[0, :, 1]
    figure = charts.blank(WORDS.phrase("panels.around_x"), WORDS.phrase("panels.around_y"))
    edge = {"width": 0, "color": theme.colour("posterior")}
    figure.add_scatter(x=angle, y=low, mode="lines", line=edge, showlegend=False, hoverinfo="skip")
    band = {"mode": "lines", "line": edge, "fill": "tonexty", "fillcolor": theme.colour("posterior", 0.2)}
    figure.add_scatter(x=angle, y=high, name=WORDS.phrase("panels.band"), **band)
    for index, values in enumerate(draws[:: max(1, len(draws) // SINGLES)][:SINGLES]):
        look = {"color": theme.colour("muted", 0.7), "width": 1}
        figure.add_scatter(x=angle, y=values, mode="lines", line=look, name=WORDS.phrase("panels.single"), showlegend=index == 0)
    bold = {"color": theme.colour("posterior"), "width": 3}
    figure.add_scatter(x=angle, y=mean, mode="lines", line=bold, name=WORDS.phrase("panels.average"))
    dashed = {"color": theme.colour("class-1"), "width": 2.5, "dash": "dash"}
    figure.add_scatter(x=angle, y=single, mode="lines", line=dashed, name=WORDS.phrase("panels.map"))
    figure.update_xaxes(tickvals=[0, 90, 180, 270, 360])
    figure.update_yaxes(range=[-0.02, 1.02])
    at = int(np.argmax(np.abs(single - 0.5) - np.abs(mean - 0.5)))
    return Figure(
        WORDS.phrase("panels.around"),
        figure,
        alt=WORDS.phrase("panels.around_alt"),
        caption=WORDS.phrase(
            "panels.around_caption", radius=RADIUS, angle=angle[at], map=single[at], average=mean[at], low=low[at], high=high[at]
        ),
    )


def weights(spec: XorSpec, chains: Study) -> Figure:
    """All hidden and output weights, pooled, against the density of their prior."""
    drawn = (_some(chains, 2000) / spec.prior_sd).ravel()
    reach = float(max(4.0, np.quantile(np.abs(drawn), 0.999)))
    edges = np.linspace(-reach, reach, 61)
    counts, _ = np.histogram(drawn, edges)
    middles = (edges[:-1] + edges[1:]) / 2
    density = counts / (drawn.size * (edges[1] - edges[0]))
    figure = charts.blank(WORDS.phrase("panels.weights_x"), WORDS.phrase("panels.weights_y"))
    marker = {"color": theme.colour("posterior", 0.7)}
    figure.add_bar(x=middles, y=density, name=WORDS.phrase("panels.posterior_draws"), marker=marker)
    grid = np.linspace(-reach, reach, 201)
    dashed = {"color": theme.colour("ink"), "width": 2, "dash": "dash"}
    normal = np.exp(-0.5 * grid**2) / np.sqrt(2 * np.pi)
    figure.add_scatter(x=grid, y=normal, mode="lines", line=dashed, name=WORDS.phrase("panels.prior"))
    figure.update_layout(bargap=0)
    caption = WORDS.phrase("panels.weights_caption" if spec.size else "panels.weights_without_data_caption")
    return Figure(WORDS.phrase("panels.weights"), figure, alt=WORDS.phrase("panels.weights_alt"), caption=caption)


def traces(chains: Study) -> Figure:
    """The prediction at the centre, a line a chain."""
    return charts.trace(
        WORDS.phrase("panels.traces"),
        chains.watched[:, :TRACED, 0],
        alt=WORDS.phrase("panels.traces_alt"),
        y=WORDS.phrase("panels.traces_y"),
        x=WORDS.phrase("panels.traces_x"),
        caption=WORDS.phrase("panels.traces_caption", states=TRACED),
    )


def scores(spec: XorSpec, chains: Study) -> Table:
    """The MAP and the ensemble on fresh points from the same clouds: right answers, confidence, log score."""
    fresh = xor(FRESH, NOISY_VARIANCE if spec.data == "noisy" else VARIANCE, spec.seed + 1 if spec.seed < 2**32 - 1 else 0)
    ring = RADIUS * np.stack([np.cos(a := np.linspace(0, 2 * np.pi, 181)[:-1]), np.sin(a)], axis=1)
    predictor = predictor_of(spec)
    rows: list[dict[str, str | float]] = []
    for name, draws in (("the_map", modes(spec)[0][None]), ("the_average", _some(chains, CUT_DRAWS))):
        p = probabilities(predictor, draws, fresh.x)[:, :, 1].mean(axis=0)
        far = probabilities(predictor, draws, ring)[:, :, 1].mean(axis=0)
        said = np.where(fresh.y == 1, p, 1 - p)
        rows.append(
            {
                "networks": WORDS.phrase(f"panels.{name}"),
                "right (%)": float(100 * np.mean((p > 0.5) == fresh.y)),
                "mean confidence (%)": float(100 * np.mean(np.maximum(p, 1 - p))),
                "log score (nats)": float(np.mean(np.log(np.maximum(said, 1e-300)))),
                "confidence far away (%)": float(100 * np.mean(np.maximum(far, 1 - far))),
            }
        )
    columns = {column: [row[column] for row in rows] for column in rows[0]}
    return Table(WORDS.phrase("panels.scores"), columns, WORDS.phrase("panels.scores_caption", points=4 * FRESH, radius=RADIUS))


# Diagnostics ------------------------------------------------------------------------------------------------------


def diagnostics(spec: XorSpec, cancel: Any) -> list[Table]:
    """R-hat and effective draws in function space, and each chain's own numbers."""
    chains = study(spec, cancel)
    summary = chains.summary
    places: dict[str, Column] = {
        "probability of class 1 at": PLACES,
        "mean": summary.mean,
        "± MCSE": summary.mcse_mean,
        "R-hat": summary.rhat,
        "ESS bulk": np.round(summary.ess_bulk).astype(object),
        "ESS tail": np.round(summary.ess_tail).astype(object),
    }
    least = float(np.nanmin(summary.ess_bulk))
    cost = WORDS.phrase(
        "panels.agree_caption",
        chains=CHAINS,
        burn=spec.burn,
        states=chains.watched.shape[1],
        gradients=chains.gradients,
        seconds=chains.seconds,
        ess=least / max(chains.seconds, 1e-9),
        twins=twins(spec),
        how=WORDS.phrase("panels.swap_or_flip" if odd(spec) else "panels.swap"),
    )
    own: dict[str, Column] = {
        "chain": list(range(1, CHAINS + 1)),
        "points right, its average (%)": 100 * chains.right,
        "mean acceptance": chains.accept_prob.mean(axis=1),
        "divergent": chains.divergent.sum(axis=1),
        "mean log density (nats)": chains.log_density.mean(axis=1),
    }
    return [Table(WORDS.phrase("panels.agree"), places, cost), Table(WORDS.phrase("panels.each"), own)]
