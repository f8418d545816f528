"""Pictures of sizes, which are widths or depths: shares beside exact probabilities, and traces."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.kit import charts, theme
from app.kit.charts import Figure
from app.kit.player.scene import Axis, Panel, Place, Scene
from engine.evidence import ModelProbabilities
from engine.judge.shares import LEAST_MASS
from engine.jumps.shares import Shares
from lessons.families.growing.spec import WORDS

Array = NDArray[np.float64]

HELD = 2.0  # standard errors that an error bar reaches each way


def size_panel(
    scene: Scene,
    rows: Array,
    low: int,
    *,
    exact: ModelProbabilities | None = None,
    name: str = WORDS.phrase("sizes.hidden_units"),
    id: str = "sizes",
    title: str = WORDS.phrase("sizes.title"),
    label: str = WORDS.phrase("sizes.draws"),
    place: Place | None = None,
    height: int = 240,
) -> Panel:
    """Bars of running shares `rows` (steps, K), and the exact probabilities with their error bars once known."""
    count = rows.shape[1]
    sizes = np.arange(low, low + count)
    top = max(float(rows[len(rows) // 2 :].max(initial=0.1)), 0.0 if exact is None else float(exact.probability.max()))
    panel = scene.panel(
        id,
        title=title,
        x=Axis(name, low - 0.5, low + count - 0.5),
        y=Axis(WORDS.phrase("sizes.probability"), 0.0, min(1.25 * top, 1.04)),
        place=place,
        height=height,
    )
    panel.bars(rows, labels=[str(size) for size in sizes], role="posterior", label=label)
    if exact is not None:
        p, (down, up) = exact.probability, _reach(exact)
        bars = np.stack([np.stack([sizes, p - down], 1), np.stack([sizes, p + up], 1), np.full((count, 2), np.nan)], axis=1)
        panel.path(bars.reshape(-1, 2), role="ink", width=2.0)
        label = WORDS.phrase("sizes.annealing_bars", held=HELD)
        panel.points(np.stack([sizes, p], axis=1), show="all", role="ink", shape="diamond", size=4.5, label=label)
    return panel


def _reach(exact: ModelProbabilities) -> tuple[Array, Array]:
    """How far error bars go down and up, (K,) each: no probability is outside [0, 1]."""
    p, e = exact.probability, HELD * exact.error
    return np.minimum(e, p), np.minimum(e, 1.0 - p)


def size_figure(
    title: str,
    drawn: Shares,
    low: int,
    *,
    exact: ModelProbabilities | None = None,
    prior: Array | None = None,
    name: str = WORDS.phrase("sizes.hidden_units"),
    caption: str = "",
) -> Figure:
    """Shares of sizes among draws beside the exact probabilities, both with bars of ± 2 standard errors, and the
    prior (K,).
    """
    count = len(drawn.mean)
    sizes = [str(size) for size in range(low, low + count)]
    figure = charts.blank(name, WORDS.phrase("sizes.probability"))
    spread = {"type": "data", "color": theme.colour("muted"), "thickness": 1.5}
    figure.add_bar(
        x=sizes,
        y=drawn.mean,
        name="jumps",
        marker={"color": theme.colour("posterior", 0.75)},
        error_y={**spread, "array": HELD * np.nan_to_num(drawn.mcse)},
    )
    if prior is not None:
        line = {"color": theme.colour("prior"), "dash": "dot", "width": 2}
        figure.add_scatter(x=sizes, y=prior, mode="lines", line=line, name=WORDS.phrase("sizes.prior"))
    if exact is not None:
        marker = {"symbol": "diamond-open", "size": 9, "color": theme.colour("ink"), "line": {"width": 2}}
        down, up = _reach(exact)
        figure.add_scatter(
            x=sizes,
            y=exact.probability,
            mode="markers",
            marker=marker,
            name=WORDS.phrase("sizes.annealing"),
            error_y={**spread, "color": theme.colour("ink"), "arrayminus": down, "array": up, "symmetric": False},
        )
    listed = [f"{size}: {p:.3f}" for size, p in zip(sizes, drawn.mean, strict=True) if p >= LEAST_MASS]
    alt = WORDS.phrase("sizes.shares", name=name, listed=", ".join(listed))
    if exact is not None:
        listed = [f"{size}: {p:.3f}" for size, p in zip(sizes, exact.probability, strict=True) if p >= LEAST_MASS]
        alt = f"{alt} {WORDS.phrase('sizes.exact', listed=', '.join(listed))}"
    return Figure(title, figure, alt, caption)


def size_traces(
    scene: Scene,
    at: NDArray[np.floating],
    values: NDArray[np.floating],
    *,
    id: str,
    title: str,
    y: Axis,
    x: Axis | None = None,
    shown: int | None = None,
    place: Place | None = None,
    height: int = 200,
) -> Panel:
    """One thin line a chain, drawn up to the cursor: `values` (chains, steps) against `at` (steps,). The chain number
    `shown` stands out.
    """
    x = x or Axis(WORDS.phrase("sizes.sweep"), float(at[0]), float(at[-1]))
    panel = scene.panel(id, title=title, x=x, y=y, place=place, height=height)
    for c, series in enumerate(values):
        if c != shown:
            role = f"chain-{c % len(theme.MARKERS)}"
            panel.line(at, series, show="upto", role=role, width=1.0, alpha=0.55, dash=c >= len(theme.MARKERS))
    if shown is not None:
        panel.line(at, values[shown], show="upto", role="ink", width=2.4, label=WORDS.phrase("sizes.shown", chain=shown + 1))
    return panel
