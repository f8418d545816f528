"""The lesson on jumps that land in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, player


def test_a_first_visit(lab: Lab):
    page = lab.open("/landing?v=1&corner=3&widest=6&bridges=4&sweeps=20&burn=0")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    expect(stage).not_to_have_attribute("data-t", "0", timeout=PATIENT)
    stage.press("Space")

    # the first state of a jump: undecided, on the first of four bridges
    card = stage.get_by_role("list", name="Arithmetic of this step")
    stage.get_by_role("button", name="First step").click()
    expect(card.get_by_text(re.compile(r"^jump 1 of \d+: (birth|death) of the unit at place \d"))).to_be_visible()
    expect(card.get_by_text(re.compile(r"^bridge 1 of 4: the unit's output counts 0\.\d"))).to_be_visible()
    expect(card.get_by_text(re.compile(r"^to be decided"))).to_be_visible()

    # the comparison runs and ends
    page.get_by_role("button", name="Run the comparison").click()
    expect(page.get_by_text(re.compile("Finished:"))).to_be_visible(timeout=2 * PATIENT)
    expect(card.get_by_text(re.compile(r"^annealed 64: "))).to_be_visible()
    expect(stage).to_have_attribute("data-t", "1")  # the second of two rounds
