"""Pictures of printed numbers beside ours."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from app.kit import charts, theme
from app.kit.charts import Figure, Table
from lessons.reproduce import conclusions, report
from lessons.reproduce.experiment import AGREES, DIFFERS, UNTOLD, WORDS
from lessons.reproduce.registry import NOT_HERE
from lessons.reproduce.report import Row

LOOKS = {AGREES: ("accept", "circle"), DIFFERS: ("reject", "x"), UNTOLD: ("muted", "diamond-open")}
FARTHEST = 12.0  # gaps beyond this many errors stand at the edge


def forest(rows: Sequence[Row]) -> Figure:
    """(ours - printed) over its error, of every number that was run."""
    shown = [row for row in rows if row.verdict.z is not None]
    figure = charts.blank(WORDS.phrase("pictures.gaps"), "", height=max(220, 60 + 4 * len(shown)), margin={"l": 12, "t": 40})
    for kind, (role, symbol) in LOOKS.items():
        some = [(i, row) for i, row in enumerate(shown) if row.verdict.kind == kind]
        figure.add_scatter(
            x=[float(np.clip(row.verdict.z or 0.0, -FARTHEST, FARTHEST)) for _, row in some],
            y=[i for i, _ in some],
            text=[
                WORDS.phrase("pictures.number", id=row.experiment.id, label=row.cell.label, errors=row.verdict.z, verdict=kind)
                for _, row in some
            ],
            hoverinfo="text",
            mode="markers",
            name=kind,
            marker={"color": theme.colour(role), "symbol": symbol, "size": 8},
        )
    for at in (-3.0, 0.0, 3.0):
        figure.add_vline(x=at, line={"color": theme.colour("truth"), "width": 1, "dash": "dot" if at else "solid"})
    works: dict[str, int] = {}  # where each begins
    for i, row in enumerate(shown):
        works.setdefault(report.work(row.experiment), i)
    figure.update_yaxes(
        range=[len(shown), -1.0], tickvals=[i - 0.5 for i in works.values()], ticktext=list(works), automargin=True, title=None
    )
    figure.update_xaxes(range=[-FARTHEST - 0.5, FARTHEST + 0.5])
    alt, caption = WORDS.phrase("pictures.all_alt", count=len(shown)), WORDS.phrase("pictures.all_caption", farthest=FARTHEST)
    return Figure(WORDS.phrase("pictures.all"), figure, alt, caption)


def beside(rows: Sequence[Row]) -> Figure | None:
    """Ours as a multiple of each printed number, with three errors; nothing where none has run."""
    shown = [row for row in rows if row.verdict.ours is not None and row.cell.printed]
    if not shown:
        return None
    ratio = np.array([row.verdict.ours.value / row.cell.printed for row in shown if row.verdict.ours])
    error = np.array([3.0 * row.verdict.ours.error / abs(row.cell.printed) for row in shown if row.verdict.ours])
    theirs = np.array([3.0 * row.cell.error / abs(row.cell.printed) for row in shown])
    names = [row.cell.label for row in shown]
    figure = charts.blank(WORDS.phrase("pictures.multiple"), "", height=110 + 30 * len(shown), margin={"l": 12, "t": 40})
    figure.add_scatter(
        x=np.ones(len(shown)),
        y=names,
        mode="markers",
        name=WORDS.phrase("pictures.printed"),
        error_x={"array": theirs, "color": theme.colour("truth")},
        marker={"color": theme.colour("truth"), "symbol": "line-ns-open", "size": 14},
    )
    figure.add_scatter(
        x=ratio,
        y=names,
        mode="markers",
        name=WORDS.phrase("pictures.ours"),
        error_x={"array": error, "color": theme.colour("posterior")},
        marker={"color": theme.colour("posterior"), "symbol": "circle", "size": 9},
    )
    exact = [(row.verdict.exact / row.cell.printed, row.cell.label) for row in shown if row.verdict.exact is not None]
    if exact:
        figure.add_scatter(
            x=[x for x, _ in exact],
            y=[y for _, y in exact],
            mode="markers",
            name=WORDS.phrase("pictures.exact"),
            marker={"color": theme.colour("accept"), "symbol": "star", "size": 10},
        )
    if ratio.min() > 0 and (ratio.max() > 5 or ratio.min() < 0.2):
        figure.update_xaxes(type="log")
    figure.update_yaxes(autorange="reversed", automargin=True, title=None)
    sides = ", ".join(f"{name} {value:.3g}" for name, value in zip(names, ratio, strict=True) if math.isfinite(value))
    alt = WORDS.phrase("pictures.beside_alt", numbers=sides)
    return Figure(WORDS.phrase("pictures.beside"), figure, alt, WORDS.phrase("pictures.beside_caption"))


def not_here() -> Table:
    """What stands in print and has no experiment, as docs/REPRODUCED.md has it."""
    return Table(
        WORDS.phrase("pictures.not_here"),
        {
            "work": [f"{each.source.author} ({each.source.year})" for each in NOT_HERE],
            "printed": [each.source.place for each in NOT_HERE],
            "why": [each.why for each in NOT_HERE],
        },
    )


def _whole(number: str) -> str:
    """A number with its error and its unit, on one line."""
    return number.replace(" ", "\u00a0")


def table(rows: Sequence[Row], title: str) -> Table:
    """The rows, as docs/REPRODUCED.md has them; without a column of exact values where none is known."""
    exact = [_whole(report.exact(row)) or "–" for row in rows]
    return Table(
        title,
        {
            "number": [row.cell.label for row in rows],
            "printed": [_whole(report.printed(row.cell)) for row in rows],
            "ours": [_whole(report.ours(row)) for row in rows],
            **({"exact": exact} if any(value != "–" for value in exact) else {}),
            "verdict": [row.verdict.kind for row in rows],
            "why": [row.verdict.why for row in rows],
        },
    )


def concluded() -> Table:
    """Sentences of conclusion, and what our numbers say of them."""
    columns = zip(*conclusions.rows(), strict=True)
    return Table(WORDS.phrase("pictures.concluded"), dict(zip(("source", "sentence", "here", "numbers"), map(list, columns), strict=True)))


def besides(more: Sequence[tuple[str, str]]) -> Table:
    """What is worked out, too, and stands in no print."""
    return Table(WORDS.phrase("pictures.besides"), {"number": [label for label, _ in more], "ours": [value for _, value in more]})
