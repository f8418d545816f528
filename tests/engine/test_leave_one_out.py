"""PSIS-LOO and WAIC against exact leave-one-out, which a normal mean with a normal prior has."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from engine import ticket
from engine.leave_one_out import LeaveOneOut, leave_one_out, normal_log_density
from engine.spec import SpecError

PRIOR_SD = 3.0


def posterior(y: np.ndarray) -> tuple[float, float]:
    """Mean and sd of the mean of data with sd 1."""
    precision = len(y) + PRIOR_SD**-2
    return float(y.sum() / precision), float(precision**-0.5)


def exactly(y: np.ndarray) -> np.ndarray:
    """Log predictive density of each datum given all others."""
    others = [posterior(np.delete(y, i)) for i in range(len(y))]
    return np.array([normal_log_density(y[i], mean, np.hypot(sd, 1.0)) for i, (mean, sd) in enumerate(others)])


def judged(y: np.ndarray, seed: int) -> LeaveOneOut:
    mean, sd = posterior(y)
    draws = np.random.Generator(np.random.SFC64(seed)).normal(mean, sd, (4, 1000, 1))
    return leave_one_out(normal_log_density(y, draws, 1.0))


def test_it_is_exact_leave_one_out_within_its_error():
    y = np.random.Generator(np.random.SFC64(5)).normal(0.5, 1.0, 20)
    truth, found = exactly(y), [judged(y, seed) for seed in range(12)]
    for name in ("elpd", "waic"):
        values = np.array([getattr(each, name) for each in found])
        error = values.std(ddof=1) / np.sqrt(len(values))
        assert abs(values.mean() - truth.sum()) < 4 * error + 0.03, name  # WAIC has a bias of the order 1/n
    assert all(each.trusted for each in found)
    assert found[0].se == pytest.approx(np.sqrt(20 * truth.var(ddof=1)), rel=0.02)
    own = found[0].elpd + found[0].parameters
    assert own - truth.sum() > 0.25, "the density of data already seen is another number"


def test_a_datum_that_the_others_do_not_expect_is_pointed_at():
    y = np.append(np.random.Generator(np.random.SFC64(6)).normal(0.0, 1.0, 5), 14.0)
    found = judged(y, 1)
    assert not found.trusted and found.pareto_k.argmax() == 5 and found.pareto_k[5] > found.limit


def test_what_cannot_be_told_is_said():
    with pytest.raises(SpecError, match="too few to leave one out"):
        leave_one_out(np.zeros((1, 50, 1)))
    with pytest.raises(SpecError, match="fallen to pieces"):
        leave_one_out(np.full((2, 50, 3), np.nan))


def test_chains_that_hardly_moved_are_not_trusted():
    stuck = np.zeros((2, 500, 3))
    stuck[0, :, 0] = -1.0  # for the first datum each chain stands at a place of its own
    found = leave_one_out(stuck)
    assert not found.trusted and found.pareto_k[1:].tolist() == [0.0, 0.0]


def test_nobody_waits_for_it_who_has_left():
    gone = threading.Event()
    gone.set()
    with ticket.holding(gone), pytest.raises(InterruptedError):
        leave_one_out(np.random.default_rng(1).standard_normal((2, 50, 4)))
