"""What decides the picture of this lesson: some chains of one sampler, and how they are looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit.words import Words
from engine.spec import SpecError, choice, integer, number, seed_field
from engine.targets.spec import TargetSpec

WORDS = Words(__file__)
SAMPLERS = ("metropolis", "hmc", "nuts", "gibbs")
VIEWS = ("ranks", "histogram", "average", "plane")
QUANTITIES = ("first", "second", "square")
NOBODY = "none"
PATIENTS = tuple(str(number) for number in range(1, 9))
LEAST_KEPT = 40  # draws of each chain that burn-in and thinning must leave

_CORNERS = np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])  # two chains start in opposite corners
_WRONG = {
    "metropolis": {"variant": "drop_rejections"},
    "hmc": {"variant": "always_accept"},
    "nuts": {"variant": "aliased_momentum"},
    "gibbs": {"variant": "window"},
}


@dataclass(frozen=True, kw_only=True)
class DiagnosticsLesson(TargetSpec):
    """Two to four chains without any warm-up, so that everything they do is seen.

    With a `patient` the fields of target, sampler and start are ignored: see `patients.case`.
    """

    target: str = choice("gaussian", TargetSpec.declarations()["target"].options, "shape of the density")
    dimension: int = integer(2, 2, 20, "number of coordinates; the first two can be watched", log=True)
    correlation: float = number(0.5, -0.999, 0.999, "correlation of neighbouring coordinates", step=0.001)

    patient: str = choice(NOBODY, (NOBODY, *PATIENTS), "a run of the gallery, whose illness is to be found")
    file: str = choice("sealed", ("sealed", "open"), "whether the sampler, its settings and the truth are shown")
    sampler: str = choice("nuts", SAMPLERS, "how the chains move")
    scale: float = number(1.0, 0.01, 100.0, "Metropolis: sd of the proposal around the present point", log=True)
    step_size: float = number(0.5, 0.01, 5.0, "HMC and NUTS: time that one leapfrog step simulates", log=True)
    steps: int = integer(4, 1, 100, "HMC: leapfrog steps of one trajectory", log=True)
    broken: str = choice("no", ("no", "yes"), "use a version of the sampler that is wrong on purpose")
    chains: int = integer(4, 2, 4, "independent chains, each with its own random numbers")
    draws: int = integer(1000, 100, 1500, "transitions of each chain", log=True)
    start_x: float = number(0.0, -100.0, 100.0, "middle of the starting points, first coordinate")
    start_y: float = number(0.0, -100.0, 100.0, "middle of the starting points, second coordinate")
    spread: float = number(3.0, 0.0, 100.0, "the chains start in the corners of a square: distance of its sides from the middle", step=0.5)
    burn: int = integer(0, 0, 1400, "burn-in: first draws of each chain that every diagnostic leaves out", step=10)
    thin: int = integer(1, 1, 30, "thinning: of the draws left, only every so many-th is kept")
    quantity: str = choice("first", QUANTITIES, "what is watched: a coordinate, or the first one's square, whose mean tells the variance")
    view: str = choice("ranks", VIEWS, "what stands below the traces, beside R-hat and ESS")
    seed: int = seed_field()

    def check(self) -> None:
        super().check()
        self.checked_target()
        if self.burn > self.draws - LEAST_KEPT:
            raise SpecError("burn", f"{self.burn} of {self.draws} draws leaves less than {LEAST_KEPT}")
        if self.kept < LEAST_KEPT:
            raise SpecError("thin", f"keeps {self.kept} draws of each chain, less than {LEAST_KEPT}")

    @property
    def kept(self) -> int:
        """Draws of each chain that burn-in and thinning leave."""
        return -(-(self.draws - self.burn) // self.thin)

    @property
    def sealed(self) -> bool:
        """Whether this is a patient whose file has not been opened."""
        return self.patient != NOBODY and self.file == "sealed"

    def simulation(self) -> DiagnosticsLesson:
        """The part that decides the draws: the same for every way of looking at them."""
        return self.replace(file="sealed", burn=0, thin=1, quantity="first", view="ranks")

    def settings(self) -> dict[str, Any]:
        """Keyword arguments of the sampler. NUTS is the slice form, in which its famous bug was found."""
        each: dict[str, dict[str, Any]] = {
            "metropolis": {"scale": self.scale},
            "hmc": {"step_size": self.step_size, "steps": self.steps},
            "nuts": {"step_size": self.step_size, "mass": 1.0, "sampling": "slice"},
            "gibbs": {"scale": self.scale},
        }
        settings = each[self.sampler]
        if self.sampler == "gibbs" and self.build_target().conditionals is None:
            settings["update"] = "metropolis"
        return settings | (_WRONG[self.sampler] if self.broken == "yes" else {})

    def starts(self) -> NDArray[np.float64]:
        """Where the chains start, (chains, dim): corners of a square in the first two coordinates, 0 in the others."""
        points = np.zeros((self.chains, self.build_target().dim))
        points[:, :2] = (self.start_x, self.start_y) + self.spread * _CORNERS[: self.chains]
        return points


HEALTHY = DiagnosticsLesson(target="gaussian", sampler="nuts", step_size=0.5)
MODES = DiagnosticsLesson(target="two_modes", separation=9.0, weight=0.7, sampler="hmc", step_size=0.4, steps=4)
BIASED = DiagnosticsLesson(target="gaussian", correlation=0.0, sampler="nuts", step_size=0.1, broken="yes", spread=2.0, draws=1500)
FAR = DiagnosticsLesson(target="gaussian", sampler="metropolis", scale=1.5, spread=40.0)
ONE_MODE = MODES.replace(start_x=-4.5, spread=1.0)
FAR_TOGETHER = FAR.replace(start_x=40.0, start_y=40.0, spread=5.0)
THINNED = DiagnosticsLesson(target="gaussian", sampler="metropolis", scale=1.0, draws=1500, thin=10)
# leapfrog with ε = 1 on a standard normal turns (x, ρ) by 60°: after three steps both have changed their signs, no more
NOT_ERGODIC = DiagnosticsLesson(
    target="gaussian", correlation=0.0, sampler="hmc", step_size=1.0, steps=3, draws=100, start_x=0.5, start_y=0.2, spread=1.5, view="plane"
)

FIRST, *OTHERS = PATIENTS
PATIENT = DiagnosticsLesson(patient=FIRST, view="plane")
SCENARIOS = [
    *WORDS.scenarios(
        {
            "healthy": HEALTHY,
            "two-modes": MODES,
            "one-mode": ONE_MODE,
            "not-ergodic": NOT_ERGODIC,
            "far": FAR_TOGETHER,
            "thinning": THINNED,
            f"patient-{FIRST}": PATIENT,
        }
    ),
    *(WORDS.scenario(f"patient-{n}", PATIENT.replace(patient=n), "patient", number=n) for n in OTHERS),
    WORDS.scenario("biased", BIASED.replace(quantity="square", view="average")),
]
