"""The perceptron: against scikit-learn's, Novikoff's bound, exact cycles, and the margin by brute force."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.linear_model import Perceptron

from engine.spec import SpecError
from engine.targets.target import TargetError
from engine.training import learn, margin

CORNERS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
XOR, AND = np.array([0, 1, 1, 0]), np.array([0, 0, 0, 1])


def separable(seed, n=30, gap=0.15):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (4 * n, 2))
    side = x @ rng.standard_normal(2) + 0.2 * rng.standard_normal()
    keep = np.abs(side) > gap
    return x[keep][:n], (side[keep][:n] > 0).astype(int)


@pytest.mark.parametrize("seed", range(8))
def test_mistakes_never_exceed_the_bound(seed):
    x, y = separable(seed)
    run, best = learn(x, y, epochs=10_000), margin(x, y)
    assert run.converged and run.cycle is None
    assert run.mistakes <= best.bound
    wrong = (np.hstack([x, np.ones((len(x), 1))]) @ run.weights[-1] > 0) != y
    assert not wrong.any() and not run.mistake[-len(x) :].any()


def test_it_is_the_perceptron_of_scikit_learn():
    x, y = next(data for data in map(separable, range(3, 99)) if len(set(data[1])) == 2)
    run = learn(x, y, epochs=1000)
    peer = Perceptron(shuffle=False, tol=None, max_iter=len(run.visited) // len(x), eta0=1.0).fit(x, y)
    assert run.weights[-1] == pytest.approx([*peer.coef_[0], *peer.intercept_], abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_margin_is_the_best_of_all_planes(seed):
    x, y = separable(seed, n=12)
    best = margin(x, y)
    rows = (2 * y - 1)[:, None] * np.hstack([x, np.ones((len(x), 1))])
    assert best.gamma == pytest.approx((rows @ best.direction).min(), rel=1e-12)
    assert best.radius == pytest.approx(np.sqrt((x**2).sum(axis=1) + 1).max())
    directions = np.random.default_rng(0).standard_normal((200_000, 3)) * 0.02 + best.direction
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    reached = (directions @ rows.T).min(axis=1).max()
    assert 0.97 * best.gamma < reached <= best.gamma * (1 + 1e-9)


def test_margin_of_and_in_closed_form():
    # By symmetry w = (a, a, b): min(-b, -a - b, 2 a + b) is largest at -a - b = 2 a + b.
    best = margin(CORNERS, AND)
    a, b = 2.0, -3.0
    assert best.direction == pytest.approx(np.array([a, a, b]) / math.sqrt(2 * a * a + b * b), abs=1e-9)
    assert best.gamma == pytest.approx(1 / math.sqrt(17)) and best.bound == pytest.approx(51.0)


def test_xor_comes_back_exactly():
    run, best = learn(CORNERS, XOR, epochs=500), margin(CORNERS, XOR)
    assert not run.converged and best.gamma == 0.0 and math.isinf(best.bound)
    first, length = run.cycle
    begin, end = (run.weights[4 * epoch] for epoch in (first, first + length))
    assert np.array_equal(begin, end)
    starts = [tuple(w) for w in run.weights[: 4 * (first + length) : 4]]
    assert len(set(starts)) == len(starts)  # and it was the first time
    assert all(run.mistake[4 * e : 4 * e + 4].any() for e in range(first + length))


def test_a_cycle_is_found_with_numbers_that_floats_would_round():
    x = 0.7 * CORNERS
    run = learn(x, [0, 1, 1, 0], epochs=5000)
    first, length = run.cycle
    w = [Fraction(0)] * 3
    starts = [tuple(w)]
    for _ in range(first + length):
        for row, label in zip(x.tolist(), [-1, 1, 1, -1], strict=True):
            row = [*map(Fraction, row), Fraction(1)]
            if label * sum(a * b for a, b in zip(w, row, strict=True)) <= 0:
                w = [a + label * b for a, b in zip(w, row, strict=True)]
        starts.append(tuple(w))
    assert starts[first] == starts[-1] and len(set(starts)) == len(starts) - 1


def test_what_does_not_fit_is_named():
    with pytest.raises(TargetError, match="classes"):
        learn(CORNERS, [0, 1, 2, 0])
    with pytest.raises(TargetError, match="finite"):
        margin(CORNERS + math.inf, XOR)
    with pytest.raises(TargetError, match="start"):
        learn(CORNERS, XOR, start=[0.0, 1.0])
    with pytest.raises(SpecError, match="epochs"):
        learn(CORNERS, XOR, epochs=0)
    assert learn(CORNERS[:1], [0]).converged
