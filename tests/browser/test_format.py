"""Numbers as the player writes them."""

from __future__ import annotations

from tests.browser.conftest import Lab

WRITTEN = [
    (0.0, ".1e", "0"),
    (0.00025, ".1e", "2.5×10⁻⁴"),
    (-3.0, ".2f", "−3.00"),
    (-0.001, ".2f", "0.00"),
    (2.5, "+.1f", "+2.5"),
    (20000, "d", "20\u202f000"),
    (0.125, ".1%", "12.5 %"),
    (1.5e7, ".3g", "1.5×10⁷"),
]
WRITE = """async pairs => {
  const { formatNumber } = await import("/app/static/player/format.js");
  return [...pairs.map(([value, format]) => formatNumber(value, format)),
    formatNumber(NaN), formatNumber(-Infinity), formatNumber(Infinity, "+.2f")];
}"""


def test_numbers_read_well(demo: Lab):
    page = demo.open("/demo")
    written = page.evaluate(WRITE, [[value, form] for value, form, _ in WRITTEN])
    assert written == [*(text for _, _, text in WRITTEN), "–", "−∞", "+∞"]
