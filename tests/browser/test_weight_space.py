"""The lesson on label switching in a browser: play, read the card, break the symmetry."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, player


def test_a_first_visit_and_a_broken_symmetry(lab: Lab):
    page = lab.open("/weight-space")
    stage = player(page)
    expect(page.get_by_role("button", name=re.compile("kernel ✓"))).to_be_visible(timeout=PATIENT)

    # one press makes something happen; the card compares the draw with its copy, digit by digit
    before = stage.get_attribute("data-t")
    stage.get_by_role("button", name="Play").click()
    expect(stage).not_to_have_attribute("data-t", before or "")
    stage.get_by_role("button", name="Pause").click()
    stage.press("End")
    card = stage.get_by_role("list", name="Arithmetic of this step")
    expect(card.get_by_text(re.compile(r"of the copy = −\d+\.\d{14} nats"))).to_be_visible()
    expect(card.get_by_text(re.compile(r"= 8 copies of this draw, at 8 places"))).to_be_visible()

    # the prediction, then the flip that forgets a bias: the badge is red
    page.get_by_text("That of some weights, not of f").click()
    page.get_by_role("button", name="Lock my prediction and run").click()
    expect(page.get_by_text("You were right")).to_be_visible(timeout=PATIENT)
    page.get_by_text("a bias forgotten").first.click()
    expect(page.get_by_role("button", name=re.compile("✗")).first).to_be_visible(timeout=PATIENT)
