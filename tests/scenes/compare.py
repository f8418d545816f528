"""Did a change of how lessons are drawn change what they show?

    python -m tests.scenes.compare [REVISION] [--lessons SLUG ...]     against HEAD, or another revision

Draws every scenario of each lesson, the inside of a transition, and every choice of its spec, with the code of the
revision and with that of this folder, and says which panels, marks, arrays and words differ. The same settings give
the same run, byte for byte, so what differs was drawn differently, or computed differently. Exit status 1 if any does.

Forgiven is what looks the same, and nothing else: places on the grid that are the same shares of it, names of values
within a line of the card, rows of NaN at the ends of a path and beside others.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from app.kit.player.scene import decode
from tests.scenes.record import CASES

ROOT = Path(__file__).resolve().parents[2]
RECORD = Path(__file__).with_name("record.py")
# Keys of a header under which a whole number is the place of an array.
ARRAYS = {
    "array",
    "at",
    "band",
    "classes",
    "end",
    "frames",
    "mask",
    "offsets",
    "parents",
    "points",
    "start",
    "truth",
    "values",
    "weights",
    "when",
    "widths",
    "xs",
    "ys",
}
BY_NAME = {"panels": "id", "phases": "id", "readouts": "id", "table": "name"}  # lists whose entries have a name
MOST = 12  # differences of a picture that are told


def differences(before: bytes, after: bytes) -> list[str]:
    """What differs between two pictures, a line each."""
    return list(_differ("", _meant(before), _meant(after)))


# What a picture means -------------------------------------------------------------------------------------------------


def _meant(blob: bytes) -> dict[str, Any]:
    """The header with its arrays in their places, and without what says the same in another way."""
    header, arrays = decode(blob)
    start = header.pop("start")  # the step that is shown first, where an arrow's `start` is an array
    found = {key: value for key, value in _resolved(header, arrays).items() if key not in ("arrays", "v")} | {"start": start}
    panels = found["panels"]
    wide = max((panel["place"][0] + panel["place"][2] for panel in panels if panel["place"]), default=1)
    high = max((panel["place"][1] + panel["place"][3] for panel in panels if panel["place"]), default=1)
    for panel in panels:
        if panel["place"]:
            x, y, width, height = panel["place"]
            panel["place"] = [round(part, 6) for part in (x / wide, y / high, width / wide, height / high)]
        panel["layers"] = _named(panel["layers"])
        for layer in panel["layers"].values():
            if layer["show"]["what"] == "all" and np.ndim(layer.get("points")) == 2:  # not one that changes from frame to frame
                layer["points"] = _without_gaps(layer["points"])
    for line in [*found["readouts"], *found["say"]]:
        line["tokens"], line["values"] = _unnamed(line), None
    for parts in found["parts"].values():
        for line in parts["lines"]:
            line["tokens"], line["values"] = _unnamed(line), None
    for key, name in BY_NAME.items():
        found[f"order of {key}"] = [entry[name] for entry in found[key]]
        found[key] = {entry[name]: entry for entry in found[key]}
    return found


def _resolved(node: Any, arrays: list[np.ndarray], key: str = "") -> Any:
    if isinstance(node, dict):
        return {name: _resolved(value, arrays, name) for name, value in node.items()}
    if isinstance(node, list):
        return [_resolved(value, arrays, key if key == "band" else "") for value in node]
    if key in ARRAYS and isinstance(node, int) and not isinstance(node, bool):
        return arrays[node]
    return node


def _named(layers: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The marks of a panel by kind and label; those that share both, by their order."""
    found: dict[str, dict[str, Any]] = {}
    for layer in layers:
        name = " ".join(str(part) for part in (layer["kind"], layer["label"], layer.get("labels")) if part)
        same = sum(key.split(" #")[0] == name for key in found)
        found[f"{name} #{same + 1}" if same else name] = layer
    return found


def _unnamed(line: dict[str, Any]) -> list[Any]:
    """The words of a line, with each value in the place of its name."""
    return [
        {**token, "name": line["values"].get(token["name"], token["name"])} if isinstance(token, dict) else token
        for token in line["tokens"]
    ]


