"""The sampler race in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, player, red_sign


def test_predict_lock_run_explain(lab: Lab):
    page = lab.open("/race")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    page.get_by_test_id("stRadioGroup").get_by_text("NUTS", exact=True).click()
    page.get_by_role("button", name="Lock my prediction and run").click()
    expect(stage).not_to_have_attribute("data-t", "0", timeout=PATIENT)  # all four move
    stage.press("End")
    expect(page.get_by_text("The run says")).to_be_visible(timeout=PATIENT)
    card = stage.get_by_role("list", name="Arithmetic of this step")
    expect(card.get_by_text(re.compile(r"^NUTS: \d+ draws, mean of x₁ = −?\d"))).to_be_visible()
    expect(card.get_by_text(re.compile(r"^in the lead over all 16 pairs.*HMC"))).to_be_visible()
    expect(page.get_by_text("Error by the clock")).to_be_visible(timeout=PATIENT)
    expect(page.get_by_role("button", name=re.compile("kernel ✓"))).to_be_visible(timeout=PATIENT)


@pytest.mark.long  # the same signs, without a browser: tests/lessons
def test_the_cheat_is_red_and_a_phone_does_not_scroll_sideways(lab: Lab):
    lab.page.set_viewport_size({"width": 360, "height": 740})
    page = lab.open("/race?scenario=cheat")
    expect(player(page).locator("canvas").first).to_be_visible(timeout=PATIENT)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    expect(red_sign(lab)).to_be_visible(timeout=PATIENT)
