"""Powerball as a problem of two classes: one number of a sorted draw is shown; was it the smallest, or the third?

A draw takes `WHITE` of `balls` numbers without replacement, each set as likely as another. So everything about the best
possible answer is known: with i the place of x in the sorted draw, P(x | i) = C(x-1, i-1) C(balls-x, 5-i) / C(balls, 5).

Source: the question is that of Mullachery, Khera and Husain 2018; the answer is not in print there.
"""

from __future__ import annotations

import math
import re
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from datasets.card import Card
from datasets.tables import Table, Task
from engine.spec import SpecError

Array = NDArray[np.float64]

WHITE = 5  # numbers of a draw
BALLS, BALLS_BEFORE = 69, 59  # since autumn of 2015, and before
MOST_DRAWS = 1_000_000


class Shown(NamedTuple):
    """Numbers that are shown, two of each draw.

    x : (2 n,) numbers from 1
    y : (2 n,) 1 where it was the smallest of its draw, 0 where it was the third
    card : where they come from
    """

    x: NDArray[np.int64]
    y: NDArray[np.int64]
    card: Card


class Rule(NamedTuple):
    """What saying "the smallest" for x <= cut comes to, exactly: share right, of all and of each class."""

    cut: int
    accuracy: float
    of_smallest: float
    of_third: float


def urn(n: int = 810, balls: int = BALLS, seed: int = 0) -> Shown:
    """`n` draws from a fair urn; the smallest and the third number of each, draw by draw.

    Raises SpecError naming the argument.
    """
    if not 1 <= n <= MOST_DRAWS:
        raise SpecError("n", f"{n} is outside 1 to {MOST_DRAWS:,}")
    _checked(balls)
    rng = np.random.Generator(np.random.SFC64(seed))
    draws = np.sort(rng.random((n, balls)).argpartition(WHITE, axis=1)[:, :WHITE] + 1, axis=1)
    card = Card("Powerball urn", f"{n} draws of {WHITE} from {balls}, seed {seed}", "none needed: random numbers", "numbers of balls")
    return of_draws(draws, card)


def of_draws(draws: NDArray[np.int64], card: Card) -> Shown:
    """What is shown of draws (n, `WHITE`), each sorted."""
    return Shown(draws[:, (0, 2)].reshape(-1), np.tile([1, 0], len(draws)), card)


def task(shown: Shown) -> Task:
    """The same as a table with one column, the logarithm of the number."""
    return Task(
        np.log(shown.x)[:, None], shown.y.astype(np.float64), ("log of the number",), "its place", ("third", "smallest"), (), shown.card
    )


def from_table(table: Table, balls: int = BALLS) -> NDArray[np.int64]:
    """(n, WHITE) sorted numbers of the draws in a file, row by row: the first five of a column that holds a draw in each
    cell ("10 33 41 47 56 10"), else the first five neighbouring columns that hold five different numbers in every row.

    Raises SpecError naming the file where there is neither.
    """
    _checked(balls)
    for index, name in enumerate(table.names):
        read = [[int(number) for number in _APART.split(word.strip())[:WHITE] if number.isdecimal()] for word in table.words.get(name, ())]
        which = table.values[:, index]
        if read and np.isfinite(which).all() and all(len(numbers) == WHITE for numbers in read):
            found = np.sort(np.array(read, dtype=np.int64)[which.astype(np.int64)], axis=1)
            if _are_draws(found, balls):
                return found
    numbers = [index for index, name in enumerate(table.names) if name not in table.words]
    for first in range(len(numbers) - WHITE + 1):
        found = np.sort(table.values[:, numbers[first : first + WHITE]], axis=1)
        if _are_draws(found, balls):
            return found.astype(np.int64)
    raise SpecError(
        "file", f"no column holds a draw in each cell, and no five neighbouring ones five different numbers from 1 to {balls} in every row"
    )


_APART = re.compile(r"[\s,;-]+")  # what stands between the numbers of one cell


def _are_draws(found: NDArray[np.float64] | NDArray[np.int64], balls: int) -> bool:
    """Whether sorted rows (n, WHITE) hold different whole numbers from 1 to `balls`."""
    inside = np.isfinite(found).all() and found.min() >= 1 and found.max() <= balls
    return bool(inside and (found == np.round(found)).all() and (np.diff(found, axis=1) > 0).all())


@cache
def probabilities(balls: int = BALLS) -> Array:
    """(2, balls) P(x | third) and P(x | smallest) of x = 1, 2, ...; shared, so read-only"""
    _checked(balls)
    x = range(1, balls + 1)
    third = [math.comb(i - 1, 2) * math.comb(balls - i, 2) for i in x]
    smallest = [math.comb(balls - i, WHITE - 1) for i in x]
    found = np.array([third, smallest], dtype=np.float64) / math.comb(balls, WHITE)
    found.flags.writeable = False
    return found


def smallest_given(x: ArrayLike, balls: int = BALLS) -> Array:
    """P(smallest | x) where both are shown equally often; NaN for a number that is neither."""
    third, smallest = probabilities(balls)[:, np.asarray(x, dtype=np.int64) - 1]
    with np.errstate(invalid="ignore"):
        return np.asarray(smallest / (third + smallest))


def rule(cut: int, balls: int = BALLS) -> Rule:
    """The rule with this cut."""
    third, smallest = probabilities(balls)
    right = float(smallest[:cut].sum()), float(third[cut:].sum())
    return Rule(cut, (right[0] + right[1]) / 2, *right)


@cache
def best_rule(balls: int = BALLS) -> Rule:
    """The rule that no other beats: the odds fall with x, so it is a cut."""
    return max((rule(cut, balls) for cut in range(balls + 1)), key=lambda each: each.accuracy)


def least_nats(balls: int = BALLS) -> float:
    """Least expected log loss of any prediction, in nats."""
    both = probabilities(balls)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(both > 0.0, -both * np.log(both / both.sum(axis=0)), 0.0)
    return float(terms.sum() / 2)


def crossing(balls: int = BALLS) -> float:
    """The x, as a real number, at which both are equally likely: 6 (x-1)(x-2) = (balls-2-x)(balls-3-x)."""
    a, b = balls - 2, balls - 3
    return float(max(np.roots([5.0, -18.0 + a + b, 12.0 - a * b]).real))


def _checked(balls: int) -> None:
    if not WHITE < balls <= 1000:
        raise SpecError("balls", f"{balls} is outside {WHITE + 1} to 1000")
