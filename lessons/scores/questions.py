"""The predictions, with answers computed from the test digits."""

from __future__ import annotations

import threading

import numpy as np

from app.kit.frame import Question
from engine import scores
from lessons.scores import analysis
from lessons.scores.analysis import ALPHA, Reading
from lessons.scores.panels import SPLITS, flattery
from lessons.scores.spec import ScoresSpec

NEVER = threading.Event()


def _reading(spec: ScoresSpec) -> Reading:
    reading = analysis.read(spec)
    assert reading is not None
    return reading


def _gamma(reading: Reading, name: str) -> float:
    return scores.gamma(analysis.values(reading, name), reading.wrong, ALPHA)


def _ga(spec: ScoresSpec) -> int:
    reading = _reading(spec)
    apart = _gamma(reading, "ga") - _gamma(reading, "inconsistency")
    return 0 if apart > 1e-9 else 2 if apart < -1e-9 else 1


def _explain_ga(spec: ScoresSpec) -> str:
    reading = _reading(spec)
    return (
        f"Here γ({ALPHA:g}) is {_gamma(reading, 'ga'):.4f} for GA and {_gamma(reading, 'inconsistency'):.4f} for "
        "inconsistency. GA is a falling function of the votes with one cutoff for all images, so it puts them in the "
        "same order, and γ looks at nothing but the order. Steyn (2018) prints 0.978 and 0.865 on MNIST: that "
        "difference must have come from something else than the formula."
    )


def _unanimous(spec: ScoresSpec) -> int:
    found = _gamma(_reading(spec), "inconsistency")
    return 0 if found > 0.85 else 1 if found >= 0.5 else 2


def _explain_unanimous(spec: ScoresSpec) -> str:
    reading = _reading(spec)
    silent = reading.wrong & (analysis.values(reading, "inconsistency") == 0.0)
    return (
        f"γ({ALPHA:g}) is {_gamma(reading, 'inconsistency'):.2f}. On {int(silent.sum())} of "
        f"{int(reading.wrong.sum())} errors all {len(reading.draws)} members agree: inconsistency 0, the same as for "
        "the easiest digit. A score that counts votes throws away how sure each vote was. The total entropy of the "
        f"same networks has {_gamma(reading, 'total'):.2f}."
    )


def _averaging(spec: ScoresSpec) -> int:
    one, all_ = _errors(spec)
    return 0 if all_ < one - 0.01 else 2 if all_ > one + 0.01 else 1


def _errors(spec: ScoresSpec) -> tuple[float, float]:
    """Calibration error of one network on average, and of the average of all."""
    reading = _reading(spec)
    each = [scores.calibration_error(p, reading.y) for p in reading.draws]
    return float(np.mean(each)), scores.calibration_error(reading.mean, reading.y)


def _explain_averaging(spec: ScoresSpec) -> str:
    one, all_ = _errors(spec)
    reading = _reading(spec)
    logs = float(np.mean([scores.log_scores(p, reading.y).mean() for p in reading.draws]))
    together = float(scores.log_scores(reading.mean, reading.y).mean())
    right = float(np.mean(reading.draws.argmax(axis=2) == reading.y)), float(np.mean(~reading.wrong))
    return (
        f"ECE is {one:.3f} for one network, on average, and {all_:.3f} for the average of all {len(reading.draws)}. "
        f"One network is right on {100 * right[0]:.1f} %, the average on {100 * right[1]:.1f} %; the log score goes "
        f"from {logs:.3f} to {together:.3f} nats, and smaller is better. Where networks contradict each other, their "
        "average is less confident than they are, however often it is right. “Calibrated” and “good” are two things."
    )


def _honest(spec: ScoresSpec) -> int:
    found = flattery(spec, _reading(spec), NEVER)
    mean, error = float(found.mean()), float(found.std(ddof=1) / np.sqrt(len(found)))
    return 1 if abs(mean) < 2.0 * error else 0 if mean > 0 else 2


def _explain_honest(spec: ScoresSpec) -> str:
    reading = _reading(spec)
    found, game = flattery(spec, reading, NEVER), analysis.game(spec, reading)
    return (
        f"With this split {game.first.cost:.4f} on the first half becomes {game.second.cost:.4f} ± "
        f"{game.second.error:.4f} on the other. Over {SPLITS} splits it rises by {found.mean():.4f} on average. A "
        "least cost is found among many thresholds, and the luckiest wins."
    )


QUESTIONS = (
    Question(
        "ga",
        "Steyn (2018) prints γ(0.1) = 0.978 for the Gaussian approximation and 0.865 for inconsistency, on the same "
        "images. On our digits, how does GA's γ(0.1) compare with that of inconsistency?",
        ("GA's is higher", "They are equal, to the last digit", "GA's is lower"),
        _ga,
        _explain_ga,
        scenario="ga",
    ),
    Question(
        "unanimous",
        "An ensemble of 100 networks trained from different starts votes. How large is γ(0.1) of its inconsistency?",
        ("Above 0.85", "0.5 to 0.85", "Below 0.5"),
        _unanimous,
        _explain_unanimous,
        scenario="unanimous",
    ),
    Question(
        "averaging",
        "The probabilities of 100 networks drawn by NUTS are averaged. What happens to the calibration error (ECE)?",
        ("It falls", "It stays, within 0.01", "It rises"),
        _averaging,
        _explain_averaging,
        scenario="calibration",
    ),
    Question(
        "honest",
        "The least costly threshold of the first half is judged on the other half. Over many splits, its cost there "
        "is, on average:",
        ("Higher", "The same, as far as can be told", "Lower"),
        _honest,
        _explain_honest,
        scenario="abstain",
        reveal=lambda spec: spec.replace(judged="yes"),
    ),
)
