"""A connection that is lost and found again."""

from __future__ import annotations

import re

from playwright.sync_api import Page, TimeoutError, expect

from tests.browser.conftest import PATIENT, Lab, player
from tests.server import Server

SOCKETS = """
const Streamlits = window.WebSocket;
window.WebSocket = class extends Streamlits {
  constructor(...how) {
    super(...how);
    if (String(how[0]).includes("_stcore")) window.socket = this;
  }
};
"""
LOST_AFTER_A_CLICK = """() => document.addEventListener("click", () => {
  window.lost = window.socket;
  lost.addEventListener("message", () => lost.close(), { once: true });
}, { once: true, capture: true })"""
BACK = "() => window.lost && socket !== lost && socket.readyState === WebSocket.OPEN"
SAID_OF_A_LOSS = "when disconnected from server", "already in CLOSING or CLOSED state"
LOST = 5_000  # ms after which a click has been lost with the connection


def test_a_page_is_whole_again_though_its_connection_was_lost_in_the_midst_of_a_run(page: Page, server: Server):
    """Else it stayed empty, or broke: the run that was cut short counted as whole."""
    page.add_init_script(SOCKETS)
    lab = Lab(page, server.url)
    lab.open("/metropolis")
    for step in range(2, 6):
        page.evaluate(LOST_AFTER_A_CLICK)
        forward, told = page.get_by_role("button", name="Next ▶"), page.get_by_text(re.compile(f"^Step {step} of "))
        forward.click()
        page.wait_for_function(BACK, timeout=PATIENT)
        lab.settled()
        try:
            told.wait_for(timeout=LOST)
        except TimeoutError:
            forward.click()
        expect(told).to_be_visible(timeout=PATIENT)
        expect(player(page)).to_have_attribute("data-cue", re.compile(f"^metropolis/{step - 1}/"), timeout=PATIENT)
        lab.settled()
        expect(page.get_by_role("heading", name="Metropolis", exact=True)).to_be_visible()
        expect(forward).to_be_enabled()
    assert not [problem for problem in lab.problems if not any(words in problem for words in SAID_OF_A_LOSS)]
