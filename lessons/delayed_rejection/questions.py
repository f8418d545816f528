"""The predictions, with answers computed from runs."""

from __future__ import annotations

import numpy as np

from app.kit.words import Said, say
from engine.judge.answers import nearest
from lessons.delayed_rejection import analysis
from lessons.delayed_rejection.analysis import Efficiency
from lessons.delayed_rejection.spec import WORDS, DelayedRejectionLesson


def both(spec: DelayedRejectionLesson) -> tuple[Efficiency, Efficiency]:
    """Plain Metropolis and the present number of tries, at least two, at the same scale."""
    plain = analysis.efficiency(spec.replace(stages=1))
    return plain, analysis.efficiency(spec.replace(stages=max(2, spec.stages)))


def gain(spec: DelayedRejectionLesson) -> float:
    """Effective draws per evaluation of the present run over those of plain Metropolis at the same scale."""
    plain, delayed = both(spec)
    return delayed.per_evaluation / plain.per_evaluation


def way_back_answer(spec: DelayedRejectionLesson) -> int:
    """What a first try that would surely be accepted on the way back does to alpha 2: it makes it 0."""
    inside = analysis.simulate(spec.replace(variant="exact", stages=2)).inside
    sure = inside.back[:, 1, 0] == 1.0
    return 0 if not sure.any() or np.all(inside.accept_prob[sure, 1] == 0.0) else 1


def _explain_way_back(spec: DelayedRejectionLesson) -> Said:
    inside = analysis.simulate(spec.replace(variant="exact", stages=2)).inside
    tried, sure = inside.stages > 1, inside.back[:, 1, 0] == 1.0
    return say(second_tries=int(tried.sum()), barred=int(sure.sum()))


def _explain_tuned(spec: DelayedRejectionLesson) -> Said:
    plain, delayed = both(spec)
    return say(
        plain_accepted=plain.shares[0],
        delayed_accepted=sum(delayed.shares),
        plain_per_transition=plain.per_transition,
        delayed_per_transition=delayed.per_transition,
        plain_per_evaluation=plain.per_evaluation,
        delayed_per_evaluation=delayed.per_evaluation,
    )


def _explain_bold(spec: DelayedRejectionLesson) -> Said:
    plain, delayed = both(spec)
    return say(plain_per_evaluation=plain.per_evaluation, delayed_per_evaluation=delayed.per_evaluation, gain=gain(spec))


def _explain_leap(spec: DelayedRejectionLesson) -> Said:
    timid = analysis.efficiency(spec.replace(pull=0.0))
    leap = analysis.efficiency(spec)
    return say(
        timid_per_evaluation=timid.per_evaluation,
        leap_per_evaluation=leap.per_evaluation,
        timid_accepted=timid.shares[1],
        leap_accepted=leap.shares[1],
    )


def leap_gain(spec: DelayedRejectionLesson) -> float:
    """Effective draws per evaluation with the present pull over those with none."""
    timid = analysis.efficiency(spec.replace(pull=0.0)).per_evaluation
    return analysis.efficiency(spec).per_evaluation / timid


def spread(spec: DelayedRejectionLesson) -> float:
    """sd of the first coordinate over a long run of this very sampler, as a multiple of the exact one."""
    truth = spec.build_target().truth
    assert truth is not None
    squares = (analysis.long_run(spec)[:, :, 0] - truth.mean[0]) ** 2
    return float(np.sqrt(squares.mean() / truth.covariance[0, 0]))


def spread_answer(spec: DelayedRejectionLesson) -> int:
    """Too narrow, right, too wide."""
    found = spread(spec)
    return 0 if found < 0.97 else 2 if found > 1.03 else 1


def _explain_spread(spec: DelayedRejectionLesson) -> Said:
    return say(sd_ratio=spread(spec))


QUESTIONS = (
    WORDS.question("way-back", way_back_answer, _explain_way_back, scenario="bold"),
    WORDS.question("bold", lambda spec: nearest(gain(spec), (0.5, 1.0, 2.5)), _explain_bold, scenario="bold"),
    WORDS.question("tuned", lambda spec: nearest(gain(spec), (0.7, 1.0, 1.4)), _explain_tuned, scenario="tuned"),
    WORDS.question("leap", lambda spec: nearest(leap_gain(spec), (0.4, 1.0, 2.5)), _explain_leap, scenario="leap"),
    WORDS.question("forgot", spread_answer, _explain_spread, scenario="forgot"),
)
