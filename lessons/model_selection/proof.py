"""The checks: the evidence in closed form against four other ways to it, the draws against the formula."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import linear, ticket
from engine.judge import FIRST, SECOND, Z_LIMIT, Average, Check, Kind, Verdict, averages_check, two_looks, unknown
from engine.judge.looks import Surprise, surprise
from engine.judge.numbers import OFF
from engine.judge.plant import SHIFTED, is_planted
from engine.linear import Posterior
from lessons.model_selection import analysis
from lessons.model_selection.spec import WORDS, ModelSelectionLesson

Array = NDArray[np.float64]

AGREE = 1e-6  # nats, of a log evidence of size 1
NODES, PARTS = 401, 10  # of the quadrature, along each coefficient, and so many parts with a look before each
WEIGHTED = 4000  # importance draws of each degree
SETS = 1500  # simulated data sets
CHAINS, DRAWN = 4, 5000
HEIGHTS = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])  # in units of the curves' scale about their mean
LEAST = 0.005  # share below which a height tells little
HEAVY = 10.0  # degrees of freedom of the importance proposal
UNIT = "SE"  # standard errors
FEW = 200.0  # effective importance draws, below which nothing is judged


def audit(spec: ModelSelectionLesson, cancel: Any = None) -> Sequence[Check]:
    """The formulas: the evidence as it is shown, by two other ways, and what it gives to data whose degree is known."""
    return _asked((sum_check, quadrature_check, simulation_check), spec, cancel)


def checks(spec: ModelSelectionLesson, cancel: Any = None) -> Sequence[Check]:
    """The numbers for these data: every evidence against weighted draws, the drawn curves against their exact law."""
    return _asked((weighted_check, draw_check), spec, cancel)


def _asked(wanted: tuple[Callable[[ModelSelectionLesson], Check], ...], spec: ModelSelectionLesson, cancel: Any) -> Sequence[Check]:
    found = []
    for check in wanted:
        if cancel is not None and cancel.is_set():
            break
        found.append(check(spec))
    return found


def sum_check(spec: ModelSelectionLesson) -> Check:
    """Every degree's log evidence against the sum of its one-step predictive scores, in another order of arrival."""
    here = analysis.fits(spec)
    order = np.random.Generator(np.random.SFC64([spec.seed, 3])).permutation(len(here.data.y))
    course = linear.arrive(here.design[order], here.data.y[order], range(2, spec.degrees + 2), **analysis.settings(spec))
    gap = np.abs(here.shown - course.log_evidence[-1]) / np.maximum(1.0, np.abs(course.log_evidence[-1]))
    d = int(np.argmax(gap))
    sums = {"shown": here.shown[d], "summed": course.log_evidence[-1, d], "scores": len(order)}
    sentence = WORDS.phrase("checks.as_sum", degree=d + 1, degrees=spec.degrees, **sums)
    return _agree(WORDS.phrase("checks.sum"), float(gap[d]), sentence)


def quadrature_check(spec: ModelSelectionLesson) -> Check:
    """Degree 1: prior times likelihood added up over both coefficients."""
    here = analysis.fits(spec)
    posterior = here.posteriors[0]
    reach = math.asinh(9.0) if math.isinf(spec.dof) else 25.0 / min(posterior.dof, 8.0) + 4.0
    u = np.linspace(-reach, reach, NODES)
    first, second = (axis.ravel() for axis in np.meshgrid(np.sinh(u), np.sinh(u)))
    theta = posterior.mean + np.column_stack([first, second]) @ posterior.root.T
    parts = [log_joint(spec, here.design[:, :2], here.data.y, some) for some in ticket.looking(np.array_split(theta, PARTS))]
    log = np.concatenate(parts)
    log += 0.5 * np.log1p(first**2) + 0.5 * np.log1p(second**2)
    area = 2.0 * math.log(u[1] - u[0]) + np.linalg.slogdet(posterior.root)[1]
    value = float(np.logaddexp.reduce(log) + area)
    error = abs(here.shown[0] - value) / max(1.0, abs(value))
    sentence = WORDS.phrase("checks.added_up", shown=here.shown[0], added=value, nodes=NODES)
    return _agree(WORDS.phrase("checks.quadrature"), error, sentence)


