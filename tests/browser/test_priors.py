"""The lesson on priors that learn, in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, answer, one_press_moves, player, red_sign


def test_a_first_visit(lab: Lab):
    page = lab.open("/priors?scenario=forgot-count")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)

    # predict, lock, run, explain; only then the sign tells
    answer(page, "Three times or more")
    expect(page.get_by_text("You were right")).to_be_visible(timeout=PATIENT)
    expect(red_sign(lab)).to_be_visible(timeout=PATIENT)

    # sub-steps fill the card: the weights, the sum, the draw
    card = stage.get_by_role("list", name="Arithmetic of this step")
    stage.press("Shift+ArrowRight")
    stage.press("Shift+ArrowRight")
    expect(card.get_by_text(re.compile(r"^sum: 5 weights share the τ of W1; Σw² = \d"))).to_be_visible()
    stage.press("Shift+ArrowRight")
    expect(card.get_by_text(re.compile(r"^draw: τ ~ Gamma\(\d"))).to_be_visible()

    one_press_moves(stage)
