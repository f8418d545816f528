"""What stands below the stage: error by the clock, who wins which pair, what each evaluation brings, the table."""

from __future__ import annotations

import math

import numpy as np

from app.kit import charts, theme
from app.kit.charts import Column, Figure, Table
from app.kit.text import number
from engine import diagnostics
from lessons.race import analysis
from lessons.race.spec import RACERS, RaceLesson


def panels(spec: RaceLesson, cancel: object = None) -> list[Figure]:
    """Error against time, paired wins, effective draws per evaluation."""
    return [_by_the_clock(spec), _wins(spec), _efficiency(spec)]


def _by_the_clock(spec: RaceLesson) -> Figure:
    """Timed now, on this machine: the one figure of this page that is not the same twice."""
    names = analysis.names(spec)
    figure = charts.blank("time (ms), both axes logarithmic", "error of both moments", height=320)
    for c, (racer, (seconds, error)) in enumerate(analysis.error_in_time(spec).items()):
        shown = np.isfinite(error) & (error > 0)
        line = {"color": theme.colour(f"chain-{c}"), "dash": theme.DASHES[c], "width": 2}
        figure.add_scatter(x=1000 * seconds[shown], y=error[shown], mode="lines", line=line, name=names[racer])
    figure.update_xaxes(type="log", dtick=1)
    figure.update_yaxes(type="log", dtick=1)
    first, then = analysis.fastest(spec)
    listed = ", ".join(f"{names[racer]} {number(value)}" for racer, value in then.items())
    caption = (
        f"When the first of the four had spent its budget, {names[first]} was ahead: {listed}. Median over "
        f"{spec.pairs} pairs. Timed on this machine just now, the fastest of {analysis.TIMED} runs of pair 1, NUTS's "
        "tuning included. Another moment gives other times, so they are not part of the recording or of the link."
    )
    return Figure("Error by the clock", figure, f"Error against milliseconds for four samplers. {caption}", caption)


def _wins(spec: RaceLesson) -> Figure:
    names, wins = analysis.names(spec), analysis.race(spec).wins()
    caption = (
        f"{spec.pairs} pairs: in each all four share start and seed, and the smallest error of both moments at the end "
        "wins. Pairing takes the luck of the start out of the comparison."
    )
    listed = ", ".join(f"{names[racer]} {100 * share:.0f} %" for racer, share in wins.items())
    return charts.bars(
        "Share of the pairs won",
        [names[racer] for racer in RACERS],
        list(wins.values()),
        alt=f"Share of pairs won: {listed}.",
        x="sampler",
        y="share of pairs",
        caption=caption,
    )


def _efficiency(spec: RaceLesson) -> Figure:
    names, found = analysis.names(spec), analysis.race(spec)
    values = [analysis.effective_per_thousand(found, racer) for racer in RACERS]
    listed = ", ".join(f"{names[racer]} {number(value)}" for racer, value in zip(RACERS, values, strict=True))
    kinds = " and the ".join(analysis.features(found.target).kinds)
    caption = (
        f"Effective sample size (ESS) for the {kinds} of the worst of up to {analysis.WATCHED} coordinates, in the "
        f"first {analysis.SUMMED_PAIRS} pairs, without tuning. Independent draws for one evaluation each would have "
        "1 000. Gibbs is charged one evaluation for each draw from a conditional."
        if spec.has_conditionals
        else f"Effective sample size (ESS) for the {kinds} of the worst of up to {analysis.WATCHED} coordinates, in "
        f"the first {analysis.SUMMED_PAIRS} pairs, without tuning. Independent draws for one evaluation each would "
        "have 1 000."
    )
    figure = charts.bars(
        "Effective draws per 1 000 evaluations",
        [names[racer] for racer in RACERS],
        values,
        alt=f"Effective draws per 1 000 evaluations: {listed}.",
        x="sampler",
        y="ESS",
        caption=caption,
    )
    figure.figure.update_yaxes(type="log", dtick=1)
    return figure


def diagnostics_table(spec: RaceLesson, cancel: object = None) -> Table:
    """One row a racer: what it did, what it cost, how wrong it ends."""
    names, found, seconds = analysis.names(spec), analysis.race(spec), analysis.clock(spec)
    lanes = [found.lanes[racer] for racer in RACERS]
    kinds = analysis.features(found.target).kinds
    spent = [seconds[racer] / max(1, int(lane.evaluations[0] + lane.tuning[0])) for racer, lane in zip(RACERS, lanes, strict=True)]
    per_second = [
        analysis.effective_per_thousand(found, racer) / 1000 * int(lane.evaluations[0]) / max(seconds[racer], 1e-9)
        for racer, lane in zip(RACERS, lanes, strict=True)
    ]
    columns: dict[str, Column] = {
        "sampler": [names[racer] for racer in RACERS],
        **{f"error of the {kind}": [float(np.median(_last(lane.error[k]))) for lane in lanes] for k, kind in enumerate(kinds)},
        "draws": [int(np.median(lane.draws)) for lane in lanes],
        "evaluations": [int(np.median(lane.evaluations)) for lane in lanes],
        "for tuning": [int(np.median(lane.tuning)) for lane in lanes],
        "acceptance": [lane.acceptance for lane in lanes],
        "divergences": [lane.divergences for lane in lanes],
        "R-hat": [_rhat(lane.watched) for lane in lanes],
        "ESS / 1000 evaluations": [analysis.effective_per_thousand(found, racer) for racer in RACERS],
        "ESS / s": per_second,
        "ns / evaluation": [1e9 * value for value in spent],
    }
    caption = (
        f"Medians over {spec.pairs} pairs; R-hat of the first {analysis.SUMMED_PAIRS} races taken as chains, the "
        f"worst of "
        "the watched features. Errors are root mean squares over all coordinates, in units of the exact sd or "
        "variance. "
        "NUTS's step size after tuning: "
        f"{number(found.lanes['nuts'].step_size)}. Seconds are measured on this machine and change from run to run."
    )
    return Table("The race in numbers", columns, caption)


def _last(error: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(error[:, -1]), np.inf, error[:, -1])


def _rhat(watched: np.ndarray) -> str:
    if watched.shape[1] < 8:
        return "–"
    values = [diagnostics.rhat(watched[:, :, k]) for k in range(watched.shape[2])]
    worst = max((value for value in values if math.isfinite(value)), default=math.nan)
    return f"{worst:.3f}" if math.isfinite(worst) else "–"
