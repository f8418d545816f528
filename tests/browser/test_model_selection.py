"""The model selection lesson in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, choose, player


def test_a_first_visit(lab: Lab):
    page = lab.open("/model-selection")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    expect(stage).to_have_attribute("data-panels", "curve next", timeout=PATIENT)
    stage.press("Home")
    for _ in range(3):
        stage.press("ArrowRight")
    expect(stage).to_have_attribute("data-t", "3")
    card = stage.get_by_role("list", name="Arithmetic of this step")
    expect(card.get_by_text(re.compile("add: log evidence of degree 4"))).to_be_visible()

    # to the end: the contest is decided, and the kernel is proven
    stage.press("End")
    expect(card.get_by_text(re.compile("most probable: degree 3"))).to_be_visible(timeout=PATIENT)
    expect(page.get_by_role("button", name=re.compile("kernel ✓"))).to_be_visible(timeout=PATIENT)

    # a click in the picture adds a point: the data are one's own now
    run = str(stage.get_attribute("data-run"))
    box = stage.locator(".stage canvas").first.bounding_box()
    stage.locator(".stage canvas").first.click(position={"x": 0.3 * box["width"], "y": 0.1 * box["height"]})
    expect(stage).not_to_have_attribute("data-run", run, timeout=PATIENT)
    page.wait_for_url(re.compile("data=points"))
    lab.settled()

    # Occam's razor, and back to a mistake that the signs show
    choose(page, "Occam's razor")
    expect(stage).to_have_attribute("data-t", "59", timeout=PATIENT)
    choose(page, "Judged by best fit")
