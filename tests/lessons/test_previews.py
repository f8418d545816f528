"""A slider that is dragged shows what its run will show: at each stop of a table stand the marks of the scene of just
those settings, read here by other code than the table is made with."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from threading import Event
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from app.kit import jobs, preview, stage
from app.kit.player import frozen, scene
from app.kit.preview import Asked, Preview
from app.kit.stops import stops
from app.kit.visit import Answer, Visit
from engine import ticket
from engine.spec import Spec, SpecError
from tests.lessons.pages import ENTRIES, module

LESSONS = {slug: module(slug, "page").LESSON for slug in ENTRIES}
DECLARED = [pytest.param(slug, name, id=f"{slug}-{name}") for slug, lesson in LESSONS.items() for name in lesson.previews]
TRIED = 3  # stops of each table


def shown(layer: dict[str, Any], header: dict[str, Any], arrays: list[np.ndarray], t: int) -> np.ndarray | None:
    """The numbers of a mark that can be seen once transition t is over."""
    other = "points" if layer["kind"] in ("points", "path", "columns") else "values"
    key = {"line": "ys", "arrows": "end", "heatmap": "frames"}.get(layer["kind"], other)
    if key not in layer:
        return None
    values, show = arrays[layer[key]], layer["show"]
    if layer.get("at") is not None:
        at = arrays[layer["at"]]
        return values[at[t + len(at) - header["steps"]]]
    if layer["kind"] == "heatmap":
        return values[t * len(values) // header["steps"]]
    if show["what"] == "at":
        return values[t]
    if show["what"] == "upto":
        return values[: t + 1][-(show["last"] or t + 1) :]
    if show["what"].startswith("inner"):
        offsets, first = arrays[header["window"]["offsets"]], header["window"]["first"]
        items = values[offsets[t - first] : offsets[t - first + 1]]
        return items[-1] if show["what"] == "inner_at" else items
    return values


def compare(table: bytes, lesson: Any, spec: Spec, field: str, asked: int) -> int:
    """Compare a table with scenes; the number of marks compared."""
    header, arrays = scene.decode(table)
    declared = spec.declarations()[field]
    every = stops(declared, getattr(spec, field))
    compared = 0
    frames = header["frames"]
    for frame in {0: frames[0], len(frames) // 2: frames[len(frames) // 2], len(frames) - 1: frames[-1]}.values():
        value = every[round(frame["at"])] if declared.log else frame["at"]
        value = int(value) if declared.kind == "integer" else value
        tried, picture = spec.replace(**{field: value}), lesson.previews[field].picture(lesson.scene)
        t = min(asked, scene.header(picture(tried, None))["steps"] - 1)  # a shorter run is shown at its end
        own, numbers = scene.decode(picture(tried, t))
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
                key = next(key for key in ("ys", "end", "points", "values", "frames") if key in mark)
                told = arrays[mark[key]]
                if layer["kind"] == "contour" and told.shape != wanted.shape:
                    wanted = wanted[::2, ::2]
                np.testing.assert_array_equal(told.ravel(), wanted.ravel(), err_msg=f"{field} = {value}, {panel['id']}, {same}")
                compared += 1
    return compared


class Panel:
    """Stands for the panel of a lesson's controls: which sliders it has."""

    def __init__(self, spec: Spec):
        self.spec = spec
        self.sliders: set[str] = set()

    def slider(self, name: str, label: str | None = None) -> None:
        self.sliders.add(name)

    def target(self, parameters: Iterable[str], *_: Any, **__: Any) -> None:
        self.sliders |= set(parameters)

    def more(self, *_: Any) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: None


def subjects(lesson: Any, field: str) -> Iterator[Spec]:
    """Settings of a lesson with a slider for the field: its scenarios, and each with another choice."""
    specs = [scenario.spec for scenario in lesson.scenarios]
    for spec in (*specs, *(other for each in specs for other in others(each))):
        panel = Panel(spec)
        lesson.controls(panel)
        if field in panel.sliders:
            yield spec


def others(spec: Spec) -> Iterator[Spec]:
    """The settings with another choice each."""
    for name, declared in spec.declarations().items():
        for option in declared.options:
            with contextlib.suppress(SpecError):
                yield spec.replace(**{name: option})


def subject(lesson: Any, field: str) -> tuple[Spec, int, bytes]:
    """The first settings whose picture depends on a field, a transition in the middle, and the table."""
    for spec in subjects(lesson, field):
        with contextlib.suppress(SpecError):
            declared = lesson.previews[field]
            t = 0 if declared.instead else scene.header(declared.picture(lesson.scene)(spec, None))["steps"] // 2
            table = made(lesson, field, spec, t)
            if scene.header(table)["frames"][0]["panels"]:
                return spec, t, table
    pytest.fail(f"no picture depends on {field}")


def made(lesson: Any, field: str, spec: Spec, t: int) -> bytes:
    """A table of the present value and the few stops beside it."""
    ended = iter([False] * 2 * TRIED)  # before and after each
    [table] = preview.tables(lesson.previews[field], lesson.scene, spec, Asked(field, t, t, 1), lambda: next(ended, True))
    return table


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


def test_what_belongs_to_a_transition_is_known_from_what_all_have():
    """Of a run nothing lies between two stops: half of one normal curve and half of another would be none of them."""
    lesson = LESSONS["weights"]
    spec = lesson.scenarios[0].spec
    header, arrays = scene.decode(lesson.scene(spec, None))
    cut = frozen.Frozen(header, arrays, 2)
    several = [layer for panel in header["panels"] for layer in panel["layers"] if layer.get("at") is not None]
    assert {(layer["kind"], cut.layer(layer)["show"]["was"]) for layer in several} == {("path", "at"), ("heatmap", "at")}


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


