"""The lesson From perceptron to network in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, one_press_moves, player


def test_a_first_visit(lab: Lab):
    page = lab.open("/perceptron")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    expect(page.get_by_role("button", name=re.compile("kernel ✓"))).to_be_visible(timeout=PATIENT)

    # one press makes something happen, and slow motion tells whether the point was wrong
    one_press_moves(stage)
    card = stage.get_by_role("list", name="Arithmetic of this step")
    expect(card.get_by_text(re.compile(r"mistakes; at most \(R/γ\)² = "))).to_be_visible()

    # a prediction: the perceptron never stops on XOR
    page.get_by_text("XOR: for ever").click()
    lab.settled()
    answer = page.get_by_text("it never stops", exact=True)
    expect(answer).to_be_visible(timeout=PATIENT)
    answer.click()
    page.get_by_role("button", name="Lock my prediction and run").click()
    expect(page.get_by_text("You were right")).to_be_visible(timeout=PATIENT)

    # a wrong backward pass is told so; its arithmetic is there node by node
    page.get_by_text("forgot φ′", exact=False).first.click()
    lab.settled()
    expect(page.get_by_role("button", name=re.compile("✗")).first).to_be_visible(timeout=PATIENT)
    expect(card.get_by_text(re.compile(r"^forward: z₁ = "))).to_be_visible()
