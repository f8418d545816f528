"""The files of the components in the browser: loaders, versions, and the header that has a browser fetch the player
early.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

STATIC = Path(__file__).parents[1] / "static" / "player"
_LOADER = Path(__file__).with_name("loader.js")


def loader(name: str) -> str:
    """The inline part of the component whose module is `app/static/<name>/<name>.js`."""
    text = _LOADER.read_text(encoding="utf-8").replace("__NAME__", name)
    return text.replace("__VERSION__", version(STATIC.with_name(name)))


def version(folder: Path = STATIC) -> str:
    """A hash over all files of a component: a changed file changes every URL, so no browser runs a stale one."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.js")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


class Preload:
    """ASGI middleware: each page names the player's modules, so that the browser fetches them while it still waits for
    its session and not, one after another, when the first picture is there."""

    def __init__(self, app: Any):
        self._app = app
        # low: Streamlit's own scripts come first. The URLs are those of loader.js, relative to the page as there
        links = (
            f"<app/static/player/{path.name}?v={version()}>; rel=modulepreload; fetchpriority=low"
            for path in sorted(STATIC.glob("*.js"))
        )
        self._header = (b"link", ", ".join(links).encode())

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on; add the header to an answer that is a page."""

        async def answer(message: Any) -> None:
            if message["type"] == "http.response.start":
                kind = dict(message["headers"]).get(b"content-type", b"")
                if kind.startswith(b"text/html"):
                    message = {**message, "headers": [*message["headers"], self._header]}
            await send(message)

        await self._app(scope, receive, answer if scope["type"] == "http" else send)
