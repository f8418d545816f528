"""The lesson on functions before data in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, one_press_moves, player, red_sign


def test_draw_then_reject(lab: Lab):
    page = lab.open("/prior-predictive")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    expect(page.get_by_role("button", name=re.compile("kernel ✓"))).to_be_visible(timeout=PATIENT)

    # one press makes something happen, and the card does the sum
    one_press_moves(stage)
    stage.press("End")
    card = stage.get_by_role("list", name="Arithmetic of this step")
    expect(card.get_by_text(re.compile("average of f.a.·f.b. over 300 draws"))).to_be_visible()

    # data: the run ends with its survivors counted
    page.get_by_role("button", name="Rejection: three points").or_(page.get_by_role("radio", name="Rejection: three points")).first.click()
    lab.settled()
    page.wait_for_url(re.compile("scenario=three-points"))
    expect(stage).to_have_attribute("data-steps", "150", timeout=PATIENT)
    stage.press("End")
    expect(card.get_by_text(re.compile(r"Accepted so far: \d{3} of 100"))).to_be_visible(timeout=PATIENT)


@pytest.mark.long  # the same signs, without a browser: tests/lessons
def test_forgotten_scaling_on_a_phone(lab: Lab):
    lab.page.set_viewport_size({"width": 360, "height": 740})
    page = lab.open("/prior-predictive?scenario=unscaled")
    expect(player(page).locator("canvas").first).to_be_visible(timeout=PATIENT)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    expect(red_sign(lab)).to_be_visible(timeout=PATIENT)
