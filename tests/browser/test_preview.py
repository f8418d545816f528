"""A slider on its way: the stage follows it before the server is asked, marked as a preview, and the run takes its place."""

from __future__ import annotations

import hashlib
import re
import time

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, WebSocket, expect

from app.kit.player import scene
from tests.browser.conftest import PATIENT, Lab, hold, player, thumb

pytestmark = pytest.mark.alone  # a drag is over before a server that shares its cores has the table
DRAGGED = [("/conjugate?alpha=6&beta=6", "alpha"), ("/hmc?step_size=0.25&steps=12", "step_size"), ("/scores?view=abstain", "answered")]


class Pictures:
    """What has come by the short way: pictures, and tables."""

    def __init__(self, page: Page):
        self.count = 0
        page.on("websocket", self._watch)

    def ended(self, page: Page) -> int:
        """How many, once no more come: a table comes in parts, each with what there is so far."""
        before = -1
        while before != self.count:
            before = self.count
            page.wait_for_timeout(1000)
        return before

    def _watch(self, socket: WebSocket) -> None:
        if "/picture/" in socket.url:
            socket.on("framereceived", lambda _: setattr(self, "count", self.count + 1))


def look(stage: Locator) -> str:
    """What the canvas shows."""
    return hashlib.sha256(stage.locator("canvas").first.evaluate("canvas => canvas.toDataURL()").encode()).hexdigest()


STATE = """node => [JSON.stringify({ ...node.dataset }),
  ...[...document.querySelectorAll("input[type=range]")].map((s) => `${s.getAttribute("aria-label")} ${s.getAttribute("value")}`)].join()"""


def another(stage: Locator, *seen: str) -> str:
    """What the canvas shows once it is none of these."""
    end = time.monotonic() + 20.0
    while (now := look(stage)) in seen:
        assert time.monotonic() < end, f"each value has its picture: {len(seen)} {stage.evaluate(STATE)}"
        stage.page.wait_for_timeout(50)
    return now


def grasp(page: Page, field: str) -> Locator:
    """Put the hand on the thumb of a slider, which may still be moved by what comes after the picture: `hold` it to drag."""
    slider = page.locator(f".st-key-preview-{field} input[type=range]").first
    slider.scroll_into_view_if_needed()
    page.mouse.move(*thumb(slider))
    return slider


@pytest.fixture
def fresh(lab: Lab) -> Lab:
    """A visit whose messages are counted from the first."""
    lab._met.clear()
    return lab


@pytest.mark.parametrize(("path", "field"), DRAGGED, ids=[field for _, field in DRAGGED])
def test_the_stage_follows_a_slider_until_its_run_is_there(fresh: Lab, path: str, field: str):
    come = Pictures(fresh.page)
    page = fresh.open(path)
    stage = player(page)
    expect(stage).to_have_attribute("data-run", re.compile("."), timeout=PATIENT)
    grasp(page, field)
    expect(stage).to_have_attribute("data-table", re.compile(f"^{field} "), timeout=PATIENT)
    fresh.settled()
    slider = grasp(page, field)
    count = come.ended(page)
    before, address = look(stage), page.url
    run = stage.get_attribute("data-run")
    x, y = hold(slider)
    looks = []
    for way in (25, 50):
        page.mouse.move(x + way, y, steps=4)
        expect(stage).to_have_attribute("data-preview", "")
        expect(stage.get_by_text("Preview of your change")).to_be_visible()
        looks.append(another(stage, before, *looks))
    assert come.count == count and page.url == address and stage.get_attribute("data-run") == run, "no run has been made"
    described = stage.locator("canvas").first.get_attribute("aria-label") or ""
    assert described.startswith("Preview of your change")
    page.mouse.up()
    expect(stage).not_to_have_attribute("data-preview", "", timeout=PATIENT)
    expect(stage.locator(".old")).to_be_hidden()
    assert come.count > count
    expect(page).not_to_have_url(address, timeout=PATIENT)


