"""The check that pages run: passes what is right, fails every wrong scheme."""

from __future__ import annotations

import pytest

import engine
from engine.jumps import prior_recovery

WIDTH = engine.network(2, 2, width=(1, 6))
BOTH = engine.network(2, 1, width=(1, 3), depth=(1, 3), likelihood="gaussian", prior_sd=0.7)


@pytest.mark.parametrize(
    "network,settings",
    [
        (WIDTH, {}),
        (WIDTH, {"jump": "rescaled", "width_prior": ("poisson", 3.0)}),
        (WIDTH, {"jump": "annealed", "bridges": 3}),
        (WIDTH, {"jump": "delayed"}),
        (BOTH, {"scale_by_width": True, "depth_prior": ("geometric", 0.5)}),
    ],
)
def test_right_schemes_pass(network, settings):
    checks = prior_recovery(network, **settings)
    assert [check.verdict for check in checks] == ["pass"] * (2 if network is WIDTH else 3)
    assert all("Monte Carlo standard errors" in check.sentence for check in checks)


@pytest.mark.parametrize(
    "variant,jump",
    [
        ("no_jacobian", "rescaled"),
        ("no_end_points", "plain"),
        ("slot_once", "plain"),
        ("no_kernel_densities", "palindromic"),
        ("no_kernel_densities", "plain"),
        ("as_coded", "plain"),
    ],
)
def test_wrong_schemes_fail(variant, jump):
    verdicts = [check.verdict for check in prior_recovery(WIDTH, jump, draws=1200, variant=variant)]
    assert "fail" in verdicts
