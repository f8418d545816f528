"""The lesson on priors that learn: its numbers against formulas, its pictures, its verdicts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from app.kit.player.scene import decode
from datasets.relevance import six_inputs, six_inputs_at, wave
from engine.judge import overall, proofs
from engine.judge.plant import STUCK, planted
from engine.spec import SpecError
from lessons.priors import analysis, panels, questions, scenes
from lessons.priors.spec import SCENARIOS, PriorsLesson
from tests.lessons.pages import MOST_BYTES, NEVER, Job, page, verdicts

BY_ID = {scenario.id: scenario.spec for scenario in SCENARIOS}
LAYERS = BY_ID["layers"]


@pytest.mark.parametrize(
    "parameter,changes",
    [
        ("draws", {"draws": 401}),
        ("weights", {"weights": "own_mean"}),
        ("input", {"input": 2}),
        ("variant", {"weights": "fixed", "variant": "no_square"}),
        ("draws", {"points": 100, "width": 12, "data": "inputs", "warmup": 2000, "draws": 400}),
        ("look", {"look": "W3"}),
    ],
)
def test_a_wrong_setting_is_named(parameter, changes):
    with pytest.raises(SpecError) as error:
        PriorsLesson(**changes)
    assert error.value.parameter == parameter


# Data and runs --------------------------------------------------------------------------------------------------------


def test_the_data_are_as_told():
    curve, six = wave(200), six_inputs(200, seed=2)
    assert not ((curve.x > -0.4) & (curve.x < 0.6)).any(), "nothing in the gap"
    assert np.std(six.y - six_inputs_at(six.x)) == pytest.approx(0.2, rel=0.15)
    changed = six.x.copy()
    changed[:, 2:] = 0.0
    assert np.array_equal(six_inputs_at(changed), six_inputs_at(six.x)), "four inputs mean nothing"


def test_looking_otherwise_is_the_same_run():
    spec = BY_ID["inputs"]
    assert analysis.simulate(spec) is analysis.simulate(spec.replace(look="W2", input=4))
    assert analysis.simulate(spec) is not analysis.simulate(spec.replace(seed=99))


def test_families_and_members():
    spec = BY_ID["inputs"]
    labels, curve = spec.network().labels, LAYERS.network().labels
    assert [labels[j] for j in analysis.members(spec.replace(input=3))] == [f"W1[{k},3]" for k in range(1, 6)]
    assert [curve[j] for j in analysis.members(LAYERS.replace(look="b2"))] == ["b2[1]"]
    run = analysis.simulate(LAYERS)
    sds = analysis.family_sds(LAYERS, run.recording)[0]
    assert sds == pytest.approx(run.recording.precisions[0] ** -0.5), "one precision a layer is the family's own"


@pytest.mark.parametrize("variant", ["exact", "no_half_count", "no_square", "rate_as_scale"])
@pytest.mark.parametrize("weights", ["per_layer", "per_weight"])
def test_the_card_has_the_numbers_of_the_draw(variant, weights):
    """The precision recorded, at the distribution function of what the card says, is uniform."""
    spec = LAYERS.replace(weights=weights, variant=variant, draws=400)
    drawn = analysis.gibbs_draw(spec, analysis.simulate(spec))
    u = stats.gamma.cdf(drawn.tau, drawn.shape, scale=1.0 / drawn.rate)
    assert stats.kstest(u, "uniform").pvalue > 1e-4


def test_the_density_on_the_stage_is_that_of_the_draw():
    x = np.linspace(-6.0, 6.0, 4001)
    density = analysis.log_sd_density(x, np.array([2.5]), np.array([0.7]))[0]
    assert integrate.simpson(density, x=x) == pytest.approx(1.0, abs=1e-6)
    below = integrate.simpson(np.where(x <= 0.1, density, 0.0), x=x)
    assert below == pytest.approx(stats.gamma.sf(10.0**-0.2, 2.5, scale=1.0 / 0.7), abs=2e-3)


def test_the_prior_that_a_weight_sees():
    shared, own = questions.held(LAYERS)
    assert shared == pytest.approx(np.sqrt((1.0 + 0.5 * (16.0 + 11 * 0.01)) / 7.0))
    assert own == pytest.approx(np.sqrt(9.0 / 1.5))


# The picture ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BY_ID)
def test_the_message_is_small_and_holds_the_run(name):
    spec = BY_ID[name]
    blob = scenes.scene(spec, None)
    assert len(blob) < MOST_BYTES
    head, arrays = decode(blob)
    assert head["steps"] == spec.draws
    if spec.view == "watch":
        curves = analysis.functions(spec).curves.astype(np.float32)
        assert any(a.shape == curves.shape and np.array_equal(a, curves) for a in arrays)


def test_curves_are_the_network_of_the_draw():
    spec = BY_ID["inputs"]
    found, theta = analysis.functions(spec), analysis.simulate(spec).theta[7]
    (w1, b1), (w2, b2) = spec.network().unpack(theta)
    x = np.zeros((analysis.NODES, 6))
    x[:, 0] = found.x
    assert found.curves[7] == pytest.approx(np.tanh(x @ w1.T + b1) @ w2[0] + b2[0])


def test_every_look_has_its_picture():
    for look in ("W1", "b1", "W2", "b2"):
        for weights in ("fixed", "per_input", "per_weight"):
            head, _ = decode(scenes.scene(LAYERS.replace(look=look, weights=weights), None))
            assert [panel["id"] for panel in head["panels"]] == ["function", "funnel", "conditional", "bars"]


@pytest.mark.parametrize("name", ["layers", "inputs", "forgot-count"])
def test_the_first_sweeps_go_ahead_of_the_rest(name):
    spec, job, again = BY_ID[name].replace(seed=4711), Job(), Job()
    whole = scenes.grow(spec, job)
    (before, began), (after, ended) = decode(job.blobs[0]), decode(whole)
    assert whole == scenes.scene(spec, None) and len(job.blobs) == 1 and before["run"] == after["run"]
    assert before["steps"] == analysis.BEGINNING < before["total"] == after["steps"] == spec.draws and after["total"] is None
    placed = [[(panel["id"], panel["place"]) for panel in header["panels"]] for header in (before, after)]
    assert placed[0] == placed[1] and [line["id"] for line in before["readouts"]] == [line["id"] for line in after["readouts"]]
    for old, new in zip(before["table"], after["table"], strict=True):
        np.testing.assert_array_equal(began[old["values"]], ended[new["values"]][: before["steps"]], err_msg=old["name"])
    assert not any("band" in str(layer.get("labels")) for layer in before["panels"][0]["layers"]), "a few draws have none to show"
    assert scenes.grow(spec, again) == whole and not again.blobs


def test_the_first_prior_goes_ahead_of_the_others():
    spec, job, again = BY_ID["compare"].replace(seed=4711), Job(), Job()
    whole = scenes.grow(spec, job)
    (before, began), (after, ended) = decode(job.blobs[0]), decode(whole)
    assert whole == scenes.scene(spec, None) and len(job.blobs) == 1 and before["run"] == after["run"]
    first, *others = [bool(panel["layers"]) for panel in before["panels"]]
    assert first and not any(others) and all(panel["layers"] for panel in after["panels"])
    assert [panel["place"] for panel in before["panels"]] == [panel["place"] for panel in after["panels"]]
    np.testing.assert_array_equal(began[before["table"][0]["values"]], ended[after["table"][0]["values"]])
    assert scenes.grow(spec, again) == whole and not again.blobs


# Verdicts -------------------------------------------------------------------------------------------------------------


# What the signs say: kernel, this run, numbers. A prior's sd and its weights hold each other, so chains creep: whether
# they have agreed to a hundredth depends on the seed.
CREEPS = ("pass", "unknown")
VERDICTS = {
    "layers": ("pass", CREEPS, "unknown"),
    "own": ("pass", CREEPS, "unknown"),
    "inputs": ("pass", CREEPS, "unknown"),
    "compare": ("pass", CREEPS, "unknown"),
    "forgot-count": ("fail", ("fail",), "unknown"),
}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.id)
def test_the_signs_say(scenario):
    kernel, run, numbers = verdicts("priors", scenario.spec)
    wanted = VERDICTS[scenario.id]
    assert (kernel, numbers) == (wanted[0], wanted[2]) and run in wanted[1]


@pytest.mark.parametrize("weights", ["fixed", "per_weight"])
def test_right_sweeps_are_proven(weights):
    assert verdicts("priors", LAYERS.replace(weights=weights))[0] == "pass"


@pytest.mark.parametrize("variant", ["no_half_count", "no_square", "rate_as_scale"])
def test_wrong_draws_are_red(variant):
    assert verdicts("priors", LAYERS.replace(variant=variant))[0] == "fail"


@pytest.mark.parametrize("fault", ["no_half_count", "no_square", "aliased_momentum", "data_twice", "data_ignored"])
def test_a_fault_in_the_kernel_is_seen(fault):
    (kernel,) = analysis.kernels(LAYERS)
    assert overall(proofs(kernel.planted(fault), 0)) == "fail"


def test_a_chain_that_stands_still_has_not_converged():
    with planted(STUCK):
        assert analysis.checks(LAYERS, NEVER)[0].verdict == "fail"


# What is said ---------------------------------------------------------------------------------------------------------


def test_answers_come_from_the_runs():
    found = {question.id: question.answer(BY_ID[question.scenario]) for question in questions.QUESTIONS}
    assert found == {"held": 1, "inputs": 2, "forgot": 2}
    assert questions.relevance(BY_ID["inputs"], "per_layer") == pytest.approx(1.0), "a layer's τ tells no input apart"


def test_the_gap_is_where_the_priors_differ():
    found = [analysis.functions(BY_ID["compare"], weights) for weights in scenes.priors_of(LAYERS)]
    widths = np.array([f.band[1] - f.band[0] for f in found])
    at_data = np.abs(found[0].x - LAYERS.values().x).min(axis=0) < 0.1
    spread = widths.max(axis=0) - widths.min(axis=0)
    assert np.median(spread[at_data]) < 0.5 * spread[[0, -1]].mean()


def test_panels_and_diagnostics():
    shown = panels.panels(LAYERS, NEVER)
    titles = [item.title for item in shown]
    assert titles[1:3] == ["What each prior has learned", "How well each prior predicts"] and "Which points decide?" in titles
    table = panels.diagnostics(LAYERS, NEVER)
    assert len(table.columns["quantity"]) == len(table.columns["R-hat"]) == 3 + 4 + 1


def test_a_hostile_query_is_named():
    app = page("priors", v="1", weights="own_mean")
    assert not app.exception and any("weights" in message.value for message in (*app.error, *app.warning))
