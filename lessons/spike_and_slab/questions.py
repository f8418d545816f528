"""The predictions, with answers computed from the run."""

from __future__ import annotations

import numpy as np

from app.kit.words import Said, say
from lessons.spike_and_slab import analysis, learning
from lessons.spike_and_slab.spec import WORDS, SpikeAndSlabSpec


def _twins(spec: SpikeAndSlabSpec) -> int:
    here = analysis.setup(spec)
    exact, field = here.truth.inclusion[:2], here.field.inclusion[-1, :2]
    if np.abs(field - exact).max() < 0.1:
        return 0
    return 1 if field.max() > exact.max() else 2


def _explain_twins(spec: SpikeAndSlabSpec) -> Said:
    here = analysis.setup(spec)
    exact, field = here.truth.inclusion[:2], here.field.inclusion[-1, :2]
    return say(exact_first=exact[0], exact_second=exact[1], field_first=field[0], field_second=field[1])


def _vague(spec: SpikeAndSlabSpec) -> int:
    change = analysis.expected_size(spec) - analysis.expected_size(spec.replace(slab_sd=1.0))
    return 0 if change > 0.2 else 2 if change < -0.2 else 1


def _explain_vague(spec: SpikeAndSlabSpec) -> Said:
    before, after = analysis.expected_size(spec.replace(slab_sd=1.0)), analysis.expected_size(spec)
    return say(before=before, after=after, slab_sd=spec.slab_sd)


def _sizes(spec: SpikeAndSlabSpec) -> tuple[float, float]:
    """Mean number of predictors in, of a longer run; and the exact one."""
    return float(analysis.long_run(spec).included.sum(axis=2).mean()), analysis.expected_size(spec)


def _unnormalised(spec: SpikeAndSlabSpec) -> int:
    found, exact = _sizes(spec)
    return 0 if found > exact + 0.1 else 2 if found < exact - 0.1 else 1


def _explain_unnormalised(spec: SpikeAndSlabSpec) -> Said:
    found, exact = _sizes(spec)
    return say(found=found, exact=exact, odds_factor=np.exp(spec.log_odds_error))


def _modes(spec: SpikeAndSlabSpec) -> tuple[float, float]:
    """Accuracy of the average and of the median model on the test digits."""
    fit, data = learning.fitted(spec), learning.data_of(spec)
    average, median = (learning.predicted(fit, data, mode).accuracy(data.y_test) for mode in ("MA", "MED"))
    return average, median


def _median(spec: SpikeAndSlabSpec) -> int:
    averaged, median = _modes(spec)
    return 0 if median > averaged + 0.02 else 1 if median > averaged - 0.02 else 2


def _explain_median(spec: SpikeAndSlabSpec) -> Said:
    averaged, median = _modes(spec)
    kept = learning.fitted(spec).select().density
    return say(averaged=100 * averaged, median=100 * median, kept=100 * kept)


def _cut(spec: SpikeAndSlabSpec) -> SpikeAndSlabSpec:
    """The same network, trained, under the rising cut."""
    return spec.replace(view="cut")


QUESTIONS = [
    WORDS.question("twins", _twins, _explain_twins, scenario="twins"),
    WORDS.question("vague", _vague, _explain_vague, scenario="vague"),
    WORDS.question("unnormalised", _unnormalised, _explain_unnormalised, scenario="unnormalised"),
    WORDS.question("median", _median, _explain_median, scenario="too-sparse", reveal=_cut),
]
