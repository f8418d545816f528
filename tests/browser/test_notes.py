"""The projector view with the presenter's second window: one run, and a press in either moves both."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, player

DRAWN = "canvas => canvas.width > 0 && new Set(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data).size > 8"


def test_the_second_window_tells_what_comes_and_moves_both(reader: Lab):
    reader.page.set_viewport_size({"width": 1600, "height": 1200})
    page = reader.open("/metropolis?scenario=king&story=1&present=1")
    stage = player(page)
    expect(stage).to_have_attribute("data-cue", "metropolis/0/king", timeout=PATIENT)
    assert page.get_by_text("Step 1 of").evaluate("node => parseFloat(getComputedStyle(node).fontSize)") >= 24
    canvas = stage.locator(".stage canvas").first.bounding_box()
    bar = stage.get_by_role("group", name="Playback").bounding_box()
    assert canvas and bar and canvas["height"] > 0.35 * 1200 and bar["y"] + bar["height"] <= 1200
    expect(page.get_by_text("Next: Seven to one")).to_be_hidden()
    with page.expect_popup() as opened:
        page.get_by_role("link", name="Notes").click()
    notes = opened.value
    expect(notes.get_by_role("heading", level=1)).to_have_text(re.compile("Metropolis.*: Step 1 of"))
    expect(notes.get_by_text("To keep: He compares two numbers")).to_be_visible()
    expect(notes.get_by_text(re.compile("^Next: "))).to_be_visible()
    expect(notes.get_by_title("Time so far")).to_have_text(re.compile(r"^0:\d\d$"))
    assert notes.get_by_role("img", name="The stage").evaluate(DRAWN)
    # the step plays in parts: Next goes from part to part, and then on
    before = stage.get_attribute("data-t"), stage.get_attribute("data-s")
    notes.keyboard.press("PageDown")
    expect(stage).to_have_attribute("data-playing", "false")
    assert (stage.get_attribute("data-t"), stage.get_attribute("data-s")) != before
    expect(page.get_by_text("Step 1 of")).to_be_visible()
    for _ in range(40):
        if not page.evaluate("document.documentElement.hasAttribute('data-playing')"):
            break
        notes.keyboard.press("PageDown")
    notes.keyboard.press("PageDown")
    expect(page.get_by_text("Step 2 of")).to_be_visible(timeout=PATIENT)
    expect(notes.get_by_role("heading", level=1)).to_have_text(re.compile("Step 2 of"), timeout=PATIENT)
    page.keyboard.press("PageUp")
    expect(notes.get_by_role("heading", level=1)).to_have_text(re.compile("Step 1 of"), timeout=PATIENT)
    notes.keyboard.press("b")
    assert page.evaluate("document.documentElement.hasAttribute('data-blank')")
    notes.keyboard.press("Escape")
    notes.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Present")).to_be_visible(timeout=PATIENT)
    notes.close()
