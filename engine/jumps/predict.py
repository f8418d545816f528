"""What the draws of all architectures together predict: the posterior predictive, marginal over architecture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.jumps.recording import ArchitectureRecording
from engine.networks.predictive import Bands, Ensemble, Uncertainty, probabilities
from engine.predicted import Predicted, classes

Array = NDArray[np.float64]


def uncertainty(recording: ArchitectureRecording, inputs: ArrayLike) -> Uncertainty:
    """Class probabilities and entropies of all draws at inputs (m, inputs), every draw with equal weight.

    The mean probability is the mean over architectures, weighted by their draws; epistemic uncertainty then includes
    not knowing the architecture. Raises SpecError for a regression.
    """
    return pooled(_ensembles(recording, inputs))


def pooled(ensembles: Sequence[Ensemble]) -> Uncertainty:
    """What the draws of several ensembles say together of the same inputs, every draw with equal weight."""
    counts, parts = [e.count for e in ensembles], [e.uncertainty() for e in ensembles]
    mean, sd = _mixture(counts, [part.mean for part in parts], [part.sd for part in parts])
    total = -(mean * np.log(np.where(mean > 0.0, mean, 1.0))).sum(axis=-1)
    aleatoric = np.average([part.aleatoric for part in parts], axis=0, weights=counts)
    return Uncertainty(mean, sd, total, aleatoric, np.maximum(total - aleatoric, 0.0))


def mean_of(ensembles: Sequence[Ensemble]) -> Array:
    """`pooled`'s mean alone, at a third of its cost."""
    mean: Array = np.average([e.mean() for e in ensembles], axis=0, weights=[e.count for e in ensembles])
    return mean


def bands(recording: ArchitectureRecording, inputs: ArrayLike) -> Bands:
    """Mean and standard deviations of a regression over all draws at inputs (m, inputs), in units of y.

    The noise is that of the draws, where its precision was sampled. Raises SpecError for classes.
    """
    parts = [(e.count, e.bands()) for e in _ensembles(recording, inputs)]
    counts = [count for count, _ in parts]
    mean, sd = _mixture(counts, [part.mean for _, part in parts], [part.epistemic for _, part in parts])
    noise = np.full_like(mean, np.sqrt(np.mean(1.0 / recording.precisions[:, :, -1])))
    return Bands(mean, noise, sd, np.hypot(noise, sd))


def of_data(recording: ArchitectureRecording, inputs: ArrayLike, y: ArrayLike, seed: int) -> Predicted | None:
    """What each draw says of its data, classes 0 and 1 at inputs (n, inputs), whatever its architecture; None without data."""
    labels = np.asarray(y)
    return classes(labels, each_draw(recording, inputs), seed) if len(labels) else None


def each_draw(recording: ArchitectureRecording, inputs: ArrayLike, which: slice = slice(None)) -> Array:
    """P(class 1) of draws `which` of each chain, whatever their architecture, at inputs (m, inputs): (chains, n, m)."""
    widths, depths = recording.width[:, which], recording.depth[:, which]
    p = np.empty((*widths.shape, len(np.asarray(inputs))))
    for (width, depth), theta in recording.by_architecture(which).items():
        p[(widths == width) & (depths == depth)] = probabilities(recording.network(width, depth), theta, inputs)[:, :, 1]
    return p


def _ensembles(recording: ArchitectureRecording, inputs: ArrayLike) -> list[Ensemble]:
    return [Ensemble(recording.network(*sizes), inputs).add(theta) for sizes, theta in recording.by_architecture().items()]


def _mixture(counts: list[int], means: list[Array], sds: list[Array]) -> tuple[Array, Array]:
    """Mean and standard deviation of the draws of several ensembles, pooled."""
    mean = np.average(means, axis=0, weights=counts)
    variance = np.average([sd**2 + (part - mean) ** 2 for sd, part in zip(sds, means, strict=True)], axis=0, weights=counts)
    return mean, np.sqrt(variance)
