"""The lesson on functions before data: its numbers, its proof against known mistakes, its pictures, its page."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from app.kit.player.scene import decode
from engine.judge import overall, proofs
from engine.judge.plant import SHIFTED, STUCK, planted
from engine.networks.prior import ACTIVATIONS
from engine.spec import SpecError
from lessons.prior_predictive import analysis, evidence, questions, scenes
from lessons.prior_predictive.spec import SCENARIOS, STANDARD, THESIS, WIDER, PriorSpec
from tests.lessons.pages import MOST_BYTES, NEVER, Job, goes_on, in_view, page, says, verdicts

BY_ID = {scenario.id: scenario.spec for scenario in SCENARIOS}
SHORT = THESIS.replace(tries=20_000)


@pytest.fixture
def quick(monkeypatch):
    """Less work for checks that need not be sharp."""
    monkeypatch.setattr(evidence, "CHECKED", 4000)
    monkeypatch.setattr(evidence, "DEEP_CHECKED", 200)
    monkeypatch.setattr(evidence, "WIDTHS", (1, 4, 16))


# Spec -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameter", "changes"),
    [
        ("width", {"width": 0}),
        ("width", {"width": 512, "depth": 6}),
        ("activation", {"activation": "sine"}),
        ("at_b", {"at_a": 0.5}),
        ("points", {"points": ((0.5, 0.5, 1),)}),
        ("points", {"points": ((3.0, 0.5, 0),)}),
        ("tries", {"view": "rejection", "width": 512, "tries": 400_000}),
        ("tries", {"view": "limit", "depth": 2, "tries": 400_000}),
        ("noise_sd", {"noise_sd": 0.0}),
    ],
)
def test_a_wrong_setting_is_named(parameter, changes):
    with pytest.raises(SpecError) as error:
        PriorSpec(**changes)
    assert error.value.parameter == parameter


# Analysis -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tries", [1000, 100_000, 400_000])
def test_the_timeline_ends_with_the_run(tries):
    times = analysis.times(tries)
    assert times[0] == 1 and times[-1] == tries and (np.diff(times) > 0).all() and len(times) <= 151


def test_the_thesis_prior_is_the_one_of_its_code():
    prior = THESIS.prior()
    assert set(prior.sds()[:32]) == {8.0} and set(prior.sds()[32:]) == {0.25} and prior.squash == "tanh"


def test_survivors_fall_with_points_and_rise_with_noise():
    run = analysis.tested(SHORT.replace(used=6)).run
    by_points = analysis.expected_survivors(run, 0.1, run.tried)
    assert (np.diff(by_points) < 0).all() and by_points[0] == 20_000
    assert (np.diff(analysis.survivors_by_noise(run, np.geomspace(0.02, 1, 5), run.tried)) > 0).all()


# Scenes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BY_ID)
def test_scenes_encode_and_are_small(name):
    blob = scenes.scene(BY_ID[name], None)
    header, _ = decode(blob)
    assert len(blob) < MOST_BYTES and header["label"]


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("view", ["functions", "rejection", "limit"])
def test_every_activation_can_be_shown(activation, view):
    for changes in ({"depth": 2, "width": 12}, {"width": 1, "weight_sd": 50.0, "noise_sd": 0.02, "used": 6}):
        spec = SHORT.replace(view=view, activation=activation, tries=2000, draws=20, **changes)
        scenes.scene(spec, None)


def test_the_largest_scenes_are_small_enough():
    assert len(scenes.scene(STANDARD.replace(width=8, depth=2, draws=450), None)) < MOST_BYTES
    assert len(scenes.scene(THESIS.replace(used=6, tries=400_000, noise_sd=1.0), None)) < MOST_BYTES


def readouts(spec):
    header, arrays = decode(scenes.scene(spec, None))
    return {line["id"]: {k: arrays[v["array"]] for k, v in line["values"].items()} for line in header["readouts"]}


def test_the_arithmetic_of_a_function_adds_up():
    lines = readouts(STANDARD)
    unit, total, mean = lines["unit"], lines["sum"], lines["mean"]
    assert np.tanh(unit["i"]) == pytest.approx(unit["h"], abs=1e-6)
    assert total["c"] + total["s"] == pytest.approx(total["f"], abs=1e-6)
    pair = analysis.functions(STANDARD).pair
    assert mean["m"][-1] == pytest.approx(np.mean(pair[:, 0] * pair[:, 1]), abs=1e-6)
    draw = lines["draw"]
    assert draw["w"] * STANDARD.at_a + draw["b"] == pytest.approx(unit["i"], abs=1e-5)


@pytest.mark.parametrize("bound", ["exact", "observed", "undivided"])
def test_the_arithmetic_of_a_verdict_adds_up(bound):
    spec = SHORT.replace(bound=bound)
    lines, run = readouts(spec), analysis.tested(spec).run
    ratio, u, decide = lines["ratio"], lines["u"], lines["decide"]
    expected = np.exp(-ratio["s"].astype(float) / (2 * spec.noise_sd**2) + run.log_scale)
    assert np.maximum(ratio["r"], 1e-30) == pytest.approx(np.maximum(expected, 1e-30), rel=2e-2)
    assert np.array_equal(u["u"] < decide["r"], decide["ok"].astype(bool))
    assert decide["k"][-1] == run.accepted.sum()
    if bound == "observed":
        assert np.isclose(run.log_ratio(spec.noise_sd).max() + run.log_scale, 0)


def test_the_mean_on_the_stage_is_that_of_the_accepted():
    tested = analysis.tested(SHORT)
    counted, mean, sd = scenes._running(tested)
    assert counted[-1] == tested.number > 20
    assert mean[-1] == pytest.approx(tested.accepted_curves.mean(axis=0), abs=1e-12)
    assert sd[-1] == pytest.approx(tested.accepted_curves.std(axis=0), abs=1e-7)


@pytest.mark.parametrize("bound", ["exact", "undivided"])
def test_a_picture_of_the_first_networks_goes_ahead_of_the_rest(bound):
    spec, job, again = THESIS.replace(bound=bound, seed=4711), Job(), Job()
    whole = scenes.grow(spec, job)
    (before, began), (after, ended) = decode(job.blobs[0]), decode(whole)
    assert whole == scenes.scene(spec, None) and len(job.blobs) == 1
    assert before["run"] == after["run"] and before["steps"] < before["total"] == after["steps"] and after["total"] is None
    for old, new in zip(before["table"], after["table"], strict=True):
        np.testing.assert_array_equal(began[old["values"]], ended[new["values"]][: before["steps"]])
    assert scenes.grow(spec, again) == whole and not again.blobs


@pytest.mark.parametrize("seed", [3, 7, 4711])
def test_what_the_best_of_the_first_networks_rejects_stays_rejected(seed):
    spec, job = BY_ID["six-points"].replace(seed=seed), Job()
    whole = scenes.grow(spec, job)
    (before, began), (after, ended) = decode(job.blobs[0]), decode(whole)
    accepted = [
        arrays[column["values"]]
        for header, arrays in ((before, began), (after, ended))
        for column in header["table"]
        if column["name"] == "accepted so far"
    ]
    assert whole == scenes.scene(spec, None) and 0 < before["steps"] < after["steps"] == before["total"]
    assert not accepted[0].any() and not accepted[1][: before["steps"]].any() and accepted[1][-1] > 0


def test_what_the_first_networks_let_expect_is_what_all_find():
    few, all_of_them = analysis.beginning(THESIS).run, analysis.tested(THESIS).run
    expected, found = (analysis.expected_survivors(run, THESIS.noise_sd, THESIS.tries) for run in (few, all_of_them))
    weights = np.exp(few.log_ratio(THESIS.noise_sd))
    error = THESIS.tries * weights.std() / np.sqrt(few.tried)
    assert few.tried < all_of_them.tried and abs(expected[-1] - found[-1]) < 4.0 * error


def test_widths_come_one_after_the_other():
    spec, job = BY_ID["limit-data"].replace(seed=4711, tries=20_000), Job()
    whole = decode(scenes.grow(spec, job))[0]
    parts = [decode(blob)[0] for blob in job.blobs]
    roles = [[{layer["role"] for layer in panel["layers"]} for panel in part["panels"]] for part in parts]
    assert [sum("posterior" in of_panel for of_panel in panels) for panels in roles] == [2, 3, 4]  # of the widths, and the distances
    assert len(parts) == len(WIDER) - 1 and {part["run"] for part in parts} == {whole["run"]}
    for part in parts:
        assert [panel["place"] for panel in part["panels"]] == [panel["place"] for panel in whole["panels"]]
        assert part["steps"] == whole["steps"] and part["total"] is None


# Checks ---------------------------------------------------------------------------------------------------------------


def each(spec) -> dict[str, str]:
    return {check.name: check.verdict for check in (*evidence.audit(spec, NEVER), *evidence.checks(spec, NEVER))}


DRAWN = ("pass", "unknown", "pass")  # independent draws: nothing could stop too early
VERDICTS = {
    "functions": DRAWN,
    "narrow": DRAWN,
    "wide": DRAWN,
    "kinks": DRAWN,
    "unscaled": ("fail", "unknown", "fail"),
    "same-weights": DRAWN,
    "three-points": ("pass", "pass", "pass"),
    "six-points": ("unknown", "not fail", "unknown"),  # its bound is only the largest likelihood seen
    "undivided": ("fail", "not fail", "fail"),
    "limit-data": ("pass", "pass", "pass"),
}


@pytest.mark.parametrize("name", BY_ID)
def test_the_three_signs(name):
    assert says(verdicts("prior-predictive", BY_ID[name]), VERDICTS[name])


@pytest.mark.parametrize("fault", ["unshrunk", "data_twice", "data_ignored"])
def test_planted_faults_turn_the_walk_red(fault):
    (walk,) = evidence.kernels(SHORT)
    assert fault in walk.faults and overall(proofs(walk.planted(fault), 1)) == "fail"


@pytest.mark.parametrize(
    "name,fault,kind",
    [("functions", SHIFTED, "numbers"), ("three-points", SHIFTED, "numbers"), ("three-points", STUCK, "run"), ("limit-data", STUCK, "run")],
)
def test_planted_faults_turn_run_and_numbers_red(name, fault, kind):
    with planted(fault):
        found = evidence.checks(BY_ID[name], NEVER)
    assert overall([check for check in found if check.kind == kind]) == "fail"


def test_a_verdict_that_was_not_taken_by_its_ratio_is_seen(monkeypatch):
    right = analysis.tested(SHORT)
    accepted = right.run.accepted.copy()
    accepted[7] ^= True
    broken = dataclasses.replace(right, run=dataclasses.replace(right.run, accepted=accepted))
    monkeypatch.setattr(analysis, "tested", lambda spec: broken)
    assert evidence.right_decisions(SHORT).verdict == "fail"


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("scaling", ["none", "full"])
def test_a_forgotten_scaling_fails(quick, depth, scaling):
    found = each(STANDARD.replace(depth=depth, scaling=scaling))
    assert found["second moments"] == found["weights"] == "fail" and found["same function"] == "pass"


def test_deep_and_narrow_passes(quick):
    assert set(each(STANDARD.replace(width=3, depth=3)).values()) == {"pass"}


def test_a_wrong_kernel_fails(quick, monkeypatch):
    monkeypatch.setattr(analysis, "meant", lambda spec: spec.prior().replace(bias_sd=1.3 * spec.bias_sd))
    found = each(STANDARD.replace(bias_sd=0.5))
    assert found["second moments"] == found["fourth moment"] == "fail"


def test_a_wrong_forward_pass_fails(monkeypatch):
    monkeypatch.setattr(evidence, "_erf", np.tanh)
    prior = STANDARD.replace(activation="erf").prior()
    assert evidence.plain_forward(prior, 1).verdict == "fail"


LIMIT = BY_ID["limit-data"]


def from_the_limit() -> np.ndarray:
    """(widths, 2) how far means and sds of all draws are from the limit's."""
    limit = analysis.limit_of(LIMIT, analysis.wide_grid())
    return np.array([analysis.distances(analysis.walked(LIMIT, width), limit)[-1] for width in WIDER])


