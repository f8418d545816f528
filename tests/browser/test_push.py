"""The player's own socket: pictures come by it before Streamlit's messages do, and without it all the same."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import Page, WebSocket, WebSocketRoute, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from app.kit.stage import PATIENCE
from tests.browser.conftest import PATIENT, STREAM, Gate, Lab, player
from tests.browser.test_frame import set_box
from tests.server import Server

SOCKET = re.compile(r"/picture/[0-9a-f]{32}$")
COUNT = """player => {
  window.__pictures = 0;
  new MutationObserver(list => { window.__pictures += list.length; })
    .observe(player, {attributes: true, attributeFilter: ["data-run"]});
}"""

# A socket that is open and silent, and a page that names the missing picture four times a second.
POLLED = """async () => {
  const { Channel } = await import("/app/static/player/channel.js");
  const real = window.WebSocket;
  window.WebSocket = class { static OPEN = 1; readyState = 1; close() {} };
  let asked = 0;
  const channel = new Channel(() => {}, () => { asked += 1; });
  const stamp = new Uint8Array(24);
  stamp[16] = 1;
  const poll = setInterval(() => channel.isNew(stamp), 250);
  await new Promise(end => setTimeout(end, 2500));
  clearInterval(poll);
  window.WebSocket = real;
  return asked;
}"""


# A picture takes so long that all that goes before it has left the server.
SLOW_SCENE = """
import time
from app.kit import stage
scene = stage._scene
def slow_scene(*arguments):
    time.sleep(0.4)
    return scene(*arguments)
