"""Sampler specs: a target, a method, its settings and the size of the run, as one validated, frozen description."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.samplers import delayed_rejection, gibbs, hmc, metropolis, nuts, slice_sampling
from engine.spec import SpecError, choice, integer, number, seed_field
from engine.targets.spec import TargetSpec
from engine.targets.target import Target

STARTS = ("random", "at")
MASSES = ("identity", "variances", "covariance")
NUTS_MASSES = (*nuts.ADAPTED_MASSES, *MASSES)
TUNINGS = ("adapt", "fixed")
MAX_TRANSITIONS = 2_000_000  # of all chains together, warm-up included


@dataclass(frozen=True, kw_only=True)
class SamplerSpec(TargetSpec):
    """What every sampler run has. Subclasses name the method and its settings."""

    method: ClassVar[str]

    chains: int = integer(1, 1, 8, "independent chains, each with its own random numbers")
    draws: int = integer(1000, 10, 100_000, "transitions kept of each chain", log=True)
    warmup: int = integer(0, 0, 100_000, "transitions run and dropped before the first draw kept")
    start: str = choice("random", STARTS, "where chains start: drawn from U(-2, 2) per coordinate, or at the point (start_x, start_y)")
    start_x: float = number(0.0, -100.0, 100.0, "first coordinate of the start")
    start_y: float = number(0.0, -100.0, 100.0, "second coordinate of the start")
    seed: int = seed_field()

    def check(self) -> None:
        super().check()
        transitions = self.chains * (self.draws + self.warmup)
        if transitions > MAX_TRANSITIONS:
            raise SpecError(
                "draws", f"{self.chains} chains of {self.draws + self.warmup:,} transitions are more than the {MAX_TRANSITIONS:,} allowed"
            )

    def settings(self) -> dict[str, Any]:
        """Keyword arguments of the method."""
        raise NotImplementedError

    def init(self) -> NDArray[np.float64] | None:
        """The start (dim,), or None for random starts."""
        if self.start == "random":
            return None
        position = np.zeros(self.build_target().dim)
        position[:2] = (self.start_x, self.start_y)[: len(position)]
        return position


@dataclass(frozen=True, kw_only=True)
class MetropolisSpec(SamplerSpec):
    """A run of `engine.samplers.Metropolis`."""

    method: ClassVar[str] = "metropolis"

    scale: float = number(1.0, 0.01, 30.0, "sd of the proposal around the present point", log=True)
    drift: float = number(
        0.0, -3.0, 3.0, "shift of the proposal along the first coordinate, in units of its scale: not 0 makes it asymmetric", step=0.1
    )
    variant: str = choice("exact", metropolis.VARIANTS, "the sampler, or one that is wrong on purpose")

    def settings(self) -> dict[str, Any]:
        return {"scale": self.scale, "drift": self.drift * self.scale, "variant": self.variant}


@dataclass(frozen=True, kw_only=True)
class DelayedRejectionSpec(SamplerSpec):
    """A run of `engine.samplers.DelayedRejection`."""

    method: ClassVar[str] = "delayed_rejection"

    scale: float = number(3.0, 0.01, 30.0, "sd of the first proposal around the present point", log=True)
    stages: int = integer(2, 1, delayed_rejection.MAX_STAGES, "tries before a rejection counts")
    shrink: float = number(0.2, 0.01, 2.0, "scale of each further try, as a fraction of the one before", log=True)
    pull: float = number(0.0, -2.0, 2.0, "centre of a further try: 0 the present point, 1 the one just rejected, -1 opposite", step=0.1)
    variant: str = choice("exact", delayed_rejection.VARIANTS, "the sampler, or one that is wrong on purpose")

    def settings(self) -> dict[str, Any]:
        return {"scale": self.scale, "stages": self.stages, "shrink": self.shrink, "pull": self.pull, "variant": self.variant}


@dataclass(frozen=True, kw_only=True)
class HmcSpec(SamplerSpec):
    """A run of `engine.samplers.Hmc`."""

    method: ClassVar[str] = "hmc"

    step_size: float = number(0.2, 0.001, 5.0, "time that one leapfrog step simulates", log=True)
    steps: int = integer(15, 1, 200, "leapfrog steps of one trajectory", log=True)
    jitter: float = number(0.0, 0.0, 1.0, "each trajectory's step size is drawn within this fraction of step_size", step=0.05)
    mass: str = choice(
        "identity", MASSES, "mass matrix: identity, or the inverse of the target's true variances, or of its true covariance"
    )
    integrator: str = choice("leapfrog", hmc.INTEGRATORS, "how Hamilton's equations are stepped through")
    variant: str = choice("exact", hmc.VARIANTS, "the sampler, or one that is wrong on purpose")

    def settings(self) -> dict[str, Any]:
        return {
            "step_size": self.step_size,
            "steps": self.steps,
            "jitter": self.jitter,
            "mass": self.mass_matrix(),
            "integrator": self.integrator,
            "variant": self.variant,
        }

    def mass_matrix(self) -> ArrayLike:
        """The mass for `Hmc`: 1, (dim,) or (dim, dim)."""
        return true_mass(self.mass, self.build_target())


@dataclass(frozen=True, kw_only=True)
class NutsSpec(SamplerSpec):
    """A run of `engine.samplers.Nuts`. Of `warmup`, which tunes the sampler, at least some hundred transitions are
    wanted.
    """

    method: ClassVar[str] = "nuts"

    tuning: str = choice("adapt", TUNINGS, "find the step size in warm-up, or keep step_size")
    step_size: float = number(0.2, 0.001, 5.0, "time that one leapfrog step simulates, where it is kept", log=True)
    target_accept: float = number(0.8, 0.5, 0.99, "mean acceptance that the step size is tuned to", step=0.01)
    mass: str = choice("diagonal", NUTS_MASSES, "mass matrix: learnt in warm-up, or fixed as in HMC")
    max_depth: int = integer(10, 1, 12, "doublings of the trajectory at most")
    sampling: str = choice("multinomial", nuts.SAMPLINGS, "how a draw is taken from the trajectory")
    variant: str = choice("exact", nuts.VARIANTS, "the sampler, or one with a mistake on purpose")

    def settings(self) -> dict[str, Any]:
        return {
            "step_size": None if self.tuning == "adapt" else self.step_size,
            "target_accept": self.target_accept,
            "mass": self.mass if self.mass in nuts.ADAPTED_MASSES else true_mass(self.mass, self.build_target()),
            "max_depth": self.max_depth,
            "sampling": self.sampling,
            "variant": self.variant,
        }


@dataclass(frozen=True, kw_only=True)
class GibbsSpec(SamplerSpec):
    """A run of `engine.samplers.Gibbs`: one transition is a sweep over all coordinates."""

    method: ClassVar[str] = "gibbs"

    update: str = choice("conditional", gibbs.UPDATES, "draw from the full conditional, or Metropolis one variable at a time")
    scale: float = number(1.0, 0.01, 30.0, "sd of the Metropolis proposal, or step of the window's grid", log=True)
    scan: str = choice("systematic", gibbs.SCANS, "coordinates in order, or one at random each time")
    block: str = choice("no", ("no", "yes"), "draw correlated coordinates jointly")
    variant: str = choice("exact", gibbs.VARIANTS, "the sampler, or one that is wrong on purpose")

    def settings(self) -> dict[str, Any]:
        return {"update": self.update, "scale": self.scale, "scan": self.scan, "block": self.block == "yes", "variant": self.variant}


@dataclass(frozen=True, kw_only=True)
class SliceSamplingSpec(SamplerSpec):
    """A run of `engine.samplers.SliceSampling`: a transition is a sweep over all coordinates, or one hyperrectangle."""

    method: ClassVar[str] = "slice_sampling"

    w: float = number(1.0, 0.01, 100.0, "width of the first interval, about that of a typical slice", log=True)
    interval: str = choice(
        "stepping_out",
        slice_sampling.INTERVALS,
        "how the interval is found: stepping out or doubling along one coordinate, or a box of all that does not grow",
    )
    limit: int = integer(64, 1, slice_sampling.MAX_LIMIT, "widths w to which an interval may grow", log=True)
    variant: str = choice("exact", slice_sampling.VARIANTS, "the sampler, or one that is wrong on purpose")

    def settings(self) -> dict[str, Any]:
        return {"w": self.w, "interval": self.interval, "limit": self.limit, "variant": self.variant}


def true_mass(name: str, target: Target) -> ArrayLike:
    """The mass that `MASSES` names: 1, or the inverse of the target's true variances (dim,) or of its covariance (dim,
    dim).
    """
    if name == "identity":
        return 1.0
    truth = target.truth
    if truth is None or not np.all(np.isfinite(truth.covariance)):
        raise SpecError("mass", "the covariance of this target is not known or not finite: use identity")
    if name == "variances":
        return 1.0 / np.diag(truth.covariance)
    return np.linalg.inv(truth.covariance)
