"""What decides the picture of this lesson: the toy of `engine.jumps.toy`, on its own data or on the reader's."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit.words import Words
from engine.jumps.toy import ToySpec
from engine.spec import SpecError, integer, text

WORDS = Words(__file__)

Array = NDArray[np.float64]

FEWEST, MOST = 6, 120  # measurements
LARGEST = 20.0  # of a measurement: the prior mean of every parameter is 0
LENGTH = 1000  # characters


@dataclass(frozen=True, kw_only=True)
class DimensionsLesson(ToySpec):
    """A run of the toy small enough that every jump can be shown. With measurements of the reader's own, the fields
    that make data (`observations`, `truth`, `effect`, `data_seed`) are kept and ignored.
    """

    observations: int = integer(30, FEWEST, MOST, "measurements in all", log=True)
    measurements: str = text(
        "", LENGTH, f"your own measurements in order, {FEWEST} to {MOST} numbers with commas between; empty: made by the settings"
    )
    chains: int = integer(4, 1, 4, "independent chains, each with its own random numbers; the picture shows the first")
    draws: int = integer(600, 50, 600, "sweeps of each chain: one jump, then one draw of the parameters", log=True)

    def check(self) -> None:
        super().check()
        self.measured()

    @property
    def own(self) -> bool:
        """Are the measurements the reader's?"""
        return bool(self.measurements.strip())

    def measured(self) -> Array | None:
        """(n,) the reader's measurements, None without. Raises SpecError that names the entry that is wrong."""
        if not self.own:
            return None
        entries = [entry for entry in re.split(r"[\s,;]+", self.measurements.strip()) if entry]
        if not FEWEST <= len(entries) <= MOST:
            raise SpecError("measurements", f"{len(entries)} numbers; {FEWEST} to {MOST} are wanted")
        return np.array([_measurement(place, entry) for place, entry in enumerate(entries, 1)])

    def toy(self, **changes: Any) -> ToySpec:
        """The engine's spec of this run, with some fields changed: it allows longer runs than a picture does."""
        names = ToySpec.declarations()
        return ToySpec(**{**{name: getattr(self, name) for name in names}, **changes})


def _measurement(place: int, entry: str) -> float:
    try:
        value = float(entry)
    except ValueError:
        raise SpecError("measurements", f"number {place}: “{entry[:20]}” is not a number") from None
    if not math.isfinite(value) or abs(value) > LARGEST:
        raise SpecError("measurements", f"number {place}: {entry[:20]} is not between −{LARGEST:g} and {LARGEST:g}")
    return value


def written(y: Array) -> str:
    """Measurements as the text of their field, two decimals each."""
    return ", ".join(f"{round(value, 2) + 0.0:g}" for value in y)


SPLIT = DimensionsLesson(effect=0.4, seed=277)

SCENARIOS = WORDS.scenarios(
    {
        "split": SPLIT,
        "polynomial": DimensionsLesson(family="polynomial", models=4, truth=3, data_seed=3, effect=0.4, seed=144),
        "prior": SPLIT.replace(likelihood="off"),
        "no-jacobian": SPLIT.replace(variant="no_jacobian"),
        "no-end-points": SPLIT.replace(variant="no_end_points"),
        "no-proposal": SPLIT.replace(variant="no_proposal"),
        "one-sided": SPLIT.replace(variant="one_sided"),
    }
)