@pytest.mark.parametrize(("field", "value"), [("m", 5.0), ("alpha", 6.0)])
def test_the_first_stops_are_spread_over_the_slider(field: str, value: float):
    declaration = LESSONS["conjugate"].spec.declarations()[field]
    found = preview.grid(declaration, value)
    assert len(set(found)) == len(found)
    for side in ([at for at in found if at < value], [at for at in found if at > value]):
        ranks = [sorted(side).index(at) for at in side]
        assert np.ptp(ranks[:3]) >= len(side) // 2 and sorted(ranks) == list(range(len(side)))


def test_dear_pictures_are_shown_as_they_come_and_end_with_their_time(monkeypatch: pytest.MonkeyPatch):
    """Each table holds what the one before it had, in at most a handful of them."""
    spent, told = [0.0], list[bytes]()
    monkeypatch.setattr(stage.time, "thread_time", lambda: spent[0])

    def dear(spec: Any, window: int | None) -> bytes:
        spent[0] += 0.2
        return LESSONS["conjugate"].scene(spec, window)

    lesson, channel = dataclasses.replace(LESSONS["conjugate"], scene=dear), SimpleNamespace(tell=told.append)
    stage._tabled(lesson, lesson.scenarios[0].spec, Asked("alpha", 5, 5, 1), channel, Event())
    places = [{frame["at"] for frame in scene.header(table)["frames"]} for table in told]
    assert 3 <= len(places) <= 6 and all(before <= after for before, after in pairwise(places))
    assert 1 < len(places[0]) < len(places[-1]) < len(preview.grid(lesson.spec.declarations()["alpha"], 6.0))
    assert spent[0] < stage.LONGEST_PREVIEW + 0.5


def test_a_picture_that_takes_longer_than_all_may_is_left_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stage, "LONGEST_PREVIEW", 0.05)
    told: list[bytes] = []
    spec = LESSONS["conjugate"].scenarios[0].spec

    def picture(tried: Any, window: int | None) -> bytes:
        for _ in range(10**6 if tried != spec else 0):
            ticket.look()
        return LESSONS["conjugate"].scene(tried, window)

    lesson = dataclasses.replace(LESSONS["conjugate"], scene=picture)
    stage._tabled(lesson, spec, Asked("alpha", 5, 5, 1), SimpleNamespace(tell=told.append), Event())
    assert [len(scene.header(table)["frames"]) for table in told] == [1]


def test_a_table_ends_before_the_first_stop_that_has_no_picture():
    """Also where a farther one was made before."""
    lesson, asked = LESSONS["conjugate"], Asked("alpha", 5, 5, 1)
    spec = lesson.scenarios[0].spec
    every = preview.grid(spec.declarations()["alpha"], spec.alpha)
    missing, made = sorted(stop for stop in every if stop > spec.alpha)[2], []

    def picture(tried: Any, window: int | None) -> bytes:
        made.append(tried.alpha)
        if tried.alpha == missing:
            raise SpecError("alpha", "has no picture")
        return lesson.scene(tried, window)

    [table] = preview.tables(lesson.previews["alpha"], picture, spec, asked)
    places = [frame["at"] for frame in scene.header(table)["frames"]]
    reach = [stops(spec.declarations()["alpha"], spec.alpha).index(stop) for stop in sorted(every) if stop < missing]
    assert places == reach and max(made) > missing


@pytest.fixture
def submitted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The tables whose making has begun, with every picture done."""
    made: list[Any] = []
    monkeypatch.setattr(stage, "_picture", lambda lesson, here: SimpleNamespace(state=jobs.DONE))
    monkeypatch.setattr(stage, "session", lambda: "a reader")
    monkeypatch.setattr(jobs, "pool", lambda: SimpleNamespace(submit=lambda *what, **how: made.append(what)))
    return made


def test_no_table_is_made_of_runs_that_take_seconds_by_nature(submitted: list[Any]):
    spec = LESSONS["conjugate"].scenarios[0].spec
    for slow, tables in ((True, 0), (False, 1)):
        declared = {"alpha": Preview(slow=lambda shown, slow=slow: shown is spec and slow)}
        stage._preview(dataclasses.replace(LESSONS["conjugate"], previews=declared), Visit(spec), Asked("alpha", 0, 0, 1))
        assert len(submitted) == tables


@pytest.mark.parametrize("slug", [slug for slug, lesson in LESSONS.items() if lesson.previews])
def test_no_table_is_made_beside_an_open_question(slug: str, submitted: list[Any]):
    """What other settings show may answer it. Once it is locked, there is a table, but of runs that take seconds by nature."""
    lesson, tables = LESSONS[slug], 0
    asking = [(at, step) for at, step in enumerate(lesson.steps()) if step.question and step.scenario]
    for at, step in asking:
        here = Visit(lesson.specs()[step.scenario], step.scenario, step=at)
        for field in lesson.previews:
            stage._preview(lesson, here, Asked(field, 0, 0, 1))
        assert not submitted, (step.title, step.question)
        here.answers[step.question] = Answer(0, right=0)
        quick = [field for field, declared in lesson.previews.items() if not declared.slow(here.spec)]
        for field in quick:
            stage._preview(lesson, here, Asked(field, 0, 0, 1))
        assert len(submitted) == len(quick), (step.title, step.question)
        tables += len(submitted)
        submitted.clear()
    assert tables
