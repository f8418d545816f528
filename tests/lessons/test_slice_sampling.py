"""The slice sampling lesson: its numbers, its pictures, its signs, its claims."""

from __future__ import annotations

import numpy as np
import pytest

from app.kit.player.scene import decode
from engine.judge import overall
from engine.samplers.slice_sampling import LEVEL, OUTSIDE, TAKEN
from engine.spec import SpecError
from lessons.slice_sampling import analysis, questions, scenes
from lessons.slice_sampling.spec import SCENARIOS, SliceSamplingLesson
from tests.lessons.pages import MOST_BYTES, NEVER, Job, page, planted, says, verdicts

BY_ID = {scenario.id: scenario.spec for scenario in SCENARIOS}
BIGGEST = SliceSamplingLesson(target="banana", w=0.02, chains=4, draws=1000, seed=5)


@pytest.mark.parametrize(
    "parameter,changes",
    [
        ("draws", {"draws": 1001}),
        ("dimension", {"dimension": 3}),
        ("limit", {"limit": 65}),
        ("interval", {"interval": "halving"}),
        ("variant", {"variant": "almost"}),
        ("formula", {"target": "formula", "formula": "x +"}),
        ("formula", {"target": "formula", "formula": "x + y"}),
    ],
)
def test_a_wrong_setting_is_named(parameter, changes):
    with pytest.raises(SpecError) as error:
        SliceSamplingLesson(**changes)
    assert error.value.parameter == parameter


def test_a_start_without_density_is_named():
    far = SliceSamplingLesson(target="formula", formula="-(x-60)^2 - (y-60)^2 where x > 50, y > 50")
    with pytest.raises(SpecError) as error:
        scenes.scene(far, None)
    assert error.value.parameter == "start"


# Pictures -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", [*BY_ID.values(), BIGGEST, BIGGEST.replace(interval="doubling", variant="wrong_end")])
@pytest.mark.parametrize("window", [None, 99])
def test_a_picture_is_light_enough(spec, window):
    blob = scenes.scene(spec, window)
    header, _ = decode(blob)
    assert len(blob) < MOST_BYTES
    slices = {"marginal-1"} if spec.interval == "hyperrectangle" else {"slice-0", "slice-1"}
    assert {panel["id"] for panel in header["panels"]} == {"plane", "marginal-0", "trace", *slices}


def test_the_scene_shows_what_the_kernel_recorded():
    spec = BY_ID["steps"]
    run, one = analysis.simulate(spec)
    assert run.draws[0].tobytes() == one.draws[0].tobytes()
    inside = one.transitions
    header, arrays = decode(scenes.scene(spec))
    offsets = arrays[header["window"]["offsets"]]
    np.testing.assert_array_equal(np.diff(offsets), inside.events[0, : len(offsets) - 1])
    values = {name: arrays[bound["array"]] for line in header["readouts"] for name, bound in line["values"].items()}
    part = slice(offsets[3], offsets[4])
    count = inside.events[0, 3]
    kind, j = inside.kind[0, 3, :count], inside.coordinate[0, 3, :count]
    np.testing.assert_array_equal(values["kind"][part], kind)
    np.testing.assert_allclose(values["level"][part], inside.log_level[0, 3, j], rtol=1e-6)
    low = inside.low[0, 3, np.arange(count), j]
    np.testing.assert_allclose(values["low"][part][kind != LEVEL], low[kind != LEVEL], rtol=1e-6)
    assert np.isnan(values["low"][part][kind == LEVEL]).all()
    np.testing.assert_allclose(values["point"][part][kind == TAKEN], one.draws[0, 3], rtol=1e-6)
    np.testing.assert_array_equal(values["tried"], (inside.kind[0] >= OUTSIDE).sum(axis=1))


@pytest.mark.parametrize("name", ["steps", "doubling", "no-test"])
def test_the_slice_drawn_is_where_the_density_is_above_the_level(name):
    """Each point taken lies in the coloured part of its line, each point outside beside it."""
    header, arrays = decode(scenes.scene(BY_ID[name]))
    for panel in (panel for panel in header["panels"] if panel["id"].startswith("slice")):
        paths = [arrays[layer["points"]] for layer in panel["layers"] if layer["kind"] == "path"]
        points = next(layer for layer in panel["layers"] if layer["kind"] == "points" and layer["show"]["what"] == "inner")
        at, fate = arrays[points["points"]], arrays[points["classes"]]
        bounds, events = arrays[header["parts"][panel["id"]]["offsets"]], arrays[header["window"]["offsets"]]
        for t in range(len(bounds) - 1):
            curve = paths[0][bounds[t] : bounds[t + 1]]
            for (x, level), how in zip(at[events[t] : events[t + 1]], fate[events[t] : events[t + 1]], strict=True):
                above = np.interp(x, *curve.T) - level
                assert np.isnan(x) or abs(above) < 0.1 or (above > 0) == (how > 0)


