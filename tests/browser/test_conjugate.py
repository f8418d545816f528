"""The conjugate lesson in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, red_sign, still


def test_a_first_visit(lab: Lab):
    page = lab.open("/conjugate")
    stage = page.get_by_test_id("player")
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    expect(stage).to_have_attribute("data-t", "20", timeout=PATIENT)  # the story plays it
    card = stage.get_by_role("list", name="Arithmetic of this step")
    expect(card.get_by_text(re.compile(r"Beta\(6 \+ 13, 6 \+ 7\) = Beta\(19, 13\)"))).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("kernel ✓"))).to_be_visible(timeout=PATIENT)

    # with all panels on stage: the prior is dragged to more imagined heads
    page = lab.open("/conjugate?scenario=coin&story=9")
    expect(stage).to_have_attribute("data-panels", "belief plane data evidence", timeout=PATIENT)
    expect(stage).to_have_attribute("data-t", "20", timeout=PATIENT)
    box = still(stage.locator(".stage canvas").first)
    left, top = box["x"], box["y"]
    page.mouse.move(left + 0.771 * box["width"], top + 0.296 * box["height"])
    page.mouse.down()
    page.mouse.move(left + 0.83 * box["width"], top + 0.296 * box["height"], steps=5)
    page.mouse.up()
    expect(card.get_by_text(re.compile(r"Beta\(6 \+ 13"))).not_to_be_visible(timeout=PATIENT)
    page.wait_for_url(re.compile("alpha=1"))
    assert float(lab.query()["beta"]) < 8.0 and lab.query()["rival_1"] == "1"

    # the data arrive one by one; a flip more, and the place is the new end
    stage.press("Home")
    stage.press("ArrowRight")
    expect(stage).to_have_attribute("data-t", "1")
    page.get_by_role("button", name="Heads").click()
    lab.settled()
    expect(stage).to_have_attribute("data-t", "21", timeout=PATIENT)
    assert lab.query()["flips"].split()[-1] == "1"

    # a click in the data panel adds an observation
    run = str(stage.get_attribute("data-run"))
    box = still(stage.locator(".stage canvas").first)
    stage.locator(".stage canvas").first.click(position={"x": 0.56 * box["width"], "y": 0.66 * box["height"]})
    expect(stage).not_to_have_attribute("data-run", run, timeout=PATIENT)
    page.wait_for_url(re.compile("flips="))


@pytest.mark.long  # the same signs, without a browser: tests/lessons
def test_the_broken_update_is_red(lab: Lab):
    lab.open("/conjugate?scenario=twice")
    expect(red_sign(lab)).to_be_visible(timeout=PATIENT)
