"""The logistic lesson: its arithmetic, its proof against known mistakes, its pictures, its page."""

from __future__ import annotations

import numpy as np
import pytest

from app.kit.player.scene import decode
from engine import logistic
from engine.judge import overall
from engine.spec import SpecError
from lessons.logistic import analysis, evidence, questions, scenes
from lessons.logistic.spec import SCENARIOS, STANDARD, LogisticSpec
from tests.lessons.pages import MOST_BYTES, NEVER, RESEARCHER_S_CARD, page, planted, says, verdicts

BY_ID = {scenario.id: scenario.spec for scenario in SCENARIOS}


@pytest.mark.parametrize(
    ("parameter", "changes"),
    [
        ("used", {"used": 151}),
        ("prior_sd", {"prior_sd": 0.0}),
        ("points", {"points": ((0.5, 0.5, 2),)}),
        ("points", {"points": ((9.0, 0.0, 1),)}),
        ("variant", {"variant": "magic"}),
    ],
)
def test_a_wrong_setting_is_named(parameter, changes):
    with pytest.raises(SpecError) as error:
        LogisticSpec(**changes)
    assert error.value.parameter == parameter


@pytest.mark.parametrize("name", BY_ID)
def test_scenes_encode_and_are_small(name):
    for changes in ({}, {"draws": 2000, "used": 0, "data": "pairs", "scale": 20.0}):
        blob = scenes.scene(BY_ID[name].replace(**changes), None)
        assert len(blob) < MOST_BYTES and decode(blob)[0]["steps"] == changes.get("draws", BY_ID[name].draws)


def test_no_points_of_ones_own_can_be_shown():
    scenes.scene(STANDARD.replace(data="points"), None)
    scenes.scene(STANDARD.replace(data="points", points=((0.0, 1.0, 1),), prior_sd=30.0), None)


def test_the_arithmetic_adds_up():
    header, arrays = decode(scenes.scene(STANDARD, None))
    lines = {line["id"]: {k: arrays[v["array"]] for k, v in line["values"].items()} for line in header["readouts"]}
    ratio, predict = lines["ratio"], lines["predict"]
    assert ratio["n"] - ratio["o"] == pytest.approx(ratio["r"], abs=1e-4)
    assert np.array_equal(lines["u"]["u"] < ratio["e"], lines["decide"]["ok"].astype(bool))
    assert predict["p"] == pytest.approx(1 / (1 + np.exp(-(predict["a"] + predict["b"] * STANDARD.at))), abs=1e-5)
    data, step = analysis.data_of(STANDARD), lines["propose"]
    eta = step["c"][5] + step["d"][5] * data.x
    log_density = np.sum(data.y * eta - np.logaddexp(0, eta)) - 0.5 * (step["c"][5] ** 2 + step["d"][5] ** 2)
    assert ratio["n"][5] == pytest.approx(log_density - np.log(2 * np.pi), rel=1e-4)


SPECS = {**BY_ID, "crawls": STANDARD.replace(scale=0.01), "no data": STANDARD.replace(used=0, scale=1.5)}
VERDICTS = {  # kernel, this run, numbers
    "exact": ("pass", "pass", "pass"),
    "few": ("pass", "pass", "pass"),
    "prediction": ("pass", "pass", "pass"),
    "separated": ("pass", "pass", "pass"),
    "no-prior": ("fail", "not fail", "not pass"),
    "dropped": ("fail", "pass", "fail"),
    "crawls": ("not fail", "not pass", "unknown"),
    "no data": ("pass", "pass", "pass"),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_the_three_signs(name):
    assert says(verdicts("logistic", SPECS[name]), VERDICTS[name])


@pytest.mark.parametrize("name", ["exact", "few", "prediction", "separated"])
def test_planted_faults_turn_their_sign_red(name):
    found = planted("logistic", SPECS[name])
    assert len(found) > 2 and {key: overall(checks) for key, checks in found.items()} == dict.fromkeys(found, "fail")


def test_a_mode_that_is_none_fails(monkeypatch):
    data = analysis.data_of(STANDARD)
    other = logistic.newton(data.x, data.y, 1.1 * STANDARD.prior_sd)
    monkeypatch.setattr(logistic, "newton", lambda *arguments, **settings: other)
    assert evidence.mode_check(STANDARD).verdict == "fail"


def test_a_wrong_grid_fails(monkeypatch):
    data = analysis.data_of(STANDARD)
    other = logistic.exact(data.x, data.y, 1.02 * STANDARD.prior_sd)
    monkeypatch.setattr(analysis, "grid", lambda spec: other)
    assert evidence.grid_check(STANDARD).verdict == "fail"


def test_without_a_pair_there_is_nothing_to_leave_out():
    answers, steps = evidence.panels(STANDARD.replace(data="points", points=()), NEVER)
    assert answers.title and steps.title


@pytest.mark.parametrize("name", ["exact", "separated"])
def test_panels_and_diagnostics_say_what_they_show(name):
    answers, steps, *card = evidence.panels(BY_ID[name], NEVER)
    assert [item.title for item in card] == RESEARCHER_S_CARD
    assert answers.caption and len(steps.columns["step"]) > 4
    assert ("no maximum" in answers.caption) == (name == "separated")
    assert evidence.diagnostics(BY_ID[name], NEVER).caption


@pytest.mark.parametrize(("question", "right"), [("newton", 0), ("skew", 2), ("width", 1)])
def test_the_runs_answer_as_the_story_says(question, right):
    asked = next(q for q in questions.QUESTIONS if q.id == question)
    spec = BY_ID[asked.scenario]
    assert asked.answer(spec) == right
    assert any(character.isdigit() for character in asked.explain(spec))


def test_a_control_changes_the_run():
    app = page("logistic")
    app.number_input(key="logistic/used/box").set_value(33).run()
    assert not app.exception and not app.error
    assert app.session_state["visit/logistic"].spec.used == 33


def test_a_wrong_link_is_named_and_the_page_still_works():
    app = page("logistic", v="1", used="-3", variant="magic")
    text = " ".join(warning.value for warning in app.warning)
    assert "used" in text and "variant" in text
    assert not app.exception
