"""The stills of the start page: what each lesson's stage looks like. `python -m tests.browser.stills` takes them."""

from __future__ import annotations

import html
from functools import cache
from typing import Literal

from app import catalogue

FOLDER = catalogue.ROOT / "app" / "static" / "stills"
STYLE = FOLDER.with_name("start.css").read_text(encoding="utf-8")  # here, since the page itself is run anew each time
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


@cache
def kept() -> frozenset[str]:
    """The names of the files, looked up once."""
    return frozenset(path.name for path in FOLDER.glob("*.webp"))


def image(entry: catalogue.Entry, theme: str) -> str:
    """The still of a lesson, as HTML, "" where there is none; it is fetched when it comes near the window."""
    if f"{entry.slug}-{theme}.webp" not in kept():
        return ""
    told = html.escape(f"The stage of {entry.title}", quote=True)
    source = f"app/static/stills/{entry.slug}-{theme}.webp"
    return f'<img class="still" src="{source}" alt="{told}" width="480" height="270" loading="lazy" decoding="async">'
