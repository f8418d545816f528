"""A slider that is dragged shows what its run will show: at each stop of a table stand the marks of the scene of just
those settings, read here by other code than the table is made with."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from app.kit import preview
from app.kit.player import scene
from app.kit.preview import Asked
from app.kit.stops import stops
from engine.spec import Spec, SpecError
from tests.lessons.pages import ENTRIES, module

LESSONS = {slug: module(slug, "page").LESSON for slug in ENTRIES}
DECLARED = [pytest.param(slug, name, id=f"{slug}-{name}") for slug, lesson in LESSONS.items() for name in lesson.previews]
TRIED = 3  # stops of each table


def shown(layer: dict[str, Any], header: dict[str, Any], arrays: list[np.ndarray], t: int) -> np.ndarray | None:
    """The numbers of a mark that can be seen once transition t is over."""
    key = {"line": "ys", "arrows": "end"}.get(layer["kind"], "points" if layer["kind"] in ("points", "path", "columns") else "values")
    if key not in layer or layer.get("at") is not None:
        return None
    values, show = arrays[layer[key]], layer["show"]
    if show["what"] == "at":
        return values[t]
    if show["what"] == "upto":
        return values[: t + 1][-(show["last"] or t + 1) :]
    if show["what"].startswith("inner"):
        offsets, first = arrays[header["window"]["offsets"]], header["window"]["first"]
        items = values[offsets[t - first] : offsets[t - first + 1]]
        return items[-1] if show["what"] == "inner_at" else items
    return values


def compare(table: bytes, lesson: Any, spec: Spec, field: str, t: int) -> int:
    """Compare a table with scenes; the number of marks compared."""
    header, arrays = scene.decode(table)
    declared = spec.declarations()[field]
    every = stops(declared, getattr(spec, field))
    compared = 0
    frames = header["frames"]
    for frame in {0: frames[0], len(frames) // 2: frames[len(frames) // 2], len(frames) - 1: frames[-1]}.values():
        value = every[round(frame["at"])] if declared.log else frame["at"]
        value = int(value) if declared.kind == "integer" else value
        own, numbers = scene.decode(lesson.scene(spec.replace(**{field: value}), t))
        for panel in own["panels"]:
            met: dict[str, int] = {}
            kept = frame["panels"].get(panel["id"], {"layers": {}})
            for axis in ("x", "y"):
                assert kept.get(axis, panel[axis]) == panel[axis], (field, value, panel["id"], axis)
            for layer in panel["layers"]:
                same = f"{layer['kind']} {layer['role']}"
                met[same] = met.get(same, 0) + 1
                mark = kept["layers"].get(f"{same} {met[same]}")
                wanted = shown(layer, own, numbers, t)
                if mark is None or wanted is None:
                    continue
                key = next(key for key in ("ys", "end", "points", "values") if key in mark)
                told = arrays[mark[key]]
                if layer["kind"] == "contour" and told.shape != wanted.shape:
                    wanted = wanted[::2, ::2]
                np.testing.assert_array_equal(told.ravel(), wanted.ravel(), err_msg=f"{field} = {value}, {panel['id']}, {same}")
                compared += 1
    return compared


def subjects(lesson: Any) -> Iterator[Spec]:
    """Settings of a lesson: its scenarios, and each with another choice."""
    specs = [scenario.spec for scenario in lesson.scenarios]
    yield from specs
    for spec in specs[:2]:
        for name, declared in spec.declarations().items():
            for option in declared.options:
                with contextlib.suppress(SpecError):
                    yield spec.replace(**{name: option})


def subject(lesson: Any, field: str) -> tuple[Spec, int, bytes]:
    """The first settings whose picture depends on a field, the transition on stage, and the table."""
    for spec in subjects(lesson):
        with contextlib.suppress(SpecError):
            header = scene.header(lesson.scene(spec, None))
            t = 0 if lesson.previews[field].instead else header["start"] or 0
            table = made(lesson, field, spec, t)
            if scene.header(table)["frames"][0]["panels"]:
                return spec, t, table
    pytest.fail(f"no picture depends on {field}")


def made(lesson: Any, field: str, spec: Spec, t: int) -> bytes:
    """A table of the present value and the few stops beside it."""
    ended = iter([False] * TRIED)
    return preview.table(lesson.previews[field], lesson.scene, spec, Asked(field, t, t, 1), lambda: next(ended, True))


@pytest.mark.parametrize(("slug", "field"), DECLARED)
def test_a_preview_is_the_picture_of_its_settings(slug: str, field: str):
    lesson = LESSONS[slug]
    spec, t, table = subject(lesson, field)
    assert compare(table, lesson, spec, field, t) > 0


def test_a_preview_of_other_settings_is_seen(monkeypatch: pytest.MonkeyPatch):
    lesson = LESSONS["conjugate"]
    spec = lesson.scenarios[0].spec
    right = preview.spec_at
    monkeypatch.setattr(preview, "spec_at", lambda spec, field, stop: right(spec, field, stop * 1.01))
    with pytest.raises(AssertionError):
        compare(made(lesson, "alpha", spec, 5), lesson, spec, "alpha", 5)


@pytest.mark.parametrize("t", [0, 7])
def test_a_path_of_other_steps_begins_where_the_shown_one_does(t: int):
    """With the settings on stage it is the path on stage; with a smaller step its energy errs less."""
    analysis = module("hmc", "analysis")
    spec = LESSONS["hmc"].scenarios[0].spec
    walk, same = analysis.simulate(spec), analysis.continued(spec, spec, t)
    np.testing.assert_allclose(same.inside.path[t], walk.inside.path[t], rtol=1e-10)
    assert same.recording.accepted[0, t] == walk.recording.accepted[0, t]
    np.testing.assert_allclose(same.recording.draws, walk.recording.draws, rtol=1e-10)
    fine = analysis.continued(spec, spec.replace(step_size=spec.step_size / 10, steps=10 * spec.steps), t)
    np.testing.assert_array_equal(fine.inside.path[t, 0], walk.previous[t])
    assert abs(fine.inside.energy_error[t]) < abs(walk.inside.energy_error[t])
    np.testing.assert_allclose(fine.inside.path[t, -1], walk.inside.path[t, -1], atol=0.2)


def test_stops_of_a_table_lie_the_denser_the_nearer():
    declaration = LESSONS["conjugate"].spec.declarations()["m"]
    found = preview.grid(declaration, 5.0)
    assert found[0] == 5.0 and {-100.0, 100.0} <= set(found) and len(found) <= 2 * preview.SIDE + 1
    above = np.diff(sorted(value for value in found if value >= 5.0))
    assert (np.diff(above) >= -1e-9).all()
