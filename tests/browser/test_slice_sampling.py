"""The slice sampling lesson in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, choose, player, red_sign


def test_a_first_visit(lab: Lab):
    page = lab.open("/slice-sampling")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)

    # sub-steps: the level, the first interval, and what follows
    card = stage.get_by_role("list", name="Arithmetic of this step")
    stage.press("Home")
    stage.press(".")
    expect(card.get_by_text(re.compile(r"^a level is drawn"))).to_be_visible()
    expect(card.get_by_text(re.compile(r"^x₁: log y = log π\(x₀\) \+ log u = .* = −?\d"))).to_be_visible()
    stage.press(".")
    expect(card.get_by_text(re.compile(r"^a first interval of width w"))).to_be_visible()
    expect(card.get_by_text(re.compile(r"^first L = x₀ − U w = .* = −?\d"))).to_be_visible()

    # predict, lock, run; then the failure is red
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("Step 2 of 8")).to_be_visible()
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("Step 3 of 8")).to_be_visible()
    page.get_by_text("ten times too narrow", exact=True).click()
    page.get_by_role("button", name="Lock my prediction and run").click()
    expect(page.get_by_text("You were right")).to_be_visible(timeout=PATIENT)
    choose(page, "Forgot the test")
    expect(red_sign(lab)).to_be_visible(timeout=PATIENT)
    expect(page.get_by_text("Why it goes wrong.")).to_be_visible(timeout=PATIENT)
