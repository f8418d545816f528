"""The predictions, with answers computed from the runs."""

from __future__ import annotations

import numpy as np

from app.kit.words import Said, say
from engine import ticket
from lessons.weights import analysis, digits
from lessons.weights.spec import WORDS, WeightsSpec
from lessons.weights.training import model_of

RATIOS = (0.25, 0.7, 1.0, 1.6)


def region(spec: WeightsSpec, name: str) -> analysis.Region:
    """One line of the comparison, by its name in the words."""
    return next(line for line in analysis.compared(spec, ticket.held()) if line.name == analysis.REGIONS[name])


def _outside(spec: WeightsSpec) -> int:
    found = region(spec, "outside").ratio
    return int(np.argmin([abs(np.log(found / choice)) for choice in RATIOS]))


def _explain_outside(spec: WeightsSpec) -> Said:
    each = [
        WORDS.phrase("questions.outside.each", region=line.name, ratio=line.ratio, low=line.low, high=line.high)
        for line in analysis.compared(spec, ticket.held())
    ]
    return say(ratios="; ".join(each))


def points_right(spec: WeightsSpec) -> tuple[float, float]:
    """Share of the points that q's and NUTS's averages get right."""
    chains = analysis.reference(spec, ticket.held()).recording.draws.reshape(-1, model_of(spec).dim)
    return analysis.right(spec, analysis.drawn(spec)), analysis.right(spec, chains)


def _gives_up(spec: WeightsSpec) -> int:
    found, _ = points_right(spec)
    return 0 if found > 0.95 else 1 if found > 0.7 else 2


def _explain_gives_up(spec: WeightsSpec) -> Said:
    q, nuts = points_right(spec)
    elbo, error = analysis.elbo(spec)
    coin = spec.size * np.log(0.5)
    return say(q_right=100 * q, nuts_right=100 * nuts, points=spec.size, coin=coin, elbo=elbo, error=error)


def between(spec: WeightsSpec) -> tuple[float, float]:
    """Ratio in the gap, with the right objective and as the spec has it."""
    return region(spec.replace(variant="exact"), "between").ratio, region(spec, "between").ratio


def _light(spec: WeightsSpec) -> int:
    before, after = between(spec)
    return 0 if after < 0.8 * before else 2 if after > 1.25 * before else 1


def _explain_light(spec: WeightsSpec) -> Said:
    before, after = between(spec)
    return say(with_whole=before, with_tenth=after)


def spare(spec: WeightsSpec) -> tuple[float, float, float]:
    """Share of the weights that can be cut, the threshold of |mean| / sd, and what is then read right; see `digits.Look.cut`."""
    look = digits.ended(spec).looks[-1]
    at = max(look.cut, 0)
    return 1.0 - float(look.kept[at]), float(digits.THRESHOLDS[at]), float(look.right[at])


def _pruned(spec: WeightsSpec) -> int:
    share, _, _ = spare(spec)
    return 0 if share < 0.4 else 1 if share < 0.75 else 2


def _explain_pruned(spec: WeightsSpec) -> Said:
    (share, threshold, right), look = spare(spec), digits.ended(spec).looks[-1]
    return say(share=100 * share, threshold=threshold, right=100 * right, all=100 * look.middle)


QUESTIONS = [
    WORDS.question("outside", _outside, _explain_outside, scenario="gap"),
    WORDS.question("gives-up", _gives_up, _explain_gives_up, scenario="gives-up"),
    WORDS.question("light", _light, _explain_light, scenario="light-kl"),
    WORDS.question("pruned", _pruned, _explain_pruned, scenario="digits"),
]
