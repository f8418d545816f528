"""What holds for every lesson of the catalogue in a browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from app import catalogue
from tests.browser.conftest import PATIENT, Lab, player
from tests.server import Server

SCENARIOS = [
    pytest.param(entry.slug, scenario, entry.title, id=f"{entry.slug}-{scenario}")
    for entry in catalogue.LESSONS
    for scenario, _ in entry.scenarios[-1:]
]


@pytest.fixture(scope="module")
def phone(browser: Browser, server: Server) -> Iterator[Lab]:
    """One visit on a phone, from lesson to lesson without loading the app again."""
    page = browser.new_page(viewport={"width": 360, "height": 740})
    watched = Lab(page, server.url)
    watched.open()
    yield watched
    page.close()


@pytest.mark.parametrize("slug,scenario,title", SCENARIOS)
def test_a_phone_sees_the_stage_without_scrolling_sideways(phone: Lab, slug: str, scenario: str, title: str):
    page = phone.visit(f"/{slug}?scenario={scenario}")
    expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible(timeout=PATIENT)
    expect(player(page).locator("canvas").first).to_be_visible(timeout=PATIENT)
    phone.settled()
    expect(page).to_have_title(f"{title} · Posterior Lab")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 360
    assert not phone.problems, "\n".join(phone.problems)
