"""Predict → lock → run → explain. Every answer is computed from the run."""

from __future__ import annotations

import numpy as np

from app.kit.words import Said, say
from engine import linear
from lessons.model_selection import analysis
from lessons.model_selection.spec import WORDS, ModelSelectionLesson

GROUPS = ((1, 2), (3, 5), (6, 15))
GROUP_NAMES = list(WORDS["degrees"].values())


def group(degree: int) -> int:
    """Which of the groups a degree is in."""
    return next(i for i, (low, high) in enumerate(GROUPS) if low <= degree <= high)


def winner(spec: ModelSelectionLesson) -> int:
    """The group of the most probable degree."""
    return group(analysis.fits(spec).best)


def winner_explain(spec: ModelSelectionLesson) -> Said:
    """With probability and cross-validation."""
    here, cross = analysis.fits(spec), analysis.validation(spec)
    errors, lowest = cross.neighbours, analysis.lowest(cross.neighbours)
    assert lowest is not None  # a straight line can always be left out and tried
    found = dict(degree=here.best, probability=here.probability.max(), lowest=lowest, error=errors[lowest - 1])
    if len(errors) < 4:
        return say("degree", "figure_without_four", **found)
    return say("degree", "figure", **found, error_at_four=errors[3])


def order(spec: ModelSelectionLesson) -> int:
    """0: the total does not depend on the order of arrival; 1: it does."""
    totals = [analysis.arrival(spec.replace(order=way)).log_evidence[-1] for way in ("random", "sorted")]
    return int(np.abs(totals[0] - totals[1]).max() > 1e-6 * np.abs(totals[0]).max())


def order_explain(spec: ModelSelectionLesson) -> Said:
    """With both courses."""
    d = spec.degree
    shuffled, sorted_ = (analysis.arrival(spec.replace(order=way)).course for way in ("random", "sorted"))
    return say(
        degree=d,
        shuffled=shuffled.log_evidence[-1, d - 1],
        left_to_right=sorted_.log_evidence[-1, d - 1],
        worst_shuffled=shuffled.score[:, d - 1].min(),
        worst_left_to_right=sorted_.score[:, d - 1].min(),
    )


def fitted(spec: ModelSelectionLesson) -> int:
    """The group that the best fit elects."""
    return group(analysis.fits(spec.replace(mistake="best_fit")).best)


def fitted_explain(spec: ModelSelectionLesson) -> Said:
    """With training error and what it is worth on points left out."""
    cross, best = analysis.validation(spec), analysis.fits(spec.replace(mistake="best_fit")).best
    return say(
        degree=best, training_error=cross.training[best - 1], noise_variance=spec.noise_sd**2, left_out_error=cross.one_out[best - 1]
    )


def vague(spec: ModelSelectionLesson) -> int:
    """How the most probable degree moves from a prior sd of 1 to the spec's: down, stays, up."""
    before, after = (analysis.fits(s).best for s in (spec.replace(prior_sd=1.0), spec))
    return int(np.sign(after - before)) + 1


def vague_explain(spec: ModelSelectionLesson) -> Said:
    """With the degrees and what one coefficient cost."""
    before, after = analysis.fits(spec.replace(prior_sd=1.0)), analysis.fits(spec)
    cost = np.diff(after.exact - before.exact).mean()
    moved = np.abs(after.curve(spec.degree)[0] - before.curve(spec.degree)[0])
    inside = np.abs(analysis.GRID - before.data.x[[0, -1]].mean()) < 0.5 * np.ptp(before.data.x)
    return say(
        before=before.best,
        after=after.best,
        prior_sd=spec.prior_sd,
        cost=-cost,
        log_prior_sd=np.log(spec.prior_sd),
        degree=spec.degree,
        moved=moved[inside].max(),
    )


def basis(spec: ModelSelectionLesson) -> int:
    """The group that wins with powers of x."""
    return group(analysis.fits(spec).best)


def basis_explain(spec: ModelSelectionLesson) -> Said:
    """With both winners, and the size of the coefficients that the cubic needs."""
    here, other = analysis.fits(spec), analysis.fits(spec.replace(basis="legendre"))
    data = here.data
    needed = np.linalg.lstsq(linear.polynomial_design(data.x, 3, "powers"), data.y)[0]
    return say(degree=here.best, legendre_degree=other.best, needed=np.abs(needed).max(), prior_sd=spec.prior_sd)


QUESTIONS = (
    WORDS.question("winner", winner, winner_explain, scenario="evidence", options=GROUP_NAMES),
    WORDS.question("order", order, order_explain, scenario="evidence"),
    WORDS.question("best-fit", fitted, fitted_explain, scenario="best-fit", options=GROUP_NAMES),
    WORDS.question("vague", vague, vague_explain, scenario="vague"),
    WORDS.question("basis", basis, basis_explain, scenario="powers", options=GROUP_NAMES),
)
