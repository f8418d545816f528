"""Charts below the stage."""

from __future__ import annotations

import threading

import pytest

from app.kit import charts
from engine import ticket


def test_a_figure_that_is_not_wanted_any_more_is_not_drawn():
    left = threading.Event()
    left.set()
    with ticket.holding(left), pytest.raises(InterruptedError):  # type: ignore[arg-type]
        charts.blank("draw", "x")
    assert charts.blank("draw", "x").layout.xaxis.title.text == "draw"
