"""The tool that compares pictures before and after: what it sees, and what it forgives."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from app.kit.player.scene import Axis, Panel, Scene
from tests.scenes.compare import compare, differences
from tests.scenes.record import CASES

XS, YS = np.array([0.0, 0.5, 1.0]), np.array([0.2, np.nan, 0.4])


def drawn(change: Callable[[Scene, Panel], object] = lambda scene, panel: None, **other: object) -> bytes:
    """A picture of two panels with a line, points and a card."""
    given = {"title": "One", "place": (0, 0, 2, 1), "beside": (2, 0, 1, 1), "ys": YS, "label": "a line", "name": "a"}
    given |= other
    scene = Scene(run="a", steps=3, label="a scene")
    panel = scene.panel("one", title=given["title"], x=Axis("x", 0, 1), y=Axis("y", 0, 1), place=given["place"])
    panel.path(np.column_stack([XS, given["ys"]]), show="all", label=given["label"])
    panel.points(np.column_stack([XS, XS]), label="points")
    scene.panel("two", x=Axis("x", 0, 1), y=Axis("y", 0, 1), place=given["beside"]).line(XS, XS, label="other")
    name = given["name"]
    scene.readout("card", "{t}: so much: {" + str(name) + ":.2f}", **{str(name): XS})
    change(scene, panel)
    return scene.encode()


@pytest.mark.parametrize(
    ("after", "seen"),
    [
        (drawn(title="Another"), "title: 'One' → 'Another'"),
        (drawn(label="a path"), "path a path: new"),
        (drawn(ys=YS + np.array([0.0, 0.0, 1e-6])), "numbers, first at (2, 1): 0.4 → 0.400001"),
        (drawn(lambda scene, panel: panel.line(XS, XS)), "line: new"),
        (drawn(place=(0, 0, 1, 1), beside=(1, 0, 1, 1)), "place"),
        (drawn(lambda scene, panel: scene.panels.reverse()), "order of panels"),
        (drawn(lambda scene, panel: scene.readout("more", "and more")), "more: new"),
    ],
)
def test_it_sees(after: bytes, seen: str):
    assert any(seen in line for line in differences(drawn(), after)), differences(drawn(), after)


@pytest.mark.parametrize("after", [drawn(), drawn(place=(0, 0, 4, 2), beside=(4, 0, 2, 2)), drawn(name="b")])
def test_it_forgives_what_looks_the_same(after: bytes):
    assert differences(drawn(), after) == []


def test_the_step_shown_first_is_a_number():
    """Also where it is larger than there are arrays."""

    def picture(start: int) -> bytes:
        scene = Scene(run="a", steps=40, label="a scene", start=start)
        scene.panel("one", x=Axis("x", 0, 1), y=Axis("y", 0, 1)).line(XS, XS)
        return scene.encode()

    assert differences(picture(30), picture(31)) == ["start: 30 → 31"]


def test_gaps_at_the_ends_of_a_path_are_nothing():
    nothing = [np.nan, np.nan]
    gaps = [nothing, [0.0, 0.2], nothing, nothing, [1.0, 0.4], nothing]

    def picture(points: list[list[float]]) -> bytes:
        scene = Scene(run="a", steps=3, label="a scene")
        scene.panel("one", x=Axis("x", 0, 1), y=Axis("y", 0, 1)).path(np.array(points), show="all", label="a path")
        return scene.encode()

    assert differences(picture(gaps), picture([[0.0, 0.2], nothing, [1.0, 0.4]])) == []
    assert differences(picture(gaps), picture([[0.0, 0.2], [1.0, 0.4]])) != []


def test_pictures_that_are_new_or_gone_and_what_was_said(tmp_path: Path):
    for side, cases in (("before", {"a": b"", "b": None}), ("after", {"b": None, "c": b""})):
        folder = tmp_path / side / "demo"
        folder.mkdir(parents=True)
        index = {}
        for name, blob in cases.items():
            index[name] = {"said": f"nothing {side}"} if blob is None else {"file": name}
        (folder / CASES).write_text(json.dumps(index), encoding="utf-8")
    told = compare(tmp_path / "before", tmp_path / "after")
    assert told == ["demo, a: gone", "demo, b: nothing before → nothing after", "demo, c: new"]
