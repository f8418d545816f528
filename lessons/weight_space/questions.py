"""The predictions of this lesson, with answers computed from the runs."""

from __future__ import annotations

import numpy as np

from app.kit.frame import Question
from app.kit.text import number
from lessons.weight_space import analysis
from lessons.weight_space.spec import WeightSpaceSpec

LIMIT = 1.05  # a shown run is short: its R-hat of a mixing quantity may be that far from 1
DIGITS = (1e-9, 1.0)  # nats: rounding below the first, something else above


def final_rhats(spec: WeightSpaceSpec) -> tuple[float, float]:
    """Largest split R-hat of a weight, and of the function at the watched inputs, over the shown draws."""
    draws = analysis.compared(spec, analysis.draws_of(spec))
    function = analysis.function_at(spec, draws, analysis.watched(spec))
    return float(np.max(analysis.split_rhat(draws))), float(np.max(analysis.split_rhat(function)))


def screams(spec: WeightSpaceSpec) -> int:
    """0: only weights disagree, 1: only the function, 2: both, 3: neither."""
    weights, function = (value > LIMIT for value in final_rhats(spec))
    return {(True, False): 0, (False, True): 1, (True, True): 2, (False, False): 3}[weights, function]


def _explain_screams(spec: WeightSpaceSpec) -> str:
    weights, function = final_rhats(spec)
    return (
        f"After {spec.draws} draws of each chain the largest split R-hat of a weight is {weights:.2f}, that of $f$ "
        f"{function:.3f}. The chains sit in different copies of the same place. "
        "R-hat is right both times: the weights are not mixed, and the function is."
    )


def change(spec: WeightSpaceSpec) -> float:
    """Median change of the log density over the shown draws of the followed chain, nats."""
    made = analysis.copied(spec, analysis.draws_of(spec)[spec.chain - 1])
    return float(np.median(np.abs(made.log_density_after - made.log_density)))


def _explain_change(spec: WeightSpaceSpec) -> str:
    made = analysis.copied(spec, analysis.draws_of(spec)[spec.chain - 1])
    right = analysis.copied(spec.replace(mistake="none"), analysis.draws_of(spec)[spec.chain - 1])
    largest = float(np.abs(right.log_density_after - right.log_density).max())
    return (
        f"Half of the draws change by more than {change(spec):.3g} nats, and the curve by up to "
        f"{made.function_error.max():.2g}. With the bias flipped as well, the largest change of "
        f"{len(right.ulps)} draws is {number(largest, 2)} nats."
    )


def upper_shares(spec: WeightSpaceSpec) -> tuple[float, float]:
    """Share of the upper hump at x′, of the shown draws and of the same chains sampled on."""
    at = np.array([spec.at])
    shown, longer = (
        analysis.function_at(spec, draws, at)[..., 0]
        for draws in (analysis.draws_of(spec), analysis.longer(spec, None).draws)
    )
    cut = analysis.prediction(shown).cut
    return float(np.mean(shown > cut)), float(np.mean(longer > cut))


def later(spec: WeightSpaceSpec) -> int:
    """What more draws do to the upper hump: 0 it goes, 1 it stays within a tenth of its share, 2 it grows."""
    before, after = upper_shares(spec)
    return 1 if abs(after - before) <= 0.1 * before else 0 if after < before else 2


def _explain_later(spec: WeightSpaceSpec) -> str:
    before, after = upper_shares(spec)
    values = analysis.function_at(spec, analysis.draws_of(spec), np.array([spec.at]))[..., 0]
    found, truth = analysis.prediction(values), analysis.exact_prediction(spec)
    chains = ", ".join(f"{100 * share:.0f} %" for share in found.upper)
    told = ""
    if truth is not None:
        told = f" Exactly it holds {100 * truth.share_above(found.cut):.2g} % of the probability."
    return (
        f"The upper hump holds {100 * before:.0f} % of the {spec.draws} shown draws of each chain and "
        f"{100 * after:.0f} % of {analysis.KEPT[spec.units]:,}.{told} Chain by chain its share is {chains}: no chain "
        f"crosses, so more draws say the same more often. Split R-hat {found.rhat:.2f}."
    )


QUESTIONS = [
    Question(
        "screams",
        "Four chains, two tanh units, each chain begun at random. After a few hundred draws, which R-hat is above "
        f"{LIMIT}?",
        ["That of some weights, not of f", "That of f, not of the weights", "Both", "Neither"],
        screams,
        _explain_screams,
        scenario="switch",
    ),
    Question(
        "forgotten",
        "Flip the signs of $w$ and $v$ of one unit, and leave its bias $b$. By how much does the log density of a "
        "typical draw change?",
        ["Not at all, but for rounding", "By less than 1 nat", "By more than 1 nat"],
        lambda spec: int(np.searchsorted(DIGITS, change(spec))),
        _explain_change,
        scenario="forgot-bias",
    ),
    Question(
        "later",
        f"Sample on: {analysis.KEPT[1]:,} draws of each chain. What happens to the hump near 0, which the exact "
        "density hardly has?",
        ["It melts away, as it should", "It stays as large as it is", "It grows"],
        later,
        _explain_later,
        scenario="unmixed",
    ),
]
