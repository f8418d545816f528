"""The lesson on label switching in a browser: play, read the card, break the symmetry."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, answer, choose, player, red_sign


def test_a_first_visit_and_a_broken_symmetry(lab: Lab):
    page = lab.open("/weight-space")
    stage = player(page)
    expect(page.get_by_role("button", name=re.compile("kernel ✓"))).to_be_visible(timeout=PATIENT)

    # the prediction, and the stage plays; the card compares the draw with its copy, digit by digit
    answer(page, "That of some weights, not of f")
    expect(stage).not_to_have_attribute("data-t", "0")
    stage.press("End")
    expect(page.get_by_text("You were right")).to_be_visible(timeout=PATIENT)
    card = stage.get_by_role("list", name="Arithmetic of this step")
    expect(card.get_by_text(re.compile(r"of the copy = −\d+\.\d{14} nats"))).to_be_visible()
    expect(card.get_by_text(re.compile(r"= 8 copies of this draw, at 8 places"))).to_be_visible()

    # the flip that forgets a bias: the badge is red
    choose(page, "a bias forgotten")
    expect(red_sign(lab)).to_be_visible(timeout=PATIENT)
