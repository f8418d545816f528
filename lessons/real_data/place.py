"""Was a number the smallest of its draw, or the third? Models beside the rule that no other beats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datasets import powerball
from datasets.powerball import WHITE
from datasets.tables import Standard
from engine import urn
from engine.judge import Average, Check, averages_check
from engine.kept import kept
from engine.networks import NetworkRecording
from lessons.families.powerball import PRINTED, RIVALS, TEST, TINY, crossing, error_of, expected
from lessons.real_data import analysis
from lessons.real_data.spec import WORDS, RealDataSpec

Array = NDArray[np.float64]

NAMES = WORDS["models"]
CHAINS, DRAWN = 4, 10_000  # draws by which the best rule is checked


@dataclass(frozen=True, eq=False)
class Model:
    """What a model says.

    name : for people
    p : (balls,) P(smallest | x)
    accuracy, nats : expected over the urn: share right in %, and log loss
    torn : the number at which it says a half; NaN if none
    printed : its accuracy in the paper, in %; NaN if there is none
    """

    name: str
    p: Array
    accuracy: float
    nats: float
    torn: float
    printed: float

    @property
    def apart(self) -> float:
        """The printed accuracy less that of the best rule, in standard errors of `TEST` rows."""
        return apart(self.printed, len(self.p))


def model(which: str, p: Array) -> Model:
    """The model that `NAMES` knows as this, from its P(smallest | x) p (balls,)."""
    return Model(NAMES[which], p, *expected(p), crossing(p), PRINTED[which])


def best_accuracy(balls: int) -> float:
    """Of the rule that no other beats, in %."""
    return 100.0 * powerball.best_rule(balls).accuracy


def apart(accuracy: float, balls: int) -> float:
    """An accuracy in % less that of the best rule, in standard errors of `TEST` rows."""
    best = best_accuracy(balls)
    return (accuracy - best) / error_of(best, TEST)


def numbers(spec: RealDataSpec) -> Array:
    """(balls,) what may be shown."""
    return np.arange(1.0, spec.balls + 1.0)


def exact(spec: RealDataSpec) -> Array:
    """(balls,) P(smallest | x); NaN for the last two, which are neither."""
    return powerball.smallest_given(numbers(spec), spec.balls)


def inputs(spec: RealDataSpec) -> Array:
    """(balls, 1) the same numbers as the network is shown them."""
    rows, x = analysis.problem(spec), np.log(numbers(spec))[:, None]
    return Standard.of(rows.task.x[rows.train]).apply(x) if spec.scaled == "yes" else x


def curves(spec: RealDataSpec, theta: Array) -> Array:
    """(n, balls) P(smallest | x) by networks theta (n, dim)."""
    return analysis.predicted(spec, np.ascontiguousarray(theta), inputs(spec))


def drawn_curves(spec: RealDataSpec, recording: NetworkRecording) -> tuple[Array, int]:
    """(draws, chains, balls) P(smallest | x) by a recording's draws, and of how many one is taken."""
    theta, _, stride = analysis.thinned(spec, recording)
    chains, draws, dim = theta.shape
    return curves(spec, theta.transpose(1, 0, 2).reshape(-1, dim)).reshape(draws, chains, -1), stride


def learned_from(spec: RealDataSpec) -> tuple[Array, NDArray[np.int64]]:
    """(n,) numbers learned from, and (n,) 1 where one was the smallest."""
    rows = analysis.problem(spec)
    return np.rint(np.exp(rows.task.x[rows.train, 0])), rows.y.astype(np.int64)


def shares(spec: RealDataSpec) -> Array:
    """(balls,) how often each number was the smallest among those learned from; NaN for one that was not shown."""
    x, y = learned_from(spec)
    shown, smallest = (np.bincount(each.astype(int), minlength=spec.balls + 1)[1:] for each in (x, x[y == 1]))
    return np.divide(smallest, shown, out=np.full(spec.balls, np.nan), where=shown > 0)


def rival(spec: RealDataSpec, which: str) -> Model:
    """A model of `RIVALS`, on the same rows. Raises InterruptedError once nobody wants it."""
    return _rival(spec.of_rows(), which)


@kept
def _rival(spec: RealDataSpec, which: str) -> Model:
    return model(which, RIVALS[which](*learned_from(spec), spec.balls, spec.seed))


def by_cut(spec: RealDataSpec) -> Array:
    """(balls - 1,) expected accuracy, in %, of saying "the smallest" up to 1, 2, …"""
    return np.array([100.0 * powerball.rule(cut, spec.balls).accuracy for cut in range(1, spec.balls)])


@kept
def tests(spec: RealDataSpec, sets: int) -> Array:
    """(sets,) what the best rule has right, in %, on test sets of a fair urn: `test_rows` rows out of those of `spec.drawn`
    draws, as in the lesson's own."""
    draws = urn.draw(sets * spec.drawn, spec.balls, WHITE, 1, 1.0, spec.seed + 1)
    rng, cut = np.random.Generator(np.random.SFC64(spec.seed)), powerball.best_rule(spec.balls).cut
    card, found = analysis.problem(spec).task.card, []
    for some in np.split(draws, sets):
        x, y, _ = powerball.of_draws(some, card)
        rows = rng.permutation(len(y))[: spec.test_rows]
        found.append(100.0 * float(((x <= cut) == (y == 1))[rows].mean()))
    return np.array(found)


def chance(spec: RealDataSpec) -> tuple[Array, Array]:
    """Shares right, in %, that the best rule may have on `test_rows` rows, each drawn for itself, and their probabilities."""
    from scipy.stats import binom

    right = np.arange(spec.test_rows + 1)
    return 100.0 * right / spec.test_rows, np.asarray(binom.pmf(right, spec.test_rows, best_accuracy(spec.balls) / 100.0))


def checks(spec: RealDataSpec, cancel: Any) -> Sequence[Check]:
    """The chains as of any table; and the best rule, counted on draws of the urn, against its closed form."""
    run = [check for check in analysis.checks(spec, cancel) if check.kind != "numbers"]
    p = np.clip(np.nan_to_num(exact(spec)), TINY, 1.0 - TINY)
    right, nats = [], []
    for chain in range(CHAINS):
        x, y, _ = powerball.urn(DRAWN, spec.balls, spec.seed + 1 + chain)
        said = p[x - 1]
        right.append(((said > 0.5) == (y == 1)).reshape(-1, 2).mean(axis=1))
        nats.append(-np.log(np.where(y == 1, said, 1.0 - said)).reshape(-1, 2).mean(axis=1))
    averages = [
        Average(WORDS.phrase("checks.best_right"), np.array(right), best_accuracy(spec.balls) / 100.0),
        Average(WORDS.phrase("checks.best_nats"), np.array(nats), powerball.least_nats(spec.balls)),
    ]
    return [*run, averages_check(WORDS.phrase("checks.best"), averages)]
