"""What a first visit is spared: the player's files are fetched early by every page, under the URLs that the loader
uses, and a lesson's page says where the server is."""

from __future__ import annotations

import asyncio

import pytest

from app.kit.assets import STATIC, Base, Preload, version
from app.kit.seams import SERVER_AT_THE_PAGE_S_FOLDER, component_modules

PAGE = b"<!DOCTYPE html>\n<html>\n  <head>\n    <title>Streamlit</title></head></html>"


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
    assert len(links) == len(list(STATIC.glob("*.js"))) + len(component_modules())
    assert f"<app/static/player/player.js?v={version()}>; rel=modulepreload; fetchpriority=low" in links
    # proxies take 4,096 bytes of headers where nobody has told them otherwise; the others of a page are 700
    assert len(", ".join(links)) < 3_350, "the header of a page has become too long"


@pytest.mark.parametrize("content_type", [b"text/javascript", b"application/json", b"font/woff2"])
def test_other_answers_stay_as_they_are(content_type: bytes):
    assert answer(content_type) == {b"content-type": content_type}


def visit(path: str, method: str = "GET", body: bytes = PAGE, kind: bytes = b"text/html; charset=utf-8"):
    """The headers and the body that a browser gets, the headers that the app inside saw, and which pages are expected."""
    asked: list[dict] = []
    expected: list[str] = []
    seen: list[dict] = []

    async def app(scope, receive, send):
        asked.append(dict(scope["headers"]))
        headers = [(b"content-type", kind), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body[:40], "more_body": True})
        await send({"type": "http.response.body", "body": body[40:]})

    async def send(message):
        seen.append(message)

    scope = {"type": "http", "method": method, "path": path, "headers": [(b"accept-encoding", b"gzip")]}
    asyncio.run(Base(app, slugs=frozenset({"hmc"}), asked=expected.append)(scope, None, send))
    return dict(seen[0]["headers"]), b"".join(message["body"] for message in seen[1:]), asked[0], expected


@pytest.mark.parametrize("path", ["/hmc", "/hmc/", "/lab/hmc"])
def test_a_lessons_page_says_where_the_server_is(path: str):
    headers, body, asked, expected = visit(path)
    assert body == PAGE.replace(b"<head>", b"<head>" + SERVER_AT_THE_PAGE_S_FOLDER)
    assert headers[b"content-length"] == b"%d" % len(body)
    assert asked == {}, "a compressed page cannot be written into"
    assert expected == ["hmc"]


@pytest.mark.parametrize(
    "case",
    [
        {"path": "/"},
        {"path": "/_stcore/health"},
        {"path": "/hmc/more"},
        {"path": "/hmc", "method": "HEAD"},
        {"path": "/hmc", "body": b"<p>No head, but longer than one piece of an answer is here</p>"},
        {"path": "/hmc", "kind": b"application/json"},
    ],
)
def test_other_answers_pass_as_they_are(case: dict):
    headers, body, _, expected = visit(**case)
    assert body == case.get("body", PAGE)
    assert headers[b"content-length"] == b"%d" % len(body)
    assert expected == ([] if case.get("method") or case["path"] != "/hmc" else ["hmc"])
