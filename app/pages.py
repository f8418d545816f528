"""The pages as Streamlit wants them, made once: each one made looks at the disk nine times."""

from __future__ import annotations

from functools import cache
from typing import Any

import streamlit as st

from app import catalogue
from app.kit import seams

ICON = (catalogue.ROOT / "app" / "static" / "icon.png").read_bytes()  # a path, or a drawing as text, is looked up on disk in every run


def by_track() -> dict[str, list[Any]]:
    """The start page, then the lessons' by track, for one run of the script."""
    return {track: [seams.page_again(page) for page in made] for track, made in _made().items()}


@cache
def _made() -> dict[str, list[Any]]:
    seams.keep_image(ICON)
    start = st.Page(catalogue.ROOT / "app" / "start.py", title="Start", default=True)
    lessons = {
        track: [st.Page(entry.path, title=entry.title, url_path=entry.slug) for entry in entries]
        for track, entries in catalogue.TRACKS.items()
    }
    papers = [st.Page(entry.path, title=entry.title, url_path=entry.slug) for entry in catalogue.PAPERS]
    return {"": [start], **lessons, "Papers": papers}
