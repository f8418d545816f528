"""The lesson about scores in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, answer, one_press_moves, player


def test_numbers_of_all_digits_wait_for_the_prediction(lab: Lab):
    """As the table does: how many are wrong, and the areas, say how well the digits are sorted."""
    page = lab.open("/scores?story=1")
    stage = player(page)
    card = stage.get_by_role("list", name="Arithmetic of this step")
    expect(stage.get_by_text("Your prediction first")).to_be_visible(timeout=PATIENT)
    expect(card.get_by_text(re.compile("test image"))).to_be_visible(timeout=PATIENT)
    expect(card).not_to_contain_text(re.compile("AUROC|α = |errors"), use_inner_text=True)
    answer(page)
    expect(card.get_by_text(re.compile("AUROC"))).to_be_visible(timeout=PATIENT)


def test_a_first_visit(lab: Lab):
    page = lab.open("/scores?method=dropout")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    card = stage.get_by_role("list", name="Arithmetic of this step")
    expect(card.get_by_text(re.compile("AUROC"))).to_be_visible(timeout=PATIENT)
    expect(page.get_by_role("button", name=re.compile("kernel ✓"))).to_be_visible(timeout=PATIENT)

    one_press_moves(stage)
    expect(page.get_by_text("Worst errors", exact=True)).to_be_visible(timeout=PATIENT)

    # the game, and the half that judges
    page.get_by_text("abstain game", exact=True).last.click()
    expect(card.get_by_text(re.compile("your threshold answers"))).to_be_visible(timeout=PATIENT)
    page.get_by_text("Judge on the other half").click()
    expect(card.get_by_text(re.compile("on the other"))).not_to_have_count(0, timeout=PATIENT)
