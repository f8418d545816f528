"""The variational lesson in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, answer, choose, one_press_moves, player


def test_a_first_visit(lab: Lab):
    page = lab.open("/variational")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    expect(page.get_by_role("button", name=re.compile("kernel ✓"))).to_be_visible(timeout=PATIENT)

    one_press_moves(stage)

    # slow motion fills the arithmetic card: points, votes, the step and the gap
    card = stage.get_by_role("list", name="Arithmetic of this step")
    stage.get_by_role("button", name="First step").click()
    stage.press("Shift+ArrowRight")
    stage.press("Shift+ArrowRight")
    expect(card.get_by_text(re.compile(r"^slope of log p there: \(−?\d"))).to_be_visible()
    stage.press("Shift+ArrowRight")
    expect(card.get_by_text(re.compile(r"KL\(q‖p\) = \d"))).to_be_visible()

    # a guess that is drawn: the q of KL(q‖p) goes into the nearer mode, though it is the lighter
    choose(page, "two divergences, two modes")
    lab.settled()
    answer(page)
    expect(page.get_by_text("On average your curve is")).to_be_visible(timeout=PATIENT)
