"""What stands below the stage: a place before and after pooling, in distribution; the layers and what they hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from app.kit import charts, theme
from app.kit.charts import Figure, Table
from lessons.convolution import analysis, training
from lessons.convolution.spec import ConvolutionLesson
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
    figure = charts.blank("value at A", "density", barmode="overlay")
    for values, role, name in ((before, "posterior", "at A, before pooling"), (after, "highlight", "largest of its window")):
        figure.add_histogram(x=values, histnorm="probability density", name=name, marker={"color": theme.colour(role, 0.5)}, nbinsx=50)
    x = np.linspace(mean - 4 * sd, mean + 4 * sd, 121)
    y = np.exp(-0.5 * ((x - mean) / sd) ** 2) / (sd * math.sqrt(2 * math.pi))
    figure.add_scatter(x=x, y=y, mode="lines", name="exact, before pooling", line={"color": theme.colour("truth"), "dash": "dash"})
    caption = (
        f"Before pooling the value is normal, mean {mean:.2f} and sd {sd:.2f}, exactly: it is a sum of weights. The largest of "
        f"{pool} × {pool} has mean {after.mean():.2f} and sd {after.std():.2f} over {MANY:,} draws, and no such formula."
    )
    return Figure("One place, before and after pooling", figure, caption, caption)


def diagnostics(spec: ConvolutionLesson, cancel: Any) -> Table:
    """The network, layer by layer, and how well it reads."""
    if not spec.learns:
        return _shared()
    state = training.trained(spec, cancel.is_set)
    if state is None:
        return Table("Diagnostics", {})
    large = training.is_large(spec)
    fit, data, look = state.fit, training.data_of(spec), state.looks[-1]
    data = data.some(1, training.TESTED) if large else data
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
    caption = (
        f"Test digits read right: {right[0]:.1%} by the means of the weights, {right[1]:.1%} by {analysis.NETWORKS} draws, averaged. "
        + (
            f"MNIST, 28 × 28: 60,000 to learn from, {training.TESTED:,} of the 10,000 to test. "
            if large
            else "Bundled digits, 8 × 8: 1,347 to learn from, 450 to test. "
        )
        + "There are no chains, so there is no R-hat."
    )
    if instead := training.stand_in(spec):
        caption = f"{instead} {caption}"
    return Table("Layer by layer", columns, caption)


def _shared() -> Table:
    """A kernel beside the dense layer that would write as many numbers."""
    places = SIDE**2
    columns: dict[str, Sequence[Any]] = {
        "layer": ["one 3 × 3 kernel", "a dense layer with as many outputs"],
        "numbers written": [places, places],
        "weights, with biases": [KERNEL**2 + 1, places * (places + 1)],
        "products for one digit": [KERNEL**2 * places, places * places],
    }
    return Table("What sharing saves", columns, "Both read 8 × 8 pixels. The kernel has one set of weights for all places.")
