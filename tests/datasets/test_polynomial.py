"""The cosine with noise, against the code printed in the thesis and the numbers of its figure."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import PolynomialFeatures

from datasets.polynomial import cosine, true_curve
from engine.spec import SpecError


def test_the_points_are_those_of_the_figure():
    data = cosine()
    state = np.random.RandomState(0)
    x = np.sort(state.rand(30))
    assert np.array_equal(data.x, x)
    assert data.y == pytest.approx(np.cos(1.5 * np.pi * x) + state.randn(30) * 0.1, abs=1e-15)
    assert "figure 2.1" in data.card.source and data.card.licence and data.card.classes == ()


@pytest.mark.parametrize(("degree", "error", "spread"), [(1, 0.4077, 0.4255), (4, 0.04321, 0.07078)])
def test_ten_folds_give_the_errors_of_the_figure(degree, error, spread):
    data = cosine()
    features = PolynomialFeatures(degree, include_bias=False).fit_transform(data.x[:, None])
    scores = -cross_val_score(LinearRegression(), features, data.y, scoring="neg_mean_squared_error", cv=10)
    assert (scores.mean(), scores.std()) == pytest.approx((error, spread), rel=1e-3)


def test_the_noise_is_as_large_as_it_says():
    data = cosine(1000, 0.5, seed=3)
    scaled = (data.y - true_curve(data.x)) / 0.5
    assert abs(scaled.mean()) * math.sqrt(1000) < 4 and abs((scaled**2).mean() - 1) * math.sqrt(500) < 4
    quiet = cosine(5, 0.0)
    assert np.array_equal(quiet.y, true_curve(quiet.x))


def test_the_global_random_numbers_are_left_alone():
    np.random.seed(1)
    before = np.random.get_state()[1].copy()
    cosine()
    assert np.array_equal(np.random.get_state()[1], before)


@pytest.mark.parametrize(
    ("name", "changes"), [("observations", {"observations": 0}), ("noise_sd", {"noise_sd": -1.0}), ("noise_sd", {"noise_sd": math.nan})]
)
def test_a_wrong_argument_is_named(name, changes):
    with pytest.raises(SpecError) as error:
        cosine(**changes)
    assert error.value.parameter == name