def test_wider_networks_given_data_come_nearer_to_the_limit():
    last = from_the_limit()
    assert (last[1:, 0] < 0.6 * last[:-1, 0])[:2].all() and (last[-1] < 0.02).all()  # the last two: Monte Carlo error is as large
    walked = analysis.walked(LIMIT, WIDER[1])
    one = analysis.at_width(LIMIT, walked.width)
    curves = one.prior().values(analysis.chains(one).run.weights.reshape(-1, one.prior().dim), analysis.wide_grid())
    assert walked.count[-1] == len(curves) and walked.mean[-1] == pytest.approx(curves.mean(axis=0), abs=1e-9)
    assert walked.sd[-1] == pytest.approx(curves.std(axis=0), abs=1e-7)


@pytest.mark.one_seed
def test_the_widest_network_is_as_near_as_the_picture_shows():
    assert (from_the_limit()[-1] < 0.01).all()


@pytest.fixture
def wrong_limit(monkeypatch):
    """That of noisier measurements."""
    right = analysis.limit_of
    monkeypatch.setattr(analysis, "limit_of", lambda spec, at: right(spec.replace(noise_sd=1.3 * spec.noise_sd), at))


@pytest.mark.usefixtures("wrong_limit")
def test_the_widest_network_is_not_near_a_wrong_limit():
    assert (from_the_limit()[-1] > 0.02).all()


