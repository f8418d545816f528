"""Predict → lock → run → explain. Every answer is computed from the run."""

from __future__ import annotations

import numpy as np

from app.kit.words import Said, say
from engine import ticket
from lessons.xor_methods.proof import signed
from lessons.xor_methods.spec import METHODS, NAMES, WORDS, MethodsSpec
from lessons.xor_methods.study import FAR_AWAY, study

WITHIN = 3.0  # standard errors within which two answers count as the same


def _values(spec: MethodsSpec) -> dict[str, float]:
    seen = study(spec, ticket.held())
    return {method: float(seen.says[method].value[FAR_AWAY]) for method in METHODS}


def _surest(spec: MethodsSpec) -> int:
    values = _values(spec)
    return int(np.argmin([values[method] for method in METHODS]))


def _surest_why(spec: MethodsSpec) -> Said:
    values = _values(spec)
    each = [f"{NAMES[method]} {values[method]:.3f}" for method in sorted(METHODS, key=values.__getitem__)]
    return say(uncertainties=", ".join(each))


def _exact(spec: MethodsSpec) -> int:
    difference, error = study(spec, ticket.held()).difference("hmc")
    if abs(difference[FAR_AWAY]) < WITHIN * error[FAR_AWAY]:
        return 1
    return 0 if difference[FAR_AWAY] < 0 else 2


def _exact_why(spec: MethodsSpec) -> Said:
    difference, error = study(spec, ticket.held()).difference("hmc")
    return say(difference=signed(difference[FAR_AWAY]), error=error[FAR_AWAY])


QUESTIONS = [
    WORDS.question("surest", _surest, _surest_why, scenario="walk", options=tuple(NAMES[method] for method in METHODS)),
    WORDS.question("exact", _exact, _exact_why, scenario="noisy", within=WITHIN),
]
