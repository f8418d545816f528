"""The posterior of the wide limit: against wide networks, and, for what the kernel alone decides, networks of every width."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from engine.networks.prior import ACTIVATIONS, Prior
from engine.networks.process import limit_posterior
from engine.rejection import Weighted, importance
from engine.spec import SpecError

X, Y = np.array([-0.9, 0.1, 0.6]), np.array([0.5, -0.4, 0.3])
AT = np.array([-1.4, -0.3, 0.6, 1.2])
SD = 0.4
WIDE = 256
PRIOR = {name: Prior(width=WIDE, activation=name, weight_sd=1.5, bias_sd=0.7, out_sd=0.9, out_bias_sd=0.2) for name in ACTIVATIONS}


@cache
def given_data(networks: Prior) -> Weighted:
    """The posterior of f by weighting networks of the prior."""
    return importance(networks, X, Y, SD, 60_000, 5, AT)


def wide_errors(networks: Prior, of: Prior, noise: float = SD) -> np.ndarray:
    """(2, m) gap of mean and mean square of f between wide networks and the limit `of`, in Monte Carlo standard errors."""
    seen, limit = given_data(networks), limit_posterior(of, X, Y, noise, AT)
    assert seen.effective > 2000
    square = limit.sd**2 + limit.mean**2
    return np.stack([(seen.mean - limit.mean) / seen.mean_error, (seen.square - square) / seen.square_error])


@pytest.mark.parametrize("activation", ["tanh", "erf", "relu", "step"])
def test_wide_networks_given_data_are_the_limit(activation):
    assert np.abs(wide_errors(PRIOR[activation], PRIOR[activation])).max() < 4


def test_wide_deep_networks_given_data_are_the_limit():
    deep = Prior(width=64, depth=2, weight_sd=1.5, bias_sd=0.7, out_sd=0.9)
    seen, limit = importance(deep, X, Y, SD, 10_000, 5, AT), limit_posterior(deep, X, Y, SD, AT)
    assert np.abs((seen.mean - limit.mean) / seen.mean_error).max() < 4


def test_another_limit_is_told_from_it():
    right = PRIOR["tanh"]
    for of, noise in ((right.replace(weight_sd=2.0), SD), (PRIOR["relu"], SD), (right, 1.4 * SD), (right.replace(out_sd=1.0), SD)):
        assert np.abs(wide_errors(right, of, noise)).max() > 6


def residual_errors(prior: Prior, of: Prior) -> np.ndarray:
    """What the limit's mean leaves of f, for networks with data of their own: gaps of its mean square from the variance,
    (m,), and of its covariance with the data from 0, (m * n,), in Monte Carlo standard errors.
    """
    values = prior.values(prior.draw(200_000, 7), np.concatenate([X, AT]))
    y = values[:, :3] + SD * np.random.default_rng(8).standard_normal((len(values), 3))
    weights = np.array([limit_posterior(of, X, one, SD, AT).mean for one in np.eye(3)])
    left = values[:, 3:] - y @ weights
    variance = limit_posterior(of, X, Y, SD, AT).sd ** 2
    gaps = np.concatenate([left**2 - variance, (left[:, :, None] * y[:, None, :]).reshape(len(y), -1)], axis=1)
    return gaps.mean(axis=0) / (gaps.std(axis=0) / math.sqrt(len(gaps)))


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("width", [1, 7])
def test_its_mean_is_the_best_linear_guess_for_networks_of_every_width(activation, width):
    prior = PRIOR[activation].replace(width=width)
    assert np.abs(residual_errors(prior, prior)).max() < 4.5
    assert np.abs(residual_errors(prior, prior.replace(bias_sd=1.0))).max() > 6 or activation == "step"
    assert np.abs(residual_errors(prior, prior.replace(out_bias_sd=0.6))).max() > 6


def test_the_mean_is_linear_in_the_data_and_the_sd_does_not_know_them():
    one, two, both = (limit_posterior(PRIOR["tanh"], X, y, SD, AT) for y in (Y, Y**2, 2.0 * Y - Y**2))
    assert both.mean == pytest.approx(2.0 * one.mean - two.mean, abs=1e-12)
    assert np.array_equal(one.sd, two.sd)


def test_without_data_it_is_the_prior():
    found = limit_posterior(PRIOR["relu"], [], [], SD, AT)
    assert np.array_equal(found.mean, np.zeros(4)) and found.sd == pytest.approx(np.sqrt(PRIOR["relu"].variance(AT)))


def test_exact_data_are_hit():
    found = limit_posterior(PRIOR["tanh"], X, Y, 1e-4, X)
    assert found.mean == pytest.approx(Y, abs=1e-5) and (found.sd < 2e-4).all()


@pytest.mark.parametrize(
    ("parameter", "changes"),
    [("squash", {"prior": PRIOR["tanh"].replace(squash="tanh")}), ("noise_sd", {"noise_sd": 0.0}), ("y", {"y": Y[:2]})],
)
def test_a_wrong_setting_is_named(parameter, changes):
    with pytest.raises(SpecError) as error:
        limit_posterior(**{"prior": PRIOR["tanh"], "x": X, "y": Y, "noise_sd": SD, "at": AT, **changes})
    assert error.value.parameter == parameter
