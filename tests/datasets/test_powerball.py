"""Powerball: the best answer, against all draws of a small urn and against the draws of a large one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from datasets import powerball, tables
from engine.spec import SpecError


def test_probabilities_are_those_of_all_draws_of_a_small_urn():
    balls = 9
    draws = np.array(list(combinations(range(1, balls + 1), powerball.WHITE)))
    counted = np.array([[np.mean(draws[:, place] == x) for x in range(1, balls + 1)] for place in (2, 0)])
    assert powerball.probabilities(balls) == pytest.approx(counted)


def test_no_rule_beats_the_cut_at_twenty():
    best, (third, smallest) = powerball.best_rule(), powerball.probabilities()
    assert best.cut == 20 and best.accuracy == pytest.approx(0.84427, abs=5e-6)
    assert best.accuracy == pytest.approx(np.maximum(third, smallest).sum() / 2), "of all rules, not of cuts alone"
    assert powerball.least_nats() == pytest.approx(0.34470, abs=5e-6)
    assert powerball.best_rule(powerball.BALLS_BEFORE).cut == 17
    x = powerball.crossing()
    assert powerball.smallest_given([int(x), int(x) + 1])[0] > 0.5 > powerball.smallest_given([int(x), int(x) + 1])[1]


def test_the_urn_is_fair_and_its_rows_are_two_of_a_draw():
    shown = powerball.urn(20_000, seed=3)
    assert np.array_equal(shown.x, powerball.urn(20_000, seed=3).x) and (shown.x[::2] < shown.x[1::2]).all()
    right = ((shown.x <= 20) == shown.y).reshape(-1, 2).mean(axis=1)
    assert abs(right.mean() - powerball.best_rule().accuracy) < 4 * right.std() / np.sqrt(len(right))
    for wrong in ({"n": 0}, {"balls": 5}):
        with pytest.raises(SpecError):
            powerball.urn(**wrong)


ROWS = [sorted(np.random.Generator(np.random.SFC64(i)).choice(69, 5, replace=False) + 1) for i in range(40)]


def read(head: str, line) -> np.ndarray:
    """The draws of a CSV whose rows are made by `line(number, row)`."""
    content = "\n".join([*([head] if head else []), *(line(i, row) for i, row in enumerate(ROWS))])
    return powerball.from_table(tables.read_csv(content.encode()))


def test_draws_are_read_from_files_as_lotteries_give_them():
    one_cell = read(
        "Draw Date,Winning Numbers,Multiplier",
        lambda i, row: f"{1 + i % 12:02}/{1 + i % 28:02}/2020,{' '.join(f'{x:02}' for x in row)} {1 + i % 26:02},{2 if i % 3 else ''}",
    )
    no_names = read("", lambda i, row: f"Powerball,{1 + i % 12},{1 + i % 28},{2020 + i % 4},{','.join(map(str, row[::-1]))},{1 + i % 26},2")
    dashes = read("date,balls", lambda i, row: f"2020-01-{1 + i % 28:02},{'-'.join(map(str, row))}")
    assert np.array_equal(one_cell, ROWS) and np.array_equal(no_names, ROWS) and np.array_equal(dashes, ROWS)


def test_what_is_no_draw_is_refused():
    for line in (
        lambda i, row: ",".join(map(str, row[:4])),
        lambda i, row: ",".join(map(str, [*row[:4], row[3]])),
        lambda i, row: ",".join(map(str, [*row[:4], 70 + i])),
        lambda i, row: f"{' '.join(map(str, row[:4]))},2",
        lambda i, row: f"{' '.join(map(str, row)) if i else 'none'},2",
    ):
        with pytest.raises(SpecError, match="no column holds a draw"):
            read("", line)