def weighted_check(spec: ModelSelectionLesson) -> Check:
    """Every degree by Monte Carlo: the mean of prior × likelihood over proposal density, under wide random draws."""
    return two_looks(lambda number, work: _weighted_look(spec, number, work))


def _weighted_look(spec: ModelSelectionLesson, number: int, work: int) -> Check:
    here, name, draws = analysis.fits(spec), WORDS.phrase("checks.monte_carlo"), work * WEIGHTED
    rng = np.random.Generator(np.random.SFC64([spec.seed, 4, number]))
    found, z = [], np.empty(len(here.posteriors))
    for d, posterior in enumerate(ticket.looking(here.posteriors)):
        part = partial(log_joint, spec, here.design[:, : d + 2], here.data.y)
        value, error, effective = weighted(posterior, part, rng, draws)
        if effective < FEW:
            reason = WORDS.phrase("checks.too_few", degree=d + 1, effective=effective, draws=draws)
            return unknown(name, reason, kind="numbers", unit=UNIT)
        found.append((value, error))
        z[d] = (here.shown[d] - value) / error + (OFF if is_planted(SHIFTED) else 0.0)
    seen = surprise(z)
    value, error = found[seen.place]
    apart = {"shown": here.shown[seen.place], "weighted": value, "error": error, "draws": draws, "z": abs(seen.z)}
    sentence = WORDS.phrase("checks.by_weighting", degree=seen.place + 1, degrees=spec.degrees, **apart)
    return _told(name, seen, number, sentence, "numbers")


def _told(name: str, seen: Surprise, number: int, sentence: str, kind: Kind) -> Check:
    verdict: Verdict = "pass" if seen.p >= (FIRST if number == 1 else SECOND) else "fail"
    return Check(name, verdict, seen.z, Z_LIMIT, f"{sentence} (p = {seen.p:.2g})", UNIT, kind=kind, p=seen.p)


def weighted(
    posterior: Posterior, log_target: Callable[[Array], Array], rng: np.random.Generator, draws: int
) -> tuple[float, float, float]:
    """Log of the integral of exp(log_target) by importance sampling from a Student about the posterior, its relative
    standard error, and the effective number of draws.
    """
    k = len(posterior.mean)
    dof = min(HEAVY, 0.8 * posterior.dof)
    z = rng.standard_normal((draws, k)) / np.sqrt(rng.chisquare(dof, (draws, 1)) / dof)
    log_proposal = linear.log_density((z**2).sum(axis=1), k, 2.0 * np.linalg.slogdet(posterior.root)[1], dof)
    log = log_target(posterior.mean + z @ posterior.root.T) - log_proposal
    weight = np.exp(log - log.max())
    mean = float(weight.mean())
    error = float(weight.std(ddof=1)) / math.sqrt(draws) / mean
    return float(log.max()) + math.log(mean), error, float(weight.sum() ** 2 / (weight**2).sum())


def log_joint(spec: ModelSelectionLesson, design: Array, y: Array, theta: Array) -> Array:
    """(draws,) log of prior times likelihood at theta (draws, k), the noise averaged out where it is unknown."""
    n, k = design.shape
    squares = ((y - theta @ design.T) ** 2).sum(axis=1) / spec.noise_sd**2 + (theta**2).sum(axis=1) / spec.prior_sd**2
    scales = 2.0 * n * math.log(spec.noise_sd) + 2.0 * k * math.log(spec.prior_sd)
    return linear.log_density(squares, n + k, scales, spec.dof)


def simulation_check(spec: ModelSelectionLesson) -> Check:
    """Degree and data drawn from the prior: if the probabilities are right, the degree that made the data is a draw
    from them, which fixes the average of its probability and of the degree itself.
    """
    return two_looks(lambda number, work: _simulation_look(spec, number, work * SETS))


