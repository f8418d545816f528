"""Predict → lock → run → explain. Every answer is computed from the run."""

from __future__ import annotations

import threading

from app.kit.predict import Question
from lessons.real_data import analysis, protocol
from lessons.real_data.spec import RealDataSpec

NEVER = threading.Event()


def held(spec: RealDataSpec) -> float:
    """Share of the test values inside the intervals."""
    return float(analysis.studied(spec, NEVER).held.mean())


def _held(spec: RealDataSpec) -> int:
    share = held(spec)
    return 0 if share >= 0.85 else 1 if share >= 0.75 else 2


def _held_why(spec: RealDataSpec) -> str:
    learned = analysis.studied(spec.replace(noise="learned"), NEVER)
    found = analysis.studied(spec, NEVER)
    return (
        f"{100 * held(spec):.0f} % of {len(found.held)}. The errors are {found.error:.3g} on average, the noise was "
        f"said "
        f"to be {spec.noise_sd:g}. Learned with the weights it comes to {learned.noise_sd.mean():.3g}, and "
        f"{100 * learned.held.mean():.0f} % are held."
    )


THRESHOLDS = (0.05, 0.5, 0.95)


def _threshold(spec: RealDataSpec) -> int:
    best = analysis.best_threshold(spec)
    return min(range(len(THRESHOLDS)), key=lambda index: abs(THRESHOLDS[index] - best))


def _threshold_why(spec: RealDataSpec) -> str:
    found, y = analysis.studied(spec, NEVER), analysis.problem(spec).y_test
    cut = analysis.best_threshold(spec)
    ours, half = analysis.costs(spec, found.guess, y, [cut, 0.5])
    return (
        f"At probability $t$ a flag costs {spec.alarm_cost:g} × (1 − $t$) on average and no flag {spec.miss_cost:g} "
        f"× $t$; "
        f"they are equal at $t$ = {cut:.3f}. On these {len(y)} test rows that costs {ours:.3f} a row, and "
        f"{half:.3f} at 0.5."
    )


LEVELS = (0.221, 0.528, 0.693)


def _constant(spec: RealDataSpec) -> int:
    level = analysis.entropy(protocol.BASE_RATE)
    return min(range(len(LEVELS)), key=lambda index: abs(LEVELS[index] - level))


def _constant_why(spec: RealDataSpec) -> str:
    rate, model = protocol.BASE_RATE, protocol.CREDIT[5]
    return (
        f"H({rate}) = −{rate} ln {rate} − {1 - rate:.4f} ln {1 - rate:.4f} = {analysis.entropy(rate):.4f} nats. The "
        f"Bayesian network with ten units is printed at {model.train} on the rows learned from and {model.test} on the "
        "test rows. That is the score of having learned nothing about anybody. ln 2 = 0.693 is what always saying one "
        "half gets."
    )


QUESTIONS = [
    Question(
        "held",
        "The intervals are meant to hold 90 % of the test values. The noise is told, at 18. How many will they hold?",
        ("about 90 %", "75 to 85 %", "less than 75 %"),
        _held,
        _held_why,
        scenario="too-sure",
    ),
    Question(
        "threshold",
        "To miss a malignant tumour costs 20, a false alarm 1. Above which probability should one flag?",
        tuple(f"{value:g}" for value in THRESHOLDS),
        _threshold,
        _threshold_why,
        scenario="tumours",
    ),
    Question(
        "constant",
        "22.12 % of the clients default. Which cross-entropy does one get by saying 0.2212 to everybody?",
        tuple(f"{value:g} nats" for value in LEVELS),
        _constant,
        _constant_why,
        scenario="credit-table",
    ),
]
