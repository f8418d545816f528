"""Predictions to lock in; the answers are computed from runs of the settings at hand."""

from __future__ import annotations

import numpy as np

from app.kit import architectures, growing
from app.kit.frame import Question
from engine.jumps import MOVES
from lessons.neurons.spec import NeuronsSpec

QUARTERS = ("in the lowest quarter", "in the second quarter", "in the third quarter", "in the highest quarter")
CLOSE = 0.05  # acceptance shares that are called equal
LEAST_SHIFT = 0.5  # units that a mean must move to be called moved


def _sizes(spec: NeuronsSpec) -> np.ndarray:
    growth = growing.study(spec)
    return growth.sizes[:, growth.burn :]


def _quarters(spec: NeuronsSpec) -> np.ndarray:
    quarter = 4 * (_sizes(spec) - spec.low) // spec.count
    return np.bincount(quarter.ravel(), minlength=4) / quarter.size


def _where(spec: NeuronsSpec) -> int:
    return int(_quarters(spec).argmax())


def _where_why(spec: NeuronsSpec) -> str:
    sizes, share = _sizes(spec), _quarters(spec)
    growth = growing.study(spec)
    fit = growth.run.recording().log_likelihood[:, growth.burn :]
    half = np.median(sizes)
    few, many = fit[sizes < half], fit[sizes >= half]
    compared = ""
    if len(few) and len(many):
        compared = (
            f" Compare the fit: the mean log likelihood is {few.mean():.1f} nats below k = {half:.0f} and "
            f"{many.mean():.1f} from there on."
        )
    return (
        f"{share.max():.0%} of the draws are there; the mean k is {sizes.mean():.1f}.{compared} Two units can solve "
        "XOR, but the posterior does not ask what is *needed*. With the same prior for every k it asks how likely "
        "networks drawn from the prior are to fit, and that depends on the prior of the weights as much as on k."
    )


def _accepted(spec: NeuronsSpec) -> tuple[np.ndarray, np.ndarray]:
    growth = growing.study(spec)
    recording, kept = growth.run.recording(), slice(growth.burn, None)
    return recording.proposed[:, kept].sum(axis=(0, 1))[:2], recording.jumped[:, kept].sum(axis=(0, 1))[:2]


def _flux(spec: NeuronsSpec) -> int:
    asked, granted = _accepted(spec)
    birth, death = granted / asked
    return 2 if abs(birth - death) <= CLOSE else 0 if birth > death else 1


def _flux_why(spec: NeuronsSpec) -> str:
    asked, granted = _accepted(spec)
    birth, death = granted / asked
    top = float((_sizes(spec) == spec.high).mean())
    return (
        f"{birth:.0%} of {asked[0]:,} births and {death:.0%} of {asked[1]:,} deaths were accepted. But look at the "
        f"numbers accepted: {granted[0]:,} and {granted[1]:,}, nearly the same. What goes up must come down, or k "
        f"would drift away. The shares differ because the proposals do: {top:.0%} of the time a chain has {spec.high} "
        "units, where only a death can be proposed."
    )


def _means(spec: NeuronsSpec) -> tuple[float, float]:
    return float(_sizes(spec.replace(variant="exact")).mean()), float(_sizes(spec).mean())


def _slot(spec: NeuronsSpec) -> int:
    right, wrong = _means(spec)
    return 0 if wrong < right - LEAST_SHIFT else 2 if wrong > right + LEAST_SHIFT else 1


def _slot_why(spec: NeuronsSpec) -> str:
    right, wrong = _means(spec)
    found = architectures.jumps_of(growing.study(spec).run.recording(), spec.shown - 1)
    births = int(found.birth.sum())
    return (
        f"The mean k is {wrong:.1f} instead of {right:.1f}. In chain {spec.shown} each of the {births} births proposed "
        "carried log 1/(k + 1) in its ledger, and no death carried the +log k that makes up for it. Every trip up pays "
        "a toll, the way down is free. (The moves are called "
        f"*{MOVES[0]}* and *{MOVES[1]}* in the code.)"
    )


QUESTIONS = [
    Question(
        "where",
        "16 chains start with 1, 2, …, 16 hidden units, and every k has the same prior probability. Where will they "
        "spend most of their time?",
        QUARTERS,
        _where,
        _where_why,
        scenario="xor",
    ),
    Question(
        "flux",
        "Which is accepted more often, as a share of what is proposed: births or deaths?",
        ("births", "deaths", "about the same, within 5 points"),
        _flux,
        _flux_why,
        scenario="xor",
    ),
    Question(
        "slot",
        "Births are weighed by 1/(k + 1), deaths are not weighed back. What does that do to the mean of k?",
        ("it falls", "it stays, within half a unit", "it rises"),
        _slot,
        _slot_why,
        scenario="slot-once",
    ),
]
