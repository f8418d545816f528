"""What decides the pictures of this lesson: the part, the data, the jump with its bridges, the sampler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.kit.growing import GrowingSpec
from datasets.images import digit_components
from datasets.xor import chosen
from engine.networks import Network, network
from engine.spec import SpecError, choice, integer, number

PARTS = ("sandwich", "landing", "thesis")
SANDWICHES = ("palindromic", "no_kernel_densities", "as_coded")
JUMPS = ("plain", "tempered", "annealed", "delayed")
# What each jump can get wrong, and what that is.
WRONG = {
    "plain": (
        "no_end_points",
        "Births at the lowest size and deaths at the highest are not weighed against their rarer reverse.",
    ),
    "tempered": ("no_kernel_densities", "The weights of the moves around the jump are left out."),
    "annealed": (
        "old_level",
        "The moves on each bridge leave the bridge before it as it is, not the one just reached.",
    ),
    "delayed": ("no_rejection_terms", "The second try is not weighed by the failure of the first, there and back."),
}
WRONG_SANDWICH = {
    "no_kernel_densities": "The densities of the NUTS moves around the jump are left out.",
    "as_coded": "The published scheme as coded: three factors are missing, and its NUTS is re-tuned at every call.",
}
LEVELS = 4  # of the tempered jump, on each side
LEAPFROG = 3  # steps of the moves on a bridge


class Setting(NamedTuple):
    """A run of the thesis. classes : digits told apart, 0 where the data are the Boston houses; images : to learn from;
    temper : a; highest : most hidden units; across, within : the acceptance printed, in %.
    """

    classes: int
    images: int
    temper: float
    highest: int
    across: float
    within: float


# Berezowski 2021, sections 6.2 and 6.3, and table 6.1.
THESIS = {
    "OD5a": Setting(5, 250, 0.1, 64, 11.2, 82.5),
    "OD5b": Setting(5, 250, 0.5, 64, 9.8, 64.3),
    "OD10a": Setting(10, 500, 0.1, 128, 7.8, 67.2),
    "OD10b": Setting(10, 500, 0.5, 128, 5.6, 57.6),
    "BH2a": Setting(0, 256, 1.0, 8, 4.5, 66.1),
    "BH2b": Setting(0, 256, 1.0, 8, 4.9, 65.8),
    "BH4a": Setting(0, 256, 1.0, 4, 1.1, 63.4),
    "BH4b": Setting(0, 256, 1.0, 4, 1.4, 64.8),
}
DIGITS = tuple(name for name, setting in THESIS.items() if setting.classes)
COMPONENTS = 20
MOST_ON_DIGITS = 500  # sweeps


@dataclass(frozen=True, kw_only=True)
class LandingSpec(GrowingSpec):
    """Chains over the hidden units of a network. Fields of the parts that are not shown are kept and ignored."""

    grows: ClassVar[str] = "width"
    symbol: ClassVar[str] = "k"
    thing: ClassVar[str] = "unit"

    part: str = choice(
        "landing", PARTS, "the jump between two NUTS moves, jumps that land, or the runs of a thesis beside ours"
    )
    data: str = choice("xor", ("xor", "noisy"), "XOR clouds, or noisier ones that overlap")
    sandwich: str = choice(
        "palindromic",
        SANDWICHES,
        "NUTS, jump, NUTS: with the right ratio, without the densities of NUTS, or as published",
    )
    jump: str = choice(
        "annealed", JUMPS, "bare; at a raised temperature; over bridges on which the unit fades in; with a second try"
    )
    bridges: int = integer(16, 1, 64, "bridges T of the annealed jump; 1 is the bare jump", log=True)
    variant: str = choice("exact", ("exact", "wrong"), "the right ratio, or the mistake that is easiest to make")
    setting: str = choice("OD5b", DIGITS, "which run of the thesis")
    widest: int = integer(16, 4, 16, "most hidden units")
    step_size: float = number(
        0.1, 0.001, 2.0, "time ε that one leapfrog step of NUTS and of the bridges simulates", log=True
    )
    sweeps: int = integer(300, 20, 2000, "sweeps of each chain of the long comparison: NUTS, then one jump", log=True)
    burn: int = integer(20, 0, 500, "so many sweeps at the start are left out of every average", step=10)

    def check(self) -> None:
        super().check()
        if self.part == "thesis" and self.sweeps > MOST_ON_DIGITS:
            raise SpecError("sweeps", f"at most {MOST_ON_DIGITS} on digits: draws of such networks fill the memory")

    @property
    def high(self) -> int:
        return THESIS[self.setting].highest if self.part == "thesis" else self.widest

    @property
    def mistake(self) -> str:
        if self.part == "sandwich":
            return WRONG_SANDWICH.get(self.sandwich, "")
        return WRONG[self.jump][1] if self.variant == "wrong" else ""

    def data_set(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        if self.part == "thesis":
            setting = THESIS[self.setting]
            return digit_components(setting.classes, setting.images, COMPONENTS)
        data = chosen(self.data, self.points, self.corner, self.seed)
        return data.x, data.y

    def network(self) -> Network:
        if self.part == "thesis":
            setting = THESIS[self.setting]
            return network(COMPONENTS, setting.classes, width=(1, setting.highest), temper=setting.temper)
        return network(2, 2, width=(self.low, self.widest), temper=self.temper, prior_sd=self.prior_sd)

    def settings(self) -> dict[str, Any]:
        """The jump on the stage, as the engine takes it."""
        if self.part == "sandwich":
            return {**sandwich(self.sandwich), "width_prior": self.size_prior()}
        prior = "uniform" if self.part == "thesis" else self.size_prior()
        return {**crossing(self.jump, self.bridges, self.variant == "wrong"), "width_prior": prior}


def sandwich(name: str) -> dict[str, Any]:
    """A jump between two NUTS moves."""
    if name == "as_coded":
        return {"jump": "as_coded"}
    return {"jump": "palindromic", "variant": "exact" if name == "palindromic" else name}


def crossing(jump: str, bridges: int, wrong: bool = False) -> dict[str, Any]:
    """A jump of `JUMPS`, right or with its mistake."""
    variant = WRONG[jump][0] if wrong else "exact"
    over = {"annealed": {"bridges": bridges}, "tempered": {"bridges": LEVELS, "tempering": 0.8}}.get(jump, {})
    return {"jump": jump, "variant": variant, "jump_steps": LEAPFROG, **over}
