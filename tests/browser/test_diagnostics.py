"""The lesson on diagnostics in a browser: play, look inside, diagnose a patient."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PATIENT, Lab, answer, one_press_moves, red_sign


def stage(page: Page):
    found = page.get_by_test_id("player")
    expect(found.locator("canvas").first).to_be_visible(timeout=PATIENT)
    return found


def test_a_first_visit_and_a_diagnosis(lab: Lab):
    page = lab.open("/diagnostics")
    player = stage(page)
    expect(page.get_by_role("button", name=re.compile("kernel ✓"))).to_be_visible(timeout=PATIENT)

    # one press makes something happen, and sub-steps fill the card: W, B/n, R-hat
    one_press_moves(player)
    card = player.get_by_role("list", name="Arithmetic of this step")
    player.press("End")
    expect(card.get_by_text(re.compile(r"^within: W = .* = \d"))).to_be_visible()
    expect(card.get_by_text(re.compile(r"^classic R-hat = .* = \d\.\d{4}$"))).to_be_visible()

    # a patient: nothing is told before the lock, all of it after
    page = lab.open("/diagnostics?scenario=patient-2")
    stage(page)
    expect(page.get_by_role("button", name=re.compile(r"kernel \?"))).to_be_visible(timeout=PATIENT)
    expect(page.get_by_text("The file says")).to_have_count(0)
    page.get_by_text("Chains stuck in different modes").first.click()
    page.get_by_role("button", name="Lock my prediction and run").click()
    expect(page.get_by_text("You were right")).to_be_visible(timeout=PATIENT)
    expect(page.get_by_text("The file says")).to_be_visible(timeout=PATIENT)
    page.wait_for_url(re.compile("file=open"))


@pytest.mark.long  # the same signs, without a browser: tests/lessons
def test_perfect_diagnostics_and_a_red_sign(lab: Lab):
    lab.page.set_viewport_size({"width": 360, "height": 740})
    page = lab.open("/diagnostics?scenario=biased")
    stage(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    expect(red_sign(lab)).to_be_visible(timeout=PATIENT)


def test_the_stage_is_in_view_when_it_plays_the_answer(lab: Lab):
    """The lock of a patient's long question stands below the window."""
    page = lab.open("/diagnostics?scenario=patient-1")
    player = stage(page)
    expect(player).to_have_attribute("data-cue", "diagnostics/7/patient-1", timeout=PATIENT)
    expect(page.get_by_role("button", name="Lock my prediction and run")).to_be_visible(timeout=PATIENT)
    page.get_by_role("button", name="Lock my prediction and run").scroll_into_view_if_needed()
    page.evaluate("document.querySelector('[data-testid=stMain]').scrollBy(0, 200)")
    assert player.locator(".stage").bounding_box()["y"] < 0
    answer(page)
    page.wait_for_timeout(500)
    box = player.locator(".stage").bounding_box()
    assert 60 <= box["y"] <= 200 and box["y"] + box["height"] <= 720
