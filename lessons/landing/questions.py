"""Predictions to lock in; the answers are computed from runs of the settings at hand."""

from __future__ import annotations

from app.kit.frame import Question
from lessons.landing import analysis
from lessons.landing.analysis import Outcome
from lessons.landing.spec import LandingSpec

FEWEST = 0.03  # shares that differ by less are called the same
TS = (1, 4, 16, 64)


def _last(spec: LandingSpec) -> dict[str, Outcome]:
    return analysis.small(spec).history[-1]


def _sandwich(spec: LandingSpec) -> int:
    found = _last(spec)
    one, other = found["palindrome"], found["plain"]
    return 1 if analysis.alike(one, other) else 0 if one.accepted > other.accepted else 2


def _sandwich_why(spec: LandingSpec) -> str:
    found = _last(spec)
    one, other = found["palindrome"], found["plain"]
    return (
        f"{one.accepted:.1%} ± {2 * one.error:.1%} with NUTS around, {other.accepted:.1%} ± {2 * other.error:.1%} "
        "without. NUTS leaves the posterior as it is: before the jump the state was a draw of it, and after NUTS it "
        "still is. The jump starts from the same kind of state, and its ratio is the bare one. Only the work has grown."
    )


def _bridges(spec: LandingSpec) -> int:
    shares = [_last(spec)[f"annealed {T}"].accepted for T in TS]
    gain = shares[-1] - shares[0]
    return 1 if abs(gain) < FEWEST else 0 if gain > 0 else 2


def _bridges_why(spec: LandingSpec) -> str:
    found = _last(spec)
    told = ", ".join(f"{found[f'annealed {T}'].accepted:.0%} at T = {T}" for T in TS)
    return (
        f"{told}. T = 1 is the bare jump. More bridges let the network settle in smaller steps. But the share does not "
        "tend to 1: what is left in the end is the odds of the two models, which no jump can pass."
    )


QUESTIONS = [
    Question(
        "sandwich",
        "NUTS moves the weights before the jump and again after it, and the whole is accepted or rejected at once. "
        "Compared with the bare jump, how many land?",
        ("more", "the same, within the error", "fewer"),
        _sandwich,
        _sandwich_why,
        scenario="sandwich",
    ),
    Question(
        "bridges",
        "From 1 to 64 bridges: what happens to the share of the jumps that land?",
        ("it rises", "it stays, within 3 points", "it falls"),
        _bridges,
        _bridges_why,
        scenario="annealed",
    ),
]
