"""Small stages of errata: each a case with an exact answer, right and as it was done, side by side."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from app.kit.player.scene import Axis
from datasets import local, powerball
from lessons.reproduce.errata import counts, models, moves
from lessons.reproduce.errata.blank import EXACT, RIGHT, WORDS, WRONG, blank, tell

Array = NDArray[np.float64]

# The slot factor ------------------------------------------------------------------------------------------------------

WIDEST, ODDS, SWEEPS = 16, 3.0, 300  # sizes, p(k + 1) / p(k), and jumps


def birth_and_death(slot_once: bool) -> Array:
    """(K, K) transition matrix over k = 1 to K where every jump has the same likelihood ratio, `ODDS`."""
    moves = np.zeros((WIDEST, WIDEST))
    for k in range(WIDEST - 1):  # from k + 1 units to k + 2
        up, down = (1.0 if k == 0 else 0.5), (1.0 if k + 1 == WIDEST - 1 else 0.5)
        r = ODDS * down / up
        moves[k, k + 1] = up * min(1.0, r / (k + 2) if slot_once else r)
        moves[k + 1, k] = down * min(1.0, 1.0 / r)
    return moves + np.diag(1.0 - moves.sum(axis=1))


def _slot() -> bytes:
    spread = {}
    for name, once in ((WORDS.phrase("slot.all"), False), (WORDS.phrase("slot.once"), True)):
        rows, matrix = [np.full(WIDEST, 1.0 / WIDEST)], birth_and_death(once)
        for _ in range(SWEEPS):
            rows.append(rows[-1] @ matrix)
        spread[name] = np.stack(rows)
    exact = ODDS ** np.arange(WIDEST)
    exact /= exact.sum()
    made = blank("slot", SWEEPS + 1, WORDS.phrase("slot.picture"), 40.0)
    made.layout("right*6 once*6", 240)
    for id, (name, shares), role in zip(("right", "once"), spread.items(), (RIGHT, WRONG), strict=True):
        panel = made.panel(id, title=WORDS.phrase("slot.title", name=name), y=Axis(WORDS.phrase("common.probability"), 0.0, 0.7))
        panel.bars(shares, labels=[str(k) for k in range(1, WIDEST + 1)], role=role, truth=exact, label=name)
    tell(made, WORDS.phrase("slot.said"), t=np.arange(SWEEPS + 1))
    return made.encode()


# Underflow ------------------------------------------------------------------------------------------------------------

DRAWS, BELOW = 400, -750.0


def frozen(log_joint: float, by_logarithms: bool, seed: int = 1) -> Array:
    """(DRAWS,) slice sampling of N(0, 1) whose log density at 0 is `log_joint`, with the step-out of 8: the slice is
    compared by logarithms, or by densities."""
    rng, x, draws = np.random.Generator(np.random.SFC64(seed)), 1.0, np.empty(DRAWS)
    for t in range(DRAWS):
        height = log_joint - 0.5 * x * x
        u = 1.0 - rng.random()
        low, high = x - 4.0, x + 4.0
        while True:
            there = rng.uniform(low, high)
            value = log_joint - 0.5 * there * there
            inside = value > height + math.log(u) if by_logarithms else math.exp(value) > u * math.exp(height)
            if inside:
                x = there
                break
            low, high = (there, high) if there < x else (low, there)
            if high - low < 1e-9:  # nothing is inside an empty slice
                break
        draws[t] = x
    return draws


def _frozen() -> bytes:
    from scipy import stats  # slow to import

    logs, densities = frozen(BELOW, True), frozen(BELOW, False)
    made = blank("frozen", DRAWS, WORDS.phrase("frozen.picture"), 20.0)
    made.layout("trace*8 histogram*4", 240)
    t = np.arange(DRAWS)
    trace = made.panel("trace", title=WORDS.phrase("frozen.state"), x=WORDS.phrase("common.transition"), y=Axis("x", -4.0, 4.0))
    trace.line(t, logs, show="upto", role=RIGHT, label=WORDS.phrase("frozen.logs"))
    trace.line(t, densities, show="upto", role=WRONG, width=3.0, label=WORDS.phrase("frozen.densities"))
    counted = made.panel("histogram", title=WORDS.phrase("frozen.counted"), x=Axis("x", -4.0, 4.0), y=WORDS.phrase("common.density"))
    counted.histogram(logs, bins=(-4.0, 4.0, 24), role=RIGHT, label=WORDS.phrase("common.draws"))
    grid = np.linspace(-4.0, 4.0, 121)
    counted.line(grid, stats.norm.pdf(grid), role=EXACT, label=WORDS.phrase("common.exact"))
    tell(made, WORDS.phrase("frozen.said"), p=BELOW - 0.5 * logs**2)
    return made.encode()


# All pairs ------------------------------------------------------------------------------------------------------------

CLIENTS, DESCENT = 24, 120


def taught(pairs: bool) -> tuple[Array, Array, Array]:
    """Clients x, labels y, and the weights (DESCENT + 1, 2) of a logistic regression that climbs its likelihood, over
    clients or over all pairs of an output and a label."""
    x = np.linspace(-2.0, 2.0, CLIENTS)
    y = (x + 0.9 * np.sin(5.0 * x) > 0.4).astype(float)
    w, path = np.array([0.0, 1.5]), []
    for _ in range(DESCENT + 1):
        path.append(w)
        p = 1.0 / (1.0 + np.exp(-(w[0] + w[1] * x)))
        apart = (y[None, :] - p[:, None]).mean(axis=1) if pairs else y - p
        w = w + 0.6 * np.array([apart.mean(), (apart * x).mean()])
    return x, y, np.array(path)


def _pairs() -> bytes:
    grid = np.linspace(-2.2, 2.2, 89)
    made = blank("pairs", DESCENT + 1, WORDS.phrase("pairs.picture"), 20.0)
    panel = made.panel("clients", title=WORDS.phrase("pairs.title"), x=Axis(WORDS.phrase("pairs.known"), -2.2, 2.2), y=Axis("p", 0.0, 1.0))
    for pairs, role, label in ((False, RIGHT, WORDS.phrase("pairs.own")), (True, WRONG, WORDS.phrase("pairs.every"))):
        x, y, path = taught(pairs)
        curves = 1.0 / (1.0 + np.exp(-(path[:, :1] + path[:, 1:] * grid)))
        panel.line(grid, curves, show="at", role=role, label=label)
    panel.points(np.column_stack([x, y]), role="ink", label=WORDS.phrase("pairs.clients"))
    panel.rule(y=float(y.mean()), role=EXACT, dash=True, label=WORDS.phrase("pairs.base"))
    tell(made, WORDS.phrase("pairs.said"), t=np.arange(DESCENT + 1))
    return made.encode()


# A root of a sum ------------------------------------------------------------------------------------------------------

LARGEST, THEIRS, SD = 506, 253, 4.0  # rows at most, and those of the print; sd of an error


def _rmse() -> bytes:
    errors = SD * np.random.Generator(np.random.SFC64(3)).standard_normal(LARGEST)
    n = np.arange(1, LARGEST + 1)
    squares = np.cumsum(errors**2)
    right, wrong = np.sqrt(squares / n), np.sqrt(squares) / n
    made = blank("rmse", LARGEST, WORDS.phrase("rmse.picture"), 40.0, start=THEIRS - 1)
    panel = made.panel("errors", title=WORDS.phrase("rmse.title"), x=WORDS.phrase("rmse.rows"), y=Axis("$1000", 0.0, 6.0))
    panel.line(n, right, show="upto", role=RIGHT, label=WORDS.phrase("rmse.right"))
    panel.line(n, wrong, show="upto", role=WRONG, label=WORDS.phrase("rmse.wrong"))
    panel.rule(y=SD, role=EXACT, dash=True, label=WORDS.phrase("common.exact"))
    panel.rule(x=float(THEIRS), role="muted", dash=True, label=WORDS.phrase("rmse.theirs"))
    tell(made, WORDS.phrase("rmse.said"), n=n, a=right, b=wrong, f=right / wrong)
    return made.encode()


# The best rule --------------------------------------------------------------------------------------------------------


def _best() -> bytes:
    cuts = np.arange(1, powerball.BALLS)
    right = np.array([100.0 * powerball.rule(int(cut)).accuracy for cut in cuts])
    third, smallest = 100.0 * powerball.probabilities()
    x = np.arange(1, powerball.BALLS + 1)
    made = blank("best", len(cuts), WORDS.phrase("best.picture"), 8.0)
    made.layout("numbers*6 accuracy*6", 240)
    numbers = made.panel("numbers", title=WORDS.phrase("best.shown"), x=WORDS.phrase("best.number"), y="%")
    numbers.line(x, smallest, role="chain-0", label=WORDS.phrase("best.smallest"))
    numbers.line(x, third, role="chain-1", label=WORDS.phrase("best.third"))
    numbers.rule(x=cuts + 0.5, show="at", role="ink", label=WORDS.phrase("best.cut"))
    panel = made.panel("accuracy", title=WORDS.phrase("best.right"), x=WORDS.phrase("best.cut"), y=Axis("%", 50.0, 90.0))
    panel.line(cuts, right, show="upto", role=RIGHT, label=WORDS.phrase("best.expected"))
    panel.rule(y=84.93, role=WRONG, dash=True, label=WORDS.phrase("best.printed"))
    panel.rule(y=float(right.max()), role=EXACT, dash=True, label=WORDS.phrase("best.exact"))
    tell(made, WORDS.phrase("best.said"), c=cuts, a=right)
    return made.encode()


# Noise ----------------------------------------------------------------------------------------------------------------

POINTS = 100


def _noise() -> bytes:
    n, grid = np.arange(POINTS + 1), np.linspace(-1.0, 7.0, 241)
    made = blank("noise", POINTS + 1, WORDS.phrase("noise.picture"), 12.0)
    panel = made.panel(
        "mean",
        title=WORDS.phrase("noise.title"),
        x=Axis(WORDS.phrase("noise.mean"), -1.0, 7.0),
        y=Axis(WORDS.phrase("noise.density"), 0.0, 1.05),
    )
    means = {}
    for sd, role in ((1.0, RIGHT), (10.0, WRONG)):
        precision = 1.0 + n / sd**2
        means[sd] = 5.0 * (n / sd**2) / precision
        curves = np.exp(-0.5 * precision[:, None] * (grid - means[sd][:, None]) ** 2)
        panel.line(grid, curves, show="at", role=role, label=WORDS.phrase("noise.sd", sd=sd))
    panel.rule(x=5.0, role=EXACT, dash=True, label=WORDS.phrase("noise.points"))
    tell(made, WORDS.phrase("noise.said"), n=n, a=means[1.0], b=means[10.0])
    return made.encode()


# Two scores -----------------------------------------------------------------------------------------------------------

VOTERS, CUT_OFF = 100, 30.0


def log_approximation(votes: Array, voters: int = VOTERS, cut_off: float = CUT_OFF) -> Array:
    """log P(N((K-1) p, (K-1) p (1-p)) < cut-off), p = (C-1) / (K-1), of C votes among K, 1 < C < K."""
    from scipy import stats  # slow to import

    p = (votes - 1.0) / (voters - 1.0)
    mean, variance = (voters - 1.0) * p, (voters - 1.0) * p * (1.0 - p)
    return np.asarray(stats.norm.logcdf((cut_off - mean) / np.sqrt(variance)))


def _ga() -> bytes:
    votes = np.arange(11.0, VOTERS)  # of ten classes the largest group has more than a tenth
    apart, log = 1.0 - votes / VOTERS, log_approximation(votes) / math.log(10.0)
    score = 10.0**log
    shown = np.maximum(log, -100.0)
    made = blank("ga", len(votes), WORDS.phrase("ga.picture"), 10.0)
    made.layout("scores*6 both*6", 240)
    left = made.panel("scores", title=WORDS.phrase("ga.scores"), x=WORDS.phrase("ga.votes"), y=Axis(WORDS.phrase("ga.score"), 0.0, 1.0))
    left.line(votes, apart, show="upto", role=RIGHT, label=WORDS.phrase("ga.inconsistency"))
    left.line(votes, score, show="upto", role=WRONG, label=WORDS.phrase("ga.approximation"))
    right = made.panel("both", title=WORDS.phrase("ga.both"), x=WORDS.phrase("ga.inconsistency"), y=WORDS.phrase("ga.log"))
    right.path(np.column_stack([apart, shown]), role=EXACT, label=WORDS.phrase("ga.every"))
    right.points(np.column_stack([apart, shown]), show="at", role="ink", label=WORDS.phrase("ga.this"))
    tell(made, WORDS.phrase("ga.said"), c=votes.astype(int), a=apart, b=score)
    return made.encode()


STAGES: dict[str, Callable[[], bytes]] = {
    "slot": _slot,
    "frozen": _frozen,
    "pairs": _pairs,
    "rmse": _rmse,
    "best": _best,
    "noise": _noise,
    "ga": _ga,
    "around": moves.around_a_jump,
    "signs": moves.kicks,
    "newton": moves.few_steps,
    "learned": moves.climbed,
    "within": moves.two_shares,
    "milder": counts.milder,
    "shared": counts.learned_from,
    "size": counts.size,
    "folds": counts.folds,
    "variational": counts.exponents,
    "coin": counts.constant,
    "split": counts.scales,
    "whole": counts.whole,
    "text": models.rows_that_test,
    "prior": models.two_priors,
    "flat": models.shrinking,
    "keep": models.masks,
    "pairs-of-laws": models.two_rows,
    "stops": moves.endings,
    "ergodic": moves.two_places,
    "median": counts.median_and_largest,
    "slips": counts.components,
}
NEEDS = {"text": ("boston",)}  # data sets of stages that need one which is not bundled


def lacking(id: str) -> list[str]:
    """Data sets that the stage of an erratum needs and that are not on this machine."""
    return [name for name in NEEDS.get(id, ()) if not local.here(name)]


@cache
def stage(id: str) -> bytes:
    """The stage of an erratum."""
    return STAGES[id]()
