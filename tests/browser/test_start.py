"""The start page: a run that plays, a search that leads to a step, and at a lesson's end the way on."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, player


def test_a_run_plays_and_another_visitor_sees_another_one(lab: Lab):
    runs = set()
    for _ in range(2):
        page = lab.open("/")
        stage = player(page)
        expect(stage).to_have_attribute("data-playing", "true", timeout=PATIENT)
        expect(stage).to_have_attribute("data-panels", "plane marginal-0")
        expect(stage.get_by_text("Table and downloads")).to_be_hidden()
        runs.add(stage.get_attribute("data-run"))
        stage.press("End")
        expect(stage).to_have_attribute("data-t", "399")
    assert len(runs) == 2


def test_a_word_leads_to_the_steps_that_speak_of_it(lab: Lab):
    page = lab.open("/")
    box = page.get_by_role("textbox", name="Find a step of a lesson")
    box.fill("zeppelin")
    box.press("Enter")
    expect(page.get_by_text("No story speaks of that")).to_be_visible()
    box.fill("stop")
    box.press("Enter")
    hit = page.get_by_role("link", name=re.compile("^NUTS: ")).first
    step = re.search(r"story=(\d+)", hit.get_attribute("href") or "")
    assert step is not None
    hit.click()
    expect(page.get_by_text(f"Step {step[1]} of")).to_be_visible(timeout=PATIENT)


def test_a_lesson_ends_with_what_to_keep_and_where_to_go_on(lab: Lab):
    page = lab.open("/slice-sampling?story=8")
    expect(page.get_by_text("To keep")).to_be_visible(timeout=PATIENT)
    page.locator(".st-key-farewell").get_by_test_id("stPageLink-NavLink").first.click()
    expect(page.get_by_role("heading", level=1)).not_to_have_text("Slice sampling", timeout=PATIENT)
