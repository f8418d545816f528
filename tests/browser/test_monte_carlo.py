"""The Monte Carlo lesson in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, answer, red_sign


def test_a_first_visit(lab: Lab):
    page = lab.open("/monte-carlo")
    stage = page.get_by_test_id("player")
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    expect(page.get_by_role("button", name=re.compile("kernel ✓"))).to_be_visible(timeout=PATIENT)
    stage.press("End")
    card = stage.get_by_role("list", name="Arithmetic of this step")
    expect(card.get_by_text(re.compile(r"^exact 3\.14159, error"))).to_be_visible()

    stage.press("Home")
    expect(stage).to_have_attribute("data-t", "0")
    stage.get_by_role("button", name="Play").click()
    expect(stage).not_to_have_attribute("data-t", "0")
    stage.get_by_role("button", name="Pause").click()


@pytest.mark.long  # the same signs, without a browser: tests/lessons
def test_infinite_variance_is_grey_and_a_forgotten_weight_is_red(lab: Lab):
    page = lab.open("/monte-carlo?scenario=infinite")
    answer(page)
    expect(page.get_by_role("button", name=re.compile(r"numbers \?"))).to_be_visible(timeout=PATIENT)
    page = lab.open("/monte-carlo?scenario=forgotten")
    expect(red_sign(lab)).to_be_visible(timeout=PATIENT)
