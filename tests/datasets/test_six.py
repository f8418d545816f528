"""The six points on a sine."""

from __future__ import annotations

import math

import numpy as np
import pytest

from datasets.six import own_curve, six_points
from engine.spec import SpecError


def test_the_points_are_those_of_the_thesis():
    data = six_points()
    assert data.x == pytest.approx([0.15599, 0.15602, 0.37454, 0.59866, 0.73199, 0.95071], abs=1e-5)
    assert np.array_equal(data.y, np.sin(3 * data.x))
    assert "figure 4.1" in data.card.source and data.card.licence and data.card.classes == ()


def test_the_global_random_numbers_are_left_alone():
    np.random.seed(1)
    before = np.random.get_state()[1].copy()
    six_points()
    assert np.array_equal(np.random.get_state()[1], before)


def test_own_points_are_sorted_and_checked():
    data = own_curve([(0.5, 1.0, 0), (-0.1, 2.0, 0)])
    assert data.x.tolist() == [-0.1, 0.5] and data.y.tolist() == [2.0, 1.0]
    assert own_curve([]).x.shape == (0,)
    with pytest.raises(SpecError, match="point 2"):
        own_curve([(0.0, 0.0, 0), (math.nan, 0.0, 0)])
