"""What holds for every lesson of the catalogue in a browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from app import catalogue
from tests.browser.conftest import PATIENT, Lab, player

SCENARIOS = [
    pytest.param(entry.slug, scenario, entry.title, id=f"{entry.slug}-{scenario}")
    for entry in catalogue.LESSONS
    for scenario, _ in entry.scenarios[-1:]
]


@pytest.mark.parametrize("slug,scenario,title", SCENARIOS)
def test_a_phone_sees_the_stage_without_scrolling_sideways(lab: Lab, slug: str, scenario: str, title: str):
    lab.page.set_viewport_size({"width": 360, "height": 740})
    page = lab.open(f"/{slug}?scenario={scenario}")
    expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible(timeout=PATIENT)
    expect(player(page).locator("canvas").first).to_be_visible(timeout=PATIENT)
    expect(page).to_have_title(f"{title} · Posterior Lab")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 360
