"""A connection that is lost and found again."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

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
LOST_AT_THE_NEXT_WORD = """() => {
  window.lost = window.socket;
  lost.addEventListener("message", () => lost.close(), { once: true });
}"""
BACK = "() => socket !== lost && socket.readyState === WebSocket.OPEN"


def test_a_page_is_whole_again_though_its_connection_was_lost_in_the_midst_of_a_run(page: Page, server: Server):
    """Else it stayed empty, or broke: the run that was cut short counted as whole."""
    page.add_init_script(SOCKETS)
    lab = Lab(page, server.url)
    lab.open("/metropolis")
    for step in range(2, 6):
        page.evaluate(LOST_AT_THE_NEXT_WORD)
        page.get_by_role("button", name="Next ▶").click()
        page.wait_for_function(BACK, timeout=PATIENT)
        expect(player(page)).to_have_attribute("data-cue", re.compile(f"^metropolis/{step - 1}/"), timeout=PATIENT)
        lab.settled()
        expect(page.get_by_role("heading", name="Metropolis", exact=True)).to_be_visible()
        expect(page.get_by_text(re.compile(f"^Step {step} of "))).to_be_visible()
        expect(page.get_by_role("button", name="Next ▶")).to_be_visible()
    assert not lab.problems
