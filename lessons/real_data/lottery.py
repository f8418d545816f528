"""Can anything predict the draw? Tickets and evidence along the draws of an urn, or of a reader's own file."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datasets import powerball
from datasets.powerball import WHITE
from engine import ticket, urn
from engine.judge import Average, Check, Verdict, averages_check, unknown
from engine.kept import kept
from lessons.real_data import analysis
from lessons.real_data.spec import WORDS, RealDataSpec

Array = NDArray[np.float64]

FACTOR = 20.0  # the Bayes factor that counts as found out; a fair urn ever comes to it with probability 1 / FACTOR at most
FRAMES = 240
TWICE = 2.0  # weight of the odd ball of the story
A_YEAR = 3 * 52  # draws of Powerball
WEIGHTS = (1.1, 1.2, 1.5, 2.0, 3.0)
MARKS = np.unique(np.round(np.geomspace(10, 20_000, 25)).astype(np.int64))  # draws at which the power is counted
TICKETS = ("hot", "overdue")
UNLIKE = 1e-6  # probability below which two parts of a file are not of one urn

CHAINS, DRAWN = 4, 10_000  # draws by which the urn itself is checked
PLAIN = 1e-9  # relative error of two computations of one number
MEAN_Z = 6.0  # standard errors by which a mean over urns may exceed what is exact, at the worst of all marks
LEAST_Z = 4.0  # standard errors by which a share of urns may miss what is exact, at the worst of all marks
SURE_OF_POWER = 0.03  # standard error of a share of urns, at most


@dataclass(frozen=True, eq=False)
class Course:
    """Draw after draw.

    draws : (n, WHITE); counts : (n + 1, balls) so far; of : how many there are in all
    log_factor : (n + 1,) log Bayes factor of one odd ball against a fair urn
    shares : (n + 1, balls + 1) posterior probability of each ball to be the odd one, and of a fair urn
    matches : by ticket, (n,) numbers of each draw that it had right
    """

    draws: NDArray[np.int64]
    counts: NDArray[np.int64]
    of: int
    log_factor: Array
    shares: Array
    matches: dict[str, Array]

    @property
    def n(self) -> int:
        """Draws looked at."""
        return len(self.draws)


def own(reference: str, balls: int) -> NDArray[np.int64]:
    """The draws of a reader's file. Raises SpecError saying why it cannot be used."""
    return powerball.from_table(analysis.given(reference), balls)


def course(spec: RealDataSpec) -> Course:
    """The draws of a spec, and what was made of them."""
    return _course(spec.of_draws())


@kept
def _course(spec: RealDataSpec) -> Course:
    if spec.data == "own":
        every = own(spec.file, spec.balls)
        draws = every[: spec.seen]
    else:
        every = draws = urn.draw(spec.seen, spec.balls, WHITE, spec.odd, spec.weight, spec.seed)
    counts = urn.tallies(draws, spec.balls)
    so_far = np.arange(len(draws) + 1)
    shares = urn.shares(counts, so_far, WHITE, spec.belief)
    ticket.look()
    tickets = {"hot": top(counts[:-1]), "overdue": top(-_last_seen(counts))}
    matches = {name: (picked[:, :, None] == draws[:, None, :]).sum(axis=(1, 2)).astype(np.float64) for name, picked in tickets.items()}
    return Course(draws, counts, len(every), urn.log_factor(counts, so_far, WHITE, spec.belief), shares, matches)


def top(score: NDArray[Any]) -> NDArray[np.int64]:
    """(n, WHITE) the numbers, from 1, with the largest scores (n, balls); of equal ones those on the left."""
    return np.argsort(-score, axis=1, kind="stable")[:, :WHITE] + 1


