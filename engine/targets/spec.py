"""The families by name, and the spec that selects one.

To add a target: write one builder `f(*, parameter=default, ...) -> Target` and add a line to `FAMILIES`. Its keyword
arguments are fields of `TargetSpec`, which declares range, unit and description of each; a parameter that no other
family has gets a line there too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, ClassVar

from engine.spec import Spec, SpecError, choice, integer, number, text, validate
from engine.targets.banana import banana
from engine.targets.formula import MAX_LENGTH, FormulaError, formula_target, parse
from engine.targets.funnel import funnel
from engine.targets.gaussian import gaussian
from engine.targets.modes import two_modes
from engine.targets.ring import ring
from engine.targets.student import student
from engine.targets.target import Target, TargetError

FAMILIES: dict[str, Callable[..., Target]] = {
    "gaussian": gaussian,
    "banana": banana,
    "funnel": funnel,
    "ring": ring,
    "two_modes": two_modes,
    "student": student,
    "formula": formula_target,
}


@cache
def parameters_of(name: str) -> tuple[str, ...]:
    """The parameters that matter for the family `name`, in the order of its builder. Raises SpecError for an unknown
    name.
    """
    if name not in FAMILIES:
        raise SpecError("target", f"{name!r} is not one of {', '.join(FAMILIES)}")
    return tuple(inspect.signature(FAMILIES[name]).parameters)


def build(name: str, **parameters: Any) -> Target:
    """The target of family `name`. Parameters left out take their defaults.

    Raises SpecError, naming the parameter, for one that is unknown or outside its declared range; TargetError when a
    formula has an error or is not a density.
    """
    known, declarations = parameters_of(name), TargetSpec.declarations()
    for key in parameters:
        if key not in known:
            raise SpecError(key, f"the target {name} has {', '.join(known)}")
    values = {key: validate(key, declarations[key], value) for key, value in parameters.items()}
    return _build(name, tuple(sorted(values.items())))


@lru_cache(maxsize=64)
def _build(name: str, parameters: tuple[tuple[str, Any], ...]) -> Target:
    return FAMILIES[name](**dict(parameters))


@dataclass(frozen=True, kw_only=True)
class TargetSpec(Spec):
    """Which target, and the parameters of all families side by side; those of other families are ignored (see
    `parameters_of`).
    """

    slow_fields: ClassVar[frozenset[str]] = frozenset({"target", "formula"})  # a formula is integrated

    target: str = choice("gaussian", tuple(FAMILIES), "shape of the density")
    dimension: int = integer(2, 2, 200, "number of coordinates", log=True)
    correlation: float = number(0.8, -0.999, 0.999, "correlation of neighbouring coordinates", step=0.001)
    scale_ratio: float = number(1.0, 1.0, 100.0, "sd of the first coordinate over sd of the last", log=True)
    width: float = number(1.5, 0.2, 5.0, "sd of x₁, along the banana", step=0.05)
    curvature: float = number(0.5, 0.0, 2.0, "how strongly the banana is bent", unit="1/x", step=0.05)
    neck: float = number(3.0, 0.25, 4.0, "sd of v, the log variance of the other coordinates", step=0.05)
    radius: float = number(3.0, 0.0, 10.0, "distance of the ring from the origin", step=0.1)
    thickness: float = number(0.3, 0.02, 3.0, "sd of the distance from the ring", log=True)
    separation: float = number(6.0, 0.0, 20.0, "distance between the modes", unit="sd", step=0.1)
    weight: float = number(0.7, 0.01, 0.99, "probability of the left mode", step=0.01)
    dof: float = number(3.0, 0.5, 100.0, "degrees of freedom: 1 is Cauchy, large is Gaussian; no variance up to 2", log=True)
    formula: str = text("-x^2/2 - (y - x^2)^2", MAX_LENGTH, "log density in x and y, any constant left out")

    def check(self) -> None:
        if self.target == "formula":
            try:
                parse(self.formula)
            except FormulaError as error:
                raise SpecError("formula", str(error)) from error

    def build_target(self) -> Target:
        """The target; the same object for the same parameters. Raises TargetError when a formula is not a density."""
        return build(self.target, **{name: getattr(self, name) for name in parameters_of(self.target)})

    def checked_target(self) -> Target:
        """The target, for `check`. Raises SpecError, naming the field, where it is not a density."""
        try:
            return self.build_target()
        except TargetError as error:
            raise SpecError("formula" if self.target == "formula" else "target", str(error)) from error
