"""The stage: what stands still is taken over from one picture to the next, and looks as if it had been painted anew;
what a reader has in hand stays there.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PATIENT, Lab, draw, player

# Counts what is stamped on canvases until the next picture has been drawn.
COUNT = """player => {
  const canvas = CanvasRenderingContext2D.prototype, real = canvas.drawImage;
  let stamps = 0;
  window.__stamps = null;
  canvas.drawImage = function (...what) { stamps += 1; return real.apply(this, what); };
  new MutationObserver((_, observer) => {
    observer.disconnect();
    canvas.drawImage = real;
    window.__stamps = stamps;
  }).observe(player, {attributes: true, attributeFilter: ["data-run"]});
}"""
LOOK = "player => player.querySelector('.stage canvas').toDataURL()"
POINTS = 200  # of the XOR clouds, in five panels, each on a rim; in that of the MAP they share a sheet with its map


# Each run of a page that has a pad takes its time, and the server sends nothing when the stage has been drawn; a look
# at a stroke takes its time too.
HOLD_UP = """
import time
from app.kit import seams, stage
prepare, draw, show = stage.prepare, stage.draw, stage._show
def slow_prepare(lesson, here):
    time.sleep(1.0 if here.spec.marks else 0)
    return prepare(lesson, here)
def held_up_draw(lesson, here, work):
    if here.spec.marks and here.channel._line is not None:
        here.channel._line._loop.call_soon_threadsafe(time.sleep, 0.6)
    return draw(lesson, here, work)
def slow_show(lesson, here, stale):
    time.sleep(1.0 if here.spec.marks and seams.in_fragment() else 0)
    show(lesson, here, stale)
stage.prepare, stage.draw, stage._show = slow_prepare, held_up_draw, slow_show
"""


def look(page: Page) -> str:
    """The picture at its first state, as the canvas holds it."""
    stage = player(page)
    expect(stage).to_have_attribute("data-steps", "200", timeout=PATIENT)
    page.evaluate("document.fonts.ready")
    stage.press("Home")
    expect(stage).to_have_attribute("data-t", "0")
    return stage.evaluate(LOOK)


@pytest.mark.parametrize(("control", "value", "moved"), [("prior_sd", "3", False), ("seed", "7", True), ("temper", "2", False)])
def test_a_picture_after_a_move_is_the_one_that_a_new_page_draws(lab: Lab, control: str, value: str, moved: bool):
    page = lab.open("/xor?draws=19000&v=1")  # of no scenario: all panels are on stage, before the move and after
    before = look(page)
    stage = player(page)
    run = stage.get_attribute("data-run")
    stage.evaluate(COUNT)
    box = page.locator(f".st-key-xor-{control}-box input")
    box.fill(value)
    box.press("Enter")
    expect(stage).not_to_have_attribute("data-run", run or "", timeout=PATIENT)
    lab.settled()
    stamps = page.evaluate("window.__stamps")
    assert stamps > 10 * POINTS if moved else stamps < 3 * POINTS, "only what has changed is stamped again"
    after = look(page)
    assert after != before
    page.goto(page.url)
    lab.settled()
    assert look(page) == after


# Bars drawn on a small canvas; says where the ink of an arrow head is.
BARS = """async () => {
  const { QUANTITY_VIEWS } = await import("/app/static/player/quantities.js");
  const { Scale } = await import("/app/static/player/axes.js");
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [180, 100];
  const context = canvas.getContext("2d");
  const colors = { ink: "#ff0000", surface: "#ffffff" };
  const panel = {
    plot: { width: 180, height: 100 }, y: new Scale({ low: -2, high: 2, log: false }, 100, true),
    palette: { color: role => colors[role] ?? "#0000ff" },
  };
  const values = [-9, 1, -Infinity, Infinity, -2, NaN];
  const layer = {
    values: { shape: [6], data: values }, labels: [..."abcdef"], truth: null, role: "likelihood", label: null,
    show: { what: "all", last: null, phase: null, parts: null },
  };
  const view = new QUANTITY_VIEWS.bars(panel, layer);
  view.draw(context, {});
  const red = (x, y) => context.getImageData(x, y, 1, 1).data.join() === "255,0,0,255";
  return values.map((_, k) => [red(30 * k + 15, 8), red(30 * k + 15, 92), view.hover(30 * k + 15, 50, {}).text]);
}"""


def test_a_bar_that_leaves_its_panel_ends_in_an_arrow_head_and_tells_its_length(demo: Lab):
    up, down = [True, False], [False, True]
    neither = [False, False]
    assert demo.open("/demo").evaluate(BARS) == [
        [*down, "a: −9"],
        [*neither, "b: 1"],
        [*down, "c: −∞"],
        [*up, "d: ∞"],
        [*neither, "e: −2"],
        [*neither, "f: –"],
    ]


# A curve a step, each with its band, on a small canvas; says whether the height of each curve is inside, and that of others.
BANDS = """async () => {
  const { PLANE_VIEWS } = await import("/app/static/player/layers.js");
  const { Scale } = await import("/app/static/player/axes.js");
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [100, 100];
  const context = canvas.getContext("2d");
  const panel = {
    plot: { width: 100, height: 100 }, x: new Scale({ low: 0, high: 1, log: false }, 100, false),
    y: new Scale({ low: 0, high: 100, log: false }, 100, true), palette: { color: () => "#ff0000" },
  };
  const rows = (shift) => ({ shape: [3, 2], data: new Float32Array([20, 20, 50, 50, 80, 80].map((each) => each + shift)) });
  const layer = {
    xs: { shape: [2], data: new Float32Array([0, 1]) }, ys: rows(0), band: [rows(-8), rows(8)], role: "likelihood",
    width: 0.1, alpha: 1, dash: false, label: null, chain: null, show: { what: "at", last: null, fade: false, phase: null, parts: null },
  };
  const view = new PLANE_VIEWS.line(panel, layer);
  return [0, 1, 2].map((i) => {
    context.clearRect(0, 0, 100, 100);
    view.paint(context, [i, i + 1]);
    return [20, 50, 80].map((height) => context.getImageData(50, 100 - height - 5, 1, 1).data[3] > 0);
  });
}"""


def test_a_band_goes_with_its_curve(demo: Lab):
    assert demo.open("/demo").evaluate(BANDS) == [[True, False, False], [False, True, False], [False, False, True]]


@pytest.mark.parametrize("altered_demo", [HOLD_UP], indirect=True, ids=["held up"])
def test_a_stroke_outlives_the_end_of_the_page_s_run(altered_demo: Lab):
    """Looks at the second stroke wait until the run of the page that the first has asked for is over."""
    page = altered_demo.open("/demo?marks=0.2,0.2,0%3B0.8,0.2,0")
    pad = page.get_by_test_id("pad")
    expect(pad).to_be_visible()
    expect(player(page)).to_be_visible(timeout=PATIENT)
    page.wait_for_timeout(1000)
    altered_demo.settled()
    there = pad.element_handle()
    draw(page, pad, [(0.2, 0.5), (0.8, 0.5)])
    draw(page, pad, [(x / 10, 0.8) for x in range(2, 9)], pause=500)
    end = r"0\.\d+%2C0\.\d+%2C"
    page.wait_for_url(re.compile(rf"marks=({end}0%3B){{2}}({end}1%3B){{2}}{end}2%3B{end}2&"))
    assert there is not None and there.evaluate("pad => pad.isConnected")