def test_a_wrong_sampler_shows_what_it_draws_from():
    for name, wrong in (("wrong-end", True), ("steps", False)):
        header, _ = decode(scenes.scene(BY_ID[name]))
        marginal = next(panel for panel in header["panels"] if panel["id"] == "marginal-0")
        assert wrong == any(layer["label"] == "what this sampler draws from" for layer in marginal["layers"])


@pytest.mark.parametrize("name,ahead", [("no-test", True), ("wrong-end", True), ("steps", False)])
def test_a_wrong_samplers_run_goes_ahead_of_what_it_draws_from(name, ahead):
    spec, job, again = BY_ID[name].replace(seed=4711), Job(), Job()
    whole = scenes.grow(spec, job)
    assert whole == scenes.scene(spec) and len(job.blobs) == ahead
    assert scenes.grow(spec, again) == whole and not again.blobs
    for blob in job.blobs:
        (before, began), (after, ended) = decode(blob), decode(whole)
        assert (before["run"], before["steps"]) == (after["run"], after["steps"])
        assert [line["id"] for line in before["readouts"]] == [line["id"] for line in after["readouts"]]
        for old, new in zip(before["table"], after["table"], strict=True):
            np.testing.assert_array_equal(began[old["values"]], ended[new["values"]])
        counts = [[len(panel["layers"]) for panel in header["panels"]] for header in (before, after)]
        assert np.subtract(counts[1], counts[0]).tolist() == [panel["id"] == "marginal-0" for panel in after["panels"]]


# Signs ----------------------------------------------------------------------------------------------------------------

SPECS = {
    **BY_ID,
    "the wide mode alone": BY_ID["no-test"].replace(formula="-(x+3)^2/2 - y^2/2"),
    "no test to forget": BY_ID["steps"].replace(variant="no_test"),
    "begins at x0": BY_ID["steps"].replace(variant="fixed_side"),
}
VERDICTS = {  # kernel, this run, numbers
    "steps": ("pass", "pass", "pass"),
    "narrow": ("pass", "fail", "unknown"),
    "doubling": ("pass", "pass", "pass"),
    "no-test": ("fail", "pass", "fail"),
    "wrong-end": ("fail", "pass", "fail"),
    "box": ("pass", "pass", "pass"),
    "the wide mode alone": ("unknown", "pass", "pass"),  # wrong on purpose, and nothing is wrong
    "no test to forget": ("pass", "pass", "pass"),
    "begins at x0": ("fail", "pass", "not unknown"),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_the_three_signs(name):
    assert says(verdicts("slice-sampling", SPECS[name]), VERDICTS[name])


@pytest.mark.parametrize("name", ["steps", "box"])
def test_planted_faults_turn_their_sign_red(name):
    found = planted("slice-sampling", SPECS[name])
    assert len(found) > 3 and {key: overall(checks) for key, checks in found.items()} == dict.fromkeys(found, "fail")


def test_a_density_without_exact_draws_is_judged_by_its_events():
    spec = SliceSamplingLesson(target="student", dof=1.0)
    assert overall(analysis.audit(spec)) == "pass"
    assert overall(analysis.audit(spec.replace(variant="wrong_end"))) == "fail"


# Words ----------------------------------------------------------------------------------------------------------------


@pytest.mark.one_seed
@pytest.mark.parametrize("question,expected", list(zip(questions.QUESTIONS, (0, 0, 2), strict=True)), ids=lambda q: getattr(q, "id", ""))
def test_the_questions_are_answered_by_runs(question, expected):
    assert question.answer(BY_ID[question.scenario]) == expected
    assert question.explain(BY_ID[question.scenario])


def test_what_a_wrong_width_costs(monkeypatch):
    monkeypatch.setattr(analysis, "WIDTHS", (0.1, 3.0))
    (figure,) = analysis.panels(BY_ID["steps"], NEVER)
    assert [trace.name for trace in figure.figure.data] == ["stepping out", "doubling", "a box", "Metropolis"]
    stepping_out = figure.figure.data[0].y
    assert stepping_out[1] > 3 * stepping_out[0]
    table = analysis.diagnostics(BY_ID["steps"])
    spent = analysis.simulate(BY_ID["steps"])[0].gradient_evaluations.mean()
    assert f"{spent:.1f} a transition" in table.caption


def test_the_page_names_the_kernel_and_hides_what_does_not_matter():
    app = page("slice-sampling", interval="hyperrectangle", variant="no_test")
    assert not app.exception
    assert "wrong on purpose: no test" in analysis.runs(BY_ID["no-test"])
    assert analysis.runs(BY_ID["steps"]) == "Slice sampling, stepping out."
    assert any("Only doubling has a test" in caption.value for caption in app.caption)
    assert "slice-sampling/limit/slider" not in {slider.key for slider in app.slider}


def test_a_hostile_link_is_named():
    app = page("slice-sampling", limit="0", w="wide")
    assert not app.exception
    assert "limit" in app.warning[0].value and "w" in app.warning[0].value