def test_an_open_question_is_not_answered_by_a_preview(fresh: Lab):
    """What half the step does is asked: the old picture stays, marked."""
    page = fresh.open("/hmc?scenario=just-right&story=4")
    stage = player(page)
    expect(page.get_by_role("button", name="Lock my prediction and run")).to_be_visible(timeout=PATIENT)
    fresh.settled()
    slider = grasp(page, "step_size")
    page.wait_for_timeout(1500)
    assert stage.get_attribute("data-table") is None
    x, y = hold(slider)
    page.mouse.move(x + 30, y, steps=4)
    expect(stage.get_by_text("Before your change")).to_be_visible()
    assert stage.get_attribute("data-preview") is None
    page.mouse.move(x, y, steps=4)
    page.mouse.up()


ASKING = """async ({ field, seconds, table }) => {
  const { name } = performance.getEntriesByType("resource").find(({ name }) => name.includes("/player/preview.js"));
  const { Preview } = await import(name);
  const asked = [];
  const preview = new Preview((field, place, id) => asked.push({ field, id, at: performance.now() }));
  const slider = document.querySelector(`.st-key-preview-${field} input[type=range]`);
  const drag = async () => {
    for (const end = performance.now() + 1000 * seconds; performance.now() < end; ) {
      preview.prepare(slider, { t: 3, upto: 3 }, { now: true });
      await new Promise((done) => setTimeout(done, 20));
    }
  };
  await drag();
  const before = asked.length;
  preview.take(Uint8Array.from(table));
  await drag();
  return { asked, before };
}"""


def test_a_table_that_the_server_refused_is_asked_for_again(fresh: Lab):
    """In the same drag, a few times a second at most and by the same number, until it is there."""
    page = fresh.open("/conjugate?alpha=6&beta=6")
    expect(player(page)).to_have_attribute("data-run", re.compile("."), timeout=PATIENT)
    grasp(page, "alpha")
    table = scene.pack_bound({"v": scene.VERSION, "id": 1, "max": 1.0, "smooth": True, "frames": []})
    found = page.evaluate(ASKING, {"field": "alpha", "seconds": 1.5, "table": list(table)})
    asked, before = found["asked"], found["before"]
    assert 2 <= before == len(asked) <= 5
    assert {(each["field"], each["id"]) for each in asked} == {("alpha", 1)}
    assert min(np.diff([each["at"] for each in asked])) > 250  # ms


GROWING = """async ({ stays, steps }) => {
  const { name } = performance.getEntriesByType("resource").find(({ name }) => name.includes("/player/clock.js"));
  const { Clock } = await import(name);
  const clock = new Clock(() => {});
  const scene = { phases: [], window: null, start: null, autoplay: true };
  const [first, ...grown] = steps;
  clock.setScene({ ...scene, run: "new", steps: first });
  clock.stay({ t: stays, settled: true, s: 0 });
  const at = [clock.t];
  for (const length of grown) {
    clock.setScene({ ...scene, run: "new", steps: length });
    at.push(clock.t);
  }
  return [...at, clock.playing];
}"""


def test_a_run_that_grows_comes_to_the_transition_that_was_previewed(fresh: Lab):
    """And stays there when it grows beyond."""
    page = fresh.open("/conjugate?alpha=6&beta=6")
    expect(player(page)).to_have_attribute("data-run", re.compile("."), timeout=PATIENT)
    assert page.evaluate(GROWING, {"stays": 150, "steps": [40, 100, 200, 300]}) == [39, 99, 150, 150, False]
    assert page.evaluate(GROWING, {"stays": 30, "steps": [40, 200]}) == [30, 30, False]


def test_a_preview_is_drawn_as_often_as_the_screen_asks(fresh: Lab):
    """A frame of it takes less than a sixtieth of a second, on this machine with what else it does."""
    page = fresh.open("/conjugate?alpha=6&beta=6")
    stage = player(page)
    expect(stage).to_have_attribute("data-run", re.compile("."), timeout=PATIENT)
    x, y = thumb(grasp(page, "alpha"))
    expect(stage).to_have_attribute("data-table", re.compile("^alpha "), timeout=PATIENT)
    page.mouse.down()
    taken = []
    for way in range(1, 61):
        page.mouse.move(x + way, y)
        taken.append(float(stage.get_attribute("data-followed") or "nan"))
    page.mouse.move(x, y)
    page.mouse.up()
    assert np.nanmedian(taken) < 1000 / 60
