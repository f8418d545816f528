"""The exact draws that checks start from are themselves checked: moments, and every marginal by Kolmogorov-Smirnov."""

import numpy as np
import pytest
from scipy import integrate, stats

from engine import targets

N = 200_000
FAMILIES = {
    "gaussian": {"dimension": 3, "correlation": -0.6, "scale_ratio": 5.0},
    "banana": {},
    "funnel": {"dimension": 3, "neck": 1.0},
    "ring": {"radius": 1.0, "thickness": 0.6},
    "two_modes": {},
    "student": {"dof": 9.0},
}


@pytest.mark.parametrize("name", FAMILIES)
def test_draws_follow_the_truth(name):
    target = targets.build(name, **FAMILIES[name])
    draws = target.truth.draw(np.random.default_rng(8), N)
    assert draws.shape == (N, target.dim)
    centred = draws - target.truth.mean
    assert np.max(np.abs(centred.mean(axis=0) / (draws.std(axis=0) / np.sqrt(N)))) < 4
    products = centred[:, :, None] * centred[:, None, :]
    z = (products.mean(axis=0) - target.truth.covariance) / (products.std(axis=0) / np.sqrt(N))
    assert np.max(np.abs(z)) < 4
    for j, density in enumerate(target.truth.marginals):
        grid = np.linspace(draws[:, j].min() - 1, draws[:, j].max() + 1, 20_001)
        cumulative = integrate.cumulative_simpson(density(grid), x=grid, initial=0.0)
        result = stats.kstest(draws[:20_000, j], lambda x, g=grid, c=cumulative: np.interp(x, g, c))
        assert result.pvalue > 1e-4, (name, j, result)


@pytest.mark.parametrize("name", ["gaussian", "funnel", "two_modes", "student"])
def test_plane_is_the_marginal_of_the_first_two_coordinates(name):
    target = targets.build(name, dimension=4, **({"scale_ratio": 7.0} if name == "gaussian" else {}))
    plane = target.plane
    assert plane.dim == 2 and plane.view == target.view
    np.testing.assert_allclose(plane.truth.mean, target.truth.mean[:2], rtol=1e-12)
    np.testing.assert_allclose(plane.truth.covariance, target.truth.covariance[:2, :2], rtol=1e-12)
    x = np.linspace(-3, 3, 7)
    for ours, theirs in zip(plane.truth.marginals, target.truth.marginals[:2], strict=True):
        np.testing.assert_allclose(ours(x), theirs(x), rtol=1e-9)
