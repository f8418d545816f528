"""The levels of the looks: simulated, since they are what keeps a green sign honest and a red one rare."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from engine.judge.check import Check
from engine.judge.looks import FIRST, MORE, SECOND, surprise, two_looks


def check_with(p: float, verdict: str = "pass") -> Check:
    return Check("a look", verdict, 0.0, 1.0, "", p=p)  # type: ignore[arg-type]


@pytest.mark.parametrize("correlated", [0.0, 0.5, 0.95])
def test_the_p_value_of_the_worst_of_many_is_uniform(correlated: float) -> None:
    """p < 1e-4 for a wrong law with these draws; a bound that takes errors for independent fails at 0.95."""
    q, rng = 12, np.random.default_rng(3)
    correlation = np.full((q, q), correlated) + (1.0 - correlated) * np.eye(q)
    z = rng.multivariate_normal(np.zeros(q), correlation, 400)
    p = np.array([surprise(row, correlation).p for row in z])
    assert stats.kstest(p, "uniform").pvalue > 1e-4
    assert abs((p < 0.1).mean() - 0.1) < 4 * math.sqrt(0.09 / 400)


def test_bonferroni_would_be_too_timid_for_correlated_errors() -> None:
    rng = np.random.default_rng(4)
    z = np.repeat(rng.standard_normal((400, 1)), 12, axis=1)
    p = np.array([surprise(row).p for row in z])
    assert stats.kstest(p, "uniform").pvalue < 1e-6


def test_an_error_that_is_not_known_does_not_count() -> None:
    found = surprise(np.array([math.nan, 1.0, -2.0]), np.eye(3))
    assert found.place == 2 and found.z == -2.0
    assert math.isnan(surprise(np.array([math.nan])).p)


def test_red_needs_two_looks() -> None:
    """Under uniform p-values, independent between looks, red comes with probability FIRST * SECOND."""
    rng = np.random.default_rng(5)
    factor = 20.0  # levels twenty times as large, so that a test of seconds sees the product
    reds = 0
    for _ in range(100_000):
        p = rng.random(2)

        def look(number: int, work: int, p: np.ndarray = p) -> Check:
            value = float(p[number - 1]) / factor
            return check_with(value, "fail" if number == 2 and value < SECOND else "pass")

        reds += two_looks(look).verdict == "fail"
    due = 100_000 * FIRST * factor * SECOND * factor
    assert abs(reds - due) < 4 * math.sqrt(due)


def test_the_second_look_has_more_work_and_decides() -> None:
    seen: list[tuple[int, int]] = []

    def look(number: int, work: int) -> Check:
        seen.append((number, work))
        return check_with(0.001 if number == 1 else 1e-6, "pass" if number == 1 else "fail")

    assert two_looks(look).verdict == "fail"
    assert seen == [(1, 1), (2, MORE)]


def test_a_first_look_without_surprise_is_the_last() -> None:
    calls = []
    assert two_looks(lambda number, work: calls.append(number) or check_with(0.5)).verdict == "pass"  # type: ignore[func-returns-value]
    assert calls == [1]


def test_a_look_that_cannot_tell_stands() -> None:
    assert two_looks(lambda number, work: check_with(math.nan, "unknown")).verdict == "unknown"
