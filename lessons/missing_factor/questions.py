"""Predict → lock → run → explain. The answers are computed."""

from __future__ import annotations

import math

import numpy as np

from app.kit.words import Said, say
from engine import ticket
from engine.judge.answers import mode_band
from lessons.missing_factor.analysis import exact, limit, roughly, sizes_of
from lessons.missing_factor.spec import WORDS, MissingSpec

BANDS = ((1, 3), (4, 7), (8, 12), (13, 24))  # of k


def _peak(spec: MissingSpec) -> int:
    return mode_band(roughly(spec, report=ticket.report), 1, BANDS)


def _peak_why(spec: MissingSpec) -> Said:
    probability, error = roughly(spec)
    mode, mean = int(probability.argmax()), float(probability @ sizes_of(spec))
    return say(mode=mode + 1, probability=probability[mode], error=2 * error[mode], mean=mean, highest=spec.highest)


def _undo(spec: MissingSpec) -> int:
    return 1


def _undo_why(spec: MissingSpec) -> Said:
    return say(log_ratio=-math.log(6))


def _tends(spec: MissingSpec) -> np.ndarray:
    found = limit(spec, exact(spec, ticket.held()), ticket.held())
    assert found is not None  # known without data
    return found.shares


def _empty(spec: MissingSpec) -> int:
    shares = _tends(spec)
    if np.ptp(shares) < 1e-9:
        return 0
    return 1 + int(np.argmin(np.abs(np.array([1, 8, 16]) - (shares.argmax() + 1))))


def _empty_why(spec: MissingSpec) -> Said:
    shares = _tends(spec)
    return say(at_one=shares[0], at_two=shares[1], at_three=shares[2], highest=spec.highest)


QUESTIONS = [
    WORDS.question("peak", _peak, _peak_why, scenario="slot"),
    WORDS.question("undo", _undo, _undo_why, scenario="slot"),
    WORDS.question("no-data", _empty, _empty_why, scenario="no-data"),
]
