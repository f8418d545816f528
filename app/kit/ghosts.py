"""A comparison keeps the old marks: those of the run that the step began with stay in the new picture, dotted and named,
on axes that hold both.

They are cut off where the story says, and from then on stand still: a step that changes the settings is compared with
what they were, whether the story changes them or the reader.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit.moments import MomentError, Moments, roles_of
from app.kit.player import frozen, scene

KINDS = ("points", "path", "line", "rule", "bars", "counts", "histogram")  # of marks that can stay
ROLE = "ink"


def place(blob: bytes, at: str) -> int:
    """The transition after which the old marks are cut off."""
    return Moments(blob)[at][0]


def has_inside(blob: bytes, t: int) -> bool:
    """Whether the picture has the inside of transition `t`, or its transitions have none."""
    return frozen.has_inside(*scene.decode(blob), t)


def laid_over(blob: bytes, old: bytes, marks: Sequence[str], words: str, at: str) -> bytes:
    """The picture with marks of an old one.

    marks : their addresses, `panel.role` or `panel.role.kind`
    words : what they are called
    at : the moment of the old run up to which they are drawn
    """
    header, arrays = scene.decode(blob)
    ghosts = _Ghosts(old, place(old, at), words, arrays)
    panels = {panel["id"]: panel for panel in header["panels"]}
    for address in marks:
        for panel, layer in ghosts.of(address):
            if panel["id"] in panels:
                panels[panel["id"]]["layers"].append(layer)
                _widen(panels[panel["id"]], panel)
    header["label"] = f"{header['label']}. Dotted: {words}"
    return scene.pack(header, ghosts.arrays)


def _widen(panel: dict[str, Any], old: dict[str, Any]) -> None:
    """Axes that hold both."""
    for which in ("x", "y"):
        mine, other = panel[which], old[which]
        if mine and other and mine["log"] == other["log"]:
            mine["low"], mine["high"] = min(mine["low"], other["low"]), max(mine["high"], other["high"])


class _Ghosts:
    """The marks of an old picture after transition `t`."""

    def __init__(self, old: bytes, t: int, words: str, arrays: Sequence[NDArray]):
        self.header, olds = scene.decode(old)
        self.frozen = frozen.Frozen(self.header, olds, t)
        self.words, self.arrays = words, list(arrays)

    def of(self, address: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """The marks at an address, each with its old panel."""
        first, role, kind = [*address.split("."), None, None][:3]
        panel = next((panel for panel in self.header["panels"] if panel["id"] == first), None)
        named = [
            layer
            for layer in (panel or {"layers": []})["layers"]
            if role in roles_of(layer) and kind in (None, layer["kind"]) and layer["kind"] in KINDS and frozen.cuttable(layer)
        ]
        if panel is None or not named:
            raise MomentError(f"nothing in the picture that can be kept is {address!r}")
        return [(panel, self._still(layer)) for layer in named]

    def _still(self, layer: dict[str, Any]) -> dict[str, Any]:
        cut = self.frozen.layer(layer)
        assert cut is not None
        kept = {key: self._add(values) if isinstance(values, np.ndarray) else values for key, values in cut.items()}
        kept.update({key: None for key in ("band", "truth") if key in layer})  # which have not changed
        named = {"labels": [self.words], "roles": [ROLE]} if layer["kind"] == "points" else {}
        show = {"what": "all", "last": None, "fade": False, "phase": None}
        return {**kept, "show": show, "role": ROLE, "chain": None, "ghost": True, "label": self.words, **named}

    def _add(self, values: NDArray) -> int:
        self.arrays.append(np.ascontiguousarray(values))
        return len(self.arrays) - 1
