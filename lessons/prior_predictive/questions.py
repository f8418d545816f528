"""Predict → lock → run → explain. Every answer is computed from the run."""

from __future__ import annotations

import numpy as np

from app.kit.predict import Question
from lessons.prior_predictive import analysis
from lessons.prior_predictive.spec import PriorSpec

SMALL, LARGE = 4, 64
MANY = 20_000
FACTORS = (1.0, 4.0, 16.0)


def _moment(spec: PriorSpec, width: int) -> tuple[float, float]:
    """Mean of f(a) f(b) over many networks of `width` units, and its standard error."""
    prior = spec.prior().replace(width=width)
    values = prior.values(prior.draw(MANY, spec.seed), [spec.at_a, spec.at_b])
    product = values[:, 0] * values[:, 1]
    return float(product.mean()), float(product.std() / np.sqrt(MANY))


def covariance_answer(spec: PriorSpec) -> int:
    """Covariance of 1 unit against that of 64: smaller, the same within 4 standard errors, larger."""
    (one, first), (many, second) = _moment(spec, 1), _moment(spec, LARGE)
    z = (many - one) / np.hypot(first, second)
    return 1 if abs(z) < 4 else 2 if z > 0 else 0


def covariance_explain(spec: PriorSpec) -> str:
    """With the numbers of both."""
    (one, first), (many, second) = _moment(spec, 1), _moment(spec, LARGE)
    true = float(analysis.meant(spec).covariance([spec.at_a], [spec.at_b])[0, 0])
    return (
        f"Over {MANY:,} networks each: {one:.3f} ± {first:.3f} with one unit, {many:.3f} ± {second:.3f} with {LARGE}; "
        f"exactly {true:.3f} for both. The units are independent and have mean zero, so the covariances of k of them "
        "add up, and 1/√k in the weights is 1/k in the covariance. What changes with the width is the *shape*."
    )


def _growth(spec: PriorSpec) -> float:
    """How many times larger the functions of 64 units are than those of 4, by their root mean square at a."""
    sizes = []
    for width in (SMALL, LARGE):
        prior = spec.prior().replace(width=width, depth=1)
        values = prior.values(prior.draw(MANY // 4, spec.seed), [spec.at_a])
        sizes.append(float(np.sqrt(np.mean(values**2))))
    return sizes[1] / sizes[0]


def growth_answer(spec: PriorSpec) -> int:
    """Which factor comes nearest."""
    return int(np.argmin(np.abs(np.log(np.array(FACTORS) / _growth(spec)))))


def growth_explain(spec: PriorSpec) -> str:
    """With the factor found."""
    return (
        f"They come out {_growth(spec):.2f} times as large. Sixteen times as many independent terms have sixteen times "
        "the variance, so √16 = 4 times the sd, up to the luck of the draws. To "
        "keep the functions as they were, the weights must shrink by √k."
    )


CUTS = (300.0, 30.0, 10.0)


def survivors_answer(spec: PriorSpec) -> int:
    """How many the run with six points leaves: above 300, 30 to 300, 10 to 30, below."""
    left = analysis.tested(spec).number
    return int(sum(left <= cut for cut in CUTS))


def survivors_explain(spec: PriorSpec) -> str:
    """With the counts by number of points."""
    tested = analysis.tested(spec)
    expected = analysis.expected_survivors(tested.run, spec.noise_sd)
    counts = ", ".join(f"{value:,.0f}" for value in expected[1:])
    effective = float(np.nanmin(analysis.summary(spec).ess_bulk))
    return (
        f"{tested.number} survived. To expect by the exact bound after 1, 2, … points: {counts}. (The second point is "
        "almost at the place of the first, so it costs little.) The Markov chain tested as many networks, and its "
        f"draws are worth {effective:,.0f} independent ones."
    )


def noise_answer(spec: PriorSpec) -> int:
    """By what factor the survivors shrink when σ is halved: nearest of 2, 4, 8."""
    return int(np.argmin(np.abs(np.log(np.array([2.0, 4.0, 8.0]) / _halved(spec)))))


def _halved(spec: PriorSpec) -> float:
    run = analysis.tested(spec).run
    full, half = (float(np.exp(run.log_ratio(sd)).sum()) for sd in (spec.noise_sd, spec.noise_sd / 2))
    return full / half


def noise_explain(spec: PriorSpec) -> str:
    """With the factor found."""
    return (
        f"They shrink by a factor of {_halved(spec):.2f}. A curve must pass through a gate at each point, and "
        "halving σ "
        "halves each gate. There are three points, but the first two stand at nearly the same place: two gates, so "
        "about 2² = 4, as far as the prior's density is level across a gate. With n gates apart from one another it "
        "tends to 2ⁿ."
    )


QUESTIONS = (
    Question(
        "covariance",
        "From 1 hidden unit to 64, with weights divided by √k: what happens to the covariance of f(a) and f(b)?",
        ("it shrinks", "it stays the same", "it grows"),
        covariance_answer,
        covariance_explain,
        scenario="narrow",
    ),
    Question(
        "growth",
        f"Every weight is N(0, 1), with no scaling, one hidden layer. How much larger are the functions of {LARGE} "
        f"units than those of {SMALL}?",
        ("equally large: the weights are the same", "about 4 times", "about 16 times"),
        growth_answer,
        growth_explain,
        scenario="same-weights",
    ),
    Question(
        "noise",
        "Three points, two of them at nearly the same place, σ = 0.1. We halve σ. By what factor does the number of "
        "survivors shrink?",
        ("about 2", "about 4", "about 8"),
        noise_answer,
        noise_explain,
        scenario="three-points",
    ),
    Question(
        "survivors",
        "Three points leave some hundreds of 100,000 networks. How many survive all six?",
        ("more than 300", "31 to 300", "11 to 30", "10 or fewer"),
        survivors_answer,
        survivors_explain,
        scenario="six-points",
    ),
)
