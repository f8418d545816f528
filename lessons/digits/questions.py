"""The predictions, with answers computed from the readings."""

from __future__ import annotations

from app.kit.digit_posteriors import METHODS, NAMES
from app.kit.frame import Question
from lessons.digits import analysis
from lessons.digits.analysis import Reading
from lessons.digits.spec import DigitsSpec

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


def _explain_part(spec: DigitsSpec) -> str:
    reading = _reading(spec)
    return (
        f"{100 * _share(spec):.0f} % of the total {reading.total[-1]:.2f} nats is epistemic. Each network by itself is "
        f"in doubt by {reading.aleatoric[-1]:.2f} nats on average; the rest is that they say different things: "
        f"{', '.join(f'{votes} say {digit}' for digit, votes in _parties(reading))}."
    )


def _parties(reading: Reading) -> list[tuple[int, int]]:
    """(digit, votes) of the three largest groups."""
    votes = reading.votes
    return [(int(digit), int(votes[digit])) for digit in votes.argsort()[::-1][:3] if votes[digit]]


def _surest(spec: DigitsSpec) -> int:
    totals = [_reading(spec, method).total[-1] for method in CONTENDERS]
    return totals.index(min(totals))


def _explain_surest(spec: DigitsSpec) -> str:
    lines = []
    for method in METHODS:
        reading = _reading(spec, method)
        lines.append(
            f"{NAMES[method]} says {reading.predicted} with {reading.mean[-1].max():.2f} (total "
            f"{reading.total[-1]:.2f}, epistemic {reading.epistemic[-1]:.2f} nats)"
        )
    return "; ".join(lines) + ". None of them was told that there are things which are no digits."


def _moved(spec: DigitsSpec) -> int:
    """0: the same digit and as sure; 1: the same but less sure; 2: another digit."""
    there, centred = _reading(spec), _reading(spec.replace(variant="exact"))
    if there.predicted != centred.predicted:
        return 2
    return 1 if there.mean[-1].max() < 0.9 * centred.mean[-1].max() else 0


def _explain_moved(spec: DigitsSpec) -> str:
    there, centred = _reading(spec), _reading(spec.replace(variant="exact"))
    return (
        f"As it stands: {there.predicted} with probability {there.mean[-1].max():.2f}. Cropped, scaled and centred: "
        f"{centred.predicted} with {centred.mean[-1].max():.2f}. A network that reads pixels knows nothing of places."
    )


QUESTIONS = (
    Question(
        "part",
        "This shape lies between digits. Which part of its uncertainty is the larger, for the dense Gaussian?",
        (
            "Epistemic: the networks contradict each other",
            "Aleatoric: each network by itself is in doubt",
            "About the same: both between 40 and 60 %",
        ),
        _which_part,
        _explain_part,
        scenario="between",
    ),
    Question(
        "surest",
        "A star is no digit. Which of these posteriors is the surest of what it says?",
        tuple(NAMES[method] for method in CONTENDERS),
        _surest,
        _explain_surest,
        scenario="star",
    ),
    Question(
        "moved",
        "The 3 that was read well is drawn half as large, in the corner, and not centred. What will the networks say?",
        ("A 3, as sure as before", "A 3, but less sure", "Another digit"),
        _moved,
        _explain_moved,
        scenario="corner",
    ),
)
