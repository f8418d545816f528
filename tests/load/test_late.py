"""What a browser sends before it hears of the page that its reader went to belongs to the page that was left."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.load.user import User, play, visiting
from tests.server import ROOT, served


@pytest.mark.parametrize("page", ["gibbs", ""], ids=["another lesson", "the front page"])
def test_a_timer_that_fires_on_leaving_brings_no_run_of_the_old_page(tmp_path: Path, page: str):
    """The browser would take such a run for another change of the page, empty it, and break on what comes next."""

    async def visit(url: str) -> User:
        async with visiting(url, "metropolis") as user:
            await user.open()
            for _ in range(5):
                if not user.timers:
                    await user.set_number("metropolis/seed/box", float(len(user.runs)))
                user.announced.clear()
                left = await user.go_with_a_late_tick(page)
                await user.poll(0.5)
                assert user.announced and left not in user.announced
                await user.go("metropolis")
            return user

    for server in served(ROOT / "app" / "main.py", tmp_path / "log.txt"):
        user = play(visit(server.url))
        assert not user.faults and "Traceback" not in server.said()
