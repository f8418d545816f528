"""The quadrature against closed forms, and its refusals: a density that is none must never get a truth."""

from __future__ import annotations

import math
import time
from typing import ClassVar

import numpy as np
import pytest
from scipy import integrate

from engine import ticket
from engine.targets import TargetError, formula_target, gaussian, student
from engine.targets.formula import SECONDS, parse, unchecked_target
from engine.targets.quadrature import WANTED, quadrature_truth

LOG_PI = math.log(math.pi)

# formula: (log normaliser, mean, covariance)
KNOWN = {
    "0 where 0 < x < 1, 0 < y < 1": (0.0, (0.5, 0.5), ((1 / 12, 0), (0, 1 / 12))),
    "0 where x^2 + y^2 < 1": (LOG_PI, (0, 0), ((0.25, 0), (0, 0.25))),
    "0 where x > 0, y > 0, x + y < 1": (-math.log(2), (1 / 3, 1 / 3), ((1 / 18, -1 / 36), (-1 / 36, 1 / 18))),
    "-x - y where x > 0, y > 0": (0.0, (1, 1), ((1, 0), (0, 1))),
    "-abs(x) - abs(y)": (math.log(4), (0, 0), ((2, 0), (0, 2))),
    "-max(abs(x), abs(y))": (math.log(8), (0, 0), ((4, 0), (0, 4))),
    "-sqrt(x^2 + y^2)": (math.log(2 * math.pi), (0, 0), ((3, 0), (0, 3))),
    "x + y - exp(x) - exp(y)": (0.0, (-np.euler_gamma, -np.euler_gamma), ((math.pi**2 / 6, 0), (0, math.pi**2 / 6))),
    "x*y - x^2 - y^2": (math.log(2 * math.pi / math.sqrt(3)), (0, 0), ((2 / 3, 1 / 3), (1 / 3, 2 / 3))),
    "-(x - 5)^2/2e-4 - (y + 700)^2/2": (math.log(2 * math.pi * 0.01), (5, -700), ((1e-4, 0), (0, 1))),
    "-(y - x^2)^2/2e-4 - x^2/2": (math.log(2 * math.pi * 0.01), (0, 1), ((1, 0), (0, 2 + 1e-4))),
    "-(1 - x)^2 - 100*(y - x^2)^2": (math.log(math.pi / 10), (1, 1.5), ((0.5, 1), (1, 2.505))),
    "logsumexp(-(x - 3.03)^2/2e-4, -(x + 3.03)^2/2e-4) - y^2": (
        math.log(0.02) + LOG_PI + 0.5 * math.log(2),
        (0, 0),
        ((3.03**2 + 1e-4, 0), (0, 0.5)),
    ),
    "-0.5*log(x) - x - y^2 where x > 0": (LOG_PI, (0.5, 0), ((0.5, 0), (0, 0.5))),
    "2*log(x) - 3*x + 4*log(1 - y) + log(y) where x > 0, 0 < y < 1": (math.log(2 / 27 / 30), (1, 2 / 7), ((1 / 3, 0), (0, 10 / 392))),
    "-1e4*(x^2 + y^2 - 1)^2": None,
}


@pytest.mark.parametrize("formula", [f for f, known in KNOWN.items() if known])
def test_closed_forms(formula: str) -> None:
    found = quadrature_truth(unchecked_target(formula))
    assert found.truth is not None, found.reason
    known = KNOWN[formula]
    assert known is not None
    log_z, mean, covariance = known
    sd = np.sqrt(np.diag(np.asarray(covariance, dtype=float)))
    assert found.error < WANTED
    assert abs(found.truth.log_normaliser - log_z) < WANTED
    assert np.all(np.abs(found.truth.mean - mean) < WANTED * (sd + 1e-3 * np.abs(mean)))
    assert np.all(np.abs(found.truth.covariance - covariance) < 2 * WANTED * np.outer(sd, sd))


def test_thin_ring_against_polar_coordinates() -> None:
    found = quadrature_truth(unchecked_target("-1e4*(x^2 + y^2 - 1)^2"))
    assert found.truth is not None
    mass, second = (
        integrate.quad(lambda r, k=k: 2 * math.pi * r ** (k + 1) * math.exp(-1e4 * (r * r - 1) ** 2), 0.9, 1.1, epsabs=0, epsrel=1e-12)[0]
        for k in (0, 2)
    )
    assert found.truth.log_normaliser == pytest.approx(math.log(mass), abs=1e-7)
    assert found.truth.covariance == pytest.approx(np.eye(2) * second / mass / 2, abs=1e-7)


