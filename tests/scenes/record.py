"""The pictures of lessons as they are drawn by the code in the current folder: `python record.py FOLDER [SLUG ...]`.

Run as a script, so that it can draw with the code of another revision, in whose tests it is not.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

CASES = "cases.json"  # name of a case → its file, or what was said in place of a picture


def cases(lesson: Any, share: Any) -> Iterator[tuple[str, Any, int | None]]:
    """(name, spec, window) of every scenario, of the inside of its middle, and of every choice of the first one."""
    for scenario in lesson.scenarios:
        yield scenario.id, scenario.spec, None
        yield f"{scenario.id}, inside", scenario.spec, 3
    first = lesson.scenarios[0].spec
    for name, declaration in lesson.spec.declarations().items():
        for option in declaration.options if declaration.kind == "choice" else ():
            if option != getattr(first, name):
                raw = {**{key: [value] for key, value in share.write(first, None).items()}, name: [option]}
                yield f"{name}={option}", share.read(lesson.spec, raw, {}).spec, None


def record(folder: Path, slugs: list[str]) -> None:
    """Draw, and write each picture into a file of `folder`/slug."""
    from app import catalogue
    from app.kit import frame, share

    for entry in catalogue.LESSONS:
        if slugs and entry.slug not in slugs:
            continue
        with patch.object(frame, "show", lambda lesson: None):
            lesson = importlib.import_module(f"{entry.package}.page").LESSON
        into, index = folder / entry.slug, {}
        into.mkdir(parents=True)
        for number, (name, spec, window) in enumerate(cases(lesson, share)):
            try:
                blob = lesson.scene(spec, window)
            except Exception as problem:  # the same problem before and after is no difference
                index[name] = {"said": "".join(traceback.format_exception_only(problem)).strip()}
                continue
            (into / f"{number}.scene").write_bytes(blob)
            index[name] = {"file": f"{number}.scene"}
        (into / CASES).write_text(json.dumps(index), encoding="utf-8")
        print(f"{entry.slug}: {len(index)} pictures", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.path.insert(0, os.getcwd())
    record(Path(sys.argv[1]), sys.argv[2:])
