"""The code tab follows the stage: the lit line, its numbers, the wrong line, a step, the clipboard."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, player


def test_the_lit_line_follows_the_phase(lab: Lab):
    page = lab.open("/metropolis?part=plane&variant=no_hastings&drift=0.5&draws=200&correlation=0.5")  # a sandbox: nothing is held back
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    page.get_by_role("tab", name="Code").click()
    listing = page.get_by_test_id("listing")
    lit, now = listing.locator(".lit"), listing.locator(".now")
    stage.press("Home")
    stage.press(".")
    expect(lit.nth(1)).to_contain_text("step = drift + scale")
    stage.press(".")
    expect(listing).to_have_attribute("data-phase", "ratio")
    expect(lit.last).to_contain_text("log_r = log_pi_y")
    expect(now).to_contain_text("ratio: log r")
    listing.get_by_role("button", name="Step").click()
    expect(stage).to_have_attribute("data-s", "2")
    expect(lit).to_contain_text(["# phase: u", "u = rng.random()"])
    expect(listing.locator(".wrong")).to_contain_text(["# wrong: no_hastings"])  # the run's own variant, and no other
    stage.press(".")
    expect(lit.nth(1)).to_contain_text("if u <")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    listing.get_by_role("button", name="Copy").click()
    expect(listing.get_by_role("button", name="Copied")).to_be_visible()
    assert "def metropolis(log_pi, x, n, rng" in page.evaluate("navigator.clipboard.readText()")
    page.get_by_text("The compiled kernel").click()
    expect(page.get_by_text("def metropolis_chunk")).to_be_visible()


def test_a_mistake_outside_the_code_is_said_to_be_elsewhere(lab: Lab):
    page = lab.open("/logistic?variant=no_prior&used=20")
    expect(player(page).locator("canvas").first).to_be_visible(timeout=PATIENT)
    page.get_by_role("tab", name="Code").click()
    expect(page.get_by_text("No line here is wrong")).to_be_visible()
    expect(page.get_by_test_id("listing").locator(".wrong")).to_have_count(0)


def test_the_numbers_beside_the_lines_are_those_that_there_are(lab: Lab):
    page = lab.open("/hmc?scenario=just-right")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    page.get_by_role("tab", name="Code").click()
    now = page.get_by_test_id("listing").locator(".now")
    stage.press("Home")
    stage.press(".")
    stage.press(".")  # where the path begins: no kick yet, and so no line about one
    expect(now).to_contain_text("step 0")
    expect(now).not_to_contain_text("half kick")
    stage.press(".")
    expect(now).to_contain_text("half kick")
