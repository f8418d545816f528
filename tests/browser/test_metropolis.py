"""One journey through the Metropolis lesson."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, answer, choose, red_sign


def test_a_student_meets_the_king_and_breaks_the_walk(lab: Lab):
    page = lab.open("/metropolis?scenario=king&story=2")
    player = page.get_by_test_id("player")
    expect(player.locator("canvas").first).to_be_visible()

    # predict, lock, and the king decides
    answer(page, "one time in seven")
    expect(player).to_have_attribute("data-s", "3", timeout=PATIENT)
    expect(player).to_have_attribute("data-playing", "false")

    # one transition in four parts, with its numbers
    player.press("Home")
    card = player.get_by_role("list", name="Arithmetic of this step")
    for part in ("propose", "ratio", "draw u"):
        player.press(".")
        expect(player.locator("[aria-current=step]")).to_contain_text(part)
    player.press(".")  # decided
    expect(card).to_contain_text(re.compile(r"r = people there / people here .* = \d+\.\d+"))
    expect(card).to_contain_text(re.compile(r"accept and move|reject, stay"))
    player.press("End")
    expect(player).to_have_attribute("data-t", "1999")
    expect(page.get_by_role("button", name=re.compile("kernel ✓"))).to_be_visible(timeout=30_000)

    expect(page.get_by_text("You were right")).to_be_visible()

    # own populations
    box = page.get_by_role("textbox", name="People on each island")
    box.fill("5, 1, 5, 1")
    box.press("Enter")
    page.wait_for_url(re.compile("populations=5"))
    box.fill("5, 1, 5")
    box.press("Enter")
    expect(page.get_by_text("4 is not one of the 3 islands")).to_be_visible()  # the king stands on the fourth: refused

    # the failure is red and says why; a guess is drawn in the picture of its step
    choose(page, "Lost Hastings ratio")
    lab.settled()
    back = page.get_by_role("button", name="Back to step 7")
    expect(back).to_be_visible()
    back.click()
    answer(page)
    expect(page.get_by_text("Why it goes wrong.")).to_be_visible()
    expect(red_sign(lab)).to_be_visible(timeout=PATIENT)
    choose(page, "Three step sizes")
    expect(player).to_have_attribute("data-steps", "1500")
    answer(page)
    expect(page.get_by_text("Same random numbers, three step sizes")).to_be_visible(timeout=60_000)
