"""The short form of `make soak`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.load.user import play
from tests.soak import Look, growth, soak

MINUTES, USERS = 0.5, 4
# MB that the server may take; a quick machine came to 615. How fast it comes there is no measure: the faster a machine,
# the sooner libraries and kernels are loaded. What grows after that, `make soak` sees.
MOST = 750.0


def test_nothing_is_left_of_readers_who_did_this_and_that(tmp_path: Path):
    looks, wrong = play(soak(tmp_path, MINUTES, USERS, seed=1))
    assert not wrong, "\n".join(wrong)
    assert max(look.memory for look in looks) < MOST


def test_what_grows_to_the_end_is_told_from_what_has_grown():
    def looks(memory):
        return [Look(minute, memory(minute), threads=9, files=9, readers=4, jobs=1) for minute in range(31)]

    assert growth(looks(lambda minute: 500.0 + 2.0 * minute)) == pytest.approx(2.0)
    assert growth(looks(lambda minute: min(500.0 + 20.0 * minute, 700.0))) == pytest.approx(0.0)
