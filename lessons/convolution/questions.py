"""The predictions, with answers computed from the runs."""

from __future__ import annotations

import numpy as np

from app.kit.words import Said, say
from lessons.convolution import analysis, training
from lessons.convolution.analysis import DRAWS, SHIFTS, Spread
from lessons.convolution.spec import WORDS, ConvolutionLesson

TELLING = 0.3  # correlation from which two places go together,
GAP = 0.1  # and a difference of shares that counts


def _spread(spec: ConvolutionLesson) -> Spread:
    state = training.trained(spec)
    assert state is not None
    return analysis.spread(spec, state.fit)


def _explain_edge(spec: ConvolutionLesson) -> Said:
    ink, across, down = analysis.follows(spec)
    return say(ink=ink, across=across, down=down)


def _shared(spec: ConvolutionLesson) -> int:
    rho = _spread(spec).rho
    return 0 if rho > TELLING else 2 if rho < -TELLING else 1


def _explain_shared(spec: ConvolutionLesson) -> Said:
    found = _spread(spec)
    flat = found.maps.reshape(DRAWS, -1)
    return say(rho=found.rho, draws=DRAWS, seen=float(np.corrcoef(flat[:, found.a], flat[:, found.b])[0, 1]))


def _both(spec: ConvolutionLesson) -> tuple[float, float]:
    """Shares read right two pixels away: without pooling, and with it."""
    return analysis.right_at(spec.replace(pooling="none"), 2), analysis.right_at(spec.replace(pooling="max"), 2)


def _pooling(spec: ConvolutionLesson) -> int:
    none, pooled = _both(spec)
    return 0 if none > pooled + GAP else 2 if none < pooled - GAP else 1


def _explain_pooling(spec: ConvolutionLesson) -> Said:
    (none, pooled), dense = _both(spec), analysis.read(spec).dense_right
    return say(none=none, max=pooled, dense=0.5 * float(dense[SHIFTS.index(2)] + dense[SHIFTS.index(-2)]))


QUESTIONS = (
    WORDS.question("edge", lambda spec: int(analysis.follows(spec).argmax()), _explain_edge, scenario="kernel"),
    WORDS.question("shared", _shared, _explain_shared, scenario="posterior"),
    WORDS.question("pooling", _pooling, _explain_pooling, scenario="no-pooling"),
)