def _last_seen(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n, balls) the draw, from 1, that had each number last, before each draw; 0 for none."""
    came = np.diff(counts, axis=0, prepend=0) > 0
    return np.maximum.accumulate(np.where(came, np.arange(len(counts))[:, None], 0), axis=0)[:-1]


def frames(n: int) -> NDArray[np.int64]:
    """Numbers of draws at which the picture stops, none first."""
    return np.unique(np.round(np.linspace(0, n, min(FRAMES, n + 1))).astype(np.int64))


def gap(found: Course, one: str, other: str) -> tuple[float, float]:
    """By how many matches a draw one ticket did better than another, and the standard error of that."""
    apart = found.matches[one] - found.matches[other]
    return float(apart.mean()), float(apart.std() / math.sqrt(found.n))


def alone(counts: Array, n: Array, fair: float) -> Array:
    """P(at least so many) for counts in n draws of a fair urn, of a ball that was named beforehand."""
    from scipy.stats import binom

    return np.asarray(binom.sf(counts - 1, n, fair))


def two_urns(found: Course, balls: int) -> tuple[int, int] | None:
    """The largest numbers of the first and of the last half of the draws, if one urn hardly gives such halves."""
    halves = found.draws[: found.n // 2], found.draws[found.n // 2 :]
    tops = tuple(int(half.max()) for half in halves)
    size, lower = len(halves[int(np.argmin(tops))]), min(tops)
    return (tops[0], tops[1]) if size * math.log(math.comb(lower, WHITE) / math.comb(balls, WHITE)) < math.log(UNLIKE) else None


def power(spec: RealDataSpec, weight: float, seed: int = 0) -> tuple[Array, Array]:
    """Share of `spec.urns` urns with an odd ball of this weight whose Bayes factor is `FACTOR` or more after `MARKS`
    draws, and its standard error. seed : added to that of the spec"""
    found = evidence(spec, weight, seed) >= math.log(FACTOR)
    share = found.mean(axis=0)
    return share, np.sqrt(share * (1.0 - share) / len(found))


def evidence(spec: RealDataSpec, weight: float, seed: int = 0) -> Array:
    """(urns, MARKS) log Bayes factors."""
    return _evidence(spec.balls, spec.belief, spec.urns, weight, spec.seed + seed)


@kept
def _evidence(balls: int, belief: float, urns: int, weight: float, seed: int) -> Array:
    return urn.evidence(urns, MARKS, balls, WHITE, weight, belief, seed)


def least_power(spec: RealDataSpec, weight: float) -> Array:
    """(MARKS,) exactly, what the power is at least."""
    return urn.least_power(MARKS, spec.balls, WHITE, weight, spec.belief, FACTOR)


def needed(spec: RealDataSpec, weight: float) -> float:
    """Draws after which half of the urns with such a ball are found out."""
    return urn.draws_needed(weight, spec.balls, WHITE, spec.belief, FACTOR)


# Checks ---------------------------------------------------------------------------------------------------------------


def shown_weight(spec: RealDataSpec) -> float:
    """Weight of the ball whose power is counted: that of the urn; twice where the urn is fair, or a file's."""
    return spec.weight if spec.data == "urn" and spec.weight != 1.0 else TWICE


def audit(spec: RealDataSpec, cancel: Any) -> Sequence[Check]:
    """The urn's own draws: how often the odd ball, another, and both are in one, against the exact probabilities."""
    weight = shown_weight(spec)
    other = 1 + spec.odd % spec.balls
    draws = np.stack([urn.draw(DRAWN, spec.balls, WHITE, spec.odd, weight, spec.seed + chain) for chain in range(CHAINS)])
    held = {ball: (draws == ball).any(axis=2).astype(np.float64) for ball in (spec.odd, other)}
    own_chance = urn.chance(weight, spec.balls, WHITE)
    averages = [
        Average(WORDS.phrase("checks.with_ball", ball=spec.odd), held[spec.odd], own_chance),
        Average(WORDS.phrase("checks.with_ball", ball=other), held[other], (WHITE - own_chance) / (spec.balls - 1)),
        Average(WORDS.phrase("checks.with_both"), held[spec.odd] * held[other], own_chance * (WHITE - 1) / (spec.balls - 1)),
    ]
    return [dataclasses.replace(averages_check(WORDS.phrase("checks.draws"), averages), kind="kernel")]


