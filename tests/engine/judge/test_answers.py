"""Answers that are given only where they are sure."""

from __future__ import annotations

import numpy as np

from engine.evidence import ModelProbabilities
from engine.judge.answers import UNSURE, leader, mode_band, nearest, side


def test_the_nearest_choice_by_factors_or_by_differences():
    choices = (1.0, 4.0, 16.0)
    assert [nearest(value, choices) for value in (-1.0, 1.9, 2.1, 7.9, 8.1)] == [0, 0, 1, 1, 2]
    assert [nearest(value, choices, log=False) for value in (-1.0, 2.4, 2.6, 9.9, 10.1)] == [0, 0, 1, 1, 2]


def test_only_what_leads_by_four_errors_leads():
    assert leader([0.1, 0.7, 0.2], [0.01, 0.05, 0.05]) == 1
    assert leader([0.1, 0.5, 0.4], [0.01, 0.05, 0.05]) == UNSURE
    assert side(0.5, np.nan, 0.1) == UNSURE
    answers = [side(d, 0.01, 0.1) for d in (0.2, 0.05, -0.05, -0.2, 0.11, -0.09)]
    assert answers == [0, 1, 1, 2, UNSURE, UNSURE]


def test_the_band_of_the_mode():
    exact = ModelProbabilities(np.array([0.1, 0.2, 0.5, 0.2]), np.full(4, 0.01))
    assert mode_band(exact, 1, ((1, 2), (3, 4), (5, 9))) == 1
    assert mode_band(exact._replace(error=np.full(4, 0.1)), 1, ((1, 2), (3, 4))) == UNSURE
    assert mode_band(exact, 3, ((1, 2), (3, 4), (5, 9))) == 2
