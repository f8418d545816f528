"""The tuning lesson in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, answer, one_press_moves, player, red_sign


def test_a_first_visit(lab: Lab):
    page = lab.open("/tuning?scenario=step")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    expect(page.get_by_role("button", name=re.compile("kernel ✓"))).to_be_visible(timeout=PATIENT)

    one_press_moves(stage)

    # the card does the update of the step size with its numbers, and says when it is frozen
    card = stage.get_by_role("list", name="Arithmetic of this step")
    stage.get_by_role("button", name="First step").click()
    stage.press("ArrowRight")
    expect(card.get_by_text(re.compile(r"^log ε ← μ − 20·√c·H̄ = −?\d.*the next ε = \d"))).to_be_visible()
    expect(card.get_by_text(re.compile("still tuning"))).to_be_visible()
    stage.press("End")
    expect(card.get_by_text(re.compile("frozen since the warm-up"))).to_be_visible()

    # several targets side by side
    page.get_by_text("δ 0.6 / 0.8 / 0.95", exact=True).click()
    lab.settled()
    expect(card.get_by_text(re.compile("^δ = 0.95:"))).to_be_visible(timeout=PATIENT)


def test_predict_lock_run_explain_and_the_sampler_that_never_stops(lab: Lab):
    page = lab.open("/tuning?scenario=for-ever")
    expect(player(page).locator("canvas").first).to_be_visible(timeout=PATIENT)
    answer(page, "Too small")
    expect(red_sign(lab)).to_be_visible(timeout=PATIENT)
    expect(page.get_by_text("You were right")).to_be_visible(timeout=PATIENT)
