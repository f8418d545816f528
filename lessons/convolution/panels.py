"""What stands below the stage: a place before and after pooling, in distribution; the layers and what they hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from app.kit import charts, theme
from app.kit.charts import Figure, Table
from lessons.convolution import analysis, training
from lessons.convolution.spec import WORDS, ConvolutionLesson
from lessons.convolution.stage_training import LAYERS
from lessons.convolution.training import KERNEL, SIDE

MANY = 2000  # draws


def panels(spec: ConvolutionLesson, cancel: Any) -> list[Figure]:
    """Of the filter on stage."""
    state = training.trained(spec, cancel.is_set) if spec.part == "posterior" else None
    return [] if state is None else [_pooled(spec, state.fit)]


def _pooled(spec: ConvolutionLesson, fit: Any) -> Figure:
    """The map at A over many draws, against its exact density, and the largest of the window that holds A."""
    found, pool = analysis.spread(spec, fit, MANY), fit.spec.pool
    row, column = divmod(found.a, SIDE)
    before, after = found.maps[:, row, column], found.pooled[:, row // pool, column // pool]
    mean, sd = float(found.mean[row, column]), float(found.sd[row, column])
    figure = charts.blank(WORDS.phrase("panels.value"), WORDS.phrase("panels.density"), barmode="overlay", bargap=0)
    for values, role, name in ((before, "posterior", WORDS.phrase("panels.before")), (after, "highlight", WORDS.phrase("panels.after"))):
        density, edges = np.histogram(values, 50, density=True)
        figure.add_bar(
            x=(edges[:-1] + edges[1:]) / 2, y=density, name=name, marker={"color": theme.colour(role, 0.5), "line": {"width": 0}}
        )
    x = np.linspace(mean - 4 * sd, mean + 4 * sd, 121)
    y = np.exp(-0.5 * ((x - mean) / sd) ** 2) / (sd * math.sqrt(2 * math.pi))
    figure.add_scatter(x=x, y=y, mode="lines", name=WORDS.phrase("panels.exact"), line={"color": theme.colour("truth"), "dash": "dash"})
    pooled = {"pool": pool, "pooled_mean": after.mean(), "pooled_sd": after.std()}
    caption = WORDS.phrase("panels.place_caption", mean=mean, sd=sd, draws=MANY, **pooled)
    return Figure(WORDS.phrase("panels.place"), figure, caption, caption)


def diagnostics(spec: ConvolutionLesson, cancel: Any) -> Table:
    """The network, layer by layer, and how well it reads."""
    if not spec.learns:
        return _shared()
    state = training.trained(spec, cancel.is_set)
    if state is None:
        return Table(WORDS.phrase("panels.layers"), {})
    large = training.is_large(spec)
    fit, whole, look = state.fit, training.data_of(spec), state.looks[-1]
    data = whole.some(1, training.TESTED) if large else whole
    x = data.images_test / np.float32(data.top)
    read = [fit.predict(x, mode, samples=analysis.NETWORKS, seed=spec.seed) for mode in ("MEAN", "MA")]
    right = [prediction.accuracy(data.labels_test) for prediction in read if prediction is not None]
    sizes = [layer.size for layer in fit.expected_weights()]
    served = [stage.places**2 for stage in fit.shape.stages] + [1] * (len(sizes) - len(fit.shape.stages))
    columns: dict[str, Sequence[Any]] = {
        "layer": list(LAYERS),
        "weights": sizes,
        "places that share them": served,
        "KL (nats)": [f"{kl:.0f}" for kl in look.kl],
        "KL per weight": [f"{kl / size:.2f}" for kl, size in zip(look.kl, sizes, strict=True)],
    }
    counts = {"learnt": len(whole.labels), "tested": len(data.labels_test)}
    about = WORDS.phrase("panels.large", **counts, all=len(whole.labels_test)) if large else WORDS.phrase("panels.small", **counts)
    by_means, by_draws = right
    caption = WORDS.phrase("panels.layers_caption", by_means=by_means, by_draws=by_draws, networks=analysis.NETWORKS, data=about)
    if instead := training.stand_in(spec):
        caption = f"{instead} {caption}"
    return Table(WORDS.phrase("panels.layers"), columns, caption)


def _shared() -> Table:
    """A kernel beside the dense layer that would write as many numbers."""
    places = SIDE**2
    columns: dict[str, Sequence[Any]] = {
        "layer": [WORDS.phrase("panels.one_kernel", edge=KERNEL), WORDS.phrase("panels.dense_layer")],
        "numbers written": [places, places],
        "weights, with biases": [KERNEL**2 + 1, places * (places + 1)],
        "products for one digit": [KERNEL**2 * places, places * places],
    }
    return Table(WORDS.phrase("panels.sharing"), columns, WORDS.phrase("panels.sharing_caption", side=SIDE))
