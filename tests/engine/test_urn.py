"""The urn with an odd ball: its draws against all orders of a small one, its evidence against sums and integrals."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from scipy import integrate, stats

from engine import urn
from engine.spec import SpecError

BALLS, WHITE, BELIEF = 7, 3, 20.0


def every_set(weight: float) -> dict[tuple[int, ...], float]:
    """Probability of each set of a small urn whose ball 1 is odd, summed over the orders in which it is drawn."""
    found: dict[tuple[int, ...], float] = {}
    for order in permutations(range(1, BALLS + 1), WHITE):
        left, p = weight + BALLS - 1.0, 1.0
        for ball in order:
            own = weight if ball == 1 else 1.0
            p, left = p * own / left, left - own
        key = tuple(sorted(order))
        found[key] = found.get(key, 0.0) + p
    return found


@pytest.mark.parametrize("weight", [0.2, 1.0, 3.5])
def test_the_odd_ball_has_its_exact_chance_and_the_others_are_alike(weight: float):
    sets = every_set(weight)
    own = urn.chance(weight, BALLS, WHITE)
    assert sum(p for key, p in sets.items() if 1 in key) == pytest.approx(own)
    for key, p in sets.items():
        alike = own / math.comb(BALLS - 1, WHITE - 1) if 1 in key else (1.0 - own) / math.comb(BALLS - 1, WHITE)
        assert p == pytest.approx(alike)
    best = max(sum(p * len({*key} & {*ticket}) for key, p in sets.items()) for ticket in sets)
    assert urn.most_matches(weight, BALLS, WHITE) == pytest.approx(best)
    entropy = sum(p * math.log(p * math.comb(BALLS, WHITE)) for p in sets.values())
    assert urn.gain(weight, BALLS, WHITE) == pytest.approx(entropy, abs=1e-12)


def chi_square(draws: np.ndarray, weight: float) -> float:
    """p-value of draws against the exact probabilities of all sets, ball 1 odd."""
    sets = every_set(weight)
    keys, counts = np.unique(draws, axis=0, return_counts=True)
    seen = {tuple(key): count for key, count in zip(keys.tolist(), counts, strict=True)}
    observed = np.array([seen.get(key, 0) for key in sets])
    return float(stats.chisquare(observed, np.array(list(sets.values())) * len(draws)).pvalue)


@pytest.mark.parametrize("weight", [0.2, 1.0, 3.5])
def test_draws_follow_all_sets_of_a_small_urn_and_those_of_another_weight_do_not(weight: float):
    draws = urn.draw(40_000, BALLS, WHITE, 1, weight, 3)
    assert np.array_equal(draws, urn.draw(40_000, BALLS, WHITE, 1, weight, 3)) and (np.diff(draws) > 0).all()
    assert chi_square(draws, weight) > 1e-4
    assert chi_square(urn.draw(40_000, BALLS, WHITE, 1, 1.3 * weight, 3), weight) < 1e-4
    assert chi_square(urn.draw(40_000, BALLS, WHITE, 2, weight, 3), weight) < 1e-4 or weight == 1.0


def some(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    draws = urn.draw(n, BALLS, WHITE, 2, 2.0, 5)
    return draws, urn.tallies(draws, BALLS)


def test_the_evidence_is_prior_times_likelihood_integrated():
    draws, counts = some()
    fair = WHITE / BALLS
    prior = stats.beta(BELIEF * fair, BELIEF * (1.0 - fair))

    def of(ball: int) -> float:
        s, n = counts[-1, ball], len(draws)
        log_fair = s * math.log(fair) + (n - s) * math.log1p(-fair)
        value, _ = integrate.quad(lambda p: prior.pdf(p) * math.exp(s * math.log(p) + (n - s) * math.log1p(-p) - log_fair), 0.0, 1.0)
        return value

    exactly = np.mean([of(ball) for ball in range(BALLS)])
    assert float(urn.log_factor(counts[-1], len(draws), WHITE, BELIEF)) == pytest.approx(math.log(exactly), rel=1e-7)


def test_the_evidence_is_what_predictions_gained():
    draws, counts = some()
    n = np.arange(len(draws) + 1)
    log = urn.log_factor(counts, n, WHITE, BELIEF)
    fair, total = WHITE / BALLS, 0.0
    for t, drawn in enumerate(draws):
        share = urn.shares(counts[t], t, WHITE, BELIEF)[:-1]
        own = (counts[t] + BELIEF * fair) / (t + BELIEF)
        ratio = np.where(np.isin(np.arange(1, BALLS + 1), drawn), own / fair, (1.0 - own) / (1.0 - fair))
        total += math.log(float(share @ ratio / share.sum()))
        assert log[t + 1] == pytest.approx(total)
    assert np.allclose(urn.shares(counts, n, WHITE, BELIEF).sum(axis=1), 1.0)


def test_the_likeliest_ticket_is_the_hottest():
    """Of the next draw, by all sets and all odd balls: the probabilities of the numbers stand in the order of their counts."""
    fair = WHITE / BALLS
    for n, s in zip(range(61), some()[1], strict=True):
        share, own = urn.shares(s, n, WHITE, BELIEF), (s + BELIEF * fair) / (n + BELIEF)
        other = share[:-1] * (WHITE - own) / (BALLS - 1)
        predicted = share[:-1] * own + other.sum() - other + share[-1] * fair
        assert predicted.sum() == pytest.approx(WHITE)
        assert (np.diff(predicted[np.argsort(s, kind="stable")]) > -1e-12).all()


def test_the_bayes_factor_of_a_fair_urn_is_one_on_average_over_all_draws():
    """Exactly, over every course of two draws: a martingale."""
    sets = list(every_set(1.0))
    for n in (1, 2):
        courses = [(a,) for a in sets] if n == 1 else [(a, b) for a in sets for b in sets]
        counts = np.array([urn.tallies(np.array(course), BALLS)[-1] for course in courses])
        assert np.exp(urn.log_factor(counts, np.full(len(courses), n), WHITE, BELIEF)).mean() == pytest.approx(1.0)


MARKS = [100, 400, 1600]


def test_the_power_that_is_counted_keeps_above_what_is_exact():
    log = urn.evidence(600, MARKS, 69, 5, 2.0, BELIEF, 1)
    assert np.array_equal(log, urn.evidence(600, MARKS, 69, 5, 2.0, BELIEF, 1))
    share, least = (log >= math.log(20.0)).mean(axis=0), urn.least_power(MARKS, 69, 5, 2.0, BELIEF, 20.0)
    error = np.sqrt(least * (1.0 - least) / 600)
    assert (share > least - 4.0 * error - 0.005).all() and share[-1] > 0.99
    assert abs(share[1] - least[1]) < 4.0 * error[1] + 0.05, "the bound is close"
    other = (urn.evidence(600, MARKS, 69, 5, 1.6, BELIEF, 1) >= math.log(20.0)).mean(axis=0)
    assert other[1] < least[1] - 4.0 * error[1], "the power of another weight is told apart"
    fair = urn.evidence(600, MARKS, 69, 5, 1.0, BELIEF, 2)
    assert (fair.max(axis=1) >= math.log(20.0)).mean() <= 0.05
    needed = urn.draws_needed(2.0, 69, 5, BELIEF, 20.0)
    assert urn.least_power([needed * 0.9, needed * 1.05], 69, 5, 2.0, BELIEF, 20.0) == pytest.approx([0.45, 0.55], abs=0.06)
    assert urn.draws_needed(1.0, 69, 5, BELIEF, 20.0) == math.inf


def test_the_kernel_has_the_evidence_of_the_formula():
    """Counted draw by draw in compiled code, and from the tallies of the same draws."""
    log = urn.evidence(1, [30, 200], 69, 5, 2.0, BELIEF, 7)
    rng = np.random.Generator(np.random.SFC64(7))
    found = np.empty((200, 5), dtype=np.int64)
    for t in range(200):
        urn._draw(rng, 69, 0, 2.0, found[t : t + 1])
    counts = urn.tallies(found + 1, 69)
    assert log[0] == pytest.approx(urn.log_factor(counts[[30, 200]], [30, 200], 5, BELIEF), rel=1e-9)


@pytest.mark.parametrize(
    "parameter,changes", [("balls", {"balls": 5}), ("balls", {"balls": 2000}), ("weight", {"weight": 0.0}), ("ball", {"ball": 70})]
)
def test_a_wrong_argument_is_named(parameter, changes):
    with pytest.raises(SpecError) as error:
        urn.draw(**{"n": 3, "balls": 69, "white": 5, "ball": 1, "weight": 1.0, "seed": 0, **changes})
    assert error.value.parameter == parameter
