"""The Gibbs lesson: its numbers against theory, its pictures, its page."""

from __future__ import annotations

import numpy as np
import pytest

from app.kit.player.scene import decode
from engine.diagnostics import autocorrelation
from engine.judge import overall
from engine.samplers.gibbs_theory import gaussian_efficiency
from engine.spec import SpecError
from lessons.gibbs import analysis, panels, questions, scenes
from lessons.gibbs.spec import SCENARIOS, TARGETS, VIEWS, GibbsLesson
from tests.lessons.pages import MOST_BYTES, NEVER, page, planted, says, verdicts

BY_ID = {scenario.id: scenario.spec for scenario in SCENARIOS}


# Spec -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameter,changes",
    [
        ("draws", {"draws": 1001}),
        ("target", {"target": "banana"}),
        ("target", {"target": "ring"}),
        ("formula", {"target": "formula", "formula": "x +", "update": "metropolis"}),
        ("measurements", {"target": "normal_gamma", "measurements": "1, two"}),
        ("measurements", {"target": "normal_gamma", "measurements": "3, 3"}),
        ("errors", {"target": "hierarchical", "errors": "1, 2"}),
        ("group", {"target": "hierarchical", "group": 9}),
        ("correlation", {"correlation": 1.0}),
    ],
)
def test_a_wrong_setting_is_named(parameter, changes):
    with pytest.raises(SpecError) as error:
        GibbsLesson(**changes)
    assert error.value.parameter == parameter


def test_looking_otherwise_is_the_same_run():
    assert analysis.simulate(GibbsLesson(view="memory")) is analysis.simulate(GibbsLesson())
    heads = [decode(scenes.scene(spec))[0] for spec in (GibbsLesson(view="memory"), GibbsLesson(), GibbsLesson(seed=9))]
    assert heads[0]["run"] == heads[1]["run"] != heads[2]["run"]


