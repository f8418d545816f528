"""The start page: a run that plays, a search that leads to a step, and at a lesson's end the way on."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from app import catalogue
from app.kit import theme
from app.kit.text import anchor
from app.stills import FOLDER, THEMES, kept
from tests.browser import stills
from tests.browser.conftest import FOLLOW, PATIENT, READY, TITLES, Lab, player
from tests.server import Server, app_script, served


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
    expect(page.get_by_text("No story speaks of that")).to_be_visible(timeout=PATIENT)
    box.fill("stop")
    box.press("Enter")
    hit = page.get_by_role("link", name=re.compile("^NUTS: ")).first
    expect(hit).to_be_visible(timeout=PATIENT)
    page.wait_for_selector(READY, timeout=PATIENT)  # a link that is drawn anew loses the press
    step = re.search(r"story=(\d+)", hit.get_attribute("href") or "")
    assert step is not None
    hit.click()
    # not the cards' "Go on at step …", which this browser may have after other tests
    expect(page.get_by_text(re.compile(f"^Step {step[1]} of"))).to_be_visible(timeout=PATIENT)


def test_a_lesson_ends_with_what_to_keep_and_where_to_go_on(lab: Lab):
    page = lab.open("/slice-sampling?story=8")
    expect(page.get_by_text("To keep")).to_be_visible(timeout=PATIENT)
    link = page.locator(".st-key-farewell").get_by_test_id("stPageLink-NavLink").first
    assert link.locator(":scope > *").evaluate("label => label.scrollWidth <= label.clientWidth"), "its promise is cut off"
    link.click()
    expect(page.get_by_role("heading", level=1)).not_to_have_text("Slice sampling", timeout=PATIENT)


def test_each_lesson_has_a_still_that_is_seen_when_it_is_near_and_tells_what_was_done(lab: Lab):
    page = lab.open("/monte-carlo?story=3")
    expect(player(page)).to_have_attribute("data-cue", re.compile("^monte-carlo/2/"), timeout=PATIENT)
    page.goto(lab.url)
    pictures = page.locator("img.still")
    expect(pictures).to_have_count(len(catalogue.LESSONS), timeout=PATIENT)
    expect(page.get_by_role("img", name="The stage of Monte Carlo integration")).to_be_attached()
    # by its address: this browser may have read others to their third step in other tests
    link = page.locator("a[href$='/monte-carlo?story=3']", has_text="Go on at step 3 of")
    expect(link).to_have_count(1, timeout=PATIENT)
    expect(pictures.last).to_have_attribute("loading", "lazy")
    pictures.last.scroll_into_view_if_needed()
    expect(pictures.last).to_have_js_property("naturalWidth", stills.SIZE[0])
    stations = page.locator("ol.way a")
    assert [station.get_attribute("href") for station in stations.all()] == [f"#{each}" for each in map(anchor, catalogue.TRACKS)]
    lab.page.emulate_media(color_scheme="dark")
    page.reload()
    expect(pictures.first).to_have_attribute("src", re.compile("dark"), timeout=PATIENT)


LATE = """
import time
from app.kit.follow import Follow
from streamlit.runtime.pages_manager import PagesManager
Follow.watch = lambda self: st.fragment(lambda: None, run_every=1.0)()
intend, resolve, seen = PagesManager.set_script_intent, PagesManager.set_pages_and_resolve, set()
def late(self, page, name):
    if page in seen:
        print("looks", flush=True)
        time.sleep(1.0)
    seen.add(page)
    intend(self, page, name)
def later(self, pages, **named):
    time.sleep(2.0)
    return resolve(self, pages, **named)
PagesManager.set_script_intent, PagesManager.set_pages_and_resolve = late, later
"""


def test_a_page_whose_timer_begins_a_run_late_does_not_call_its_reader_back(page: Page, tmp_path: Path):
    log = tmp_path / "log.txt"
    for server in served(app_script(tmp_path, LATE), log):
        page.goto(f"{server.url}/slice-sampling?seed=5&w=4")
        page.wait_for_selector(READY, timeout=PATIENT)
        begun = time.monotonic()
        while "looks" not in log.read_text():
            assert time.monotonic() - begun < 60.0, "its timer does not run"
            page.wait_for_timeout(100)
        page.evaluate(FOLLOW, "/gibbs?seed=7")
        expect(page.get_by_role("heading", name=TITLES["gibbs"], exact=True)).to_be_visible(timeout=PATIENT)
        expect(page).to_have_url(re.compile("/gibbs[?].*seed=7"), timeout=PATIENT)
        expect(page.get_by_role("spinbutton", name="Seed")).to_have_value("7")


def test_all_stills_are_there_and_small():
    names = {f"{entry.slug}-{theme}.webp" for entry in catalogue.LESSONS for theme in THEMES}
    assert kept() == names
    assert sum((FOLDER / name).stat().st_size for name in names) <= 700_000


@pytest.mark.parametrize(
    "slug", [each.slug if each.slug == "metropolis" else pytest.param(each.slug, marks=pytest.mark.long) for each in catalogue.LESSONS]
)
def test_a_still_is_what_the_stage_looks_like_now(browser: Browser, server: Server, slug: str):
    """The command that takes it takes the same picture; those of other lessons look otherwise."""
    page = stills.photographer(browser, "light")
    entry = next(entry for entry in catalogue.LESSONS if entry.slug == slug)
    now = stills.taken(page, server.url, entry, theme.LIGHT["surface"])
    page.close()
    apart = {other.slug: stills.distance(now, Image.open(FOLDER / f"{other.slug}-light.webp")) for other in catalogue.LESSONS}
    assert apart.pop(slug) < stills.ALIKE < min(apart.values())