def _without_gaps(points: np.ndarray) -> np.ndarray:
    """A path without rows of NaN at its ends and without more than one in between."""
    gap = np.isnan(points).all(axis=1)
    keep = ~gap | np.concatenate([[False], ~gap[:-1]])
    kept = points[keep]
    return kept[:-1] if len(kept) and np.isnan(kept[-1]).all() else kept


# What differs ---------------------------------------------------------------------------------------------------------


def _differ(where: str, before: Any, after: Any) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            inside = f"{where} › {key}" if where else str(key)
            if key not in after:
                yield f"{inside}: gone"
            elif key not in before:
                yield f"{inside}: new"
            else:
                yield from _differ(inside, before[key], after[key])
    elif isinstance(before, np.ndarray) and isinstance(after, np.ndarray):
        yield from _arrays_differ(where, before, after)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for i, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _differ(f"{where}[{i}]", one, other)
    elif isinstance(before, np.ndarray) or isinstance(after, np.ndarray) or before != after:
        yield f"{where}: {_short(before)} → {_short(after)}"


def _arrays_differ(where: str, before: np.ndarray, after: np.ndarray) -> Iterator[str]:
    if before.shape != after.shape:
        yield f"{where}: array {before.shape} → {after.shape}"
    elif not np.array_equal(before, after, equal_nan=before.dtype.kind == "f" and after.dtype.kind == "f"):
        apart = (before != after) & ~((before != before) & (after != after))
        count, place = int(apart.sum()), tuple(int(i) for i in np.argwhere(apart)[0])
        yield f"{where}: {count} of {before.size} numbers, first at {place}: {before[place]:.6g} → {after[place]:.6g}"


def _short(value: Any) -> str:
    text = f"array {value.shape}" if isinstance(value, np.ndarray) else repr(value)
    return text if len(text) <= 90 else text[:87] + "..."


# Two revisions --------------------------------------------------------------------------------------------------------


def compare(before: Path, after: Path) -> list[str]:
    """What differs between two folders of pictures, a line each."""
    found: list[str] = []
    for slug in sorted({folder.name for folder in [*before.iterdir(), *after.iterdir()]}):
        if not (before / slug).exists() or not (after / slug).exists():
            found.append(f"{slug}: {'new' if (after / slug).exists() else 'gone'}")
            continue
        one, other = (json.loads((folder / slug / CASES).read_text(encoding="utf-8")) for folder in (before, after))
        for name in [*one, *(name for name in other if name not in one)]:
            where = f"{slug}, {name}"
            if name not in one or name not in other:
                found.append(f"{where}: {'new' if name in other else 'gone'}")
            elif "said" in one[name] or "said" in other[name]:
                if one[name].get("said") != other[name].get("said"):
                    told = [case.get("said", "a picture") for case in (one[name], other[name])]
                    found.append(f"{where}: {told[0]} → {told[1]}")
            else:
                blobs = [(folder / slug / case["file"]).read_bytes() for folder, case in ((before, one[name]), (after, other[name]))]
                lines = differences(*blobs) if blobs[0] != blobs[1] else []
                more = [f"and {len(lines) - MOST} more"] if len(lines) > MOST else []
                found += [f"{where}: {line}" for line in [*lines[:MOST], *more]]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", nargs="?", default="HEAD")
    parser.add_argument("--lessons", nargs="*", default=[], metavar="SLUG")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        tree, before, after = (Path(temporary) / name for name in ("tree", "before", "after"))
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, given.revision], cwd=ROOT, check=True)
        try:
            drawn = [
                subprocess.Popen([sys.executable, RECORD, folder, *given.lessons], cwd=where)
                for folder, where in ((before, tree), (after, ROOT))
            ]
            if any([process.wait() for process in drawn]):
                return 2
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)
        found = compare(before, after)
    for line in found:
        print(line)
    print(f"{len(found)} differences from {given.revision}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
