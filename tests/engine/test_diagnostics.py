"""Diagnostics of draws."""

from __future__ import annotations

import numpy as np
import pytest

from engine.diagnostics import jackknife


def test_leaving_out_one_chain_gives_the_error_of_a_mean():
    values = np.random.Generator(np.random.SFC64(1)).standard_normal(12)
    mean, error = jackknife(lambda chains: float(values[chains].mean()), 12)
    assert mean == pytest.approx(values.mean()) and error == pytest.approx(values.std(ddof=1) / np.sqrt(12))
