"""Predictions to lock in. Answers are exact probabilities, by annealing, or averages of chains that agree; where the
error leaves a doubt, no answer is given.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from app.kit.words import Said, say
from engine.diagnostics import jackknife, rhat
from engine.evidence import ArchitectureEvidence, ModelProbabilities
from engine.judge.answers import UNSURE, leader, side
from engine.jumps import MOVES
from lessons.families.growing.chains import study
from lessons.families.growing.evidence import quick_evidence
from lessons.families.growing.ledger import jumps_of
from lessons.neurons.spec import WORDS, NeuronsSpec

CLOSE = 0.05  # acceptance shares that are called equal
LEAST_SHIFT = 0.5  # units that a mean must move to be called moved
MIXING = 10  # jumps a sweep of the chains that answer: with one they need many more sweeps until they agree
AGREE = 1.05  # R-hat of k above which the chains do not answer


def _exact(spec: NeuronsSpec) -> ArchitectureEvidence:
    return quick_evidence(spec.network(), *spec.data_set())


def _quarters(spec: NeuronsSpec) -> ModelProbabilities:
    return _exact(spec).group_probabilities(4 * np.arange(spec.count) // spec.count, spec.log_prior())


def _where(spec: NeuronsSpec) -> int:
    return leader(*_quarters(spec))


def _where_why(spec: NeuronsSpec) -> Said:
    found, (share, error) = _exact(spec), _quarters(spec)
    mean = found.probabilities(spec.log_prior()).probability @ np.arange(spec.low, spec.high + 1)
    half, last = spec.count // 2 - 1, spec.count - 1
    gain = found.log_evidence[last] - found.log_evidence[half]
    doubt = float(np.hypot(found.error[last], found.error[half]))
    return say(
        share=share.max(), error=2 * error[share.argmax()], mean=mean, gain=gain, doubt=2 * doubt, low=spec.low + half, high=spec.high
    )


class Run(NamedTuple):
    """Chains that change k often. sizes : (chains, sweeps) after the burn-in; asked, granted : (chains, 2), births and
    deaths proposed and accepted; rhat : of k.
    """

    sizes: np.ndarray
    asked: np.ndarray
    granted: np.ndarray
    rhat: float


def mixing(spec: NeuronsSpec) -> Run:
    """The experiment of `spec` with more jumps in a sweep."""
    growth = study(spec.replace(jumps=MIXING))
    recording, kept = growth.run.recording(), slice(growth.burn, None)
    sizes = growth.sizes[:, kept].astype(float)
    asked, granted = (each[:, kept].sum(axis=1)[:, :2] for each in (recording.proposed, recording.jumped))
    return Run(sizes, asked, granted, rhat(sizes))


def _flux_difference(run: Run) -> tuple[float, float]:
    """Share of births less share of deaths accepted, and its standard error."""

    def difference(chains: np.ndarray) -> float:
        birth, death = run.granted[chains].sum(axis=0) / run.asked[chains].sum(axis=0)
        return float(birth - death)

    return jackknife(difference, len(run.asked))


def _flux(spec: NeuronsSpec) -> int:
    run = mixing(spec)
    if not run.rhat <= AGREE:
        return UNSURE
    return (0, 2, 1, UNSURE)[side(*_flux_difference(run), CLOSE)]


def _flux_why(spec: NeuronsSpec) -> Said:
    run = mixing(spec)
    if not run.rhat <= AGREE:
        return say("unsure", rhat=run.rhat)
    asked, granted = run.asked.sum(axis=0), run.granted.sum(axis=0)
    birth, death = granted / asked
    difference, error = _flux_difference(run)
    return say(
        "sure",
        mixing=MIXING,
        birth=birth,
        births=asked[0],
        death=death,
        deaths=asked[1],
        apart=100 * difference,
        error=200 * error,
        rhat=run.rhat,
        born=granted[0],
        died=granted[1],
        at_the_top=_exact(spec).probabilities(spec.log_prior()).probability[-1],
        high=spec.high,
    )


def _means(spec: NeuronsSpec) -> tuple[float, float, float, float]:
    """Mean k by annealing, that of the wrong scheme's chains, the standard error of their difference, R-hat."""
    run, found, sizes = mixing(spec), _exact(spec), np.arange(spec.low, spec.high + 1)
    probability = found.probabilities(spec.log_prior()).probability
    right = float(probability @ sizes)
    error = np.linalg.norm(probability * (sizes - right) * found.error)
    chains = run.sizes.mean(axis=1)
    return right, float(chains.mean()), float(np.hypot(error, chains.std(ddof=1) / np.sqrt(len(chains)))), run.rhat


def _slot(spec: NeuronsSpec) -> int:
    right, wrong, error, agreement = _means(spec)
    return side(right - wrong, error, LEAST_SHIFT) if agreement <= AGREE else UNSURE


def _slot_why(spec: NeuronsSpec) -> Said:
    right, wrong, error, rhat = _means(spec)
    if not rhat <= AGREE:
        return say("unsure", rhat=rhat)
    found = jumps_of(study(spec).run.recording(), spec.shown - 1)
    return say(
        "sure",
        wrong=wrong,
        mixing=MIXING,
        rhat=rhat,
        right=right,
        error=2 * error,
        chain=spec.shown,
        births=int(found.birth.sum()),
        birth_move=MOVES[0],
        death_move=MOVES[1],
    )


QUESTIONS = [
    WORDS.question("where", _where, _where_why, scenario="xor"),
    WORDS.question("flux", _flux, _flux_why, scenario="xor"),
    WORDS.question("slot", _slot, _slot_why, scenario="slot-once"),
]
