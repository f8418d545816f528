"""Still figures, tables and texts to copy: what stands below the stage.

Each helper returns a `Figure`, which cannot be made without a title and a text for those who do not see it. Colours
are the light theme's and are translated when drawn (`theme.in_dark`). Animation belongs to the player: a Plotly chart
is remounted whenever it changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from app.kit import theme
from app.kit.text import number, plain
from engine import ticket
from engine.judge import Bars
from engine.kept import lazy

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from engine.diagnostics import Summary
    from engine.judge import Check

Column = Sequence[Any] | NDArray[Any]  # of a table

MAX_POINTS = 1600  # of one line: two a pixel
HEIGHT = 260
MOST_BARS = 12  # of a check's figure
SAVED_SIZE = {"width": 720, "height": 420}  # px: room for the letters of another font, for a picture does not have the page's
SAVED_AS: dict[str, dict[str, Any]] = {  # what the camera of a chart saves
    "SVG": {"format": "svg"},
    "PNG, twice as large": {"format": "png", "scale": 2},
    "PNG, four times as large": {"format": "png", "scale": 4},
}


@dataclass(frozen=True)
class Figure:
    """A Plotly figure with its title, its description for screen readers and a line of prose below it."""

    title: str
    figure: go.Figure
    alt: str
    caption: str = ""

    def __post_init__(self) -> None:
        if not self.title.strip() or not self.alt.strip():
            raise ValueError("a figure needs a title and an alt text")

    @lazy
    def dark(self) -> go.Figure:
        """The figure in the colours of the dark theme."""
        import plotly.graph_objects as go

        return go.Figure(theme.in_dark(self.figure.to_dict()), skip_invalid=True)


@dataclass(frozen=True)
class Table:
    """Columns of equal length; numbers are shown with three digits."""

    title: str
    columns: Mapping[str, Column]
    caption: str = ""

    def __post_init__(self) -> None:
        if len({len(column) for column in self.columns.values()}) > 1:
            raise ValueError(f"the columns of {self.title!r} differ in length")
        if not all(name.strip() for name in self.columns):
            raise ValueError(f"a column of {self.title!r} has no name: who does not see the table would not know what it holds")

    def markdown(self) -> str:
        """The table as Markdown, every cell shown as it is."""
        names = list(self.columns)
        cells = zip(*self.columns.values(), strict=True)
        lines = [names, ["---"] * len(names), *([number(cell) for cell in row] for row in cells)]
        return "\n".join("| " + " | ".join(cell if row == 1 else plain(cell) for cell in line) + " |" for row, line in enumerate(lines))


@dataclass(frozen=True)
class Quote:
    """A text to copy, as it stands."""

    title: str
    text: str
    caption: str = ""


def blank(x: str, y: str, *, height: int = HEIGHT, **layout: Any) -> go.Figure:
    """An empty figure with labelled axes. `x` and `y` name what they show, with units. Raises InterruptedError where it is
    not wanted any more: Plotly takes some 10 ms over each, in which the next picture would wait.
    """
    import plotly.graph_objects as go

    ticket.look()
    words = {"color": theme.colour("muted")}
    # all in one dictionary: Plotly takes ten times longer over the same piece by piece
    figure = go.Figure(
        layout={
            "height": height,
            "margin": {"l": 56, "r": 12, "t": 12, "b": 44},
            "xaxis": {"title": {"text": x, "font": words}, "tickfont": words, "zeroline": False},
            "yaxis": {"title": {"text": y, "font": words}, "tickfont": words, "zeroline": False},
            "legend": {"font": words, "orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
            "hovermode": "closest",
            "uirevision": "keep",
        }
    )
    return figure.update_layout(**layout) if layout else figure


def trace(title: str, draws: Any, *, alt: str, y: str, x: str = "draw", truth: float | None = None, caption: str = "") -> Figure:
    """Draws against their number, one line a chain. `draws` (chains, draws); `truth` is drawn as a dashed rule."""
    draws = np.atleast_2d(np.asarray(draws, dtype=float))
    figure = blank(x, y)
    stride = max(1, draws.shape[1] // MAX_POINTS)
    at = np.arange(0, draws.shape[1], stride)
    for chain, values in enumerate(draws):
        look = chain % len(theme.DASHES)
        line = {"color": theme.colour(f"chain-{look}", 0.85), "width": 1, "dash": theme.DASHES[look]}
        figure.add_scatter(x=at, y=values[at], mode="lines", line=line, name=f"chain {chain + 1}")
    figure.layout.showlegend = len(draws) > 1
    if truth is not None:
        _rule(figure, truth, "truth")
    return Figure(title, figure, alt, caption + (f" Every {stride}th draw is shown." if stride > 1 else ""))


def rank(title: str, draws: Any, *, alt: str, bins: int = 20, caption: str = "") -> Figure:
    """Rank histograms: the ranks of each chain's draws among all.

    `draws` (chains, draws). Chains that agree give flat bars.
    """
    draws = np.atleast_2d(np.asarray(draws, dtype=float))
    ranks = draws.ravel().argsort(kind="stable").argsort(kind="stable").reshape(draws.shape)
    edges = np.linspace(0, draws.size, bins + 1)
    figure = blank("rank among all draws", "draws", barmode="group")
    for chain, values in enumerate(ranks):
        counts, _ = np.histogram(values, edges)
        figure.add_bar(
            x=(edges[:-1] + edges[1:]) / 2, y=counts, marker={"color": theme.colour(f"chain-{chain % 8}")}, name=f"chain {chain + 1}"
        )
    _rule(figure, draws.shape[1] / bins, "flat: chains agree")
    return Figure(title, figure, alt, caption)


def bars(
    title: str, labels: Sequence[str], values: Any, *, alt: str, x: str, y: str, truth: Any = None, error: Any = None, caption: str = ""
) -> Figure:
    """Bars with labels; `truth` as diamonds, `error` as half-widths of error bars (the caption says what they hold)."""
    figure = blank(x, y)
    spread = None if error is None else {"type": "data", "array": np.asarray(error), "color": theme.colour("ink")}
    figure.add_bar(x=list(labels), y=np.asarray(values), marker={"color": theme.colour("posterior", 0.8)}, error_y=spread, name="run")
    if truth is not None:
        marker = {"symbol": "diamond-open", "size": 11, "color": theme.colour("ink"), "line": {"width": 2}}
        figure.add_scatter(x=list(labels), y=np.asarray(truth), mode="markers", marker=marker, name="exact")
    figure.layout.showlegend = truth is not None
    return Figure(title, figure, alt, caption)


def of_check(check: Check) -> Figure | None:
    """How a check can be seen: a curve in the band that a right sampler keeps to, or a number a quantity."""
    drawn = check.figure
    if drawn is None:
        return None
    if isinstance(drawn, Bars):
        many = len(drawn.names) > MOST_BARS
        order = np.argsort(-np.abs(drawn.values))[:MOST_BARS]
        names = [drawn.names[i] for i in order][::-1]
        figure = blank(drawn.value_label, "", height=90 + 24 * len(names))
        marker = {"color": theme.colour("posterior")}
        figure.add_bar(x=drawn.values[order][::-1], y=names, orientation="h", marker=marker)
        figure.layout.yaxis.automargin = True
        caption = drawn.title + (f", the {MOST_BARS} largest of {len(drawn.names)}" if many else "")
        if np.isfinite(drawn.limit):
            line = {"color": theme.colour("ink"), "width": 1.5, "dash": "dash"}
            place = {"xref": "x", "yref": "y domain", "x0": drawn.limit, "x1": drawn.limit, "y0": 0, "y1": 1}
            figure.layout.shapes = [{"type": "line", "line": line, **place}]
            caption += f"; dashed: the limit {number(drawn.limit)}"
        return Figure(drawn.title, figure, f"{drawn.title}: {check.sentence}", caption + ".")
    figure = blank(drawn.x_label, drawn.y_label)
    edge = {"color": theme.colour("muted", 0.0), "width": 0}
    figure.add_scatter(x=drawn.x, y=drawn.high, mode="lines", line=edge, showlegend=False, hoverinfo="skip")
    figure.add_scatter(
        x=drawn.x,
        y=drawn.low,
        mode="lines",
        line=edge,
        fill="tonexty",
        fillcolor=theme.colour("muted", 0.25),
        name="where a right kernel stays (19 times of 20)",
    )
    figure.add_scatter(x=drawn.x, y=drawn.y, mode="lines", line={"color": theme.colour("posterior"), "width": 2}, name="this kernel")
    return Figure(drawn.title, figure, f"{drawn.title}: {check.sentence}", drawn.title + ".")


def estimates(
    labels: Sequence[str],
    summary: Summary,
    exact_mean: Sequence[float],
    exact_sd: Sequence[float],
    *,
    per: str,
    spent: int,
    seconds: float,
    of: str = "coordinate",
) -> dict[str, list]:
    """Columns of a diagnostics table, a row a quantity: estimate beside exact value (NaN: not known), R-hat, ESS.

    per, spent : ESS is also told per 1,000 of these ("gradients"), of which the run spent so many
    """
    seconds = max(seconds, 1e-9)
    return {
        of: list(labels),
        "mean": list(summary.mean),
        "exact": list(exact_mean),
        "MCSE": list(summary.mcse_mean),
        "sd": list(summary.sd),
        "exact sd": list(exact_sd),
        "R-hat": [f"{value:.3f}" for value in summary.rhat],
        "ESS bulk": list(np.round(summary.ess_bulk)),
        "ESS tail": list(np.round(summary.ess_tail)),
        f"ESS / 1000 {per}": [1000 * ess / spent for ess in summary.ess_bulk],
        "ESS / s": [ess / seconds for ess in summary.ess_bulk],
    }


def heat_map(
    title: str,
    values: Any,
    *,
    alt: str,
    x: str,
    y: str,
    xs: Any = None,
    ys: Any = None,
    unit: str = "",
    diverging: bool = False,
    caption: str = "",
) -> Figure:
    """A heat map of `values` (rows y, columns x) in Viridis, or blue–white–orange around 0."""
    figure = blank(x, y)
    scale = [[0, theme.LIGHT["negative"]], [0.5, "#f2f2f2"], [1, theme.LIGHT["positive"]]] if diverging else "Viridis"
    figure.add_heatmap(
        z=np.asarray(values, dtype=float), x=xs, y=ys, colorscale=scale, zmid=0 if diverging else None, colorbar={"title": {"text": unit}}
    )
    return Figure(title, figure, alt, caption)


def _rule(figure: go.Figure, at: float, text: str) -> None:
    """A dashed line across at height `at`. (Plotly's add_hline does the same in ten times the time.)"""
    line = {"color": theme.colour("ink"), "width": 1.5, "dash": "dash"}
    where = {"xref": "x domain", "yref": "y", "x1": 1, "y1": at}
    figure.layout.shapes = [{"type": "line", "x0": 0, "y0": at, "line": line, **where}]
    note = {"text": text, "showarrow": False, "xanchor": "right", "yanchor": "bottom"}
    place = {"xref": "x domain", "yref": "y", "x": 1, "y": at, "font": {"color": theme.colour("ink")}}
    figure.layout.annotations = [{**note, **place}]
