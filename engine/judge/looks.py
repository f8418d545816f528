"""How surprising the worst of many errors is, and when a surprise becomes a verdict.

A check compares many quantities at once, and its worst one is always some standard errors off. `surprise` gives the
probability that the worst of a right sampler's would be at least as far off, from the joint normal law of all errors
with the correlations seen. Nothing turns red at the first surprise: `two_looks` looks again with fresh random numbers
and `MORE` times the work. The looks are independent, so a right kernel is called wrong with a probability of at most
FIRST * SECOND = 1e-5 a check: with ten checks on a page, on one of 10,000 pages opened. A test simulates both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine import ticket
from engine.judge.check import Check, Kind

Array = NDArray[np.float64]

FIRST, SECOND = 0.01, 0.001  # p-values below which the first and the second look see a fault
MORE = 4  # how many times the work of the first look the second one does
SIMULATED, AT_ONCE = 20_000, 2_500  # draws of the joint law, and between two looks at the ticket
PLAIN = 1e-9  # a p-value of the first look that makes a larger second one needless
RESOLVED = 20  # of them beyond the worst error, below which their count is too rough and Bonferroni's bound stands


class Surprise(NamedTuple):
    """p : probability of a worst error at least as large; place : of the worst one; z : its size in standard errors.
    Place -1 and NaN where nothing can be told.
    """

    p: float
    place: int
    z: float


def surprise(z: Array, correlation: Array | None = None) -> Surprise:
    """Of errors z (q,), each standard normal where nothing is wrong, with correlation (q, q). Those that are NaN do not
    count. Without the correlation, Bonferroni's bound stands.
    """
    known = np.flatnonzero(~np.isnan(z))
    if not len(known):
        return Surprise(math.nan, -1, math.nan)
    place = int(known[np.argmax(np.abs(z[known]))])
    largest = abs(float(z[place]))
    bound = min(1.0, len(known) * two_sided(largest))
    if correlation is None or len(known) == 1 or bound * SIMULATED < RESOLVED:
        return Surprise(bound, place, float(z[place]))
    count = int(np.sum(largest_of_right_ones(correlation[np.ix_(known, known)]) >= largest))
    return Surprise((count + 1) / (SIMULATED + 1), place, float(z[place]))


def largest_of_right_ones(correlation: Array) -> Array:
    """(SIMULATED,) largest of |z| for errors z with this correlation (q, q) where nothing is wrong."""
    values, axes = np.linalg.eigh(np.where(np.isfinite(correlation), correlation, np.eye(len(correlation))))
    root = axes * np.sqrt(np.maximum(values, 0.0))
    rng = np.random.Generator(np.random.SFC64(0))
    found = [np.abs(rng.standard_normal((AT_ONCE, len(root))) @ root.T).max(axis=1) for _ in ticket.looking(range(SIMULATED // AT_ONCE))]
    return np.concatenate(found)


def two_sided(z: float) -> float:
    """Probability that a standard normal is further from 0 than z."""
    return math.erfc(abs(z) / math.sqrt(2.0))


def two_looks(look: Callable[[int, int], Check]) -> Check:
    """The verdict of `look(number, work)`, a check with a p-value made from random numbers that differ by `number`.

    A first look with a p of at least FIRST passes; else a second with MORE times the work, or as much where the first
    was `PLAIN`, decides: a p below SECOND fails. A look that cannot tell (p is NaN) stands as it is, the second one
    too: a first surprise alone decides nothing.
    """
    ticket.look()
    first = look(1, 1)
    ticket.look()
    if math.isnan(first.p) or first.p >= FIRST:
        return first
    return look(2, 1 if first.p < PLAIN else MORE)


def looked(number: int, name: str, z: Array, correlation: Array | None, words: str, *, kind: Kind, unit: str = "SE") -> Check:
    """What look `number` of `two_looks` says of the errors z (q,) of a right page, each standard normal, with their
    correlation (q, q). An error that is no number is a wrong one. words : how z came about, up to "the worst is".
    """
    found = surprise(np.nan_to_num(z, nan=math.inf), correlation)
    failed = number > 1 and found.p < SECOND
    sentence = f"{words} the worst is {abs(found.z):.1f} standard errors off (p = {found.p:.2g})."
    if failed:
        sentence += " A first look with other random numbers saw it too."
    bound = two_sided_limit((FIRST if number == 1 else SECOND) / max(len(z), 1))
    return Check(name, "fail" if failed else "pass", found.z, bound, sentence, unit, kind=kind, p=found.p)


def two_sided_limit(p: float) -> float:
    """The z beyond which a standard normal lies with probability p."""
    from scipy.special import ndtri

    return float(-ndtri(0.5 * p))


def correlation_of(covariance: Array) -> Array:
    """(q, q) from a covariance; what has no variance goes with nothing."""
    sd = np.sqrt(np.diag(covariance))
    with np.errstate(all="ignore"):
        found = np.where(np.outer(sd, sd) > 0.0, covariance / np.outer(sd, sd), 0.0)
    np.fill_diagonal(found, 1.0)
    return np.asarray(found)
