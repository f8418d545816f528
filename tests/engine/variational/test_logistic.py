"""Logistic regression on one input: its truth is that of its own density."""

from __future__ import annotations

import numpy as np
import pytest

from engine.targets.quadrature import quadrature_truth
from engine.variational.logistic import simple_logistic_regression


def test_the_truth_is_that_of_the_density():
    rng = np.random.Generator(np.random.SFC64(2))
    x = rng.standard_normal(30)
    target = simple_logistic_regression(x, (rng.random(30) < 1.0 / (1.0 + np.exp(-2.0 * x))).astype(float), prior_sd=2.0)
    found, truth = quadrature_truth(target).truth, target.truth
    assert truth is not None and found is not None
    assert truth.mean == pytest.approx(found.mean, abs=1e-5)
    assert truth.covariance == pytest.approx(found.covariance, abs=1e-5)
    assert truth.log_normaliser == pytest.approx(found.log_normaliser, abs=1e-5)
    for j, (low, high) in enumerate(target.view):
        at = np.linspace(low - 1.0, high + 1.0, 4001)
        assert np.trapezoid(truth.marginals[j](at), at) == pytest.approx(1.0, abs=1e-3)
