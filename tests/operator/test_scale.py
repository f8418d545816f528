"""What an operator reads is so: links lead somewhere, commands are there, and what is reckoned follows from what was
measured.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from tests.server import ROOT

SCALE = (ROOT / "docs" / "SCALE.md").read_text(encoding="utf-8")
GIGABIT = 120e6  # bytes a second


@pytest.mark.parametrize("name", ["SCALE.md", "DEPLOY.md"])
def test_links_lead_somewhere_and_commands_are_there(name: str):
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", text):
        path = (ROOT / "docs" / (target or name)).resolve()
        assert path.exists(), target
        assert not anchor or anchor in anchors(path), f"{target}#{anchor}"
    modules = set(re.findall(r"python -m ([\w.]+)", text))
    assert modules and all(importlib.util.find_spec(module) for module in modules), modules
    for rule in re.findall(r"^ +(?:\w+=\S+ )*make (\w+)", text, re.MULTILINE):
        assert re.search(rf"^{rule}:", (ROOT / "Makefile").read_text(), re.MULTILINE), rule


def anchors(path: Path) -> set[str]:
    """Of the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_a_hundred_workers_are_reckoned_from_what_was_measured():
    measured = [row(f"{size} |") for size in ("1 KB", "1 MB")]
    latency, _, server, scheduler, _ = zip(*measured, strict=True)
    bytes_there_and_back = 40e3, 2e6
    reckoned = {
        "a server's process is full at": [1000.0 / ms for ms in server],
        "the scheduler is full at": [1000.0 / ms for ms in scheduler],
        "a gigabit (120 MB a second) is full at": [GIGABIT / size for size in bytes_there_and_back],
        "a worker waits for its next slice": [ms / 10.0 for ms in latency],
    }
    for name, expected in reckoned.items():
        assert row(name) == pytest.approx(expected, rel=0.05), name


def row(name: str) -> list[float]:
    """The numbers in the columns of a row."""
    line = next(line for line in SCALE.splitlines() if line.startswith(f"| {name}"))
    return [float(re.search(r"[\d.]+", cell.replace(",", "")).group()) for cell in line.split("|")[2:-1]]  # type: ignore[union-attr]
