"""The regression lesson: its numbers against independent formulas, its checks against mistakes, its words."""

from __future__ import annotations

import dataclasses
import math
from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats

from app.kit.player.scene import decode
from datasets.regression import GAP_CENTRE, curve_with_gap, line_with_gap
from engine import kept
from engine.judge import overall, proofs
from engine.judge.plant import SHIFTED, STUCK, planted
from engine.networks.predictive import outputs
from engine.spec import SpecError
from lessons.regression import analysis, panels, proof, questions, scenes
from lessons.regression.analysis import EDGES, GRID, Answer
from lessons.regression.spec import METHODS, SCENARIOS, RegressionLesson
from tests.lessons.pages import MOST_BYTES, NEVER, RESEARCHER_S_CARD, Job, verdicts

BY_ID = {scenario.id: scenario.spec for scenario in SCENARIOS}
STANDARD = BY_ID["gap"]
LINE = BY_ID["line"]
POINTS = ((-1.0, 0.5, 0), (0.5, 1.0, 0))


# Data and spec --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameter", "changes"),
    [
        ("observations", {"observations": 1}),
        ("data_noise", {"data_noise": math.nan}),
        ("noise_sd", {"noise_sd": 0.0}),
        ("prior_sd", {"prior_sd": -1.0}),
        ("gap", {"gap": 3.0}),
        ("units", {"units": 50}),
        ("units", {"units": 20, "observations": 60, "draws": 300, "warmup": 1000}),
        ("method", {"method": "magic"}),
        ("keep", {"keep": 1.0}),
        ("points", {"points": ((9.0, 0.0, 0),)}),
        ("points", {"points": ((0.0, 5.0, 0),)}),
        ("points", {"points": ((0.0, 0.0, 1),)}),
        ("points", {"points": ((0.0, math.inf, 0),)}),
        ("play", {"data": "points", "points": POINTS, "play": "repeat"}),
        ("variant", {"variant": "final_accept", "noise": "learned"}),
    ],
)
def test_a_wrong_setting_is_named(parameter, changes):
    with pytest.raises(SpecError) as error:
        RegressionLesson(**changes)
    assert error.value.parameter == parameter


@pytest.mark.parametrize("make", [curve_with_gap, line_with_gap])
def test_measurements_leave_the_gap_free(make):
    data = make(2000, 0.3, 1.4, seed=5)
    assert np.all(np.diff(data.x) >= 0.0) and np.abs(data.x).max() <= 2.0
    assert np.abs(data.x - GAP_CENTRE).min() >= 0.7
    noise = data.y - make(2000, 0.0, 1.4, seed=5).y
    assert noise.std() == pytest.approx(0.3, rel=0.06) and abs(noise.mean()) < 0.03
    assert "gap 1.4" in data.card.source
    with pytest.raises(SpecError, match="gap"):
        make(gap=5.0)


# Analysis -------------------------------------------------------------------------------------------------------------


def normal_answer(centre: float, sd: float, noise: float, number: int = 4000) -> Answer:
    """Curves that are constants, normal about `centre`."""
    law = NormalDist(centre, sd)
    levels = np.array([law.inv_cdf((i + 0.5) / number) for i in range(number)])
    spec = LINE
    return Answer(spec, "nuts", np.column_stack([np.zeros(number), levels]), np.full(number, noise), 0.0)


def test_bands_of_normals_are_normal():
    found = normal_answer(0.4, 0.3, 0.4)
    assert found.curve_band[:, 7] == pytest.approx([NormalDist(0.4, 0.3).inv_cdf(edge) for edge in EDGES], abs=2e-3)
    new = NormalDist(0.4, 0.5)
    assert found.new_band[:, 7] == pytest.approx([new.inv_cdf(edge) for edge in EDGES], abs=2e-2)  # of some draws
    assert found.epistemic[7] == pytest.approx(0.3, rel=1e-3) and found.aleatoric == pytest.approx(0.4)
    y = [-0.5, 0.4, 1.1]
    below = analysis.pit(found.at([0.0, 0.0, 0.0]), found.noise, y)
    assert below == pytest.approx([new.cdf(value) for value in y], abs=1e-3)


