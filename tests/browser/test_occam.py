"""The Occam lesson in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, pick, player


def test_a_first_visit(lab: Lab):
    page = lab.open("/occam?highest=3&corner=2&temper=2&sweeps=100&burn=20")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    card = stage.get_by_role("list", name="Arithmetic of this step")
    expect(card.get_by_text(re.compile(r"^sweep \d+: most frequent k = \d"))).to_be_visible()

    # the chains run on by themselves, and end with the evidence
    expect(card.get_by_text(re.compile(r"log evidence −?\d.* = fit .* − price"))).to_be_visible(timeout=PATIENT)
    expect(page.get_by_role("button", name=re.compile("kernel ✓"))).to_be_visible(timeout=PATIENT)
    expect(page.get_by_text("What a unit buys, what it costs", exact=True).last).to_be_visible(timeout=PATIENT)

    # another prior, the same data
    pick(page.get_by_role("radio", name="σ/√k out of hidden units"))
    page.wait_for_url(re.compile("scaling=width"))
    lab.settled()
    expect(card.get_by_text(re.compile(r"^sweep \d+: most frequent k = \d"))).to_be_visible()
