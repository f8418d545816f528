"""The code tab: phases of a twin's lines, and which lessons show a twin."""

from __future__ import annotations

import contextlib
import json
import struct

import pytest
from streamlit.testing.v1 import AppTest

from app.kit import code
from engine.readable.metropolis import metropolis
from engine.spec import SpecError
from tests.lessons.pages import ENTRIES, module

# fields whose choices are mistakes on purpose, and the choices that are none; every lesson's `faults` are added
RIGHT = {
    "variant": {"exact"},
    "mistake": {"none"},
    "broken": {"no"},
    "cheat": {"off"},
    "sandwich": {"palindromic"},
    "jacobian": {"counted"},
    "bound": {"exact", "observed"},
    "after": {"frozen"},
}
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


def wrong_specs(lesson, spec):
    """Every choice of a mistake that a spec of a lesson allows: its name, and the changed spec."""
    for name, declaration in lesson.spec.declarations().items():
        for value in set(declaration.options) - RIGHT[name] if name in RIGHT else ():
            with contextlib.suppress(SpecError):
                yield value, spec.replace(**{name: value})
    if lesson.faults is not None:
        yield from lesson.faults(spec).items()


@pytest.mark.parametrize("slug", ENTRIES)
def test_every_mistake_of_a_lesson_has_its_line_or_is_said_to_be_elsewhere(slug):
    lesson = module(slug, "page").LESSON
    chosen, told = set(), set()
    for scenario in lesson.scenarios:
        before = set(lesson.in_force(scenario.spec))
        for mistake, spec in wrong_specs(lesson, scenario.spec):
            chosen.add(mistake)
            if names := set(lesson.in_force(spec)) - before:
                twins = lesson.twins(spec)
                shown = names & (code.marked(twins) | set(lesson.words.get("elsewhere")))
                assert shown, f"{mistake}: no line of {[twin.__name__ for twin in twins]} makes it, and no words say where"
                told.add(mistake)
            elif mistake in before or spec == scenario.spec:
                told.add(mistake)
    assert chosen == told, "a mistake that is never in force"


@pytest.mark.parametrize("slug", ENTRIES)
def test_a_lesson_shows_a_readable_twin_of_what_it_runs(slug):
    lesson = module(slug, "page").LESSON
    assert any(lesson.twins(scenario.spec) for scenario in lesson.scenarios)


def test_a_mistake_without_a_line_is_told_where_it_is():
    def script(running):
        from app.kit import code
        from engine.readable.metropolis import metropolis

        code.show(
            [metropolis], [], running, "here", {"no_prior": "The prior is forgotten.", "drop_rejections": "Not said: it has its line."}
        )

    for running, said in ((["no_prior"], ["The prior is forgotten."]), (["drop_rejections"], []), ([], [])):
        page = AppTest.from_function(script, args=(running,), default_timeout=60).run()
        assert [warning.value for warning in page.warning] == said


@pytest.mark.parametrize("slug", ENTRIES)
def test_a_lesson_with_a_sampler_shows_a_readable_twin(slug):
    lesson = module(slug, "page").LESSON
    first = lesson.scenarios[0].spec
    sampled = [f for f in lesson.code if getattr(f, "__module__", "").startswith(SAMPLING)]
    assert lesson.twins(first) or not sampled
    for twin in lesson.twins(first):
        assert twin.__module__.startswith("engine.readable.")


@pytest.mark.parametrize(
    "slug",
    [
        *("metropolis", "hmc", "nuts", "gibbs", "slice-sampling", "delayed-rejection", "dimensions", "tuning", "variational", "logistic"),
        *("conjugate", "monte-carlo", "model-selection", "perceptron", "diagnostics", "neurons", "layers", "weights", "spike-and-slab"),
        "priors",
    ],
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
