"""The recipes of docs/ADDING.md, followed to the letter in a copy of the repository."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "docs" / "ADDING.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^(?P<fence>```+)(\w+) ?(\S*)\n(.*?)^(?P=fence)$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of all that is under version control, or would be."""
    copy = tmp_path_factory.mktemp("house")
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True)
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes((ROOT / name).read_bytes())
    return copy


def recipes() -> dict[str, list[tuple[str, str, str]]]:
    """(language, path, text) of each block, by the heading it stands under."""
    parts = re.split(r"^## (An? .*)$", TEXT, flags=re.MULTILINE)[1:]
    blocks = [[block.groups()[1:] for block in BLOCK.finditer(text)] for text in parts[1::2]]
    return dict(zip(parts[::2], blocks, strict=True))


def add(path: Path, text: str) -> None:
    """Create the file, or put the lines marked + behind the line before them."""
    lines = text.splitlines(keepends=True)
    if not any(line.startswith("+") for line in lines):
        assert not path.exists(), f"{path} is there already"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    anchor = "".join(line for line in lines if not line.startswith("+"))
    added = "".join(line[1:] for line in lines if line.startswith("+"))
    before = path.read_text(encoding="utf-8")
    assert before.count(anchor) == 1, f"{anchor!r} stands {before.count(anchor)} times in {path}"
    path.write_text(before.replace(anchor, anchor + added), encoding="utf-8")


LONG = ("A target", "A sampler")  # they are compiled


@pytest.mark.parametrize("title", [pytest.param(title, marks=pytest.mark.long if title in LONG else ()) for title in recipes()])
def test_a_recipe_works_as_written(title: str, house: Path):
    for language, path, text in recipes()[title]:
        if path:
            add(house / path, text)
            continue
        assert language == "sh", f"a block of {language} without a path"
        for line in text.splitlines():
            program, *arguments = shlex.split(line)
            assert program == "python"
            done = subprocess.run(
                [sys.executable, *arguments], cwd=house, env={**os.environ, "PYTHONPATH": str(house)}, capture_output=True, text=True
            )
            assert done.returncode == 0, f"{line}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    for tidy in (("check",), ("format", "--check")):
        found = subprocess.run([sys.executable, "-m", "ruff", *tidy, "."], cwd=house, capture_output=True, text=True)
        assert found.returncode == 0, found.stdout
