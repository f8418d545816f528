"""The rooms of the house and the arrows between them: `python -m tests.rooms [--write]`.

A room is a package, but all lessons together are one, and so are packages that import each other. An arrow is an import
by a file of one from a file of another; one that follows from others is left out. The files that stand in `engine/`
itself, which all of it shares, are not drawn. `--write` puts the picture into `docs/ARCHITECTURE.md`, where a test
compares it with the code.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "ARCHITECTURE.md"
HOUSE = ("app", "lessons", "engine", "datasets")
SHARED = "engine"
BEGIN, END = "```mermaid\n", "```\n"


def modules(room: str) -> Iterator[tuple[Path, ast.Module]]:
    """Every source file of a room, parsed."""
    for path in sorted((ROOT / room).rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"), str(path))


def imported(tree: ast.AST) -> set[str]:
    """The full names of all modules that a file imports, at any depth; relative imports keep to their room."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def room_of(folder: Sequence[str]) -> str:
    """The room of a folder, given by its parts: each package is one, but all lessons together are one."""
    lesson = folder[0] == "lessons" and (ROOT.joinpath(*folder[:2]) / "page.py").exists()
    return "lessons" if lesson else "/".join(folder)


@cache
def arrows() -> dict[str, set[str]]:
    """Rooms, each with those it imports from."""
    found: dict[str, set[str]] = {}
    for house in HOUSE:
        for path, tree in modules(house):
            room = room_of(path.relative_to(ROOT).parts[:-1])
            if room == SHARED:
                continue
            there = found.setdefault(room, set())
            for name in imported(tree):
                parts = name.split(".")
                while parts and not ROOT.joinpath(*parts).is_dir():
                    parts = parts[:-1]
                if parts and parts[0] in HOUSE:
                    there |= {room_of(parts)} - {room, SHARED}
    return found


def reach(found: dict[str, set[str]], room: str) -> set[str]:
    """All rooms that can be come to from a room by its arrows."""
    seen: set[str] = set()
    ahead = [room]
    while ahead:
        ahead += (new := found[ahead.pop()] - seen)
        seen |= new
    return seen


def reduced(found: dict[str, set[str]]) -> dict[str, set[str]]:
    """The same with rooms that lead to each other as one, and without the arrows that follow from others."""
    far = {room: reach(found, room) for room in found}
    one = {room: ", ".join(sorted({room} | {other for other in far[room] if room in far[other]})) for room in found}
    joined: dict[str, set[str]] = {name: set() for name in one.values()}
    for room, there in found.items():
        joined[one[room]] |= {one[other] for other in there} - {one[room]}
    far = {room: reach(joined, room) for room in joined}
    return {room: {other for other in there if not any(other in far[by] for by in there - {other})} for room, there in joined.items()}


def picture() -> str:
    """The picture as Mermaid draws it."""
    found = reduced(arrows())
    names = {room: f"room{number}" for number, room in enumerate(sorted(found))}
    lines = [f'  {name}["{room.replace(", ", "<br>")}"]' for room, name in names.items()]
    lines += [f"  {names[room]} --> {' & '.join(names[other] for other in sorted(found[room]))}" for room in names if found[room]]
    return "flowchart TD\n" + "\n".join(lines) + "\n"


def drawn(text: str) -> str:
    """The picture that stands in a text."""
    return text.split(BEGIN, 1)[1].split(END, 1)[0]


def main(arguments: Sequence[str]) -> int:
    if "--write" in arguments:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(text.replace(drawn(text), picture()), encoding="utf-8")
    else:
        print(picture(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
