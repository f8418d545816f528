"""What decides the pictures of this lesson: the part, the data, the jump with its bridges, the sampler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.kit.files import LENGTH
from app.kit.words import Words
from engine.jumps.settings import Prior
from engine.networks import Network, network
from engine.spec import SpecError, choice, integer, number, text
from lessons.families.growing.spec import WORDS as FAMILY
from lessons.families.growing.spec import GrowingSpec
from lessons.landing import boston, optdigits

WORDS = Words(__file__, FAMILY)

PARTS = ("sandwich", "landing", "thesis")
SANDWICHES = ("palindromic", "no_kernel_densities", "as_coded")
JUMPS = ("plain", "tempered", "annealed", "delayed")
# What each jump can get wrong.
WRONG = {"plain": "no_end_points", "tempered": "no_kernel_densities", "annealed": "old_level", "delayed": "no_rejection_terms"}
LEVELS = 4  # of the tempered jump, on each side
LEAPFROG = 3  # steps of the moves on a bridge


class Setting(NamedTuple):
    """A run of the thesis. classes : digits told apart, 0 where house prices are learned; rows : to learn from;
    temper : a, of the digits; units : of each hidden layer, 0 where they are born and die; variance : of the noise of a
    price; highest : most hidden units, or layers where the units are fixed; across, within : the acceptance printed, in
    %.
    """

    classes: int
    rows: int
    temper: float
    units: int
    variance: float
    highest: int
    across: float
    within: float

    @property
    def told(self) -> str:
        """The run in words."""
        if self.classes:
            each = self.rows // self.classes
            return WORDS.phrase("thesis.digits", rows=self.rows, classes=self.classes, each=each, highest=self.highest, temper=self.temper)
        return WORDS.phrase("thesis.boston", rows=self.rows, highest=self.highest, units=self.units, variance=self.variance)


# Berezowski 2021, sections 6.2 and 6.3, and table 6.1.
THESIS = {
    "OD5a": Setting(5, 250, 0.1, 0, 1.0, 64, 11.2, 82.5),
    "OD5b": Setting(5, 250, 0.5, 0, 1.0, 64, 9.8, 64.3),
    "OD10a": Setting(10, 500, 0.1, 0, 1.0, 128, 7.8, 67.2),
    "OD10b": Setting(10, 500, 0.5, 0, 1.0, 128, 5.6, 57.6),
    "BH2a": Setting(0, boston.ROWS, 1.0, 2, 1.0, 8, 4.5, 66.1),
    "BH2b": Setting(0, boston.ROWS, 1.0, 2, 0.8, 8, 4.9, 65.8),
    "BH4a": Setting(0, boston.ROWS, 1.0, 4, 1.0, 4, 1.1, 63.4),
    "BH4b": Setting(0, boston.ROWS, 1.0, 4, 0.8, 4, 1.4, 64.8),
}
DIGITS = tuple(name for name, setting in THESIS.items() if setting.classes)
MOST_ON_DIGITS = 500  # sweeps


@dataclass(frozen=True, kw_only=True)
class LandingSpec(GrowingSpec):
    """Chains over the hidden units of a network, or over its layers where the thesis learns house prices. Fields of the
    parts that are not shown are kept and ignored.
    """

    part: str = choice("landing", PARTS, "the jump between two NUTS moves, jumps that land, or the runs of a thesis beside ours")
    data: str = choice("xor", ("xor", "noisy"), "XOR clouds, or noisier ones that overlap")
    sandwich: str = choice(
        "palindromic", SANDWICHES, "NUTS, jump, NUTS: with the right ratio, without the densities of NUTS, or as published"
    )
    jump: str = choice("annealed", JUMPS, "bare; at a raised temperature; over bridges on which the unit fades in; with a second try")
    bridges: int = integer(16, 1, 64, "bridges T of the annealed jump; 1 is the bare jump", log=True)
    variant: str = choice("exact", ("exact", "wrong"), "the right ratio, or the mistake that is easiest to make")
    setting: str = choice("OD5b", tuple(THESIS), "which run of the thesis")
    file: str = text("", LENGTH, "your own CSV of the Boston table; empty: the download")
    digits: str = text("", LENGTH, "your own CSV of OptDigits; empty: the bundled digits")
    widest: int = integer(16, 4, 16, "most hidden units")
    step_size: float = number(0.1, 0.001, 2.0, "time ε that one leapfrog step of NUTS and of the bridges simulates", log=True)
    sweeps: int = integer(300, 20, 2000, "sweeps of each chain of the long comparison: NUTS, then one jump", log=True)
    burn: int = integer(20, 0, 500, "so many sweeps at the start are left out of every average", step=10)

    def check(self) -> None:
        super().check()
        if self.part == "thesis" and not self.on_boston and self.sweeps > MOST_ON_DIGITS:
            raise SpecError("sweeps", f"at most {MOST_ON_DIGITS} on digits: draws of such networks fill the memory")

    @property
    def on_boston(self) -> bool:
        """Whether house prices are learned, and layers are what is born and dies."""
        return self.part == "thesis" and self.setting not in DIGITS

    @property
    def grows(self) -> str:  # type: ignore[override]
        return "depth" if self.on_boston else "width"

    @property
    def symbol(self) -> str:  # type: ignore[override]
        return "L" if self.on_boston else "k"

    @property
    def thing(self) -> str:  # type: ignore[override]
        return "layer" if self.on_boston else "unit"

    @property
    def high(self) -> int:
        return THESIS[self.setting].highest if self.part == "thesis" else self.widest

    @property
    def mistake(self) -> str:
        if self.part == "sandwich":
            return "" if self.sandwich == "palindromic" else WORDS.phrase(f"mistakes.{self.sandwich}")
        return WORDS.phrase(f"mistakes.{self.jump}") if self.variant == "wrong" else ""

    @property
    def is_ready(self) -> bool:
        """Whether the data are on this machine."""
        if self.part != "thesis":
            return True
        return boston.is_here(self.file) if self.on_boston else optdigits.is_here(self.digits)

    def data_set(self) -> tuple[NDArray[np.float64], NDArray[Any]]:
        if self.on_boston:
            return boston.data_set(self.file, self.seed)
        if self.part == "thesis":
            setting = THESIS[self.setting]
            return optdigits.data_set(self.digits, setting.classes, setting.rows)
        return super().data_set()

    def network(self, most: int | None = None) -> Network:
        """The network with its ranges; most : cuts the range of the size."""
        sizes, setting = (self.low, min(self.high, most or self.high)), THESIS[self.setting]
        if self.on_boston:
            noise_sd = float(np.sqrt(setting.variance))
            return network(boston.INPUTS, 1, width=setting.units, depth=sizes, activation="relu", likelihood="gaussian", noise_sd=noise_sd)
        if self.part == "thesis":
            return network(optdigits.COMPONENTS, setting.classes, width=sizes, temper=setting.temper)
        return network(2, 2, width=sizes, temper=self.temper, prior_sd=self.prior_sd)

    def size_prior(self) -> Prior:
        return "uniform" if self.part == "thesis" else super().size_prior()

    def settings(self) -> dict[str, Any]:
        """The jump on the stage, as the engine takes it."""
        if self.part == "sandwich":
            jump = sandwich(self.sandwich)
        else:
            jump = crossing(self.jump, self.bridges, self.variant == "wrong")
        return {**jump, f"{self.grows}_prior": self.size_prior()}


def sandwich(name: str) -> dict[str, Any]:
    """A jump between two NUTS moves."""
    if name == "as_coded":
        return {"jump": "as_coded"}
    return {"jump": "palindromic", "variant": "exact" if name == "palindromic" else name}


def crossing(jump: str, bridges: int, wrong: bool = False) -> dict[str, Any]:
    """A jump of `JUMPS`, right or with its mistake."""
    variant = WRONG[jump] if wrong else "exact"
    over: dict[str, dict[str, Any]] = {"annealed": {"bridges": bridges}, "tempered": {"bridges": LEVELS, "tempering": 0.8}}
    return {"jump": jump, "variant": variant, "jump_steps": LEAPFROG, **over.get(jump, {})}


SCENARIOS = WORDS.scenarios(
    {
        "plain": LandingSpec(jump="plain"),
        "annealed": LandingSpec(),
        "noisy": LandingSpec(data="noisy", bridges=64, step_size=0.07),
        "delayed": LandingSpec(jump="delayed"),
        "sandwich": LandingSpec(part="sandwich"),
        "as-coded": LandingSpec(part="sandwich", sandwich="as_coded"),
        "old-level": LandingSpec(variant="wrong", bridges=3, temper=2.0, step_size=0.05),
        "thesis": LandingSpec(part="thesis"),
        "boston": LandingSpec(part="thesis", setting="BH2a", sweeps=200),
    }
)
