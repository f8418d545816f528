"""The lesson on layers in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, player


def test_a_first_visit(lab: Lab):
    page = lab.open("/layers?v=1&corner=2&deepest=3&sweeps=150&burn=20&jumps=10")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    expect(stage).not_to_have_attribute("data-t", "0", timeout=PATIENT)
    stage.press("Space")

    # a layer has no slot, and its ledger adds up
    card = stage.get_by_role("list", name="Arithmetic of this step")
    stage.get_by_role("button", name="First step").click()
    expect(card.get_by_text(re.compile(r"^(birth|death) of a layer: L = \d → \d"))).to_be_visible()
    line = card.get_by_text(re.compile(r"^log r = likelihood [+−]")).inner_text().replace("−", "-")
    *factors, total = (float(number) for number in re.findall(r"[+-]?\d+\.\d\d", line))
    assert len(factors) == 6 and abs(sum(factors) - total) < 0.05

    # the chains run on by themselves, and end beside the exact answer
    expect(stage).to_have_attribute("data-steps", "150", timeout=2 * PATIENT)
    expect(card.get_by_text(re.compile(r"exact mean \d"))).to_be_visible(timeout=2 * PATIENT)
    expect(page.get_by_text("More data, fewer jumps")).to_be_visible(timeout=2 * PATIENT)
