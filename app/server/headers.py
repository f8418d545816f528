"""What a browser may do with our pages: run and fetch what comes from this server and nothing else, evaluate no text as
code, and be framed by the pages that `POSTERIOR_LAB_EMBED` names.
"""

from __future__ import annotations

from typing import Any

from engine import settings

# 'unsafe-inline': Streamlit's page and ours begin with a script in the page; blob: its components' and workers' modules
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' blob:; worker-src 'self' blob:; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; media-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' ws: wss: data: blob:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors {frames}"
)


def policy(frames: str | None = None) -> str:
    """The content security policy; `frames` as `POSTERIOR_LAB_EMBED` has it."""
    words = {"none": "'none'", "self": "'self'"}
    return _POLICY.format(frames=" ".join(words.get(word, word) for word in (frames or "*").split()))


class Secure:
    """ASGI middleware: each answer says so."""

    def __init__(self, app: Any):
        self._app = app
        self._headers = [
            (b"content-security-policy", policy(settings.value("EMBED")).encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"same-origin"),
        ]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on; add the headers to its answer."""

        async def answer(message: Any) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in self._headers}
                message = {**message, "headers": [*(h for h in message["headers"] if h[0].lower() not in own), *self._headers]}
            await send(message)

        await self._app(scope, receive, answer if scope["type"] == "http" else send)
