"""Predict → lock → run → explain. The answers are computed."""

from __future__ import annotations

import math
import threading

import numpy as np

from app.kit.architectures import exact_shares, mode_band, quick_evidence
from app.kit.predict import Question
from engine.evidence import ModelProbabilities
from lessons.missing_factor.analysis import EVIDENCE, data_of, exact, limit, network_of, sizes_of
from lessons.missing_factor.spec import MissingSpec

NEVER = threading.Event()
BANDS = ((1, 3), (4, 7), (8, 12), (13, 24))  # of k


def known(spec: MissingSpec) -> ModelProbabilities:
    """p(k | data) by annealing: as the panels have it, or rougher at once."""
    return exact_shares(quick_evidence(network_of(spec), *data_of(spec), spec=EVIDENCE))


def _peak(spec: MissingSpec) -> int:
    return mode_band(known(spec), 1, BANDS)


def _peak_why(spec: MissingSpec) -> str:
    probability, error = known(spec)
    mode, mean = int(probability.argmax()), float(probability @ sizes_of(spec))
    return (
        f"By annealing, which never jumps, k = {mode + 1} is the most probable, with {probability[mode]:.0%} ± "
        f"{2 * error[mode]:.0%} (mean {mean:.1f}), of the range 1–{spec.highest}; a right scheme must agree. With "
        "these priors larger networks have the larger evidence, and nothing holds them back. Compare the lower "
        "histogram with the diamonds at the end of the run."
    )


def _undo(spec: MissingSpec) -> int:
    return 1


def _undo_why(spec: MissingSpec) -> str:
    return (
        "As coded the birth has the ratio 1 × 1/6 and the death that undoes it 1: together "
        f"exp({-math.log(6):.2f}) = 1/6. For a right scheme the two ratios always multiply to 1. So from 5 to 6 and "
        "back the chain loses a factor 6 that no probability paid for. Look at the last line of the card: *left over*."
    )


def _tends(spec: MissingSpec) -> np.ndarray:
    found = limit(spec, exact(spec, NEVER), NEVER)
    assert found is not None  # known without data
    return found.shares


def _empty(spec: MissingSpec) -> int:
    shares = _tends(spec)
    if np.ptp(shares) < 1e-9:
        return 0
    return 1 + int(np.argmin(np.abs(np.array([1, 8, 16]) - (shares.argmax() + 1))))


def _empty_why(spec: MissingSpec) -> str:
    shares = _tends(spec)
    return (
        f"It tends to p(k) ∝ 1/k!: {shares[0]:.0%} at k = 1, {shares[1]:.0%} at k = 2, {shares[2]:.0%} at k = 3. "
        "Without data every likelihood ratio is 1: but for the two ends of the range a death is always accepted and a "
        "birth with probability 1/(k + 1). The sign “numbers” compares with the true share of every k, "
        f"1/{spec.highest}."
    )


QUESTIONS = [
    Question(
        "peak",
        "The scheme with the slot factor counted once gives a hump near 5. Where will the histogram of the *right* "
        "scheme peak?",
        tuple(f"k = {low} to {high}" if high < 24 else f"k = {low} or more" for low, high in BANDS),
        _peak,
        _peak_why,
        scenario="slot",
    ),
    Question(
        "undo",
        "Suppose a birth 5 → 6 adds a unit that changes nothing: likelihood ratio 1. Multiply its ratio by that of the "
        "death that undoes it, both as coded. What is left?",
        ("1", "1/6", "6", "1/36"),
        _undo,
        _undo_why,
        scenario="slot",
    ),
    Question(
        "no-data",
        "Take the data away. Every k from 1 to 16 is equally probable now. Where will this scheme be most often?",
        ("everywhere alike", "k = 1", "k = 8", "k = 16"),
        _empty,
        _empty_why,
        scenario="no-data",
    ),
]
