"""The Gibbs lesson in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, answer, one_press_moves, player, red_sign


def test_a_first_visit(lab: Lab):
    page = lab.open("/gibbs")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    expect(page.get_by_role("button", name=re.compile("kernel ✓"))).to_be_visible(timeout=PATIENT)

    one_press_moves(stage)

    # sub-steps fill the arithmetic card: the slice, the conditional, the draw
    card = stage.get_by_role("list", name="Arithmetic of this step")
    stage.get_by_role("button", name="First step").click()
    stage.press("Shift+ArrowRight")
    stage.press("Shift+ArrowRight")
    expect(card.get_by_text(re.compile(r"^x₂ given x₁ ~ .* = N\(−?\d"))).to_be_visible()
    stage.press("Shift+ArrowRight")
    expect(card.get_by_text(re.compile(r"^draw z ~ N\(0, 1\) = −?\d"))).to_be_visible()

    # far away the curve of the update is asked for, though no phase waits for it
    stage.press("End")
    expect(stage).to_have_attribute("data-t", "599")
    stage.press("Shift+ArrowLeft")
    expect(card.get_by_text(re.compile(r"^x₂ given x₁ ~ .* = N\(−?\d"))).to_be_visible(timeout=PATIENT)


CLOCK = """async () => {
  const { Clock } = await import("/app/static/player/clock.js?v=test");
  const clock = new Clock(() => {});
  const phases = [{ id: "a", count: 1 }, { id: "b", count: 1 }];
  const scene = { run: "a", steps: 10, phases, parts: {}, start: 0, autoplay: false, total: null, rate: 1 };
  clock.setScene({ ...scene, window: { first: 0, offsets: [0, 3, 6] } });
  const windowed = [clock.hasInside(1), clock.hasInside(5)];
  clock.setScene({ ...scene, run: "b", window: null });
  return [...windowed, clock.hasInside(5)];
}"""


def test_a_window_without_a_phase_of_its_own_is_missed_outside(lab: Lab):
    page = lab.open("/")
    assert page.evaluate(CLOCK) == [True, False, True]


@pytest.mark.long  # the same signs, without a browser: tests/lessons
def test_predict_lock_run_explain_and_the_windowed_one(lab: Lab):
    page = lab.open("/gibbs?scenario=window")
    expect(player(page).locator("canvas").first).to_be_visible(timeout=PATIENT)
    answer(page)
    expect(red_sign(lab)).to_be_visible(timeout=PATIENT)
    expect(page.get_by_text(re.compile("times as wide"))).to_be_visible(timeout=PATIENT)