def test_marginals_are_those_of_the_density() -> None:
    found = quadrature_truth(unchecked_target("2*log(x) - 3*x + 4*log(1 - y) + log(y) where x > 0, 0 < y < 1"))
    assert found.truth is not None
    x, y = np.linspace(0.01, 6, 50), np.linspace(0.01, 0.99, 50)
    assert found.truth.marginals[0](x) == pytest.approx(27 / 2 * x**2 * np.exp(-3 * x), rel=1e-6)
    assert found.truth.marginals[1](y) == pytest.approx(30 * y * (1 - y) ** 4, rel=1e-6)
    assert np.all(found.truth.marginals[0](np.array([-1.0, -1e-9])) == 0.0)
    assert found.truth.marginals[0](np.zeros((2, 3))).shape == (2, 3)
    (x_low, x_high), (y_low, y_high) = found.view
    assert -0.4 < x_low < 0.1 and 2.0 < x_high < 6.0 and -0.1 < y_low < 0.05 and 0.5 < y_high < 1.1


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("0", "towards . → ±∞"),
        ("-x^2", "towards y → ±∞"),
        ("-y^2", "towards x → ±∞"),
        ("x^2", "towards"),
        ("-x^2 + y", "towards y"),
        ("x where -1 < x < 1, y > 0", "towards y → \\+∞"),
        ("-abs(x) where y < 0", "towards y → −∞"),
        ("-log(1 + x^2 + y^2)", "towards"),
        ("-(x*y)^2", "towards"),
        ("-0.4*log(1 + x^2) - y^2", "towards x"),
        ("-(x - y)^2", "towards"),
        ("-3*log(abs(x)) - x^2 - y^2", "near x = 0"),
        ("log(-1 - x^2)", "at every point tried"),
        ("0 where x > 1, x < 0", "at every point tried"),
    ],
)
def test_what_does_not_integrate_is_refused(formula: str, words: str) -> None:
    found = quadrature_truth(unchecked_target(formula))
    assert not found.integrates and found.truth is None
    with pytest.raises(TargetError, match=words):
        formula_target(formula=formula)


def test_what_is_too_rough_has_no_truth_but_can_be_used() -> None:
    found = quadrature_truth(unchecked_target("30*sin(1e5*x*y) - x^2 - y^2"))
    assert found.integrates and found.truth is None and "too rough" in found.reason
    assert found.attach().truth is None


def test_moments_that_do_not_exist_are_nan() -> None:
    for dof, first, second in ((1.0, False, False), (1.6, True, False), (2.6, True, True)):
        found = quadrature_truth(student(dof=dof))
        assert found.truth is not None, found.reason
        assert abs(found.truth.log_normaliser) < WANTED
        assert np.all(np.isfinite(found.truth.mean)) == first
        assert np.all(np.isfinite(found.truth.covariance)) == second


def test_error_estimate_is_honest() -> None:
    """The border of an ellipse lies along no grid line: the difference of the two passes must cover the error."""
    found = quadrature_truth(unchecked_target("0 where (x - 0.3)^2 + 2*(y + 0.1)^2 < 1"))
    assert found.truth is not None
    assert abs(found.truth.log_normaliser - math.log(math.pi / math.sqrt(2))) < max(10 * found.error, 1e-9)


def test_the_view_given_is_where_the_search_begins() -> None:
    """Two specks far apart: found from where one looks."""
    formula = "-(x - 1e5)^2 - (y - 1e5)^2"
    found = quadrature_truth(unchecked_target(formula), view=((9e4, 1.1e5), (9e4, 1.1e5)))
    assert found.truth is not None
    assert found.truth.mean == pytest.approx([1e5, 1e5], rel=1e-9)
    assert quadrature_truth(unchecked_target(formula)).truth is not None  # and from afar as well


def test_three_dimensions_are_refused() -> None:
    with pytest.raises(TargetError, match="2 dimensions"):
        quadrature_truth(gaussian(dimension=3))


@pytest.mark.parametrize(
    ("formula", "heavy"),
    [
        ("-x^2/2 - y^2/2", False),
        ("-abs(x) - abs(y)", False),
        ("-x - y where x > 0, y > 0", False),
        ("logsumexp(-1e4*((x-3)^2 + y^2), -1e4*((x+3)^2 + (y-2)^2))", False),
        ("-7*log(1 + (x^2 + y^2)/12)", False),  # Student, 12 degrees of freedom
        ("-5*log(1 + (x^2 + y^2)/8)", True),  # 8: the eighth moment is infinite
        ("-3.1*log(1 + x^2 + y^2)", True),  # the fourth moment barely exists
        ("-2.3*log(1 + x^2 + y^2)", True),  # the second barely
        ("-1.2*log(1 + x^2 + y^2)", True),
        ("-x^2/18 - y^2*exp(-x)/2 - x/2", True),  # all moments exist: a funnel
    ],
)
def test_heavy_tails_are_told(formula: str, heavy: bool) -> None:
    found = quadrature_truth(unchecked_target(formula))
    assert found.truth is not None and found.truth.heavy_tails == heavy


