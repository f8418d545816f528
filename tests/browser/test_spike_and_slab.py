"""The spike-and-slab lesson in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, answer, one_press_moves, player, red_sign


def test_a_first_visit(lab: Lab):
    page = lab.open("/spike-and-slab")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    expect(page.get_by_role("button", name=re.compile("kernel ✓"))).to_be_visible(timeout=PATIENT)

    one_press_moves(stage)

    # a sub-step is one predictor's coin with its numbers
    card = stage.get_by_role("list", name="Arithmetic of this step")
    stage.get_by_role("button", name="First step").click()
    stage.press("Shift+ArrowRight")
    expect(card.get_by_text(re.compile(r"^predictor 1: log odds"))).to_be_visible()
    expect(card.get_by_text(re.compile("the coin says (in|out)"))).to_be_visible()


@pytest.mark.long  # the same signs, without a browser: tests/lessons
def test_the_constant_left_out(lab: Lab):
    page = lab.open("/spike-and-slab?scenario=unnormalised")
    expect(player(page).locator("canvas").first).to_be_visible(timeout=PATIENT)
    answer(page, "Too many")
    expect(red_sign(lab)).to_be_visible(timeout=PATIENT)
    expect(page.get_by_text("You were right")).to_be_visible(timeout=PATIENT)


def test_a_network_trained_live(lab: Lab):
    page = lab.open("/spike-and-slab?scenario=digits")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    page.get_by_role("button", name="Run live", exact=True).click()
    expect(page.get_by_text("Finished:")).to_be_visible(timeout=PATIENT)
    expect(stage.get_by_text(re.compile("ELBO = energy"))).to_be_visible()
