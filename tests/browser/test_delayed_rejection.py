"""The delayed rejection lesson in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, answer, choose, player


def test_a_first_visit(lab: Lab):
    page = lab.open("/delayed-rejection")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)

    # it plays by itself and rests; one press makes something happen again
    expect(stage).to_have_attribute("data-playing", "true", timeout=PATIENT)
    expect(stage).to_have_attribute("data-playing", "false", timeout=PATIENT)
    stage.press("Home")
    before = stage.get_attribute("data-t")
    stage.get_by_role("button", name="Play").click()
    expect(stage).not_to_have_attribute("data-t", before or "0")
    stage.press("Space")
    expect(stage).to_have_attribute("data-playing", "false")

    # sub-steps: bold, rejected, timid, the way back, its ratio, the verdict
    card = stage.get_by_role("list", name="Arithmetic of this step")
    stage.press("Home")
    for part in ("first try", "α₁", "coin", "second try", "way back", "α₂", "coin"):
        stage.press(".")
        expect(stage.locator("[aria-current=step]")).to_contain_text(part)
    stage.press(".")
    expect(card.get_by_text(re.compile(r"^verdict: the draw is"))).to_be_visible()
    expect(card.get_by_text(re.compile(r"^α₁ = min\(1, π\(y₁\)/π\(x\)\) = .* = \d"))).to_be_visible()
    expect(card.get_by_text(re.compile(r"^first try: x = \(−?\d"))).to_be_visible()

    # predict, lock, run; then the failure is red
    for step in (2, 3):
        page.get_by_role("button", name="Next").click()
        expect(page.get_by_text(f"Step {step} of 8")).to_be_visible()
    page.get_by_text("0: it may not be accepted").click()
    page.get_by_role("button", name="Lock my prediction and run").click()
    expect(page.get_by_text("You were right")).to_be_visible(timeout=PATIENT)
    choose(page, "Forgot 1 − α")
    expect(page.get_by_text("Why it goes wrong.")).to_be_hidden()  # it would answer the step's question
    answer(page)
    expect(page.get_by_text("Why it goes wrong.")).to_be_visible(timeout=PATIENT)
