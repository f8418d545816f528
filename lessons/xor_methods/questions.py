"""Predict → lock → run → explain. Every answer is computed from the run."""

from __future__ import annotations

import threading

import numpy as np

from app.kit.predict import Question
from lessons.xor_methods.proof import FAR_AWAY, signed
from lessons.xor_methods.spec import METHODS, NAMES, MethodsSpec
from lessons.xor_methods.study import study

NEVER = threading.Event()
WITHIN = 3.0  # standard errors within which two answers count as the same


def _values(spec: MethodsSpec) -> dict[str, float]:
    seen = study(spec, NEVER)
    return {method: float(seen.says[method].value[FAR_AWAY]) for method in METHODS}


def _surest(spec: MethodsSpec) -> int:
    values = _values(spec)
    return int(np.argmin([values[method] for method in METHODS]))


def _surest_why(spec: MethodsSpec) -> str:
    values = _values(spec)
    told = ", ".join(f"{NAMES[method]} {values[method]:.3f}" for method in sorted(METHODS, key=values.__getitem__))
    return (
        f"Epistemic uncertainty far from the data, in nats: {told}. Trained networks climb to a few modes and stop "
        "there; many of them are the same function with its units in another order, and copies cannot contradict one "
        "another. A posterior also counts the networks around the modes and between them, which fit nearly as well "
        "and differ far away."
    )


def _exact(spec: MethodsSpec) -> int:
    difference, error = study(spec, NEVER).difference("hmc")
    if abs(difference[FAR_AWAY]) < WITHIN * error[FAR_AWAY]:
        return 1
    return 0 if difference[FAR_AWAY] < 0 else 2


def _exact_why(spec: MethodsSpec) -> str:
    difference, error = study(spec, NEVER).difference("hmc")
    return (
        f"HMC minus the long NUTS run, far from the data: {signed(difference[FAR_AWAY])} ± {error[FAR_AWAY]:.3f} "
        "nats (one standard error). Both are exact: they walk differently through the same posterior, so all that "
        "can differ is Monte Carlo error, and that can be measured. Two exact methods that agree check one another."
    )


QUESTIONS = [
    Question(
        "surest",
        "Far from all data: which method is the *surest* of itself (least epistemic uncertainty)?",
        tuple(NAMES[method] for method in METHODS),
        _surest,
        _surest_why,
        scenario="six",
    ),
    Question(
        "exact",
        "HMC and NUTS, two different samplers: far from the noisy clouds, HMC's epistemic uncertainty is …",
        ("smaller than NUTS'", f"the same, within {WITHIN:g} standard errors", "larger than NUTS'"),
        _exact,
        _exact_why,
        scenario="noisy",
    ),
]