@pytest.mark.parametrize("scaling", ["none", "full"])
def test_without_the_root_networks_given_data_have_another_limit(quick, scaling):
    found = each(LIMIT.replace(scaling=scaling, tries=20_000))
    assert found["weights"] == found["the limit, given data"] == "fail" and found["same function"] == "pass"


@pytest.mark.usefixtures("quick", "wrong_limit")
def test_a_wrong_limit_given_data_fails():
    assert [check.verdict for check in evidence.limit_checks(LIMIT)] == ["fail"]


def test_deep_networks_are_no_judge_of_the_limit():
    assert [check.verdict for check in evidence.limit_checks(LIMIT.replace(depth=2, tries=10_000))] == ["unknown"]


def test_six_points_cannot_be_told():
    six = each(BY_ID["six-points"])
    assert six["acceptance rate"] == "pass" and six["accepted functions"] == "unknown"


def test_forgetting_to_divide_fails():
    found = each(BY_ID["undivided"])
    assert {found[name] for name in ("acceptance rate", "accepted functions", "decisions worked out again")} == {"fail"}


def test_no_points_and_no_survivors_are_no_accident():
    assert each(SHORT.replace(used=0))["acceptance rate"] == "pass"
    hopeless = SHORT.replace(data="points", points=((0.0, 1.5, 0), (0.2, -1.5, 0), (0.4, 1.5, 0)), noise_sd=0.05)
    scenes.scene(hopeless, None)
    assert "fail" not in [verdict for name, verdict in each(hopeless).items() if name != "chains agree"]
    evidence.diagnostics(hopeless, NEVER)
    evidence.panels(hopeless, NEVER)


