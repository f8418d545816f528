"""Shares of sizes among draws against their exact probabilities, which annealing knows with an error."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.diagnostics import ess_mean, rhat
from engine.evidence.probabilities import ModelProbabilities
from engine.judge.check import Check, unknown
from engine.judge.looks import FIRST, SECOND, two_looks
from engine.judge.numbers import ALONE, MAX_RHAT, Average, averages_check
from engine.judge.recordings import LATER, run_checks
from engine.jumps.recording import ArchitectureRecording
from engine.jumps.shares import shares
from engine.spec import MAX_SEED

Array = NDArray[np.float64]

LEAST_MASS = 0.005  # sizes with less probability are not judged …
LEAST_VISITS = 25.0  # … nor those of fewer effective draws: their number is not normal
SURE = 0.05  # an exact probability with a larger error judges nothing
RESOLVED = 0.25  # of a share: a check that would not see it off by so much passes nothing


def shares_looks(
    chains: Callable[[int, int, int], ArchitectureRecording],
    seed: int,
    low: int,
    exact: Callable[[int], ModelProbabilities],
    islands: int,
    name: str = "k",
) -> list[Check]:
    """What chains say of themselves, and `two_looks` at the shares of their sizes, each with chains and exact answer of
    its own.

    chains : `f(seed, number, work)`, draws after the burn-in, for look `number`, `work` times as long as the first
    exact : `f(number)`, the exact probabilities, by random numbers that differ by `number`
    islands : of the annealing that found them
    """
    first = chains(seed, 1, 1)

    def look(number: int, work: int) -> Check:
        found = first if number == 1 else chains((seed + LATER) % (MAX_SEED + 1), number, work)
        varied = found.width if isinstance(found.run.network.width, tuple) else found.depth
        return shares_check(varied, low, lambda: exact(number), islands, name, FIRST if number == 1 else SECOND)

    return [*run_checks(first), two_looks(look)]


def shares_check(
    sizes: ArrayLike, low: int, exact: Callable[[], ModelProbabilities], islands: int, name: str = "k", level: float = ALONE
) -> Check:
    """Do the sizes of the draws (chains, draws) have their exact probabilities, within both errors? Judged for each
    size of at least `LEAST_MASS` and `LEAST_VISITS`.

    exact : gives them; not asked where the chains disagree, for it may take long. islands : of the annealing that
    found them. name : of the size. level : p-value below which it fails. The error of annealing is known from few
    islands, so its tails are Student's; it counts as much more as they ask for at that level.
    """
    drawn = np.asarray(sizes)
    title, disagreement = f"p({name} | data)", rhat(drawn.astype(np.float64))
    if not disagreement <= MAX_RHAT:
        words = f"The chains do not agree on {name} yet (R-hat {disagreement:.2f}): their shares are no answer."
        return unknown(title, words, kind="numbers", unit="MCSE")
    known = exact()
    p, found = known.probability, shares(drawn, low, len(known.probability))
    likely = np.maximum(p, found.mean)
    slowest = ess_mean(drawn.astype(np.float64))  # a size seldom visited seems to mix better than it does
    judged = np.flatnonzero((likely >= LEAST_MASS) & (likely * slowest >= LEAST_VISITS))
    vague = [low + k for k in judged if not known.error[k] <= SURE]
    if vague:
        words = f"Annealing does not know the probability of {name} = {vague[0]} well enough itself."
        return unknown(title, words, kind="numbers", unit="MCSE")
    heavier = _heavier(level / max(1, len(judged)), islands - 1)
    averages = [
        Average(
            f"the share of {name} = {low + k}",
            (drawn == low + k).astype(np.float64),
            float(p[k]),
            float(np.sqrt(likely[k] * (1.0 - likely[k]))),
            slowest,
            error=heavier * float(known.error[k]),
        )
        for k in judged
    ]
    check = averages_check(title, averages, level=level)
    if check.verdict == "unknown" or not known.error.any():
        return check
    seen = [abs(check.limit) * np.hypot(a.sd / np.sqrt(slowest), a.error) for a in averages]
    if check.verdict == "pass" and max(seen) > RESOLVED:
        words = f"Annealing and chains are too rough to see a share of {name} that is off by {RESOLVED:.0%}."
        return unknown(title, words, kind="numbers", unit="MCSE")
    return dataclasses.replace(check, sentence=f"{check.sentence} The true share is by annealing; its error counts.")


def _heavier(p: float, freedom: int) -> float:
    """By how much more Student's errors are surpassed than normal ones with the probability p."""
    from scipy.special import ndtri, stdtrit

    return float(stdtrit(freedom, 0.5 * p) / ndtri(0.5 * p))
