"""The lesson on the missing factor in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, player


def test_a_first_visit(lab: Lab):
    page = lab.open("/missing-factor?data=none&highest=6&sweeps=100&burn=20")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    card = stage.get_by_role("list", name="Arithmetic of this step")
    expect(card.get_by_text(re.compile(r"^the (birth|death) that undoes it: .* is left over$"))).to_be_visible()

    # the longest title keeps to its row, however long the signs beside it get
    head = page.get_by_role("heading", level=1)
    row = head.bounding_box()
    page.locator(".st-key-tools").evaluate("tools => { tools.style.minWidth = '600px'; }")
    expect(head).to_have_css("font-size", re.compile(r"^1\d"))
    narrow = head.bounding_box()
    assert row is not None and narrow is not None and narrow["height"] <= row["height"], (row, narrow)

    # both schemes grow by themselves, side by side
    expect(stage).to_have_attribute("data-steps", "100", timeout=PATIENT)
    expect(stage.get_by_text("what this scheme tends to")).to_be_visible()

    # the factor put back
    page.get_by_role("button", name="All factors in place").or_(page.get_by_text("All factors in place")).first.click()
    page.wait_for_url(re.compile("scenario=right"))
    lab.settled()
    expect(card.get_by_text(re.compile("a factor 1, so they cancel$"))).to_be_visible()