def _simulation_look(spec: ModelSelectionLesson, number: int, sets: int) -> Check:
    here = analysis.fits(spec)
    rng = np.random.Generator(np.random.SFC64([spec.seed, 5, number]))
    n = len(here.data.y)
    degree = rng.choice(spec.degrees, sets, p=np.exp(spec.log_prior()))
    theta = spec.prior_sd * rng.standard_normal((sets, spec.degrees + 1))
    theta *= np.arange(spec.degrees + 1) <= degree[:, None] + 1
    y = theta @ here.design.T + spec.noise_sd * rng.standard_normal((sets, n))
    if spec.noise == "unknown":
        y *= np.sqrt(spec.dof / rng.chisquare(spec.dof, (sets, 1)))
    probability = analysis.softmax(spec.log_prior() + analysis.mistaken(spec, log_evidences(spec, here.design, y), y))
    each = np.arange(1.0, spec.degrees + 1.0)
    given, due = probability[np.arange(sets), degree], (probability**2).sum(axis=1)
    expected = probability @ each
    spreads = ((probability**3).sum(axis=1) - due**2, probability @ each**2 - expected**2)
    # the 1 keeps a single rare surprise from counting as a failure where hardly any is expected
    gaps = (given - due, degree + 1.0 - expected)
    z = np.array([gap.sum() / math.sqrt(spread.sum() + 1.0) for gap, spread in zip(gaps, spreads, strict=True)])
    sentence = WORDS.phrase(
        "checks.known_degrees",
        sets=sets,
        given=given.mean(),
        due=due.mean(),
        z=abs(z[0]),
        degree=degree.mean() + 1.0,
        expected=expected.mean(),
        degree_z=abs(z[1]),
    )
    return _told(WORDS.phrase("checks.simulated"), surprise(z), number, sentence, "kernel")


def log_evidences(spec: ModelSelectionLesson, design: Array, y: Array) -> Array:
    """(sets, degrees) log evidence of data sets y (sets, n), by the covariance of y under each degree."""
    n = y.shape[1]
    found = []
    for d in spec.all_degrees():
        vectors, values, _ = np.linalg.svd(design[:, : d + 1])
        variance = np.full(n, spec.noise_sd**2)
        variance[: len(values)] += (spec.prior_sd * values) ** 2
        quadratic = ((y @ vectors) ** 2 / variance).sum(axis=1)
        found.append(linear.log_density(quadratic, n, np.log(variance).sum(), spec.dof))
    return np.stack(found, axis=1)


def draw_check(spec: ModelSelectionLesson) -> Check:
    """Posterior draws of the curve at x′: how many lie below heights whose exact probabilities are known, averaged over
    the degrees by the right evidence.
    """
    from scipy import stats  # slow to import

    means, scales, dof = analysis.value_laws(spec)
    right = analysis.fits(spec.replace(mistake="none")).probability
    law = stats.norm() if math.isinf(dof) else stats.t(dof)
    heights = float(right @ means) + float(right @ scales) * HEIGHTS
    true = law.cdf((heights[:, None] - means) / scales) @ right

    def look(number: int, work: int) -> Check:
        drawn = analysis.draw(spec, work * CHAINS * DRAWN, spec.seed + number).value.reshape(CHAINS, -1)
        averages = [
            Average(WORDS.phrase("checks.share", at=spec.at, height=height), (drawn < height).astype(np.float64), p)
            for height, p in zip(heights, true, strict=True)
            if LEAST < p < 1.0 - LEAST
        ]
        return averages_check(WORDS.phrase("checks.draws"), averages, level=FIRST if number == 1 else SECOND)

    return two_looks(look)


def _agree(name: str, error: float, sentence: str) -> Check:
    return Check(name, "pass" if error < AGREE else "fail", error, AGREE, sentence, WORDS.phrase("checks.relative"), kind="kernel")
