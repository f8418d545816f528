"""The checks of the badge: the evidence in closed form against four other ways to it, the draws against the formula."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import linear
from engine.judge import Z_LIMIT, Check, mean_check
from engine.linear import Posterior
from lessons.model_selection import analysis
from lessons.model_selection.spec import ModelSelectionLesson

Array = NDArray[np.float64]

AGREE = 1e-6  # nats, of a log evidence of size 1
NODES = 401  # of the quadrature, along each coefficient
WEIGHTED = 4000  # importance draws of each degree
SETS = 1500  # simulated data sets
CHAINS, DRAWN = 4, 5000
HEAVY = 10.0  # degrees of freedom of the importance proposal
FEW = 200.0  # effective importance draws, below which nothing is judged


def checks(spec: ModelSelectionLesson, cancel: Any = None) -> Sequence[Check]:
    """The evidence as it is shown, and the draws, for the present settings."""
    found = []
    for check in (sum_check, quadrature_check, weighted_check, simulation_check, draw_check):
        if cancel is not None and cancel.is_set():
            break
        found.append(check(spec))
    return found


def sum_check(spec: ModelSelectionLesson) -> Check:
    """Every degree's log evidence against the sum of its one-step predictive scores, in another order of arrival."""
    here = analysis.fits(spec)
    order = np.random.Generator(np.random.SFC64([spec.seed, 3])).permutation(len(here.data.y))
    course = linear.arrive(
        here.design[order], here.data.y[order], range(2, spec.degrees + 2), **analysis.settings(spec)
    )
    gap = np.abs(here.shown - course.log_evidence[-1]) / np.maximum(1.0, np.abs(course.log_evidence[-1]))
    d = int(np.argmax(gap))
    sentence = (
        f"Log evidence of degree {d + 1}, the worst of {spec.degrees}: {here.shown[d]:.8g} as shown, "
        f"{course.log_evidence[-1, d]:.8g} as the sum of {len(order)} one-step log scores in a shuffled order."
    )
    return _agree("sum of predictive scores", float(gap[d]), sentence)


def quadrature_check(spec: ModelSelectionLesson) -> Check:
    """Degree 1: prior times likelihood added up over both coefficients."""
    here = analysis.fits(spec)
    posterior = here.posteriors[0]
    reach = math.asinh(9.0) if math.isinf(spec.dof) else 25.0 / min(posterior.dof, 8.0) + 4.0
    u = np.linspace(-reach, reach, NODES)
    first, second = (axis.ravel() for axis in np.meshgrid(np.sinh(u), np.sinh(u)))
    theta = posterior.mean + np.column_stack([first, second]) @ posterior.root.T
    log = log_joint(spec, here.design[:, :2], here.data.y, theta)
    log += 0.5 * np.log1p(first**2) + 0.5 * np.log1p(second**2)
    area = 2.0 * math.log(u[1] - u[0]) + np.linalg.slogdet(posterior.root)[1]
    value = float(np.logaddexp.reduce(log) + area)
    error = abs(here.shown[0] - value) / max(1.0, abs(value))
    sentence = (
        f"Log evidence of degree 1: {here.shown[0]:.8g} as shown, {value:.8g} by adding up prior × likelihood at "
        f"{NODES}² pairs of coefficients."
    )
    return _agree("quadrature", error, sentence)


def weighted_check(spec: ModelSelectionLesson) -> Check:
    """Every degree by Monte Carlo: the mean of prior × likelihood over proposal density, under wide random draws."""
    here = analysis.fits(spec)
    rng = np.random.Generator(np.random.SFC64([spec.seed, 4]))
    worst: tuple[float, int, float, float] | None = None
    for d, posterior in enumerate(here.posteriors):
        value, error, effective = weighted(
            posterior, lambda theta, k=d + 2: log_joint(spec, here.design[:, :k], here.data.y, theta), rng
        )
        if effective < FEW:
            reason = f"Degree {d + 1}: only {effective:.0f} effective draws of {WEIGHTED:,}; too few to judge by."
            return Check("Monte Carlo", "unknown", math.nan, Z_LIMIT, reason, "SE")
        z = (here.shown[d] - value) / error
        if worst is None or abs(z) > abs(worst[0]):
            worst = (z, d, value, error)
    assert worst is not None
    z, d, value, error = worst
    sentence = (
        f"Log evidence of degree {d + 1}, the worst of {spec.degrees}: {here.shown[d]:.6g} as shown, {value:.6g} ± "
        f"{error:.2g} from {WEIGHTED:,} weighted draws: {abs(z):.1f} standard errors apart."
    )
    return Check("Monte Carlo", "pass" if abs(z) < Z_LIMIT else "fail", z, Z_LIMIT, sentence, "SE")


