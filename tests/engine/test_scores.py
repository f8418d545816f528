"""Scores of uncertainty and calibration: against direct formulas, scikit-learn and the identities between them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import norm
from sklearn import metrics

from engine import scores
from engine.spec import SpecError

RNG = np.random.Generator(np.random.SFC64(5))
DRAWS = RNG.dirichlet(np.full(4, 0.4), (25, 300))
LABELS = np.where(RNG.random(300) < 0.7, DRAWS.mean(axis=0).argmax(axis=1), RNG.integers(0, 4, 300))
MEAN = DRAWS.mean(axis=0)
WRONG = MEAN.argmax(axis=1) != LABELS


@st.composite
def draws(draw) -> np.ndarray:
    """Class probabilities of some networks, certain ones and exact zeros among them."""
    r, m, c = draw(st.integers(1, 7)), draw(st.integers(1, 5)), draw(st.integers(2, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    z = rng.standard_normal((r, m, c)) * draw(st.sampled_from([0.0, 1e-6, 1.0, 30.0, 1000.0]))
    e = np.exp(z - z.max(axis=2, keepdims=True))
    return e / e.sum(axis=2, keepdims=True)


@st.composite
def scored(draw) -> tuple[np.ndarray, np.ndarray]:
    """Scores with ties, and which predictions are wrong: some, not all."""
    n = draw(st.integers(2, 40))
    values = np.array(draw(st.lists(st.integers(0, 6), min_size=n, max_size=n)), dtype=float)
    wrong = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    wrong[0], wrong[1] = True, False
    return values, wrong


# Uncertainty ----------------------------------------------------------------------------------------------------------


@given(draws())
def test_total_is_aleatoric_and_epistemic_and_none_is_negative(p: np.ndarray):
    found = scores.decompose(p)
    assert found.total == pytest.approx(found.aleatoric + found.epistemic, abs=1e-12)
    assert (found.epistemic >= 0.0).all() and (found.aleatoric >= -1e-12).all()
    assert (found.total <= np.log(p.shape[2]) + 1e-12).all()
    kl = np.sum(p * (np.log(np.maximum(p, 1e-300)) - np.log(np.maximum(found.mean, 1e-300))), axis=2).mean(axis=0)
    assert found.epistemic == pytest.approx(kl, abs=1e-9)  # mutual information, the other way
    if len(p) == 1:
        assert found.epistemic == pytest.approx(0.0, abs=1e-12)


def test_the_parts_against_scipy():
    from scipy.stats import entropy

    found = scores.decompose(DRAWS)
    assert found.total == pytest.approx(entropy(MEAN, axis=1))
    assert found.aleatoric == pytest.approx(entropy(DRAWS, axis=2).mean(axis=0))
    sure = np.zeros((2, 1, 3))
    sure[:, 0, 0] = 1.0
    assert scores.decompose(sure).total[0] == 0.0
    two_minds = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    assert scores.decompose(two_minds).epistemic[0] == pytest.approx(np.log(2))


def test_the_three_scores_against_direct_formulas():
    k = len(DRAWS)
    sd = np.sqrt(((DRAWS - MEAN) ** 2).sum(axis=0) / (k - 1))
    assert scores.predictive_sd(DRAWS) == pytest.approx(sd)
    assert scores.predicted_sd(DRAWS) == pytest.approx(sd[np.arange(300), MEAN.argmax(axis=1)])
    counted = np.array([np.bincount(column, minlength=4) for column in DRAWS.argmax(axis=2).T])
    assert np.array_equal(scores.votes(DRAWS), counted)
    assert scores.inconsistency(DRAWS) == pytest.approx(1 - counted.max(axis=1) / k)
    cutoff = scores.agreement_cutoff(DRAWS, LABELS)
    agree = counted.max(axis=1) - 1
    p = agree / (k - 1)
    inside = (p > 0) & (p < 1)
    direct = norm.cdf((cutoff - (k - 1) * p[inside]) / np.sqrt((k - 1) * p[inside] * (1 - p[inside])))
    assert scores.gaussian_approximation(DRAWS, cutoff)[inside] == pytest.approx(direct)
    assert np.mean(agree[WRONG] < cutoff) >= 0.9 > np.mean(agree[WRONG] < cutoff - 1)


@given(draws().filter(lambda p: len(p) > 1), st.floats(0.01, 0.99))
def test_the_gaussian_approximation_ranks_as_inconsistency(p: np.ndarray, share: float):
    """Whatever the cutoff: more disagreement is never a lower score, and equal disagreement is an equal one."""
    plain = scores.inconsistency(p)
    fancy = scores.gaussian_approximation(p, share * (len(p) - 1))
    order = np.argsort(plain, kind="stable")
    assert (np.diff(fancy[order]) >= -1e-15).all()
    for value in np.unique(plain):
        assert np.ptp(fancy[plain == value]) == 0.0


def test_so_both_have_one_gamma_curve():
    fancy = scores.gaussian_approximation(DRAWS, scores.agreement_cutoff(DRAWS, LABELS))
    plain = scores.inconsistency(DRAWS)
    one, other = scores.gamma_curve(plain, WRONG), scores.gamma_curve(fancy, WRONG)
    assert one.area == pytest.approx(other.area, abs=1e-12)
    for alpha in (0.05, 0.1, 0.5):
        assert one.at(alpha) == pytest.approx(other.at(alpha), abs=1e-12)


# γ and ROC ------------------------------------------------------------------------------------------------------------


@given(scored())
def test_gamma_is_the_roc_curve_turned_about(case: tuple[np.ndarray, np.ndarray]):
    values, wrong = case
    curve = scores.gamma_curve(values, wrong)
    fpr, tpr, _ = metrics.roc_curve(wrong, values, drop_intermediate=False)
    assert curve.x == pytest.approx((1 - tpr)[::-1]) and curve.y == pytest.approx((1 - fpr)[::-1])
    assert curve.area == pytest.approx(metrics.roc_auc_score(wrong, values))
    assert scores.auroc(values, wrong) == pytest.approx(curve.area)
    bad, good = values[wrong][:, None], values[~wrong][None, :]
    assert curve.area == pytest.approx(np.mean((bad > good) + 0.5 * (bad == good)))
    for cut in np.unique(values):  # the definition, at every cut that the scores offer
        alpha, height = np.mean(values[wrong] < cut), np.mean(values[~wrong] < cut)
        assert scores.gamma(values, wrong, alpha) >= height - 1e-12


def test_between_ties_and_an_upright_piece_gamma_is_on_the_slanted_one():
    """Four wrong ones of ten and one right one of four share the lowest score; two right ones follow, alone."""
    values, wrong = np.array([0.0] * 5 + [1.0, 2.0] + [3.0] * 7), np.array([True] * 4 + [False] * 3 + [True] * 6 + [False])
    curve = scores.gamma_curve(values, wrong)
    assert curve.x.tolist() == [0.0, 0.4, 0.4, 0.4, 1.0] and curve.y.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert curve.at(0.1) == pytest.approx(0.25 * 0.1 / 0.4), "and not on the way to the upper end"
    assert (curve.at(0.0), curve.at(0.4), curve.at(1.0)) == (0.0, 0.75, 1.0)
    assert curve.at(0.7) == pytest.approx(0.875)


def test_gamma_by_its_definition():
    """10 % of the wrong ones score below the cut: γ is the share of the right ones that do."""
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.normal(2, 1, 1000), rng.normal(0, 1, 5000)])
    wrong = np.arange(6000) < 1000
    cut = np.sort(values[wrong])[100]
    assert scores.gamma(values, wrong, 0.1) == pytest.approx(np.mean(values[~wrong] < cut), abs=1e-3)
    assert scores.gamma_curve(rng.random(6000), wrong).area == pytest.approx(0.5, abs=0.05)


# Right, and calibrated ------------------------------------------------------------------------------------------------


def test_accuracy_and_confusion_are_scikit_learns():
    for k in (1, 2, 3):
        assert scores.top_accuracy(MEAN, LABELS, k) == pytest.approx(metrics.top_k_accuracy_score(LABELS, MEAN, k=k))
    assert scores.top_accuracy(MEAN, LABELS, 4) == 1.0
    assert np.array_equal(scores.confusion(MEAN, LABELS), metrics.confusion_matrix(LABELS, MEAN.argmax(axis=1)))


def test_precision_and_recall_at_a_threshold():
    p = np.array([[0.9, 0.1], [0.6, 0.4], [0.45, 0.55], [0.2, 0.8]])
    y = np.array([0, 1, 1, 1])
    found = scores.precision_recall(p, y, 0.6)
    assert found == pytest.approx((2 / 3, 2 / 3, 3 / 4))
    assert scores.precision_recall(p, y, 0.0) == pytest.approx((3 / 4, 1.0, 1.0))
    nothing = scores.precision_recall(p, y, 0.95)
    assert np.isnan(nothing.precision) and nothing.recall == 0.0


def test_brier_and_log_score_are_scikit_learns():
    assert scores.brier_scores(MEAN, LABELS).mean() == pytest.approx(
        metrics.brier_score_loss(LABELS, MEAN, labels=[0, 1, 2, 3], scale_by_half=False)
    )
    assert scores.log_scores(MEAN, LABELS).mean() == pytest.approx(metrics.log_loss(LABELS, MEAN, labels=range(4)))
    assert np.isfinite(scores.log_scores([[1.0, 0.0]], [1])).all()


@pytest.mark.parametrize("bins", [1, 7, 10])
def test_the_reliability_diagram_against_a_loop(bins: int):
    found = scores.reliability(MEAN, LABELS, bins)
    confidence, right, gap = MEAN.max(axis=1), ~WRONG, 0.0
    for low, high, count, mean, hit in zip(found.edges, found.edges[1:], *found[1:], strict=False):
        held = (confidence > low) & (confidence <= high)
        assert count == held.sum()
        if count:
            assert (mean, hit) == pytest.approx((confidence[held].mean(), right[held].mean()))
            gap += abs(confidence[held].mean() - right[held].mean()) * held.mean()
        else:
            assert np.isnan(mean) and np.isnan(hit)
    assert found.error == scores.calibration_error(MEAN, LABELS, bins) == pytest.approx(gap)
    assert found.held.sum() == 300


def test_calibration_of_a_perfect_forecaster_is_near_zero():
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(3), 20_000)
    y = (rng.random(20_000)[:, None] > p.cumsum(axis=1)).sum(axis=1)
    assert scores.calibration_error(p, y) < 0.015
    sharp = p**3 / (p**3).sum(axis=1, keepdims=True)
    assert scores.calibration_error(sharp, y) > 0.08


# Abstaining -----------------------------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(scored(), st.floats(0.1, 10.0), st.floats(0.0, 1.0))
def test_risk_coverage_and_costs_by_counting(case, error_cost: float, abstain_cost: float):
    values, wrong = case
    curve = scores.risk_coverage(values, wrong)
    costs = scores.abstain_costs(values, wrong, error_cost, abstain_cost)
    assert curve.coverage[0] == 0.0 and curve.coverage[-1] == 1.0 and curve.risk[-1] == pytest.approx(wrong.mean())
    for threshold, coverage, risk, cost in zip(*curve, costs, strict=True):
        given_ = values <= threshold
        assert coverage == pytest.approx(given_.mean())
        assert risk == pytest.approx(wrong[given_].mean() if given_.any() else 0.0)
        each = np.where(given_, np.where(wrong, error_cost, 0.0), abstain_cost)
        assert cost == pytest.approx(each.mean())


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: scores.decompose(MEAN), "draws"),
        (lambda: scores.predictive_sd(DRAWS[:1]), "draws"),
        (lambda: scores.gaussian_approximation(DRAWS[:1], 0.5), "draws"),
        (lambda: scores.agreement_cutoff(DRAWS, MEAN.argmax(axis=1)), "labels"),
        (lambda: scores.gamma_curve([1.0, 2.0], [True, True]), "scores"),
        (lambda: scores.gamma_curve([1.0, np.nan], [True, False]), "scores"),
        (lambda: scores.risk_coverage([1.0], [True, False]), "scores"),
        (lambda: scores.gamma([1.0, 2.0], [True, False], 2.0), "alpha"),
        (lambda: scores.top_accuracy(MEAN, LABELS, 5), "k"),
        (lambda: scores.confusion(MEAN, LABELS[:-1]), "labels"),
        (lambda: scores.confusion(MEAN, LABELS + 4), "labels"),
        (lambda: scores.reliability(MEAN, LABELS, 0), "bins"),
        (lambda: scores.brier_scores(DRAWS, LABELS), "probabilities"),
    ],
)
def test_wrong_arguments_are_named(call, field: str):
    with pytest.raises(SpecError) as problem:
        call()
    assert problem.value.parameter == field


def test_the_entropy_of_two_classes_is_that_of_their_probabilities():
    p = np.array([0.0, 1e-9, 0.3, 0.5, 1.0])
    assert scores.binary_entropy(p) == pytest.approx(scores.entropy(np.stack([p, 1.0 - p], axis=1)))
    assert scores.binary_entropy(0.5) == pytest.approx(np.log(2.0)) and scores.binary_entropy([0.0, 1.0]).max() == 0.0


def test_auroc_by_hand():
    inside, beyond = np.array([0.1, 0.4, 0.4]), np.array([0.4, 0.3, 0.9])
    assert scores.wins(inside, beyond).mean() == pytest.approx((1 + 0.5 + 0.5 + 1 + 0 + 0 + 3) / 9)
    running = scores.running_auroc(inside, beyond)
    assert running == pytest.approx([1.0, (1 + 0.5 + 1 + 0) / 4, 6 / 9])
    truth = np.repeat([0, 1], 3)
    assert running[-1] == pytest.approx(scores.auroc(np.concatenate([inside, beyond]), truth))


def test_the_errors_of_an_auroc_are_its_spread():
    """Of 2,000 repetitions with exponential scores, for which Hanley and McNeil's formula is exact."""
    rng = np.random.default_rng(1)
    n, m, rate = 40, 25, 3.0
    found = np.array([scores.wins(rng.exponential(1.0, n), rng.exponential(rate, m)).mean() for _ in range(2000)])
    area = rate / (1.0 + rate)
    error = scores.hanley_mcneil(np.array(area), m, n)
    assert found.mean() == pytest.approx(area, abs=4 * error / np.sqrt(2000))
    assert found.std() == pytest.approx(error, rel=0.07)


