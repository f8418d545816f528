"""What chains say of themselves: each check passes on a run that is right, and each planted fault turns it."""

from __future__ import annotations

import numpy as np
import pytest

from engine.judge import agreement_check, depth_check, dispersed_starts, divergence_check, energy_check, modes_check, trips_check
from engine.judge.plant import STUCK, planted
from engine.targets.target import Truth


@pytest.fixture
def draws() -> np.ndarray:
    """Independent draws, (4 chains, 1000, 2)."""
    return np.random.default_rng(1).standard_normal((4, 1000, 2))


def test_chains_that_agree(draws: np.ndarray) -> None:
    assert agreement_check(draws, ("a", "b")).verdict == "pass"


def test_a_chain_that_stands_still(draws: np.ndarray) -> None:
    with planted(STUCK):
        found = agreement_check(draws, ("a", "b"))
    assert found.verdict == "fail" and "not to be believed" in found.sentence


def test_chains_in_two_places(draws: np.ndarray) -> None:
    draws[2] += 3.0
    found = agreement_check(draws, ("a", "b"))
    assert found.verdict == "fail" and found.kind == "run"


def test_a_heavy_tail_is_no_disagreement() -> None:
    heavy = np.random.default_rng(2).standard_cauchy((4, 2000, 1))
    assert agreement_check(heavy, ("a",)).verdict == "pass"


def test_of_few_draws_only_gross_disagreement_shows(draws: np.ndarray) -> None:
    draws[2] += 1.0
    strict, lenient = (agreement_check(draws, ("a", "b"), apart=apart) for apart in (1.05, 1.3))
    assert 1.05 < strict.statistic < 1.3 and strict.verdict == "fail"
    assert lenient.verdict == "unknown" and "by chance" in lenient.sentence and "disagree:" not in lenient.sentence
    draws[2] += 9.0
    assert agreement_check(draws, ("a", "b"), apart=1.3).verdict == "fail"


def test_few_draws_and_one_chain_cannot_tell(draws: np.ndarray) -> None:
    assert agreement_check(draws[:, :60], ("a", "b")).verdict == "unknown"
    assert agreement_check(draws[:1], ("a", "b")).verdict == "unknown"
    assert agreement_check(np.zeros((4, 100, 1)), ("a",)).verdict == "unknown"


def test_draws_that_are_no_numbers(draws: np.ndarray) -> None:
    draws[1, 5, 0] = np.nan
    assert agreement_check(draws, ("a", "b")).verdict == "fail"


@pytest.mark.parametrize(("share", "verdict"), [(0.0, "pass"), (0.004, "unknown"), (0.11, "fail")])
def test_divergent_transitions(share: float, verdict: str) -> None:
    divergent = np.zeros((4, 1000), dtype=bool)
    divergent[:, : int(1000 * share)] = True
    assert divergence_check(divergent).verdict == verdict


def test_energy_that_creeps() -> None:
    rng = np.random.default_rng(3)
    steps = rng.standard_normal((4, 3000))
    assert energy_check(steps).verdict == "pass"
    assert energy_check(np.cumsum(steps, axis=1)).verdict == "fail"


def test_trees_cut_off() -> None:
    cut = np.zeros((4, 100), dtype=bool)
    assert depth_check(cut).verdict == "pass"
    cut[:, :10] = True
    assert depth_check(cut).verdict == "unknown"


def test_a_mode_that_was_not_seen(draws: np.ndarray) -> None:
    truth = Truth(np.zeros(2), np.eye(2), ())
    modes = np.array([[-4.0, 0.0], [4.0, 0.0]])
    both = np.where(np.arange(1000)[None, :, None] % 2 == 0, modes[0], modes[1]) + 0.1 * draws
    assert modes_check(both, truth, modes).verdict == "pass"
    both[3] = modes[0] + 0.1 * draws[3]
    assert modes_check(both, truth, modes).verdict == "fail"


def test_round_trips_between_sizes() -> None:
    rng = np.random.default_rng(4)
    assert trips_check(rng.integers(1, 9, (4, 500)), "k").verdict == "pass"
    apart = np.repeat([[1], [1], [8], [8]], 500, axis=1)
    assert trips_check(apart, "k").verdict == "unknown"
    assert trips_check(np.ones((4, 50), dtype=int), "k").verdict == "unknown"


def test_starts_spread_over_the_target() -> None:
    truth = Truth(np.zeros(1), np.eye(1), (), draw=lambda rng, n: rng.standard_normal((n, 1)))
    starts = dispersed_starts(truth, 4, 1)
    assert starts is not None and starts[0, 0] < -1.5 and starts[3, 0] > 1.5
    assert dispersed_starts(None, 4, 1) is None
