"""Predictions to lock in. Answers are exact probabilities, by annealing, or averages of chains that agree; where the
error leaves a doubt, no answer is given.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from app.kit import architectures, growing
from app.kit.architectures import UNSURE
from app.kit.frame import Question
from engine.diagnostics import rhat
from engine.evidence import ArchitectureEvidence
from engine.jumps import MOVES
from lessons.neurons.spec import NeuronsSpec

QUARTERS = ("in the lowest quarter", "in the second quarter", "in the third quarter", "in the highest quarter")
CLOSE = 0.05  # acceptance shares that are called equal
LEAST_SHIFT = 0.5  # units that a mean must move to be called moved
MIXING = 10  # jumps a sweep of the chains that answer: with one they need many more sweeps until they agree
AGREE = 1.05  # R-hat of k above which the chains do not answer
NO_ANSWER = "The chains do not agree well enough for an answer: R-hat of k is {rhat:.2f}. Ask again with more sweeps."


def _exact(spec: NeuronsSpec) -> ArchitectureEvidence:
    return architectures.quick_evidence(spec.network(), *spec.data_set())


def _quarters(spec: NeuronsSpec) -> architectures.ModelProbabilities:
    return architectures.group_shares(_exact(spec), 4 * np.arange(spec.count) // spec.count, spec.log_prior())


def _where(spec: NeuronsSpec) -> int:
    return architectures.leader(*_quarters(spec))


def _where_why(spec: NeuronsSpec) -> str:
    found, (share, error) = _exact(spec), _quarters(spec)
    mean = architectures.exact_shares(found, spec.log_prior()).probability @ np.arange(spec.low, spec.high + 1)
    half, last = spec.count // 2 - 1, spec.count - 1
    gain = found.log_evidence[last] - found.log_evidence[half]
    doubt = float(np.hypot(found.error[last], found.error[half]))
    return (
        f"By annealing, which never jumps: {share.max():.0%} ± {2 * error[share.argmax()]:.0%} of the probability is "
        f"there, and the mean k is {mean:.1f}. log p(data | k) changes by {gain:+.1f} ± {2 * doubt:.1f} nats from "
        f"k = {spec.low + half} to {spec.high}. Two units can solve XOR, but the posterior does not ask what is "
        "*needed*. With the same prior for every k it asks how likely networks drawn from the prior are to fit, and "
        "that depends on the prior of the weights as much as on k."
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
    growth = growing.study(spec.replace(jumps=MIXING))
    recording, kept = growth.run.recording(), slice(growth.burn, None)
    sizes = growth.sizes[:, kept].astype(float)
    asked, granted = (each[:, kept].sum(axis=1)[:, :2] for each in (recording.proposed, recording.jumped))
    return Run(sizes, asked, granted, rhat(sizes))


def _flux_difference(run: Run) -> tuple[float, float]:
    """Share of births less share of deaths accepted, and its standard error."""

    def difference(chains: np.ndarray) -> float:
        birth, death = run.granted[chains].sum(axis=0) / run.asked[chains].sum(axis=0)
        return float(birth - death)

    return architectures.jackknife(difference, len(run.asked))


def _flux(spec: NeuronsSpec) -> int:
    run = mixing(spec)
    if not run.rhat <= AGREE:
        return UNSURE
    return (0, 2, 1, UNSURE)[architectures.side(*_flux_difference(run), CLOSE)]


def _flux_why(spec: NeuronsSpec) -> str:
    run = mixing(spec)
    if not run.rhat <= AGREE:
        return NO_ANSWER.format(rhat=run.rhat)
    asked, granted = run.asked.sum(axis=0), run.granted.sum(axis=0)
    birth, death = granted / asked
    difference, error = _flux_difference(run)
    exact = architectures.exact_shares(_exact(spec), spec.log_prior())
    return (
        f"With {MIXING} jumps a sweep, {birth:.0%} of {asked[0]:,} births and {death:.0%} of {asked[1]:,} deaths were "
        f"accepted, {100 * difference:+.0f} ± {200 * error:.0f} points apart (R-hat of k {run.rhat:.2f}). But look at "
        f"the numbers accepted: {granted[0]:,} and {granted[1]:,}, nearly the same. What goes up must come down, or k "
        f"would drift away. The shares differ because the proposals do: with probability {exact.probability[-1]:.0%} a "
        f"network has {spec.high} units, where only a death can be proposed."
    )


def _means(spec: NeuronsSpec) -> tuple[float, float, float, float]:
    """Mean k by annealing, that of the wrong scheme's chains, the standard error of their difference, R-hat."""
    run, found, sizes = mixing(spec), _exact(spec), np.arange(spec.low, spec.high + 1)
    probability = architectures.exact_shares(found, spec.log_prior()).probability
    right = float(probability @ sizes)
    error = np.linalg.norm(probability * (sizes - right) * found.error)
    chains = run.sizes.mean(axis=1)
    return right, float(chains.mean()), float(np.hypot(error, chains.std(ddof=1) / np.sqrt(len(chains)))), run.rhat


def _slot(spec: NeuronsSpec) -> int:
    right, wrong, error, agreement = _means(spec)
    return architectures.side(right - wrong, error, LEAST_SHIFT) if agreement <= AGREE else UNSURE


def _slot_why(spec: NeuronsSpec) -> str:
    right, wrong, error, agreement = _means(spec)
    if not agreement <= AGREE:
        return NO_ANSWER.format(rhat=agreement)
    found = architectures.jumps_of(growing.study(spec).run.recording(), spec.shown - 1)
    births = int(found.birth.sum())
    return (
        f"The mean k is {wrong:.1f} ({MIXING} jumps a sweep, R-hat {agreement:.2f}) instead of {right:.1f} (exact, by "
        f"annealing), their difference known to ± {2 * error:.1f}. In chain {spec.shown} each of the {births} births "
        "proposed carried log 1/(k + 1) in its ledger, and no death carried the +log k that makes up for it. Every "
        f"trip up pays a toll, the way down is free. (The moves are called *{MOVES[0]}* and *{MOVES[1]}* in the code.)"
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
