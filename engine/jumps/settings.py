"""What decides a run over architectures, checked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.jumps.bridges import Bridges
from engine.jumps.delayed import SECONDS, STAGES, Second
from engine.jumps.sweep import (
    KEEP,
    NO_AUXILIARY,
    NO_KERNEL_DENSITIES,
    NO_PROPOSAL,
    NO_REJECTION_TERMS,
    OLD_LEVEL,
    REDRAW,
    SPLIT,
    STRETCH,
    VARIANTS,
    Rules,
)
from engine.networks import Network
from engine.samplers.nuts import MAX_DEPTH
from engine.samplers.run import whole_number
from engine.spec import MAX_SEED, SpecError

Array = NDArray[np.float64]
Prior = str | tuple[str, float]
Size = int | Sequence[int] | None

JUMPS = ("plain", "rescaled", "palindromic", "as_coded", "tempered", "annealed", "delayed", "split", "redraw")
BRIDGED = ("tempered", "annealed")
MAX_BRIDGES = 64
# Mistakes that only some jumps can make.
MISTAKES = {
    NO_KERNEL_DENSITIES: ("plain", "rescaled", "palindromic", "as_coded", "tempered"),
    OLD_LEVEL: ("annealed",),
    NO_REJECTION_TERMS: ("delayed",),
    NO_AUXILIARY: ("delayed",),
    NO_PROPOSAL: ("split", "redraw"),
}
WITHIN = ("none", "hmc", "nuts")
DETAILS = ("draws", "jumps")
STARTS = ("prior", "best")


@dataclass(frozen=True, kw_only=True)
class JumpSettings:
    """Settings of `engine.sample_architecture`, which explains them. Raises SpecError naming a wrong one."""

    jump: str = "plain"
    chains: int = 4
    draws: int = 1000
    warmup: int = 0
    seed: int = 0
    jumps: int = 1
    within: str = "nuts"
    step_size: float | None = None
    steps: int = 10
    target_accept: float = 0.8
    max_depth: int = 10
    width_prior: Prior = "uniform"
    depth_prior: Prior = "uniform"
    scale_by_width: bool = False
    weight_precision: tuple[float, float] | None = None
    noise_precision: tuple[float, float] | None = None
    start: str = "prior"
    start_width: Size = None
    start_depth: Size = None
    bridges: int = 8
    bridge_power: float = 1.0
    tempering: float = 0.5
    jump_moves: int = 1
    jump_step_size: float | None = None
    jump_steps: int = 5
    short_steps: int = 4
    short_energy_error: float = 1.0
    second: str = "narrow"
    second_scale: float | None = None
    split_scale: float = 0.6
    variant: str = "exact"
    detail: str = "draws"
    keep_outputs: bool = True

    def __post_init__(self) -> None:
        wholes = {
            "chains": (1, 10_000),
            "draws": (1, 10**9),
            "warmup": (0, 10**9),
            "seed": (0, MAX_SEED),
            "jumps": (0, 10**6),
            "steps": (1, 10_000),
            "max_depth": (1, MAX_DEPTH),
            "bridges": (1, MAX_BRIDGES),
            "jump_moves": (1, 1000),
            "jump_steps": (1, 1000),
            "short_steps": (1, 1000),
        }
        for name, limits in wholes.items():
            object.__setattr__(self, name, whole_number(name, getattr(self, name), *limits))
        options = {"jump": JUMPS, "within": WITHIN, "start": STARTS, "second": SECONDS, "variant": VARIANTS, "detail": DETAILS}
        for name, allowed in options.items():
            if getattr(self, name) not in allowed:
                raise SpecError(name, f"{getattr(self, name)!r} is not one of {', '.join(allowed)}")
        for name in ("step_size", "jump_step_size", "second_scale", "bridge_power", "short_energy_error", "split_scale"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise SpecError(name, f"{value} is not a finite number above 0")
        if not 0 < self.tempering <= 1:
            raise SpecError("tempering", f"{self.tempering} is not above 0 and at most 1")
        for mistake, jumps in MISTAKES.items():
            if VARIANTS[self.variant] & mistake and self.jump not in jumps:
                raise SpecError("variant", f"{self.variant} is a mistake of the jump {' or '.join(jumps)}")
        if self.jump == "palindromic" and self.within == "none":
            raise SpecError("within", "the palindromic jump stands between moves within the model: choose nuts or hmc")
        if self.jump in BRIDGED and self.within == "none" and self.step_size is None and self.jump_step_size is None:
            raise SpecError("jump_step_size", "is needed where no move within the model finds a step size")
        if not 0 < self.target_accept < 1:
            raise SpecError("target_accept", f"{self.target_accept} is not between 0 and 1")
        for name in ("weight_precision", "noise_precision"):
            prior = getattr(self, name)
            if prior is not None and not (len(prior) == 2 and all(math.isfinite(n) and n > 0 for n in prior)):
                raise SpecError(name, f"{prior!r} is not a pair (shape, rate) of numbers above 0")

    @property
    def wrong(self) -> int:
        """The mistakes, as bits of `engine.jumps.sweep.VARIANTS`."""
        return VARIANTS["as_coded" if self.jump == "as_coded" else self.variant]

    @property
    def surrounded(self) -> bool:
        """Whether a jump stands between moves within the models."""
        return self.jump == "palindromic" or bool(self.wrong & NO_KERNEL_DENSITIES and self.jump not in BRIDGED)

    @property
    def ledger_rows(self) -> dict[str, int]:
        """Rows of a jump's bridges and stages in the ledger."""
        bridges = {"annealed": self.bridges, "tempered": 2 * self.bridges + 1}
        rows = 3 if self.surrounded else bridges.get(self.jump, 0)
        return {"bridges": rows, "stages": STAGES if self.jump == "delayed" else 0}

    def crossing(self) -> Bridges:
        """How an annealed or tempered jump crosses."""
        t = np.linspace(0.0, 1.0, self.bridges + 1)
        annealed = self.jump == "annealed"
        level = t**self.bridge_power if annealed else self.tempering**t
        return Bridges(annealed, level, self.jump_moves, self.jump_steps)

    def second_draw(self, network: Network) -> Second:
        """The second draw of a delayed jump."""
        informed = self.second == "informed"
        if informed and (size_range("depth", network.depth) != (1, 1) or not self.keep_outputs):
            raise SpecError("second", "the informed draw needs one hidden layer and kept outputs")
        return Second(informed, float(self.second_scale or (1.0 if informed else 0.5)))

    def rules(self, network: Network) -> Rules:
        """How chains over the architectures of `network` move."""
        if self.noise_precision is not None and network.likelihood != "gaussian":
            raise SpecError("noise_precision", f"the {network.likelihood} likelihood has no noise")
        widths, depths = size_range("width", network.width), size_range("depth", network.depth)
        if widths[0] == widths[1] and depths[0] == depths[1]:
            raise SpecError("width", "is fixed, and so is depth: give (low, high) for one of them")
        if self.jump == "split" and depths != (1, 1):
            raise SpecError("jump", "a unit is split where there is one hidden layer")
        weight_shape, weight_rate = self.weight_precision or (1.0, 0.0)
        noise_shape, noise_rate = self.noise_precision or (1.0, 0.0)
        return Rules(
            lowest_width=widths[0],
            lowest_depth=depths[0],
            log_width_prior=log_size_prior("width_prior", self.width_prior, *widths),
            log_depth_prior=log_size_prior("depth_prior", self.depth_prior, *depths),
            way={"rescaled": STRETCH, "split": SPLIT, "redraw": REDRAW}.get(self.jump, KEEP),
            split_scale=float(self.split_scale),
            scaled=bool(self.scale_by_width),
            wrong=self.wrong,
            weight_shape=float(weight_shape),
            weight_rate=float(weight_rate),
            noise_shape=float(noise_shape),
            noise_rate=float(noise_rate),
        )

    def start_sizes(self, network: Network, chains: int) -> tuple[list[int | None], list[int | None]]:
        """Width and depth at which each of the first `chains` chains starts, None where they are drawn."""
        return (
            _each("start_width", self.start_width, size_range("width", network.width), chains),
            _each("start_depth", self.start_depth, size_range("depth", network.depth), chains),
        )


