"""Rules of accessibility that a program can check (axe-core), on whole pages in both themes."""

from __future__ import annotations

import datetime

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from app import catalogue
from tests.browser.conftest import PATIENT, Lab, player

SHARE = 10  # of the lessons that are checked in `make test`, others each day; `make test-long` takes them all
TODAY = (datetime.date.today().toordinal() + SHARE // 2) % SHARE
LESSONS = [entry.slug for entry in catalogue.LESSONS]
CHECKED = [slug if i % SHARE == TODAY else pytest.param(slug, marks=pytest.mark.long) for i, slug in enumerate(LESSONS)]
STREAMLIT_S = ("stFileUploaderDropzone",)  # elements that are as Streamlit made them


def faults(lab: Lab) -> list[str]:
    """What breaks a rule: the rule, and the element."""
    found = []
    for rule in Axe().run(lab.page).response["violations"]:
        for node in rule["nodes"]:
            if not any(name in node["html"] for name in STREAMLIT_S):
                found.append(f"{rule['help']}: {node['html'][:200]} {[each['message'] for each in node['any']]}")
    return found


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("slug", ["", *CHECKED])
def test_a_page_keeps_the_rules(lab: Lab, slug: str, theme: str):
    lab.page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    page = lab.open(f"/{slug}")
    if slug:
        expect(player(page).locator("canvas").first).to_be_visible(timeout=PATIENT)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert page.evaluate("getComputedStyle(document.querySelector('.stApp')).colorScheme") == theme
    assert not faults(lab)


def test_a_fault_is_found(lab: Lab):
    page = lab.open("/")
    faulty = '<img src="data:,"><p style="color: #eee; background: #fff">pale</p>'
    page.evaluate("faulty => document.querySelector('h1').insertAdjacentHTML('afterend', faulty)", faulty)
    told = " ".join(faults(lab))
    assert "alternative text" in told and "contrast" in told