stage._scene = slow_scene
"""


def run(lab: Lab) -> str | None:
    """The run that the player shows."""
    return player(lab.page).get_attribute("data-run")


def test_a_picture_is_drawn_before_streamlit_says_anything_and_only_once(demo: Lab):
    gates: list[Gate] = []
    demo.page.route_web_socket(STREAM, lambda route: gates.append(Gate(route)))
    with demo.page.expect_websocket(lambda socket: SOCKET.search(socket.url) is not None):
        page = demo.open("/demo")
        expect(player(page)).to_be_visible()
    page.wait_for_timeout(500)
    before = run(demo)
    player(page).evaluate(COUNT)
    gates[-1].shut = True
    set_box(page, "drift", "0.25")
    expect(player(page)).not_to_have_attribute("data-run", before or "")
    gates[-1].open()
    page.wait_for_url(re.compile("drift=0.25"))
    demo.settled()
    assert page.evaluate("window.__pictures") == 1, "the same picture by the long way does nothing"


@pytest.mark.alone  # what else the machine does makes a picture slow
def test_a_quick_picture_goes_ahead_of_what_announces_its_run(demo: Lab):
    """One that a busy machine makes slowly does not: then another is tried."""
    heard: list[str] = []

    def listen(socket: WebSocket) -> None:
        for pattern, name in ((STREAM, "Streamlit"), (SOCKET, "picture")):
            if pattern.search(socket.url):
                socket.on("framereceived", lambda frame, name=name: heard.append(name))

    demo.page.on("websocket", listen)
    page = demo.open("/demo")
    expect(player(page)).to_be_visible()
    for drift in ("0.25", "0.26", "0.27", "0.28"):
        while heard:
            heard.clear()
            page.wait_for_timeout(2000)
        set_box(page, "drift", drift)
        expect(page.locator(".st-key-demo-drift-box input")).to_have_value(drift)
        expect(page).to_have_url(re.compile(f"drift={drift}"), timeout=PATIENT)
        if heard[0] == "picture":
            break
    assert heard[0] == "picture" and "Streamlit" in heard, "and then its run is"


def test_no_message_stands_for_one_that_a_browser_may_have_let_go(page: Page, server: Server):
    """In a page of its own: the socket of one that has been used is open already, and not heard."""
    lab = Lab(page, server.url)
    kinds: list[str | None] = []

    def listen(socket: WebSocket) -> None:
        if STREAM.search(socket.url):
            socket.on("framereceived", lambda frame: kinds.append(ForwardMsg.FromString(frame).WhichOneof("type")))

    page.on("websocket", listen)
    lab.open("/hmc")
    expect(player(page)).to_be_visible(timeout=PATIENT)
    for name in ("Next ▶", "◀ Back", "Next ▶"):  # to what has been seen
        page.get_by_role("button", name=name).click()
        page.wait_for_timeout(500)
        lab.settled()
    assert kinds.count("new_session") >= 4 and "ref_hash" not in kinds
    assert not lab.problems, "\n".join(lab.problems)


@pytest.mark.alone
@pytest.mark.parametrize("altered_demo", [SLOW_SCENE], indirect=True, ids=["slow"])
def test_streamlit_says_no_more_before_a_picture_than_it_must(altered_demo: Lab):
    """For each message the browser draws the page anew, and the picture waits in line behind that. A run that waits for
    it in vain, on a busy machine, rightly goes on, and one may meet the run of a job that has just ended: then another
    is tried.
    """
    said: list[str | None] = []
    when: dict[str | None, float] = {}

    def hear(kind: str | None) -> None:
        said.append(kind)
        when.setdefault(kind, time.monotonic())

    def listen(socket: WebSocket) -> None:
        if STREAM.search(socket.url):
            socket.on("framereceived", lambda frame: hear(ForwardMsg.FromString(frame).WhichOneof("type")))
        elif SOCKET.search(socket.url):
            socket.on("framereceived", lambda frame: hear("picture"))

    altered_demo.page.on("websocket", listen)
    page = altered_demo.open("/demo")
    expect(player(page)).to_be_visible()
    for drift in ("0.25", "0.26", "0.27", "0.28"):
        while said:  # until all is quiet: what follows a first picture, and the note on the kernels, have ended
            said.clear()
            page.wait_for_timeout(2000)
        when.clear()
        set_box(page, "drift", drift)
        expect(page.locator(".st-key-demo-drift-box input")).to_have_value(drift)
        expect(page).to_have_url(re.compile(f"drift={drift}"), timeout=PATIENT)
        altered_demo.settled()
        alone = said[: said.index("picture")].count("new_session") == 1
        if alone and when["picture"] - when["new_session"] < 0.8 * PATIENCE:
            break
    assert said.count("picture") == 1
    before = sorted(str(kind) for kind in said[: said.index("picture")])
    assert before == ["delta", "navigation", "new_session", "page_config_changed", "session_status_changed"]
    assert "page_info_changed" in said, "the address follows"


def test_the_page_neither_listens_to_nor_obeys_a_page_around_it(demo: Lab):
    """Streamlit would talk to it by messages that it hears itself, and compare each with many patterns."""
    page = demo.open("/demo")
    assert page.request.get(f"{demo.url}/_stcore/host-config").json()["allowedOrigins"] == []
    page.evaluate("() => { window.__heard = 0; URLPattern = class { constructor() { window.__heard += 1; } }; }")
    set_box(page, "drift", "0.25")
    page.wait_for_url(re.compile("drift=0.25"))
    demo.settled()
    assert page.evaluate("window.__heard") == 0


def test_without_the_socket_pictures_come_the_long_way(demo: Lab):
    refused: list[str] = []

    def refuse(route: WebSocketRoute) -> None:
        refused.append(route.url)
        route.close()

    demo.page.route_web_socket(SOCKET, refuse)
    page = demo.open("/demo")
    expect(player(page)).to_be_visible()
    for drift in ("0.25", "0.5"):
        before = run(demo)
        set_box(page, "drift", drift)
        expect(player(page)).not_to_have_attribute("data-run", before or "")
        demo.settled()
    assert refused


def test_a_picture_that_is_lost_on_the_short_way_is_asked_for(demo: Lab):
    """A socket that stays open and passes nothing on, as a broken proxy."""
    demo.page.route_web_socket(SOCKET, lambda route: route.connect_to_server().on_message(lambda message: None))
    page = demo.open("/demo")
    expect(player(page)).to_be_visible()
    page.wait_for_timeout(500)
    before = run(demo)
    set_box(page, "drift", "0.25")
    expect(player(page)).not_to_have_attribute("data-run", before or "")
    demo.settled()


def test_a_page_that_polls_does_not_put_the_question_off(demo: Lab):
    assert demo.open("/demo").evaluate(POLLED) == 1
