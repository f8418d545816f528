"""Predict → lock → run → explain. Every answer is computed from the run."""

from __future__ import annotations

from app.kit.words import Said, say
from engine.judge.answers import nearest
from engine.scores import binary_entropy
from engine.ticket import NEVER
from lessons.real_data import analysis, protocol
from lessons.real_data.spec import WORDS, RealDataSpec


def held(spec: RealDataSpec) -> float:
    """Share of the test values inside the intervals."""
    return float(analysis.studied(spec, NEVER).held.mean())


def _held(spec: RealDataSpec) -> int:
    share = held(spec)
    return 0 if share >= 0.85 else 1 if share >= 0.75 else 2


def _held_why(spec: RealDataSpec) -> Said:
    learned = analysis.studied(spec.replace(noise="learned"), NEVER)
    found = analysis.studied(spec, NEVER)
    return say(
        held=100 * held(spec),
        test_values=len(found.held),
        error=found.error,
        noise_sd=spec.noise_sd,
        learned_noise_sd=learned.noise_sd.mean(),
        learned_held=100 * learned.held.mean(),
    )


THRESHOLDS = (0.05, 0.5, 0.95)


def _threshold(spec: RealDataSpec) -> int:
    return nearest(analysis.best_threshold(spec), THRESHOLDS, log=False)


def _threshold_why(spec: RealDataSpec) -> Said:
    found, y = analysis.studied(spec, NEVER), analysis.problem(spec).y_test
    threshold = analysis.best_threshold(spec)
    cost, cost_at_half = analysis.costs(spec, found.guess, y, [threshold, 0.5])
    return say(alarm_cost=spec.alarm_cost, miss_cost=spec.miss_cost, threshold=threshold, rows=len(y), cost=cost, cost_at_half=cost_at_half)


LEVELS = (0.221, 0.528, 0.693)


def _constant(spec: RealDataSpec) -> int:
    return nearest(float(binary_entropy(protocol.BASE_RATE)), LEVELS, log=False)


def _constant_why(spec: RealDataSpec) -> Said:
    rate, model = protocol.BASE_RATE, protocol.CREDIT[5]
    return say(rate=rate, complement=1 - rate, entropy=binary_entropy(rate), train=model.train, test=model.test)


QUESTIONS = [
    WORDS.question("held", _held, _held_why, scenario="too-sure"),
    WORDS.question("threshold", _threshold, _threshold_why, scenario="tumours", options=tuple(f"{value:g}" for value in THRESHOLDS)),
    WORDS.question("constant", _constant, _constant_why, scenario="credit-table"),
]
