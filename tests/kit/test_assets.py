"""The player's files are fetched early by every page, under the URLs that the loader uses."""

from __future__ import annotations

import asyncio

import pytest

from app.kit.assets import STATIC, Preload, version


def answer(content_type: bytes) -> dict[bytes, bytes]:
    """The headers that a browser sees of an answer of this type."""
    seen: list[dict] = []

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", content_type)]})
        await send({"type": "http.response.body", "body": b""})

    async def send(message):
        seen.append(message)

    asyncio.run(Preload(app)({"type": "http"}, None, send))
    assert [message["type"] for message in seen] == ["http.response.start", "http.response.body"]
    return dict(seen[0]["headers"])


def test_a_page_names_every_module_of_the_player():
    links = answer(b"text/html; charset=utf-8")[b"link"].decode().split(", ")
    assert len(links) == len(list(STATIC.glob("*.js")))
    assert f"<app/static/player/player.js?v={version()}>; rel=modulepreload; fetchpriority=low" in links


@pytest.mark.parametrize("content_type", [b"text/javascript", b"application/json", b"font/woff2"])
def test_other_answers_stay_as_they_are(content_type: bytes):
    assert answer(content_type) == {b"content-type": content_type}
