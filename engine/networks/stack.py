"""Many networks of one shape, read together: what they say of images, and how that changes with every pixel.

In single precision, for networks of tens of thousands of weights; `engine.networks.predictive` is for small ones.
"""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine import ticket
from engine.spec import SpecError

Single = NDArray[np.float32]
Stop = Callable[[], bool]
CELLS = 8_000_000  # float32 that a prediction holds at once


class Sensitivity(NamedTuple):
    """How uncertainty changes with the ink of each pixel: (pixels,) in nats for a full pixel of ink more."""

    total: NDArray[np.float64]
    aleatoric: NDArray[np.float64]
    epistemic: NDArray[np.float64]


class Networks:
    """R networks of one shape that read images and tell classes.

    layers : (R, n_l + 1, n_{l+1}) float32 of every layer, biases in the last row
    activation : "relu" or "tanh"
    """

    def __init__(self, layers: tuple[Single, ...], activation: str):
        self.layers, self.activation = layers, activation

    def __len__(self) -> int:
        return len(self.layers[0])

    @typing.overload
    def predict(self, x: ArrayLike, stop: None = None) -> Single: ...

    @typing.overload
    def predict(self, x: ArrayLike, stop: Stop | None) -> Single | None: ...

    def predict(self, x: ArrayLike, stop: Stop | None = None) -> Single | None:
        """(R, m, classes) probabilities at images x (m, pixels) or (m, side, side) with ink from 0 to 1; None when
        stopped. Raises SpecError for images of another size.
        """
        inputs = self._inputs(x)
        found = np.empty((len(self), len(inputs), self.layers[-1].shape[2]), dtype=self.layers[0].dtype)
        together = max(1, CELLS // max(1, len(inputs) * max(layer.shape[2] for layer in self.layers)))
        rows = max(1, CELLS // max(layer.shape[2] for layer in self.layers))
        for first in range(0, len(self), together):
            for begin in range(0, len(inputs), rows):
                if stop is not None and stop():
                    return None
                ticket.look()
                part = slice(first, first + together)
                values = self._forward(inputs[begin : begin + rows], part)[-1]
                found[part, begin : begin + rows] = _softmax(values)
        return found

    def sensitivity(self, image: ArrayLike) -> Sensitivity:
        """The exact gradient of total, aleatoric and epistemic uncertainty at one image, by backpropagation through
        every network. A relu unit exactly at its kink counts as off.
        """
        x = self._inputs(np.reshape(image, (1, -1)))
        *hidden, z = self._forward(x, slice(None))
        p = _softmax(z)[:, 0].astype(np.float64)
        tiny = np.finfo(np.float64).tiny
        # Entropy's slope is -(1 + log p); the 1 leaves no trace, because probabilities add up to one. Both entropies go
        # back together: with many large networks it is the weights' way through the memory that takes time.
        average = np.broadcast_to(p.mean(axis=0), p.shape)
        slopes = -np.log(np.maximum(np.stack([average, p], axis=2), tiny))
        weighed = slopes - (p[:, :, None] * slopes).sum(axis=1, keepdims=True)
        back = (p[:, :, None] * weighed / len(self)).astype(z.dtype)
        for layer, values in zip(self.layers[:0:-1], reversed(hidden), strict=True):
            slope = values[:, 0] > 0.0 if self.activation == "relu" else 1.0 - values[:, 0] ** 2
            back = _back(layer[:, :-1], back) * slope[:, :, None]
        total, aleatoric = _back(self.layers[0][:, :-1], back).sum(axis=0, dtype=np.float64).T
        return Sensitivity(total, aleatoric, total - aleatoric)

    def precise(self) -> Networks:
        """The same networks in double precision, for finite differences."""
        return Networks(tuple(layer.astype(np.float64) for layer in self.layers), self.activation)

    def _inputs(self, x: ArrayLike) -> Single:
        inputs = np.ascontiguousarray(x, dtype=self.layers[0].dtype)
        inputs = inputs.reshape(len(inputs), -1)
        pixels = self.layers[0].shape[1] - 1
        if inputs.shape[1] != pixels:
            raise SpecError("images", f"they have {inputs.shape[1]} pixels; these networks read {pixels}")
        return inputs

    def _forward(self, x: Single, part: slice) -> list[Single]:
        """Values of every layer after the input: (R, m, n_l), the outputs before the softmax last."""
        values, found = x[None], []
        for depth, layer in enumerate(self.layers):
            values = _times(values, layer[part, :-1])
            values += layer[part, -1:]  # in place, as below: these arrays are large
            if depth < len(self.layers) - 1:
                np.maximum(values, 0.0, out=values) if self.activation == "relu" else np.tanh(values, out=values)
            found.append(values)
        return found


def _times(values: Single, weights: Single) -> Single:
    """(R, m, n) or (1, m, n) times (R, n, h): (R, m, h). One image by einsum: five times faster than BLAS there."""
    if values.shape[1] > 1:
        return np.matmul(values, weights)
    single = np.broadcast_to(values[:, 0], (len(weights), values.shape[2]))
    return np.einsum("rn,rnh->rh", single, weights)[:, None]


def _back(weights: Single, slopes: Single) -> Single:
    """(R, n, h) times (R, h, 2): (R, n, 2). As in `_times` by einsum, half as long as BLAS takes for so few columns."""
    columns = np.ascontiguousarray(np.moveaxis(slopes, 2, 0))
    return np.stack([np.einsum("rnh,rh->rn", weights, column) for column in columns], axis=2)


def _softmax(z: Single) -> Single:
    e = z - z.max(axis=-1, keepdims=True)
    np.exp(e, out=e)
    e /= e.sum(axis=-1, keepdims=True)
    return e
