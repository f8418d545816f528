"""The six methods again, their chains longer, beside a still longer run of NUTS that serves as the reference.

What they are compared in: mean epistemic uncertainty near the data, far from them and over the whole map, mean
aleatoric uncertainty over the map, and the mean probability of class 1 at a few places. Functions of the networks, not
weights: units may change places without changing the function.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit.text import minus
from engine import ticket
from engine.kept import kept
from lessons.xor_methods.analysis import (
    CHAINS,
    FAR,
    NEAR,
    PIECE,
    WARMUP,
    Estimate,
    Found,
    average,
    distances,
    entropies,
    epistemic,
    fitted,
    learning,
    plane,
    sampled,
    sampler,
)
from lessons.xor_methods.spec import FITTED, NAMES, SAMPLERS, WORDS, MethodsSpec

Array = NDArray[np.float64]

CELLS = 12  # of the map, a side
LONG = {"reference": 5000, "nuts": 2500, "hmc": 2500, "jumps": 4000}  # states of each chain, of a small data set
LEAST = 800
AFFORDABLE = 600  # points × units of data and network up to which all are taken
REFERENCE = "reference"
PLACES = np.array([[0, 0], [-0.5, -0.5], [0.5, -0.5], [1.5, 1.5], [-1.5, 1.5], [2.25, 0]], dtype=float)
REGIONS = ("near", "far", "whole")  # of the map
PLACE_NAMES = tuple(minus(f"({x:g}, {y:g})") for x, y in PLACES)
QUANTITIES = (
    *(WORDS.phrase("names.epistemic", region=WORDS.phrase(f"names.{region}")) for region in REGIONS),
    WORDS.phrase("names.aleatoric"),
    *(WORDS.phrase("names.probability", place=place) for place in PLACE_NAMES),
)
FAR_AWAY, WHOLE = REGIONS.index("far"), REGIONS.index("whole")  # places among the QUANTITIES


@dataclass(frozen=True, eq=False)
class Study:
    """What each method says: its networks and its estimates of QUANTITIES. `same_width` are those of the reversible
    jump's networks with k units; None if there were none.
    """

    found: dict[str, Found]
    says: dict[str, Estimate]
    same_width: Estimate | None

    def difference(self, method: str) -> tuple[Array, Array]:
        """(quantities,) method minus reference, and the Monte Carlo standard error of that."""
        ours, theirs = self.says[method], self.says[REFERENCE]
        return ours.value - theirs.value, np.hypot(ours.error, theirs.error)

    def rhat(self, method: str) -> float:
        """The largest R-hat of a chain's QUANTITIES; infinite where a chain never moved, NaN without chains."""
        if method in FITTED:
            return float("nan")
        worst = self.says[method].rhat
        return float(np.max(worst)) if np.isfinite(worst).all() else float("inf")


def regions(spec: MethodsSpec) -> Array:
    """(3, cells²) weights of the cells of REGIONS; NaN where a region has no cell."""
    far = distances(spec, plane(CELLS))
    inside = np.stack([far <= NEAR, far > FAR, far >= 0.0]).astype(float)
    with np.errstate(invalid="ignore"):
        return inside / inside.sum(axis=1, keepdims=True)


def estimate(found: Found, width: NDArray[np.bool_] | None = None) -> Estimate:
    """The QUANTITIES of a method's networks; `width` (chains, draws) says which of them count."""
    weights = regions(found.spec)
    there = np.all(np.isfinite(weights), axis=1)
    p = found.at(plane(CELLS))
    chosen: dict[str, Any] = {"correlated": found.correlated, "keep": width}
    parts = epistemic(p, np.where(there[:, None], weights, 0.0), **chosen)
    inside = average(entropies(p).mean(axis=2, keepdims=True), **chosen)
    places = average(found.at(PLACES), **chosen)
    joined = Estimate(*(np.concatenate(rows) for rows in zip(parts, inside, places, strict=True)))
    for rows in (joined.value, joined.error):
        rows[:3][~there] = np.nan
    joined.rhat[:3][~there] = 1.0 if found.correlated else np.nan
    joined.ess[:3][~there] = np.inf
    return joined


def length(spec: MethodsSpec, method: str) -> int:
    """States of each chain: fewer where a gradient costs more."""
    share = min(1.0, AFFORDABLE / (spec.size * spec.units))
    return max(LEAST, round(LONG[method] * share))


def reference_seed(spec: MethodsSpec) -> int:
    """Of the reference, so that it shares no draw with the method it judges."""
    return spec.seed ^ 0x5EED


def study(spec: MethodsSpec, cancel: Any) -> Study:
    """All methods and the reference; computed once, also when several ask together. Raises InterruptedError when
    cancelled.
    """
    with ticket.holding(cancel):
        return _study(learning(spec))


@kept
def _study(spec: MethodsSpec) -> Study:
    found = {method: fitted(spec, method) for method in FITTED}
    for method in (REFERENCE, *SAMPLERS):
        kind, seed = ("nuts", reference_seed(spec)) if method == REFERENCE else (method, spec.seed)
        run = sampler(spec, kind, length(spec, method), WARMUP, seed)
        while not run.done:
            ticket.look()
            run.advance(PIECE)
        found[method] = sampled(spec, kind, run)
    says = {method: estimate(one) for method, one in found.items()}
    jumps = found["jumps"]
    same = jumps.width == spec.units
    return Study(found, says, estimate(jumps, same) if same.any() else None)


def name_of(method: str) -> str:
    """For people."""
    return WORDS.phrase("names.long_run") if method == REFERENCE else NAMES[method]


def networks_of(found: Found) -> str:
    """How many networks, and of which kind."""
    count = found.chains * found.draws
    return f"{CHAINS} × {found.draws:,}" if found.correlated else f"{count:,}"
