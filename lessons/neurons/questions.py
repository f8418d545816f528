"""Predictions to lock in. Answers are exact probabilities, by annealing, or averages of chains that agree; where the
error leaves a doubt, no answer is given.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.kit.words import Said, say
from engine import ticket
from engine.diagnostics import jackknife, rhat
from engine.evidence import ArchitectureEvidence, ModelProbabilities
from engine.judge.answers import UNSURE, leader, side
from engine.jumps.sweep import LIKELIHOOD, PROPOSAL, SLOT_BIRTH, SLOT_DEATH, WEIGHTS
from lessons.families.growing.chains import AGREE, first_look, study
from lessons.families.growing.evidence import quick_evidence
from lessons.families.growing.ledger import jumps_of
from lessons.neurons.spec import WORDS, NeuronsSpec

CLOSE = 0.05  # acceptance shares that are called equal
EVEN = 0.35  # probability of a quarter of the sizes: with less none is preferred
ROUNDING = 1e-9  # nats
LEAST_SHIFT = 0.5  # units that a mean must move to be called moved


def _refused(spec: NeuronsSpec) -> NDArray[np.float64] | None:
    """The factors (8,) of the first birth on the stage that was refused, as logs."""
    growth = first_look(spec)
    jumps = jumps_of(growth.run.recording(), spec.shown - 1, np.arange(growth.sweeps))
    found = np.flatnonzero(jumps.birth & ~jumps.accepted)
    return jumps.factors[found[0]] if len(found) else None


def _decides(spec: NeuronsSpec) -> int:
    factors = _refused(spec)
    if factors is None:
        return UNSURE
    alone = np.array([factors[WEIGHTS], factors[LIKELIHOOD], factors[SLOT_BIRTH] + factors[SLOT_DEATH]])
    same = np.flatnonzero(np.abs(alone - factors.sum()) < ROUNDING)
    return int(same[0]) if len(same) else len(alone)


def _decides_why(spec: NeuronsSpec) -> Said:
    factors = _refused(spec)
    if factors is None:
        return say("none")
    alone = abs(factors[LIKELIHOOD] - factors.sum()) < ROUNDING
    return say(
        "one" if alone else "several",  # at an end of the range, with a prior on sizes, or where kept weights change
        fit=factors[LIKELIHOOD],
        total=factors.sum(),
        rest=factors.sum() - factors[LIKELIHOOD],
        prior=factors[WEIGHTS],
        density=factors[PROPOSAL],
        born=factors[SLOT_BIRTH],
        died=factors[SLOT_DEATH],
    )


def _exact(spec: NeuronsSpec) -> ArchitectureEvidence:
    return quick_evidence(spec.network(), *spec.data_set(), report=ticket.report)


def _quarters(spec: NeuronsSpec) -> ModelProbabilities:
    return _exact(spec).group_probabilities(4 * np.arange(spec.count) // spec.count, spec.log_prior())


def _where(spec: NeuronsSpec) -> int:
    share, error = _quarters(spec)
    return len(share) if share.max() + 2 * error.max() < EVEN else leader(share, error)


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
    """What chains did after the burn-in. sizes : (chains, sweeps); asked, granted : (chains, 2), births and deaths
    proposed and accepted; rhat : of k.
    """

    sizes: np.ndarray
    asked: np.ndarray
    granted: np.ndarray
    rhat: float


def counted(spec: NeuronsSpec) -> Run:
    """The sweeps of the stage that the story plays."""
    growth = study(spec)
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
    run = counted(spec)
    if not run.rhat <= AGREE:
        return UNSURE
    return (0, 2, 1, UNSURE)[side(*_flux_difference(run), CLOSE)]


def _flux_why(spec: NeuronsSpec) -> Said:
    run = counted(spec)
    if not run.rhat <= AGREE:
        return say("unsure", rhat=run.rhat)
    asked, granted = run.asked.sum(axis=0), run.granted.sum(axis=0)
    birth, death = granted / asked
    difference, error = _flux_difference(run)
    return say(
        "sure",
        sweeps=run.sizes.shape[1],
        birth=birth,
        births=asked[0],
        death=death,
        deaths=asked[1],
        apart=100 * difference,
        error=200 * error,
        born=granted[0],
        died=granted[1],
        at_the_top=_exact(spec).probabilities(spec.log_prior()).probability[-1],
        high=spec.high,
    )


def _means(spec: NeuronsSpec) -> tuple[float, float, float, float]:
    """Mean k by annealing, that of the wrong scheme's chains, the standard error of their difference, R-hat."""
    run, found, sizes = counted(spec), _exact(spec), np.arange(spec.low, spec.high + 1)
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
    return say("sure", wrong=wrong, rhat=rhat, right=right, error=2 * error, chain=spec.shown, births=int(found.birth.sum()))


QUESTIONS = [
    WORDS.question("decides", _decides, _decides_why, scenario="xor"),
    WORDS.question("where", _where, _where_why, scenario="ten"),
    WORDS.question("flux", _flux, _flux_why, scenario="ten"),
    WORDS.question("slot", _slot, _slot_why, scenario="slot-once"),
]
