"""The lesson on where networks should not know in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, answer, player


def test_a_first_visit(lab: Lab):
    page = lab.open("/uncertainty-maps?scenario=quarter")
    stage = player(page)
    card = stage.get_by_role("list", name="Arithmetic of this step")
    expect(card.get_by_text(re.compile(r"^total = aleatoric \+ epistemic"))).to_be_visible(timeout=PATIENT)
    expect(card.get_by_text(re.compile("networks still learn"))).to_have_count(0, timeout=PATIENT)
    lab.settled()
    answer(page)

    # from nothing changed, a step turns the image by 10°
    stage.get_by_role("button", name="First step").click()
    expect(card.get_by_text(re.compile(r"turned 0°"))).to_be_visible()
    stage.get_by_role("button", name="Step forward").click()
    expect(card.get_by_text(re.compile(r"turned 10°"))).to_be_visible()

    # images that are no digits
    page.get_by_text("In and out of domain", exact=True).first.click()
    expect(card.get_by_text(re.compile(r"^of 100 × 100 pairs"))).to_be_visible(timeout=PATIENT)
    expect(page.get_by_test_id("pad")).to_be_visible()
    expect(page).to_have_url(re.compile("part=domain"))
