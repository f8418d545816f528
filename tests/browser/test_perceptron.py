"""The lesson From perceptron to network in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, answer, one_press_moves, player, red_sign


def test_a_first_visit(lab: Lab):
    page = lab.open("/perceptron")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    expect(page.get_by_role("button", name=re.compile("kernel ✓"))).to_be_visible(timeout=PATIENT)

    # one press makes something happen, and slow motion tells whether the point was wrong
    one_press_moves(stage)
    card = stage.get_by_role("list", name="Arithmetic of this step")
    expect(card.get_by_text(re.compile(r"mistakes; at most \(R/γ\)² = "))).to_be_visible()

    # a prediction: the perceptron never stops on XOR, and the stage waits for it
    page = lab.open("/perceptron?scenario=xor&story=2")
    stage = player(page)
    expect(stage).to_have_attribute("data-t", "0", timeout=PATIENT)
    answer(page, "it never stops")
    expect(page.get_by_text("You were right")).to_be_visible(timeout=PATIENT)
    expect(stage).to_have_attribute("data-panels", "plane weights")

    # a wrong backward pass is told so, once it is predicted; its arithmetic is there node by node
    page.get_by_text("forgot φ′", exact=False).first.click()
    lab.settled()
    answer(page, "those of the output layer only")
    expect(red_sign(lab)).to_be_visible(timeout=PATIENT)
    stage.press("Home")
    expect(card.get_by_text(re.compile(r"^forward: z₁ = "))).to_be_visible()


def test_a_press_is_not_scrolled_away_by_the_chip_that_was_pressed_before(lab: Lab):
    page = lab.open("/perceptron")
    page.get_by_role("radio", name=re.compile("^XOR")).click()
    lab.settled()
    page.get_by_role("heading", name="From perceptron").click()  # the focus leaves the chips
    chip = page.get_by_role("radio", name="forgot φ′")
    chip.evaluate("chip => chip.scrollIntoView({block: 'start'})")
    page.mouse.move(400, 400)
    page.mouse.wheel(0, -50)  # from under the header
    page.wait_for_timeout(300)
    box = chip.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, delay=50)
    expect(chip).to_be_checked()
