"""The pages of the papers in a browser: filters, an experiment that opens, one that runs, an erratum on its stage."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from lessons.reproduce import report
from lessons.reproduce.experiment import DIFFERS
from tests.browser.conftest import PATIENT, Lab
from tests.server import ROOT, Server


def choose(page: Page, field: str, option: str) -> None:
    """Choose in one of the filters."""
    page.get_by_role("combobox", name=field).click()
    page.get_by_role("option", name=option, exact=True).click()


def test_filters_leave_what_they_name_and_a_row_opens(lab: Lab):
    page = lab.open("/reproduce")
    tallies = page.locator("[data-testid='stExpander'] summary").filter(has_text=re.compile(r"\d (agrees|differs|cannot be told|not run)"))
    expect(tallies.first).to_be_visible(timeout=PATIENT)
    every = tallies.count()
    choose(page, "Verdict", "differs")
    expect(tallies.filter(has_text="agrees")).to_have_count(0, timeout=PATIENT)
    assert 0 < tallies.filter(has_text="differs").count() == tallies.count() < every
    choose(page, "Paper", "Hubin, Storvik")
    differing = {
        row.experiment.id for row in report.rows() if row.verdict.kind == DIFFERS and row.experiment.source.author == "Hubin, Storvik"
    }
    expect(tallies).to_have_count(len(differing), timeout=PATIENT)
    choose(page, "Topic", "Powerball")
    expect(page.get_by_text("No number is left")).to_be_visible(timeout=PATIENT)

    choose(page, "Topic", "all")
    row = page.locator("[data-testid='stExpander']").filter(has_text="A median and the largest value")
    row.locator("summary").click()
    with page.expect_popup() as opened:  # as all links to other pages
        row.get_by_role("link", name=re.compile("Open it")).click()
    experiment = opened.value
    expect(experiment.get_by_role("link", name="Spike and slab")).to_have_attribute("href", re.compile("spike-and-slab"), timeout=PATIENT)
    assert experiment.url.endswith("/reproduce?id=hubin-median")
    with experiment.expect_popup() as opened:
        experiment.get_by_role("link", name=re.compile("Erratum: A median above")).click()
    erratum = opened.value
    expect(erratum.get_by_role("heading", name=re.compile("A median above the largest value"))).to_be_in_viewport(timeout=PATIENT)
    erratum.close()
    experiment.close()


def test_the_quick_form_runs_and_grows(lab: Lab):
    page = lab.open("/reproduce?id=berezowski-5.6")
    expect(page.get_by_text("Kept: full form, 16 parts")).to_be_visible(timeout=PATIENT)
    page.get_by_role("button", name="Run the quick form").click()
    expect(page.get_by_text("Run here, quick form: so far")).to_be_visible(timeout=4 * PATIENT)
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Kept: full form, 16 parts")).to_be_visible(timeout=PATIENT)


def test_the_full_form_goes_on_where_it_was_stopped(browser: Browser, tmp_path: Path):
    state = tmp_path / "state"
    server = Server(ROOT / "app" / "main.py", tmp_path / "log.txt", environment={"POSTERIOR_LAB_STATE": str(state)})
    lab = Lab(browser.new_page(), server.url)
    try:
        page = lab.open("/reproduce?id=andersen-4.1")
        expect(page.get_by_text("goes on where it was stopped")).to_be_visible(timeout=PATIENT)
        made = []
        for _ in range(2):
            page.get_by_role("button", name="Run the full form").click()
            expect(page.get_by_text("Run here, full form: so far")).to_be_visible(timeout=4 * PATIENT)
            page.get_by_role("button", name="Stop").click()
            expect(page.get_by_text("Kept: full form")).to_be_visible(timeout=PATIENT)
            made.append({path.name: path.stat().st_mtime_ns for path in state.rglob("full-*.json")})
        assert len(made[0]) >= 3 and made[0].items() <= made[1].items(), "what was done is not done again"
        assert not lab.problems
    finally:
        lab.page.close()
        server.stop()


def test_an_erratum_opens_its_stage_on_what_is_printed(lab: Lab):
    page = lab.open("/errata")
    page.get_by_text(re.compile(r"All \d+, by title")).click()
    page.get_by_role("link", name="Slips of the pen").click()
    box = page.locator("[data-testid='stVerticalBlock']").filter(has=page.get_by_role("heading", name=re.compile("Slips of the pen"))).last
    expect(box.get_by_role("heading")).to_be_in_viewport(timeout=PATIENT)
    box.get_by_text("Show it").click()
    stage = page.get_by_test_id("player")
    expect(stage).to_have_attribute("data-t", "10", timeout=PATIENT)
    expect(stage.get_by_text(re.compile("At 20: 92.8 %")).first).to_be_visible()
    links = {link.inner_text(): link.get_attribute("href") for link in box.get_by_role("link").all()}
    assert "landing?scenario=thesis" in links["Networks that learn from 20 components"]
    assert links["Its numbers, printed and ours"].endswith("reproduce?id=berezowski-6.2")


def test_on_a_phone_verdicts_are_seen_and_their_reasons_can_be_read(lab: Lab):
    page = lab.open("/reproduce?id=berezowski-5.6")
    page.set_viewport_size({"width": 360, "height": 740})
    reason = page.get_by_role("cell", name=re.compile("it hangs on what is not printed")).first
    expect(reason).to_be_visible(timeout=PATIENT)
    assert reason.bounding_box()["width"] >= 240
    verdict = page.get_by_role("cell", name="cannot be told", exact=True).first.bounding_box()
    assert verdict["x"] + verdict["width"] <= 360, "seen without scrolling"
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
