"""Specs: frozen, validated descriptions of a run.

A spec holds everything that decides what is computed, the seed included. Fields are declared with `number`, `integer`,
`choice`,
`text` and `points`; the declaration carries the range and a short description, so that the URL codec and the controls
in `app.kit` need no second table.
A value outside its declaration raises `SpecError`, which names the parameter. Nothing is ever clipped or replaced
silently.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ClassVar, Self

MAX_SEED = 2**32 - 1


class SpecError(ValueError):
    """A parameter has a value that its declaration does not allow.

    Attributes
    ----------
    parameter : name of the field
    reason : what is wrong and what would be right, as a sentence fragment for people
    """

    def __init__(self, parameter: str, reason: str):
        super().__init__(f"{parameter}: {reason}")
        self.parameter = parameter
        self.reason = reason

    def __reduce__(self) -> tuple[type[SpecError], tuple[str, str]]:  # else it cannot come back from another process
        return type(self), (self.parameter, self.reason)


@dataclass(frozen=True)
class Declaration:
    """What a field may hold.

    `kind` is "number", "integer", "choice", "text" or "points". `low`, `high` bound numbers (inclusive) and the length
    of text and point
    lists. `options` lists the values of a choice. `unit` and `doc` are for people. `log` asks for a logarithmic slider.
    `step` is
    the slider's step; validation ignores it.
    """

    kind: str
    doc: str
    low: float = -math.inf
    high: float = math.inf
    options: tuple[str, ...] = ()
    unit: str = ""
    log: bool = False
    step: float | None = None


def _declare(default: Any, declaration: Declaration) -> Any:
    return dataclasses.field(default=default, metadata={"declaration": declaration})


def number(default: float, low: float, high: float, doc: str, *, unit: str = "", log: bool = False, step: float | None = None) -> Any:
    """Declare a finite real field in [low, high]."""
    return _declare(float(default), Declaration("number", doc, low, high, unit=unit, log=log, step=step))


def integer(default: int, low: int, high: int, doc: str, *, unit: str = "", log: bool = False, step: int | None = None) -> Any:
    """Declare a whole-number field in [low, high]."""
    return _declare(default, Declaration("integer", doc, low, high, unit=unit, log=log, step=step))


def choice(default: str, options: tuple[str, ...], doc: str) -> Any:
    """Declare a field that takes one of `options`."""
    return _declare(default, Declaration("choice", doc, options=tuple(options)))


def text(default: str, max_length: int, doc: str) -> Any:
    """Declare a free-text field of at most `max_length` characters (a formula)."""
    return _declare(default, Declaration("text", doc, 0, max_length))


def points(max_points: int, doc: str, *, default: tuple[tuple[float, float, int], ...] = ()) -> Any:
    """Declare a tuple of at most `max_points` labelled points `(x, y, class)`."""
    return _declare(default, Declaration("points", doc, 0, max_points))


def check_points(placed: Sequence[tuple[float, float, int]], reach: float, labelled: bool = True) -> None:
    """Raise SpecError for the first point that lies outside −`reach` to `reach`, or is `labelled` neither 0 nor 1."""
    for index, (x, y, label) in enumerate(placed, start=1):
        if labelled and label not in (0, 1):
            raise SpecError("points", f"point {index} has class {label}; the classes are 0 and 1")
        if max(abs(x), abs(y)) > reach:
            raise SpecError("points", f"point {index}, ({x:g}, {y:g}), is outside −{reach:g} to {reach:g}")


def seed_field(default: int = 1) -> Any:
    """Declare the seed: every random number of a run derives from it."""
    return integer(default, 0, MAX_SEED, "every random number of the run derives from it")


def validate(name: str, declaration: Declaration, value: Any) -> Any:
    """Return `value` as the declared type. Raises SpecError if it does not fit."""
    return _VALIDATORS[declaration.kind](name, declaration, value)


def _range(name: str, declaration: Declaration, value: Any) -> None:
    if not declaration.low <= value <= declaration.high:
        shown = f"{value:,.10g}" if abs(value) < 1e300 else "such a number"  # an int may be beyond any float
        raise SpecError(name, f"{shown} is outside {declaration.low:,.10g} to {declaration.high:,.10g}")


def _number(name: str, declaration: Declaration, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise SpecError(name, f"{value!r} is not a finite number")
    _range(name, declaration, value)
    return float(value)


def _integer(name: str, declaration: Declaration, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise SpecError(name, f"{value!r} is not a whole number")
    _range(name, declaration, value)
    return value


def _choice(name: str, declaration: Declaration, value: Any) -> str:
    if value not in declaration.options:
        raise SpecError(name, f"{value!r} is not one of {', '.join(declaration.options)}")
    return str(value)


def _text(name: str, declaration: Declaration, value: Any) -> str:
    if not isinstance(value, str):
        raise SpecError(name, f"{value!r} is not text")
    if len(value) > declaration.high:
        raise SpecError(name, f"{len(value)} characters are more than the {declaration.high:g} allowed")
    return value


def _points(name: str, declaration: Declaration, value: Any) -> tuple[tuple[float, float, int], ...]:
    if not isinstance(value, (tuple, list)):
        raise SpecError(name, "is not a list of points")
    if len(value) > declaration.high:
        raise SpecError(name, f"{len(value)} points are more than the {declaration.high:g} allowed")
    clean = []
    for index, point in enumerate(value):
        try:
            x, y, label = point
            row = (float(x), float(y), int(label))
        except (TypeError, ValueError, OverflowError):
            raise SpecError(name, f"point {index + 1} is not (x, y, class)") from None
        if not (math.isfinite(row[0]) and math.isfinite(row[1])):
            raise SpecError(name, f"point {index + 1} has a coordinate that is not finite")
        clean.append(row)
    return tuple(clean)


_VALIDATORS: dict[str, Callable[[str, Declaration, Any], Any]] = {
    "number": _number,
    "integer": _integer,
    "choice": _choice,
    "text": _text,
    "points": _points,
}


@dataclass(frozen=True, kw_only=True)
class Spec:
    """Base of every spec: validates each declared field on construction.

    `version` is the version of the URL form of the class. Raise it when the meaning of a field changes. `slow_fields`
    names those that take long to check: pages change them, and read links with them, in a job.
    """

    version: ClassVar[int] = 1
    slow_fields: ClassVar[frozenset[str]] = frozenset()

    def __post_init__(self) -> None:
        for name, declaration in self.declarations().items():
            object.__setattr__(self, name, validate(name, declaration, getattr(self, name)))
        if not _AUTHORED.get():
            self.check()

    def check(self) -> None:
        """Hook for rules that tie fields together. Raises SpecError."""

    @classmethod
    def authored(cls, **values: Any) -> Self:
        """A spec that a lesson is delivered with. What takes long to check of it (a formula is integrated) is left to the
        tests: `check` is not called.
        """
        token = _AUTHORED.set(True)
        try:
            return cls(**values)
        finally:
            _AUTHORED.reset(token)

    @classmethod
    def declarations(cls) -> Mapping[str, Declaration]:
        """The declared fields in order, by name."""
        if cls not in _DECLARED:
            _DECLARED[cls] = {f.name: f.metadata["declaration"] for f in dataclasses.fields(cls) if "declaration" in f.metadata}
        return _DECLARED[cls]

    @classmethod
    def default(cls, name: str) -> Any:
        """The default value of field `name`."""
        return next(f.default for f in dataclasses.fields(cls) if f.name == name)

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed, validated again."""
        return dataclasses.replace(self, **changes)


_AUTHORED: ContextVar[bool] = ContextVar("authored", default=False)
_DECLARED: dict[type[Spec], dict[str, Declaration]] = {}  # by the kind of spec