def checks(spec: RealDataSpec, cancel: Any) -> Sequence[Check]:
    """Are there urns enough to see the power? Do evidence, score and power fit each other?"""
    if not analysis.is_here(spec):
        words = WORDS.phrase("checks.absent_draws")
        return [unknown("draws", words, kind="run"), unknown("draws", words, kind="numbers")]
    found, weight = course(spec), shown_weight(spec)
    share, error = power(spec, weight)
    worst = float(error.max())
    sentence, unit = WORDS.phrase("checks.known_to", urns=spec.urns, points=100 * worst), WORDS.phrase("checks.of_urns")
    verdict: Verdict = "pass" if worst <= SURE_OF_POWER else "unknown"
    enough = Check(WORDS.phrase("checks.enough"), verdict, worst, SURE_OF_POWER, sentence, unit, kind="run")
    return [enough, _score_check(spec, found), _least_check(spec, weight, share), _fair_check(spec), _mean_check(spec)]


def _score_check(spec: RealDataSpec, found: Course) -> Check:
    """The closed form of the evidence, against the sum of one-step predictions by all urns with an odd ball."""
    fair, total, belief = WHITE / spec.balls, 0.0, np.full(spec.balls, 1.0 / spec.balls)
    for t, numbers in enumerate(found.draws - 1):
        own_chance = (found.counts[t] + spec.belief * fair) / (t + spec.belief)
        ratio = (1.0 - own_chance) / (1.0 - fair)
        ratio[numbers] = own_chance[numbers] / fair
        predicted = float(belief @ ratio)
        total, belief = total + math.log(predicted), belief * ratio / predicted
    closed = float(found.log_factor[-1])
    error = abs(total - closed) / max(1.0, abs(closed))
    sentence = WORDS.phrase("checks.score_told", closed=closed, total=total, predictions=found.n)
    return Check(WORDS.phrase("checks.score"), "pass" if error < PLAIN else "fail", error, PLAIN, sentence, "relative")


def _least_check(spec: RealDataSpec, weight: float, share: Array) -> Check:
    """The simulated power against the exact bound below it."""
    least = least_power(spec, weight)
    z = (share - least) / np.sqrt(np.maximum(least * (1.0 - least), 1.0 / spec.urns) / spec.urns)
    at = int(z.argmin())
    sentence = WORDS.phrase("checks.power_told", weight=weight, found=100 * share[at], draws=MARKS[at], least=100 * least[at])
    verdict: Verdict = "pass" if z[at] > -LEAST_Z else "fail"
    return Check("power", verdict, float(-z[at]), LEAST_Z, sentence, WORDS.phrase("checks.standard_errors"))


def _fair_check(spec: RealDataSpec) -> Check:
    """Of fair urns at most 1 in `FACTOR` ever comes so far, however often one looks."""
    from scipy.stats import binom

    ever = int((evidence(spec, 1.0, 1).max(axis=1) >= math.log(FACTOR)).sum())
    p = float(binom.sf(ever - 1, spec.urns, 1.0 / FACTOR))
    name, unit = WORDS.phrase("checks.fair"), WORDS.phrase("checks.of_urns")
    sentence = WORDS.phrase("checks.fair_told", ever=ever, urns=spec.urns, factor=FACTOR, looks=len(MARKS))
    return Check(name, "pass" if p > 1e-4 else "fail", ever / spec.urns, 1.0 / FACTOR, sentence, unit, p=p)


def _mean_check(spec: RealDataSpec) -> Check:
    """Under a fair urn the Bayes factor has mean 1 after any number of draws. Cut at `FACTOR`, for its tail is long, it has
    no more; and after a few draws that mean is known closely.
    """
    cut = np.minimum(np.exp(evidence(spec, 1.0, 1)), FACTOR)
    mean, error = cut.mean(axis=0), np.maximum(cut.std(axis=0) / math.sqrt(len(cut)), PLAIN)
    z = (mean - 1.0) / error
    at = int(z.argmax())
    name, unit = WORDS.phrase("checks.mean_of_fair"), WORDS.phrase("checks.standard_errors")
    sentence = WORDS.phrase("checks.mean_of_fair_told", urns=spec.urns, factor=FACTOR, mean=mean[at], error=error[at], draws=MARKS[at])
    return Check(name, "pass" if z[at] < MEAN_Z else "fail", float(z[at]), MEAN_Z, sentence, unit)
