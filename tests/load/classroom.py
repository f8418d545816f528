"""A class on the real lessons: what thirty readers do, and what they wait for."""

from __future__ import annotations

import asyncio
import random
import time

import numpy as np

from tests.load.user import User, visiting

MOVERS = [  # pages where a new seed is a new run
    "metropolis",
    "gibbs",
    "hmc",
    "nuts",
    "tuning",
    "diagnostics",
    "perceptron",
    "regression",
    "monte-carlo",
    "logistic",
    "model-selection",
    "weight-space",
    "priors",
]
PAGES = [*MOVERS, "digits", "layers", "real-data"]  # where the class is
FORMULAS = ("-x^2/2 - (y - x^2)^2", "-(x^2 + y^2)/2", "-2.3*log(1+x^2+y^2)", "-abs(x) - abs(y)", "-x^4 - y^2 + x*y")


async def moves_something(url: str, slug: str, seconds: float, chance: random.Random, every: tuple[float, float]) -> User:
    """A new seed every few seconds, the page's timers in between."""
    async with visiting(url, slug) as user:
        await user.open()
        await user.poll(chance.uniform(0.0, every[1]))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            await user.new_seed(chance.randrange(2**31))
            await user.poll(chance.uniform(*every))
        return user


async def trains_digits(url: str, seconds: float, chance: random.Random) -> User:
    """A training on digits after the other."""
    return await moves_something(url, "digits", seconds, chance, (8.0, 12.0))


async def grows_layers(url: str, seconds: float, chance: random.Random) -> User:
    """Long runs over depths."""
    return await moves_something(url, "layers", seconds, chance, (8.0, 12.0))


async def uploads(url: str, seconds: float, chance: random.Random) -> User:
    """A table of 10 MB, again and again."""
    table = np.random.default_rng(1).standard_normal((40_000, 14))
    rows = (",".join(f"{value:.15f}" for value in row) for row in table)
    text = "\n".join([",".join(f"x{i}" for i in range(14)), *rows])
    content = text.encode()[:10_000_000].rpartition(b"\n")[0]
    async with visiting(url, "real-data") as user:
        await user.open()
        end = time.monotonic() + seconds
        number = 0
        while time.monotonic() < end:
            await user.give_file("real-data/own_table/files/0", f"table{number}.csv", content + b"\n")
            number += 1
            await user.poll(10.0)
        return user


async def types_formulas(url: str, seconds: float, chance: random.Random) -> User:
    """A formula after the other."""
    async with visiting(url, "metropolis", "part=plane&target=formula") as user:
        await user.open()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            await user.set_text("metropolis/formula/text", f"{chance.choice(FORMULAS)} - {chance.random():.3f}*x^2")
            await user.poll(4.0)
        return user


async def lesson(url: str, readers: int, seconds: float, seed: int = 1) -> dict[str, list[User]]:
    """A class of `readers` for so many seconds: most move something every 1 to 4 s, one trains digits, one grows
    layers, one uploads, one types formulas. By what they do.
    """
    others = [trains_digits, grows_layers, uploads, types_formulas]
    chances = [random.Random(seed * 1000 + i) for i in range(len(others))]
    found, moving = await asyncio.gather(
        asyncio.gather(*(do(url, seconds, chances[i]) for i, do in enumerate(others))),
        movers(url, readers - len(others), seconds, seed=seed),
    )
    return {"movers": moving, "others": list(found)}


async def movers(url: str, readers: int, seconds: float, every: tuple[float, float] = (1.0, 4.0), seed: int = 1) -> list[User]:
    """Readers on all `MOVERS` in turn who move something every few seconds."""
    chances = [random.Random(seed * 1000 + 100 + i) for i in range(readers)]
    slugs = [MOVERS[i % len(MOVERS)] for i in range(readers)]
    tasks = [moves_something(url, slug, seconds, chance, every) for slug, chance in zip(slugs, chances, strict=True)]
    return list(await asyncio.gather(*tasks))


async def reading(url: str, readers: int, seconds: float, seed: int = 1) -> list[User]:
    """Readers who mostly read: each moves something every 20 s."""
    return await movers(url, readers, seconds, (15.0, 25.0), seed)
