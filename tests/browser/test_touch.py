"""A phone: what a finger does on the stage and on the pad."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.browser.conftest import PATIENT, Lab, player
from tests.server import Server, app_script

Place = tuple[float, float]
Touch = Callable[[Sequence[Place]], None]
STILL = 250  # ms
SCROLLED = "document.querySelector('[data-testid=stMain]').scrollTop"
SLOW_TO_WARM = """
import time
from app.kit import startup
from pathlib import Path
def slow(warm_up):
    while not Path({seen!r}).exists():
        time.sleep(0.1)
startup.WarmUp._warm = slow
"""


@pytest.fixture
def phone(browser: Browser, server: Server) -> Iterator[Lab]:
    """The app on a phone with a touch screen."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, device_scale_factor=2)
    watched = Lab(context.new_page(), server.url)
    yield watched
    context.close()
    assert not watched.problems, "\n".join(watched.problems)


@pytest.fixture
def touch(phone: Lab) -> Touch:
    """A finger that is put down, drawn along a path and lifted."""
    session = phone.page.context.new_cdp_session(phone.page)

    def tell(kind: str, *places: Place) -> None:
        at = [{"x": x, "y": y} for x, y in places]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at})

    def draw(path: Sequence[Place]) -> None:
        tell("touchStart", path[0])
        for place in path[1:]:
            tell("touchMove", place)
        tell("touchEnd")

    return draw


def corner(where: Locator) -> Place:
    """The upper left corner on the screen, once it stands still."""
    before, now = None, where.bounding_box()
    while now != before:
        where.page.wait_for_timeout(STILL)
        before, now = now, where.bounding_box()
    assert now is not None
    return now["x"], now["y"]


def test_a_finger_sets_a_point_moves_it_and_scrolls_the_page_elsewhere(phone: Lab, touch: Touch):
    page = phone.open("/xor?scenario=own-points")
    stage = player(page)
    expect(stage).to_have_attribute("data-steps", re.compile(r"^\d+$"), timeout=PATIENT)
    canvas = stage.locator(".stage canvas").first
    canvas.evaluate("canvas => canvas.scrollIntoView()")  # its top: it is taller than the screen
    left, top = corner(canvas)
    page.touchscreen.tap(left + 200, top + 150)
    page.wait_for_url(re.compile("points="))
    placed = phone.query()["points"].split(";")
    assert len(placed) == 9
    phone.settled()

    left, top = corner(canvas)
    touch([(left + 200 - 2 * k, top + 150 + 3 * k) for k in range(20)])
    page.wait_for_url(lambda url: "points=" in url and phone.query()["points"].split(";") != placed)
    moved = phone.query()["points"].split(";")
    assert len(moved) == 9 and len(set(moved) & set(placed)) == 8, "the point under the finger, and no other"
    phone.settled()

    before = page.evaluate(SCROLLED)
    touch([(left + 60, 700 - 25 * k) for k in range(16)])
    page.wait_for_function(f"{SCROLLED} > {before + 100}")
    assert phone.query()["points"].split(";") == moved


def test_a_finger_draws_on_the_pad_and_the_page_stays(phone: Lab, touch: Touch):
    page = phone.open("/digits")
    pad = page.get_by_test_id("pad")
    expect(pad).to_be_visible(timeout=PATIENT)
    pad.scroll_into_view_if_needed()
    strokes, scrolled = pad.locator("polyline").count(), page.evaluate(SCROLLED)
    left, top = corner(pad)
    touch([(left + 20 + 5 * k, top + 130 - 6 * k) for k in range(20)])  # upwards, as one scrolls down
    expect(pad.locator("polyline")).to_have_count(strokes + 1)
    page.wait_for_url(re.compile("drawing="))
    assert page.evaluate(SCROLLED) == scrolled


def test_what_the_server_says_of_its_kernels_moves_nothing(browser: Browser, tmp_path: Path):
    """A stroke would miss the pad that moved, a tap the button."""
    seen = tmp_path / "seen"
    server = Server(app_script(tmp_path, SLOW_TO_WARM.format(seen=str(seen))), tmp_path / "log.txt")
    try:
        page = Lab(browser.new_page(viewport={"width": 390, "height": 844}), server.url).open("/conjugate")
        note, title = page.get_by_text("Preparing the kernels"), page.get_by_role("heading", level=1)
        expect(note).to_be_in_viewport(timeout=PATIENT)
        with_it = corner(title)
        seen.touch()
        expect(note).to_have_count(0, timeout=PATIENT)
        assert corner(title) == with_it
    finally:
        server.stop()


def test_a_tap_on_a_chip_is_not_scrolled_away_by_the_chip_that_was_tapped_before(phone: Lab):
    page = phone.open("/perceptron")
    page.get_by_role("radio", name=re.compile("^XOR")).tap()
    phone.settled()
    page.get_by_role("heading", name="From perceptron").tap()  # the focus leaves the chips
    page.set_viewport_size({"width": 390, "height": 420})  # as with a keyboard: the rows above go out of view
    chip = page.get_by_role("radio", name="race on a ravine")
    chip.evaluate("chip => chip.scrollIntoView({block: 'center'})")
    page.evaluate("document.querySelector('[data-testid=stMain]').scrollBy(0, 110)")
    expect(page.get_by_role("radio", name=re.compile("^XOR"))).not_to_be_in_viewport()
    x, y = corner(chip)
    page.touchscreen.tap(x + 40, y + 16)
    expect(chip).to_be_checked()


def test_a_finger_draws_a_guess(phone: Lab, touch: Touch):
    """In its panel it draws and does not scroll, upwards too."""
    page = phone.open("/conjugate?scenario=narrow&story=6")
    handles = player(page).locator(".handle")
    expect(handles).to_have_count(2, timeout=PATIENT)
    player(page).locator(".stage canvas").first.evaluate("canvas => canvas.scrollIntoView({ block: 'center' })")
    (left, top), before = corner(handles.first), page.evaluate(SCROLLED)
    touch([(left - 40, top), (left, top - 30), (left + 40, top - 60)])
    expect(page.get_by_text(re.compile(r"You drew \d"))).to_be_visible()
    assert page.evaluate(SCROLLED) == before
    low, high = (float(handle.get_attribute("aria-valuenow") or "nan") for handle in handles.all())
    assert high - low > 0.1, "from end to end"
