"""The lesson on neurons in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, player


def test_a_first_visit(lab: Lab):
    # three sizes and ten points a corner: the journey is the same, and short
    page = lab.open("/neurons?scenario=xor&v=1&corner=5&widest=3&sweeps=150&burn=20&shown=2")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    # nothing was pressed and it moves
    expect(stage).not_to_have_attribute("data-t", "0", timeout=PATIENT)
    stage.press("Space")
    expect(stage).to_have_attribute("data-playing", "false")

    # sub-steps: the proposal, the ledger that adds up, the decision
    card = stage.get_by_role("list", name="Arithmetic of this step")
    stage.get_by_role("button", name="First step").click()
    stage.press("Shift+ArrowRight")
    stage.press("Shift+ArrowRight")
    expect(card.get_by_text(re.compile(r"^(birth|death) of a unit at slot \d: k = \d → \d"))).to_be_visible()
    expect(card.get_by_text(re.compile(r"^log r = likelihood …"))).to_be_visible()
    stage.press("Shift+ArrowRight")
    line = card.get_by_text(re.compile(r"^log r = likelihood [+−]")).inner_text().replace("−", "-")
    *factors, total = (float(number) for number in re.findall(r"[+-]?\d+\.\d\d", line))
    assert len(factors) == 8 and abs(sum(factors) - total) < 0.05
    stage.press("Shift+ArrowRight")
    expect(card.get_by_text(re.compile(r"(accepted, u < α|rejected, u ≥ α)$"))).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("exact"))).to_be_visible(timeout=PATIENT)

    # the experiment streams into the same picture and ends beside the exact answer
    run = str(stage.get_attribute("data-run"))
    page.get_by_role("button", name="Run the experiment").click()
    expect(page.get_by_text(re.compile("Finished:"))).to_be_visible(timeout=2 * PATIENT)
    expect(stage).to_have_attribute("data-run", run)
    expect(stage).to_have_attribute("data-steps", "150")
    expect(card.get_by_text(re.compile(r"exact mean \d"))).to_be_visible()
