"""The axes of a panel, drawn on a context that writes down where words go."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Lab

LETTER = 8  # px, each
FRAME = {"x": 100, "width": 300}  # px
TICKS = """async ([low, high, labels, letter, frame]) => {
  const { drawAxes, Scale } = await import("/app/static/player/axes.js");
  const words = [];
  const context = new Proxy({measureText: text => ({width: letter * text.length}),
    fillText: (text, x) => words.push([text, x - letter * text.length / 2, x + letter * text.length / 2])},
    {get: (made, name) => made[name] ?? (() => {})});
  const axis = {low, high, log: false, ticks: labels}, width = frame.width - 20;
  const plot = {x: frame.x + 8, y: 0, width, height: 100};
  drawAxes(context, {spec: {x: axis}, plot, frame: {...frame, y: 0, height: 140}, x: new Scale(axis, width, false),
    yTicks: [], categories: null}, {color: () => "black"}, "sans-serif");
  return words;
}"""


@pytest.mark.parametrize(
    ("labels", "written"),
    [
        ([[0, "0.00"], [5, "five"], [10, "10 000"]], ["0.00", "five", "10 000"]),
        ([[0, "0"], [9, "nine and more"], [10, "ten"]], ["0", "nine and more"]),
    ],
)
def test_labels_of_ticks_are_whole_and_apart(demo: Lab, labels: list, written: list[str]):
    page = demo.open("/demo")
    words = page.evaluate(TICKS, [0, 10, labels, LETTER, FRAME])
    assert [text for text, _, _ in words] == written
    assert all(FRAME["x"] <= left and right <= FRAME["x"] + FRAME["width"] for _, left, right in words)
    assert all(words[k][2] < words[k + 1][1] for k in range(len(words) - 1))


TITLE = """async ([title, letter, frame]) => {
  const { drawAxes } = await import("/app/static/player/axes.js");
  const words = [];
  const width = (context, text) => letter / 15 * parseFloat(/([\\d.]+)px/.exec(context.font)[1]) * text.length;
  const context = new Proxy({}, {get: (made, name) => made[name] ?? {
    measureText: text => ({width: width(made, text)}),
    fillText: (text, x, y) => words.push([text, x, x + width(made, text), y]),
  }[name] ?? (() => {}), set: (made, name, value) => Boolean(made[name] = value) || true});
  const plot = {x: frame.x + 60, y: 30, width: frame.width - 70, height: 100};
  drawAxes(context, {spec: {title, y: {}}, plot, frame: {...frame, y: 0, height: 140}, yTicks: [], categories: null},
    {color: () => "black"}, "sans-serif");
  return words;
}"""


@pytest.mark.parametrize(
    ("title", "lines"),
    [
        ("The map of the density", ["The map of the density"]),
        ("The map of the log density, slice", ["The map of the log density, slice"]),
        ("The map of the log density, and where it was seen", ["The map of the log density,", "and where it was seen"]),
    ],
)
def test_a_title_that_its_panel_is_too_narrow_for_is_not_squeezed(demo: Lab, title: str, lines: list[str]):
    page = demo.open("/demo")
    words = page.evaluate(TITLE, [title, LETTER, FRAME])
    assert [text for text, *_ in words] == lines
    assert all(FRAME["x"] <= left and right <= FRAME["x"] + FRAME["width"] for _, left, right, _ in words)
    assert all(y >= 0 and y + 14 <= 30 for *_, y in words), "above the plot"


def test_words_that_are_squeezed_on_the_stage_are_squeezed_in_a_file(demo: Lab):
    written = """async () => {
      const { VectorCanvas } = await import("/app/static/player/vector.js");
      const canvas = new VectorCanvas(), context = canvas.getContext("2d");
      context.fillText("a long label of an axis", 0, 0);
      context.fillText("a long label of an axis", 0, 0, 40);
      context.fillText("short", 0, 0, 40);
      return canvas.marks.map(({ width }) => width);
    }"""
    whole, squeezed, short = demo.open("/demo").evaluate(written)
    assert squeezed == 40 < whole and short < 40
