"""The predictions, with answers computed from the run."""

from __future__ import annotations

import numpy as np

from app.kit.frame import Question
from lessons.spike_and_slab import analysis, learning
from lessons.spike_and_slab.spec import SpikeAndSlabSpec


def _twins(spec: SpikeAndSlabSpec) -> int:
    here = analysis.setup(spec)
    exact, field = here.truth.inclusion[:2], here.field.inclusion[-1, :2]
    if np.abs(field - exact).max() < 0.1:
        return 0
    return 1 if field.max() > exact.max() else 2


def _explain_twins(spec: SpikeAndSlabSpec) -> str:
    here = analysis.setup(spec)
    exact, field = here.truth.inclusion[:2], here.field.inclusion[-1, :2]
    return (
        f"Exact: {exact[0]:.2f} and {exact[1]:.2f}. Mean-field: {field[0]:.2f} and {field[1]:.2f}. A product of "
        "independent coins cannot say *one of the two, I do not know which*. The ELBO prefers to be sure of one."
    )


def _vague(spec: SpikeAndSlabSpec) -> int:
    change = analysis.expected_size(spec) - analysis.expected_size(spec.replace(slab_sd=1.0))
    return 0 if change > 0.2 else 2 if change < -0.2 else 1


def _explain_vague(spec: SpikeAndSlabSpec) -> str:
    before, after = analysis.expected_size(spec.replace(slab_sd=1.0)), analysis.expected_size(spec)
    return (
        f"Expected number of predictors in: {before:.2f} with a slab of sd 1, {after:.2f} with sd {spec.slab_sd:g}. "
        "Evidence is the likelihood *averaged over the prior*, and a wider prior wastes more of itself."
    )


def _sizes(spec: SpikeAndSlabSpec) -> tuple[float, float]:
    """Mean number of predictors in, of a longer run; and the exact one."""
    return float(analysis.long_run(spec).included.sum(axis=2).mean()), analysis.expected_size(spec)


def _unnormalised(spec: SpikeAndSlabSpec) -> int:
    found, exact = _sizes(spec)
    return 0 if found > exact + 0.1 else 2 if found < exact - 0.1 else 1


def _explain_unnormalised(spec: SpikeAndSlabSpec) -> str:
    found, exact = _sizes(spec)
    return (
        f"{found:.2f} predictors in on average, exact {exact:.2f}. The odds of each are "
        f"$s\\sqrt{{2\\pi}} = {np.exp(spec.log_odds_error):.2f}$ times too high."
    )


def _modes(spec: SpikeAndSlabSpec) -> tuple[float, float]:
    """Accuracy of the average and of the median model on the test digits."""
    fit, truth = learning.fitted(spec), learning.digits().y_test
    return tuple(learning.predicted(fit, mode).accuracy(truth) for mode in ("MA", "MED"))


def _median(spec: SpikeAndSlabSpec) -> int:
    averaged, median = _modes(spec)
    return 0 if median > averaged + 0.02 else 1 if median > averaged - 0.02 else 2


def _explain_median(spec: SpikeAndSlabSpec) -> str:
    averaged, median = _modes(spec)
    fit = learning.fitted(spec)
    return (
        f"{100 * averaged:.1f} % of the test digits by the average of ten networks, {100 * median:.1f} % by the median "
        f"model, which keeps {100 * fit.select().density:.1f} % of the weights. Weights with α of a third are cut one "
        "and all, though every network drawn has a third of them."
    )


QUESTIONS = [
    Question(
        "twins",
        "Two predictors are nearly the same, one of them has the effect. What does mean-field say about the two?",
        ["Both near their exact probability", "More sure than exact that one is in", "Less than exact for both"],
        _twins,
        _explain_twins,
        scenario="twins",
    ),
    Question(
        "vague",
        "The slab is made 300 times as wide, “to let the data speak”. How many predictors are in now?",
        ["More", "About as many", "Fewer"],
        _vague,
        _explain_vague,
        scenario="vague",
    ),
    Question(
        "unnormalised",
        "The slab's constant 1/(s√2π) is left out, with s = 3. How many predictors does the chain take in?",
        ["Too many", "The right number", "Too few"],
        _unnormalised,
        _explain_unnormalised,
        scenario="unnormalised",
    ),
    Question(
        "median",
        "At odds of n⁻² a weight, which predicts better: ten drawn networks averaged, or the median model?",
        ["The median model", "About the same", "The average"],
        _median,
        _explain_median,
        scenario="too-sparse",
    ),
]
