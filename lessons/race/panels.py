"""What stands below the stage: error by the clock, who wins which pair, what each evaluation brings, the table."""

from __future__ import annotations

import math

import numpy as np

from app.kit import charts, theme
from app.kit.charts import Column, Figure, Table
from app.kit.text import number
from engine import diagnostics
from lessons.race import analysis
from lessons.race.spec import RACERS, WORDS, RaceLesson


def panels(spec: RaceLesson, cancel: object = None) -> list[Figure]:
    """Error against time, paired wins, effective draws per evaluation."""
    return [_by_the_clock(spec), _wins(spec), _efficiency(spec)]


def _by_the_clock(spec: RaceLesson) -> Figure:
    """Timed now, on this machine: the one figure of this page that is not the same twice."""
    names = analysis.names(spec)
    figure = charts.blank(WORDS.phrase("panels.time"), WORDS.phrase("panels.error"), height=320)
    for c, (racer, (seconds, error)) in enumerate(analysis.error_in_time(spec).items()):
        shown = np.isfinite(error) & (error > 0)
        line = {"color": theme.colour(f"chain-{c}"), "dash": theme.DASHES[c], "width": 2}
        figure.add_scatter(x=1000 * seconds[shown], y=error[shown], mode="lines", line=line, name=names[racer])
    figure.update_xaxes(type="log", dtick=1)
    figure.update_yaxes(type="log", dtick=1)
    first, then = analysis.fastest(spec)
    listed = ", ".join(f"{names[racer]} {number(value)}" for racer, value in then.items())
    caption = WORDS.phrase("panels.clock_caption", first=names[first], listed=listed, pairs=spec.pairs, timed=analysis.TIMED)
    return Figure(WORDS.phrase("panels.clock"), figure, WORDS.phrase("panels.clock_alt", caption=caption), caption)


def _wins(spec: RaceLesson) -> Figure:
    names, wins = analysis.names(spec), analysis.race(spec).wins()
    listed = ", ".join(f"{names[racer]} {100 * share:.0f} %" for racer, share in wins.items())
    return charts.bars(
        WORDS.phrase("panels.wins"),
        [names[racer] for racer in RACERS],
        list(wins.values()),
        alt=WORDS.phrase("panels.wins_alt", listed=listed),
        x=WORDS.phrase("panels.sampler"),
        y=WORDS.phrase("panels.share"),
        caption=WORDS.phrase("panels.wins_caption", pairs=spec.pairs),
    )


def _efficiency(spec: RaceLesson) -> Figure:
    names, found = analysis.names(spec), analysis.race(spec)
    values = [analysis.effective_per_thousand(found, racer) for racer in RACERS]
    listed = ", ".join(f"{names[racer]} {number(value)}" for racer, value in zip(RACERS, values, strict=True))
    one, other = analysis.features(found.target).kinds
    caption = WORDS.phrase("panels.ess_caption", one=one, other=other, watched=analysis.WATCHED, pairs=analysis.SUMMED_PAIRS)
    if spec.has_conditionals:
        caption = f"{caption} {WORDS.phrase('panels.charged')}"
    figure = charts.bars(
        WORDS.phrase("panels.efficiency"),
        [names[racer] for racer in RACERS],
        values,
        alt=WORDS.phrase("panels.efficiency_alt", listed=listed),
        x=WORDS.phrase("panels.sampler"),
        y=WORDS.phrase("panels.ess"),
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
    step_size = number(found.lanes["nuts"].step_size)
    caption = WORDS.phrase("panels.numbers_caption", pairs=spec.pairs, races=analysis.SUMMED_PAIRS, step_size=step_size)
    return Table(WORDS.phrase("panels.numbers"), columns, caption)


def _last(error: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(error[:, -1]), np.inf, error[:, -1])


def _rhat(watched: np.ndarray) -> str:
    if watched.shape[1] < 8:
        return "–"
    values = [diagnostics.rhat(watched[:, :, k]) for k in range(watched.shape[2])]
    worst = max((value for value in values if math.isfinite(value)), default=math.nan)
    return f"{worst:.3f}" if math.isfinite(worst) else "–"
