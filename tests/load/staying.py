"""Readers who stay whatever happens to their server's process: as a browser does, they come back to the same run."""

from __future__ import annotations

import asyncio
import random
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any

from websockets.exceptions import WebSocketException

from app.server.front import COOKIE
from tests.load.classroom import MOVERS
from tests.load.user import visiting

Going = Callable[[], bool]

AGAIN = 0.25  # s between tries to come back
TIRED = 30.0  # s after which a reader has been lost


@dataclass
class Reader:
    """What became of one: seconds from each control to its picture, seconds of each absence until the picture was there
    again, whether it was the same address, and what the page complained of.
    """

    pictures: list[float] = field(default_factory=list)
    gone: list[float] = field(default_factory=list)
    moved: list[tuple[str, str]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    lost: bool = False


async def stays(url: str, slug: str, going: Going, chance: random.Random, every: tuple[float, float] = (1.0, 4.0)) -> Reader:
    """A new seed every few seconds, as long as it is `going`; back after each absence."""
    found = Reader()
    cookies, query, left = await asyncio.to_thread(_cookies, url), "", 0.0
    while going() and not found.lost:
        user = None
        try:
            async with visiting(url, slug, query, cookies) as user:
                await user.open()
                assert await user.see(TIRED)
                if left:
                    found.gone.append(time.monotonic() - left)
                    found.moved += [(query, user.query)] if query != user.query else []
                    left = 0.0
                while going():
                    await user.new_seed(chance.randrange(2**31))
                    query = user.query
                    found.pictures += user.pictures[-1:]
                    await user.poll(chance.uniform(*every))
        except (WebSocketException, OSError, AssertionError, KeyError):
            left = left or time.monotonic()
            found.lost = time.monotonic() - left > TIRED
            await asyncio.sleep(AGAIN)
        finally:
            found.faults += user.faults if user else []
    return found


async def class_of(url: str, readers: int, going: Going, seed: int = 1) -> list[Reader]:
    """So many of them, on all movers' pages in turn."""
    tasks = [stays(url, MOVERS[i % len(MOVERS)], going, random.Random(1000 * seed + i)) for i in range(readers)]
    return list(await asyncio.gather(*tasks))


def _cookies(url: str) -> str:
    """By which nginx knows the browser: what it sets at the first visit."""
    with urllib.request.urlopen(f"{url}/healthz", timeout=60) as answer:
        given: Any = SimpleCookie(answer.headers["Set-Cookie"] or "")
    return f"{COOKIE}={given[COOKIE].value}" if COOKIE in given else ""
