"""The files of the components in the browser: loaders, versions, and what a first visit is spared: the header that has
a browser fetch the player early, and the script that says where the server is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.kit import seams
from app.kit.seams import SERVER_AT_THE_PAGE_S_FOLDER

STATIC = Path(__file__).parents[1] / "static" / "player"
_LOADER = Path(__file__).with_name("loader.js")


def loader(name: str) -> str:
    """The inline part of the component whose module is `app/static/<name>/<name>.js`."""
    text = _LOADER.read_text(encoding="utf-8").replace("__NAME__", name)
    return text.replace("__VERSION__", version())


def version(folder: Path = STATIC.parent) -> str:
    """A hash over all modules: a changed file changes every URL, so no browser runs a stale one, and what two components
    share is loaded once."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.js")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:8]


class Preload:
    """ASGI middleware: each page names the player's modules and Streamlit's own for components, so that the browser
    fetches them while it still waits for its session and not, one after another, when the first picture is there."""

    def __init__(self, app: Any):
        self._app = app
        # low: Streamlit's first scripts come first. The player's URLs are those of loader.js, relative to the page
        urls = [f"app/static/player/{path.name}?v={version()}" for path in sorted(STATIC.glob("*.js"))]
        urls += [f"static/js/{name}" for name in seams.component_modules()]
        links = (f"<{url}>; rel=modulepreload; fetchpriority=low" for url in urls)
        self._header = (b"link", ", ".join(links).encode())

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on; add the header to an answer that is a page."""

        async def answer(message: Any) -> None:
            if message["type"] == "http.response.start" and _is_page(message):
                message = {**message, "headers": [*message["headers"], self._header]}
            await send(message)

        await self._app(scope, receive, answer if scope["type"] == "http" else send)


class Base:
    """ASGI middleware: the page of a lesson tells Streamlit's scripts where the server is.

    They would first look for it below the page (`/hmc/_stcore/…`), fail, wait a tenth of a second and look beside it.
    """

    def __init__(self, app: Any, slugs: frozenset[str], asked: Callable[[str], object]):
        """`asked` is called with the slug of each page that a browser asks for."""
        self._app = app
        self._slugs = slugs
        self._asked = asked

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on; put the script into a page that goes by one of the slugs."""
        get = scope["type"] == "http" and scope["method"] == "GET"
        slug = scope["path"].rstrip("/").rpartition("/")[2] if get else ""
        if slug not in self._slugs:
            await self._app(scope, receive, send)
            return
        self._asked(slug)
        start: Any = None  # held back: the length in it changes with the body

        async def answer(message: Any) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _is_page(message):
                start = message
                return
            if start is not None:
                head, mark, rest = message.get("body", b"").partition(b"<head>")
                if mark:
                    message = {**message, "body": head + mark + SERVER_AT_THE_PAGE_S_FOLDER + rest}
                    start = {**start, "headers": [self._longer(*header) for header in start["headers"]]}
                await send(start)
                start = None
            await send(message)

        # uncompressed: the page is small, and a compressed one cannot be written into
        plain = [(name, value) for name, value in scope["headers"] if name != b"accept-encoding"]
        await self._app({**scope, "headers": plain}, receive, answer)

    def _longer(self, name: bytes, value: bytes) -> tuple[bytes, bytes]:
        return name, b"%d" % (int(value) + len(SERVER_AT_THE_PAGE_S_FOLDER)) if name == b"content-length" else value


def _is_page(start: Any) -> bool:
    return any(name == b"content-type" and value.startswith(b"text/html") for name, value in start["headers"])
