"""A term in a text tells what it means: to the pointer, to a finger, to the keyboard."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, player, still


def test_a_term_shows_its_line(reader: Lab):
    page = reader.open("/metropolis?scenario=far&story=9")
    expect(player(page).locator("canvas").first).to_be_visible(timeout=PATIENT)
    term, line, address = page.get_by_role("link", name="R-hat").first, page.get_by_role("tooltip"), page.url
    term.hover()
    expect(line).to_contain_text("Compares chains that began apart")
    expect(term).to_have_attribute("aria-describedby", "glossary-line")
    page.keyboard.press("Escape")
    expect(line).to_be_hidden()
    term.hover(position={"x": 2, "y": 2})
    page.wait_for_timeout(400)  # longer than its line takes to come
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


def test_a_term_that_comes_under_a_pointer_at_rest_says_nothing_until_the_pointer_moves(reader: Lab):
    """As where the reader has just locked a prediction: its explanation stands where the button was."""
    page = reader.open("/metropolis?scenario=far&story=9")
    expect(player(page).locator("canvas").first).to_be_visible(timeout=PATIENT)
    term, line = page.get_by_role("link", name="R-hat").first, page.get_by_role("tooltip")
    box = still(term)
    below = 200.0
    place = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2 + below
    page.mouse.move(*place)
    term.evaluate("(node, by) => { node.style.cssText = `position: relative; z-index: 9; top: ${by}px` }", below)
    page.wait_for_function("node => node.matches(':hover')", arg=term.element_handle())
    page.wait_for_timeout(400)  # longer than its line takes to come
    expect(line).to_be_hidden()
    page.mouse.move(place[0] + 1.0, place[1])
    expect(line).to_be_visible()
    page.mouse.move(2.0, 2.0)
    expect(line).to_be_hidden()
