"""The player as a component of the page: one canvas that plays a scene. See player/scene.py for what a scene is."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from app.kit import push, seams
from app.kit.assets import loader

_mount = st.components.v2.component("posterior_lab.player", js=loader("player"))


def player(
    blob: bytes,
    *,
    key: str,
    height: int | None = None,
    channel: push.Channel | None = None,
    cue: bytes = b"",
    on_event: Callable[[dict], None] | None = None,
) -> dict | None:
    """Mounts the player with an encoded scene; returns the event that caused this run of the script, or None.

    Events: {"kind": "window", "t"} asks for the inside of transition t; {"kind": "points", "panel", "points"} after
    an edit; {"kind": "click", "panel", "x", "y"}; {"kind": "choice", "option"}, of a question; {"kind": "picture"} asks
    for what was lost on the `channel`. `on_event` is called with the event before the script runs.
    A blob with the same `run` keeps the reader's place, another one starts afresh. `height` in px, None: as needed.
    `channel` brings it blobs sooner, and the `cue` of the story.
    """

    def changed() -> None:
        event = seams.component_event(key)
        if on_event is not None and event is not None:
            on_event(event)

    data = blob + push.NO_STAMP if channel is None else channel.data(blob, cue)
    result = _mount(data=data, key=key, height="content" if height is None else height, on_event_change=changed)
    return result.event