@pytest.mark.parametrize(
    "formula",
    [
        "-x^2/2 - y^2/2",
        "0 where x^2 + y^2 < 1",
        "-x - y where x > 0, y > 0",
        "-(1 - x)^2 - 100*(y - x^2)^2",
        "-1e4*(x^2 + y^2 - 1)^2",
        "logsumexp(-1e4*((x-3)^2 + y^2), -1e4*((x+3)^2 + (y-2)^2))",
        "-(x^2 + y - 11)^2/20 - (x + y^2 - 7)^2/20",
    ],
)
def test_draws_have_the_moments_of_the_density(formula: str) -> None:
    truth = quadrature_truth(unchecked_target(formula)).truth
    assert truth is not None and truth.draw is not None
    draws = truth.draw(np.random.default_rng(1), 40_000)
    off = draws - truth.mean
    for values, true in ((draws, truth.mean), (off**2, np.diag(truth.covariance)), (off.prod(axis=1), None)):
        true = truth.covariance[0, 1] if true is None else true
        assert np.all(np.abs(values.mean(axis=0) - true) < 4.5 * values.std(axis=0) / math.sqrt(len(draws)))
    again = truth.draw(np.random.default_rng(1), 40_000)
    assert draws.tobytes() == again.tobytes() and truth.draw(np.random.default_rng(1), 1).shape == (1, 2)


def test_draws_that_cannot_be_made_well_are_not_offered() -> None:
    truth = quadrature_truth(unchecked_target("-0.5*log(x) - x - y^2 where x > 0")).truth  # a pole along x = 0
    assert truth is not None and truth.draw is None


HEAVY_SUM = "+".join(f"lgamma(2 + sin({k}*x)*sin({k}*y))" for k in range(20, 34))
SLOW = {
    f"-x^2 - y^2 + {HEAVY_SUM}": "no truth",
    f"log(abs(sin(99*x)*sin(99*y))) - x^2 - y^2 + {'+'.join(['lgamma(2 + sin(x*99)^2)'] * 16)}": "no truth",
    f"{'+'.join(['lgamma(2 + x^2)*0'] * 24)}": "refused",
    f"-x^2 - y^2 + 0.1*({'+'.join(f'sin({k}*x)*sin({k}*y)' for k in range(1, 23))})": "no truth",
}


@pytest.mark.parametrize("formula", SLOW)
def test_a_slow_formula_is_given_up_within_a_second(formula: str) -> None:
    formula_target(formula="-x^2 - y^2")  # compiled
    before, begin = dearer(formula), time.thread_time()
    if SLOW[formula] == "refused":
        with pytest.raises(TargetError, match=r"too long to find out|no probability density"):
            formula_target(formula=formula)
    else:
        assert formula_target(formula=formula).truth is None
    spent = time.thread_time() - begin
    assert spent < 1.3 * SECONDS * max(before, dearer(formula))


def dearer(formula: str) -> float:
    """CPU time of an evaluation now, of the program's estimate; at least 1. Other work on the same core shows in it."""
    points = np.random.default_rng(1).standard_normal((20_000, 2))
    target, begin = unchecked_target(formula), time.thread_time()
    target.log_density_many(points)
    return max((time.thread_time() - begin) / len(points) * 1e9 / parse(formula).nanoseconds, 1.0)


def test_it_is_given_up_after_the_same_evaluations_on_every_machine() -> None:
    target = unchecked_target("-x^2/2 - y^2/2")
    assert quadrature_truth(target, evaluations=5_000_000).truth is not None
    for evaluations, reason in ((200_000, "too long to find out"), (600_000, "not known: integrating")):
        found = quadrature_truth(target, evaluations=evaluations)
        assert found.truth is None and reason in found.reason
        assert found.integrates == (evaluations == 600_000)


class Stopped:
    """A ticket that is set at its fifth look."""

    looks = 0
    reports: ClassVar[list[tuple[int, int]]] = []

    def is_set(self) -> bool:
        self.looks += 1
        return self.looks >= 5

    def report(self, done: int, total: int) -> None:
        self.reports.append((done, total))


class StoppedOnTheWay(Stopped):
    """One that is set once it was told four times how far the work is."""

    def is_set(self) -> bool:
        return len(self.reports) >= 4


def test_a_ticket_stops_it() -> None:
    job = StoppedOnTheWay()
    with ticket.holding(job), pytest.raises(InterruptedError):
        formula_target(formula="-x^2/2 - y^2/2 - 0.1*x")
    assert len(job.reports) == 4 and 0 < job.reports[0][0] < job.reports[0][1]
    assert formula_target(formula="-x^2/2 - y^2/2 - 0.1*x").truth is not None


def test_a_density_at_many_points_looks_up_and_is_the_same():
    target, job = gaussian(), Stopped()
    q = np.random.default_rng(1).normal(size=(5_000, 2))
    whole = target.log_density_many(q)
    assert whole.tolist() == [target.log_density(point) for point in q]
    with ticket.holding(job), pytest.raises(InterruptedError):
        target.log_density_many(q)
    assert job.looks == 5