def test_the_rank_among_members_is_that_of_scipy_and_uniform_for_one_of_them():
    rng = np.random.default_rng(3)
    members = rng.integers(0, 8, (40, 6)) / 7.0  # with many ties
    values = np.array([-1.0, 0.0, 3 / 7, 0.5, 1.0, 2.0])
    expected = [stats.percentileofscore(members[:, i], value, kind="mean") / 100.0 for i, value in enumerate(values)]
    assert scores.rank_among(values, members) == pytest.approx(expected)
    draws = rng.standard_normal((100, 3000))
    ranks = scores.rank_among(draws[0], draws[1:])
    assert stats.kstest(ranks, "uniform").pvalue > 1e-3 > stats.kstest(scores.rank_among(draws[0] + 0.15, draws[1:]), "uniform").pvalue


def test_performance_is_accuracy_and_log_loss():
    p, y = RNG.random((7, 50)), RNG.integers(0, 2, 50)
    found = scores.performance(p, y)
    for state in range(7):
        assert found.right[state] == pytest.approx(100 * metrics.accuracy_score(y, p[state] > 0.5))
        assert found.loss[state] == pytest.approx(metrics.log_loss(y, p[state]))
    assert np.array_equal(found.at(np.array([3, 0])).loss, found.loss[[3, 0]])
    assert np.isfinite(scores.performance(np.array([[1.0, 0.0]]), np.array([0, 1])).loss).all()


def test_running_means_are_the_same_bytes_in_pieces_and_leave_the_first_states_out():
    values, kept = RNG.random((40, 3)), np.arange(40) >= 12
    whole, counts = scores.Sums().running(values, kept)
    assert np.array_equal(whole[:12], values[:12]) and counts.tolist() == [*[1] * 12, *range(1, 29)]
    assert whole[-1] == pytest.approx(values[12:].mean(axis=0))
    pieces, sums = [], scores.Sums()
    for part in np.split(np.arange(40), [1, 5, 13, 30]):
        pieces.append(sums.running(values[part], kept[part])[0])
    assert np.concatenate(pieces).tobytes() == whole.tobytes()
