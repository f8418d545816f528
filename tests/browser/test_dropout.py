"""The dropout lesson in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, answer, player, red_sign


def test_a_first_visit(lab: Lab):
    page = lab.open("/dropout?scenario=unscaled")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    card = stage.get_by_role("list", name="Arithmetic of this step")
    expect(card.get_by_text(re.compile("switched off: .* 1.67 times the average over the masks"))).to_be_visible()
    answer(page, "1.67 times")
    expect(red_sign(lab)).to_be_visible(timeout=PATIENT)
    expect(page.get_by_text("You were right")).to_be_visible(timeout=PATIENT)

    page.get_by_role("button", name="Sample the posterior", exact=True).click()
    expect(page.get_by_text("Finished:")).to_be_visible(timeout=PATIENT)
    expect(card.get_by_text(re.compile("draws of NUTS"))).to_be_visible()


def test_the_digits_are_read_pass_by_pass(lab: Lab):
    page = lab.open("/dropout?data=digits&hidden=20&keep=0.8")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    card = stage.get_by_role("list", name="Arithmetic of this step")
    expect(card.get_by_text(re.compile(r"all 2\^20 masks, exactly: mean .*, sd .*"))).to_be_visible(timeout=PATIENT)
    expect(page.get_by_role("button", name="Sample the posterior", exact=True)).to_be_hidden()
    expect(page.get_by_role("button", name=re.compile("kernel ✓"))).to_be_visible(timeout=PATIENT)
    expect(page.get_by_text("What the sd follows").first).to_be_visible(timeout=PATIENT)
