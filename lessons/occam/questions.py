"""Predict → lock → run → explain. The answers are computed from runs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from app.kit.words import Said, say
from engine import ticket
from engine.diagnostics import jackknife
from engine.evidence import ModelProbabilities
from engine.judge.answers import mode_band, side
from lessons.occam.analysis import evidence, exact, gap_of, study
from lessons.occam.spec import WORDS, OccamSpec

BANDS = ((1, 1), (2, 4), (5, 12), (13, 20))  # of k
ENOUGH = 60  # draws at a k that is judged
FALLING = 0.5  # ratio of the geometric prior under which all sizes are visited
CLOSE = 0.02  # nats a point


def counts(spec: OccamSpec) -> np.ndarray:
    """Draws at each k (K,) in the first part of the long run."""
    return np.bincount(study(spec, ticket.held()).widths.ravel(), minlength=spec.highest + 1)[1:]


def known(spec: OccamSpec) -> ModelProbabilities:
    """p(k | D) by annealing."""
    return exact(spec, evidence(spec, report=ticket.report))


def _peak(spec: OccamSpec) -> int:
    return mode_band(known(spec), 1, BANDS)


def _peak_why(spec: OccamSpec) -> Said:
    probability, error = known(spec)
    mode, mean = int(probability.argmax()), probability @ np.arange(1, spec.highest + 1)
    return say(mode=mode + 1, probability=probability[mode], error=2 * error[mode], mean=mean)


class Ends(NamedTuple):
    """From the smallest to the largest k with enough draws: the change of fit and of price in nats, and their standard
    errors.
    """

    low: int
    high: int
    fit: float
    fit_error: float
    price: float
    price_error: float


def ends(spec: OccamSpec) -> Ends:
    """From chains with a falling prior on k, which visit all sizes: it changes neither fit nor price."""
    falling = spec.replace(prior="geometric", ratio=FALLING)
    runs, log_prior = study(falling, ticket.held()), falling.log_prior()
    low, high = (int(k) for k in np.flatnonzero(counts(falling) >= ENOUGH)[[0, -1]])
    here = np.stack([runs.widths == k + 1 for k in (low, high)])  # (2, chains, sweeps)
    n, fits = here.sum(axis=2), (here * runs.recording.log_likelihood[:, runs.burn :]).sum(axis=2)

    def fit(chains: np.ndarray) -> float:
        return float(np.diff(fits[:, chains].sum(axis=1) / n[:, chains].sum(axis=1))[0])

    def price(chains: np.ndarray) -> float:
        evidence = np.log(n[:, chains].sum(axis=1)) - log_prior[[low, high]]
        return fit(chains) - float(evidence[1] - evidence[0])

    number = len(runs.widths)
    return Ends(low + 1, high + 1, *jackknife(fit, number), *jackknife(price, number))


def _price(spec: OccamSpec) -> int:
    found = ends(spec)
    return side(found.price, found.price_error, 0.5)


def _price_why(spec: OccamSpec) -> Said:
    low, high, fit, fit_error, price, price_error = ends(spec)
    return say(low=low, high=high, fit=fit, fit_error=2 * fit_error, price=price, price_error=2 * price_error)


def _gap(spec: OccamSpec) -> tuple[float, float]:
    return gap_of(spec, study(spec, ticket.held()), int(known(spec).probability.argmax()) + 1)


def _best(spec: OccamSpec) -> int:
    return side(*_gap(spec), CLOSE)


def _best_why(spec: OccamSpec) -> Said:
    gap, error = _gap(spec)
    return say(gap=gap, error=2 * error)


QUESTIONS = [
    WORDS.question("price", _price, _price_why, scenario="thesis"),
    WORDS.question("peak", _peak, _peak_why, scenario="scaled"),
    WORDS.question("best", _best, _best_why, scenario="scaled", close=CLOSE),
]
