"""What the lesson computes: evidence of every degree, data arriving, cross-validation, posterior draws, possible data
sets, checks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from datasets.polynomial import true_curve
from datasets.six import Curve
from engine import linear, ticket
from engine.kept import kept, lazy
from engine.linear import Course, Posterior, polynomial_design
from lessons.model_selection.spec import WORDS, ModelSelectionLesson

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

FINE = 61  # inputs of every curve on the page
GRID = np.linspace(0.0, 1.0, FINE)
SHUFFLES = 20  # of the data, over which shuffled folds are averaged

STRENGTHS = tuple(WORDS["strengths"].values())  # of a Bayes factor up to each limit, and beyond
LIMITS = (3.0, 20.0, 150.0)


def strength(log_factor: float) -> str:
    """Words for a Bayes factor above 1, after Kass and Raftery 1995; below 1 they speak for the other model."""
    return STRENGTHS[int(grade(log_factor))]


def grade(log_factor: ArrayLike) -> Integers:
    """The number of those words, 0 to 3."""
    return np.searchsorted(np.log(LIMITS), np.abs(log_factor), side="right")


def settings(spec: ModelSelectionLesson) -> dict[str, float]:
    """The prior as `engine.linear` takes it."""
    return {"noise_sd": spec.noise_sd, "prior_sd": spec.prior_sd, "dof": spec.dof}


@dataclass(frozen=True, eq=False)
class Fits:
    """All degrees on all data.

    data : the measurements
    design : (n, degrees + 1), of which degree d uses the first d + 1 columns; grid : (FINE, degrees + 1) likewise
    posteriors : one a degree
    exact, shown : (degrees,) log evidence, right and as the mistake makes it
    """

    spec: ModelSelectionLesson
    data: Curve
    design: Array
    grid: Array
    posteriors: tuple[Posterior, ...]
    exact: Array
    shown: Array

    @lazy
    def probability(self) -> Array:
        """(degrees,) p(degree | data), as shown."""
        return softmax(self.spec.log_prior() + self.shown)

    @property
    def best(self) -> int:
        """The most probable degree."""
        return 1 + int(np.argmax(self.probability))

    def curve(self, degree: int) -> tuple[Array, Array]:
        """Mean and sd (FINE,) of the curve of one degree; the sd is inf with two degrees of freedom or fewer."""
        posterior = self.posteriors[degree - 1]
        mean, scale = posterior.curve(self.grid[:, : degree + 1])
        return mean, scale * sd_of_student(posterior.dof)

    def average(self) -> tuple[Array, Array]:
        """Mean and sd (FINE,) of the curve, averaged over the degrees."""
        means, sds = (np.array(rows) for rows in zip(*map(self.curve, self.spec.all_degrees()), strict=True))
        return mixture(self.probability, means, sds)

    def least_squares(self, degree: int) -> Array:
        """(FINE,) the curve of maximum likelihood; NaN where the data do not determine it."""
        return least_squares(self.data, self.spec.degrees)[degree - 1]


def softmax(log: Array) -> Array:
    """Probabilities from their logs, along the last axis."""
    weight = np.exp(log - log.max(axis=-1, keepdims=True))
    return np.asarray(weight / weight.sum(axis=-1, keepdims=True))


def sd_of_student(dof: ArrayLike) -> Array:
    """The sd of a Student with scale 1; 1 for infinite dof, inf for two or fewer."""
    dof = np.asarray(dof, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(np.isinf(dof), 1.0, np.where(dof > 2.0, np.sqrt(dof / np.maximum(dof - 2.0, 1e-300)), np.inf))


def mixture(weight: Array, means: Array, sds: Array) -> tuple[Array, Array]:
    """Mean and sd (..., m) of a mixture: weight (..., models), means and sds (..., models, m)."""
    w = weight[..., None]
    mean = (w * means).sum(axis=-2)
    return mean, np.sqrt((w * (sds**2 + (means - mean[..., None, :]) ** 2)).sum(axis=-2))


@kept
def _designs(spec: ModelSelectionLesson) -> tuple[Curve, Array, Array]:
    data = spec.measured()
    design = polynomial_design(data.x, spec.degrees, spec.basis)
    return data, design, polynomial_design(GRID, spec.degrees, spec.basis)


@kept
def fits(spec: ModelSelectionLesson) -> Fits:
    """All degrees, solved."""
    data, design, grid = _designs(spec)
    posteriors = tuple(linear.solve(design[:, : d + 1], data.y, **settings(spec)) for d in spec.all_degrees())
    exact = np.array([posterior.log_evidence for posterior in posteriors])
    shown = mistaken(spec, exact, data.y[None])[0]
    return Fits(spec, data, design, grid, posteriors, exact, shown)


def mistaken(spec: ModelSelectionLesson, exact: Array, y: Array) -> Array:
    """(sets, degrees) what the mistake puts in the place of the log evidence of data sets y (sets, n).

    best_fit : the likelihood of the best coefficients. constant : the prior without the 1/(s sqrt(2 pi)) of each
    coefficient, as if it were flat.
    """
    exact = np.atleast_2d(exact)
    if spec.mistake == "constant":
        return exact + np.arange(2.0, spec.degrees + 2.0) * 0.5 * math.log(2.0 * math.pi * spec.prior_sd**2)
    if spec.mistake == "best_fit":
        return _of_best_fit(spec, polynomial_design(spec.measured().x, spec.degrees), y)
    return exact


def _of_best_fit(spec: ModelSelectionLesson, design: Array, y: Array) -> Array:
    """(sets, degrees) log likelihood of the best coefficients."""
    n, squares = len(design), squares_left(design, y)
    return linear.log_density(squares / spec.noise_sd**2, n, 2.0 * n * math.log(spec.noise_sd), spec.dof)


def squares_left(design: Array, y: Array) -> Array:
    """(sets, degrees) sums of squares that least squares by the columns up to degree 1, 2, … leave of y (sets, n)."""
    n, columns = design.shape
    square = design[:, :n]
    if np.linalg.svd(square, compute_uv=False)[-1] <= linear.FULL_RANK * np.linalg.norm(design):
        return np.column_stack([(left_over(design[:, :k], y) ** 2).sum(axis=1) for k in range(2, columns + 1)])
    # of full rank, and so with fewer columns, too: one factorisation serves all degrees
    beyond = np.zeros((len(y), n + 1))
    beyond[:, :n] = (y @ np.linalg.qr(square, mode="complete")[0]) ** 2
    return np.cumsum(beyond[:, ::-1], axis=1)[:, ::-1][:, np.minimum(np.arange(2, columns + 1), n)]


def left_over(design: Array, y: Array) -> Array:
    """(sets, n) what least squares leave of y (sets, n)."""
    U, d, _ = np.linalg.svd(design, full_matrices=False)
    U = U[:, d > linear.FULL_RANK * d[0]]
    return y - (y @ U) @ U.T


def least_squares(data: Curve, degrees: int) -> Array:
    """(degrees, FINE) curves of maximum likelihood; NaN where the data do not determine one. In Legendre polynomials:
    the curve is the same in every basis, and here it is computed well.
    """
    design, grid = polynomial_design(data.x, degrees), polynomial_design(GRID, degrees)
    curves = np.full((degrees, FINE), np.nan)
    for d in range(1, degrees + 1):
        coefficients, _, rank, _ = np.linalg.lstsq(design[:, : d + 1], data.y, rcond=linear.FULL_RANK)
        if rank == d + 1:
            curves[d - 1] = grid[:, : d + 1] @ coefficients
    return curves


def truth(spec: ModelSelectionLesson) -> Array | None:
    """(FINE,) the curve that made the data, where it is known."""
    return true_curve(GRID) if spec.data == "cosine" else None


# Data arriving --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Arrival:
    """The data one by one. Rows are 0..n observations seen.

    order : (n,) the observations in the order of their arrival
    course : of all degrees
    log_evidence, probability : (n + 1, degrees), as shown
    average, low, high : (n + 1, FINE) mean of the curve and two sds below and above, averaged over the degrees
    likely : (n + 1, FINE) curve of maximum likelihood of the followed degree, NaN while undetermined
    """

    fits: Fits
    order: Integers
    course: Course
    log_evidence: Array
    probability: Array
    average: Array
    low: Array
    high: Array
    likely: Array

    @lazy
    def log_average(self) -> Array:
        """(n + 1,) log evidence of the average over degrees."""
        return np.logaddexp.reduce(self.fits.spec.log_prior() + self.log_evidence, axis=1)


def arrival_order(spec: ModelSelectionLesson, n: int) -> Integers:
    """The order of arrival: from left to right, or shuffled by the seed."""
    if spec.order == "sorted":
        return np.arange(n)
    return np.random.Generator(np.random.SFC64(spec.seed)).permutation(n)


@kept
def arrival(spec: ModelSelectionLesson) -> Arrival:
    """The data of `spec` as they arrive."""
    here = fits(spec)
    x, y, degrees = here.data.x, here.data.y, spec.degrees
    order = arrival_order(spec, len(y))
    course = linear.arrive(here.design[order], y[order], range(2, degrees + 2), **settings(spec))
    log_evidence = course.log_evidence
    if spec.mistake != "none":
        seen = [order[:t] for t in range(len(y) + 1)]
        design = polynomial_design(x, degrees)
        rows = [_mistaken_part(spec, row, design[part], y[part]) for row, part in zip(log_evidence, seen, strict=True)]
        log_evidence = np.array(rows)
    probability = softmax(spec.log_prior() + log_evidence)
    means = course.mean @ here.grid.T
    scales = np.sqrt(((np.swapaxes(course.root, 2, 3) @ here.grid.T) ** 2).sum(axis=2))
    average, sd = mixture(probability, means, scales * sd_of_student(course.dof)[:, None, None])
    likely = np.full((len(y) + 1, FINE), np.nan)
    design, grid = (polynomial_design(at, spec.degree) for at in (x, GRID))
    for t in range(spec.degree + 1, len(y) + 1):
        part = order[:t]
        likely[t] = _one_fit(design[part], y[part], grid)
    return Arrival(here, order, course, log_evidence, probability, average, average - 2 * sd, average + 2 * sd, likely)


def _one_fit(design: Array, y: Array, grid: Array) -> Array:
    coefficients, _, rank, _ = np.linalg.lstsq(design, y, rcond=linear.FULL_RANK)
    return grid @ coefficients if rank == design.shape[1] else np.full(FINE, np.nan)


def _mistaken_part(spec: ModelSelectionLesson, exact: Array, design: Array, y: Array) -> Array:
    if spec.mistake == "constant" or not len(y):
        return mistaken(spec, exact, y[None])[0] if spec.mistake == "constant" else exact
    return _of_best_fit(spec, design, y[None])[0]


# Cross-validation -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Validation:
    """Squared errors of the least-squares curves, (degrees,) each; NaN where some fold leaves too few data.

    training : on the data themselves. neighbours, spread : mean over folds of consecutive points, as in the figure, and
    the sd over the folds. shuffled : folds of random points, averaged over shuffles. one_out : leave-one-out.
    scores : sum over the data of the Bayesian leave-one-out log density
    folds : how many there are
    """

    training: Array
    neighbours: Array
    spread: Array
    shuffled: Array
    one_out: Array
    scores: Array
    folds: int


@kept
def validation(spec: ModelSelectionLesson) -> Validation:
    """Cross-validation of every degree, in closed form."""
    here = fits(spec)
    x, y, n = here.data.x, here.data.y, len(here.data.y)
    k = min(spec.folds, n)
    rng = np.random.Generator(np.random.SFC64([spec.seed, 1]))
    pieces = np.array_split(np.arange(n), k)
    mixed = [np.array_split(rng.permutation(n), k) for _ in range(SHUFFLES)]
    single = np.array_split(np.arange(n), n)
    rows = []
    for d in ticket.looking(spec.all_degrees()):
        design = polynomial_design(x, d)
        by_fold = [_refitted_error(design, y, fold) for fold in pieces]
        shuffled = [(linear.left_out_errors(design, y, folds) ** 2).mean() for folds in mixed]
        rows.append(
            [
                (left_over(design, y[None]) ** 2).mean(),
                np.mean(by_fold),
                np.std(by_fold),
                np.mean(shuffled),
                (linear.left_out_errors(design, y, single) ** 2).mean(),
                linear.left_out_scores(here.design[:, : d + 1], y, **settings(spec)).sum(),
            ]
        )
    training, neighbours, spread, shuffled, one_out, scores = np.array(rows).T
    return Validation(training, neighbours, spread, shuffled, one_out, scores, folds=k)


def _refitted_error(design: Array, y: Array, fold: Integers) -> float:
    """Mean squared error on a fold of the fit to the others. Done by fitting: far outside the data the closed form has
    no digits left.
    """
    train = np.delete(np.arange(len(y)), fold)
    coefficients, _, rank, _ = np.linalg.lstsq(design[train], y[train], rcond=linear.FULL_RANK)
    return float(((y[fold] - design[fold] @ coefficients) ** 2).mean()) if rank == design.shape[1] else math.nan


def lowest(errors: Array) -> int | None:
    """The degree with the smallest of the errors (degrees,); None where all are NaN."""
    return None if np.isnan(errors).all() else 1 + int(np.nanargmin(errors))


# Draws ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Draws:
    """Exact draws of degree and curve: degree (draws,), curve (draws, FINE), value (draws,) at x′."""

    degree: Integers
    curve: Array
    value: Array


def draw(spec: ModelSelectionLesson, number: int, seed: int) -> Draws:
    """Independent draws from the posterior: a degree from its probability, then its coefficients."""
    here = fits(spec)
    rng = np.random.Generator(np.random.SFC64(seed))
    degree = 1 + np.minimum(np.searchsorted(np.cumsum(here.probability), rng.random(number)), spec.degrees - 1)
    coefficients = np.zeros((number, spec.degrees + 1))
    for d in spec.all_degrees():
        chosen = degree == d
        coefficients[chosen, : d + 1] = here.posteriors[d - 1].draw(rng, int(chosen.sum()))
    return Draws(degree, coefficients @ here.grid.T, coefficients @ place(spec)[0])


@kept
def record(spec: ModelSelectionLesson) -> Draws:
    """The draws on the stage."""
    return draw(spec, spec.draws, spec.seed)


def place(spec: ModelSelectionLesson) -> Array:
    """(1, degrees + 1) design row at x′."""
    return polynomial_design([spec.at], spec.degrees, spec.basis)


def value_laws(spec: ModelSelectionLesson) -> tuple[Array, Array, float]:
    """Means and scales (degrees,) of the curve at x′, and the degrees of freedom of all."""
    here, row = fits(spec), place(spec)
    found = [p.curve(row[:, : d + 2]) for d, p in enumerate(here.posteriors)]
    means, scales = (np.array(values)[:, 0] for values in zip(*found, strict=True))
    return means, scales, here.posteriors[0].dof


def value_density(spec: ModelSelectionLesson, values: Array, degree: int | None = None) -> Array:
    """(m,) posterior density of the curve at x′, of one degree or averaged over all."""
    means, scales, dof = value_laws(spec)
    z = (values[:, None] - means) / scales
    densities = np.exp(linear.log_density(z**2, 1, 2.0 * np.log(scales), dof))
    return densities @ fits(spec).probability if degree is None else densities[:, degree - 1]


# All possible data sets -----------------------------------------------------------------------------------------------

PLACES = (0.1, 0.3, 0.5, 0.7, 0.9)
LIMIT = 0.5  # below -LIMIT is low, above it high
CELLS = 3 ** len(PLACES)
ROUNDS, EACH = 60, 400  # on the stage: data sets of each model a step


@dataclass(frozen=True, eq=False)
class Razor:
    """Data sets drawn from the prior predictive of a few degrees, rounded to low, middle or high at five places.

    degrees : the m of them
    coefficients : per degree (ROUNDS, d + 1), of the first data set of each step; y (ROUNDS, m, places) its values
    cell : (ROUNDS, m), its rank
    share : (ROUNDS, m, CELLS) of the data sets so far, in the order of rank
    rank : (CELLS,), of the data set with that code: from those that speak for the simple to those for the complex
    own : rank of the measured data, rounded likewise; None where a fifth of the range holds no point
    """

    degrees: tuple[int, ...]
    coefficients: tuple[Array, ...]
    y: Array
    cell: Integers
    share: Array
    rank: Integers
    own: int | None

    def holding(self, mass: float) -> Integers:
        """(ROUNDS, m) least number of data sets that hold `mass` of what was counted."""
        top = np.cumsum(-np.sort(-self.share, axis=2), axis=2)
        return (top < mass - 1e-9).sum(axis=2) + 1


def code(y: Array) -> Integers:
    """(...) 0..CELLS-1 of rounded data sets y (..., places)."""
    levels = (y >= -LIMIT).astype(np.int8) + (y >= LIMIT)
    return levels @ (3 ** np.arange(len(PLACES)))


@kept
def razor(spec: ModelSelectionLesson) -> Razor:
    """Count the data sets that each followed degree makes before any data are seen."""
    degrees = tuple(spec.followed())
    rng = np.random.Generator(np.random.SFC64([spec.seed, 2]))
    coefficients, values, counts = [], [], []
    rooms = [np.empty(ROUNDS * EACH * size) for size in (degrees[-1] + 1, len(PLACES))]  # of all: new memory costs as much as draws
    for d in degrees:
        design = polynomial_design(PLACES, d, spec.basis)
        shapes = (ROUNDS, EACH, d + 1), (ROUNDS, EACH, len(PLACES))
        theta, noise = (rng.standard_normal(out=room[: math.prod(shape)].reshape(shape)) for room, shape in zip(rooms, shapes, strict=True))
        theta *= spec.prior_sd
        noise *= spec.noise_sd
        if spec.noise == "unknown":
            stretch = np.sqrt(spec.dof / rng.chisquare(spec.dof, (ROUNDS, EACH, 1)))
            theta, noise = theta * stretch, noise * stretch
        y = theta @ design.T
        y += noise
        rounds = code(y) + CELLS * np.arange(ROUNDS)[:, None]
        counts.append(np.cumsum(np.bincount(rounds.ravel(), minlength=ROUNDS * CELLS).reshape(ROUNDS, CELLS), axis=0))
        coefficients.append(theta[:, 0].copy())
        values.append(y[:, 0].copy())
    share = np.stack(counts, axis=1) / (EACH * np.arange(1.0, ROUNDS + 1.0))[:, None, None]
    last = share[-1] + 1e-9
    speaks = (np.arange(len(degrees)) @ last) / last.sum(axis=0)  # 0: only the simple one makes it
    by_rank = np.argsort(speaks, kind="stable")
    rank = np.empty(CELLS, dtype=np.int64)
    rank[by_rank] = np.arange(CELLS)
    y = np.stack(values, axis=1)
    own = rounded(spec.measured())
    return Razor(degrees, tuple(coefficients), y, rank[code(y)], share[:, :, by_rank], rank, None if own is None else rank[own])


def rounded(data: Curve) -> int | None:
    """The code of measured data: the mean of y in each fifth of [0, 1] is rounded; None if a fifth is empty."""
    fifth = np.minimum((data.x * len(PLACES)).astype(int), len(PLACES) - 1)
    counts = np.bincount(fifth, minlength=len(PLACES))
    if not counts.all():
        return None
    return int(code(np.bincount(fifth, weights=data.y, minlength=len(PLACES)) / counts))


# The prior's scale ----------------------------------------------------------------------------------------------------

SCALES = np.geomspace(0.01, 1000.0, 41)


@kept
def by_scale(spec: ModelSelectionLesson) -> Array:
    """(41, degrees) log evidence at the prior sds `SCALES`, always the right one."""
    data, design, _ = _designs(spec)
    setting = settings(spec)
    found = [
        [linear.solve(design[:, : d + 1], data.y, **{**setting, "prior_sd": float(s)}).log_evidence for d in spec.all_degrees()]
        for s in SCALES
    ]
    return np.array(found)
