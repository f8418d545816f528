"""Small stages of errata: each a case with an exact answer, right and as it was done, side by side."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from app.kit.player.scene import Axis
from datasets import powerball
from lessons.reproduce.errata import counts, moves
from lessons.reproduce.errata.blank import EXACT, RIGHT, WRONG, blank

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
    for name, once in (("all factors", False), ("the slot counted once", True)):
        rows, matrix = [np.full(WIDEST, 1.0 / WIDEST)], birth_and_death(once)
        for _ in range(SWEEPS):
            rows.append(rows[-1] @ matrix)
        spread[name] = np.stack(rows)
    exact = ODDS ** np.arange(WIDEST)
    exact /= exact.sum()
    made = blank("slot", SWEEPS + 1, "Two chains over k: one comes to the rising posterior, the other to a hump.", 40.0)
    made.layout("right*6 once*6", 240)
    for id, (name, shares), role in zip(("right", "once"), spread.items(), (RIGHT, WRONG), strict=True):
        panel = made.panel(id, title=f"p(k) after so many jumps: {name}", y=Axis("probability", 0.0, 0.7))
        panel.bars(shares, labels=[str(k) for k in range(1, WIDEST + 1)], role=role, truth=exact, label=name)
    made.say("{t:d} jumps; each birth has the likelihood ratio 3.", t=np.arange(SWEEPS + 1))
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
    made = blank("frozen", DRAWS, "Two chains on one normal density whose logarithm is near −750: one moves, one is frozen.", 20.0)
    made.layout("trace*8 histogram*4", 240)
    t = np.arange(DRAWS)
    trace = made.panel("trace", title="The state", x="transition", y=Axis("x", -4.0, 4.0))
    trace.line(t, logs, show="upto", role=RIGHT, label="by logarithms")
    trace.line(t, densities, show="upto", role=WRONG, width=3.0, label="by densities: exp(−750) is 0")
    counted = made.panel("histogram", title="Draws by logarithms", x=Axis("x", -4.0, 4.0), y="density")
    counted.histogram(logs, bins=(-4.0, 4.0, 24), role=RIGHT, label="draws")
    grid = np.linspace(-4.0, 4.0, 121)
    counted.line(grid, stats.norm.pdf(grid), role=EXACT, label="exact")
    made.say("log p at the state: {p:.1f}; its exponential, to a computer: 0.", p=BELOW - 0.5 * logs**2)
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
    made = blank("pairs", DESCENT + 1, "Two climbs of a logistic regression: one learns each client, one the base rate of all.", 20.0)
    panel = made.panel("clients", title="P(default) of each client", x=Axis("what is known of a client", -2.2, 2.2), y=Axis("p", 0.0, 1.0))
    for pairs, role, label in ((False, RIGHT, "each output with its own label"), (True, WRONG, "each output with all labels")):
        x, y, path = taught(pairs)
        curves = 1.0 / (1.0 + np.exp(-(path[:, :1] + path[:, 1:] * grid)))
        panel.line(grid, curves, show="at", role=role, label=label)
    panel.points(np.column_stack([x, y]), role="ink", label="clients")
    panel.rule(y=float(y.mean()), role=EXACT, dash=True, label="base rate")
    made.say("Step {t:d} of the climb.", t=np.arange(DESCENT + 1))
    return made.encode()


# A root of a sum ------------------------------------------------------------------------------------------------------

LARGEST, SD = 506, 4.0


def _rmse() -> bytes:
    errors = SD * np.random.Generator(np.random.SFC64(3)).standard_normal(LARGEST)
    n = np.arange(1, LARGEST + 1)
    squares = np.cumsum(errors**2)
    right, wrong = np.sqrt(squares / n), np.sqrt(squares) / n
    made = blank("rmse", LARGEST, "Errors of one size: their root mean square stays, the root of the sum over n falls.", 40.0)
    panel = made.panel("errors", title="Errors with sd 4, the more of them the less?", x="test rows n", y=Axis("$1000", 0.0, 6.0))
    panel.line(n, right, show="upto", role=RIGHT, label="root of the mean of squares")
    panel.line(n, wrong, show="upto", role=WRONG, label="root of the sum, divided by n")
    panel.rule(y=SD, role=EXACT, dash=True, label="exact")
    panel.rule(x=253.0, role="muted", dash=True, label="253 rows")
    made.say("{n:d} rows: {a:.2f} against {b:.3f}, {f:.1f} times as large.", n=n, a=right, b=wrong, f=right / wrong)
    return made.encode()


# The best rule --------------------------------------------------------------------------------------------------------


def _best() -> bytes:
    cuts = np.arange(1, powerball.BALLS)
    right = np.array([100.0 * powerball.rule(int(cut)).accuracy for cut in cuts])
    third, smallest = 100.0 * powerball.probabilities()
    x = np.arange(1, powerball.BALLS + 1)
    made = blank("best", len(cuts), "Every cut and how often it is right; none comes to 84.93 %.", 8.0)
    made.layout("numbers*6 accuracy*6", 240)
    numbers = made.panel("numbers", title="How often a number is shown (%)", x="number x", y="%")
    numbers.line(x, smallest, role="chain-0", label="as the smallest")
    numbers.line(x, third, role="chain-1", label="as the third")
    numbers.rule(x=cuts + 0.5, show="at", role="ink", label="cut")
    panel = made.panel("accuracy", title="Right by the cut (%)", x="cut", y=Axis("%", 50.0, 90.0))
    panel.line(cuts, right, show="upto", role=RIGHT, label="expected")
    panel.rule(y=84.93, role=WRONG, dash=True, label="printed: 84.93")
    panel.rule(y=float(right.max()), role=EXACT, dash=True, label="no rule is better")
    made.say("Smallest if x ≤ {c:d}: right in {a:.2f} %.", c=cuts, a=right)
    return made.encode()


# Noise ----------------------------------------------------------------------------------------------------------------

POINTS = 100


def _noise() -> bytes:
    n, grid = np.arange(POINTS + 1), np.linspace(-1.0, 7.0, 241)
    made = blank("noise", POINTS + 1, "Posteriors of a mean as points come in: with noise 10 the prior pulls, with 1 not.", 12.0)
    panel = made.panel("mean", title="Posterior, prior N(0, 1)", x=Axis("mean", -1.0, 7.0), y=Axis("density, highest 1", 0.0, 1.05))
    means = {}
    for sd, role in ((1.0, RIGHT), (10.0, WRONG)):
        precision = 1.0 + n / sd**2
        means[sd] = 5.0 * (n / sd**2) / precision
        curves = np.exp(-0.5 * precision[:, None] * (grid - means[sd][:, None]) ** 2)
        panel.line(grid, curves, show="at", role=role, label=f"noise sd {sd:g}")
    panel.rule(x=5.0, role=EXACT, dash=True, label="mean of the points")
    made.say("{n:d} points of mean 5: {a:.2f} with noise 1, {b:.2f} with noise 10.", n=n, a=means[1.0], b=means[10.0])
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
    made = blank("ga", len(votes), "Inconsistency and the Gaussian approximation fall together as votes agree: they rank alike.", 10.0)
    made.layout("scores*6 both*6", 240)
    left = made.panel("scores", title="Two scores of C votes among 100", x="votes of the largest group", y=Axis("score", 0.0, 1.0))
    left.line(votes, apart, show="upto", role=RIGHT, label="inconsistency")
    left.line(votes, score, show="upto", role=WRONG, label="Gaussian approximation")
    right = made.panel("both", title="One against the other: it never turns", x="inconsistency", y="log₁₀ of the approximation")
    right.path(np.column_stack([apart, shown]), role=EXACT, label="all C")
    right.points(np.column_stack([apart, shown]), show="at", role="ink", label="this C")
    made.say("C = {c:d}: {a:.2f} and {b:.3g}.", c=votes.astype(int), a=apart, b=score)
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
}


@cache
def stage(id: str) -> bytes:
    """The stage of an erratum."""
    return STAGES[id]()
