"""The long looks for garbage wait for a moment in which nobody does."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from app.kit import collector
from app.kit.collector import DUE, Collector


class Garbage:
    """Refers to itself."""

    def __init__(self) -> None:
        self.me = self


@pytest.fixture
def old() -> Iterator[weakref.ref[Garbage]]:
    """Garbage that Python's quick looks do not find any more; its own long look does not come."""
    before = gc.get_threshold()
    gc.set_threshold(before[0], before[1], 2**31 - 1)
    made = Garbage()
    gc.collect()
    found = weakref.ref(made)
    del made
    yield found
    gc.set_threshold(*before)


def looked_quickly() -> None:
    """As often as makes a long look due."""
    for _ in range(DUE):
        gc.collect(1)


def test_it_waits_until_no_script_runs(old):
    quiet = False
    mine = Collector(lambda: quiet)
    looked_quickly()
    assert not mine.look() and not mine.look() and old() is not None
    quiet = True
    assert not mine.look(), "what the script said is still to be sent"
    assert mine.look() and old() is None
    assert not mine.look(), "there is nothing new to look over"


def test_the_quiet_before_the_last_look_is_not_that_of_now(old):
    mine = Collector(lambda: True, share=1.0)
    for _ in range(2):
        looked_quickly()
        assert not mine.look() and mine.look()


def test_it_waits_no_longer_than_it_may(old):
    mine = Collector(lambda: False, latest=0.0)
    assert not mine.look() and old() is not None
    looked_quickly()
    assert mine.look() and old() is None


def test_it_takes_no_more_than_its_share_of_the_time(old):
    for share, again in ((1.0, True), (1e-9, False)):
        mine = Collector(lambda: False, latest=0.0, share=share)
        for expected in (True, again):
            looked_quickly()
            assert mine.look() is expected


def test_python_leaves_the_long_looks_to_it(old, monkeypatch):
    monkeypatch.setattr(collector, "LOOK", 1e6)
    before = gc.get_threshold()
    Collector(lambda: True).start()
    assert gc.get_threshold()[:2] == before[:2]
    gc.set_threshold(100, 2, gc.get_threshold()[2])
    kept = [[] for _ in range(100_000)]
    assert gc.get_count()[2] > 100 and kept, "no long look in all that time"
