"""The Monte Carlo lesson: its numbers against theory, its pictures, its page."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from app.kit.player.scene import decode
from engine.judge import overall
from engine.judge.plant import SHIFTED, STUCK, planted
from engine.spec import SpecError
from lessons.monte_carlo import analysis, panels, questions, scenes
from lessons.monte_carlo.spec import INTEGRALS, SCENARIOS, MonteCarloLesson
from tests.lessons.pages import MOST_BYTES, NEVER, Job, page, verdicts

BY_ID = {scenario.id: scenario.spec for scenario in SCENARIOS}


@pytest.mark.parametrize(
    ("parameter", "changes"),
    [
        ("draws", {"draws": 0}),
        ("a", {"a": 1.0}),
        ("b", {"b": math.nan}),
        ("dimension", {"dimension": 1}),
        ("scale", {"scale": 0.0}),
        ("integral", {"integral": "volume"}),
    ],
)
def test_a_wrong_setting_is_named(parameter, changes):
    with pytest.raises(SpecError) as error:
        MonteCarloLesson(**changes)
    assert error.value.parameter == parameter


def test_a_picture_of_the_first_repetitions_goes_ahead_of_the_rest():
    spec, job = MonteCarloLesson(integral="ball", seed=4711), Job()
    whole, few = scenes.grow(spec, job), analysis.estimates(spec, analysis.BEGINNING).runs
    (before, began), (after, ended) = decode(job.blobs[0]), decode(whole)
    assert np.array_equal(few.values, analysis.estimates(spec).runs.values[: analysis.BEGINNING]) and len(few.values) > scenes.FAN
    assert len(job.blobs) == 1 and str(analysis.BEGINNING) in before["label"] and str(spec.replications) in after["label"]
    for old, new in zip(before["table"], after["table"], strict=True):
        if old["name"] != "typical error":
            np.testing.assert_array_equal(began[old["values"]], ended[new["values"]])


# Checks ---------------------------------------------------------------------------------------------------------------


VERDICTS = {
    "pi": ("pass", "pass", "pass"),
    "root": ("pass", "pass", "pass"),
    "infinite": ("pass", "fail", "unknown"),
    "cured": ("pass", "pass", "pass"),
    "rare": ("pass", "fail", "pass"),  # one or two hits a run, thousands over all repetitions
    "shifted": ("pass", "pass", "pass"),
    "narrow": ("pass", "fail", "unknown"),
    "cauchy": ("pass", "fail", "unknown"),
    "dimensions": ("pass", "fail", "pass"),  # five hits a run
    "forgotten": ("fail", "pass", "fail"),
}


@pytest.mark.parametrize("name", BY_ID)
def test_the_three_signs(name):
    for seed in (BY_ID[name].seed, 11, 12):
        assert verdicts("monte-carlo", BY_ID[name].replace(seed=seed)) == VERDICTS[name]


def each(spec: MonteCarloLesson) -> dict[str, str]:
    return {c.name: c.verdict for c in (*analysis.audit(spec, NEVER), *analysis.checks(spec, NEVER))}


@pytest.mark.parametrize(
    ("changes", "red"),
    [
        ({"integral": "rare", "shift": 3.0, "mistake": "no_weight"}, {"values", "mean"}),
        ({"integral": "power", "a": 0.4, "b": 0.3, "mistake": "no_weight"}, {"values", "mean"}),
        ({"integral": "square", "scale": 1.5, "mistake": "no_weight"}, {"values", "mean"}),
        ({"mistake": "band"}, {"reported error", "band shown"}),
        ({"integral": "rare", "shift": 3.0, "mistake": "band"}, {"reported error", "band shown"}),
    ],
)
def test_mistakes_fail(changes, red):
    found = each(MonteCarloLesson(**changes))
    assert {name for name, verdict in found.items() if verdict == "fail"} >= red


@pytest.mark.parametrize("integral", INTEGRALS)
def test_points_from_another_density_and_a_wrong_formula_are_seen(integral, monkeypatch):
    spec = MonteCarloLesson(integral=integral)
    right = spec.build()

    def draw(rng, n):
        points = right.draw(rng, n)
        return points + 0.1 * np.abs(points)

    off = dataclasses.replace(right, draw=draw, mean=1.001 * right.mean)
    monkeypatch.setattr(MonteCarloLesson, "build", lambda spec: off)
    assert analysis.points_check(spec).verdict == "fail"
    assert integral == "cauchy" or analysis.closed_form_check(spec).verdict == "fail"


@pytest.mark.parametrize(("fault", "kind"), [(STUCK, "run"), (SHIFTED, "numbers")])
def test_planted_faults_turn_run_and_numbers_red(fault, kind):
    with planted(fault):
        found = analysis.checks(BY_ID["pi"], NEVER)
    assert overall([check for check in found if check.kind == kind]) == "fail"


@pytest.mark.parametrize(
    "changes",
    [
        {"integral": "power", "a": 0.95, "b": 0.95},
        {"integral": "power", "a": 0.0, "b": 0.95},
        {"integral": "power", "a": 0.95, "b": 0.0},
        {"integral": "power", "a": 0.45},
        {"integral": "square", "scale": 0.75},
        {"integral": "square", "scale": 4.0},
        {"integral": "square", "scale": 0.3},
        {"integral": "rare", "threshold": 6.0, "shift": 8.0},
        {"integral": "rare", "threshold": 6.0},
        {"integral": "rare", "threshold": 0.0, "shift": 8.0},
        {"dimension": 20},
    ],
)
def test_right_estimators_are_proven_at_the_edges(changes):
    """Everything of the code, whatever becomes of a run there; and no number is called wrong."""
    found = each(MonteCarloLesson(**changes))
    assert {found[name] for name in ("points", "values", "reported error", "formulas")} == {"pass"}
    assert found["mean"] != "fail"


def test_a_mistake_that_cannot_be_made_changes_nothing():
    assert not analysis.estimates(MonteCarloLesson(mistake="no_weight")).wrong
    assert verdicts("monte-carlo", MonteCarloLesson(mistake="no_weight")) == ("pass", "pass", "pass")


def test_with_variance_zero_every_value_is_the_integral():
    assert verdicts("monte-carlo", MonteCarloLesson(integral="power", a=0.7, b=0.7)) == ("pass", "unknown", "pass")


# Scenes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BY_ID)
def test_scenes_encode_and_are_small(name):
    header, _ = decode(blob := scenes.scene(BY_ID[name]))
    assert len(blob) < MOST_BYTES and len(header["panels"]) == 4


@pytest.mark.parametrize("integral", INTEGRALS)
@pytest.mark.parametrize("mistake", ["none", "no_weight", "band"])
def test_extreme_settings_can_be_shown(integral, mistake):
    for changes in (
        {"dimension": 20, "a": 0.95, "threshold": 6.0, "scale": 0.3},
        {"a": 0.0, "b": 0.95, "threshold": 0.0, "shift": 8.0, "scale": 4.0},
        {"a": 0.7, "b": 0.7},
        {"draws": 2000, "replications": 1000},
    ):
        spec = MonteCarloLesson(**{"integral": integral, "mistake": mistake, "draws": 60, "replications": 50} | changes)
        assert len(scenes.scene(spec)) < MOST_BYTES
        panels.panels(spec, NEVER), panels.diagnostics(spec, NEVER)


def test_the_arithmetic_adds_up():
    header, arrays = decode(scenes.scene(BY_ID["pi"]))
    lines = {line["id"]: {k: arrays[v["array"]] for k, v in line["values"].items()} for line in header["readouts"]}
    average, band = lines["average"], lines["band"]
    assert average["m"] == pytest.approx(average["s"] / average["n"], rel=1e-5)
    assert band["e"][1:] == pytest.approx((band["s"] / band["r"])[1:], rel=1e-5)
    assert lines["error"]["e"] == pytest.approx(average["m"] - math.pi, abs=1e-5)


def test_bars_are_shares_of_the_repetitions():
    spec = BY_ID["pi"]
    here = analysis.estimates(spec)
    header, arrays = decode(scenes.scene(spec))
    edges = scenes.EDGES
    counts = np.histogram(np.clip(here.standardised[:, -1], edges[0], edges[-1]), bins=edges)[0]
    layer = next(p for p in header["panels"] if p["id"] == "central")["layers"][0]
    heights = arrays[layer["values"]][-1]
    assert heights == pytest.approx(counts / spec.replications, abs=1e-6)


# Panels and questions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BY_ID)
def test_panels_and_diagnostics_say_what_they_show(name):
    figures = panels.panels(BY_ID[name], NEVER)
    assert figures and all(figure.alt and figure.caption for figure in figures)
    assert "repetitions" in panels.diagnostics(BY_ID[name], NEVER).caption


@pytest.mark.parametrize(("question", "right"), [("infinite", 1), ("cauchy", 2)])
def test_the_runs_answer_as_the_story_says(question, right):
    asked = next(q for q in questions.QUESTIONS if q.id == question)
    spec = BY_ID[asked.scenario]
    assert [asked.answer(spec.replace(seed=seed)) for seed in (spec.seed, 11, 12)] == [right] * 3
    assert any(character.isdigit() for character in asked.explain(spec))


def test_four_times_the_draws_halve_the_typical_error():
    asked, spec = next(q for q in questions.QUESTIONS if q.id == "four"), BY_ID["pi"]
    (error,) = asked.answer(spec)
    assert error == pytest.approx(math.sqrt(spec.build().variance / spec.draws), rel=0.1)
    assert asked.draw.near < error / 6, "a quarter and 0.7 of the error before are not close"


def test_numbers_in_the_prose():
    rare, shifted = BY_ID["rare"].build(), BY_ID["shifted"].build()
    assert round(rare.mean, 5) == 0.00135
    assert 14 < math.sqrt(rare.variance / shifted.variance) < 16, "fifteen times smaller"
    ten = BY_ID["dimensions"].build()
    assert round(100 * ten.mean / 2**10, 2) == 0.25
    assert BY_ID["forgotten"].build().unweighted_mean == 0.5


# Page -----------------------------------------------------------------------------------------------------------------


def test_a_control_changes_the_run():
    app = page("monte-carlo", scenario="root")
    app.number_input(key="monte-carlo/a/box").set_value(0.6).run()
    assert not app.exception and app.session_state["visit/monte-carlo"].spec.a == 0.6


def test_a_wrong_link_is_named_and_the_page_still_works():
    app = page("monte-carlo", v="1", draws="-3", integral="magic")
    text = " ".join(warning.value for warning in app.warning)
    assert "draws" in text and "integral" in text and not app.exception
