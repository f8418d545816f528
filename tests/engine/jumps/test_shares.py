"""Shares of sizes among draws."""

from __future__ import annotations

import numpy as np
import pytest

from engine.jumps.shares import running_shares, shares


def test_running_shares_are_counts_so_far():
    drawn = np.array([[1, 2, 2, 3, 1], [3, 3, 2, 2, 2]])
    rows = running_shares(drawn, 1, 3, burn=1)
    for t in range(5):
        counted = drawn[:, 1 : t + 1] if t >= 1 else drawn[:, :1]
        assert rows[t] == pytest.approx([(counted == k).mean() for k in (1, 2, 3)])


def test_shares_tell_their_error():
    rng = np.random.default_rng(1)
    drawn = rng.choice([1, 2, 3], p=[0.2, 0.5, 0.3], size=(4, 5000))
    found = shares(drawn, 1, 4)
    assert found.mcse[:3] == pytest.approx(np.sqrt(found.mean[:3] * (1 - found.mean[:3]) / 20_000), rel=0.15)
    assert found.mean[3] == 0 and np.isnan(found.mcse[3])