def test_a_known_line_is_the_textbook_posterior():
    x, y = analysis.data_of(LINE)
    design = np.column_stack([x[:, 0], np.ones(len(y))])
    covariance = np.linalg.inv(design.T @ design / LINE.noise_sd**2 + np.eye(2) / LINE.prior_sd**2)
    mean = covariance @ design.T @ y / LINE.noise_sd**2
    rows = np.column_stack([GRID, np.ones_like(GRID)])
    found = analysis.exact(LINE, GRID)
    assert found.mean == pytest.approx(rows @ mean, abs=1e-9)
    assert found.sd == pytest.approx(np.sqrt(np.einsum("ij,jk,ik->i", rows, covariance, rows)), abs=1e-9)
    at = np.linspace(-5.0, 5.0, 4001)
    assert np.trapezoid(found.density(at, 3), at) == pytest.approx(1.0, abs=1e-6)


def test_a_line_with_learned_noise_is_integrated():
    spec = LINE.replace(noise="learned", observations=4)
    x, y = analysis.data_of(spec)
    rng = np.random.Generator(np.random.SFC64(1))
    n = 200_000  # weighted draws from the prior of the noise: an independent way to the same numbers
    sigma = 1.0 / np.sqrt(rng.standard_gamma(analysis.NOISE_SHAPE, n) / (analysis.NOISE_SHAPE * spec.noise_sd**2))
    theta = spec.prior_sd * rng.standard_normal((n, 2))
    residual = y - (theta[:, :1] * x[:, 0] + theta[:, 1:])
    log = -0.5 * (residual**2).sum(axis=1) / sigma**2 - len(y) * np.log(sigma)
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    found = analysis.exact(spec, [1.0])
    value = theta.sum(axis=1)
    error = 4.0 * math.sqrt(float(np.sum(weight**2)))
    assert found.mean[0] == pytest.approx(weight @ value, abs=error * found.sd[0])
    assert found.weight @ np.log(found.sigma) == pytest.approx(weight @ np.log(sigma), abs=error)


def test_methods_agree_where_they_must():
    """On a straight line Laplace is exact, and every climber finds the one top."""
    true = analysis.exact(LINE, GRID)
    laplace = analysis.answer(LINE, "laplace")
    assert laplace.epistemic == pytest.approx(true.sd, rel=0.25)
    assert analysis.answer(LINE, "map").curves[0] == pytest.approx(true.mean, abs=1e-3)
    members = analysis.answer(LINE.replace(epochs=3000), "ensemble").curves
    assert members == pytest.approx(np.tile(true.mean, (len(members), 1)), abs=0.05)


def test_laplace_through_the_bent_network_is_too_wild():
    linear, bent = (analysis.answer(STANDARD.replace(laplace=kind), "laplace") for kind in ("linear", "bent"))
    assert np.array_equal(linear.theta, bent.theta)
    where = analysis.has_data(STANDARD, GRID)
    assert bent.epistemic[where].mean() > 4.0 * linear.epistemic[where].mean()


def test_what_is_not_looked_at_changes_no_draw():
    other = STANDARD.replace(at=-1.0, play="compare", keep=0.7, members=3, repeats=11)
    assert analysis.answer(other, "nuts") is analysis.answer(STANDARD, "nuts")
    assert analysis.answer(other, "dropout") is not analysis.answer(STANDARD, "dropout")


def test_coverage_counts():
    spec = LINE.replace(data_noise=0.5)
    right = Answer(spec, "map", np.array([[0.8, 0.31]]), np.array([0.5]), 0.0)
    held = analysis.covered(right)
    assert abs(held.new - 0.9) < 4.0 * held.error
    assert held.near == held.gap == held.ends == 0.0  # a band without width, beside the line
    narrow = Answer(spec, "map", np.array([[0.8, 0.3]]), np.array([0.5 / 3.0]), 0.0)
    held = analysis.covered(narrow)
    standard = NormalDist()
    expected = 2.0 * standard.cdf(standard.inv_cdf(0.95) / 3.0) - 1.0
    assert abs(held.new - expected) < 4.0 * held.error
    says, holds = analysis.calibration(right)
    assert np.abs(holds - says).max() < 0.06


