"""The logistic lesson in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, player, red_sign


def test_walk_in_and_ask_elsewhere(lab: Lab):
    page = lab.open("/logistic")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    expect(page.get_by_role("button", name=re.compile("kernel ✓"))).to_be_visible(timeout=PATIENT)
    expect(stage).not_to_have_attribute("data-t", "0")  # the story plays
    stage.press("End")
    card = stage.get_by_role("list", name="Arithmetic of this step")
    expect(card.get_by_text(re.compile("predict at x′ = −?-?0.5"))).to_be_visible()

    # a click into the data panel asks at another x′
    box = stage.locator(".stage canvas").first.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 0.85 * box["width"], box["y"] + 90)
    page.wait_for_url(re.compile(r"at=(?!-0\.5)"), timeout=PATIENT)
    assert float(lab.query()["at"]) > -0.5


@pytest.mark.long  # the same signs, without a browser: tests/lessons
def test_forgotten_prior_on_a_phone(lab: Lab):
    lab.page.set_viewport_size({"width": 360, "height": 740})
    page = lab.open("/logistic?scenario=no-prior")
    expect(player(page).locator("canvas").first).to_be_visible(timeout=PATIENT)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    expect(red_sign(lab)).to_be_visible(timeout=PATIENT)
