"""The dimensions lesson: its numbers against independent formulas, its checks against mutants, its pictures."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from app.kit.player.scene import decode
from engine.judge import overall
from engine.jumps import toy
from engine.jumps.toy import FACTORS, VARIANTS
from engine.spec import SpecError
from lessons.dimensions import analysis, panels, questions, scenes
from lessons.dimensions.spec import SCENARIOS, DimensionsLesson, written
from tests.lessons.pages import MOST_BYTES, NEVER, Job, lacks, page, planted, says, verdicts

BY_ID = {scenario.id: scenario.spec for scenario in SCENARIOS}
WRONG = [variant for variant in VARIANTS if variant != "exact"]
OWN = BY_ID["split"].replace(measurements="-1.2 -0.4; 0.3, -0.9 0.1 -0.2 1.1 0.8 1.9")


# Spec -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameter,changes",
    [
        ("draws", {"draws": 601}),
        ("observations", {"observations": 5}),
        ("truth", {"truth": 4}),
        ("start", {"start": 5}),
        ("variant", {"variant": "almost"}),
        ("measurements", {"measurements": "1, 2, 3"}),
        ("measurements", {"measurements": "1, 2, 3, x, 5, 6"}),
        ("measurements", {"measurements": "1, 2, 3, nan, 5, 6"}),
        ("measurements", {"measurements": "1, 2, 3, 1e99, 5, 6"}),
    ],
)
def test_a_wrong_setting_is_named(parameter, changes):
    with pytest.raises(SpecError) as error:
        DimensionsLesson(**changes)
    assert error.value.parameter == parameter


def test_a_wrong_measurement_is_counted():
    with pytest.raises(SpecError, match="number 4"):
        DimensionsLesson(measurements="1, 2, 3, x, 5, 6")


# Data and models ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BY_ID)
def test_the_run_is_the_engines(name):
    spec = BY_ID[name]
    here, there = analysis.recorded(spec), toy.record(spec.toy(), detail="jumps")
    for one, two in ((here.theta, there.theta), (here.model, there.model), (here.ledger.u, there.ledger.u)):
        assert one.tobytes() == two.tobytes()
    np.testing.assert_allclose(analysis.exact(spec), toy.exact(spec.toy()).probability, rtol=1e-12)
    known = toy.limit(spec.toy())
    assert (known is None) == (analysis.limit(spec) is None)
    if known is not None:
        np.testing.assert_allclose(analysis.limit(spec), known, rtol=1e-9)


@pytest.mark.parametrize("family", ["means", "polynomial"])
def test_own_measurements_have_their_own_exact_answer(family):
    spec = OWN.replace(family=family, model_prior="geometric")
    data = analysis.data_of(spec)
    assert data.true_mean is None and len(data.y) == 9
    log_p = []
    for k, X in enumerate(data.designs, 1):
        covariance = spec.noise_sd**2 * np.eye(9) + spec.prior_sd**2 * X @ X.T
        log_p.append(multivariate_normal.logpdf(data.y, cov=covariance) - k * np.log(2.0))
    p = np.exp(np.array(log_p) - max(log_p))
    np.testing.assert_allclose(analysis.exact(spec), p / p.sum(), rtol=1e-9)


def test_the_groups_are_consecutive_and_a_split_takes_the_last():
    one, two, three = analysis.data_of(OWN).designs
    assert one.shape == (9, 1) and (one == 1).all()
    np.testing.assert_array_equal(np.argmax(two, axis=1), [0] * 6 + [1] * 3)
    np.testing.assert_array_equal(np.argmax(three, axis=1), [0] * 3 + [1] * 3 + [2] * 3)


def test_where_a_wrong_sampler_settles_on_own_measurements():
    for variant in ("no_jacobian", "no_end_points"):
        spec = OWN.replace(variant=variant)
        found = analysis.long_shares(spec)
        z = (found.mean - analysis.limit(spec)) / found.mcse
        assert np.all(np.abs(z) < 4), variant


# The jumps ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["split", "polynomial", "prior"])
def test_the_ledger_is_green_and_its_sides_are_the_densities(name):
    spec = BY_ID[name]
    walk = analysis.walk(spec)
    jump, terms, data = walk.jump, walk.terms, analysis.data_of(spec)
    for t in range(0, walk.steps, 37):
        k = int(jump.destination[t])
        theta = jump.proposed[t, :k]
        fit = norm.logpdf(data.y, data.designs[k - 1] @ theta, spec.noise_sd).sum()
        wanted = fit if spec.likelihood == "on" else 0.0
        assert terms["likelihood proposed"][t] == pytest.approx(wanted, abs=1e-9)
        assert terms["parameters proposed"][t] == pytest.approx(norm.logpdf(theta, 0, spec.prior_sd).sum(), abs=1e-9)
    np.testing.assert_allclose(analysis.right_factors(walk), walk.factors, atol=1e-8)
    np.testing.assert_allclose(terms["J"], np.log(2 * spec.spread if spec.family == "means" else spec.spread))
    assert analysis.ledger_check(spec).verdict == "pass"


@pytest.mark.parametrize("name", ["split", "polynomial"])
def test_the_map_matches_dimensions(name):
    spec = BY_ID[name]
    walk = analysis.walk(spec)
    m, u, s = walk.small, walk.jump.u, spec.spread
    wanted = [m - s * u, m + s * u] if spec.family == "means" else [m, s * u]
    np.testing.assert_allclose(walk.large, np.column_stack(wanted), atol=1e-12)


# The three signs -----------------------------------------------------------------------------------------------------

# kernel, this run, numbers
VERDICTS = {
    "split": ("pass", "pass", "pass"),
    "polynomial": ("pass", "pass", "pass"),
    "prior": ("pass", "pass", "pass"),
    "no-jacobian": ("fail", "pass", "fail"),
    "no-end-points": ("fail", "pass", "fail"),
    "no-proposal": ("fail", "pass", "fail"),
    "one-sided": ("fail", "pass", "fail"),
}


@pytest.mark.parametrize("scenario", VERDICTS)
def test_the_three_signs(scenario):
    assert says(verdicts("dimensions", BY_ID[scenario]), VERDICTS[scenario])


@pytest.mark.long
def test_each_planted_fault_turns_its_sign_red():
    found = planted("dimensions", BY_ID["split"])
    assert {key: overall(checks) for key, checks in found.items()} == dict.fromkeys(found, "fail")
    faults = {"no jacobian", "no end points", "no proposal", "one sided"}
    assert {name for kind, name in found if kind == "kernel"} == faults


@pytest.mark.parametrize("variant", WRONG)
def test_the_books_show_every_mistake(variant):
    assert [check.verdict for check in analysis.audit(BY_ID["split"].replace(variant=variant))] == ["fail"]


def test_own_measurements_are_judged_as_many_as_there_are():
    assert verdicts("dimensions", OWN) == ("pass", "pass", "pass")
    assert "9 simulated measurements" in analysis.kernels(OWN)[0].name


def test_a_forgotten_jacobian_of_one_is_no_mistake():
    spec = BY_ID["no-jacobian"].replace(spread=0.5)
    assert verdicts("dimensions", spec) == ("pass", "pass", "pass")
    assert "no_jacobian" not in analysis.kernels(spec)[0].faults
    np.testing.assert_allclose(analysis.limit(spec), analysis.exact(spec))


def test_what_cannot_be_judged_is_grey():
    clear = BY_ID["split"].replace(effect=5.0, noise_sd=0.3, truth=3)
    assert analysis.exact(clear).max() > 0.999
    kernel, _, numbers = verdicts("dimensions", clear)
    assert (kernel, numbers) == ("pass", "unknown")


# Scenes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", [*BY_ID.values(), OWN, BY_ID["polynomial"].replace(models=6, variant="one_sided")])
def test_scenes_are_small(spec):
    header, _ = decode(blob := scenes.scene(spec, 599))
    assert len(blob) < MOST_BYTES and header["steps"] == spec.draws
    assert [phase["id"] for phase in header["phases"]][3:9] == list(FACTORS)


@pytest.mark.parametrize("name", ["split", "no-jacobian", "one-sided"])
def test_the_card_adds_up(name):
    spec = BY_ID[name]
    header, arrays = decode(scenes.scene(spec))
    lines = {line["id"]: {k: arrays[v["array"]] for k, v in line["values"].items()} for line in header["readouts"]}
    shown = [lines["sum"][f"f{i}"] for i in range(len(FACTORS))]
    np.testing.assert_allclose(np.sum(shown, axis=0, dtype=float), lines["sum"]["r"], rtol=1e-4, atol=1e-4)
    for i, factor in enumerate(FACTORS):
        counted = np.where(lines[factor]["lost"] != 0, 0.0, lines[factor]["f"])
        np.testing.assert_array_equal(counted, shown[i])
    coin, alpha = lines["v"], lines["alpha"]
    np.testing.assert_array_equal(coin["v"] < alpha["a"], coin["ok"] != 0)
    np.testing.assert_allclose(alpha["la"], np.minimum(0.0, lines["sum"]["r"]))
    gone = lines["Jacobian"]["lost"].any(), lines["choice of the move"]["lost"].any()
    assert gone == (name == "no-jacobian", name == "one-sided")


def test_the_arrows_of_the_ledger_end_at_log_r():
    walk = analysis.walk(BY_ID["no-proposal"])
    np.testing.assert_allclose(scenes.running(walk)[:, -1], walk.jump.log_ratio, atol=1e-9)
    header, arrays = decode(scenes.scene(BY_ID["no-proposal"]))
    ledger = next(panel for panel in header["panels"] if panel["id"] == "ledger")
    assert [tick[1] for tick in ledger["y"]["ticks"]].count("proposal of u ✗") == 1
    crosses = [a for a in ledger["layers"] if a["kind"] == "points" and a["role"] == "divergent" and a["mask"] is not None]
    assert sum(int(arrays[layer["mask"]].any()) for layer in crosses) == 1


def test_the_bars_stand_beside_the_exact_ones():
    spec = BY_ID["no-end-points"]
    header, arrays = decode(scenes.scene(spec))
    layers = next(panel for panel in header["panels"] if panel["id"] == "shares")["layers"]
    counts, bars, rings = layers
    np.testing.assert_array_equal(arrays[counts["values"]], analysis.walk(spec).after - 1)
    np.testing.assert_allclose(arrays[bars["values"]], analysis.exact(spec), rtol=1e-6)
    np.testing.assert_allclose(arrays[rings["points"]][:, 1], analysis.limit(spec), rtol=1e-6)


def test_steps_of_the_means_stand_at_their_measurements():
    xs, designs = scenes.curves(OWN)
    np.testing.assert_array_equal(xs, [0.5, 3.5, 3.5, 6.5, 6.5, 9.5])
    np.testing.assert_array_equal(designs[1] @ [1.0, 2.0], [1, 1, 1, 1, 2, 2])


def test_a_dragged_measurement_is_read_in_order():
    event = {"kind": "points", "panel": "data", "points": [[2.0, 0.5, 0], [1.0, -0.25, 0]]}
    y = scenes.dragged(OWN, event)
    np.testing.assert_array_equal(y, [-0.25, 0.5])
    assert written(y) == "-0.25, 0.5"
    assert scenes.dragged(OWN, {"kind": "click", "panel": "data"}) is None


def test_a_wrong_sampler_is_shown_before_it_is_known_where_it_settles():
    spec, job, again = BY_ID["one-sided"].replace(seed=4711), Job(), Job()
    whole = scenes.grow(spec, job)
    assert whole == scenes.scene(spec) and len(job.blobs) == 1
    assert lacks(job.blobs[0], whole) == {"shares": {"divergent"}}
    assert scenes.grow(spec, again) == whole and not again.blobs
    exact = BY_ID["no-jacobian"].replace(seed=4711)
    assert scenes.grow(exact, again) == scenes.scene(exact) and not again.blobs, "a closed form takes no time"


# Panels and questions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["polynomial", "no-jacobian"])
def test_panels_say_what_they_show(name, monkeypatch):
    monkeypatch.setattr(panels, "SPREADS", (0.5, 1.5))
    figures = panels.panels(BY_ID[name], NEVER)
    assert len(figures) == 4 and all(figure.alt and figure.caption for figure in figures)
    table = panels.diagnostics_table(BY_ID[name], NEVER)
    assert table.columns["model"] == scenes.names(BY_ID[name])
    assert table.columns["deaths accepted"][0] == table.columns["births accepted"][-1] == "–"


@pytest.mark.parametrize("question,right", [("spread", 2), ("jacobian", 0), ("ends", 1)])
def test_the_runs_answer_as_the_story_says(question, right):
    asked = next(q for q in questions.QUESTIONS if q.id == question)
    spec = BY_ID[asked.scenario]
    assert asked.answer(spec) == right
    assert any(character.isdigit() for character in asked.explain(spec))


@pytest.mark.one_seed
def test_what_the_prose_says_of_the_wrong_samplers():
    lost = {name: analysis.long_shares(BY_ID[name]).mean - analysis.exact(BY_ID[name]) for name in BY_ID}
    assert analysis.long_shares(BY_ID["no-jacobian"]).rhat < 1.005, "and no diagnostic sees it"
    assert lost["no-jacobian"][0] > 0.2 and lost["no-proposal"][0] > 0.2, "the small model gains"
    assert lost["no-end-points"][1] > 0.1 and lost["one-sided"][1] > 0.1, "the middle gains"
    assert 1.0 / norm.pdf(0.0) == pytest.approx(2.5, abs=0.01), "1/q(u) is at least that"
    wide = BY_ID["split"].replace(prior_sd=20.0)
    assert analysis.exact(wide)[0] > analysis.exact(BY_ID["split"])[0] + 0.4, "a wide prior favours the small model"
    birth_from_prior = BY_ID["polynomial"].replace(spread=1.0, prior_sd=1.0)
    factors = dict(zip(FACTORS, analysis.walk(birth_from_prior).factors.T, strict=True))
    np.testing.assert_allclose(factors["parameter prior"] + factors["proposal density"], 0.0, atol=1e-12)


# Page -----------------------------------------------------------------------------------------------------------------


def test_own_measurements_with_a_mistake_keep_the_last_good_run():
    app = page("dimensions")
    box = app.text_input(key="dimensions/measurements/text")
    box.set_value("1, 2, 3, x, 5, 6").run()
    assert not app.exception and "number 4" in app.error[0].value
    app.text_input(key="dimensions/measurements/text").set_value(OWN.measurements).run()
    assert not app.exception and not app.error
    assert app.session_state["visit/dimensions"].spec.own
