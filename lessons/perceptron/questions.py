"""Predict → lock → run → explain. Every answer is computed from the run."""

from __future__ import annotations

import numpy as np

from app.kit.words import Said, say
from lessons.perceptron import analysis
from lessons.perceptron.analysis import GOAL, RUNNERS
from lessons.perceptron.spec import WORDS, PerceptronLesson

RESTARTS = 20
NOBODY = WORDS.phrase("questions.first.nobody")


def _stops(spec: PerceptronLesson) -> int:
    found = analysis.visits(spec).run
    if found.cycle is not None:
        return 2
    return 0 if found.converged and found.mistakes < 20 else 1


def _stops_why(spec: PerceptronLesson) -> Said:
    found = analysis.visits(spec).run
    if found.cycle is None:
        return say("stopped", mistakes=found.mistakes)
    first, length = found.cycle
    return say("for_ever", again=first + length + 1, first=first + 1)


def smallest(spec: PerceptronLesson) -> int:
    """Least number of hidden units with which some restart gets all points right; 5 if not up to 4."""
    return next((k for k in range(1, 5) if analysis.solved(spec, k, RESTARTS)[0]), 5)


def _units(spec: PerceptronLesson) -> int:
    return min(smallest(spec), 4) - 1


def _units_why(spec: PerceptronLesson) -> Said:
    counts = ", ".join(f"{k}: {analysis.solved(spec, k, RESTARTS)[0]}" for k in range(1, 5))
    return say(restarts=RESTARTS, counts=counts)


def _kept(spec: PerceptronLesson) -> int:
    found = analysis.one_pass(spec.replace(variant="no_slope"))
    right = np.abs(found.nodes.gradient - found.differences) < 1e-6
    outputs = len(found.nodes.weights[-1].ravel()) + 1
    hidden, out = bool(right[:-outputs].all()), bool(right[-outputs:].all())
    return {(False, True): 0, (True, False): 1, (False, False): 2, (True, True): 3}[hidden, out]


def _kept_why(spec: PerceptronLesson) -> Said:
    found = analysis.one_pass(spec.replace(variant="no_slope"))
    wrong = int((np.abs(found.nodes.gradient - found.differences) >= 1e-6).sum())
    return say(wrong=wrong, derivatives=found.network.dim)


def first(spec: PerceptronLesson) -> int:
    """The runner that arrives first; the last option if none does."""
    arrived = {name: analysis.race(spec).arrival(name) for name in RUNNERS}
    there = {name: steps for name, steps in arrived.items() if steps is not None}
    return RUNNERS.index(min(there, key=lambda name: there[name])) if there else len(RUNNERS)


def _first_why(spec: PerceptronLesson) -> Said:
    steps = {name: analysis.race(spec).arrival(name) for name in RUNNERS}
    each = [WORDS.phrase(f"questions.first.{'not_yet' if at is None else 'arrived'}", runner=name, steps=at) for name, at in steps.items()]
    return say(arrivals=", ".join(each))


QUESTIONS = [
    WORDS.question("stops", _stops, _stops_why, scenario="xor"),
    WORDS.question("units", _units, _units_why, scenario="one-unit"),
    WORDS.question("kept", _kept, _kept_why, scenario="forgot"),
    WORDS.question("first", first, _first_why, scenario="race", options=(*RUNNERS, NOBODY), goal=GOAL),
]
