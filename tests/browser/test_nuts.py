"""The NUTS lesson in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, answer, one_press_moves, player, red_sign


def test_a_first_visit(lab: Lab):
    page = lab.open("/nuts?scenario=doubling")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    expect(page.get_by_role("button", name=re.compile("kernel ✓"))).to_be_visible(timeout=PATIENT)

    one_press_moves(stage)

    # sub-steps: momentum, coin, extension
    readouts = stage.get_by_role("list", name="Arithmetic of this step")
    card = stage.get_by_role("list", name="What is pointed at")
    stage.get_by_role("button", name="First step").click()
    for _ in range(3):
        stage.press("Shift+ArrowRight")
    expect(readouts.get_by_text(re.compile(r"^doubling 1: coin 0\.\d+"))).to_be_visible()
    expect(card.get_by_text(re.compile(r"^2 states, ")).first).to_be_visible()

    # the tree by keyboard: a node's span, its dot products, its weight
    stage.press("ArrowRight")
    stage.press("p")
    expect(card.get_by_text(re.compile(r"^ρ = Σp: p₋·ρ = [+−]\d"))).to_be_visible()
    expect(card.get_by_text(re.compile(r"^weight = \d"))).to_be_visible()
    stage.press("n")
    expect(card.get_by_text(re.compile(r"^State 0, "))).to_be_visible()
    expect(card.get_by_text(re.compile(r"weight exp\(H₀ − H\) = 1\.0000"))).to_be_visible()
    stage.press("Escape")
    expect(card.get_by_text(re.compile("^Point at a state"))).to_be_visible()

    # another way of looking keeps the place
    t = stage.get_attribute("data-t")
    page.get_by_role("radio", name="marginals").or_(page.get_by_role("button", name="marginals")).first.click()
    lab.settled()
    page.wait_for_url(re.compile("view=draws"))
    expect(stage).to_have_attribute("data-t", str(t))


def test_predict_lock_run_explain_and_the_bug_that_looks_right(lab: Lab):
    page = lab.open("/nuts?scenario=aliased")
    expect(player(page).locator("canvas").first).to_be_visible(timeout=PATIENT)
    answer(page, "Too large")
    expect(red_sign(lab)).to_be_visible(timeout=PATIENT)
    expect(page.get_by_text("You were right")).to_be_visible(timeout=PATIENT)
    expect(page.get_by_text(re.compile("Measured variance"))).to_be_visible()


def test_what_is_pointed_at_stands_only_where_two_panels_show_it(lab: Lab):
    """Elsewhere it would take room from the panels that the words name."""
    card = player(lab.open("/nuts?story=1")).get_by_role("list", name="What is pointed at")
    expect(card).to_be_visible(timeout=PATIENT)
    page = lab.open("/nuts?story=6&scenario=funnel")
    expect(player(page)).to_have_attribute("data-panels", "plane marginal-0", timeout=PATIENT)
    expect(card).to_be_hidden()
    page.get_by_role("button", name="All panels").click()
    expect(card).to_be_visible()
