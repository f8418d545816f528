"""Browser tests: a server of our own, a browser found as the Makefile finds it, and a page that forgives nothing.

`lab.open("/hmc?scenario=funnel")` opens a page and waits until the script has run. When the test ends, any console
error, page error, failed request or request to another host fails it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, FloatRect, Locator, Page, Request, Response, ViewportSize, WebSocketRoute, expect

from app import catalogue
from tests.browser import chrome
from tests.pace import slower
from tests.server import ROOT, Server, demo_script, served

expect.set_options(timeout=20_000)  # a busy machine with a software renderer
PATIENT = 60_000  # ms: a first visit may have to wait for a kernel
EXACT = 600_000  # ms: an answer may be the exact evidence of sixteen networks, and the machine may be busy
SCREEN: ViewportSize = {"width": 1280, "height": 720}
TITLES = {entry.slug: entry.title for entry in catalogue.LESSONS}
FOLLOW = "path => { history.pushState({}, '', path); dispatchEvent(new PopStateEvent('popstate')); }"
BROKEN = "Uncaught app execution"
STREAM = re.compile(r"/_stcore/stream")
READY = "[data-testid='stApp'][data-test-script-state='notRunning']"


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict) -> dict:
    """pytest-playwright starts this browser."""
    path = chrome.find()
    if path is None:
        pytest.exit(f"no browser; {chrome.command()}", returncode=2)
    sandbox = ["--no-sandbox"] if chrome.needs_no_sandbox(path) else []
    quiet = ["--disable-gpu", "--disable-background-networking", "--disable-component-update", "--no-first-run"]
    return {**browser_type_launch_args, "executable_path": path, "args": [*sandbox, *quiet]}


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The app."""
    yield from unbroken(ROOT / "app" / "main.py", tmp_path_factory.mktemp("server"))


@pytest.fixture(scope="session")
def demo_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The app with the demo lesson of tests/kit/demo."""
    folder = tmp_path_factory.mktemp("demo")
    yield from unbroken(demo_script(folder), folder)


def unbroken(script: Path, folder: Path) -> Iterator[Server]:
    """A server of a script; what it says about scripts that broke, which a page may not show for long, fails at its end."""
    log = folder / "log.txt"
    yield from served(script, log)
    assert BROKEN not in log.read_text(encoding="utf-8"), "a script broke: see the server's log"


def player(page: Page) -> Locator:
    """The player on the page."""
    return page.get_by_test_id("player")


def one_press_moves(stage: Locator) -> None:
    """Go to the beginning, press Play, see the picture move, pause."""
    stage.press("Home")
    before = stage.get_attribute("data-t")
    stage.get_by_role("button", name="Play").click()
    expect(stage).not_to_have_attribute("data-t", before or "")
    stage.get_by_role("button", name="Pause").click()


def answer(page: Page, option: str | None = None) -> None:
    """Lock a prediction, the first one unless it is named, or what the keyboard draws, and see the stage play what comes
    of it.
    """
    options = page.get_by_role("radiogroup", name="Your prediction")
    handle = player(page).locator(".handle:visible")
    expect(options.or_(handle).first).to_be_visible(timeout=PATIENT)
    if handle.count():
        handle.first.press("ArrowUp")
        handle.first.press("ArrowRight")
    else:
        radio = options.get_by_role("radio", name=option, exact=True) if option else options.get_by_role("radio").first
        radio.check(force=True)
    lock = page.get_by_role("button", name="Lock my prediction and run")
    # beside a stale one, perhaps, while a script runs
    expect(lock.and_(page.locator(":enabled"))).to_have_count(1, timeout=5_000 * slower())
    page.wait_for_selector(READY, timeout=PATIENT)
    lock.click()
    told = page.locator("[data-testid=player][data-cue$='/answered']")
    how_far = page.locator("[class*='-predict-']").get_by_role("progressbar")
    expect(told.or_(how_far).first, "the answer, or how far it is").to_be_visible(timeout=PATIENT)
    expect(told).to_be_visible(timeout=EXACT)
    expect(lock).to_be_hidden(timeout=PATIENT)  # the stage is told before the page has taken the question away


def still(target: Locator) -> FloatRect:
    """Its place once it stands still: what comes after the first picture may move it, also under a mouse."""
    box = None
    for _ in range(60):
        before, box = box, target.bounding_box()
        if box is not None and box == before:
            return box
        target.page.wait_for_timeout(400)
    raise AssertionError("it moves for ever, or is not in view")


THUMB = "xpath=../.."  # what one takes a slider by, seen from its input


def thumb(slider: Locator) -> tuple[float, float]:
    """The middle of what one takes a slider by."""
    box = still(slider.locator(THUMB))
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def hold(slider: Locator) -> tuple[float, float]:
    """Take a slider by its thumb, and where that is. On a busy machine the page may move after it stood still, as when
    its formulas are set: a hand that has missed takes it again. The focus does not tell: a press on its label gives it.
    """
    mouse = slider.page.mouse
    for _ in range(10):
        place = thumb(slider)
        mouse.move(*place)
        mouse.down()
        if slider.locator(THUMB).evaluate("node => node.matches(':active')"):
            return place
        mouse.up()
    raise AssertionError("the slider cannot be taken")


PRESSED = """radio => {
  window.pressed = false;
  radio.closest('[role=radiogroup]').addEventListener('click', () => { window.pressed = true; }, { capture: true, once: true });
}"""


def pick(radio: Locator) -> None:
    """Press an option. On a busy machine the page may move between down and up: a hand that has missed presses again. A
    press that has arrived counts, or the test fails; so does an option that was taken and is given back.
    """
    for _ in range(3):
        radio.evaluate(PRESSED)
        radio.click()
        with contextlib.suppress(AssertionError):
            expect(radio).to_be_checked(timeout=5_000 * slower())
            return
        assert not radio.page.evaluate("window.pressed"), "the option was pressed, and not taken"
    raise AssertionError("the option cannot be hit")


def choose(page: Page, scenario: str) -> None:
    """Press the chip of a scenario, named by a part of its title."""
    pick(page.get_by_role("radiogroup", name="Scenario", exact=True).get_by_role("radio", name=scenario).first)


def draw(page: Page, pad: Locator, points: Sequence[tuple[float, float]], pause: float = 0.0) -> None:
    """A stroke by mouse, through points from 0 to 1, with `pause` ms at each of them."""
    box = still(pad)
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in points]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=6)
        page.wait_for_timeout(pause)
    page.mouse.up()


class Gate:
    """Streamlit's messages to the page: passed on, or kept until the gate opens."""

    def __init__(self, route: WebSocketRoute):
        self._page, self._kept = route, []
        self.shut = False
        server = route.connect_to_server()
        server.on_message(self._pass)

    def _pass(self, message: str | bytes) -> None:
        if self.shut:
            self._kept.append(message)
        else:
            self._page.send(message)

    def open(self) -> None:
        """Pass on what was kept, and all that follows."""
        self.shut = False
        for message in self._kept:
            self._page.send(message)


