"""Has a training come to rest? By a noisy ELBO."""

from __future__ import annotations

import numpy as np
import pytest

from engine.judge.training import rest_check

STEPS = np.arange(400.0)


@pytest.mark.parametrize(("still_to_rise", "noise", "verdict"), [(0.1, 1.0, "pass"), (30.0, 1.0, "unknown"), (0.1, 60.0, "unknown")])
def test_rest_is_what_noise_cannot_hide(still_to_rise: float, noise: float, verdict: str):
    """Of a rise by 100 nats: at rest, still rising, and too noisy to tell."""
    rise = 100.0 * (1.0 - np.exp(-STEPS / 20.0)) + still_to_rise * STEPS / len(STEPS)
    for seed in range(20):  # with some of them the last quarter seems to fall
        found = rest_check(rise + noise * np.random.default_rng(seed).standard_normal(len(STEPS)))
        assert found.verdict == verdict, found.sentence


def test_what_falls_has_gained_nothing():
    assert rest_check(-STEPS).verdict == "fail"
