"""The drawing pad: one small component on which a reader draws with mouse, finger, pen or keyboard."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from app.kit import seams
from app.kit.assets import loader
from engine.spec import SpecError

LIMIT = 240  # points of a drawing
DECIMALS = 3

_mount = st.components.v2.component("posterior_lab.pad", js=loader("pad"))

Strokes = tuple[tuple[float, float, int], ...]


def pad(points: Sequence[tuple[float, float, int]], *, key: str, on_event: Callable[[dict], None]) -> None:
    """Mounts the pad with the strokes `points` (x, y, stroke), from 0 to 1 with y down.

    `on_event` is called with {"kind": "drawing", "points", "final"} before the script runs: several times while a
    stroke is drawn, `final` false, and once when it is done. What it carries comes from the browser: see `strokes`.
    """

    seen = f"{key}/seen"  # the number of the last finished drawing: echoes of earlier ones must not undo what is newer

    def changed() -> None:
        event = seams.component_event(key)
        if event is not None:
            if event.get("final") and isinstance(event.get("number"), int):
                st.session_state[seen] = event["number"]
            on_event(event)

    data = {"points": [list(point) for point in points], "limit": LIMIT, "seen": st.session_state.get(seen, 0)}
    _mount(data=data, key=key, height="content", on_event_change=changed)


def strokes(event: dict) -> Strokes:
    """The strokes of an event, checked. Raises SpecError."""
    rows = event.get("points")
    if not isinstance(rows, list) or len(rows) > LIMIT:
        raise SpecError("drawing", f"is not a list of at most {LIMIT} points")
    found = []
    for row in rows:
        try:
            x, y, stroke = (float(value) for value in row)
        except (TypeError, ValueError):
            raise SpecError("drawing", "a point is not (x, y, stroke)") from None
        if not (0.0 <= x <= 1.0 and 0.0 <= y <= 1.0 and 0.0 <= stroke <= LIMIT):
            raise SpecError("drawing", "a point lies outside the pad")
        found.append((round(x, DECIMALS), round(y, DECIMALS), int(stroke)))
    return tuple(found)
