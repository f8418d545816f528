"""The drawing pad: what it mounts, and how a stroke under way and a finished one reach the spec."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from streamlit.testing.v1 import AppTest

from app.kit import pad as pads
from app.kit import stage
from app.kit.lesson import Lesson
from app.kit.pad import LIMIT, strokes
from app.kit.visit import Visit
from app.kit.words import Words
from engine.spec import Spec, points


@dataclass(frozen=True, kw_only=True)
class Drawn(Spec):
    drawing: tuple[tuple[float, float, int], ...] = points(LIMIT, "strokes")


def page() -> None:
    from app.kit.pad import pad

    pad([(0.1, 0.2, 0), (0.3, 0.4, 1)], key="pad", on_event=lambda event: None)


def test_it_mounts_a_loader_and_its_strokes():
    at = AppTest.from_function(page).run()
    assert not at.exception
    (component,) = at.get("bidi_component")
    assert len(component.proto.js_content.encode()) < 4000 and "__" not in component.proto.js_content
    assert "app/static/pad/pad.js" in component.proto.js_content
    data = json.loads(component.proto.json)
    assert data == {"points": [[0.1, 0.2, 0], [0.3, 0.4, 1]], "limit": LIMIT, "seen": 0}


@pytest.mark.parametrize(
    ("told", "seen"),
    [({"number": 3, "final": False}, 1), ({"number": 3, "final": True}, 3), ({"number": "3", "final": True}, 1), ({"final": True}, 1)],
)
def test_only_a_finished_stroke_counts_as_seen(monkeypatch: pytest.MonkeyPatch, told: dict, seen: int):
    """Else the echo of a stroke under way would take its last points away while more are being drawn."""
    state: dict = {}
    mounted: list[dict] = []
    heard: list[dict] = []
    monkeypatch.setattr(pads.st, "session_state", state)
    monkeypatch.setattr(pads, "_mount", lambda **what: mounted.append(what))

    def happens(event: dict) -> int:
        state["pad"] = {"event": event}
        mounted[-1]["on_event_change"]()
        pads.pad([], key="pad", on_event=heard.append)
        return mounted[-1]["data"]["seen"]

    pads.pad([], key="pad", on_event=heard.append)
    assert happens({"number": 1, "final": True}) == 1
    assert happens(told) == seen
    assert heard[-1] == told, "the lesson hears of each, and checks what it hears"


@pytest.fixture
def lesson() -> Lesson:
    return Lesson(
        slug="drawn",
        words=Words(__file__),
        spec=Drawn,
        scenarios=(),
        controls=lambda panel: None,
        scene=lambda spec, window: b"",
        on_event=lambda spec, event: spec.replace(drawing=strokes(event)),
    )


def event(*rows: tuple[float, float, int], final: bool) -> dict:
    return {"kind": "drawing", "points": [list(row) for row in rows], "final": final}


def test_a_stroke_under_way_is_a_draft_and_a_finished_one_the_spec(lesson: Lesson):
    here = Visit(Drawn(), scenario="first")
    stage._event(lesson, here, event((0.1, 0.1, 0), final=False))
    assert here.draft == Drawn(drawing=((0.1, 0.1, 0),)) and here.spec == Drawn()
    assert not here.touched and here.scenario == "first"
    stage._event(lesson, here, event((0.1, 0.1, 0), (0.2, 0.2, 0), final=True))
    assert here.draft is None and here.spec.drawing[-1] == (0.2, 0.2, 0)
    assert here.touched and here.scenario is None


def test_a_finished_stroke_that_changes_nothing_ends_the_draft(lesson: Lesson):
    here = Visit(Drawn())
    stage._event(lesson, here, event((0.1, 0.1, 0), final=False))
    stage._event(lesson, here, event(final=True))
    assert here.draft is None and here.spec == Drawn()


def test_nonsense_from_the_browser_changes_nothing_and_is_told(lesson: Lesson):
    here = Visit(Drawn())
    stage._event(lesson, here, event((7.0, 0.1, 0), final=True))
    assert here.spec == Drawn() and here.problems[0].parameter == "drawing"
