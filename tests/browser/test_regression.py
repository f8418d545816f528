"""The regression lesson in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, choose, player, red_sign


def test_a_first_visit(lab: Lab):
    page = lab.open("/regression?scenario=line")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    card = stage.get_by_role("list", name="Arithmetic of this step")
    expect(card.get_by_text(re.compile("this curve, hypothetically the true one"))).to_be_visible(timeout=PATIENT)

    # all curves: what was counted, and the badge that compares with the exact line
    expect(stage).to_have_attribute("data-steps", "200", timeout=PATIENT)  # the picture has grown: End is the end of the run
    stage.press("End")
    expect(card.get_by_text(re.compile("200 so far, at x′: total variance"))).to_be_visible(timeout=PATIENT)
    expect(card.get_by_text(re.compile("of 1000 fresh measurements the 90 % band holds"))).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("kernel ✓"))).to_be_visible(timeout=PATIENT)

    # a click in the picture adds a measurement: the data are one's own now
    run = str(stage.get_attribute("data-run"))
    canvas = stage.locator(".stage canvas").first
    box = canvas.bounding_box()
    canvas.click(position={"x": 0.3 * box["width"], "y": 0.1 * box["height"]})
    expect(stage).not_to_have_attribute("data-run", run, timeout=PATIENT)
    page.wait_for_url(re.compile("data=points"))
    lab.settled()

    # a sampler with a bug: the same page, and a red badge
    choose(page, "A sampler with a bug")
    expect(red_sign(lab)).to_be_visible(timeout=PATIENT)
