"""Powerball: the best answer, against all draws of a small urn and against the draws of a large one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from datasets import powerball
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
