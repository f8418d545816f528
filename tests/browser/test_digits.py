"""The lesson with the drawing pad in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, answer, draw, player

ONE = ((0.5, 0.12), (0.5, 0.3), (0.5, 0.5), (0.49, 0.7), (0.49, 0.88))


def test_a_first_visit(lab: Lab):
    page = lab.open("/digits?scenario=plain")
    stage, pad = player(page), page.get_by_test_id("pad")
    card = stage.get_by_role("list", name="Arithmetic of this step")
    expect(card.get_by_text(re.compile(r"^average of 100 networks: 3 with"))).to_be_visible(timeout=PATIENT)
    run = str(stage.get_attribute("data-run"))
    lab.settled()

    stage.get_by_role("button", name="All panels").click()
    expect(stage).to_have_attribute("data-counts", re.compile(r"\d"))
    page.get_by_role("button", name="Clear").click()
    expect(card.get_by_text(re.compile(r"100 networks: 3 with"))).to_have_count(0)
    draw(page, pad, ONE)
    told = card.get_by_text(re.compile(r"^average of 100 networks: 1 with"))
    expect(told).to_be_visible()
    lab.settled()
    agree = re.search(r"(\d+) of them", told.inner_text())
    assert agree is not None
    expect(stage).to_have_attribute("data-counts", re.compile(rf"^\d+ {agree[1]} "))  # votes are those of this drawing
    expect(stage).to_have_attribute("data-run", run)  # the reader's place is kept
    point = r"0\.\d+%2C0\.\d+%2C0"
    expect(page).to_have_url(re.compile(f"drawing={point}%3B{point}&"))  # what lies on a line is left out
    assert "scenario" not in lab.query()

    # by keys: a line to the right at the top makes something else of it, Backspace takes it away
    before = lab.query()["drawing"]
    pad.focus()
    for key in ("ArrowUp",) * 4 + (" ",) + ("ArrowLeft",) * 5 + (" ",):
        page.keyboard.press(key)
    expect(page).to_have_url(re.compile("%3B0.5%2C0.3%2C1%3B0.25%2C0.3%2C1&"))
    assert lab.query()["drawing"].startswith(before)
    pad.press("Backspace")
    page.wait_for_function("before => new URLSearchParams(location.search).get('drawing') === before", arg=before, timeout=PATIENT)

    # another posterior reads the same digit
    page.get_by_text("MC dropout", exact=True).first.click()
    expect(stage).not_to_have_attribute("data-run", run, timeout=PATIENT)
    expect(card.get_by_text(re.compile(r"^average of 100 networks: 1 with"))).to_be_visible(timeout=PATIENT)


def test_what_the_first_network_reads_is_told_after_the_lock(lab: Lab):
    """It says much of what a hundred read, to the eye and to the ear."""
    page = lab.open("/digits?scenario=corner&story=7")
    stage = player(page)
    said = stage.locator(".hidden-text[aria-live]")
    expect(page.get_by_role("button", name="Lock my prediction and run")).to_be_visible(timeout=PATIENT)
    expect(said).to_have_text(re.compile(r"^Step 1 of 100"), timeout=PATIENT)
    expect(stage.get_by_text(re.compile(r"^average of \d"))).to_be_hidden()
    card = stage.get_by_role("list", name="Arithmetic of this step", include_hidden=True)
    expect(card).to_be_hidden()  # nothing else stands in it
    answer(page)
    expect(stage.get_by_text(re.compile(r"^average of \d"))).to_be_visible()
    expect(said).to_have_text(re.compile("probability"), timeout=PATIENT)
