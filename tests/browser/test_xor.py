"""The XOR lesson in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import PATIENT, Lab, player, red_sign


def shown(page: Page) -> Locator:
    """The player, once it has drawn."""
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    expect(stage).to_have_attribute("data-steps", re.compile(r"^\d+$"), timeout=PATIENT)
    return stage


def test_watch_it_learn_with_the_proof_beside_it(lab: Lab):
    page = lab.open("/xor")
    stage = shown(page)
    # nothing was pressed and it moves
    expect(stage).not_to_have_attribute("data-t", "0", timeout=PATIENT)
    stage.press("Space")
    expect(stage).to_have_attribute("data-playing", "false")

    # the arithmetic card adds up: total = aleatoric + epistemic
    stage.press("End")
    card = stage.get_by_role("list", name="Arithmetic of this step")
    line = card.get_by_text(re.compile("total H")).inner_text()
    total, aleatoric, epistemic = (float(number) for number in re.findall(r"\d\.\d{3}", line))
    assert abs(total - aleatoric - epistemic) < 0.002 and epistemic > 0.02
    expect(page.get_by_role("button", name=re.compile("kernel ✓"))).to_be_visible(timeout=PATIENT)

    # sampled on live, the same picture grows
    before = int(stage.get_attribute("data-steps") or 0)
    run = stage.get_attribute("data-run")
    page.get_by_role("button", name="Sample on").click()
    expect(page.get_by_text(re.compile(r"Finished: 20\W?000 of 20\W?000"))).to_be_visible(timeout=2 * PATIENT)
    expect(stage).to_have_attribute("data-run", str(run))
    assert int(stage.get_attribute("data-steps") or 0) > before


def test_own_points_by_click(lab: Lab):
    page = lab.open("/xor?scenario=own-points")
    stage = shown(page)
    run = str(stage.get_attribute("data-run"))
    stage.locator(".stage canvas").first.click(position={"x": 200, "y": 150})
    expect(stage).not_to_have_attribute("data-run", run, timeout=PATIENT)
    page.wait_for_url(re.compile("points="))
    assert lab.query()["points"].count(";") == 8, "eight points and the new one"


@pytest.mark.long  # the same signs, without a browser: tests/lessons
def test_predict_and_the_broken_sampler(lab: Lab):
    page = lab.open("/xor?scenario=never-reject")
    shown(page)
    expect(red_sign(lab)).to_be_visible(timeout=PATIENT)
    page = lab.open("/xor?scenario=learn&story=2")
    page.get_by_text("far away from all data").click()
    page.get_by_role("button", name=re.compile("Lock")).click()
    expect(page.get_by_text(re.compile("Mean epistemic uncertainty"))).to_be_visible(timeout=PATIENT)


def test_on_a_phone(lab: Lab):
    lab.page.set_viewport_size({"width": 360, "height": 740})
    page = lab.open("/xor")
    stage = shown(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    expect(stage.get_by_role("button", name=re.compile("Play|Pause"))).to_be_visible()


def test_the_options_are_places_on_the_map(lab: Lab):
    """Chosen by key or by a click on the picture, as by the list; the choice stays marked while the answer plays."""
    page = lab.open("/xor?scenario=learn&story=2")
    stage, listed = player(page), page.get_by_role("radiogroup", name="Your prediction")
    places = stage.get_by_role("radio")
    expect(places).to_have_count(3, timeout=PATIENT)
    page.keyboard.press("2")
    expect(listed.get_by_role("radio").nth(1)).to_be_checked()
    places.nth(2).click()
    expect(listed.get_by_role("radio").nth(2)).to_be_checked()
    expect(stage.get_by_role("radio", name="C: far away")).to_be_checked()
    page.get_by_role("button", name="Lock my prediction and run").click()
    expect(stage).to_have_attribute("data-cue", re.compile("/answered$"), timeout=PATIENT)
    expect(stage.get_by_role("radio", name="C · you").first).to_be_visible()  # on each map of the answer
    stage.press("End")
    expect(stage.get_by_role("radio", name=re.compile("A ✓")).first).to_be_visible()
    page.keyboard.press("1")
    expect(stage.get_by_role("radio", name="C · you").first).to_be_checked()