# The updates ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BY_ID)
def test_every_update_changes_one_coordinate_and_sweeps_end_at_the_draws(name):
    walk = analysis.simulate(BY_ID[name])
    moved = walk.after != walk.before
    others = np.arange(walk.target.dim) != walk.coordinate[:, None]
    assert not (moved & others).any(), "a step is parallel to an axis"
    draws = walk.recording.draws[0, : walk.steps // walk.target.dim]
    np.testing.assert_array_equal(walk.after[walk.sweep_ends], draws)


@pytest.mark.parametrize("name", ["steps", "normal-gamma", "groups"])
def test_the_curve_drawn_is_a_slice_of_the_joint_density(name):
    spec = BY_ID[name]
    walk, plane = analysis.simulate(spec), analysis.plane(spec)
    for t in range(2 * walk.target.dim):
        j, axis = int(walk.coordinate[t]), plane.axis_of(int(walk.coordinate[t]))
        log_spread = plane.log_spread and axis == 1
        x, height = analysis.conditional_curve(int(walk.kind[t]), walk.parameters[t], log_spread=log_spread)
        points = np.tile(walk.before[t], (len(x), 1))
        points[:, j] = np.exp(-2.0 * x) if log_spread else x
        log_p = walk.target.log_density_many(points) + (np.log(points[:, j]) if log_spread else 0.0)
        np.testing.assert_allclose(height, np.exp(log_p - log_p.max()), atol=1e-6)


def test_a_window_of_the_wrong_sampler_is_eleven_points_and_one_is_taken():
    walk = analysis.simulate(BY_ID["window"])
    gap = np.abs(analysis.window_ends(walk) - walk.value[:, None]).min(axis=1)
    assert gap.max() < 1e-9 and walk.accepted.all()


# Theory ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scan", ["systematic", "random"])
def test_the_exact_autocorrelation_is_what_long_runs_show(scan):
    spec = GibbsLesson(correlation=0.9, scan=scan, seed=3)
    x = analysis.long_run(spec, 50_000).draws[:, :, 0]
    found, exact = autocorrelation(x, 10, pooled=True), analysis.exact_autocorrelation(spec, 10)
    assert np.max(np.abs(found - exact)) < 0.02
    if scan == "systematic":
        assert exact[1] == pytest.approx(0.81)


def test_a_block_remembers_nothing_and_a_lone_coordinate_much():
    assert abs(autocorrelation(analysis.long_run(BY_ID["block"], 20_000).draws[:, :, 0], 1, pooled=True)[1]) < 0.02
    found = analysis.efficiency(BY_ID["ridge"], 50_000)
    assert found == pytest.approx(1000 * gaussian_efficiency(np.array(0.97)), rel=0.2)


def test_the_precision_forgets_as_fast_as_theory_says():
    spec = GibbsLesson(target="normal_gamma", seed=7)
    draws = analysis.long_run(spec, 100_000).draws
    assert autocorrelation(draws[:, :, 1], 1, pooled=True)[1] == pytest.approx(analysis.exact_lag_one(spec), abs=0.012)
    assert abs(autocorrelation(draws[:, :, 0], 1, pooled=True)[1]) < 0.012, "0 for the mean"


def test_the_map_of_the_groups_is_their_exact_density():
    spec = BY_ID["groups"]
    draws = spec.build_target().truth.draw(np.random.default_rng(1), 200_000)
    w = draws[:, 0]
    near = (w > 0.03) & (w < 0.032)
    mean, variance = analysis.effect_given_spread(spec, 0, np.array([0.031]))
    theta = draws[near, 2]
    assert abs(theta.mean() - mean[0]) < 4 * np.sqrt(variance[0] / near.sum()) and near.sum() > 1000
    assert theta.var() == pytest.approx(variance[0], rel=0.12)
    xs, ys = (np.linspace(*side, 300) for side in analysis.plane(spec).view)
    p = np.exp(analysis.log_density(spec, xs, ys))
    p /= p.sum()
    log_s = -0.5 * np.log(w)
    assert (p.sum(axis=1) @ ys) == pytest.approx(log_s.mean(), abs=0.02)
    assert (p.sum(axis=0) @ xs) == pytest.approx(draws[:, 2].mean(), abs=0.1)


# Checks ---------------------------------------------------------------------------------------------------------------


SPECS = {
    **BY_ID,
    "heavy tails": GibbsLesson(target="normal_gamma", measurements="4.6, 6.9", shape=0.3),
    "very narrow": GibbsLesson(correlation=0.999),
    "at random": GibbsLesson(correlation=0.9, scan="random"),
    "formula": GibbsLesson(target="formula", update="metropolis", formula="-2.3*log(1+x^2+y^2)"),
}
VERDICTS = {  # kernel, this run, numbers; where chains are run longer even the neck is crossed often enough
    "steps": ("pass", "pass", "pass"),
    "ridge": ("pass", "pass", "pass"),
    "block": ("pass", "pass", "pass"),
    "metropolis": ("pass", "pass", "pass"),
    "normal-gamma": ("pass", "pass", "pass"),
    "groups": ("pass", "pass", "pass"),
    "neck": ("pass", "not fail", "not fail"),
    "window": ("fail", "pass", "fail"),
    "heavy tails": ("pass", "not fail", "not fail"),
    "very narrow": ("pass", "not pass", "not fail"),
    "at random": ("pass", "pass", "pass"),
    "formula": ("pass", "not fail", "not fail"),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_the_three_signs(name):
    assert says(verdicts("gibbs", SPECS[name]), VERDICTS[name])


@pytest.mark.parametrize("name", ["steps", "block", "metropolis", "normal-gamma", "groups"])
def test_planted_faults_turn_their_sign_red(name):
    found = planted("gibbs", SPECS[name])
    assert len(found) > 2 and {key: overall(checks) for key, checks in found.items()} == dict.fromkeys(found, "fail")


def test_a_walk_that_forgets_otherwise_than_theory_says_is_seen():
    spec = GibbsLesson(correlation=0.9)
    exact = analysis.exact_autocorrelation(spec, 1)[1]
    other = analysis.exact_autocorrelation(spec.replace(scan="random"), 1)[1]
    assert analysis.lag_check(spec, exact, 1, 1).p > 1e-4 and analysis.lag_check(spec, other, 2, 1).verdict == "fail"


# Scenes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", BY_ID)
def test_scenes_encode_and_are_small(name, view):
    spec = BY_ID[name].replace(view=view)
    header, _ = decode(blob := scenes.scene(spec))
    assert len(blob) < MOST_BYTES
    assert header["steps"] == min(spec.draws, analysis.SHOWN // spec.build_target().dim) * spec.build_target().dim


@pytest.mark.parametrize("variant", ["exact", "window"])
@pytest.mark.parametrize("target", TARGETS)
def test_every_target_can_be_shown_one_variable_at_a_time(target, variant):
    for view in VIEWS:
        spec = GibbsLesson(target=target, update="metropolis", variant=variant, draws=30, view=view, scan="random")
        scenes.scene(spec, 25)


def test_the_arithmetic_adds_up():
    header, arrays = decode(scenes.scene(BY_ID["steps"]))
    lines = {line["id"]: {k: arrays[v["array"]] for k, v in line["values"].items()} for line in header["readouts"]}
    law, draw = lines["law"], lines["draw"]
    np.testing.assert_allclose(law["a"] + law["b"] * draw["z"], draw["new"], atol=1e-4)
    walk = analysis.simulate(BY_ID["steps"])
    other = walk.before[np.arange(walk.steps), 1 - walk.coordinate]
    np.testing.assert_allclose(law["a"], 0.6 * other, atol=1e-5)
    np.testing.assert_allclose(law["b"], 0.8, atol=1e-6)


# Panels and questions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["steps", "window", "groups"])
def test_panels_and_diagnostics_say_what_they_show(name, monkeypatch):
    monkeypatch.setattr(analysis, "CORRELATIONS", (0.0, 0.9))
    monkeypatch.setattr(panels, "CORRELATIONS", (0.0, 0.9))
    figures = panels.panels(BY_ID[name], NEVER)
    assert len(figures) >= 2 and all(figure.alt and figure.caption for figure in figures)
    table = panels.diagnostics(BY_ID[name], NEVER)
    if name == "steps":
        assert table.columns["updates accepted"] == ["100 %", "100 %"]


@pytest.mark.parametrize("question,right", [("ridge", 2), ("block", 2), ("precision", 1)])
def test_the_runs_answer_as_the_story_says(question, right):
    asked = next(q for q in questions.QUESTIONS if q.id == question)
    spec = BY_ID[asked.scenario]
    assert asked.answer(spec) == right
    assert any(character.isdigit() for character in asked.explain(spec))


def test_the_draws_of_the_window_lie_in_too_narrow_an_interval():
    asked = next(q for q in questions.QUESTIONS if q.id == "window")
    low, high = asked.answer(BY_ID["window"])
    assert -1.8 < low < -1.4 and 1.4 < high < 1.8, "of a normal 95 % lie within 1.96"
    assert any(character.isdigit() for character in asked.explain(BY_ID["window"]))


def test_the_neck_is_slow_and_the_schools_are_not():
    neck, schools = (analysis.efficiency(BY_ID[name]) for name in ("neck", "groups"))
    assert neck < 15 and schools > 60
    assert analysis.efficiency(BY_ID["neck"].replace(block="yes")) > 4 * neck, "a block frees most of it"


# Page -----------------------------------------------------------------------------------------------------------------


def test_a_control_changes_the_run():
    app = page("gibbs")
    app.number_input(key="gibbs/correlation/box").set_value(0.9).run()
    assert not app.exception and not app.error
    assert app.session_state["visit/gibbs"].spec.correlation == 0.9


def test_a_target_without_conditionals_says_what_to_do():
    app = page("gibbs")
    app.selectbox(key="gibbs/target/select").set_value("banana").run()
    assert not app.exception and "Metropolis" in app.error[0].value
    assert app.session_state["visit/gibbs"].spec.target == "gaussian"


def test_own_measurements_with_a_mistake_keep_the_last_good_run():
    app = page("gibbs", scenario="normal-gamma")
    app.text_input(key="gibbs/measurements/text").set_value("1, 2, x").run()
    assert not app.exception and "number 3" in app.error[0].value
