"""The convolution lesson in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, choose, draw, player, red_sign

ONE = ((0.5, 0.12), (0.5, 0.3), (0.5, 0.5), (0.49, 0.7), (0.49, 0.88))


def test_a_first_visit(lab: Lab):
    page = lab.open("/convolution")
    stage, pad = player(page), page.get_by_test_id("pad")
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    card = stage.get_by_role("list", name="Arithmetic of this step")
    lab.settled()

    # place by place
    stage.press("Home")
    stage.press("ArrowRight")
    expect(card.get_by_text(re.compile(r"^sum .* written at row 1, column [12]$"))).to_be_visible()
    stage.press("ArrowRight")
    expect(card.get_by_text(re.compile(r"written at row 1, column [23]$"))).to_be_visible()

    # a digit of one's own keeps the kernel and the place
    run = str(stage.get_attribute("data-run"))
    page.get_by_role("button", name="Clear").click()
    expect(page).to_have_url(re.compile("drawing=&"), timeout=PATIENT)
    lab.settled()
    pad.evaluate("node => node.scrollIntoView({block: 'center'})")  # the keys brought the stage into view, and the pad below the bar
    draw(page, pad, ONE)
    expect(page).to_have_url(re.compile("drawing=0"), timeout=PATIENT)
    expect(stage).to_have_attribute("data-run", run)

    # the mistake is red, and says why
    choose(page, "KL counted 64 times")
    expect(red_sign(lab)).to_be_visible(timeout=PATIENT)
    expect(page.get_by_text("Why it goes wrong.")).to_be_visible(timeout=PATIENT)
