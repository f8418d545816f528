"""The HMC lesson in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import PATIENT, Lab, answer, one_press_moves, player


def at(page: Page, t: int) -> None:
    expect(player(page)).to_have_attribute("data-t", str(t))


def test_a_first_visit(lab: Lab):
    page = lab.open("/hmc")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    expect(page.get_by_role("button", name=re.compile("kernel ✓"))).to_be_visible(timeout=PATIENT)

    one_press_moves(stage)

    # sub-steps fill the arithmetic card: momentum, kicks and drift, the ratio, the verdict
    card = stage.get_by_role("list", name="Arithmetic of this step")
    stage.get_by_role("button", name="First step").click()
    stage.press("Shift+ArrowRight")
    at(page, 1)
    expect(card.get_by_text(re.compile("^half kick.*…")).first).to_be_attached()
    for _ in range(3):
        stage.press("Shift+ArrowRight")
    expect(card.get_by_text(re.compile(r"^half kick: .* = −?\d")).first).to_be_visible()
    stage.press("ArrowRight")
    expect(card.get_by_text(re.compile("^u < min.*: (yes|no)"))).to_be_visible()

    # another way of looking keeps the place
    page.get_by_role("radio", name="phase space").or_(page.get_by_role("button", name="phase space")).first.click()
    lab.settled()
    page.wait_for_url(re.compile("view=phase"))
    at(page, 1)

    # the inside of a transition far away comes when one rests on it
    stage.press("End")
    at(page, 499)
    expect(card.get_by_text(re.compile(r"^step 12: "))).to_be_visible(timeout=PATIENT)
    at(page, 499)


def test_predict_lock_run_explain_and_the_broken_sampler(lab: Lab):
    page = lab.open("/hmc?scenario=no-accept")
    expect(player(page).locator("canvas").first).to_be_visible(timeout=PATIENT)
    expect(page.get_by_text("Never refuse")).to_be_visible()  # the story opens where the scenario is told
    expect(page.get_by_text("Why it goes wrong")).to_have_count(0)
    answer(page, "Too large")
    expect(page.get_by_role("button", name=re.compile("✗")).first).to_be_visible(timeout=PATIENT)
    expect(page.get_by_text("Why it goes wrong")).to_be_visible()
    expect(page.get_by_text("You were right")).to_be_visible(timeout=PATIENT)
    expect(page.get_by_text(re.compile("Measured variance"))).to_be_visible()


def test_half_the_step_is_drawn_over_the_old_error(lab: Lab):
    """Both on the same axes: the old one dotted, with its name."""
    page = lab.open("/hmc?scenario=just-right&story=4")
    legend = player(page).get_by_role("list", name="Legend")
    old = legend.get_by_text("H − H₀ with ε = 0.25")
    expect(player(page)).to_have_attribute("data-cue", re.compile("just-right"), timeout=PATIENT)
    expect(old).to_be_hidden()
    answer(page)
    expect(old).to_be_visible(timeout=PATIENT)
    page.get_by_role("button", name="Ask me again").click()
    page.get_by_role("button", name="Back to step 4").click()
    expect(old).to_be_hidden(timeout=PATIENT)