# Panels and questions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["functions", "same-weights", "three-points", "limit-data"])
def test_panels_and_diagnostics_say_what_they_show(quick, name):
    shown = evidence.panels(BY_ID[name], NEVER)
    assert len(shown) == 2 and all(item.caption for item in shown)
    assert evidence.diagnostics(BY_ID[name], NEVER).caption


def test_the_kurtosis_has_an_honest_error():
    rng = np.random.default_rng(1)
    z = [evidence.kurtosis(rng.standard_normal(4000)) for _ in range(200)]
    assert np.std([value / error for value, error in z]) == pytest.approx(1.0, abs=0.2)


@pytest.mark.one_seed
@pytest.mark.parametrize(("question", "right"), [("covariance", 1), ("growth", 1), ("noise", 1), ("survivors", 3)])
def test_the_runs_answer_as_the_story_says(question, right):
    asked = next(q for q in questions.QUESTIONS if q.id == question)
    spec = BY_ID[asked.scenario]
    assert asked.answer(spec) == right
    assert any(character.isdigit() for character in asked.explain(spec))


def test_the_story_is_right_about_three_layers():
    drawn = dict(zip(analysis.COMPARED, analysis.compared(BY_ID["same-weights"]), strict=True))
    turns = {size: np.mean(np.diff(np.sign(np.diff(d.curves)), axis=1) != 0) for size, d in drawn.items()}
    assert turns[64, 3] > 3 * turns[4, 3] and turns[64, 3] > 3 * turns[64, 1]


# Page -----------------------------------------------------------------------------------------------------------------


def test_a_control_changes_the_draws():
    app = page("prior-predictive")
    app.number_input(key="prior-predictive/width/box").set_value(33).run()
    assert not app.exception and not app.error
    assert app.session_state["visit/prior-predictive"].spec.width == 33


def test_a_wrong_link_is_named_and_the_page_still_works():
    app = page("prior-predictive", v="1", width="-3", view="magic")
    text = " ".join(warning.value for warning in app.warning)
    assert "width" in text and "view" in text
    assert not app.exception


def test_six_priors_are_shown_by_their_first_draws_while_the_others_are_made():
    job, spec = Job(), BY_ID["same-weights"].replace(seed=41)
    whole = scenes.grow(spec, job)
    assert whole == scenes.scene(spec, None)
    (first,) = job.blobs
    goes_on(first, whole)
    assert decode(first)[0]["steps"] == scenes.FIRST_COMPARED
    job = Job()
    assert scenes.grow(spec, job) == whole and not job.blobs, "once they are drawn nothing goes ahead of them"


def test_no_card_compares_sizes_before_the_prediction_is_locked():
    assert in_view(scenes.scene(BY_ID["same-weights"], None)) == {"weights"}
