"""Moments of a run, as a story names them, and what its words may light.

    start                              before the first transition
    end                                after the last
    40                                 after transition 40
    first "accepted" = 0               after the first transition of which the table of the picture says so
    last "ratio" < 1 and "u" > 0.5     after the last one
    max "energy error"                 after the one with the largest value; also min
    ratio of 40                        in the phase of that name of transition 40; also of any of the others

A seed or another machine moves the run, and the moment with it.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit.player import scene
from app.kit.story import END

START = "start"
Place = tuple[int, str | None]  # the transition, and the phase inside it; None: it is over

_PHASE = re.compile(r"^(?P<phase>[\w-]+) of (?P<moment>.+)$")
_EXTREME = re.compile(r'^(?P<which>max|min) "(?P<column>[^"]+)"$')
_SEARCH = re.compile(r"^(?P<which>first|last) (?P<terms>.+)$")
_TERM = re.compile(r'^"(?P<column>[^"]+)" (?P<sign><=|>=|=|<|>) (?P<value>-?[\d.]+)$')
_SIGNS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}


class MomentError(ValueError):
    """A moment or an address that the picture does not have; the message names it."""


class Moments:
    """The moments of the run in a picture."""

    def __init__(self, blob: bytes):
        self._header, self._arrays = scene.decode(blob)

    def __getitem__(self, moment: str) -> Place:
        """The place of `moment`; (-1, None) is the start."""
        if moment == START:
            return -1, None
        phase = None
        if found := _PHASE.match(moment):
            moment, phase = found["moment"], found["phase"]
            known = [each["id"] for each in self._header["phases"]]
            if phase not in known:
                raise MomentError(f"there is no phase {phase!r}; there are {', '.join(known) or 'none'}")
        return self._transition(moment), phase

    def _transition(self, moment: str) -> int:
        steps = self._header["steps"]
        if moment == END:
            return steps - 1
        if moment.isdigit():
            if not 1 <= int(moment) <= steps:
                raise MomentError(f"transition {moment} is not one of 1 to {steps}")
            return int(moment) - 1
        if found := _EXTREME.match(moment):
            values = self._column(found["column"])
            return int(np.nanargmax(values) if found["which"] == "max" else np.nanargmin(values))
        if found := _SEARCH.match(moment):
            true = np.logical_and.reduce([self._holds(term) for term in found["terms"].split(" and ")])
            if not true.any():
                raise MomentError(f"no transition is the {moment}")
            return int(np.flatnonzero(true)[0 if found["which"] == "first" else -1])
        raise MomentError(f"{moment!r} is no moment")

    def _holds(self, term: str) -> NDArray[np.bool_]:
        found = _TERM.match(term)
        if not found:
            raise MomentError(f"{term!r} does not compare a column with a number")
        return _SIGNS[found["sign"]](self._column(found["column"]), float(found["value"]))

    def _column(self, name: str) -> NDArray[Any]:
        columns = {column["name"]: column["values"] for column in self._header["table"]}
        if name not in columns:
            raise MomentError(f"the table has no column {name!r}; it has {', '.join(columns)}")
        return self._arrays[columns[name]]

    def panels(self) -> list[str]:
        """The panels of the picture."""
        return [panel["id"] for panel in self._header["panels"]]

    def has(self, address: str) -> bool:
        """Whether the picture has what a mention lights."""
        first, *rest = address.split(".")
        if first == "card":
            return rest in [[line["id"]] for line in self._header["readouts"]]
        panel = next((panel for panel in self._header["panels"] if panel["id"] == first), None)
        if panel is None or len(rest) > 2:
            return False
        role, kind = [*rest, None, None][:2]
        return any((role is None or role in roles_of(layer)) and kind in (None, layer["kind"]) for layer in panel["layers"])


def roles_of(layer: Mapping[str, Any]) -> list[str | None]:
    """The roles of the marks of a layer; bars may have the truth beside them."""
    truth = ["truth"] if layer.get("truth") is not None else []
    return [layer.get("role"), *(layer.get("roles") or []), *truth]
