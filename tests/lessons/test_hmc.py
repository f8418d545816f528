"""The HMC lesson: its numbers against theory, its pictures, its page."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from app.kit.player.scene import decode
from engine import kept
from engine.judge import overall
from engine.spec import SpecError
from engine.targets import FAMILIES
from lessons.hmc import analysis, panels, questions, scenes
from lessons.hmc.spec import RAVINE, SCENARIOS, VIEWS, HmcLesson
from tests.lessons.pages import MOST_BYTES, NEVER, page, says, verdicts

BY_ID = {scenario.id: scenario.spec for scenario in SCENARIOS}


SHORT = HmcLesson(draws=40)


# Spec -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameter,changes",
    [
        ("draws", {"draws": 2001}),
        ("dimension", {"dimension": 3}),
        ("view", {"view": "sideways"}),
        ("steps", {"steps": 0}),
        ("formula", {"target": "formula", "formula": "x +"}),
        ("formula", {"target": "formula", "formula": "x + y"}),
        ("mass", {"target": "student", "dof": 1.0, "mass": "variances"}),
    ],
)
def test_a_wrong_setting_is_named(parameter, changes):
    with pytest.raises(SpecError) as error:
        HmcLesson(**changes)
    assert error.value.parameter == parameter


def test_a_start_without_density_is_named():
    far = HmcLesson(target="formula", formula="-(x-60)^2 - (y-60)^2 where x > 50, y > 50")
    with pytest.raises(SpecError) as error:
        scenes.scene(far, None)
    assert error.value.parameter == "start"


def test_looking_otherwise_is_the_same_run():
    there = HmcLesson(view="phase", reverse="on")
    assert analysis.simulate(there) is analysis.simulate(HmcLesson())
    heads = [decode(scenes.scene(spec))[0] for spec in (there, HmcLesson(), HmcLesson(seed=2))]
    assert heads[0]["run"] == heads[1]["run"] != heads[2]["run"], "the player keeps its place exactly when the run is the same"


# Analysis -------------------------------------------------------------------------------------------------------------


def test_the_u_turn_is_where_the_distance_begins_to_shrink():
    walk = analysis.simulate(BY_ID["too-long"])
    assert 0.5 < walk.waste < 1.0
    grown, shrunk = [], []
    for distance, turn in zip(walk.distances, walk.u_turns, strict=True):
        if 1 < turn < len(distance) - 1:
            grown += list(np.diff(distance[:turn]) > 0)
            shrunk.append(distance[turn + 1] < distance[turn])
    assert len(shrunk) > 100
    assert np.mean(grown) > 0.95 and np.mean(shrunk) > 0.95, "between two points a path may dip for a moment"


def test_divergences_are_marked_where_the_path_was_still_sound():
    walk = analysis.simulate(BY_ID["funnel"])
    divergent = walk.recording.divergent[0]
    assert divergent.any()
    marked = np.isfinite(walk.divergence_points).all(axis=1)
    assert np.all(marked[divergent])
    border = 2 * np.log(BY_ID["funnel"].step_size / 2)
    starts_right = walk.previous[divergent, 0].min()
    assert starts_right > border - 2.0, "the chain hardly enters where leapfrog is unstable"
    assert np.median(walk.divergence_points[divergent, 0]) < -1.0, "paths break in the neck"


def test_leapfrog_comes_home_and_euler_does_not():
    for integrator, low, high in (("leapfrog", 0.0, 1e-12), ("swapped_kicks", 0.0, 1e-12), ("euler", 1e-3, np.inf)):
        spec = HmcLesson(target="gaussian", correlation=0.0, integrator=integrator, step_size=0.2, steps=10, draws=40)
        walk = analysis.simulate(spec)
        gaps = [np.linalg.norm(analysis.way_back(spec, walk, t)[0][-1] - walk.previous[t]) for t in range(40)]
        assert low <= min(gaps) and max(gaps) <= high, integrator


def test_the_way_back_of_a_broken_path_is_not_drawn():
    spec = HmcLesson(target="formula", formula="-x-y where x>0, y>0", step_size=2.0, steps=10, draws=40, reverse="on")
    walk = analysis.simulate(spec)
    broken = int(np.argmax(walk.inside.steps < spec.steps))
    assert walk.inside.steps[broken] < spec.steps
    assert np.isnan(analysis.way_back(spec, walk, broken)[0]).all()
    scenes.scene(spec)


def test_the_map_marks_a_good_setting_and_does_not_depend_on_the_present_one(monkeypatch):
    monkeypatch.setattr(analysis, "MAP_STEPS", (1, 8, 32))
    monkeypatch.setattr(analysis, "map_draws", lambda steps: 300)
    monkeypatch.setattr(kept, "store", kept.Store(100_000_000))
    found = analysis.tuning_map(HmcLesson(step_size=0.25), NEVER)
    assert analysis.tuning_map(HmcLesson(step_size=0.9, steps=3, view="draws"), NEVER) is found
    assert found.acceptance[:, 0].min() > 0.99 and found.acceptance[1:, -1].max() < 0.2, "the cliff"
    size, _ = found.best()
    assert 0.1 < size < 2.0


def test_a_cancelled_map_is_not_made():
    stopped = threading.Event()
    stopped.set()
    with pytest.raises(InterruptedError):
        analysis.tuning_map(SHORT, stopped)


# Checks ---------------------------------------------------------------------------------------------------------------


# kernel, this run, numbers
VERDICTS = {
    "just-right": ("pass", "pass", "pass"),
    "too-short": ("pass", "not fail", "not fail"),
    "too-long": ("pass", "pass", "pass"),
    "too-large": ("pass", "fail", "unknown"),
    "funnel": ("pass", "fail", "unknown"),
    "mass": ("pass", "pass", "pass"),
    "euler": ("fail", "not pass", "not pass"),
    "no-accept": ("fail", "pass", "fail"),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_the_three_signs(name):
    assert says(verdicts("hmc", BY_ID[name]), VERDICTS[name])


def test_swapped_kicks_are_exact_but_wasteful():
    spec = BY_ID["just-right"].replace(integrator="swapped_kicks")
    assert verdicts("hmc", spec)[0] == "pass"
    finer = spec.replace(step_size=spec.step_size / 4, steps=spec.steps * 4)
    errors = [np.median(np.abs(analysis.simulate(s).inside.energy_error)) for s in (spec, finer)]
    assert errors[1] > 0.3 * errors[0], "its energy error does not vanish with the step"


def test_without_exact_draws_the_kernel_cannot_be_told(monkeypatch):
    monkeypatch.setattr(analysis, "kernels", lambda spec: [])
    assert overall(analysis.audit(SHORT)) == "unknown", "a right gradient alone proves no sampler"


# Scenes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", BY_ID)
def test_scenes_encode_and_are_small(name, view):
    spec = BY_ID[name].replace(view=view, reverse="on")
    header, _ = decode(blob := scenes.scene(spec))
    assert len(blob) < MOST_BYTES
    assert header["steps"] == spec.draws and len(header["panels"]) == 3


def test_the_largest_scene_is_small_enough():
    largest = HmcLesson(target="funnel", step_size=0.3, steps=20, chains=4, draws=2000, view="phase", reverse="on")
    assert len(scenes.scene(largest, 1999)) < MOST_BYTES
    assert len(scenes.scene(largest.replace(view="path", reverse="off"))) < MOST_BYTES


@pytest.mark.parametrize("target", FAMILIES)
@pytest.mark.parametrize("step_size", [0.01, 5.0])
def test_every_target_can_be_shown(target, step_size):
    for view in VIEWS:
        scenes.scene(HmcLesson(target=target, step_size=step_size, draws=30, view=view, reverse="on"))


def test_the_window_holds_the_transition_asked_for():
    spec = BY_ID["too-long"]
    for wanted in (0, 17, spec.draws - 1, spec.draws + 5):
        header, arrays = decode(scenes.scene(spec, wanted))
        first, offsets = header["window"]["first"], arrays[header["window"]["offsets"]]
        asked = min(wanted, spec.draws - 1)
        assert first <= asked < first + len(offsets) - 1
        assert offsets[1] == spec.steps + 1


def test_the_arithmetic_adds_up():
    spec = BY_ID["just-right"]
    header, arrays = decode(scenes.scene(spec))
    lines = {line["id"]: {k: arrays[v["array"]] for k, v in line["values"].items()} for line in header["readouts"]}
    kick, drift, again, ratio = (lines[name] for name in ("kick", "drift", "kick again", "ratio"))
    inside = ~np.isnan(kick["before"])
    first = kick["before"] + kick["half"] * kick["first_slope"]
    moved = drift["before_x"] + drift["epsilon"] * drift["speed"]
    second = again["middle"] + again["half"] * again["second_slope"]
    for found, shown in ((first, kick["middle"]), (moved, drift["x"]), (second, again["after"])):
        assert np.allclose(found[inside], shown[inside], atol=1e-5)
    target = spec.build_target()
    walk = analysis.simulate(spec)
    slope = target.log_density_and_gradient(walk.inside.path[0, 0])[1][0]
    assert kick["first_slope"][1] == pytest.approx(slope, abs=1e-4), "the slope shown is the target's gradient"
    assert np.allclose(ratio["end"] - ratio["start"], ratio["error"], atol=1e-4)
    taken = lines["u"]["u"] < lines["verdict"]["accept_prob"]
    assert np.array_equal(taken, lines["verdict"]["yes"].astype(bool))


# Panels and questions -------------------------------------------------------------------------------------------------


def test_panels_and_diagnostics_say_what_they_show(monkeypatch):
    monkeypatch.setattr(analysis, "MAP_STEPS", (1, 8))
    monkeypatch.setattr(analysis, "map_draws", lambda steps: 100)
    monkeypatch.setattr(kept, "store", kept.Store(100_000_000))
    figures = panels.panels(SHORT.replace(chains=4), NEVER)
    assert len(figures) == 3 and all(figure.alt and figure.caption for figure in figures)
    table = panels.diagnostics(SHORT.replace(chains=4), NEVER)
    assert table.columns["coordinate"] == ["x₁", "x₂"]
    assert "gradient evaluations" in table.caption
    assert all(value != "nan" for value in panels.diagnostics(HmcLesson(), NEVER).columns["R-hat"]), "one chain has an R-hat too"


@pytest.mark.parametrize("question,right", [("halve", 2), ("length", 2), ("mass", 1), ("no-accept", 2)])
def test_the_runs_answer_as_the_story_says(question, right):
    asked = next(q for q in questions.QUESTIONS if q.id == question)
    spec = BY_ID[asked.scenario]
    assert asked.answer(spec) == right
    assert any(character.isdigit() for character in asked.explain(spec))


def test_the_second_ball_stops_where_it_is_proposed():
    asked = next(q for q in questions.QUESTIONS if q.id == "end")
    for spec in (BY_ID["just-right"].replace(**asked.again[1]), BY_ID["just-right"]):
        run = analysis.simulate(spec)
        assert asked.answer(spec) == tuple(run.inside.path[1, -1]) and asked.explain(spec)
    assert run.recording.accepted[0, 1] and asked.answer(spec) == pytest.approx(run.recording.draws[0, 1])


def test_the_bias_without_the_accept_step_is_the_one_theory_gives():
    found, true, agreement = questions._variance(BY_ID["no-accept"])
    assert found == pytest.approx(1 / (1 - 1.2**2 / 4), rel=0.04) and true == 1.0
    assert agreement < 1.01


def test_the_ravine_is_as_long_as_the_story_says():
    widths = np.sqrt(np.linalg.eigvalsh(RAVINE.build_target().truth.covariance))
    assert 9 < widths[1] / widths[0] < 12
    assert analysis.simulate(BY_ID["mass"].replace(mass="identity")).recording.divergent.mean() > 0.5


# Page -----------------------------------------------------------------------------------------------------------------


def test_a_control_changes_the_run():
    app = page("hmc")
    app.number_input(key="hmc/steps/box").set_value(33).run()
    assert not app.exception and not app.error
    assert app.session_state["visit/hmc"].spec.steps == 33
    assert app.query_params["steps"] in ("33", ["33"])


def test_a_wrong_link_is_named_and_the_page_still_works():
    app = page("hmc", v="1", step_size="-3", integrator="magic")
    text = " ".join(warning.value for warning in app.warning)
    assert "step" in text and "integrator" in text
    assert not app.exception


def test_a_formula_with_a_mistake_keeps_the_last_good_run():
    app = page("hmc", v="1", target="formula")
    app.text_input(key="hmc/formula/text").set_value("-x^2 -").run()
    assert not app.exception and app.error
    assert app.session_state["visit/hmc"].spec.formula != "-x^2 -"
