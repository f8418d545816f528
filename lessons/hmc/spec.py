"""What decides the picture of this lesson: an HMC run in the plane, and how it is looked at."""

from __future__ import annotations

from dataclasses import dataclass

from engine.samplers.spec import HmcSpec
from engine.spec import SpecError, choice, integer
from engine.targets.target import TargetError

VIEWS = ("path", "phase", "draws")


@dataclass(frozen=True, kw_only=True)
class HmcLesson(HmcSpec):
    """An HMC run on a density in the plane, small enough that its whole inside can be shown."""

    target: str = choice("banana", HmcSpec.declarations()["target"].options, "shape of the density")
    dimension: int = integer(2, 2, 2, "this lesson shows the whole density, so it stays in the plane")
    draws: int = integer(500, 10, 2000, "transitions of each chain", log=True)
    warmup: int = integer(0, 0, 2000, "transitions run and dropped before the first draw kept")
    chains: int = integer(1, 1, 4, "independent chains, each with its own random numbers")
    view: str = choice(
        "path",
        VIEWS,
        "what stands beside the map: energy and distance along the path, phase space, or the running marginals",
    )
    reverse: str = choice(
        "off", ("off", "on"), "at the end of each path, flip the momentum and run the same steps again"
    )

    def check(self) -> None:
        super().check()
        if self.target == "formula":
            try:
                self.build_target()
            except TargetError as error:
                raise SpecError("formula", str(error)) from error
        if self.mass != "identity":
            self.mass_matrix()  # refuses a target whose covariance is unknown

    def simulation(self) -> HmcLesson:
        """The part that decides the run: the same for every way of looking at it."""
        return self.replace(view="path", reverse="off")
