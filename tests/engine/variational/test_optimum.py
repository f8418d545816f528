"""Slopes of the ELBO and what is left to gain."""

from __future__ import annotations

import numpy as np
import pytest

from engine import targets
from engine.variational.optimum import elbo_gradient, still_to_gain


def test_the_slope_of_a_gaussians_elbo_is_known():
    """-m in the means and 1 - sd**2 in the log sds, for a standard Gaussian and independent coordinates."""
    target = targets.build("gaussian", correlation=0.0)
    mean, log_sd = np.array([0.3, -0.7]), np.array([0.2, -0.4])
    slopes = elbo_gradient(target, np.concatenate([mean, log_sd]))[0]
    assert slopes == pytest.approx(np.concatenate([-mean, 1.0 - np.exp(2.0 * log_sd)]), abs=1e-6)
    assert elbo_gradient(target, np.concatenate([mean, log_sd]), components=[1])[0] == pytest.approx([0.7], abs=1e-6)


def test_what_a_newton_step_gains():
    """Exact on a quadratic; nothing to gain at its top; and no claim at a saddle or where there is no number."""
    bend = np.array([[2.0, 0.6, 0.1], [0.6, 1.0, -0.2], [0.1, -0.2, 0.5]])

    def quadratic(rows, bend=bend):
        return 3.0 - 0.5 * np.einsum("ri,ij,rj->r", rows, bend, rows)

    at = np.array([0.4, -0.3, 1.1])
    assert still_to_gain(quadratic, at) == pytest.approx(0.5 * at @ bend @ at, rel=1e-5)
    assert still_to_gain(quadratic, np.zeros(3)) == pytest.approx(0.0, abs=1e-9)
    saddle = bend * np.array([[1, 1, 1], [1, 1, 1], [1, 1, -1]])
    assert still_to_gain(lambda rows: quadratic(rows, saddle), np.zeros(3)) == np.inf
    assert still_to_gain(lambda rows: quadratic(rows) * np.nan, at) == np.inf
