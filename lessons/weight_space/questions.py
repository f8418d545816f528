"""The predictions of this lesson, with answers computed from the runs."""

from __future__ import annotations

import numpy as np

from app.kit.text import number
from app.kit.words import Said, say
from engine.diagnostics import split_rhat
from lessons.weight_space import analysis
from lessons.weight_space.spec import WORDS, WeightSpaceSpec

LIMIT = 1.05  # a shown run is short: its R-hat of a mixing quantity may be that far from 1
DIGITS = (1e-9, 1.0)  # nats: rounding below the first, something else above


def final_rhats(spec: WeightSpaceSpec) -> tuple[float, float]:
    """Largest split R-hat of a weight, and of the function at the watched inputs, over the shown draws."""
    draws = analysis.compared(spec, analysis.draws_of(spec))
    function = analysis.function_at(spec, draws, analysis.watched(spec))
    return float(np.max(split_rhat(draws))), float(np.max(split_rhat(function)))


def screams(spec: WeightSpaceSpec) -> int:
    """0: only weights disagree, 1: only the function, 2: both, 3: neither."""
    weights, function = (value > LIMIT for value in final_rhats(spec))
    return {(True, False): 0, (False, True): 1, (True, True): 2, (False, False): 3}[weights, function]


def _explain_screams(spec: WeightSpaceSpec) -> Said:
    weights, function = final_rhats(spec)
    return say(draws=spec.draws, weights_rhat=weights, function_rhat=function)


def change(spec: WeightSpaceSpec) -> float:
    """Median change of the log density over the shown draws of the followed chain, nats."""
    made = analysis.copied(spec, analysis.draws_of(spec)[spec.chain - 1])
    return float(np.median(np.abs(made.log_density_after - made.log_density)))


def _explain_change(spec: WeightSpaceSpec) -> Said:
    made = analysis.copied(spec, analysis.draws_of(spec)[spec.chain - 1])
    right = analysis.copied(spec.replace(mistake="none"), analysis.draws_of(spec)[spec.chain - 1])
    largest = float(np.abs(right.log_density_after - right.log_density).max())
    return say(change=change(spec), function_error=made.function_error.max(), draws=len(right.ulps), rounding=number(largest, 2))


def upper_shares(spec: WeightSpaceSpec) -> tuple[float, float]:
    """Share of the upper hump at x′, of the shown draws and of the same chains sampled on."""
    at = np.array([spec.at])
    shown, longer = (
        analysis.function_at(spec, draws, at)[..., 0] for draws in (analysis.draws_of(spec), analysis.longer(spec, None).draws)
    )
    cut = analysis.prediction(shown).cut
    return float(np.mean(shown > cut)), float(np.mean(longer > cut))


def later(spec: WeightSpaceSpec) -> int:
    """What more draws do to the upper hump: 0 it goes, 1 it stays within a tenth of its share, 2 it grows."""
    before, after = upper_shares(spec)
    return 1 if abs(after - before) <= 0.1 * before else 0 if after < before else 2


def _explain_later(spec: WeightSpaceSpec) -> Said:
    before, after = upper_shares(spec)
    values = analysis.function_at(spec, analysis.draws_of(spec), np.array([spec.at]))[..., 0]
    found, truth = analysis.prediction(values), analysis.exact_prediction(spec)
    known = dict(
        before=100 * before,
        draws=spec.draws,
        after=100 * after,
        kept=analysis.KEPT[spec.units],
        chain_shares=", ".join(f"{100 * share:.0f} %" for share in found.upper),
        rhat=found.rhat,
    )
    if truth is None:
        return say("hump", "chains", **known)
    return say("hump", "exact", "chains", **known, exact=100 * truth.share_above(found.cut))


QUESTIONS = [
    WORDS.question("screams", screams, _explain_screams, scenario="switch", limit=LIMIT),
    WORDS.question("forgotten", lambda spec: int(np.searchsorted(DIGITS, change(spec))), _explain_change, scenario="forgot-bias"),
    WORDS.question("later", later, _explain_later, scenario="unmixed", kept=analysis.KEPT[1]),
]
