"""The delayed rejection lesson: its numbers against formulas written again, its pictures, its signs, its claims."""

from __future__ import annotations

import dataclasses
import threading

import numpy as np
import pytest
from scipy.stats import norm

from app.kit.player.scene import decode
from engine.judge import overall
from engine.judge.audit import path_probability
from engine.recording import Recording
from engine.samplers.delayed_rejection import FIRST_REJECTED
from engine.spec import SpecError
from lessons.delayed_rejection import analysis, panels, questions, scenes
from lessons.delayed_rejection.spec import SCENARIOS, DelayedRejectionLesson
from tests.lessons.pages import MOST_BYTES, NEVER, Job, lacks, page, planted, says, verdicts

BY_ID = {scenario.id: scenario.spec for scenario in SCENARIOS}
BIGGEST = DelayedRejectionLesson(target="banana", stages=3, pull=0.4, chains=4, draws=1000, seed=5)


@pytest.mark.parametrize(
    "parameter,changes",
    [
        ("draws", {"draws": 1001}),
        ("dimension", {"dimension": 3}),
        ("stages", {"stages": 4}),
        ("pull", {"pull": 2.5}),
        ("variant", {"variant": "almost"}),
        ("formula", {"target": "formula", "formula": "x +"}),
        ("formula", {"target": "formula", "formula": "x + y"}),
    ],
)
def test_a_wrong_setting_is_named(parameter, changes):
    with pytest.raises(SpecError) as error:
        DelayedRejectionLesson(**changes)
    assert error.value.parameter == parameter


def test_a_start_without_density_is_named():
    far = DelayedRejectionLesson(target="formula", formula="-(x-60)^2 - (y-60)^2 where x > 50, y > 50")
    with pytest.raises(SpecError) as error:
        scenes.scene(far, None)
    assert error.value.parameter == "start"


# The run --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", [BY_ID["bold"], BY_ID["three"], BY_ID["leap"]], ids=("two", "three", "leap"))
def test_the_draws_are_what_the_tries_say(spec):
    walk = analysis.simulate(spec)
    draws, rows = walk.recording.draws[0], np.arange(walk.steps)
    moved = walk.ending < spec.stages
    np.testing.assert_array_equal(draws[moved], walk.inside.proposal[rows, np.minimum(walk.ending, spec.stages - 1)][moved])
    np.testing.assert_array_equal(draws[~moved], walk.before[~moved])
    np.testing.assert_array_equal(walk.recording.gradient_evaluations[0], walk.inside.stages)
    assert 0.05 < moved.mean() < 0.95


def test_the_second_ratio_against_the_formula_written_out():
    spec = BY_ID["bold"].replace(pull=0.5, shrink=0.6, scale=2.5)
    walk = analysis.simulate(spec)
    again = walk.inside.stages == 2
    x, (y1, y2) = walk.before[again], np.moveaxis(walk.inside.proposal[again], 1, 0)
    covariance = np.array([[1.0, spec.correlation], [spec.correlation, 1.0]])

    def log_pi(q):
        return -0.5 * np.einsum("ni,ij,nj->n", q, np.linalg.inv(covariance), q)

    def first(a, b):
        return np.minimum(1.0, np.exp(log_pi(b) - log_pi(a)))

    def path(a, failed, b):
        one = norm.logpdf(failed, a, spec.scale).sum(axis=1)
        return log_pi(a) + one + norm.logpdf(b, a + spec.pull * (failed - a), spec.scale * spec.shrink).sum(axis=1)

    with np.errstate(divide="ignore"):
        log_ratio = path(y2, y1, x) - path(x, y1, y2) + np.log1p(-first(y2, y1)) - np.log1p(-first(x, y1))
    expected = np.exp(np.minimum(log_ratio, 0.0))
    points = [[walk.before[t], *walk.inside.proposal[t, :2]] for t in np.flatnonzero(again)]
    logs = [[walk.target.log_density(point) for point in row] for row in points]
    ours = [path_probability(row, log, spec, (0, 1, 2)) for row, log in zip(points, logs, strict=True)]
    np.testing.assert_allclose(ours, expected, atol=1e-10)
    np.testing.assert_allclose(walk.inside.accept_prob[again, 1], expected, atol=1e-10)
    assert (expected == 0).any() and (expected > 0.3).any()


