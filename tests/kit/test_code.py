"""The code tab: phases of a twin's lines, and which lessons show a twin."""

from __future__ import annotations

import json
import struct

import pytest

from app.kit import code
from engine.readable.metropolis import metropolis
from tests.lessons.pages import ENTRIES, module

SAMPLING = ("engine.samplers.", "engine.jumps.")  # a lesson that shows code from here shows a readable twin, too


def test_a_phase_goes_from_its_heading_to_the_next_or_to_a_line_further_left():
    lines = {line.text.strip(): line for line in code.read(metropolis)}
    assert lines["y = x + step"].phase == "propose"
    assert lines["u = rng.random()"].phase == "u"
    assert lines["draws.append(x)"].phase == "decide"
    assert lines["return np.array(draws)"].phase is None
    assert lines['elif variant == "drop_rejections":  # wrong: drop_rejections'].wrong == ("drop_rejections",)
    assert not any("__main__" in line.text for line in lines.values())


def header(lesson, spec) -> dict:
    """Of a lesson's scene."""
    blob = lesson.scene(spec, None)
    (length,) = struct.unpack_from("<I", blob)
    return json.loads(blob[4 : 4 + length])


@pytest.mark.parametrize("slug", ENTRIES)
def test_a_lesson_with_a_sampler_shows_a_readable_twin(slug):
    lesson = module(slug, "page").LESSON
    first = lesson.scenarios[0].spec
    sampled = [f for f in lesson.code if getattr(f, "__module__", "").startswith(SAMPLING)]
    assert lesson.twins(first) or not sampled
    for twin in lesson.twins(first):
        assert twin.__module__.startswith("engine.readable.")


@pytest.mark.parametrize(
    "slug", ["metropolis", "hmc", "nuts", "gibbs", "slice-sampling", "delayed-rejection", "dimensions", "tuning", "variational", "logistic"]
)
def test_every_phase_of_the_stage_has_its_lines(slug):
    lesson = module(slug, "page").LESSON
    first = lesson.scenarios[0].spec
    lines = code.read(lesson.twins(first)[0])
    headed = {line.phase.split("/")[0] for line in lines if line.phase}
    scene = header(lesson, first)
    for phase in scene["phases"]:
        assert any(phase["id"] == own or phase["id"].startswith(f"{own}-") for own in headed), phase
    if scene["inside"]:
        parts = {part for line in lines if line.phase and "/" in line.phase for part in line.phase.split("/")[1].split(", ")}
        assert parts == set(scene["inside"]["names"]) - {"given up"}
