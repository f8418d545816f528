"""The short form of `make soak`."""

from __future__ import annotations

from pathlib import Path

from tests.load.user import play
from tests.soak import growth, soak

MINUTES, USERS = 0.5, 4
GROWTH = 600.0  # MB a minute, while libraries and kernels are still being loaded


def test_nothing_is_left_of_readers_who_did_this_and_that(tmp_path: Path):
    looks, wrong = play(soak(tmp_path, MINUTES, USERS, seed=1))
    assert not wrong, "\n".join(wrong)
    assert growth(looks) < GROWTH
