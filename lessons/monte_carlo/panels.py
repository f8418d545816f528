"""What stands below the stage: the proposal or the dimension, the largest value, the table of errors."""

from __future__ import annotations

import math

import numpy as np

from app.kit import charts, theme
from app.kit.charts import Column, Figure, Table
from app.kit.text import number
from engine.montecarlo import ball, midpoint
from lessons.monte_carlo import analysis
from lessons.monte_carlo.spec import MonteCarloLesson

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
    figure = charts.blank("dimension d", "relative error (log scale)")
    figure.layout.yaxis.type = "log"
    for values, role, symbol, name in (
        (chance, "posterior", "circle", "Monte Carlo: σ/√n, exact"),
        (grid, "energy", "square", "regular grid (midpoint rule)"),
    ):
        look = {"color": theme.colour(role), "symbol": symbol, "size": 9}
        figure.add_scatter(x=list(DIMENSIONS), y=values, mode="lines+markers", marker=look, name=name)
    figure.layout.showlegend = True
    better = 1 + max(d for d, a, b in zip(DIMENSIONS, chance, grid, strict=True) if b <= a)
    text = (
        f"Volume of the ball with {number(POINTS)} points. The grid is better in the plane; from d = {better} it is "
        f"worse, since {number(POINTS)} points are only {POINTS ** (1 / 10):.1f} a side in ten dimensions. Monte "
        "Carlo's rate does not know the dimension; its σ does."
    )
    alt = f"Relative errors of Monte Carlo and a grid over dimensions 2 to 10; the grid is worse from {better} on."
    return Figure("Against a regular grid", figure, alt, text)


def _proposal(spec: MonteCarloLesson) -> Figure:
    found = analysis.proposals(spec)
    assert found is not None
    at, sd, present = found
    name = {"power": "b, of the density (1 − b) x⁻ᵇ", "rare": "shift of N(shift, 1)", "square": "s of N(0, s²)"}[spec.integral]
    finite = np.isfinite(sd) & (sd > 0.0)
    figure = charts.blank(name, "σ of one value (log scale)")
    figure.layout.yaxis.type = "log"
    line = {"color": theme.colour("posterior"), "width": 2.5}
    figure.add_scatter(x=at[finite], y=sd[finite], mode="lines", line=line, name="exact σ")
    here = math.sqrt(spec.build().variance)
    if math.isfinite(here) and here > 0.0:
        look = {"color": theme.colour("ink"), "symbol": "diamond", "size": 11}
        figure.add_scatter(x=[present], y=[here], mode="markers", marker=look, name="now")
    figure.layout.showlegend = True
    best = float(at[np.nanargmin(np.where(np.isfinite(sd), sd, np.nan))])
    now = number(here) if math.isfinite(here) else "infinite"
    text = f"The error is σ/√n, so half of σ saves three quarters of the draws. Now σ is {now}; on this grid it is least at {number(best)}."
    if not np.all(np.isfinite(sd)):
        edge = at[np.isfinite(sd)].min()
        text += f" Where no curve is drawn (below about {number(float(edge), 2)}) the variance is infinite."
    alt = f"Standard deviation of one value against {name}; now {now}, least at {number(best)}."
    return Figure("The choice of the proposal", figure, alt, text)


def _largest(spec: MonteCarloLesson) -> Figure:
    here = analysis.estimates(spec)
    share = here.largest
    figure = charts.blank("draws n (log scale)", "largest value / sum")
    figure.layout.xaxis.type = "log"
    figure.layout.yaxis.range = [0.0, 1.05]
    line = {"color": theme.colour("reject"), "width": 2.5}
    figure.add_scatter(x=here.n, y=share, mode="lines", line=line, name="median")
    last = number(100 * float(share[-1]))
    text = (
        f"Median over {spec.replications} repetitions: after {number(spec.draws)} draws the largest value makes up "
        f"{last} % of the sum (of sizes, signs left out). With light tails this falls towards 0 about as fast as 1/n; "
        "where one draw can outweigh the rest, it falls slowly or not at all. A run can look at this about itself."
    )
    return Figure("Does one draw decide?", figure, f"Share of the largest value in the sum, {last} % at the end.", text)


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
        "reported by this run": [float(here.reported[0, n - 1]) for n in at],
        "95 % band held the truth": [f"{100 * here.coverage(n):.0f} %" if math.isfinite(here.integral.mean) else "–" for n in at],
    }
    what = "root mean square" if here.finite else "median"
    caption = (
        f"{number(spec.replications)} repetitions of {number(spec.draws)} draws; typical error: {what} over the "
        "repetitions. Draws are independent, so every draw is an effective one (ESS = n, R-hat 1 by construction) and "
        "no gradient is needed; correlated draws of a Markov chain have ESS in the place of n."
    )
    return Table("Errors and bands", columns, caption)
