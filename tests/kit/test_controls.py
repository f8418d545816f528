"""Controls: the parts that compute, and widgets against a spec."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from app.kit.stops import log_stops, round_step
from app.kit.text import number, plain
from tests.server import ROOT


def test_controls_are_called_as_the_words_have_it():
    at = AppTest.from_file(str(ROOT / "tests" / "kit" / "demo" / "page.py"), default_timeout=60).run()
    assert not at.exception
    labels = [slider.label for slider in (*at.slider, *at.select_slider)]
    assert "step size σ" in labels and "Drift (per step)" in labels
    toggle, clear = at.toggle[0], next(button for button in at.button if button.label == "Clear points")
    assert toggle.label == "Break it: count the drift twice" and clear.help == "They are gone then"
    assert next(s for s in at.slider if s.label == "Drift (per step)").help == "how far each step goes aside"
    assert "Nobody clears points twice." in [caption.value for caption in at.caption]
    assert "More" in [fold.label for fold in at.expander]


@given(st.floats(1e-6, 1e6), st.floats(1.001, 1e9), st.floats(0, 1))
def test_log_stops_hold_both_ends_and_the_value(low: float, factor: float, where: float):
    high = low * factor
    value = min(max(low * factor**where, low), high)
    stops = log_stops(low, high, value)
    assert stops == sorted(stops) and value in stops
    assert low <= stops[0] and stops[-1] <= high
    shown = [number(stop, 4) for stop in stops]
    assert len(set(shown)) == len(shown), "the slider finds a stop by what it shows"


def test_log_stops_of_whole_numbers_are_whole():
    stops = log_stops(1, 1000, 37, whole=True)
    assert all(isinstance(stop, int) for stop in stops) and {1, 37, 1000} <= set(stops)


@pytest.mark.parametrize(
    ("step", "whole", "result"), [(0.02, False, 0.02), (0.037, False, 0.02), (9.9, True, 5), (0.3, True, 1), (19.9, True, 10)]
)
def test_round_steps(step: float, whole: bool, result: float):
    assert round_step(step, whole) == pytest.approx(result)


@given(st.text())
def test_plain_text_stays_one_line_and_escapes_every_mark(text: str):
    shown = plain(text)
    assert "\n" not in shown
    for mark in "*_`[]<>$#:|!&":
        assert shown.count(f"\\{mark}") == shown.count(mark)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.00123456, "0.00123"),
        (-2.5, "−2.5"),
        (12345.678, "12\u202f346"),
        (1_000_000, "1\u202f000\u202f000"),
        (float("nan"), "–"),
        (float("inf"), "∞"),
        (True, "yes"),
        ("ok", "ok"),
    ],
)
def test_numbers_for_people(value: object, shown: str):
    assert number(value) == shown