def test_many_data_sets_are_different_and_counted():
    spec = LINE.replace(play="repeat", method="laplace")
    sets = analysis.repeat(spec, 60)
    assert len({one.data.tobytes() for one in sets}) == 60
    held = np.mean([one.held for one in sets])
    assert 0.8 < held < 0.98 and 0.75 < np.mean([one.new_held for one in sets]) <= 1.0
    assert analysis.repeat(spec, 5)[4] is sets[4]


# Proof ----------------------------------------------------------------------------------------------------------------


# What the signs say: kernel, this run, numbers. An approximation that is one says so in its numbers.
VERDICTS = {
    "gap": ("pass", "pass", "unknown"),
    "one-network": ("pass", "pass", "fail"),
    "compare": ("pass", "pass", "unknown"),
    "wrong-noise": ("pass", "pass", "unknown"),  # the model is wrong, the sampler is not
    "learned-noise": ("pass", "pass", "unknown"),
    "repeat": ("pass", "pass", "unknown"),
    "line": ("pass", "pass", "pass"),
    "broken": ("fail", "pass", "fail"),
    "own": ("pass", "pass", "unknown"),
}


def test_every_scenario_has_its_verdicts():
    assert set(VERDICTS) == set(BY_ID)


@pytest.mark.parametrize("scenario", VERDICTS)
def test_the_signs_say(scenario):
    assert verdicts("regression", BY_ID[scenario]) == VERDICTS[scenario]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (LINE.replace(noise="learned", noise_sd=0.2), ("pass", "pass", "pass")),
        (LINE.replace(method="laplace"), ("pass", "pass", "pass")),  # the posterior of a line is normal
        (STANDARD.replace(method="ensemble"), ("pass", "fail", "fail")),  # Adam has not ended
        (STANDARD.replace(method="dropout"), ("pass", "unknown", "fail")),
        (STANDARD.replace(method="laplace", laplace="bent"), ("pass", "pass", "fail")),
        (LINE.replace(variant="aliased_momentum"), ("fail", "pass", "fail")),
    ],
    ids=["noise", "laplace", "ensemble", "dropout", "bent", "aliased"],
)
def test_the_signs_of_other_methods_say(spec, says):
    assert verdicts("regression", spec) == says


# Each check, and a fault that turns it red.


@pytest.mark.parametrize("fault", ["aliased_momentum", "final_accept", "prior_forgotten", "data_twice", "data_ignored"])
def test_a_fault_in_the_kernel_is_seen(fault):
    # the steps that the network needs are so short that the extra accept step hardly ever refuses
    (kernel,) = proof.kernels(LINE if fault == "final_accept" else STANDARD)
    assert overall(proofs(kernel.planted(fault), 0)) == "fail"


def test_a_wrong_answer_is_seen():
    chains = analysis.study(LINE.replace(noise="learned"), NEVER)
    wrong = dataclasses.replace(chains, noise=1.03 * chains.noise)
    assert proof.against_exact(LINE.replace(noise="learned"), chains).verdict == "pass"
    assert proof.against_exact(LINE.replace(noise="learned"), wrong).verdict == "fail"
    for spec in (LINE, LINE.replace(method="laplace")):
        with planted(SHIFTED):
            assert proof.checks(spec, NEVER)[-1].verdict == "fail"


def test_a_chain_that_stands_still_has_not_converged():
    with planted(STUCK):
        assert proof.run_checks(STANDARD, analysis.study(STANDARD, NEVER))[0].verdict == "fail"


