"""Step rules against their formulas written out, and descent of a ravine against its closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engine import targets
from engine.spec import SpecError
from engine.targets.target import TargetError
from engine.training import AdaGrad, Adam, Momentum, RmsProp, Sgd, descend

RAVINE = targets.build("gaussian", correlation=0.6, scale_ratio=8.0)
START = np.array([-2.0, 1.5])
STEPS = 40


def sgd(g, t, memory, step=0.01):
    return step * g


def momentum(g, t, memory, step=0.01, kept=0.8):
    memory["v"] = kept * memory.get("v", 0.0) + g
    return step * memory["v"]


def nesterov(g, t, memory, step=0.01, kept=0.8):
    memory["v"] = kept * memory.get("v", 0.0) + g
    return step * (g + kept * memory["v"])


def adagrad(g, t, memory, step=0.1, epsilon=1e-4):
    memory["s"] = memory.get("s", 0.0) + g**2
    return step * g / (np.sqrt(memory["s"]) + epsilon)


def rmsprop(g, t, memory, step=0.01, kept=0.7, epsilon=1e-4):
    memory["s"] = kept * memory.get("s", 0.0) + (1 - kept) * g**2
    return step * g / (np.sqrt(memory["s"]) + epsilon)


def adam(g, t, memory, step=0.05, b1=0.8, b2=0.95, epsilon=1e-4):
    memory["m"] = b1 * memory.get("m", 0.0) + (1 - b1) * g
    memory["s"] = b2 * memory.get("s", 0.0) + (1 - b2) * g**2
    return step * (memory["m"] / (1 - b1**t)) / (np.sqrt(memory["s"] / (1 - b2**t)) + epsilon)


PAIRS = [
    (Sgd(0.01), sgd),
    (Momentum(0.01, 0.8), momentum),
    (Momentum(0.01, 0.8, nesterov=True), nesterov),
    (AdaGrad(0.1, 1e-4), adagrad),
    (RmsProp(0.01, 0.7, 1e-4), rmsprop),
    (Adam(0.05, 0.8, 0.95, 1e-4), adam),
]


def by_hand(rule):
    q, memory, path = START.copy(), {}, [START]
    for t in range(1, STEPS + 1):
        q = q + rule(RAVINE.log_density_and_gradient(q)[1], t, memory)
        path.append(q)
    return np.array(path)


@pytest.mark.parametrize(("optimiser", "rule"), PAIRS, ids=[rule.__name__ for _, rule in PAIRS])
def test_every_rule_is_its_formula_and_no_other(optimiser, rule):
    found = descend(RAVINE, optimiser, START, steps=STEPS)
    assert found.path == pytest.approx(by_hand(rule), abs=1e-12)
    assert found.value == pytest.approx(-RAVINE.log_density_many(found.path), rel=1e-12)
    for _, other in PAIRS:
        if other is not rule:
            assert not np.allclose(found.path, by_hand(other), atol=1e-4)


def test_gradient_descent_shrinks_each_direction_of_a_ravine_by_its_own_factor():
    curvature, axes = np.linalg.eigh(np.linalg.inv(RAVINE.truth.covariance))
    for step in (0.5 / curvature[-1], 1.9 / curvature[-1], 2.1 / curvature[-1]):
        path = descend(RAVINE, Sgd(step), START, steps=30).path
        factors = (1.0 - step * curvature) ** np.arange(31)[:, None]
        assert path @ axes == pytest.approx(factors * (START @ axes), rel=1e-8, abs=1e-10)
    assert np.abs(path[-1]).max() > np.abs(START).max()  # 2 over the curvature is the end


def test_noise_of_the_gradient_is_noise_of_the_path():
    flat = targets.build("gaussian", correlation=0.0)
    step, noise = 0.1, 3.0
    path = descend(flat, Sgd(step), [0.0, 0.0], steps=200_000, gradient_noise=noise, seed=4).path[1000:]
    exact = step * noise / math.sqrt(1.0 - (1.0 - step) ** 2)  # of an autoregression
    # Its squares are worth n (1 - r^2) / (1 + r^2) independent ones, r = (1 - step).
    worth = 2 * len(path) * (1 - 0.9**2) / (1 + 0.9**2)
    assert abs(path.std() / exact - 1.0) < 4.0 / math.sqrt(2 * worth)
    again = descend(flat, Sgd(step), [0.0, 0.0], steps=100, gradient_noise=noise, seed=4).path
    assert np.array_equal(again, descend(flat, Sgd(step), [0, 0], steps=100, gradient_noise=noise, seed=4).path)


def test_a_descent_that_leaves_the_range_of_floats_says_when():
    found = descend(RAVINE, Sgd(1e6), START, steps=200)
    assert found.stopped is not None and np.isnan(found.path[found.stopped + 1 :]).all()
    assert np.isfinite(found.path[: found.stopped]).all()


@pytest.mark.parametrize(("optimiser", "named"), [(Sgd(0.0), "step_size"), (Momentum(0.1, 1.0), "momentum"), (RmsProp(0.1, -0.1), "decay")])
def test_wrong_settings_are_named(optimiser, named):
    with pytest.raises(SpecError, match=named):
        descend(RAVINE, optimiser, START, steps=1)


def test_wrong_starts_are_named():
    with pytest.raises(SpecError, match="start"):
        descend(RAVINE, Sgd(), [1.0, 2.0, 3.0], steps=1)
    with pytest.raises(TargetError, match="start"):
        descend(targets.build("formula", formula="log(x) - x - y^2"), Sgd(), [-1.0, 0.0], steps=1)
