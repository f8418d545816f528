"""Predict → lock → run → explain. Every answer is computed from the run."""

from __future__ import annotations

import numpy as np

from app.kit.words import Said, say
from engine.diagnostics import Z_LIMIT
from engine.judge.answers import UNSURE, side
from lessons.perceptron import analysis, held_out
from lessons.perceptron.analysis import GOAL, RUNNERS
from lessons.perceptron.spec import HELD_OUT, WORDS, PerceptronLesson

RESTARTS = 20
NEAR = 0.05  # nats a point that are called no difference
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


def _zeros(spec: PerceptronLesson) -> int:
    return int((analysis.one_pass(spec).nodes.gradient == 0.0).sum())


def _silent(spec: PerceptronLesson) -> int:
    return {0: 0, 3: 1, 4: 2}.get(_zeros(spec), UNSURE)


def _silent_why(spec: PerceptronLesson) -> Said:
    dim = spec.network().dim
    return say(zero=_zeros(spec.replace(activation="relu")), derivatives=dim, elu_zero=_zeros(spec.replace(activation="elu")))


def _new(spec: PerceptronLesson) -> int:
    """Of the loss on new points, less that on its own: is it small? And is it surely above or below a coin's?"""
    found = held_out.course(spec, "nothing")
    gap, error = held_out.mean_and_error(found.held[:, -1] - found.loss[:, -1])
    if side(float(gap), float(error), NEAR) == 1:
        return 0
    above, error = held_out.mean_and_error(found.held[:, -1] - held_out.COIN)
    return (2, UNSURE, 1, UNSURE)[side(float(above), float(error), 0.0)]


def _new_why(spec: PerceptronLesson) -> Said:
    courses = [held_out.course(spec, name) for name in held_out.REGULARISERS]
    means = [held_out.mean_and_error(course.held[:, -1]) for course in courses]
    own = float(courses[0].loss[:, -1].mean())
    (nothing, error), *others = ((float(mean), float(doubt)) for mean, doubt in means)
    decay, dropout, stopping = (mean for mean, _ in others)
    return say(nothing=nothing, error=2 * error, sets=held_out.SETS, own=own, decay=decay, dropout=dropout, stopping=stopping)


def _curve(spec: PerceptronLesson) -> int:
    """The curve's ends against its lowest place, set by set."""
    found = held_out.ladder(spec)
    higher = []
    for end in (0, -1):
        rise, error = held_out.mean_and_error(found.held[:, end] - found.held[:, found.best])
        higher.append(bool(rise > Z_LIMIT * error))
    return {(False, True): 0, (True, False): 1, (True, True): 2}.get((higher[0], higher[1]), UNSURE)


def _curve_why(spec: PerceptronLesson) -> Said:
    found = held_out.ladder(spec)
    held, own = found.held.mean(axis=0), found.loss.mean(axis=0)
    return say(first=held[0], lowest=held[found.best], best=held_out.LADDER[found.best], last=held[-1], own_first=own[0], own_last=own[-1])


QUESTIONS = [
    WORDS.question("stops", _stops, _stops_why, scenario="xor"),
    WORDS.question("units", _units, _units_why, scenario="one-unit"),
    WORDS.question("kept", _kept, _kept_why, scenario="forgot"),
    WORDS.question("silent", _silent, _silent_why, scenario="silent"),
    WORDS.question("first", first, _first_why, scenario="race", options=(*RUNNERS, NOBODY), goal=GOAL),
    WORDS.question("new", _new, _new_why, scenario="three-ways", steps=HELD_OUT.steps),
    WORDS.question("curve", _curve, _curve_why, scenario="decay"),
]