def test_parts_of_approximations_are_proven(monkeypatch):
    assert proof.masks_check(STANDARD).verdict == "pass"
    assert proof.masks_check(STANDARD, keep=STANDARD.keep - 0.03).verdict == "fail"
    assert proof.curvature_check(STANDARD).verdict == "pass"
    right = proof.laplace
    monkeypatch.setattr(
        proof, "laplace", lambda model, *rest, **more: right(dataclasses.replace(model, prior_sd=1.01 * model.prior_sd), *rest, **more)
    )
    assert proof.curvature_check(STANDARD).verdict == "fail"
    mode = analysis.mode_of(STANDARD)
    monkeypatch.setattr(analysis, "mode_of", lambda spec: 1.05 * mode)
    assert proof.climb_check(STANDARD.replace(method="laplace")).verdict == "fail"


def test_curves_of_the_posterior_are_seldom_called_off():
    """p-values of exact draws, uniform: also of few curves, with the posterior known by few effective draws."""
    rng = np.random.default_rng(3)
    p = []
    for _ in range(600):
        known, curves = rng.standard_normal((400, 1)), rng.standard_normal((60, 1))
        z = proof.off_posterior(curves, known.mean(axis=0), known.std(axis=0), np.array([400.0]), np.array([3.0]))
        p += [math.erfc(abs(each) / math.sqrt(2.0)) for each in z]
    assert stats.kstest(p, "uniform").pvalue > 1e-4


# Pictures and words ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.id)
def test_a_scene_fits_in_a_message(scenario):
    assert len(scenes.scene(scenario.spec, None)) < MOST_BYTES


def test_the_stage_shows_the_answer():
    found = analysis.answer(STANDARD, "nuts")
    header, arrays = decode(scenes.scene(STANDARD, None))
    panel = next(panel for panel in header["panels"] if panel["id"] == "curve")
    labelled = {layer["label"]: layer for layer in panel["layers"] if layer.get("label")}
    low, high = (arrays[index] for index in labelled["mean, 90 % of the curves"]["band"])
    assert low == pytest.approx(found.curve_band[0], abs=1e-5) and high == pytest.approx(found.curve_band[1], abs=1e-5)
    assert arrays[labelled["single curves"]["ys"]] == pytest.approx(found.curves, abs=1e-5)
    assert header["steps"] == STANDARD.draws


@pytest.mark.parametrize("spec", [STANDARD, LINE, BY_ID["learned-noise"]], ids=["network", "line", "learned noise"])
def test_one_network_is_trained_on_stage(spec: RegressionLesson):
    found, climb = analysis.answer(spec, "map"), analysis.climb(spec)
    model = analysis.fitted_network(spec)
    assert np.array_equal(climb.theta[-1], found.theta[0]) and climb.below[-1] == 0.0 and climb.iteration[-1] == climb.last
    assert climb.iteration[0] == 0 and climb.below[0] > 1.0
    assert any(np.array_equal(climb.theta[0], start) for start in model.prior_draws(analysis.CLIMBS, spec.seed))
    assert np.all(np.diff(climb.iteration) >= 0) and np.all(np.diff(climb.below) <= 1e-9)
    header, arrays = decode(scenes.scene(spec.replace(method="map"), None))
    panel = next(panel for panel in header["panels"] if panel["id"] == "curve")
    new, curve = (layer for layer in panel["layers"] if layer["show"]["what"] == "at")
    curves = np.clip(outputs(model, climb.theta, GRID[:, None])[:, :, 0], -scenes.CLIP, scenes.CLIP)
    assert arrays[curve["ys"]] == pytest.approx(curves, abs=1e-4) and header["steps"] == len(curves)
    widths = arrays[new["band"][1]] - arrays[new["band"][0]]
    seen = np.abs(curves) < scenes.CLIP - 3.0 * model.noise_sd
    assert widths[seen] == pytest.approx(2.0 * 1.6449 * model.noise_sd, abs=1e-3), "about each curve the noise is the same"
    for edge, now in zip(new["band"], found.new_band, strict=True):
        assert arrays[edge][-1] == pytest.approx(np.clip(now, -scenes.CLIP, scenes.CLIP), abs=1e-4)


