"""Marks as they stand in one state of the player, cut out of a picture: old ones that stay in a new picture, and those
that follow a slider."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit.player.scene import INNER

# The arrays of each kind of mark of which one item belongs to one transition, or to one sub-step.
ITEMS: Mapping[str, Sequence[str]] = {
    "points": ("points", "classes", "mask"),
    "path": ("points",),
    "line": ("xs", "ys"),
    "rule": ("values",),
    "bars": ("values",),
    "counts": ("values",),
    "histogram": ("values",),
    "arrows": ("start", "end"),
    "columns": ("points", "classes", "widths"),
    "contour": (),
    "heatmap": (),
    "text": (),
}
# Those that belong to all of them.
WHOLE: Mapping[str, Sequence[str]] = {
    "line": ("band",),
    "bars": ("truth",),
    "counts": ("truth",),
    "contour": ("values",),
    "heatmap": ("frames",),
}


class Frozen:
    """The marks of a picture when its transition `t` is on stage.

    upto : the newest draw that counts; t, or t − 1 inside the transition
    """

    def __init__(self, header: Mapping[str, Any], arrays: Sequence[NDArray], t: int, upto: int | None = None):
        self._header, self._arrays = header, arrays
        self.t, self.upto = t, t if upto is None else upto

    def layer(self, layer: Mapping[str, Any]) -> dict[str, Any] | None:
        """A mark with its arrays in place of their numbers, of what there is to see of it; None where it cannot be cut
        out."""
        kind, show = layer["kind"], layer["show"]
        if not cuttable(layer):
            return None
        taken = dict(layer)
        rows = self._rows(show)
        curves = kind == "line" and self._arrays[layer["ys"]].ndim == 2  # each on the same xs
        single = kind == "bars" and self._arrays[layer["values"]].ndim == 1
        for key in ITEMS[kind]:
            if isinstance(layer.get(key), int):
                values = self._arrays[layer[key]]
                taken[key] = values if single or (curves and key == "xs") else values[rows]
        if kind == "bars" and not single:
            taken["values"] = taken["values"][-1] if len(taken["values"]) else np.full(len(layer["labels"]), np.nan, np.float32)
        for key in WHOLE.get(kind, ()):  # a band goes along with a line of its own
            if layer[key] is not None:
                taken[key] = self._arrays[layer[key]] if key != "band" else [self._arrays[each][rows] for each in layer[key]]
        if layer.get("at") is not None:  # one of several polylines, or of several maps
            key = "points" if kind == "path" else "frames"
            at = self._arrays[layer["at"]]
            one = int(at[max(0, self.upto + len(at) - self._header["steps"])])
            whole = self._arrays[layer[key]]
            taken |= {key: whole[one] if kind == "path" else whole[one : one + 1], "at": None}
        elif kind == "heatmap":
            frames = self._arrays[layer["frames"]]
            one = min(len(frames) - 1, max(0, self.upto) * len(frames) // self._header["steps"])
            taken["frames"] = frames[one : one + 1]
        was = "at" if layer.get("at") is not None else show["what"]  # one of several belongs to the transition, too
        taken["show"] = {"what": "all", "last": None, "fade": show["fade"], "phase": show["phase"], "was": was}
        return taken

    def _rows(self, show: Mapping[str, Any]) -> slice:
        what, end = show["what"], self.upto + 1
        if what == "all":
            return slice(None)
        if what == "at":
            return slice(self.t, self.t + 1)
        if what not in INNER:
            return slice(max(0, end - (show["last"] or end)), end)
        window = self._header["window"]
        offsets = self._arrays[window["offsets"]]
        at = self.t - window["first"]
        if not 0 <= at < len(offsets) - 1:
            return slice(0, 0)
        first, end = int(offsets[at]), int(offsets[at + 1])
        return slice(max(first, end - 1) if what == "inner_at" else first, end)


def cuttable(layer: Mapping[str, Any]) -> bool:
    """Whether what there is to see of a mark is a choice of its items."""
    return layer["kind"] in ITEMS and layer["show"]["what"] != "picked" and "parts" not in layer["show"]


def has_inside(header: Mapping[str, Any], arrays: Sequence[NDArray], t: int) -> bool:
    """Whether a picture has the inside of transition `t`, or its transitions have none."""
    window = header["window"]
    return window is None or window["first"] <= t < window["first"] + len(arrays[window["offsets"]]) - 1
