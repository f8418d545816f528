"""The dimensions lesson in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, answer, choose, one_press_moves, player, red_sign


def test_a_first_visit(lab: Lab):
    page = lab.open("/dimensions")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    expect(page.get_by_role("button", name=re.compile("kernel ✓"))).to_be_visible(timeout=PATIENT)

    one_press_moves(stage)

    # sub-steps fill the card: the move, u, the map, the factors one by one
    card = stage.get_by_role("list", name="Arithmetic of this step")
    stage.get_by_role("button", name="First step").click()
    stage.press("ArrowRight")
    stage.press("Shift+ArrowRight")
    expect(card.get_by_text(re.compile(r"^k = \d: a (birth|death) is tried with probability \d"))).to_be_visible()
    expect(card.get_by_text(re.compile(r"^u = …"))).to_be_visible()
    for _ in range(3):
        stage.press("Shift+ArrowRight")
    expect(card.get_by_text(re.compile(r"^likelihood: .* = [+−]?\d"))).to_be_visible()
    expect(card.get_by_text(re.compile(r"^Jacobian: .* = …"))).to_be_visible()
    for _ in range(6):
        stage.press("Shift+ArrowRight")
    expect(card.get_by_text(re.compile(r"^log r = [+−]?\d"))).to_be_visible()

    # the Jacobian forgotten: predict, lock, red badge
    choose(page, "Jacobian forgotten")
    answer(page, "One mean")
    expect(red_sign(lab)).to_be_visible(timeout=PATIENT)
    expect(page.get_by_text("You were right")).to_be_visible(timeout=PATIENT)
