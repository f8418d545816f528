"""An urn with one ball of another weight, and the exact test for it.

A draw takes `white` of `balls` without replacement, one after the other, each with a chance in proportion to its
weight. One ball weighs w, all others 1. It is then in a draw with probability

    pi(w) = 1 - prod_{i < white} (balls - 1 - i) / (balls - 1 - i + w),   pi(1) = white / balls = pi0

(Wallenius 1963, for one ball), and whoever is drawn with it, or without it, is drawn evenly. So of n draws the number s
that hold it is all that they say about w. Against a fair urn, with pi ~ Beta(a, b) of mean pi0, its Bayes factor is

    B_j = Beta(a + s_j, b + n - s_j) / Beta(a, b) / (pi0^s_j (1 - pi0)^(n - s_j)),

and the mean of B_j over all balls where it is not known which one differs. Under a fair urn the Bayes factor is a
martingale of mean 1: it ever comes to c with probability at most 1 / c (Ville 1939), however often one looks.

log B is also a score. It is how many nats better the draws were predicted, one after the other, by averaging over all
unfair urns than by the fair one: no model gains more from its predictions than the evidence says.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine import ticket
from engine.kernels import kernel
from engine.spec import SpecError

Array = NDArray[np.float64]
Draws = NDArray[np.int64]

MOST_BALLS = 1000
PIECE = 50  # urns between two looks at the ticket
MOST_DRAWS = 2_000_000


def chance(weight: float, balls: int, white: int) -> float:
    """pi(w), the probability that a ball of this weight, among others of weight 1, is in a draw."""
    left = balls - 1.0 - np.arange(white)
    return float(1.0 - np.prod(left / (left + weight)))


def most_matches(weight: float, balls: int, white: int) -> float:
    """Expected matches of the best ticket of `white` numbers, for who knows the ball and its weight: it holds the
    likelier numbers. white^2 / balls, that of any ticket, where the urn is fair."""
    own = chance(weight, balls, white)
    other = (white - own) / (balls - 1)
    return own + (white - 1) * other if own > other else white * other


def gain(weight: float, balls: int, white: int) -> float:
    """Nats a draw that no prediction gains more than: the relative entropy of this urn to the fair one."""
    own, fair = chance(weight, balls, white), white / balls
    return own * math.log(own / fair) + (1.0 - own) * math.log((1.0 - own) / (1.0 - fair))


def draw(n: int, balls: int, white: int, ball: int, weight: float, seed: int) -> Draws:
    """(n, white) numbers from 1, sorted in each draw, where `ball` weighs `weight`. Raises SpecError naming the argument."""
    _checked(balls, white, weight)
    if not 1 <= ball <= balls:
        raise SpecError("ball", f"{ball} is outside 1 to {balls}")
    found = np.empty((n, white), dtype=np.int64)
    _draw(np.random.Generator(np.random.SFC64(seed)), balls, ball - 1, weight, found)
    return np.sort(found + 1, axis=1)


@kernel
def _draw(rng, balls, ball, weight, found):
    """Fill found (n, white) with numbers from 0, in the order in which they leave the urn."""
    urn = np.arange(balls)
    for t in range(len(found)):
        at = 0  # of the odd ball; -1 once it has left
        while urn[at] != ball:
            at += 1
        for i in range(found.shape[1]):
            left = balls - i
            if at < 0:
                chosen = min(int(rng.random() * left), left - 1)
            else:
                u = rng.random() * (left - 1 + weight)
                if u < weight:
                    chosen = at
                else:
                    chosen = min(int(u - weight), left - 2)
                    if chosen >= at:
                        chosen += 1
            found[t, i] = urn[chosen]
            urn[chosen], urn[left - 1] = urn[left - 1], urn[chosen]
            if chosen == at:
                at = -1
            elif at == left - 1:
                at = chosen


def tallies(draws: ArrayLike, balls: int) -> Draws:
    """(n + 1, balls) in how many of the first 0, 1, ..., n draws (n, white) each number was."""
    draws = np.asarray(draws, dtype=np.int64)
    found = np.zeros((len(draws) + 1, balls), dtype=np.int64)
    np.put_along_axis(found[1:], draws - 1, 1, axis=1)
    return np.cumsum(found, axis=0)


def log_factors(counts: ArrayLike, n: ArrayLike, fair: float, belief: float) -> Array:
    """log B_j from counts in n draws, elementwise: of a ball that a fair urn would give with probability `fair`.

    belief : draws that the prior on the odd ball's chance is worth, a + b
    """
    from scipy.special import betaln

    s = np.asarray(counts, dtype=np.float64)
    a, b, rest = belief * fair, belief * (1.0 - fair), np.asarray(n, dtype=np.float64) - s
    return np.asarray(betaln(a + s, b + rest) - betaln(a, b) - s * math.log(fair) - rest * math.log1p(-fair))


def log_factor(counts: ArrayLike, n: ArrayLike, white: int, belief: float) -> Array:
    """(...) log of the Bayes factor of an urn with one odd ball, not known which, against a fair one; from counts (...,
    balls) in n (...) draws."""
    s = np.asarray(counts)
    each = log_factors(s, np.asarray(n)[..., None], white / s.shape[-1], belief)
    return np.asarray(np.logaddexp.reduce(each, axis=-1) - math.log(s.shape[-1]))


def shares(counts: ArrayLike, n: ArrayLike, white: int, belief: float) -> Array:
    """(..., balls + 1) posterior probabilities of each ball to be the odd one, and last of a fair urn, which before any
    draw had one half."""
    s = np.asarray(counts)
    balls = s.shape[-1]
    each = log_factors(s, np.asarray(n)[..., None], white / balls, belief) - math.log(balls)
    every = np.concatenate([each, np.zeros((*each.shape[:-1], 1))], axis=-1)
    return np.asarray(np.exp(every - np.logaddexp.reduce(every, axis=-1, keepdims=True)))


@kernel
def _evidence(rng, balls, white, ball, weight, belief, marks, found):
    """Fill found (urns, marks) with the log Bayes factor after so many draws of each of several urns."""
    fair = white / balls
    a, b = belief * fair, belief * (1.0 - fair)
    start = math.lgamma(a) + math.lgamma(b) - math.lgamma(belief)
    some = np.empty((1, white), dtype=np.int64)
    each = np.empty(balls)
    for urn in range(len(found)):
        counts = np.zeros(balls)
        done = 0
        for k in range(len(marks)):
            while done < marks[k]:
                _draw(rng, balls, ball, weight, some)
                for i in range(white):
                    counts[some[0, i]] += 1.0
                done += 1
            whole = math.lgamma(belief + done) + start
            for j in range(balls):
                s, rest = counts[j], done - counts[j]
                each[j] = math.lgamma(a + s) + math.lgamma(b + rest) - whole - s * math.log(fair) - rest * math.log1p(-fair)
            top = each.max()
            found[urn, k] = top + math.log(np.exp(each - top).mean())


def evidence(urns: int, marks: ArrayLike, balls: int, white: int, weight: float, belief: float, seed: int) -> Array:
    """(urns, marks) log Bayes factors after so many draws, `marks` increasing, of urns in which one ball has this weight."""
    _checked(balls, white, weight)
    marks = np.asarray(marks, dtype=np.int64)
    found = np.empty((urns, len(marks)))
    rng = np.random.Generator(np.random.SFC64(seed))
    for first in range(0, urns, PIECE):
        ticket.look()
        _evidence(rng, balls, white, 0, weight, belief, marks, found[first : first + PIECE])
    return found


def least_power(marks: ArrayLike, balls: int, white: int, weight: float, belief: float, factor: float) -> Array:
    """(marks,) probability that the odd ball's own B_j, over `balls`, comes to `factor` after so many draws: exact sums.
    The Bayes factor is that and more, so its power is at least so large."""
    from scipy.stats import binom

    fair, own, found = white / balls, chance(weight, balls, white), []
    for n in np.asarray(marks, dtype=np.int64):
        s = np.arange(n + 1)
        enough = log_factors(s, n, fair, belief) >= math.log(factor * balls)
        found.append(float(binom.pmf(s[enough], n, own).sum()))
    return np.array(found)


def draws_needed(weight: float, balls: int, white: int, belief: float, factor: float, power: float = 0.5) -> float:
    """Draws from which on `least_power` is `power` or more, to about a percent; infinite for a fair urn, and beyond
    `MOST_DRAWS`."""
    if gain(weight, balls, white) == 0.0:
        return math.inf

    def enough(n: float) -> bool:
        return bool(least_power([round(n)], balls, white, weight, belief, factor)[0] >= power)

    low, high = 1.0, 1.0
    while not enough(high):
        low, high = high, 2.0 * high
        if high > MOST_DRAWS:
            return math.inf
    while high - low > max(1.0, 0.01 * low):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return float(round(high))


def _checked(balls: int, white: int, weight: float) -> None:
    if not 1 <= white < balls <= MOST_BALLS:
        raise SpecError("balls", f"{balls} is outside {white + 1} to {MOST_BALLS}")
    if not 0.0 < weight < math.inf:
        raise SpecError("weight", "must be above 0")
