"""What stands below the stage: the proposal or the dimension, the largest value, the table of errors."""

from __future__ import annotations

import math

import numpy as np

from app.kit import charts, theme
from app.kit.charts import Column, Figure, Table
from app.kit.text import number
from engine.montecarlo import ball, midpoint
from lessons.monte_carlo import analysis
from lessons.monte_carlo.spec import WORDS, MonteCarloLesson

POINTS = 10_000  # of both methods in the comparison over dimensions
DIMENSIONS = range(2, 11)


def panels(spec: MonteCarloLesson, cancel: object = None) -> list[Figure]:
    """The choice of the proposal, or the dimension; the weight of the largest value."""
    figures = [_largest(spec)]
    if spec.integral == "ball":
        figures.insert(0, _dimensions(spec))
    elif spec.integral != "cauchy":
        figures.insert(0, _proposal(spec))
    return figures


def _dimensions(spec: MonteCarloLesson) -> Figure:
    volumes = [ball(d) for d in DIMENSIONS]
    chance = [math.sqrt(v.variance / POINTS) / v.mean for v in volumes]
    grid = [abs(midpoint(v, POINTS)[0] / v.mean - 1.0) for v in volumes]
    figure = charts.blank(WORDS.phrase("panels.dimension"), WORDS.phrase("panels.relative_error"))
    figure.layout.yaxis.type = "log"
    for values, role, symbol, name in (
        (chance, "posterior", "circle", WORDS.phrase("panels.monte_carlo")),
        (grid, "energy", "square", WORDS.phrase("panels.grid")),
    ):
        look = {"color": theme.colour(role), "symbol": symbol, "size": 9}
        figure.add_scatter(x=list(DIMENSIONS), y=values, mode="lines+markers", marker=look, name=name)
    figure.layout.showlegend = True
    better = 1 + max(d for d, a, b in zip(DIMENSIONS, chance, grid, strict=True) if b <= a)
    text = WORDS.phrase("panels.grid_caption", points=number(POINTS), better=better, side=POINTS ** (1 / 10))
    alt = WORDS.phrase("panels.grid_alt", better=better)
    return Figure(WORDS.phrase("panels.against_grid"), figure, alt, text)


def _proposal(spec: MonteCarloLesson) -> Figure:
    found = analysis.proposals(spec)
    assert found is not None
    at, sd, present = found
    name = {"power": WORDS.phrase("panels.b"), "rare": WORDS.phrase("panels.shift"), "square": "s of N(0, s²)"}[spec.integral]
    finite = np.isfinite(sd) & (sd > 0.0)
    figure = charts.blank(name, WORDS.phrase("panels.sigma"))
    figure.layout.yaxis.type = "log"
    line = {"color": theme.colour("posterior"), "width": 2.5}
    figure.add_scatter(x=at[finite], y=sd[finite], mode="lines", line=line, name=WORDS.phrase("panels.exact"))
    here = math.sqrt(spec.build().variance)
    if math.isfinite(here) and here > 0.0:
        look = {"color": theme.colour("ink"), "symbol": "diamond", "size": 11}
        figure.add_scatter(x=[present], y=[here], mode="markers", marker=look, name=WORDS.phrase("panels.now"))
    figure.layout.showlegend = True
    best = float(at[np.nanargmin(np.where(np.isfinite(sd), sd, np.nan))])
    now = number(here) if math.isfinite(here) else WORDS.phrase("panels.infinite")
    text = WORDS.phrase("panels.proposal_caption", now=now, best=number(best))
    if not np.all(np.isfinite(sd)):
        edge = at[np.isfinite(sd)].min()
        text = f"{text} {WORDS.phrase('panels.no_curve', edge=number(float(edge), 2))}"
    alt = WORDS.phrase("panels.proposal_alt", name=name, now=now, best=number(best))
    return Figure(WORDS.phrase("panels.proposal"), figure, alt, text)


def _largest(spec: MonteCarloLesson) -> Figure:
    here = analysis.estimates(spec)
    share = here.largest
    figure = charts.blank(WORDS.phrase("stage.n"), WORDS.phrase("panels.largest"))
    figure.layout.xaxis.type = "log"
    figure.layout.yaxis.range = [0.0, 1.05]
    line = {"color": theme.colour("reject"), "width": 2.5}
    figure.add_scatter(x=here.n, y=share, mode="lines", line=line, name=WORDS.phrase("stage.median"))
    last = number(100 * float(share[-1]))
    text = WORDS.phrase("panels.largest_caption", replications=spec.replications, draws=number(spec.draws), last=last)
    return Figure(WORDS.phrase("panels.one_draw"), figure, WORDS.phrase("panels.largest_alt", last=last), text)


def diagnostics(spec: MonteCarloLesson, cancel: object = None) -> Table:
    """Typical and exact errors and the coverage of the band at some numbers of draws."""
    here = analysis.estimates(spec)
    at = analysis.marks(spec.draws)
    columns: dict[str, Column] = {
        "draws n": at,
        "average of this run": [float(here.runs.means[0, n - 1]) for n in at],
        "exact": [float(here.integral.mean)] * len(at),
        "typical error": [float(here.typical[n - 1]) for n in at],
        "σ/√n": [float(here.exact_error[n - 1]) for n in at],
        "reported by this run": [float(here.own[n - 1]) for n in at],
        "95 % band held the truth": [f"{100 * here.coverage(n):.0f} %" if math.isfinite(here.integral.mean) else "–" for n in at],
    }
    what = WORDS.phrase("stage.root_mean_square") if here.finite else WORDS.phrase("stage.median")
    caption = WORDS.phrase("panels.errors_caption", replications=number(spec.replications), draws=number(spec.draws), what=what)
    return Table(WORDS.phrase("panels.errors"), columns, caption)
