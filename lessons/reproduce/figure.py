"""docs/reproduced.svg: every number at one look, by how many errors ours lies from the printed one."""

from __future__ import annotations

from pathlib import Path

from lessons.reproduce.experiment import AGREES, DIFFERS, UNTOLD
from lessons.reproduce.report import rows

FIGURE = Path(__file__).parents[2] / "docs" / "reproduced.svg"
WIDTH, ROW, TOP, BOTTOM, LEFT = 760, 2.6, 34, 34, 150
FARTHEST = 12.0  # gaps beyond this many errors stand at the edge
COLOURS = {AGREES: "#2e7d32", DIFFERS: "#c62828", UNTOLD: "#8a94a3"}


def text() -> str:
    """The figure, from what was run."""
    shown = [row for row in rows() if row.verdict.z is not None]
    height = TOP + ROW * len(shown) + BOTTOM

    def x(z: float) -> float:
        return LEFT + (WIDTH - LEFT - 20) * (max(-FARTHEST, min(FARTHEST, z)) + FARTHEST) / (2 * FARTHEST)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" font-family="sans-serif" font-size="12">',
        f"<title>{len(shown)} printed numbers, each by how many errors ours lies from it</title>",
        f'<rect width="{WIDTH}" height="{height:.0f}" fill="#ffffff"/>',
    ]
    for z in (-3.0, 0.0, 3.0):
        dash = ' stroke-dasharray="3 3"' if z else ""
        lines.append(f'<path d="M{x(z):.1f} {TOP}V{height - BOTTOM:.1f}" stroke="#444" stroke-width="1"{dash}/>')
    for z in (-12, -6, -3, 0, 3, 6, 12):
        lines.append(f'<text x="{x(z):.1f}" y="{height - BOTTOM + 14:.1f}" text-anchor="middle" fill="#444">{z}</text>')
    lines.append(f'<text x="{x(0):.1f}" y="{height - 4:.1f}" text-anchor="middle" fill="#444">(ours − printed) ÷ error of the gap</text>')
    for i, (kind, colour) in enumerate(COLOURS.items()):
        lines.append(f'<circle cx="{LEFT + 10 + 150 * i}" cy="16" r="4" fill="{colour}"/>')
        lines.append(f'<text x="{LEFT + 20 + 150 * i}" y="20" fill="#222">{kind}</text>')
    first: dict[str, int] = {}
    for i, row in enumerate(shown):
        first.setdefault(f"{row.experiment.source.author.split(',')[0]} {row.experiment.source.year}", i)
        at = TOP + ROW * (i + 0.5)
        lines.append(
            f'<circle cx="{x(row.verdict.z or 0.0):.1f}" cy="{at:.1f}" r="2.6" fill="{COLOURS[row.verdict.kind]}" fill-opacity="0.8"/>'
        )
    for name, i in first.items():
        lines.append(f'<text x="8" y="{TOP + ROW * i + 11:.1f}" fill="#222">{name}</text>')
    return "\n".join([*lines, "</svg>", ""])


def write() -> None:
    """Write it."""
    FIGURE.write_text(text(), encoding="utf-8")
