"""Predict → lock → run → explain. Every answer is computed from the run."""

from __future__ import annotations

import numpy as np

from app.kit.words import Said, say
from engine.judge.answers import nearest
from lessons.prior_predictive import analysis
from lessons.prior_predictive.spec import WORDS, PriorSpec

NARROW, WIDE = 4, 64  # hidden units
MANY = 20_000  # networks
FACTORS = (1.0, 4.0, 16.0)


def _moment(spec: PriorSpec, width: int) -> tuple[float, float]:
    """Mean of f(a) f(b) over many networks of `width` units, and its standard error."""
    prior = spec.prior().replace(width=width)
    values = prior.functions(MANY, spec.seed, [spec.at_a, spec.at_b])
    product = values[:, 0] * values[:, 1]
    return float(product.mean()), float(product.std() / np.sqrt(MANY))


def covariance_answer(spec: PriorSpec) -> int:
    """Covariance of 1 unit against that of 64: smaller, the same within 4 standard errors, larger."""
    (one, one_error), (many, many_error) = _moment(spec, 1), _moment(spec, WIDE)
    z = (many - one) / np.hypot(one_error, many_error)
    return 1 if abs(z) < 4 else 2 if z > 0 else 0


def covariance_explain(spec: PriorSpec) -> Said:
    """With the numbers of both."""
    (one, one_error), (many, many_error) = _moment(spec, 1), _moment(spec, WIDE)
    return say(
        networks=MANY,
        one_unit=one,
        one_unit_error=one_error,
        many_units=many,
        many_units_error=many_error,
        wide=WIDE,
        exact=analysis.meant(spec).covariance([spec.at_a], [spec.at_b])[0, 0],
    )


def _growth(spec: PriorSpec) -> float:
    """How many times larger the functions of 64 units are than those of 4, by their root mean square at a."""
    sizes = []
    for width in (NARROW, WIDE):
        prior = spec.prior().replace(width=width, depth=1)
        values = prior.functions(MANY // 4, spec.seed, [spec.at_a])
        sizes.append(float(np.sqrt(np.mean(values**2))))
    return sizes[1] / sizes[0]


def growth_answer(spec: PriorSpec) -> int:
    """Which factor comes nearest."""
    return nearest(_growth(spec), FACTORS)


def growth_explain(spec: PriorSpec) -> Said:
    """With the factor found."""
    return say(factor=_growth(spec))


CUTS = (300.0, 30.0, 10.0)


def survivors_answer(spec: PriorSpec) -> int:
    """How many the run with six points leaves: above 300, 30 to 300, 10 to 30, below."""
    left = analysis.tested(spec).number
    return int(sum(left <= cut for cut in CUTS))


def survivors_explain(spec: PriorSpec) -> Said:
    """With the counts by number of points."""
    tested = analysis.tested(spec)
    expected = analysis.expected_survivors(tested.run, spec.noise_sd, spec.tries)
    counts = ", ".join(f"{value:,.0f}" for value in expected[1:])
    return say(survivors=tested.number, expected=counts, ess=np.nanmin(analysis.summary(spec).ess_bulk))


def noise_answer(spec: PriorSpec) -> int:
    """By what factor the survivors shrink when σ is halved: nearest of 2, 4, 8."""
    return nearest(_halved(spec), (2.0, 4.0, 8.0))


def _halved(spec: PriorSpec) -> float:
    run = analysis.tested(spec).run
    full, half = (float(np.exp(run.log_ratio(sd)).sum()) for sd in (spec.noise_sd, spec.noise_sd / 2))
    return full / half


def noise_explain(spec: PriorSpec) -> Said:
    """With the factor found."""
    return say(factor=_halved(spec))


QUESTIONS = (
    WORDS.question("covariance", covariance_answer, covariance_explain, scenario="narrow"),
    WORDS.question("growth", growth_answer, growth_explain, scenario="same-weights", wide=WIDE, narrow=NARROW),
    WORDS.question("noise", noise_answer, noise_explain, scenario="three-points"),
    WORDS.question("survivors", survivors_answer, survivors_explain, scenario="six-points"),
)
