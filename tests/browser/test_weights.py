"""The lesson on weights with a distribution in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, player, red_sign


def test_a_first_visit(lab: Lab):
    page = lab.open("/weights?scenario=gap&steps=200&draws=200&units=2")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)

    # a sub-step draws a network and shows the arithmetic of one weight
    card = stage.get_by_role("list", name="Arithmetic of this step")
    stage.get_by_role("button", name="First step").click()
    stage.press("Shift+ArrowRight")
    expect(card.get_by_text(re.compile(r"softplus\(ρ\)·ε = .*\d"))).to_be_visible()

    # it trains and samples to the end by itself
    expect(page.get_by_text("q is narrower than NUTS on").first).to_be_visible(timeout=PATIENT)


@pytest.mark.long  # the same signs, without a browser: tests/lessons
def test_the_light_kl_is_red(lab: Lab):
    page = lab.open("/weights?variant=light_kl&steps=200&draws=200&rows=8&units=2")
    expect(player(page).locator("canvas").first).to_be_visible(timeout=PATIENT)
    expect(red_sign(lab)).to_be_visible(timeout=PATIENT)


def test_the_digits_learn_until_what_no_image_inks_is_the_prior(lab: Lab):
    page = lab.open("/weights?problem=digits&hidden=10")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    card = stage.get_by_role("list", name="Arithmetic of this step")
    expect(card.get_by_text(re.compile(r"no image inks 3 of the pixels: their 30 weights .* sd 1\.0000 to 1\.0000"))).to_be_visible(
        timeout=PATIENT
    )
    expect(page.get_by_text("Pixels that are never inked").first).to_be_visible(timeout=PATIENT)
    expect(page.get_by_role("button", name=re.compile("kernel ✓"))).to_be_visible(timeout=PATIENT)
