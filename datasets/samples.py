"""Single rows of numbers for the first lessons: coin flips, counts, waiting times, measurements, kinds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from datasets.card import Card
from engine.spec import SpecError

Array = NDArray[np.float64]

# Deaths by horse kick in 10 corps of the Prussian army over 20 years: so many corps-years had 0, 1, 2, ... deaths.
HORSE_KICKS = (109, 65, 22, 3, 1)


class Sample(NamedTuple):
    """Observations of one quantity.

    x : (n,)
    card : where they come from
    """

    x: Array
    card: Card


def coin(n: int = 20, p: float = 0.7, seed: int = 1) -> Sample:
    """`n` flips of a coin that shows heads (1) with probability `p`."""
    _size(n)
    if not 0.0 <= p <= 1.0:
        raise SpecError("p", f"{p} is not a probability")
    return Sample((_rng(seed).random(n) < p).astype(np.float64), _made("coin flips", f"p = {p:g}", seed, "1 is heads"))


def counts(seed: int = 1) -> Sample:
    """Deaths by horse kick in 200 corps-years of the Prussian army. Only their frequencies are published: the order is
    drawn with `seed`.
    """
    x = np.repeat(np.arange(len(HORSE_KICKS)), HORSE_KICKS).astype(np.float64)
    source = f"L. von Bortkiewicz, Das Gesetz der kleinen Zahlen, 1898; order shuffled with seed {seed}"
    return Sample(_rng(seed).permutation(x), Card("horse kicks", source, "public domain", "deaths a corps-year"))


def waiting_times(n: int = 30, rate: float = 0.5, seed: int = 1) -> Sample:
    """`n` times between events that come at random, `rate` a minute; in minutes."""
    _size(n)
    _above("rate", rate)
    return Sample(_rng(seed).standard_exponential(n) / rate, _made("waiting times", f"rate {rate:g}", seed, "minutes"))


def measurements(n: int = 100, mean: float = 5.0, sd: float = 1.0, seed: int = 1) -> Sample:
    """`n` draws of N(mean, sd**2). By default 100 of N(5, 1), the example of Berezowski 2021, section 3.2.2."""
    _size(n)
    _above("sd", sd)
    x = mean + sd * _rng(seed).standard_normal(n)
    return Sample(x, _made("measurements", f"mean {mean:g} and sd {sd:g}", seed, "none"))


def kinds(n: int = 30, shares: Sequence[float] = (0.5, 0.3, 0.2), seed: int = 1) -> Sample:
    """`n` draws of a kind 1, 2, ... that come with the given `shares`."""
    _size(n)
    p = np.asarray(shares, dtype=np.float64)
    if p.ndim != 1 or p.size < 2 or not np.all(p >= 0.0) or not abs(p.sum() - 1.0) < 1e-9:
        raise SpecError("shares", f"{tuple(shares)} are not two or more shares that add up to 1")
    x = 1.0 + np.searchsorted(np.cumsum(p)[:-1], _rng(seed).random(n), side="right").astype(np.float64)
    return Sample(x, _made("kinds", "shares " + ", ".join(f"{v:g}" for v in p), seed, "number of the kind"))


def _rng(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(seed))


def _made(name: str, how: str, seed: int, units: str) -> Card:
    return Card(name, f"generated with {how} and seed {seed}", "none needed: random numbers", units)


def _size(n: int) -> None:
    if not 0 <= n <= 1_000_000:
        raise SpecError("n", f"{n} is outside 0 to 1,000,000")


def _above(name: str, value: float) -> None:
    if not (np.isfinite(value) and value > 0.0):
        raise SpecError(name, f"{value} is not a finite number above 0")
