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
