"""The short form of `make soak`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.load.user import play
from tests.soak import GROWTH, Look, growth, soak

MINUTES, USERS = 0.5, 4
# MB that the server may take while they are there, and once they have left. What is under way takes a hundred more for a
# blink, and how many such meet in half a minute is luck; what is left of them is not: libraries, kernels, kept results.
MOST, LEFT = 900.0, 700.0


def test_nothing_is_left_of_readers_who_did_this_and_that(tmp_path: Path):
    looks, wrong = play(soak(tmp_path, MINUTES, USERS, seed=1))
    assert not wrong, "\n".join(wrong)
    assert max(look.memory for look in looks) < MOST
    assert looks[-1].memory < LEFT


def test_what_grows_to_the_end_is_told_from_what_has_grown():
    def looks(memory):
        return [Look(i / 12, memory(i / 12), threads=9, files=9, readers=4, jobs=1) for i in range(12 * 30 + 2)]

    assert growth(looks(lambda minute: 500.0 + 2.0 * minute)) == (pytest.approx(2.0), pytest.approx(0.0, abs=1e-9))
    assert growth(looks(lambda minute: min(500.0 + 20.0 * minute, 700.0)))[0] == pytest.approx(0.0)
    passing = np.random.default_rng(3)  # what is under way
    for slope in (0.0, 2.0):
        found = np.array([growth(looks(lambda minute, a=slope: 500.0 + a * minute + passing.exponential(60.0))) for _ in range(100)])
        assert np.abs(found[:, 0] - slope).max() < GROWTH
        assert found[:, 1].mean() == pytest.approx(found[:, 0].std(), rel=0.3)
