"""What can be told of a convolutional network: its gradient and its divergence worked out again, its maps by other code."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.judge.check import Check, Verdict
from engine.variational.convolution import ConvolutionRun, correlate, feature_maps

Array = NDArray[np.float64]

COORDINATES = 24  # of each layer at which slopes are taken
STEP = 1e-5  # far beyond what rounding in single precision moves: whatever corner may change sides by it is crossed
CORNER = 1e-4  # of the layer's largest slope; where slopes ahead and behind differ by more, a corner lies between
ENOUGH = 0.5  # of the coordinates that no corner may take
OFF = 1e-3  # relative error of a gradient in single precision,
COUNTED = 1e-3  # and of a divergence
ROUNDING = 1e-10  # of sums in double precision, against the largest


def convolution_gradient_check(run: ConvolutionRun) -> Check:
    """The gradient of the next pass of `run` over all its images, against finite differences in double precision.

    For runs that draw the weights once a pass (estimator "weights") and ReLUs or other activations of `feature_maps`.
    Of every layer some coordinates are compared, in units of the layer's largest. Where a ReLU or a pooling window turns
    over within a difference there is no slope: those coordinates are left out, and counted. Unknown where a layer keeps
    too few. Adam's averages stay as they are.
    """
    n, rows = run.shape.weights, np.arange(len(run._x))
    works, run._works = run._works, run._workspaces(len(rows))
    run._pass(rows, run.completed + 1)
    run._works = works
    found, drawn = run.posterior.gradient[:n].astype(np.float64), run.posterior.weights[:n].astype(np.float64)
    here, errors, left_out, enough, at = _log_likelihood(run, drawn), [], 0, True, 0
    for layer in run.shape.split(drawn):
        chosen = at + np.unique(np.linspace(0, layer.size - 1, COORDINATES).astype(int))
        behind, ahead = np.array([_slopes(lambda w: _log_likelihood(run, w), drawn, here, i) for i in chosen]).T
        slopes = 0.5 * (behind + ahead)
        largest = max(float(np.abs(slopes).max()), 1e-9)
        corner = np.abs(ahead - behind) > CORNER * largest
        errors.append(np.abs(found[chosen] - slopes)[~corner] / largest)
        left_out += int(corner.sum())
        enough = enough and bool(corner.mean() <= 1.0 - ENOUGH)
        at += layer.size
    off = float(np.concatenate(errors).max(initial=0.0))
    sentence = (
        f"After {run.completed:,} steps the gradient on {len(rows)} images, at {COORDINATES} weights of each layer, differs "
        f"from finite differences by {off:.0e} of the layer's largest."
    )
    if left_out:
        sentence += f" Weights left out: {left_out}. There a ReLU or a maximum turns over within the difference."
    verdict: Verdict = "fail" if not off < OFF else "pass" if enough else "unknown"
    return Check("gradient", verdict, off, OFF, sentence, "relative error", kind="kernel")


def divergence_check(run: ConvolutionRun) -> Check:
    """The divergence that the ELBO of `run` counts, against the sum over its weights, each once. For method gaussian."""
    mean, sd, prior = (np.asarray(a, dtype=np.float64) for a in (run.posterior.mean, run.posterior.sd, run.spec.prior_sd))
    once = float((np.log(prior / sd) + 0.5 * (sd**2 + mean**2) / prior**2 - 0.5).sum())
    counted = run._kl()
    off = abs(counted - once) / once
    sentence = f"The ELBO counts a KL of {counted:,.1f} nats; the {len(mean):,} weights, each once, have {once:,.1f}."
    return Check("each weight once", "pass" if off < COUNTED else "fail", off, COUNTED, sentence, "relative error", kind="kernel")


def maps_check(images: Array, layer: Array, kernel: int, pad: int) -> Check:
    """`correlate` against the convolution theorem: the same sums by Fourier transforms.

    images : (m, side, side, C); layer : (k k C + 1, F), biases last
    """
    wide = np.pad(images.astype(np.float64), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    side, channels = wide.shape[1], wide.shape[3]
    filters = layer[:-1].astype(np.float64).reshape(kernel, kernel, channels, -1)
    spectrum = np.conj(np.fft.fft2(filters, (side, side), axes=(0, 1)))
    sums = np.fft.ifft2(np.einsum("mijc,ijcf->mijf", np.fft.fft2(wide, axes=(1, 2)), spectrum), axes=(1, 2)).real
    places = side - kernel + 1
    true = sums[:, :places, :places] + layer[-1]
    off = float(np.abs(correlate(images, layer, kernel, pad) - true).max() / max(float(np.abs(true).max()), 1.0))
    sentence = f"The map agrees with the same sums, made by Fourier transforms, to {off:.0e}."
    return Check("map", "pass" if off < ROUNDING else "fail", off, ROUNDING, sentence, "relative error", kind="kernel")


def _slopes(function: Callable[[Array], float], at: Array, value: float, i: int) -> tuple[float, float]:
    """Of a function whose value at `at` is known: behind and ahead, along coordinate i."""
    step = np.zeros(len(at))
    step[i] = STEP * max(1.0, abs(at[i]))
    return (value - function(at - step)) / step[i], (function(at + step) - value) / step[i]


def _log_likelihood(run: ConvolutionRun, weights: Array) -> float:
    """Of the labels, by definition, in double precision."""
    first = run.shape.stages[0]
    images = np.asarray(run._x, dtype=np.float64).reshape(-1, first.side, first.side, first.channels)
    layers: Sequence[Array] = run.shape.split(weights)
    h = feature_maps(images, layers, run.shape.stages, run.spec.activation)[-1].pooled.reshape(len(images), -1)
    dense = layers[len(run.shape.stages) :]
    for number, layer in enumerate(dense, start=1):
        h = h @ layer[:-1] + layer[-1]
        if number < len(dense):
            h = np.maximum(h, 0.0)
    top = h.max(axis=1, keepdims=True)
    logs = h - top - np.log(np.exp(h - top).sum(axis=1, keepdims=True))
    return math.fsum(logs[np.arange(len(h)), run._y[:, 0].astype(int)])
