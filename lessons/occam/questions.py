"""Predict → lock → run → explain. The answers are computed from runs."""

from __future__ import annotations

import threading

import numpy as np

from app.kit.predict import Question
from lessons.occam.analysis import score_of_all, scores, study
from lessons.occam.spec import OccamSpec

NEVER = threading.Event()
BANDS = ((1, 1), (2, 4), (5, 12), (13, 20))  # of k
ENOUGH = 60  # draws at a k that is judged
FALLING = 0.5  # ratio of the geometric prior under which all sizes are visited
CLOSE = 0.02  # nats a point


def counts(spec: OccamSpec) -> np.ndarray:
    """Draws at each k (K,) in the first part of the long run."""
    return np.bincount(study(spec, NEVER).widths.ravel(), minlength=spec.highest + 1)[1:]


def _peak(spec: OccamSpec) -> int:
    mode = int(counts(spec).argmax()) + 1
    return next(i for i, (low, high) in enumerate(BANDS) if low <= mode <= high)


def _peak_why(spec: OccamSpec) -> str:
    share = counts(spec) / counts(spec).sum()
    mode = int(share.argmax()) + 1
    return (
        f"Most often k = {mode}, with {share[mode - 1]:.0%} of the draws; the mean is "
        f"{share @ np.arange(1, spec.highest + 1):.1f}. Every k now starts from the same spread of outputs, so a unit "
        "more is only something more to adjust. The data are the same; the prior on *functions* has changed."
    )


def ends(spec: OccamSpec) -> tuple[int, int, float, float]:
    """The smallest and largest k with enough draws, and how fit and price change from one to the other, in nats.

    From chains with a falling prior on k, which visit all sizes: it changes neither fit nor price.
    """
    falling = spec.replace(prior="geometric", ratio=FALLING)
    runs, n, log_prior = study(falling, NEVER), counts(falling), falling.log_prior()
    low, high = (int(k) for k in np.flatnonzero(n >= ENOUGH)[[0, -1]])
    fits = [runs.recording.log_likelihood[:, runs.burn :][runs.widths == k + 1].mean() for k in (low, high)]
    evidence = [np.log(n[k]) - log_prior[k] for k in (low, high)]
    fit = float(fits[1] - fits[0])
    return low + 1, high + 1, fit, fit - float(evidence[1] - evidence[0])


def _price(spec: OccamSpec) -> int:
    price = ends(spec)[3]
    return 0 if price > 0.5 else 2 if price < -0.5 else 1


def _price_why(spec: OccamSpec) -> str:
    low, high, fit, price = ends(spec)
    return (
        f"From k = {low} to k = {high} the fit changes by {fit:+.1f} nats and the price by {price:+.1f}. The output is "
        "a sum of k units, each with weights N(0, 1), so at large k large outputs are common before any data. XOR with "
        "a = 0.5 asks for large outputs, and many units need not be moved far for them: that works against the cost of "
        "more weights."
    )


def _best(spec: OccamSpec) -> int:
    gap = gap_of(spec)
    return 0 if gap > CLOSE else 2 if gap < -CLOSE else 1


def gap_of(spec: OccamSpec) -> float:
    """Score on new points of the most probable k, less that of all k together, nats a point."""
    runs = study(spec, NEVER)
    mode = int(counts(spec).argmax())
    return float(scores(spec, runs.recording)[mode]) - score_of_all(spec, runs.recording, runs.burn)


def _best_why(spec: OccamSpec) -> str:
    gap = gap_of(spec)
    return (
        f"On 200 new points the networks of the most probable k score {gap:+.4f} nats a point against the average over "
        "all k. p(k | D) asks which k made these data least surprising *before they were seen*; it is not a contest of "
        "predictions. In the thesis's table 7.4, on layers, the modal depth beats the best chain in two of four "
        "experiments and loses in two."
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
