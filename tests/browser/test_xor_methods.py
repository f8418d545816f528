"""XOR, all methods, in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, player


def test_six_answers_and_a_new_point(lab: Lab):
    page = lab.open("/xor-methods?scenario=few")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    # the chains have joined the quick methods
    card = stage.get_by_role("list", name="Arithmetic of this step")
    line = card.get_by_text(re.compile("^NUTS, 800 networks"))
    expect(line).to_be_visible(timeout=PATIENT)
    total, aleatoric, epistemic = (float(number) for number in re.findall(r"\d\.\d{3}", line.inner_text()))
    assert abs(total - aleatoric - epistemic) < 0.002 and epistemic > 0.1
    # one network cannot disagree with itself
    stage.press("Home")
    expect(card.get_by_text(re.compile(r"^NUTS, 1 network, .*epistemic 0\.000"))).to_be_visible()

    # a point by click: all of them learn anew
    run = str(stage.get_attribute("data-run"))
    stage.locator(".stage canvas").first.click(position={"x": 160, "y": 110})
    expect(stage).not_to_have_attribute("data-run", run, timeout=PATIENT)
    page.wait_for_url(re.compile("points="))
    assert lab.query()["points"].count(";") == 4, "four points and the new one"
    expect(stage.get_by_text(re.compile("still sampling"))).to_have_count(0, timeout=PATIENT)
    expect(page.get_by_role("button", name=re.compile("kernel [✓?]"))).to_be_visible(timeout=PATIENT)