def test_a_leap_is_symmetric_and_the_way_back_of_the_opposite_is_not():
    leap, away = (analysis.simulate(BY_ID[name]).inside for name in ("leap", "away"))
    second = 2  # row of the second proposal's factor
    assert np.nanmax(np.abs(leap.factors[:, 1, second])) < 1e-9
    assert np.nanmedian(away.factors[:, 1, 1] + away.factors[:, 1, second]) < -3.0
    tried = away.stages == 2
    assert away.accept_prob[tried, 1].mean() < 0.1


# Pictures -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", [*BY_ID.values(), BIGGEST, BIGGEST.replace(stages=1)])
def test_a_picture_is_light_enough(spec):
    blob = scenes.scene(spec, None)
    header, _ = decode(blob)
    assert len(blob) < MOST_BYTES
    assert len(header["phases"]) == 4 * spec.stages
    assert {panel["id"] for panel in header["panels"]} == {"plane", "ledger", "marginal-0", "trace", "endings"}


def test_the_scene_shows_what_the_recording_says():
    spec = BY_ID["forgot"]
    walk = analysis.simulate(spec)
    header, arrays = decode(scenes.scene(spec))
    lines = {line["id"]: line for line in header["readouts"]}
    shown = arrays[lines["alpha-2"]["values"]["r2"]["array"]]
    np.testing.assert_allclose(shown, walk.inside.log_ratio[:, 1].astype(np.float32))
    panel = {panel["id"]: panel for panel in header["panels"]}
    second = panel["ledger"]["layers"][1]
    assert second["labels"] == ["π", "q₁", "q₂", "1−α₁ ✗", "sum", "log u"]
    bars, again = arrays[second["values"]], walk.inside.stages == 2
    assert np.isnan(bars[~again]).all()
    kept = walk.inside.factors[again, 1][:, [0, 1, 2, FIRST_REJECTED]]
    np.testing.assert_allclose(bars[again, :4], kept, rtol=1e-5, atol=1e-6)
    words = "".join(token for token in lines["alpha-2"]["tokens"] if isinstance(token, str))
    assert "left out: 1−α₁" in words
    assert any(layer["label"] == "what this sampler draws from" for layer in panel["marginal-0"]["layers"])
    np.testing.assert_array_equal(arrays[panel["endings"]["layers"][0]["values"]], walk.ending)


def test_the_first_picture_shows_a_second_try_that_is_accepted():
    header, _ = decode(scenes.scene(BY_ID["bold"]))
    assert analysis.simulate(BY_ID["bold"]).ending[header["start"]] == 1


def test_the_map_grows_with_a_bold_scale_but_not_without_bound():
    target = BY_ID["bold"].build_target()
    assert scenes.view(target, 0.5) == target.view
    assert scenes.view(target, 2.0) == target.view
    assert scenes.view(target, 30.0)[0][1] == pytest.approx(scenes.WIDEST * target.view[0][1])


def test_a_wrong_sampler_is_shown_before_it_is_known_what_it_draws_from():
    spec, job, again = BY_ID["subtle"].replace(seed=4711), Job(), Job()
    whole = scenes.grow(spec, job)
    assert whole == scenes.scene(spec) and len(job.blobs) == 1
    assert lacks(job.blobs[0], whole) == {"marginal-0": {"divergent"}}
    framed = [[(panel["x"], panel["y"]) for panel in decode(blob)[0]["panels"]] for blob in (job.blobs[0], whole)]
    assert framed[0] == framed[1]
    assert scenes.grow(spec, again) == whole and not again.blobs
    right = spec.replace(variant="exact")
    assert scenes.grow(right, again) == scenes.scene(right) and not again.blobs


# Signs ----------------------------------------------------------------------------------------------------------------

