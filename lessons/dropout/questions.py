"""Predict → lock → run → explain. Every answer is computed from the run."""

from __future__ import annotations

from app.kit.words import Said, say
from engine import ticket
from engine.judge.answers import nearest
from lessons.dropout import analysis
from lessons.dropout.spec import WORDS, DropoutSpec

FEW = 20  # points of the scenario that *More data* is compared with


def ratios(spec: DropoutSpec) -> tuple[float, float]:
    """sd of dropout over that of the posterior, at the data and in the gap."""
    exact, study = analysis.everywhere(spec), analysis.study(spec, ticket.held())
    assert study is not None
    at, gap = (
        analysis.region_sd(spec, exact.sd, name) / analysis.region_sd(spec, study.sd, name) for name in (analysis.AT_DATA, analysis.IN_GAP)
    )
    return at, gap


def _where(spec: DropoutSpec) -> int:
    at, gap = ratios(spec)
    return 2 * (at < 1.0) + (gap < 1.0)


def _where_why(spec: DropoutSpec) -> Said:
    at_data, in_gap = ratios(spec)
    return say(at_data=at_data, in_gap=in_gap)


def shout(spec: DropoutSpec) -> float:
    """Switched off, without the bias: how many times the average over the masks."""
    bias, at = analysis.weights(spec).bias, analysis.probe(spec)
    average = float(analysis.over_masks(spec, at, raw=True).mean[0])
    return (float(analysis.switched_off(spec, at)[0]) - bias) / (average - bias)


LEVELS = (0.6, 1.0, 1.67)


def _shout(spec: DropoutSpec) -> int:
    return nearest(shout(spec), LEVELS, log=False)


def _shout_why(spec: DropoutSpec) -> Said:
    return say(ratio=shout(spec), inverse_p=1 / analysis.keeps(spec)[1])


def widths(spec: DropoutSpec) -> tuple[float, float]:
    """Dropout's mean sd at the data, with `FEW` points and with those of `spec`."""
    few = spec.replace(rows=FEW)
    one, other = (analysis.region_sd(here, analysis.everywhere(here).sd, analysis.AT_DATA) for here in (few, spec))
    return one, other


def _narrower(spec: DropoutSpec) -> int:
    before, after = widths(spec)
    return 0 if after < 0.6 * before else 1 if after < 0.85 * before else 2


def _narrower_why(spec: DropoutSpec) -> Said:
    few, more = widths(spec)
    return say(few_sd=few, more_sd=more, points=spec.rows, root_n_factor=(spec.rows / FEW) ** 0.5)


def _learned(spec: DropoutSpec) -> int:
    keep = analysis.keeps(spec)[1]
    return 0 if keep < 0.7 else 1 if keep < 0.97 else 2


def _learned_why(spec: DropoutSpec) -> Said:
    inputs, units = analysis.keeps(spec)
    sd = analysis.region_sd(spec, analysis.everywhere(spec).sd, analysis.IN_GAP)
    return say(p_units=units, p_input=inputs, gap_sd=sd)


QUESTIONS = [
    WORDS.question("where", _where, _where_why, scenario="passes"),
    WORDS.question("shout", _shout, _shout_why, scenario="unscaled"),
    WORDS.question("more-data", _narrower, _narrower_why, scenario="more-data", few=FEW),
    WORDS.question("learned", _learned, _learned_why, scenario="concrete"),
]
