"""What a trained variational network predicts.

Modes (Hubin and Storvik 2019, table 1):
    SM    one draw of all weights
    MA    model average: the mean of the predictions of R draws
    MED   the weights of the median probability model, R draws of their slabs, averaged
    MEAN  one network with the expected weights
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine import ticket
from engine.networks.passes import ACTIVATIONS
from engine.spec import SpecError
from engine.variational.minibatch import Shape
from engine.variational.sparse import SparseLayers, worth_it

MODES = ("SM", "MA", "MED", "MEAN")
PIECE = 4_000_000  # multiply-adds or so between two looks at `stop`: some milliseconds
FEWEST = 128  # inputs at a time: with fewer, large weights come from memory again and again

Single = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Prediction:
    """Predictions at m inputs.

    mode : one of `MODES`
    draws : (R, m, classes) class probabilities, or (R, m, outputs) values, of every draw
    density : share of all weights that at least one of the draws uses
    note : what was done where the median model has no path; else empty
    """

    mode: str
    draws: Single
    density: float
    classifies: bool
    note: str = ""

    @property
    def mean(self) -> NDArray[np.float64]:
        """(m, classes) model-averaged probabilities, or (m, outputs) mean values."""
        return self.draws.mean(axis=0, dtype=np.float64)

    @property
    def labels(self) -> NDArray[np.int64]:
        """(m,) most probable class."""
        self._needs_classes()
        return self.mean.argmax(axis=1)

    def accuracy(self, y: ArrayLike) -> float:
        """Share of labels y (m,) predicted by the averaged probabilities."""
        return float(np.mean(self.labels == np.asarray(y).reshape(-1)))

    def draw_accuracies(self, y: ArrayLike) -> NDArray[np.float64]:
        """(R,) accuracy of each draw by itself."""
        self._needs_classes()
        return (self.draws.argmax(axis=2) == np.asarray(y).reshape(-1)).mean(axis=1)

    def running_accuracy(self, y: ArrayLike) -> NDArray[np.float64]:
        """(R,) accuracy of the average over the first 1, 2, ..., R draws (the paper's figure 2)."""
        self._needs_classes()
        summed = np.cumsum(self.draws, axis=0, dtype=np.float64)
        return (summed.argmax(axis=2) == np.asarray(y).reshape(-1)).mean(axis=1)

    def rmse(self, y: ArrayLike) -> float:
        """Root mean square error of the mean values, in units of y (m,) or (m, outputs)."""
        wanted = np.asarray(y, dtype=np.float64).reshape(self.draws.shape[1:])
        return float(np.sqrt(np.mean((self.mean - wanted) ** 2)))

    def _needs_classes(self) -> None:
        if not self.classifies:
            raise SpecError("likelihood", "gaussian predicts values, not classes")


def forward(
    shape: Shape,
    activation: str,
    likelihood: str,
    x: Single,
    weights: Single,
    stop: Callable[[], bool] | None = None,
    sparse: bool | None = None,
) -> Single | None:
    """Class probabilities (m, classes) or values (m, outputs) of one network at x (m, inputs); None when stopped.

    sparse : whether weights that are 0 are left out, see `engine.variational.sparse`; by default where that is quicker
    """
    left_out = worth_it(shape, weights) if sparse is None else sparse
    layers = SparseLayers(shape, weights) if left_out else None
    kind, piece = ACTIVATIONS.index(activation), max(FEWEST, PIECE // shape.work)
    found = []
    for begin in range(0, len(x), piece):
        if stop is not None and stop():
            return None
        ticket.look()
        part = x[begin : begin + piece]
        found.append(layers.forward(kind, part) if layers else shape.forward(kind, part, weights))
    z = np.concatenate(found)
    if likelihood == "softmax":
        e = np.exp(z - z.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)
    if likelihood == "bernoulli":
        p = 1.0 / (1.0 + np.exp(-np.clip(z, -80.0, 80.0)))
        return np.hstack([1.0 - p, p]).astype(np.float32)
    return z