def test_seconds_of_a_method_count_the_climb_it_stands_on():
    kept.store.forget()
    analysis.answer(STANDARD, "map")
    climbed = analysis._top(analysis._deciding(STANDARD, "map")).seconds
    assert min(analysis.answer(STANDARD, method).seconds for method in ("map", "laplace")) > climbed > 0.0


def test_own_points_become_the_data():
    spec = scenes.on_event(STANDARD, {"kind": "points", "panel": "curve", "points": [(0.12345, 9.0, 0), (-8.0, 0.0, 0)]})
    assert spec.data == "points" and spec.points == ((0.123, 4.0, 0), (-3.0, 0.0, 0))
    assert scenes.on_event(STANDARD, {"kind": "points", "panel": "value", "points": []}) is None
    empty = STANDARD.replace(data="points", points=())
    for method in ("nuts", "map"):
        assert scenes.scene(empty.replace(method=method), None)


def test_the_long_run_grows_and_needs_a_true_curve():
    job = Job()
    spec = BY_ID["repeat"].replace(model="line", method="laplace", repeats=10)
    header, _ = decode(scenes.live(spec)(job))
    assert job.reports[-1] == (10, 10) and header["steps"] == 10 and len(job.blobs) == 3
    with pytest.raises(SpecError, match="own points"):
        scenes.live(BY_ID["own"])(Job())


@pytest.mark.parametrize("name", ["gap", "learned-noise"])
def test_the_first_draws_are_shown_while_the_rest_is_made(name: str):
    spec, job = BY_ID[name].replace(seed=77), Job()
    first = analysis.beginning(spec)
    assert np.array_equal(first.theta, analysis.answer(spec).theta[: analysis.BEGINNING])
    kept.store.forget()
    whole = scenes.grow(spec, job)
    headers = [decode(blob)[0] for blob in job.blobs]
    assert [(header["steps"], header["total"]) for header in headers] == [(1, spec.draws), (analysis.BEGINNING, spec.draws)]
    assert whole == scenes.scene(spec, None) and decode(whole)[0]["total"] is None
    assert scenes.grow(spec, job) == whole and len(job.blobs) == 2, "what is there is shown at once"


def framed(blob: bytes) -> tuple:
    """The run of a picture, its panels with places and marks, and the lines of its card."""
    header, _ = decode(blob)
    panels = [(panel["id"], panel["place"], [(layer["kind"], layer["role"]) for layer in panel["layers"]]) for panel in header["panels"]]
    return header["run"], panels, [(line["id"], line["tokens"]) for line in header["readouts"]]


def lines_of(blob: bytes) -> dict[str, dict[str, np.ndarray]]:
    """Values of the lines of the card."""
    header, arrays = decode(blob)
    return {line["id"]: {name: arrays[value["array"]] for name, value in line["values"].items()} for line in header["readouts"]}


@pytest.mark.parametrize("name", ["gap", "learned-noise", "own"])
def test_before_its_first_draw_a_chain_says_nothing(name: str):
    """The picture has the data and the true curve; what the draws will tell is not known yet."""
    spec, job = BY_ID[name].replace(seed=78), Job()
    whole = scenes.grow(spec, job)
    (header, arrays), (last, drawn) = decode(job.blobs[0]), decode(whole)
    assert framed(job.blobs[0]) == framed(whole)
    noise = ["σ", "aleatoric sd"] if spec.noise == "known" else []
    for column in header["table"]:
        assert np.isnan(arrays[column["values"]]).all() != (column["name"] in noise), column["name"]
    data, same = (found[of["panels"][0]["editable"]["points"]] for of, found in ((header, arrays), (last, drawn)))
    assert len(data) and np.array_equal(data, same)


