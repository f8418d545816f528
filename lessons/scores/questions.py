"""The predictions, with answers computed from the test digits."""

from __future__ import annotations

import numpy as np

from app.kit.words import Said, say
from engine import scores, ticket
from engine.judge.answers import nearest
from lessons.scores import analysis
from lessons.scores.analysis import ALPHA, Reading
from lessons.scores.panels import SPLITS, flattery
from lessons.scores.spec import WORDS, ScoresSpec


def _reading(spec: ScoresSpec) -> Reading:
    reading = analysis.read(spec)
    assert reading is not None
    return reading


def _gamma(reading: Reading, name: str) -> float:
    return scores.gamma(analysis.values(reading, name), reading.wrong, ALPHA)


PASSED = (0.5, 0.8, 1.0)


def _surer(reading: Reading) -> np.ndarray:
    """Of each image, whether it is read rightly, and surer than the surest error."""
    values = analysis.values(reading, "sd")
    return ~reading.wrong & (values < values[reading.wrong].min(initial=np.inf))


def _first(spec: ScoresSpec) -> int:
    reading = _reading(spec)
    return nearest(_surer(reading).sum() / (~reading.wrong).sum(), PASSED, log=False)


def _explain_first(spec: ScoresSpec) -> Said:
    reading = _reading(spec)
    right, all_right = int(_surer(reading).sum()), int((~reading.wrong).sum())
    surest = int(np.argmin(np.where(reading.wrong, analysis.values(reading, "sd"), np.inf)))
    mean = reading.mean[surest]
    return say(
        passed=right / all_right,
        right=right,
        all_right=all_right,
        errors=int(reading.wrong.sum()),
        read=int(mean.argmax()),
        probability=float(mean.max()),
        label=int(reading.y[surest]),
    )


def _ga(spec: ScoresSpec) -> int:
    reading = _reading(spec)
    apart = _gamma(reading, "ga") - _gamma(reading, "inconsistency")
    return 0 if apart > 1e-9 else 2 if apart < -1e-9 else 1


def _explain_ga(spec: ScoresSpec) -> Said:
    reading = _reading(spec)
    return say(alpha=ALPHA, gamma_ga=_gamma(reading, "ga"), gamma_inconsistency=_gamma(reading, "inconsistency"))


def _unanimous(spec: ScoresSpec) -> int:
    found = _gamma(_reading(spec), "inconsistency")
    return 0 if found > 0.85 else 1 if found >= 0.5 else 2


def _explain_unanimous(spec: ScoresSpec) -> Said:
    reading = _reading(spec)
    unanimous = reading.wrong & (analysis.values(reading, "inconsistency") == 0.0)
    return say(
        alpha=ALPHA,
        gamma_inconsistency=_gamma(reading, "inconsistency"),
        unanimous=int(unanimous.sum()),
        errors=int(reading.wrong.sum()),
        members=len(reading.draws),
        gamma_total=_gamma(reading, "total"),
    )


def _averaging(spec: ScoresSpec) -> int:
    one, all_ = _errors(spec)
    return 0 if all_ < one - 0.01 else 2 if all_ > one + 0.01 else 1


def _errors(spec: ScoresSpec) -> tuple[float, float]:
    """Calibration error of one network on average, and of the average of all."""
    reading = _reading(spec)
    each = [scores.calibration_error(p, reading.y) for p in reading.draws]
    return float(np.mean(each)), scores.calibration_error(reading.mean, reading.y)


def _explain_averaging(spec: ScoresSpec) -> Said:
    reading, (single_ece, average_ece) = _reading(spec), _errors(spec)
    return say(
        single_ece=single_ece,
        average_ece=average_ece,
        networks=len(reading.draws),
        single_right=100 * np.mean(reading.draws.argmax(axis=2) == reading.y),
        average_right=100 * np.mean(~reading.wrong),
        single_score=np.mean([scores.log_scores(p, reading.y).mean() for p in reading.draws]),
        average_score=scores.log_scores(reading.mean, reading.y).mean(),
    )


def _honest(spec: ScoresSpec) -> int:
    found = flattery(spec, _reading(spec), ticket.held())
    mean, error = float(found.mean()), float(found.std(ddof=1) / np.sqrt(len(found)))
    return 1 if abs(mean) < 2.0 * error else 0 if mean > 0 else 2


def _explain_honest(spec: ScoresSpec) -> Said:
    reading = _reading(spec)
    game = analysis.game(spec, reading)
    return say(
        first_cost=game.first.cost,
        second_cost=game.second.cost,
        second_error=game.second.error,
        splits=SPLITS,
        rise=flattery(spec, reading, ticket.held()).mean(),
    )


QUESTIONS = (
    WORDS.question("first", _first, _explain_first, scenario="find"),
    WORDS.question("ga", _ga, _explain_ga, scenario="ga"),
    WORDS.question("unanimous", _unanimous, _explain_unanimous, scenario="unanimous"),
    WORDS.question("averaging", _averaging, _explain_averaging, scenario="calibration"),
    WORDS.question("honest", _honest, _explain_honest, scenario="abstain", reveal=lambda spec: spec.replace(judged="yes")),
)
