"""Predict → lock → run → explain. Every answer is computed from the run."""

from __future__ import annotations

import numpy as np

from app.kit.predict import Question
from lessons.perceptron import analysis
from lessons.perceptron.analysis import GOAL, RUNNERS
from lessons.perceptron.spec import PerceptronLesson

RESTARTS = 20


def _stops(spec: PerceptronLesson) -> int:
    found = analysis.visits(spec).run
    if found.cycle is not None:
        return 2
    return 0 if found.converged and found.mistakes < 20 else 1


def _stops_why(spec: PerceptronLesson) -> str:
    found = analysis.visits(spec).run
    if found.cycle is None:
        return f"It made {found.mistakes} mistakes."
    first, length = found.cycle
    return (
        f"At the start of round {first + length + 1} the weights are exactly what they were at the start of round "
        f"{first + 1}. The same points come in the same order, so the same happens again, for ever. A perceptron that "
        "stopped would have found a line between the classes, and there is none."
    )


def smallest(spec: PerceptronLesson) -> int:
    """Least number of hidden units with which some restart gets all points right; 5 if not up to 4."""
    return next((k for k in range(1, 5) if analysis.solved(spec, k, RESTARTS)[0]), 5)


def _units(spec: PerceptronLesson) -> int:
    return min(smallest(spec), 4) - 1


def _units_why(spec: PerceptronLesson) -> str:
    counts = ", ".join(f"{k}: {analysis.solved(spec, k, RESTARTS)[0]}" for k in range(1, 5))
    return (
        f"Of {RESTARTS} trainings from different first weights, so many got all points right, by number of units: "
        f"{counts}. One unit draws one line. Two are enough to say it, and often too few to find it."
    )


def _kept(spec: PerceptronLesson) -> int:
    found = analysis.one_pass(spec.replace(variant="no_slope"))
    right = np.abs(found.nodes.gradient - found.differences) < 1e-6
    outputs = len(found.nodes.weights[-1].ravel()) + 1
    hidden, out = bool(right[:-outputs].all()), bool(right[-outputs:].all())
    return {(False, True): 0, (True, False): 1, (False, False): 2, (True, True): 3}[hidden, out]


def _kept_why(spec: PerceptronLesson) -> str:
    found = analysis.one_pass(spec.replace(variant="no_slope"))
    wrong = int((np.abs(found.nodes.gradient - found.differences) >= 1e-6).sum())
    return (
        f"{wrong} of {found.network.dim} derivatives differ from the differences. The output layer has no φ, so "
        "nothing is forgotten there. Everything before it misses the factor φ′(z), and with more layers the factors "
        "would multiply."
    )


def first(spec: PerceptronLesson) -> int:
    """The runner that arrives first; the last option if none does."""
    arrived = {name: analysis.race(spec).arrival(name) for name in RUNNERS}
    there = {name: steps for name, steps in arrived.items() if steps is not None}
    return RUNNERS.index(min(there, key=lambda name: there[name])) if there else len(RUNNERS)


def _first_why(spec: PerceptronLesson) -> str:
    found = analysis.race(spec)
    steps = {name: found.arrival(name) for name in RUNNERS}
    told = ", ".join(f"{name} {'not yet' if at is None else at}" for name, at in steps.items())
    return (
        f"Steps until the height stays below {GOAL:g} nats: {told}. Velocity adds up along the ravine, where all "
        "gradients point the same way, and cancels across it, where they alternate. Rules that divide by the size "
        "of the gradient take long steps at once, and then have to settle."
    )


QUESTIONS = [
    Question(
        "stops",
        "The perceptron gets the four points of XOR. How many mistakes will it make?",
        ("fewer than 20, then it stops", "20 or more, then it stops", "it never stops"),
        _stops,
        _stops_why,
        scenario="xor",
    ),
    Question(
        "units",
        "How many hidden units does a network need at least, so that some training gets all these points right?",
        ("1", "2", "3", "4 or more"),
        _units,
        _units_why,
        scenario="one-unit",
    ),
    Question(
        "kept",
        "A backward pass forgets φ′. Which derivatives stay right?",
        ("those of the output layer only", "those of the hidden layer only", "none", "all"),
        _kept,
        _kept_why,
        scenario="forgot",
    ),
    Question(
        "first",
        f"Who is the first to stay within {GOAL:g} nats of the bottom?",
        (*RUNNERS, "none of them"),
        first,
        _first_why,
        scenario="race",
    ),
]
