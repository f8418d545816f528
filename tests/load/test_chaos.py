"""The short forms of `make chaos`; that of a server killed under its readers needs a browser: tests/browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import chaos


@pytest.mark.parametrize("damage", ["cut short", "emptied and locked"])
def test_pages_work_when_kept_kernels_are_lost(tmp_path: Path, damage: str):
    print(chaos.cache(tmp_path, damage))


def test_a_thread_that_ends_costs_its_own_page_a_picture(tmp_path: Path):
    print(chaos.dying_threads(tmp_path))


def test_a_clock_that_jumps_costs_nothing(tmp_path: Path):
    print(chaos.clock(tmp_path))


def test_a_reader_who_leaves_in_the_middle_costs_nothing_after_two_seconds(tmp_path: Path):
    print(chaos.leaving(tmp_path, chaos.HEAVY))