TWO_MODES = "log(exp(-8*((x-4)^2+y^2))+exp(-8*((x+4)^2+y^2)))"
SPECS = {
    **BY_ID,
    "nothing to forget": BY_ID["forgot"].replace(stages=1),
    "two modes": DelayedRejectionLesson(target="formula", formula=TWO_MODES, scale=1.0),
}
VERDICTS = {  # kernel, this run, numbers
    "bold": ("pass", "pass", "pass"),
    "tuned": ("pass", "pass", "pass"),
    "three": ("pass", "not fail", "not fail"),
    "leap": ("pass", "not fail", "not fail"),
    "away": ("pass", "pass", "pass"),
    "forgot": ("fail", "pass", "fail"),
    "subtle": ("fail", "pass", "pass"),
    "nothing to forget": ("pass", "pass", "pass"),
    "two modes": ("pass", "fail", "unknown"),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_the_three_signs(name):
    assert says(verdicts("delayed-rejection", SPECS[name]), VERDICTS[name])


@pytest.mark.parametrize("name", ["bold", "three", "away"])
def test_planted_faults_turn_their_sign_red(name):
    found = planted("delayed-rejection", SPECS[name])
    assert len(found) > 2 and {key: overall(checks) for key, checks in found.items()} == dict.fromkeys(found, "fail")


def test_the_ledger_check_sees_a_forgotten_factor_and_a_wrong_decision():
    walk = analysis.simulate(BY_ID["three"])
    assert analysis.ledger_check(walk).verdict == "pass"
    assert analysis.ledger_check(analysis.simulate(BY_ID["subtle"])).verdict == "fail"
    tampered = walk.inside._replace(accept_prob=walk.inside.accept_prob * 0.999)
    assert analysis.ledger_check(dataclasses.replace(walk, inside=tampered)).verdict == "fail"


# Panels ---------------------------------------------------------------------------------------------------------------


@pytest.mark.one_seed
def test_what_a_try_more_gains(monkeypatch):
    monkeypatch.setattr(analysis, "SCALES", (2.0, 20.0))
    found = analysis.sweep(BY_ID["bold"], NEVER)
    gain = found.gain(2, "per_evaluation")
    assert gain[0] < 1.0 < 4.0 < gain[1], "an insurance against a bold scale, not better than the best scale"
    assert np.all(found.gain(2, "per_transition") > 0.9)
    bold = found.by_tries[3][1]
    assert bold.shares[1] > 5 * bold.shares[0]
    stopped = threading.Event()
    stopped.set()
    assert len(analysis.sweep(BY_ID["bold"], stopped).scales) == 1
    figures = panels.panels(BY_ID["bold"], NEVER)
    assert [len(figure.figure.data) for figure in figures] == [3, 2, 2]
    assert "σ = 20" in figures[1].caption


def test_what_forgetting_does(monkeypatch):
    monkeypatch.setattr(analysis, "SCALES", (2.0,))
    monkeypatch.setattr(analysis, "BIAS_SCALES", (0.6, 5.0))
    figure = panels.panels(BY_ID["forgot"], NEVER)[2]
    right, wrong = figure.figure.data
    assert wrong.y[0] > 8.0 and abs(right.y[0]) < 2.0 * right.error_y.array[0]
    assert "Largest at σ = 0.6" in figure.caption
    heavy = BY_ID["forgot"].replace(target="funnel")
    assert panels.panels(heavy, NEVER)[2].title.startswith("Which try")


def test_diagnostics_count_every_evaluation():
    table = panels.diagnostics(BY_ID["three"])
    recording: Recording = analysis.simulate(BY_ID["three"]).recording
    total = int(recording.gradient_evaluations.sum())
    assert f"{total / BY_ID['three'].draws:.2f} a transition" in table.caption
    assert table.columns["ESS / 1000 evaluations"][0] == pytest.approx(table.columns["ESS bulk"][0] * 1000 / total, rel=0.05)


# Words ----------------------------------------------------------------------------------------------------------------


@pytest.mark.one_seed
@pytest.mark.parametrize(
    "question,expected", list(zip(questions.QUESTIONS, (0, 2, 0, 2, 2), strict=True)), ids=lambda q: getattr(q, "id", "")
)
def test_the_questions_are_answered_by_runs(question, expected):
    assert question.answer(BY_ID[question.scenario]) == expected
    assert question.explain(BY_ID[question.scenario])


def test_the_error_of_the_subtle_scenario_is_small_and_there():
    spec = BY_ID["subtle"]
    found = [analysis.bias(spec.replace(seed=seed), spec.scale, spec.variant) for seed in (1, 2, 3)]
    assert abs(np.mean([bias.error for bias in found])) < 0.02
    assert analysis.bias(BY_ID["forgot"], 0.6, "no_rejection_terms").error > 0.08


def test_the_page_names_the_kernel_and_hides_what_does_not_matter():
    app = page("delayed-rejection", stages="1", variant="no_rejection_terms")
    assert not app.exception
    assert "plain Metropolis" in analysis.runs(DelayedRejectionLesson(stages=1))
    assert "wrong on purpose" in analysis.runs(BY_ID["forgot"])
    assert any("nothing to forget" in caption.value for caption in app.caption)
    assert "delayed-rejection/pull/slider" not in {slider.key for slider in app.slider}


def test_a_hostile_link_is_named():
    app = page("delayed-rejection", stages="7", pull="far")
    assert not app.exception
    assert "stages" in app.warning[0].value and "pull" in app.warning[0].value
