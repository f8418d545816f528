"""Links: a spec as query parameters, and back.

A link carries the version of the spec's class and *every* value, so that it shows the same picture after a default
has changed. Reading never repairs silently: each unknown, repeated, malformed or impossible parameter gives one
`Problem`, which names it and says what was used instead. Numbers are written with the fewest digits that read back to
the same float.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from engine.spec import Declaration, Spec, SpecError, validate

VERSION, SCENARIO, STORY, PRESENT, HIDE = "v", "scenario", "story", "present", "hide"
FRAME, SPEED, SLOW = "frame", "speed", "slow"
PLAYER = (FRAME, SPEED, SLOW)  # written by the player, which alone knows them: app/static/player/address.js
RESERVED = (VERSION, SCENARIO, STORY, PRESENT, HIDE, *PLAYER, "embed", "embed_options")  # the last two belong to Streamlit
SPEEDS = tuple(2.0**power for power in range(-2, 10))  # of the player: app/static/player/clock.js

Query = Mapping[str, Sequence[str]]

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_PLACE = re.compile(r"0*([1-9]\d{0,8})(?:\.0*([1-9]\d{0,8}))?", re.ASCII)
_NUMBER_LENGTH = 32  # the longest shortest-repr float has 24 characters
_SHOWN = 40  # characters of a bad value that a message repeats


@dataclass(frozen=True)
class Problem:
    """Something in a link that could not be used: `parameter` and a sentence `message`.

    Both may hold what a stranger typed.
    """

    parameter: str
    message: str


@dataclass(frozen=True)
class Frame:
    """Where a link has the player stand.

    place : transition and sub-step inside it, both from 0; no sub-step: the transition is over; None: where the story
        begins, and it plays
    speed : one of `SPEEDS`; None: the player's own
    slow : whether it plays the sub-steps, in slow motion
    """

    place: tuple[int, int | None] | None = None
    speed: float | None = None
    slow: bool = False


@dataclass(frozen=True)
class Link:
    """What a link asks for: the spec, its scenario, the projector view, the controls that a teacher has hidden, the
    step of the story (0 is the first; None: where the scenario is told), and the frame.
    """

    spec: Spec
    scenario: str | None = None
    present: bool = False
    hide: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    step: int | None = None
    frame: Frame = Frame()


def encode(spec: Spec) -> dict[str, str]:
    """The query parameters of `spec`: the version and every declared value."""
    declarations = spec.declarations()
    values = {name: _written(declaration, getattr(spec, name)) for name, declaration in declarations.items()}
    return {VERSION: str(spec.version), **values}


def decode(cls: type[Spec], raw: Query, base: Spec | None = None) -> tuple[Spec, tuple[Problem, ...]]:
    """Read a spec of class `cls`.

    Values that are absent come from `base` (default: `cls()`), unusable ones too, with a Problem.
    """
    base = cls() if base is None else base
    declarations = cls.declarations()
    problems: list[Problem] = []
    values: dict[str, Any] = {}
    for name, given in raw.items():
        if name in RESERVED:
            continue
        if name not in declarations:
            problems.append(Problem(_shown(name) if name.strip() else "“”", "is not a parameter of this page; it was ignored"))
            continue
        try:
            values[name] = _read(name, declarations[name], given)
        except SpecError as error:
            problems.append(_replaced(error, base, name))
    problems += _version_problem(cls, raw)
    return _assemble(base, values, problems), tuple(problems)


def write(
    spec: Spec, scenario: str | None = None, present: bool = False, hide: Sequence[str] = (), step: int | None = None
) -> dict[str, str]:
    """The whole query of a page. Readers count steps from 1."""
    story = "" if step is None else str(step + 1)
    view = {SCENARIO: scenario or "", STORY: story, PRESENT: "1" if present else "", HIDE: ",".join(hide)}
    return {**{name: value for name, value in view.items() if value}, **encode(spec)}


def read(cls: type[Spec], raw: Query, scenarios: Mapping[str, Spec], extra_controls: Sequence[str] = ()) -> Link:
    """Read the whole query of a page. A scenario's spec is the base, explicit values override it.

    A query without any value shows the first scenario.
    """
    problems: list[Problem] = []
    controls = (*cls.declarations(), *extra_controls)
    scenario = _scenario(raw, scenarios, problems)
    if scenario is None and scenarios and not set(raw) & set(controls):
        scenario = next(iter(scenarios))
    present = _switch(raw, PRESENT, problems, "the normal view was used")
    names = [name for name in (_one(raw, HIDE, problems, "nothing was hidden") or "").split(",") if name]
    for name in names:
        if name not in controls:
            problems.append(Problem(HIDE, f"{_quoted(name)} is not a control of this page; it was ignored"))
    spec, more = decode(cls, raw, scenarios.get(scenario) if scenario else None)
    hide = tuple(dict.fromkeys(name for name in names if name in controls))
    step = _step(raw, problems)
    frame = Frame(_place(raw, problems), _speed(raw, problems), _switch(raw, SLOW, problems, "it plays as usual"))
    return Link(spec, scenario, present, hide, (*problems, *more), step, frame)


def unframed(query: Query) -> dict[str, list[str]]:
    """A query without what the player writes."""
    return {name: list(given) for name, given in query.items() if name not in PLAYER}


def _place(raw: Query, problems: list[Problem]) -> tuple[int, int | None] | None:
    given = _one(raw, FRAME, problems, "the step plays from its beginning")
    found = _PLACE.fullmatch(given or "")
    if found:
        return int(found[1]) - 1, int(found[2]) - 1 if found[2] else None
    if given is not None:
        says = f"{_quoted(given)} is no place in a run, like 12, or 12.3 for the third part of transition 12"
        problems.append(Problem(FRAME, f"{says}; the step plays from its beginning"))
    return None


def _speed(raw: Query, problems: list[Problem]) -> float | None:
    given = _one(raw, SPEED, problems, "the usual one was used")
    known = {_shortest(speed): speed for speed in SPEEDS}
    if given is not None and given not in known:
        problems.append(Problem(SPEED, f"{_quoted(given)} is not one of {', '.join(known)}; the usual one was used"))
    return known.get(given or "")


def _switch(raw: Query, name: str, problems: list[Problem], instead: str) -> bool:
    given = _one(raw, name, problems, instead)
    if given not in (None, "0", "1"):
        problems.append(Problem(name, f"{_quoted(given or '')} is neither 0 nor 1; {instead}"))
    return given == "1"


def _step(raw: Query, problems: list[Problem]) -> int | None:
    given = _one(raw, STORY, problems, "it begins where the scenario is told")
    if given is None:
        return None
    if len(given) <= _NUMBER_LENGTH and _INTEGER.fullmatch(given) and int(given) > 0:
        return int(given) - 1
    problems.append(Problem(STORY, f"{_quoted(given)} is not a step; it begins where the scenario is told"))
    return None


def _scenario(raw: Query, scenarios: Mapping[str, Spec], problems: list[Problem]) -> str | None:
    scenario = _one(raw, SCENARIO, problems, "none of them was used")
    if scenario is None or scenario in scenarios:
        return scenario
    known = ", ".join(scenarios) or "none"
    problems.append(Problem(SCENARIO, f"{_quoted(scenario)} is not one of {known}; it was ignored"))
    return None


def address(page: str, query: Mapping[str, str]) -> str:
    """The link to `page` (scheme, host and path) with `query`."""
    return f"{page.split('?')[0].split('#')[0]}?{urlencode(query)}"


# One value ----------------------------------------------------------------------------------------------------------


def _written(declaration: Declaration, value: Any) -> str:
    if declaration.kind == "number":
        return _shortest(value)
    if declaration.kind == "points":
        return ";".join(f"{_shortest(x)},{_shortest(y)},{label}" for x, y, label in value)
    return str(value)


def _shortest(value: float) -> str:
    text = repr(float(value))
    return text[:-2] if text.endswith(".0") else text


def _read(name: str, declaration: Declaration, given: Sequence[str]) -> Any:
    if len(given) != 1:
        raise SpecError(name, f"was given {len(given)} times")
    return validate(name, declaration, _parsed(name, declaration, given[0]))


def _parsed(name: str, declaration: Declaration, text: str) -> Any:
    if declaration.kind == "number":
        return _number(name, text)
    if declaration.kind == "integer":
        if len(text) > _NUMBER_LENGTH or not _INTEGER.fullmatch(text):
            raise SpecError(name, f"{_quoted(text)} is not a whole number")
        return int(text)
    if declaration.kind == "choice" and text not in declaration.options:
        raise SpecError(name, f"{_quoted(text)} is not one of {', '.join(declaration.options)}")
    if declaration.kind == "points":
        return _points(name, declaration, text)
    return text


def _number(name: str, text: str) -> float:
    if len(text) > _NUMBER_LENGTH or not _NUMBER.fullmatch(text):
        raise SpecError(name, f"{_quoted(text)} is not a number")
    return float(text)  # may be infinite ("1e400"): the declaration refuses that


def _points(name: str, declaration: Declaration, text: str) -> tuple[tuple[float, float, int], ...]:
    if not text:
        return ()
    if text.count(";") >= declaration.high:
        raise SpecError(name, f"{text.count(';') + 1} points are more than the {declaration.high:g} allowed")
    rows = []
    for index, item in enumerate(text.split(";"), start=1):
        parts = item.split(",")
        if len(parts) != 3 or len(parts[2]) > _NUMBER_LENGTH or not _INTEGER.fullmatch(parts[2]):
            raise SpecError(name, f"point {index}, {_quoted(item)}, is not x,y,class")
        rows.append((_number(name, parts[0]), _number(name, parts[1]), int(parts[2])))
    return tuple(rows)


# Problems -----------------------------------------------------------------------------------------------------------


def _assemble(base: Spec, values: dict[str, Any], problems: list[Problem]) -> Spec:
    """`base` with `values`; a value that breaks a rule between fields is dropped, with a Problem. In a link typed by
    hand a plus sign arrives as a space: a text that makes no sense is read once more with plus signs.
    """
    values, typed = dict(values), set[str]()
    while True:
        try:
            return base.replace(**values)
        except SpecError as error:
            text = values.get(error.parameter)
            if isinstance(text, str) and " " in text and error.parameter not in typed:
                typed.add(error.parameter)
                values[error.parameter] = text.replace(" ", "+")
                continue
            if error.parameter in typed & values.keys():
                values[error.parameter] = values[error.parameter].replace("+", " ")
            if error.parameter not in values:
                problems.append(Problem(error.parameter, f"{error.reason}; the other values of the link were not used either"))
                return base
            problems.append(_replaced(error, base, error.parameter))
            del values[error.parameter]


def _replaced(error: SpecError, base: Spec, name: str) -> Problem:
    used = _written(base.declarations()[name], getattr(base, name))
    return Problem(name, f"{error.reason}; {_quoted(used) if used else 'nothing'} was used")


def _version_problem(cls: type[Spec], raw: Query) -> list[Problem]:
    given = raw.get(VERSION, [str(cls.version)])
    if list(given) == [str(cls.version)]:
        return []
    shown = _quoted(given[0]) if len(given) == 1 else f"given {len(given)} times"
    return [Problem(VERSION, f"is {shown}, but this page writes version {cls.version}; the values were read as version {cls.version}")]


def _one(raw: Query, name: str, problems: list[Problem], instead: str) -> str | None:
    given = raw.get(name, ())
    if len(given) > 1:
        problems.append(Problem(name, f"was given {len(given)} times; {instead}"))
    return given[0] if len(given) == 1 else None


def _shown(text: str) -> str:
    text = "".join(c if c.isprintable() else "�" for c in text[: _SHOWN + 1])
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _quoted(text: str) -> str:
    return f"“{_shown(text)}”"
