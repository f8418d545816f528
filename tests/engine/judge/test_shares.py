"""Shares of sizes among draws, held against their exact probabilities."""

from __future__ import annotations

import numpy as np
import pytest

import datasets
import engine
from engine.evidence import ModelProbabilities
from engine.judge.recordings import LATER
from engine.judge.shares import shares_check, shares_looks
from engine.jumps import start_architecture

X, Y, _ = datasets.xor(2, seed=1)
NETWORK = engine.network(2, 2, width=(1, 3), temper=0.5)
ISLANDS = 8


def test_shares_are_held_against_the_exact_ones():
    rng, p = np.random.default_rng(2), np.array([0.2, 0.5, 0.3])
    drawn = rng.choice([1, 2, 3], p=p, size=(4, 5000))

    def says(drawn, low, p, error=0.002):
        return shares_check(drawn, low, lambda: ModelProbabilities(np.array(p), np.full(len(p), error)), ISLANDS)

    assert says(drawn, 1, p).verdict == "pass" and says(drawn, 1, p).kind == "numbers"
    assert "annealing" in says(drawn, 1, p).sentence and "annealing" not in says(drawn, 1, p, 0.0).sentence
    wrong = says(drawn, 1, [0.26, 0.48, 0.26])
    assert wrong.verdict == "fail" and "k = 1" in wrong.sentence
    assert says(drawn, 0, [0.1, 0.2, 0.5, 0.2]).verdict == "fail", "a size that is never visited"
    assert says(drawn[:, :50], 1, p).verdict == "unknown", "too few draws"
    assert says(drawn, 1, p, 0.06).verdict == "unknown", "an exact answer that is not known"
    assert says(drawn, 1, [0.25, 0.5, 0.25], 0.01).verdict == "pass", "within the error of the exact answer"
    assert says(drawn, 1, p, 0.03).verdict == "unknown", "an exact answer too rough to see a wrong one"


def test_a_second_look_has_chains_and_an_answer_of_its_own():
    asked = []

    def chains(seed, number, work):
        how = {"jumps": 9, "within": "hmc", "step_size": 0.3}
        run = start_architecture(NETWORK, X, Y, chains=4, draws=800 * work, seed=seed, **how)
        run.advance(800 * work)
        asked.append((seed, number))
        return run.recording().after(10)

    def exact(number):
        asked.append(number)
        return ModelProbabilities(np.array([0.1, 0.1, 0.8]), np.full(3, 0.002))

    *_, found = shares_looks(chains, 5, 1, exact, ISLANDS)
    assert found.verdict == "fail" and asked == [(5, 1), 1, (5 + LATER, 2), 2]


def test_chains_that_disagree_ask_for_no_exact_answer():
    stuck = np.repeat([[1], [2], [3], [2]], 5000, axis=1)
    assert shares_check(stuck, 1, lambda: pytest.fail("asked"), ISLANDS).verdict == "unknown"


def test_rare_sizes_give_no_false_alarm():
    """A size with few visits has no normal error: 300 right runs of sizes that are seldom visited."""
    p = np.array([0.006, 0.03, 0.964])
    for seed in range(300):
        drawn = np.random.default_rng(seed).choice([1, 2, 3], p=p, size=(4, 400))
        check = shares_check(drawn, 1, lambda: ModelProbabilities(p, np.zeros(3)), ISLANDS)
        assert check.verdict != "fail", check.sentence
