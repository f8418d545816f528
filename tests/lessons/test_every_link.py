"""Every valid link has a picture, or a sentence that says why there is none: random links of all lessons."""

from __future__ import annotations

import dataclasses
import struct

import numpy as np
import pytest

from app.kit.player.scene import Axis, Scene
from engine.spec import SpecError
from tests import fuzz
from tests.lessons.pages import ENTRIES, page

FEW, MANY = 28, 625  # links of each lesson: a thousand of all together, and twenty thousand


@pytest.mark.parametrize("slug", ENTRIES)
def test_every_link_has_a_picture_or_a_sentence(slug: str) -> None:
    found = fuzz.bad(fuzz.lesson_of(slug), range(FEW), large=0.0)
    assert not found, "\n".join(found)


@pytest.mark.long
@pytest.mark.parametrize("slug", ENTRIES)
def test_every_one_of_many_links_has_a_picture_or_a_sentence(slug: str) -> None:
    found = fuzz.bad(fuzz.lesson_of(slug), range(FEW, FEW + MANY))
    assert not found, "\n".join(found)


@pytest.mark.long
@pytest.mark.parametrize("slug", ENTRIES)
def test_the_page_of_every_link_is_drawn_whole(slug: str) -> None:
    lesson = fuzz.lesson_of(slug)
    for number in range(10):
        query = fuzz.query(fuzz.link(lesson, number, large=0.0))
        app = page(slug, **query)
        assert not app.exception, (query, app.exception)


# Links that once had an exception, or nothing, in place of a picture

MENDED = {
    "/xor": {"variant": "always_accept", "step_size": 2.0, "activation": "linear"},
    "/dropout": {"method": "concrete_dropout", "keep": 1.0},
    "/regression": {"data": "points", "method": "ensemble"},
}


@pytest.mark.parametrize("path", MENDED)
def test_mended(path: str) -> None:
    lesson = fuzz.lesson_of(path[1:])
    came = fuzz.outcome(lesson, lesson.spec(**MENDED[path]))
    assert came.kind == ("picture" if path == "/dropout" else "sentence"), came.said


# The search itself can fail


def blob(values: list[float]) -> bytes:
    made = Scene(run="a", steps=2, label="a scene")
    panel = made.panel("only", x=Axis("x", 0, 1), y=Axis("y", 0, 1))
    panel.points(np.column_stack([values, values]))
    return made.encode()


def test_a_blank_scene_is_seen() -> None:
    assert fuzz.blank_panels(blob([0.5, np.nan])) == []
    assert fuzz.blank_panels(blob([np.nan, np.nan])) is None
    with pytest.raises(struct.error):
        fuzz.blank_panels(b"")


@pytest.mark.parametrize(
    "scene,kind",
    [
        (lambda spec, window: blob([0.5, 0.5]), "picture"),
        (lambda spec, window: blob([np.nan, np.nan]), "blank"),
        (lambda spec, window: 1 / 0, "exception"),
        (lambda spec, window: (_ for _ in ()).throw(SpecError("units", "too many")), "sentence"),
    ],
)
def test_what_a_link_comes_to_is_told_apart(scene, kind: str) -> None:
    lesson = dataclasses.replace(fuzz.lesson_of("xor"), scene=scene, grow=None)
    came = fuzz.outcome(lesson, lesson.spec())
    assert came.kind == kind and came.bad == (kind in ("blank", "exception"))


def test_links_differ_and_are_valid() -> None:
    lesson = fuzz.lesson_of("hmc")
    specs = [fuzz.link(lesson, number) for number in range(40)]
    assert len(set(specs)) == 40 and specs == [fuzz.link(lesson, number) for number in range(40)]
    assert len({spec.target for spec in specs}) > 3 and len({spec.formula for spec in specs}) > 3
