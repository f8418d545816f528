"""A guess drawn on the stage: by hand and by key, marked while the answer plays, and asked again on another run."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, answer, player, still


def test_a_point_is_drawn_marked_judged_and_asked_for_again(lab: Lab):
    lab.page.emulate_media(reduced_motion="reduce")
    page = lab.open("/hmc?scenario=just-right&story=2")
    stage = player(page)
    expect(stage.get_by_text("Your prediction first")).to_be_visible(timeout=PATIENT)
    lock, handle = page.get_by_role("button", name="Lock my prediction and run"), stage.get_by_role("slider", name="Your guess")
    expect(lock).to_be_disabled()
    expect(handle).to_have_attribute("aria-valuetext", "not drawn yet")
    canvas, plot = stage.locator(".stage canvas").first, still(handle)
    plain = canvas.evaluate("node => node.toDataURL()")
    page.mouse.move(plot["x"] + 7, plot["y"] + 7)
    page.mouse.down()
    page.mouse.move(plot["x"] + 37, plot["y"] + 47, steps=4)
    page.mouse.up()
    expect(lock).to_be_enabled()
    first = handle.get_attribute("aria-valuetext") or ""
    expect(page.get_by_text("You drew (")).to_be_visible()
    assert canvas.evaluate("node => node.toDataURL()") != plain, "it is marked"
    handle.press("Shift+ArrowRight")
    expect(handle).not_to_have_attribute("aria-valuetext", first)
    x = float((handle.get_attribute("aria-valuetext") or "").split(",")[0].replace("−", "-"))
    run = stage.get_attribute("data-run") or ""
    expect(page.get_by_text(re.compile(rf"You drew \({x:.2f}"))).to_be_visible()
    lock.click()
    expect(page.get_by_text(re.compile(r"You drew .* the run says .* away"))).to_be_visible(timeout=PATIENT)
    expect(handle).to_be_hidden()
    page.get_by_role("button", name="Guess again on another run").click()
    expect(stage).not_to_have_attribute("data-run", run, timeout=PATIENT)
    expect(stage.get_by_text("Your prediction first")).to_be_visible()
    expect(handle).to_have_attribute("aria-valuetext", "not drawn yet")
    answer(page)
    expect(page.get_by_role("button", name="Guess again on another run")).to_be_visible()
