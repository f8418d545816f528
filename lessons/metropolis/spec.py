"""The spec of the Metropolis lesson: a `MetropolisSpec`, the ring of islands, and which picture is shown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.kit.words import Words
from engine.samplers.spec import MetropolisSpec
from engine.spec import SpecError, choice, integer, number, text

WORDS = Words(__file__)

PARTS = ("islands", "plane", "triptych")
MIN_ISLANDS, MAX_ISLANDS = 3, 16  # more would not be told apart on the ring
MAX_PEOPLE = 1e6
LEAST_KEPT = 50  # draws that must remain after the burn-in

PRESETS: dict[str, str] = {
    "one_to_seven": "1, 2, 3, 4, 5, 6, 7",
    "two_capitals": "8, 3, 1, 0.5, 1, 3, 8, 3, 1, 0.5, 1, 3",
    "one_giant": "1, 1, 1, 12, 1, 1, 1, 1",
}


@dataclass(frozen=True, kw_only=True)
class MetropolisLesson(MetropolisSpec):
    """What the Metropolis lesson shows. Fields of the parts that are not shown are kept and ignored."""

    part: str = choice(
        "islands", PARTS, "which picture: walk over a ring of islands, walk in a plane, or three walks that differ only in their step size"
    )
    populations: str = text(
        PRESETS["one_to_seven"],
        120,
        f"people on each island, once round the ring, {MIN_ISLANDS} to {MAX_ISLANDS} numbers with commas between",
    )
    p_right: float = number(
        0.5, 0.05, 0.95, "probability that the coin proposes the neighbour clockwise; not 0.5 makes the proposal asymmetric", step=0.05
    )
    first_island: int = integer(4, 1, MAX_ISLANDS, "where the walker begins")
    factor: float = number(10.0, 1.5, 30.0, "the small step is the scale divided by this, the big one the scale times this", log=True)
    burn: int = integer(0, 0, 2000, "first draws that are left out of the histograms, the checks and the table", step=10)
    draws: int = integer(1000, 100, 3000, "transitions of each chain", log=True)
    chains: int = integer(1, 1, 4, "independent chains, each with its own random numbers")

    def check(self) -> None:
        super().check()
        people = self.people()
        if self.part == "islands" and self.first_island > len(people):
            raise SpecError("first_island", f"{self.first_island} is not one of the {len(people)} islands")
        if self.burn > self.draws - LEAST_KEPT:
            raise SpecError("burn", f"{self.burn} of {self.draws} draws leaves less than {LEAST_KEPT}")

    def people(self) -> NDArray[np.float64]:
        """The islands' populations as numbers. Raises SpecError naming the entry that is wrong."""
        entries = [entry.strip() for entry in self.populations.split(",")]
        if not MIN_ISLANDS <= len(entries) <= MAX_ISLANDS:
            raise SpecError("populations", f"{len(entries)} islands; a ring here has {MIN_ISLANDS} to {MAX_ISLANDS}")
        return np.array([_people(place, entry) for place, entry in enumerate(entries, 1)])

    def scales(self) -> tuple[float, float, float]:
        """The three step sizes of the triptych."""
        return self.scale / self.factor, self.scale, self.scale * self.factor


def _people(place: int, entry: str) -> float:
    try:
        value = float(entry)
    except ValueError:
        raise SpecError("populations", f"island {place}: “{entry}” is not a number") from None
    if not 1e-3 <= value <= MAX_PEOPLE:
        raise SpecError("populations", f"island {place}: {entry} is not between 0.001 and {MAX_PEOPLE:,.0f}")
    return value


SCENARIOS = WORDS.scenarios(
    {
        "king": MetropolisLesson(part="islands", draws=2000, seed=3),
        "plane": MetropolisLesson(part="plane", target="banana", scale=1.2, draws=2000),
        "sizes": MetropolisLesson(part="triptych", scale=1.5, factor=10.0, draws=1500),
        "far": MetropolisLesson(
            part="plane", correlation=0.5, scale=0.6, chains=4, draws=1000, start="at", start_x=-12.0, start_y=10.0, burn=150
        ),
        "hastings": MetropolisLesson(part="plane", correlation=0.5, scale=1.0, drift=0.5, variant="no_hastings", draws=2000),
        "rejections": MetropolisLesson(part="plane", correlation=0.0, scale=5.0, variant="drop_rejections", draws=2000),
        "high": MetropolisLesson(part="plane", dimension=20, correlation=0.0, scale=1.0, draws=2000),
    }
)
