"""The pairs of the logistic lesson."""

from __future__ import annotations

import math

import numpy as np
import pytest

from datasets.logistic import INPUT_SD, TRUE_WEIGHTS, logistic_pairs, own_pairs
from engine.spec import SpecError


def test_labels_follow_the_weights():
    data = logistic_pairs(100_000, seed=3)
    assert data.x.std() == pytest.approx(INPUT_SD, rel=0.02)
    p = 1 / (1 + np.exp(-(TRUE_WEIGHTS[0] + TRUE_WEIGHTS[1] * data.x)))
    for low, high in ((-5, -1), (-1, 0), (0, 1), (1, 5)):
        inside = (data.x > low) & (data.x <= high)
        error = math.sqrt(np.sum(p[inside] * (1 - p[inside]))) / inside.sum()
        assert abs(data.y[inside].mean() - p[inside].mean()) < 4.5 * error


def test_the_seed_decides_and_fewer_pairs_are_the_first():
    assert np.array_equal(logistic_pairs(seed=1).y, logistic_pairs(seed=1).y)
    assert not np.array_equal(logistic_pairs(seed=1).x, logistic_pairs(seed=2).x)
    assert "Steyn" in logistic_pairs().card.source and "not stated" not in logistic_pairs().card.source


def test_own_pairs():
    data = own_pairs([(0.5, 1.0, 1), (-1.0, 0.0, 0)])
    assert data.x.tolist() == [0.5, -1.0] and data.y.tolist() == [1, 0]
    with pytest.raises(SpecError, match="point 1"):
        own_pairs([(0.0, 0.0, 2)])
    with pytest.raises(SpecError, match="n"):
        logistic_pairs(-1)
