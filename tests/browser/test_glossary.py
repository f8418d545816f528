"""A term in a text tells what it means: to the pointer, to a finger, to the keyboard."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, player


def test_a_term_shows_its_line(reader: Lab):
    page = reader.open("/metropolis?scenario=far&story=9")
    expect(player(page).locator("canvas").first).to_be_visible(timeout=PATIENT)
    term, line, address = page.get_by_role("link", name="R-hat").first, page.get_by_role("tooltip"), page.url
    term.hover()
    expect(line).to_contain_text("Compares chains that began apart")
    expect(term).to_have_attribute("aria-describedby", "glossary-line")
    page.keyboard.press("Escape")
    expect(line).to_be_hidden()
    term.click()
    expect(line).to_be_visible()
    assert page.url == address
    page.get_by_role("heading", name="Metropolis").click()
    expect(line).to_be_hidden()
    term.focus()
    expect(line).to_be_visible()
    line.get_by_role("link", name="Its lesson").click()
    expect(page.get_by_role("heading", name="Can I trust this chain?")).to_be_visible(timeout=PATIENT)
