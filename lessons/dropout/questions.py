"""Predict → lock → run → explain. Every answer is computed from the run."""

from __future__ import annotations

import threading

from app.kit.predict import Question
from lessons.dropout import analysis
from lessons.dropout.spec import DropoutSpec

NEVER = threading.Event()
FEW = 20  # points of the scenario that *More data* is compared with


def ratios(spec: DropoutSpec) -> tuple[float, float]:
    """sd of dropout over that of the posterior, at the data and in the gap."""
    exact, study = analysis.everywhere(spec), analysis.study(spec, NEVER)
    assert study is not None
    at, gap = (
        analysis.region_sd(spec, exact.sd, name) / analysis.region_sd(spec, study.sd, name)
        for name in ("at the data", "in the gap")
    )
    return at, gap


def _where(spec: DropoutSpec) -> int:
    at, gap = ratios(spec)
    return 2 * (at < 1.0) + (gap < 1.0)


def _where_why(spec: DropoutSpec) -> str:
    at, gap = ratios(spec)
    return (
        f"Dropout's sd is {at:.2g} times the posterior's at the data, and {gap:.2g} times in the gap. The posterior is "
        "unsure where no point says anything. A mask knows nothing of points: dropping a unit changes the function "
        "by what that unit adds, so the band is wide where the function is far from its bias b, and narrow where it "
        "passes b, data or no data."
    )


def shout(spec: DropoutSpec) -> float:
    """Switched off, without the bias: how many times the average over the masks."""
    bias, at = analysis.weights(spec).bias, analysis.probe(spec)
    average = float(analysis.over_masks(spec, at, raw=True).mean[0])
    return (float(analysis.switched_off(spec, at)[0]) - bias) / (average - bias)


LEVELS = (0.6, 1.0, 1.67)


def _shout(spec: DropoutSpec) -> int:
    found = shout(spec)
    return min(range(len(LEVELS)), key=lambda i: abs(LEVELS[i] - found))


def _shout_why(spec: DropoutSpec) -> str:
    return (
        f"{shout(spec):.3g} times, which is 1/p = {1 / analysis.keeps(spec)[1]:.3g}. Each term mⱼhⱼ is there in a "
        "share p of the passes, so the average holds p of each, and the network without masks all of each. Multiplying "
        "the kept units by 1/p in training makes both the same, and nothing needs to be done afterwards."
    )


def widths(spec: DropoutSpec) -> tuple[float, float]:
    """Dropout's mean sd at the data, with `FEW` points and with those of `spec`."""
    few = spec.replace(rows=FEW)
    return tuple(analysis.region_sd(here, analysis.everywhere(here).sd, "at the data") for here in (few, spec))


def _narrower(spec: DropoutSpec) -> int:
    before, after = widths(spec)
    return 0 if after < 0.6 * before else 1 if after < 0.85 * before else 2


def _narrower_why(spec: DropoutSpec) -> str:
    before, after = widths(spec)
    return (
        f"Mean sd at the data: {before:.3f} with {FEW} points, {after:.3f} with {spec.rows}. With more data the "
        "function comes nearer to them, its parts mⱼhⱼ grow, and so does what a mask takes away. By 1/√n the "
        f"posterior's would be divided by {(spec.rows / FEW) ** 0.5:.2g}. To make dropout's band shrink, p must go "
        "towards 1, which a fixed p forbids."
    )


def _learned(spec: DropoutSpec) -> int:
    keep = analysis.keeps(spec)[1]
    return 0 if keep < 0.7 else 1 if keep < 0.97 else 2


def _learned_why(spec: DropoutSpec) -> str:
    inputs, units = analysis.keeps(spec)
    sd = analysis.region_sd(spec, analysis.everywhere(spec).sd, "in the gap")
    return (
        f"p = {units:.4f} for the units, {inputs:.4f} for the input. Dropping costs squared error at each point; what "
        "speaks for it is only the entropy of the masks, ln 2 nats a unit at most, and there are few units. So p goes "
        f"towards 1 and the band all but vanishes, in the gap too (sd {sd:.3f})."
    )


QUESTIONS = [
    Question(
        "where",
        "Beside the posterior of the same network: how will dropout's band be at the data, and in the gap?",
        (
            "too wide at the data, too wide in the gap",
            "too wide at the data, too narrow in the gap",
            "too narrow at the data, too wide in the gap",
            "too narrow at the data, too narrow in the gap",
        ),
        _where,
        _where_why,
        scenario="passes",
    ),
    Question(
        "shout",
        "p = 0.6 and 1/p forgotten. Dropout is switched off: the output, without its bias, is how many times the "
        "average over the masks?",
        ("0.6 times", "the same", "1.67 times"),
        _shout,
        _shout_why,
        scenario="unscaled",
    ),
    Question(
        "more-data",
        f"{FEW} points become 80, with the same p. Dropout's sd where the data are becomes …",
        ("about half, as 1/√n says", "somewhat smaller", "about the same, or larger"),
        _narrower,
        _narrower_why,
        scenario="more-data",
    ),
    Question(
        "learned",
        "Concrete dropout learns p from these 20 points. Where will it end for the hidden units?",
        ("below 0.7", "between 0.7 and 0.97", "above 0.97"),
        _learned,
        _learned_why,
        scenario="concrete",
    ),
]
