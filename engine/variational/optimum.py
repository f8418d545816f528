"""Where an ELBO that is known exactly is going: its slopes, and what is left to gain."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.targets.target import Target
from engine.variational.advi import elbo
from engine.variational.transforms import Support

Array = NDArray[np.float64]

STEP = 1e-4  # of central differences


def elbo_gradient(
    target: Target,
    parameters: ArrayLike,
    *,
    supports: tuple[Support, ...] | None = None,
    components: Sequence[int] | None = None,
    nodes: int = 24,
) -> Array:
    """(M, components) slopes of the ELBO by quadrature at rows (M, P) of parameters, by central differences.

    supports, nodes : as `elbo`; components : of q's parameters, default all
    """
    rows = np.atleast_2d(np.asarray(parameters, dtype=np.float64))
    chosen = range(rows.shape[1]) if components is None else components
    slopes = np.empty((len(rows), len(chosen)))
    for k, component in enumerate(chosen):
        step = STEP * np.eye(rows.shape[1])[component]
        up, down = (elbo(target, rows + sign * step, supports=supports, nodes=nodes).value for sign in (1, -1))
        slopes[:, k] = (up - down) / (2 * STEP)
    return slopes


def still_to_gain(value: Callable[[Array], Array], at: Array, h: float = 1e-3) -> float:
    """Nats that a Newton step from `at` (P,) would gain, with slope and curvature by central differences; inf where
    `value`, of rows (R, P) to (R,), is not finite or does not bend down in every direction: that is near no maximum.
    """
    one = h * np.eye(len(at))
    i, j = np.tril_indices(len(at), -1)
    both = one[i] + one[j]
    with np.errstate(all="ignore"):
        values = np.asarray(value(at + np.concatenate([np.zeros((1, len(at))), one, -one, both, -both])))
    if not np.all(np.isfinite(values)):
        return float("inf")
    middle, up, down, *_ = np.split(values, np.cumsum([1, len(one), len(one)]))
    there, back = np.split(values[1 + 2 * len(one) :], 2)
    slope, bend = (up - down) / (2 * h), np.diag((up + down - 2 * middle) / h**2)
    bend[i, j] = bend[j, i] = 0.5 * ((there + back - 2 * middle) / h**2 - bend[i, i] - bend[j, j])
    if np.linalg.eigvalsh(bend).max() >= 0.0:
        return float("inf")
    return float(-0.5 * slope @ np.linalg.solve(bend, slope))
