"""A guess that is drawn: what may come from the browser, and how far off it is."""

from __future__ import annotations

import pytest

from app.kit.guess import Drawn, DrawnError
from app.kit.predict import Question, _answered, _verdict, draw
from app.kit.visit import Answer, Visit
from tests.kit.demo.lesson import WalkSpec

LEVEL = Drawn("level", "walk", 0.1, along="y")
INTERVAL = Drawn("interval", "walk", 0.1, unit="kg")
POINT = Drawn("point", "walk", 1.0)
CURVE = Drawn("curve", "walk", 0.1, over=(0, 1, 2))


@pytest.mark.parametrize(
    ("drawn", "event", "row"),
    [
        (LEVEL, [2], (2.0,)),
        (LEVEL, [2, 3], None),
        (LEVEL, ["2"], None),
        (LEVEL, [float("nan")], None),
        (LEVEL, [1e300], None),
        (LEVEL, {"0": 2}, None),
        (INTERVAL, [3, 1], (1.0, 3.0)),
        (POINT, [3, 1], (3.0, 1.0)),
        (CURVE, [1, 2, None], None),
    ],
)
def test_only_a_row_of_so_many_numbers_is_a_drawing(drawn: Drawn, event: object, row: tuple[float, ...] | None):
    """The event comes from the browser: it may be forged."""
    assert drawn.read(event) == row
    here, asked = Visit(WalkSpec()), Question("far", "How far?", [], 0, "", draw=drawn)
    draw(asked, here, event)
    assert here.guesses == ({} if row is None else {"far": row})


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "circle"},
        {"kind": "level", "along": "z"},
        {"kind": "curve"},
        {"kind": "curve", "over": (1, 0)},
        {"kind": "level", "over": (0, 1)},
    ],
)
def test_what_cannot_be_drawn_is_not_asked_for(wrong: dict):
    with pytest.raises(DrawnError):
        Drawn(**{"panel": "walk", "near": 0.1, **wrong})


@pytest.mark.parametrize(
    ("drawn", "row", "right", "off", "said"),
    [
        (LEVEL, (2.0,), (2.5,), 0.5, "You drew 2.00; the run says **2.50**. That is 0.500 too low."),
        (INTERVAL, (1.0, 3.0), (1.5, 2.5), 0.5, "0.500 kg too far left, your upper end 0.500 kg too far right; yours is 2 times as wide"),
        (POINT, (0.0, 0.0), (3.0, -4.0), 5.0, "5.00 away: 3.00 too far left, 4.00 too high"),
        (CURVE, (1.0, 1.0, 1.0), (1.0, 1.3, 1.0), 0.1, "0.100 off, most at 1: 0.300 too low"),
    ],
)
def test_how_far_off_it_is_stands_in_words(drawn: Drawn, row: tuple, right: tuple, off: float, said: str):
    assert drawn.off(row, right) == pytest.approx(off)
    assert said in drawn.judged(row, right)


def test_close_is_what_the_words_call_near():
    asked = Question("far", "How far?", [], lambda spec: [2.0], "Far.", draw=LEVEL)
    right, _ = _answered(asked, WalkSpec())
    assert right == (2.0,)
    assert "✓ Close" in _verdict(asked, Answer((2.05,), right)) and "Not this time" in _verdict(asked, Answer((2.2,), right))
    assert _verdict(asked, Answer((2.05,), -1)) == "", "the run could not be evaluated"
