"""A class at once: ten users on one server, each moving a control, watching a long run, polling."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app import catalogue
from tests.load.user import User, play, visiting
from tests.pace import slower
from tests.server import ROOT, Server, demo_script, served

pytestmark = pytest.mark.alone

USERS = 10
POLL_P95 = 0.300  # s
RUN_P95 = 1.5  # s: all ten move a control in the same instant


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The app with the demo lesson."""
    folder = tmp_path_factory.mktemp("load")
    yield from served(demo_script(folder), folder / "log.txt")


def percentile(seconds: list[float], percent: int) -> float:
    """The `percent`th percentile."""
    return statistics.quantiles(seconds, n=100, method="inclusive")[percent - 1]


async def lesson_hour(url: str, number: int, ready: asyncio.Barrier) -> User:
    """What one pupil does."""
    async with visiting(url, "demo") as user:
        await user.open()
        await ready.wait()
        for step in range(3):
            await user.set_number("demo/drift/box", round(0.01 * (number + 1) + 0.1 * step, 3))
            await user.poll(0.6)
        await user.set_number("demo/steps/box", 1900 + number)
        await user.press("demo/run")
        await user.poll(3.0)
        return user


async def whole_class(url: str) -> list[User]:
    """All pupils at once."""
    async with visiting(url, "demo") as first:  # the first visit of a server loads libraries
        await first.open()
        await first.poll(8.0)
    ready = asyncio.Barrier(USERS)
    return await asyncio.gather(*(lesson_hour(url, number, ready) for number in range(USERS)))


def test_ten_users_at_once(server: Server):
    before = slower()
    users = play(whole_class(server.url))
    factor = max(before, slower())
    polls = [seconds for user in users for seconds in user.polls]
    runs = [seconds for user in users for seconds in user.runs]
    most = max(user.received for user in users) / 1e6
    print(f"\n{USERS} users, {most:.2f} MB at most to one of them; the machine is {factor:.1f} times slower now")
    for name, seconds in (("polls", polls), ("runs", runs)):
        half, most = percentile(seconds, 50) * 1000, percentile(seconds, 95) * 1000
        print(f"{len(seconds)} {name}: p50 {half:.0f} ms, p95 {most:.0f} ms")
    assert not [fault for user in users for fault in user.faults]
    assert len(polls) >= 5 * USERS
    assert percentile(polls, 95) < POLL_P95 * factor
    assert percentile(runs, 95) < RUN_P95 * factor


def test_a_class_that_arrives_at_a_cold_server(tmp_path: Path):
    """All pages at once while the server still imports: nobody finds a module half made."""

    async def arrive(url: str, slug: str) -> User:
        async with visiting(url, slug) as user:
            await user.open()
            end = time.monotonic() + 120
            while f"{slug}/scenario" not in user.widgets and time.monotonic() < end and not user.faults:
                await user.poll(0.5)
            return user

    async def everyone(url: str) -> list[User]:
        return await asyncio.gather(*(arrive(url, entry.slug) for entry in catalogue.LESSONS for _ in range(3)))

    for running in served(ROOT / "app" / "main.py", tmp_path / "log.txt"):
        for user in play(everyone(running.url)):
            assert not user.faults
            assert f"{user.page}/scenario" in user.widgets


def test_a_user_who_leaves_costs_nothing(server: Server):
    async def leave() -> None:
        async with visiting(server.url, "demo") as user:
            await user.open()
            await user.press("demo/run")
        async with visiting(server.url, "demo") as user:
            await user.open()
            assert user.runs[0] < 10

    play(leave())
