"""The XOR data: places, spreads, labels, seeds, cards."""

from __future__ import annotations

import math

import numpy as np
import pytest

from datasets import own_points, xor
from datasets.xor import CORNERS, NOISY_VARIANCE, VARIANCE
from engine.spec import SpecError


def test_four_clouds_of_fifty():
    data = xor(seed=1)
    assert data.x.shape == (200, 2) and data.x.dtype == np.float64
    assert data.y.shape == (200,) and data.y.dtype == np.int64
    assert np.bincount(data.y).tolist() == [100, 100]


@pytest.mark.parametrize("variance", [VARIANCE, NOISY_VARIANCE])
def test_centres_variance_and_labels(variance):
    n = 20_000
    data = xor(n, variance, seed=3)
    for cloud, corner in enumerate(CORNERS):
        points = data.x[cloud * n : (cloud + 1) * n]
        assert points.mean(axis=0) == pytest.approx(corner, abs=4 * math.sqrt(variance / n))
        assert np.cov(points.T) == pytest.approx(variance * np.eye(2), abs=4 * variance * math.sqrt(2 / n))
        assert np.all(data.y[cloud * n : (cloud + 1) * n] == (corner[0] * corner[1] < 0))


def test_no_line_separates_the_classes():
    data = xor(variance=0.0)
    design = np.column_stack([data.x, np.ones(200)])
    weights = np.linalg.lstsq(design, 2.0 * data.y - 1.0, rcond=None)[0]
    assert weights == pytest.approx(np.zeros(3), abs=1e-12)


def test_the_seed_decides():
    assert np.array_equal(xor(seed=1).x, xor(seed=1).x)
    assert not np.array_equal(xor(seed=1).x, xor(seed=2).x)


def test_the_card_says_what_was_generated():
    card = xor(variance=NOISY_VARIANCE, seed=9).card
    assert "seed 9" in card.source and "0.1" in card.source and "Berezowski" in card.source
    assert card.licence and card.units == "none" and len(card.classes) == 2


@pytest.mark.parametrize("arguments", [{"corner": -1}, {"variance": -0.1}, {"variance": math.nan}, {"variance": math.inf}])
def test_a_bad_parameter_is_named(arguments):
    with pytest.raises(SpecError) as caught:
        xor(**arguments)
    assert caught.value.parameter == next(iter(arguments))


def test_own_points():
    data = own_points([(0.1, 0.2, 0), (-0.5, 1.0, 1)])
    assert data.x.tolist() == [[0.1, 0.2], [-0.5, 1.0]] and data.y.tolist() == [0, 1]
    assert own_points([]).x.shape == (0, 2)
    with pytest.raises(SpecError, match="point 2 has the class 2"):
        own_points([(0.0, 0.0, 0), (0.0, 0.0, 2)])
    with pytest.raises(SpecError, match="point 1 has a coordinate"):
        own_points([(math.nan, 0.0, 0)])