def weighted(
    posterior: Posterior, log_target: Callable[[Array], Array], rng: np.random.Generator
) -> tuple[float, float, float]:
    """Log of the integral of exp(log_target) by importance sampling from a Student about the posterior, its relative
    standard error, and the effective number of draws.
    """
    k = len(posterior.mean)
    dof = min(HEAVY, 0.8 * posterior.dof)
    z = rng.standard_normal((WEIGHTED, k)) / np.sqrt(rng.chisquare(dof, (WEIGHTED, 1)) / dof)
    log_proposal = linear.log_density((z**2).sum(axis=1), k, 2.0 * np.linalg.slogdet(posterior.root)[1], dof)
    log = log_target(posterior.mean + z @ posterior.root.T) - log_proposal
    weight = np.exp(log - log.max())
    mean = float(weight.mean())
    error = float(weight.std(ddof=1)) / math.sqrt(WEIGHTED) / mean
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
    here = analysis.fits(spec)
    rng = np.random.Generator(np.random.SFC64([spec.seed, 5]))
    n = len(here.data.y)
    degree = rng.choice(spec.degrees, SETS, p=np.exp(spec.log_prior()))
    theta = spec.prior_sd * rng.standard_normal((SETS, spec.degrees + 1))
    theta *= np.arange(spec.degrees + 1) <= degree[:, None] + 1
    y = theta @ here.design.T + spec.noise_sd * rng.standard_normal((SETS, n))
    if spec.noise == "unknown":
        y *= np.sqrt(spec.dof / rng.chisquare(spec.dof, (SETS, 1)))
    probability = analysis.softmax(spec.log_prior() + analysis.mistaken(spec, log_evidences(spec, here.design, y), y))
    each = np.arange(1.0, spec.degrees + 1.0)
    given, due = probability[np.arange(SETS), degree], (probability**2).sum(axis=1)
    expected = probability @ each
    spreads = ((probability**3).sum(axis=1) - due**2, probability @ each**2 - expected**2)
    # the 1 keeps a single rare surprise from counting as a failure where hardly any is expected
    z = [
        float(gap.sum()) / math.sqrt(float(spread.sum()) + 1.0)
        for gap, spread in zip((given - due, degree + 1.0 - expected), spreads, strict=True)
    ]
    sentence = (
        f"{SETS:,} data sets made by degrees drawn from the prior: the true degree was given probability "
        f"{given.mean():.4f} on average, {due.mean():.4f} is due ({abs(z[0]):.1f} standard errors); the true degrees "
        f"average {degree.mean() + 1.0:.3f}, expected were {expected.mean():.3f} ({abs(z[1]):.1f})."
    )
    worst = max(z, key=abs)
    return Check("simulated data", "pass" if abs(worst) < Z_LIMIT else "fail", worst, Z_LIMIT, sentence, "SE")


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
    """Posterior draws of the curve at x′ against the exact mean, averaged over the degrees by the right evidence."""
    means, _, _ = analysis.value_laws(spec)
    right = analysis.fits(spec.replace(mistake="none")).probability
    drawn = analysis.draw(spec, CHAINS * DRAWN, spec.seed + 1).value.reshape(CHAINS, DRAWN)
    return mean_check(
        "draws", f"the average height of the drawn curves at x′ = {spec.at:g}", drawn, float(right @ means)
    )


def _agree(name: str, error: float, sentence: str) -> Check:
    return Check(name, "pass" if error < AGREE else "fail", error, AGREE, sentence, "relative")
