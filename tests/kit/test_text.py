"""Numbers as people read them."""

from __future__ import annotations

import pytest

from app.kit.text import number


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (3.14159, 3, "3.14"),
        (-0.5, 3, "−0.5"),
        (258.9, 2, "259"),
        (99.6, 2, "100"),
        (999.7, 3, "1 000"),
        (1234.5, 4, "1 234"),
        (float("nan"), 3, "–"),
        (float("-inf"), 3, "−∞"),
        (12345, 3, "12 345"),
        (True, 3, "yes"),
    ],
)
def test_a_number_is_written_without_powers_of_ten(value: float, digits: int, text: str):
    assert number(value, digits).replace("\u202f", " ").replace("\u2009", " ") == text