def log_size_prior(name: str, prior: Prior, low: int, high: int) -> Array:
    """Log prior (high - low + 1,) of a width or a depth, normalised over low..high.

    prior : "uniform"; ("geometric", q), p(k) proportional to q^k, 0 < q < 1; or ("poisson", mean), mean > 0
    """
    sizes = np.arange(low, high + 1, dtype=np.float64)
    kind, number = (prior, math.nan) if isinstance(prior, str) else prior
    if kind == "uniform":
        weights = np.zeros(len(sizes))
    elif kind == "geometric":
        if not 0 < number < 1:
            raise SpecError(name, f"the geometric prior needs a ratio between 0 and 1, not {number}")
        weights = sizes * math.log(number)
    elif kind == "poisson":
        if not (math.isfinite(number) and number > 0):
            raise SpecError(name, f"the Poisson prior needs a mean above 0, not {number}")
        weights = sizes * math.log(number) - np.array([math.lgamma(k + 1.0) for k in sizes])
    else:
        raise SpecError(name, f'{prior!r} is not "uniform", ("geometric", ratio) or ("poisson", mean)')
    return np.asarray(weights - np.logaddexp.reduce(weights))


def size_range(name: str, value: int | tuple[int, int]) -> tuple[int, int]:
    """A width or a depth as (low, high), at least 1."""
    low, high = value if isinstance(value, tuple) else (value, value)
    if low < 1:
        raise SpecError(name, "must be at least 1: a network that grows needs a unit and a layer to begin with")
    return low, high


def _each(name: str, value: Size, allowed: tuple[int, int], chains: int) -> list[int | None]:
    if value is None:
        return [None] * chains
    if isinstance(value, (int, np.integer)):
        value = [int(value)] * chains
    if len(value) < chains:
        raise SpecError(name, f"has {len(value)} values for {chains} chains")
    return [whole_number(name, size, *allowed) for size in value[:chains]]