class Lab:
    """A browser page at the app, with everything that went wrong on it."""

    def __init__(self, page: Page, url: str):
        self.page, self.url = page, url
        self.problems: list[str] = []
        self._met: set[str] = set()
        self._watch()

    def begin(self) -> None:
        """A new test on the same page."""
        self.page.set_viewport_size(SCREEN)
        self.page.emulate_media(color_scheme="light")
        self.problems.clear()

    def open(self, path: str = "/") -> Page:
        """Go to `path` and wait until the script has run. A lesson new to this visit is reached as by a link on the
        page, which spares the seconds in which a browser loads the app; all else begins a new visit.
        """
        slug = urlsplit(path).path.strip("/")
        if self._met and slug in TITLES and slug not in self._met:
            left = self.page.url
            self.page.evaluate(FOLLOW, path)
            title = self.page.get_by_role("heading", name=TITLES[slug], exact=True)
            expect(title, f"{path} from {left}").to_be_visible(timeout=PATIENT)
        else:
            self.page.goto(self.url + path)
            self._met.clear()
        self._met.add(slug)
        self.settled()
        return self.page

    def settled(self) -> None:
        """Wait until no script runs."""
        self.page.wait_for_selector(READY, timeout=60_000)

    def query(self) -> dict[str, str]:
        """The parameters in the address bar."""
        return dict(parse_qsl(urlsplit(self.page.url).query, keep_blank_values=True))

    def _watch(self) -> None:
        host = urlsplit(self.url).netloc

        def console(message: ConsoleMessage) -> None:
            if message.type == "error":
                self.problems.append(f"console: {message.text}")

        def request(call: Request) -> None:
            parts = urlsplit(call.url)
            if parts.scheme in ("http", "https", "ws", "wss") and parts.netloc != host:
                self.problems.append(f"request to another host: {call.url}")

        def response(answer: Response) -> None:
            if answer.status >= 400:
                self.problems.append(f"{answer.status}: {answer.url}")

        self.page.on("console", console)
        self.page.on("pageerror", lambda error: self.problems.append(f"page error: {error}"))
        self.page.on("request", request)
        self.page.on("response", response)


def red_sign(lab: Lab) -> Locator:
    """The first red sign of the page. A question about the run holds it back: then any prediction is locked first."""
    sign = lab.page.get_by_role("button", name=re.compile("✗")).first
    lock = lab.page.get_by_role("button", name="Lock my prediction and run")
    expect(sign.or_(lock).first).to_be_visible(timeout=PATIENT)
    if lock.is_visible():
        answer(lab.page)
    return sign


@pytest.fixture(scope="session")
def reader(browser: Browser, server: Server) -> Iterator[Lab]:
    """The app in a browser page, for all tests."""
    page = browser.new_page()
    yield Lab(page, server.url)
    page.close()


@pytest.fixture
def lab(reader: Lab) -> Iterator[Lab]:
    """The app in a browser page, 1280 × 720."""
    reader.begin()
    yield reader
    reader.page.emulate_media(reduced_motion="no-preference")
    reader.page.set_viewport_size(SCREEN)
    assert not reader.problems, "\n".join(reader.problems)


@pytest.fixture
def demo(page: Page, demo_server: Server) -> Iterator[Lab]:
    """The app with the demo lesson in a browser page."""
    watched = Lab(page, demo_server.url)
    yield watched
    assert not watched.problems, "\n".join(watched.problems)


@pytest.fixture
def altered_demo(page: Page, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Lab]:
    """The demo lesson in a browser page, on a server that has run the Python given as the fixture's parameter."""
    for server in served(demo_script(tmp_path, request.param), tmp_path / "log.txt"):
        watched = Lab(page, server.url)
        yield watched
        assert not watched.problems, "\n".join(watched.problems)
