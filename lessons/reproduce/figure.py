"""docs/reproduced.svg: every number at one look, by how many errors ours lies from the printed one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lessons.reproduce.experiment import AGREES, DIFFERS, UNTOLD, WORDS
from lessons.reproduce.report import rows, work

FIGURE = Path(__file__).parents[2] / "docs" / "reproduced.svg"
WIDTH, ROW, TOP, BOTTOM, LEFT = 760, 2.6, 34, 34, 150
FARTHEST = 12.0  # gaps beyond this many errors stand at the edge
GREY, INK = "#444", "#222"
COLOURS = {AGREES: "#2e7d32", DIFFERS: "#c62828", UNTOLD: "#8a94a3"}


def text() -> str:
    """The figure, from what was run."""
    shown = [row for row in rows() if row.verdict.z is not None]
    height = TOP + ROW * len(shown) + BOTTOM

    def x(z: float) -> float:
        return LEFT + (WIDTH - LEFT - 20) * (max(-FARTHEST, min(FARTHEST, z)) + FARTHEST) / (2 * FARTHEST)

    page: dict[str, Any] = {
        "xmlns": "http://www.w3.org/2000/svg",
        "viewBox": f"0 0 {WIDTH} {height:.0f}",
        "font-family": "sans-serif",
        "font-size": 12,
    }
    lines = [
        _element("svg", None, **page),
        _element("title", WORDS.phrase("pictures.figure", count=len(shown))),
        _element("rect", width=WIDTH, height=f"{height:.0f}", fill="#ffffff"),
    ]
    middle: dict[str, Any] = {"text-anchor": "middle", "fill": GREY}
    for z in (-3.0, 0.0, 3.0):
        line: dict[str, Any] = {"stroke": GREY, "stroke-width": 1, **({"stroke-dasharray": "3 3"} if z else {})}
        lines.append(_element("path", d=f"M{x(z):.1f} {TOP}V{height - BOTTOM:.1f}", **line))
    for z in (-12, -6, -3, 0, 3, 6, 12):
        lines.append(_element("text", str(z), x=f"{x(z):.1f}", y=f"{height - BOTTOM + 14:.1f}", **middle))
    lines.append(_element("text", WORDS.phrase("pictures.gaps"), x=f"{x(0):.1f}", y=f"{height - 4:.1f}", **middle))
    for i, (kind, colour) in enumerate(COLOURS.items()):
        lines.append(_element("circle", cx=LEFT + 10 + 150 * i, cy=16, r=4, fill=colour))
        lines.append(_element("text", kind, x=LEFT + 20 + 150 * i, y=20, fill=INK))
    first: dict[str, int] = {}
    for i, row in enumerate(shown):
        first.setdefault(work(row.experiment), i)
        look: dict[str, Any] = {"r": 2.6, "fill": COLOURS[row.verdict.kind], "fill-opacity": 0.8}
        lines.append(_element("circle", cx=f"{x(row.verdict.z or 0.0):.1f}", cy=f"{TOP + ROW * (i + 0.5):.1f}", **look))
    for name, i in first.items():
        lines.append(_element("text", name, x=8, y=f"{TOP + ROW * i + 11:.1f}", fill=INK))
    return "\n".join([*lines, "</svg>", ""])


def _element(name: str, inside: str | None = "", **attributes: Any) -> str:
    """An element of the figure; of None only its beginning."""
    said = "".join(f' {key}="{value}"' for key, value in attributes.items())
    if inside is None:
        return f"<{name}{said}>"
    return f"<{name}{said}>{inside}</{name}>" if inside else f"<{name}{said}/>"


def write() -> None:
    """Write it."""
    FIGURE.write_text(text(), encoding="utf-8")
