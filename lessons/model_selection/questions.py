"""Predict → lock → run → explain. Every answer is computed from the run."""

from __future__ import annotations

import numpy as np

from app.kit.frame import Question
from engine import linear
from lessons.model_selection import analysis
from lessons.model_selection.spec import ModelSelectionLesson

GROUPS = ((1, 2), (3, 5), (6, 15))
GROUP_NAMES = ("1 or 2", "3 to 5", "6 or more")


def group(degree: int) -> int:
    """Which of the groups a degree is in."""
    return next(i for i, (low, high) in enumerate(GROUPS) if low <= degree <= high)


def winner(spec: ModelSelectionLesson) -> int:
    """The group of the most probable degree."""
    return group(analysis.fits(spec).best)


def winner_explain(spec: ModelSelectionLesson) -> str:
    """With probability and cross-validation."""
    here, cross = analysis.fits(spec), analysis.validation(spec)
    lowest = analysis.lowest(cross.neighbours)
    at_four = f" against {cross.neighbours[3]:.4f} at 4" if len(cross.neighbours) > 3 else ""
    return (
        f"Degree {here.best}, with probability {here.probability.max():.2f}. Figure 2.1 of Andersen and "
        "Roed-Sørensen (2021) compares 1, 4 "
        f"and 15 and finds 4 the best of these by cross-validation; over all degrees its own cross-validation is "
        f"lowest at {lowest} ({cross.neighbours[lowest - 1]:.4f}{at_four})."
    )


def order(spec: ModelSelectionLesson) -> int:
    """0: the total does not depend on the order of arrival; 1: it does."""
    totals = [analysis.arrival(spec.replace(order=way)).log_evidence[-1] for way in ("random", "sorted")]
    return int(np.abs(totals[0] - totals[1]).max() > 1e-6 * np.abs(totals[0]).max())


def order_explain(spec: ModelSelectionLesson) -> str:
    """With both courses."""
    d = spec.degree
    courses = [analysis.arrival(spec.replace(order=way)) for way in ("random", "sorted")]
    one, two = (run.course.log_evidence[-1, d - 1] for run in courses)
    scores = [run.course.score[:, d - 1] for run in courses]
    return (
        f"Degree {d} ends at {one:.6f} shuffled and {two:.6f} from left to right. The single scores differ (the worst "
        f"is {scores[0].min():.1f} in one order, {scores[1].min():.1f} in the other), but their sum is "
        "log p(y₁) + log p(y₂ | y₁) + … = log p(y), and that has no order."
    )


def fitted(spec: ModelSelectionLesson) -> int:
    """The group that the best fit elects."""
    return group(analysis.fits(spec.replace(mistake="best_fit")).best)


def fitted_explain(spec: ModelSelectionLesson) -> str:
    """With training error and what it is worth on points left out."""
    cross, best = analysis.validation(spec), analysis.fits(spec.replace(mistake="best_fit")).best
    return (
        f"Degree {best}. Its mean squared error on the data it was fitted to is {cross.training[best - 1]:.4f}, below "
        f"σ² = {spec.noise_sd**2:.4g}; on points left out one by one it is {cross.one_out[best - 1]:.3g}. The sign "
        "*kernel* is red: a best fit is not an evidence."
    )


def vague(spec: ModelSelectionLesson) -> int:
    """How the most probable degree moves from a prior sd of 1 to the spec's: down, stays, up."""
    before, after = (analysis.fits(s).best for s in (spec.replace(prior_sd=1.0), spec))
    return int(np.sign(after - before)) + 1


def vague_explain(spec: ModelSelectionLesson) -> str:
    """With the degrees and what one coefficient cost."""
    before, after = analysis.fits(spec.replace(prior_sd=1.0)), analysis.fits(spec)
    cost = np.diff(after.exact - before.exact).mean()
    moved = np.abs(after.curve(spec.degree)[0] - before.curve(spec.degree)[0])
    inside = np.abs(analysis.GRID - before.data.x[[0, -1]].mean()) < 0.5 * np.ptp(before.data.x)
    return (
        f"From degree {before.best} at s = 1 to degree {after.best} at s = {spec.prior_sd:g}. Each further coefficient "
        f"became {-cost:.1f} nats dearer on average; ln({spec.prior_sd:g}) is {np.log(spec.prior_sd):.1f}. The "
        f"curve of degree {spec.degree} moved by at most {moved[inside].max():.2f} between the outermost points: a "
        "vague prior changes the price of a model much more than its fit."
    )


def basis(spec: ModelSelectionLesson) -> int:
    """The group that wins with powers of x."""
    return group(analysis.fits(spec).best)


def basis_explain(spec: ModelSelectionLesson) -> str:
    """With both winners, and the size of the coefficients that the cubic needs."""
    here, other = analysis.fits(spec), analysis.fits(spec.replace(basis="legendre"))
    data = here.data
    needed = np.linalg.lstsq(linear.polynomial_design(data.x, 3, "powers"), data.y)[0]
    return (
        f"Degree {here.best}; with Legendre polynomials it was {other.best}. A cubic that follows the points needs "
        f"coefficients up to {np.abs(needed).max():.1f} on powers of x, which a prior N(0, {spec.prior_sd:g}²) hardly "
        "allows; many powers can share the bend with small coefficients each. A prior on coefficients is a prior on "
        "curves only together with its basis."
    )


QUESTIONS = (
    Question(
        "winner",
        "The points are noisy values of a cosine, and no polynomial is a cosine. Which degree will be the most "
        "probable?",
        GROUP_NAMES,
        winner,
        winner_explain,
        scenario="evidence",
    ),
    Question(
        "order",
        "The points arrive in another order: from left to right. Does a degree's total log evidence change?",
        ("no", "yes"),
        order,
        order_explain,
        scenario="evidence",
    ),
    Question(
        "best-fit",
        "If each degree is judged by its best fit, which one wins?",
        GROUP_NAMES,
        fitted,
        fitted_explain,
        scenario="best-fit",
    ),
    Question(
        "vague",
        "The prior sd of the coefficients goes from 1 to 300, to let the data speak. The most probable degree …",
        ("falls", "stays", "rises"),
        vague,
        vague_explain,
        scenario="vague",
    ),
    Question(
        "basis",
        "Same prior sd of 1, but on the coefficients of 1, x, x², … instead of Legendre polynomials. Which degree "
        "wins?",
        GROUP_NAMES,
        basis,
        basis_explain,
        scenario="powers",
    ),
)
