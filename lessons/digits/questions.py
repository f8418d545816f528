"""The predictions, with answers computed from the readings."""

from __future__ import annotations

from app.kit.words import Said, say
from lessons.digits import analysis
from lessons.digits.analysis import Reading
from lessons.digits.spec import WORDS, DigitsSpec
from lessons.families.digit_posteriors.spec import METHODS, NAMES

CONTENDERS = ("nuts", "dense", "dropout", "ensemble")


def _reading(spec: DigitsSpec, method: str = "") -> Reading:
    networks = analysis.trained(spec, method)
    assert networks is not None
    return analysis.read(spec, networks)


def _share(spec: DigitsSpec) -> float:
    reading = _reading(spec)
    return float(reading.epistemic[-1] / max(reading.total[-1], 1e-12))


def _which_part(spec: DigitsSpec) -> int:
    share = _share(spec)
    return 0 if share > 0.6 else 1 if share < 0.4 else 2


def _explain_part(spec: DigitsSpec) -> Said:
    reading = _reading(spec)
    each = [WORDS.phrase("questions.part.each", votes=votes, digit=digit) for digit, votes in _parties(reading)]
    return say(epistemic_share=100 * _share(spec), total=reading.total[-1], aleatoric=reading.aleatoric[-1], votes=", ".join(each))


def _parties(reading: Reading) -> list[tuple[int, int]]:
    """(digit, votes) of the three largest groups."""
    votes = reading.votes
    return [(int(digit), int(votes[digit])) for digit in votes.argsort()[::-1][:3] if votes[digit]]


def _surest(spec: DigitsSpec) -> int:
    totals = [_reading(spec, method).total[-1] for method in CONTENDERS]
    return totals.index(min(totals))


def _explain_surest(spec: DigitsSpec) -> Said:
    readings = {method: _reading(spec, method) for method in METHODS}
    each = [
        WORDS.phrase(
            "questions.surest.each",
            method=NAMES[method],
            digit=reading.predicted,
            probability=reading.mean[-1].max(),
            total=reading.total[-1],
            epistemic=reading.epistemic[-1],
        )
        for method, reading in readings.items()
    ]
    return say(answers="; ".join(each))


def _moved(spec: DigitsSpec) -> int:
    """0: the same digit and as sure; 1: the same but less sure; 2: another digit."""
    there, centred = _reading(spec), _reading(spec.replace(variant="exact"))
    if there.predicted != centred.predicted:
        return 2
    return 1 if there.mean[-1].max() < 0.9 * centred.mean[-1].max() else 0


def _explain_moved(spec: DigitsSpec) -> Said:
    there, centred = _reading(spec), _reading(spec.replace(variant="exact"))
    return say(
        digit=there.predicted, probability=there.mean[-1].max(), centred_digit=centred.predicted, centred_probability=centred.mean[-1].max()
    )


QUESTIONS = (
    WORDS.question("part", _which_part, _explain_part, scenario="between"),
    WORDS.question("surest", _surest, _explain_surest, scenario="star", options=tuple(NAMES[method] for method in CONTENDERS)),
    WORDS.question("moved", _moved, _explain_moved, scenario="corner"),
)
