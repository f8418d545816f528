"""What a browser asks the server for when it opens a link to a lesson."""

from __future__ import annotations

from urllib.parse import urlsplit

from playwright.sync_api import Browser, expect

from tests.server import Server


def test_a_link_to_a_lesson_finds_the_server_at_the_first_try(browser: Browser, server: Server):
    page = browser.new_page()
    paths: list[str] = []
    failed: list[str] = []
    page.on("request", lambda request: paths.append(urlsplit(request.url).path))
    page.on("response", lambda answer: failed.append(answer.url) if answer.status >= 400 else None)
    page.goto(f"{server.url}/metropolis?scenario=plane")
    expect(page.locator("[data-testid='player'][data-run]")).to_be_visible(timeout=60_000)
    assert "/_stcore/health" in paths
    assert not [path for path in paths if path.startswith("/metropolis/")]
    assert not failed
    early = paths[: paths.index("/_stcore/health")]
    assert any("BidiComponent" in path for path in early), "the browser fetches what shows the player while it waits"
    page.close()
