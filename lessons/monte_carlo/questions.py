"""The predictions, with answers computed from repeated runs."""

from __future__ import annotations

import numpy as np

from app.kit.words import Said, say
from engine.judge.answers import nearest
from lessons.monte_carlo import analysis
from lessons.monte_carlo.spec import WORDS, MonteCarloLesson


def gain(spec: MonteCarloLesson, few: int, many: int) -> float:
    """The typical error after `few` draws over that after `many`."""
    typical = analysis.estimates(spec).typical
    return float(typical[few - 1] / typical[min(many, spec.draws) - 1])


def _explain_four(spec: MonteCarloLesson) -> Said:
    here = analysis.estimates(spec)
    few = spec.draws // 4
    return say(
        few=few,
        replications=spec.replications,
        few_error=here.typical[few - 1],
        draws=spec.draws,
        error=here.typical[-1],
        factor=gain(spec, few, spec.draws),
    )


def _explain_infinite(spec: MonteCarloLesson) -> Said:
    here, many = analysis.estimates(spec), min(1000, spec.draws)
    return say(
        many=many,
        few_error=here.typical[9],
        many_error=here.typical[many - 1],
        factor=gain(spec, 10, 1000),
        rate=here.integral.rate,
        theory=100**here.integral.rate,
        coverage=100 * here.coverage(spec.draws),
    )


def spread(spec: MonteCarloLesson) -> float:
    """Interquartile range of the averages of all draws over that of single draws."""
    means = analysis.estimates(spec).runs.means
    wide = [float(np.subtract(*np.quantile(means[:, k], [0.75, 0.25]))) for k in (-1, 0)]
    return wide[0] / wide[1]


def _explain_cauchy(spec: MonteCarloLesson) -> Said:
    return say(draws=spec.draws, width_ratio=spread(spec), replications=spec.replications)


QUESTIONS = [
    WORDS.question("four", lambda spec: (analysis.estimates(spec).typical[-1],), _explain_four, scenario="pi"),
    WORDS.question("infinite", lambda spec: nearest(gain(spec, 10, 1000), (10.0, 4.0, 1.0)), _explain_infinite, scenario="infinite"),
    WORDS.question("cauchy", lambda spec: nearest(spread(spec), (1 / 32, 1 / 4, 1.0)), _explain_cauchy, scenario="cauchy"),
]
