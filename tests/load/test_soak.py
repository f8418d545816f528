"""The short form of `make soak`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.load.user import play
from tests.soak import GROWTH, Kept, Look, growth, growth_between_rests, soak

MINUTES, USERS = 0.5, 4
# MB that the server may take while they are there, and once they have left. What is under way takes a hundred more for a
# blink, and how many such meet in half a minute is luck; what is left of them is not: libraries, kernels, kept results.
MOST, LEFT = 900.0, 700.0


def test_nothing_is_left_of_readers_who_did_this_and_that(tmp_path: Path):
    found = play(soak(tmp_path, MINUTES, USERS, seed=1))
    assert not found.wrong, "\n".join(found.wrong)
    assert max(look.memory for look in found.looks) < MOST
    assert found.rests[-1].memory < LEFT
    assert 0.0 < found.kept[-1].beyond < found.rests[-1].memory


def test_what_grows_to_the_end_is_told_from_what_has_grown():
    def looks(memory):
        return [Look(i / 12, memory(i / 12), threads=9, files=9, readers=4, jobs=1) for i in range(12 * 30 + 2)]

    assert growth(looks(lambda minute: 500.0 + 2.0 * minute)) == pytest.approx(2.0)
    assert growth(looks(lambda minute: min(500.0 + 20.0 * minute, 700.0))) == pytest.approx(0.0)
    passing = np.random.default_rng(3)  # what is under way
    assert growth(looks(lambda minute: 500.0 + passing.exponential(60.0))) == pytest.approx(0.0, abs=GROWTH)
    assert growth(looks(lambda minute: 500.0 + 2.0 * minute + passing.exponential(60.0))) == pytest.approx(2.0, abs=GROWTH)


def test_what_is_kept_at_each_rest_is_told_from_what_was_kept_once():
    def rests(memory):
        return [Kept(minute, 900.0, 300.0, memory(minute)) for minute in (5.1, 10.3, 15.4, 20.6, 25.7, 30.9)]

    assert growth_between_rests(rests(lambda minute: 500.0 + 2.0 * GROWTH * minute)) == pytest.approx(2.0 * GROWTH)
    assert growth_between_rests(rests(lambda minute: min(500.0 + 20.0 * minute, 800.0))) == pytest.approx(0.0)
