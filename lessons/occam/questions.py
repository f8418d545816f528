"""Predict → lock → run → explain. The answers are computed from runs."""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np

from app.kit import architectures as kit
from app.kit.predict import Question
from engine.evidence import ModelProbabilities
from lessons.occam.analysis import evidence, exact, gap_of, study
from lessons.occam.spec import OccamSpec

NEVER = threading.Event()
BANDS = ((1, 1), (2, 4), (5, 12), (13, 20))  # of k
ENOUGH = 60  # draws at a k that is judged
FALLING = 0.5  # ratio of the geometric prior under which all sizes are visited
CLOSE = 0.02  # nats a point


def counts(spec: OccamSpec) -> np.ndarray:
    """Draws at each k (K,) in the first part of the long run."""
    return np.bincount(study(spec, NEVER).widths.ravel(), minlength=spec.highest + 1)[1:]


def known(spec: OccamSpec) -> ModelProbabilities:
    """p(k | D) by annealing."""
    return exact(spec, evidence(spec))


def _peak(spec: OccamSpec) -> int:
    return kit.mode_band(known(spec), 1, BANDS)


def _peak_why(spec: OccamSpec) -> str:
    probability, error = known(spec)
    mode = int(probability.argmax())
    return (
        f"By annealing, k = {mode + 1} is the most probable, with {probability[mode]:.0%} ± {2 * error[mode]:.0%}; the "
        f"mean is {probability @ np.arange(1, spec.highest + 1):.1f}. Every k now starts from the same spread of "
        "outputs, so a unit more is only something more to adjust. The data are the same; the prior on *functions* has "
        "changed."
    )


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
    runs, log_prior = study(falling, NEVER), falling.log_prior()
    low, high = (int(k) for k in np.flatnonzero(counts(falling) >= ENOUGH)[[0, -1]])
    here = np.stack([runs.widths == k + 1 for k in (low, high)])  # (2, chains, sweeps)
    n, fits = here.sum(axis=2), (here * runs.recording.log_likelihood[:, runs.burn :]).sum(axis=2)

    def fit(chains: np.ndarray) -> float:
        return float(np.diff(fits[:, chains].sum(axis=1) / n[:, chains].sum(axis=1))[0])

    def price(chains: np.ndarray) -> float:
        evidence = np.log(n[:, chains].sum(axis=1)) - log_prior[[low, high]]
        return fit(chains) - float(evidence[1] - evidence[0])

    number = len(runs.widths)
    return Ends(low + 1, high + 1, *kit.jackknife(fit, number), *kit.jackknife(price, number))


def _price(spec: OccamSpec) -> int:
    found = ends(spec)
    return kit.side(found.price, found.price_error, 0.5)


def _price_why(spec: OccamSpec) -> str:
    low, high, fit, fit_error, price, price_error = ends(spec)
    return (
        f"From k = {low} to k = {high} the fit changes by {fit:+.1f} ± {2 * fit_error:.1f} nats and the price by "
        f"{price:+.1f} ± {2 * price_error:.1f} (two standard errors). The output is a sum of k units, each with "
        "weights N(0, 1), so at large k large outputs are common before any data. XOR with a = 0.5 asks for large "
        "outputs, and many units need not be moved far for them: that works against the cost of more weights."
    )


def _gap(spec: OccamSpec) -> tuple[float, float]:
    return gap_of(spec, study(spec, NEVER), int(known(spec).probability.argmax()) + 1)


def _best(spec: OccamSpec) -> int:
    return kit.side(*_gap(spec), CLOSE)


def _best_why(spec: OccamSpec) -> str:
    gap, error = _gap(spec)
    return (
        f"On 200 new points the networks of the most probable k score {gap:+.4f} ± {2 * error:.4f} nats a point (two "
        "standard errors) against the average over all k. p(k | D) asks which k made these data least surprising "
        "*before they were seen*; it is not a contest of predictions. In table 7.4 of Berezowski (2021), on layers, "
        "the modal depth beats the best chain in two of four experiments and loses in two."
    )


QUESTIONS = [
    Question(
        "price",
        "From a few units to the most allowed: what happens to the *price*, the distance the data must "
        "move the weights from their prior?",
        ("it rises: more weights to set", "it stays, within half a nat", "it falls"),
        _price,
        _price_why,
        scenario="thesis",
    ),
    Question(
        "peak",
        "Same data. Now let the prior sd of the weights out of hidden units be σ/√k, with σ = 3. Where will p(k | D) "
        "peak?",
        ("k = 1", "k = 2 to 4", "k = 5 to 12", "k = 13 or more"),
        _peak,
        _peak_why,
        scenario="scaled",
    ),
    Question(
        "best",
        "Do the networks of the most probable k predict new points better than the average over all k?",
        (f"yes, by more than {CLOSE} nats a point", "the same, within that", "no, worse by more"),
        _best,
        _best_why,
        scenario="scaled",
    ),
]
