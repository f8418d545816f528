"""Predictions to lock in; the answers are computed from runs of the settings at hand."""

from __future__ import annotations

from app.kit.words import Said, say
from lessons.landing import analysis
from lessons.landing.analysis import Outcome
from lessons.landing.spec import WORDS, LandingSpec

FEWEST = 0.03  # shares that differ by less are called the same
TS = (1, 4, 16, 64)


def _last(spec: LandingSpec) -> dict[str, Outcome]:
    return analysis.small(spec).history[-1]


def _sandwich(spec: LandingSpec) -> int:
    found = _last(spec)
    one, other = found["palindrome"], found["plain"]
    return 1 if analysis.alike(one, other) else 0 if one.accepted > other.accepted else 2


def _sandwich_why(spec: LandingSpec) -> Said:
    found = _last(spec)
    one, other = found["palindrome"], found["plain"]
    return say(with_nuts=one.accepted, with_nuts_error=2 * one.error, bare=other.accepted, bare_error=2 * other.error)


def _bridges(spec: LandingSpec) -> int:
    shares = [_last(spec)[f"annealed {T}"].accepted for T in TS]
    gain = shares[-1] - shares[0]
    return 1 if abs(gain) < FEWEST else 0 if gain > 0 else 2


def _bridges_why(spec: LandingSpec) -> Said:
    found = _last(spec)
    each = [WORDS.phrase("questions.bridges.each", accepted=found[f"annealed {T}"].accepted, T=T) for T in TS]
    return say(shares=", ".join(each))


QUESTIONS = [
    WORDS.question("sandwich", _sandwich, _sandwich_why, scenario="sandwich"),
    WORDS.question("bridges", _bridges, _bridges_why, scenario="annealed"),
]