def test_quick_methods_are_compared_while_the_posterior_is_sampled():
    spec, job = BY_ID["compare"].replace(seed=79), Job()
    whole = scenes.grow(spec, job)
    assert [framed(blob) for blob in job.blobs] == 2 * [framed(whole)] and whole == scenes.scene(spec, None)
    pictures = [decode(blob) for blob in (*job.blobs, whole)]
    tables = [{column["name"]: arrays[column["values"]] for column in header["table"]} for header, arrays in pictures]
    for method in METHODS:
        first, second, last = (table[scenes.NAMES[method]] for table in tables)
        assert np.isnan(first).all() and np.isfinite(last).all()
        assert np.isnan(second).all() if method == "nuts" else np.array_equal(second, last)
    assert scenes.grow(spec, job) == whole and len(job.blobs) == 2
    kept.store.forget()
    analysis.answer(spec, "nuts")
    scenes.grow(spec, again := Job())
    header, arrays = decode(again.blobs[0])
    there = [column["name"] for column in header["table"] if np.isfinite(arrays[column["values"]]).all()]
    assert len(again.blobs) == 1 and there == [scenes.NAMES["nuts"]], "what is there is shown at once"


def test_data_set_after_data_set_is_shown():
    spec, job = BY_ID["repeat"].replace(model="line", seed=77), Job()
    whole = scenes.grow(spec, job)
    assert [decode(blob)[0]["steps"] for blob in (*job.blobs, whole)] == [1, 1, 2, 3, 4]
    lines = [lines_of(blob) for blob in job.blobs]
    assert [line["curve"]["n"][-1] for line in lines] == [0, 1, 2, 3]
    assert lines[0]["curve"]["k"] == 0 and all(np.isnan(lines[0][name]["p"]).all() for name in ("curve", "new", "all"))
    assert framed(job.blobs[0]) == framed(whole)
    assert scenes.grow(spec, job) == whole and len(job.blobs) == 4


def test_claims_of_the_scenarios():
    gap, single = (analysis.covered(analysis.answer(STANDARD, method)) for method in ("nuts", "map"))
    assert abs(gap.new - 0.9) < 0.04 and gap.gap > 0.9
    off = np.abs(analysis.answer(STANDARD, "map").curves[0] - analysis.truth(STANDARD, GRID))
    inside = np.abs(GRID - GAP_CENTRE) < 0.7
    assert off[inside].max() > 1.7 * STANDARD.noise_sd and single.gap == 0.0  # "the true curve leaves it there"
    assert analysis.covered(analysis.answer(BY_ID["wrong-noise"], "nuts")).new < 0.6
    learned = analysis.answer(BY_ID["learned-noise"], "nuts")
    assert abs(float(np.median(learned.noise)) - 0.6) < 0.2
    assert abs(analysis.covered(learned).new - 0.9) < 0.06


def test_the_bug_makes_the_band_too_narrow_on_average():
    """By 5 %: 200 draws know the width no better than that."""
    exact = analysis.exact(LINE, GRID).sd.mean()
    found = [analysis.answer(BY_ID["broken"].replace(seed=k), "nuts").epistemic.mean() / exact for k in range(1, 101)]
    error = np.std(found) / np.sqrt(len(found))
    assert np.mean(found) < 1.0 - 4 * error and abs(np.mean(found) - 0.95) < 4 * error


def test_questions_have_answers():
    for question in questions.QUESTIONS:
        spec = BY_ID[question.scenario]
        assert 0 <= question.answer(spec) < len(question.options)
        assert question.explain(spec)
    assert questions._where(BY_ID["gap"]) == 2
    assert questions._nearest(BY_ID["compare"]) == questions.RIVALS.index("laplace")


def test_panels_are_made_for_curves_and_own_points():
    made = {item.title: item for item in panels.panels(LINE, NEVER)}
    assert list(made)[-4:] == RESEARCHER_S_CARD
    assert len(made["Five methods, side by side"].columns["method"]) == len(METHODS)
    table = panels.diagnostics(LINE, NEVER)[0]
    assert table.columns["exact"] == pytest.approx(list(analysis.exact(LINE, proof.PLACES).mean))
    own = {item.title: item for item in panels.panels(BY_ID["own"].replace(model="line"), NEVER)}
    assert "new measurements held (%)" not in own["Five methods, side by side"].columns
