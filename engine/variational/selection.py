"""Choosing one network from inclusion probabilities: the median probability model, and what to do where it is none.

The median probability model keeps the weights whose inclusion probability is above 1/2 (Barbieri and Berger 2004).
It may have no path from an input to an output; the paper then falls back to the most probable model, or to another
threshold (Hubin and Storvik 2019, supplement A). Under a variational distribution that treats weights as independent
the most probable model of all *is* the median model, so what helps is the most probable model *that has a path*: the
median model and the path with the best odds besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.spec import SpecError

Mask = NDArray[np.bool_]
FALLBACKS = ("most_probable", "threshold", "none")


@dataclass(frozen=True, eq=False)
class Selection:
    """One network structure.

    masks : (n_l + 1, n_{l+1}) bool of every layer, biases in the last row
    threshold : inclusion probability above which weights are in (the fallback's, where that is a threshold)
    feasible : whether the median model (or the threshold asked for) itself has a path from an input to an output
    connected_outputs : how many outputs of `masks` a path from an input reaches
    density : share of all weights that are in
    note : what was chosen and why, as a sentence
    """

    masks: tuple[Mask, ...]
    threshold: float
    feasible: bool
    connected_outputs: int
    density: float
    note: str


def connected(masks: Sequence[Mask]) -> Mask:
    """(n_L,) bool: the outputs that a path of weights reaches from some input. Biases make no path."""
    reached: Mask = np.ones(len(masks[0]) - 1, dtype=bool)
    for mask in masks:
        reached = np.asarray(mask[:-1][_seen(reached, mask)].any(axis=0))
    return reached


def _seen(units: NDArray[Any], layer: NDArray[Any]) -> NDArray[Any]:
    """`units` for every input of the next layer, which sees a unit of a convolution at several places."""
    return np.tile(units, (len(layer) - 1) // len(units))


def select_model(inclusion: Sequence[NDArray[Any]], threshold: float = 0.5, fallback: str = "most_probable") -> Selection:
    """The network of the weights whose inclusion probability exceeds `threshold`.

    inclusion : (n_l + 1, n_{l+1}) of every layer, biases in the last row
    fallback : where that has no path from an input to an output: "most_probable", add the path of the largest product
        of odds; "threshold", lower the threshold as far as the first path needs; "none", keep it as it is
    """
    if fallback not in FALLBACKS:
        raise SpecError("fallback", f"{fallback!r} is not one of {', '.join(FALLBACKS)}")
    if not 0.0 <= threshold < 1.0:
        raise SpecError("threshold", f"{threshold!r} is not a number from 0 to below 1")
    masks = [np.asarray(a) > threshold for a in inclusion]
    name = "The median model" if threshold == 0.5 else f"The model above {threshold:g}"
    feasible = bool(connected(masks).any())
    note = f"{name} has a path from the inputs to the outputs."
    if not feasible:
        note = f"{name} has no path from any input to any output: it predicts the same for every input."
        if fallback == "most_probable":
            added = 0
            for layer, i, j in _best_path(inclusion, masks):
                added += not masks[layer][i, j]
                masks[layer][i, j] = True
            note += f" The most probable model with a path is used instead: {added} weights more."
        elif fallback == "threshold":
            threshold = _widest(inclusion)
            masks = [np.asarray(a) >= threshold for a in inclusion]
            note += f" The threshold is lowered to {threshold:.3g}, where the first path appears."
    total = sum(m.size for m in masks)
    return Selection(tuple(masks), threshold, feasible, int(connected(masks).sum()), sum(int(m.sum()) for m in masks) / total, note)


def _best_path(inclusion: Sequence[NDArray[Any]], masks: Sequence[Mask]) -> list[tuple[int, int, int]]:
    """(layer, from, to) of the weights of the path whose missing weights have the largest product of odds."""
    cost = np.zeros(len(inclusion[0]) - 1)
    came: list[NDArray[np.int64]] = []
    for a, mask in zip(inclusion, masks, strict=True):
        p = np.clip(np.asarray(a[:-1], dtype=np.float64), 1e-300, 1.0 - 1e-16)
        price = _seen(cost, a)[:, None] + np.where(mask[:-1], 0.0, np.log1p(-p) - np.log(p))
        came.append(price.argmin(axis=0))
        cost = price.min(axis=0)
    at, path = int(cost.argmin()), []
    for layer in range(len(came) - 1, -1, -1):
        before = int(came[layer][at])
        path.append((layer, before, at))
        at = before % (came[layer - 1].size if layer else len(inclusion[0]))
    return path


def _widest(inclusion: Sequence[NDArray[Any]]) -> float:
    """The largest inclusion probability that all weights of some path have."""
    width = np.full(len(inclusion[0]) - 1, np.inf)
    for a in inclusion:
        width = np.minimum(_seen(width, a)[:, None], a[:-1]).max(axis=0)
    return float(width.max())
