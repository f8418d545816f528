"""The lesson on label switching: symmetries, sorting, R-hat, quadrature, verdicts, what is sent to the browser."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from app.kit import badge
from app.kit.player.scene import decode
from engine.diagnostics import split_rhat
from engine.judge import proofs
from engine.judge.plant import STUCK, planted
from engine.networks import symmetry
from engine.networks.quadrature import Mixture
from engine.spec import SpecError
from lessons.weight_space import analysis, panels, questions, scenes
from lessons.weight_space.spec import BY_ID, SWITCH, TWO_HUMPS, UNMIXED, WeightSpaceSpec
from tests.lessons.pages import MOST_BYTES, NEVER, Job, page, verdicts

SMALL = WeightSpaceSpec(draws=60, warmup=60, chains=2)
XOR = SMALL.replace(data="xor", units=3)


def some_draws(spec: WeightSpaceSpec, n: int = 40) -> np.ndarray:
    return analysis.network_of(spec).prior_draws(n, seed=5)


@pytest.mark.parametrize(
    "parameter,changes",
    [
        ("units", {"units": 5}),
        ("first", {"first": "w3"}),
        ("first", {"first": "u1"}),
        ("second", {"second": "w1"}),
        ("chain", {"chain": 3, "chains": 2}),
        ("points", {"points": ((3.0, 0.0, 0),)}),
        ("symmetry", {"symmetry": "rotate"}),
    ],
)
def test_a_wrong_setting_is_named(parameter, changes):
    with pytest.raises(SpecError) as error:
        WeightSpaceSpec(**changes)
    assert error.value.parameter == parameter


def test_looking_otherwise_is_the_same_run():
    other = SMALL.replace(order="bend", symmetry="flip", first="v1", view="predictive", draws=50)
    assert np.array_equal(analysis.draws_of(other), analysis.draws_of(SMALL)[:, :50])
    assert np.shares_memory(analysis.draws_of(other), analysis.draws_of(SMALL))


def test_the_chains_are_those_of_the_engine():
    posterior = analysis.network_of(SMALL).posterior(*analysis.data_of(SMALL))
    settings = {"max_depth": analysis.MAX_DEPTH, "target_accept": analysis.TARGET_ACCEPT}
    run = engine.sample(posterior, "nuts", chains=2, draws=60, warmup=60, seed=1, **settings)
    assert np.array_equal(run.draws, analysis.draws_of(SMALL))


# Symmetries -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", [SMALL, XOR, SMALL.replace(units=4), SMALL.replace(activation="relu", units=3)])
def test_units_and_back(spec):
    net, draws = analysis.network_of(spec), some_draws(spec)
    assert np.array_equal(symmetry.as_draws(*symmetry.by_unit(net, draws)), draws)
    for name, column in zip(spec.weights, analysis.order_of(spec), strict=True):
        kind, unit = ("c", "") if name == "c" else (name[0], name[1:])
        first = "W2[1," if kind == "v" else "W1[" if kind in "wu" else "b2[1]" if kind == "c" else "b1["
        label = net.labels[column]
        assert label.startswith(first) and (unit in label)


def test_the_shadows_are_the_copies_seen_in_the_plane():
    spec = SMALL.replace(units=3)
    net, theta = analysis.network_of(spec), some_draws(spec, 1)
    made = np.concatenate([symmetry.act(net, theta, *element) for element in symmetry.elements(net)])
    for names, count in ((("w1", "w2"), 24), (("w1", "v1"), 6), (("b2", "c"), 6)):
        found = symmetry.shadows(net, theta, *(analysis.place_of(spec, name) for name in names))[:, 0]
        columns = [analysis.column(spec, name) for name in names]
        assert len(found) == count and np.allclose(found[0], theta[0, columns])
        assert {tuple(p) for p in found.round(10)} == {tuple(p) for p in made[:, columns].round(10)}


# The signs ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def draws() -> np.ndarray:
    return analysis.draws_of(SWITCH)


@pytest.mark.parametrize("kind", ["permute", "flip", "random"])
def test_a_symmetry_passes(draws, kind):
    assert analysis.symmetry_check(SWITCH.replace(symmetry=kind), draws).verdict == "pass"


@pytest.mark.parametrize(
    "changes",
    [
        {"symmetry": "flip", "mistake": "forget_bias"},
        {"symmetry": "permute", "mistake": "forget_output"},
        {"symmetry": "random", "mistake": "forget_bias"},
        {"symmetry": "flip", "activation": "relu"},
    ],
)
def test_what_is_no_symmetry_fails(draws, changes):
    check = analysis.symmetry_check(SWITCH.replace(**changes), draws)
    assert check.verdict == "fail" and "no symmetry" in check.sentence


def test_a_mistake_that_changes_nothing_is_never_a_pass():
    spec = UNMIXED.replace(symmetry="permute", mistake="forget_bias")
    assert analysis.symmetry_check(spec, analysis.draws_of(spec)).verdict == "unknown"


# What the signs say: kernel, this run, numbers.
VERDICTS = {
    "switch": ("pass", "pass", "unknown"),
    "four-units": ("pass", "pass", "unknown"),
    "sorted": ("pass", "pass", "unknown"),
    "sorted-badly": ("pass", "pass", "unknown"),  # the sampler and the function are right, the rule is not
    "forgot-bias": ("fail", "pass", "unknown"),
    "xor": ("pass", "fail", "unknown"),
    "two-humps": ("pass", "pass", "pass"),
    "unmixed": ("pass", "fail", "unknown"),
}


@pytest.mark.parametrize("scenario", BY_ID)
def test_the_signs_say(scenario):
    assert verdicts("weight-space", BY_ID[scenario]) == VERDICTS[scenario]


# Each check, and a fault that turns it red.


@pytest.mark.parametrize("fault", ["aliased_momentum", "prior_forgotten", "data_twice", "data_ignored"])
def test_a_fault_in_the_kernel_is_seen(fault):
    (kernel,) = analysis.kernels(SWITCH)
    assert badge.overall(proofs(kernel.planted(fault), 0)) == "fail"


def test_a_chain_that_stands_still_has_not_converged():
    with planted(STUCK):
        assert analysis.checks(SWITCH, NEVER)[0].verdict == "fail"


def test_a_biased_prediction_fails(monkeypatch):
    real = Mixture.expectation.fget
    monkeypatch.setattr(Mixture, "expectation", property(lambda self: real(self) + 0.1))
    assert analysis.checks(TWO_HUMPS, NEVER)[-1].verdict == "fail"


def test_a_cancelled_check_stops():
    class Cancelled:
        def is_set(self) -> bool:
            return True

    with pytest.raises(InterruptedError):
        analysis.checks(SMALL.replace(seed=77), Cancelled())


# R-hat, quadrature, verdicts ------------------------------------------------------------------------------------------


def test_rhat_along_the_run_ends_with_that_of_the_run():
    values = np.random.default_rng(1).normal(size=(3, 51, 2)).cumsum(axis=1)
    running = analysis.running_rhat(values, values.shape[1])
    assert np.isnan(running[: analysis.FEWEST - 1]).all() and np.array_equal(running[-1], split_rhat(values))


def test_a_grid_that_is_too_coarse_is_not_believed():
    assert analysis.exact_prediction(TWO_HUMPS.replace(noise_sd=0.05, prior_sd=10.0), 0.0) is None
    assert analysis.exact_prediction(SWITCH) is None


def test_verdicts():
    rng = np.random.default_rng(2)
    both = np.where(rng.random((4, 400)) < 0.5, -1.0, 1.0) + 0.2 * rng.normal(size=(4, 400))
    apart = np.repeat([[-1.0], [1.0], [1.0], [-1.0]], 400, axis=1) + 0.2 * rng.normal(size=(4, 400))
    assert analysis.prediction(both).verdict == "uncertainty"
    assert analysis.prediction(apart).verdict == "unmixed"
    assert analysis.prediction(rng.normal(size=(4, 400))).verdict == "one_hump"


# What the lesson says -------------------------------------------------------------------------------------------------


@pytest.mark.one_seed
def test_the_four_chains_sit_in_four_corners(draws):
    seen = np.sign(draws[..., [analysis.column(SWITCH, name) for name in ("w1", "w2")]])
    assert (seen == seen[:, :1]).all() and len(np.unique(seen[:, 0], axis=0)) == 4


@pytest.mark.one_seed
def test_the_runs_answer_as_the_story_says():
    right = {"screams": 0, "forgotten": 2, "later": 1}
    for question in questions.QUESTIONS:
        spec = BY_ID[question.scenario]
        assert question.answer(spec) == right[question.id]
        assert any(character.isdigit() for character in question.explain(spec))


def test_sorting_helps_r_hat_and_only_one_rule_gives_units_a_meaning():
    found = analysis.study(SWITCH, NEVER)
    worst = {rule: summary.rhat.max() for rule, summary in found.sorted.items()}
    assert worst["none"] > 1.5 and worst["output"] < 1.01 and worst["bend"] < 1.01
    mean = analysis.function_at(SWITCH, found.draws[:, ::8], analysis.GRID).mean(axis=(0, 1))
    net, off = analysis.network_of(SWITCH), {}
    for rule in worst:
        weights = symmetry.ordered(net, found.draws, rule).mean(axis=(0, 1))
        off[rule] = np.abs(analysis.function_at(SWITCH, weights[None], analysis.GRID)[0] - mean).max()
    assert off["bend"] < 0.5 * off["output"] and off["bend"] < 0.5 * off["none"]


def test_spare_units_make_paths_between_the_copies():
    two, four = (analysis.study(BY_ID[name], NEVER) for name in ("switch", "four-units"))
    assert four.weights.rhat.max() < 1.1 < 1.5 < two.weights.rhat.max()
    assert symmetry.copies(analysis.network_of(BY_ID["four-units"])) == 384


def test_xor_disagrees_in_function_space():
    assert analysis.study(BY_ID["xor"], NEVER).functions.rhat.max() > 1.1


def test_one_prediction_is_uncertainty_and_one_is_unmixed():
    for spec, verdict in ((TWO_HUMPS, "uncertainty"), (UNMIXED, "unmixed")):
        values = analysis.function_at(spec, analysis.draws_of(spec), np.array([spec.at]))[..., 0]
        assert analysis.prediction(values).verdict == verdict
    truth = analysis.exact_prediction(UNMIXED)
    assert truth is not None and truth.share_above(-0.45) < 0.01


# Scenes, panels, page -------------------------------------------------------------------------------------------------


def layer(header: dict, panel: str, label: str) -> dict:
    found = next(p for p in header["panels"] if p["id"] == panel)["layers"]
    return next(one for one in found if label in str(one.get("label") or one.get("labels")))


@pytest.mark.parametrize("name", BY_ID)
def test_scenes_are_small(name):
    blob = scenes.scene(BY_ID[name])
    assert len(blob) < MOST_BYTES and decode(blob)[0]["steps"] == BY_ID[name].draws


@pytest.mark.parametrize(
    "changes",
    [
        {"units": 4, "draws": 400, "chains": 6, "warmup": 60},
        {"view": "predictive", "draws": 400, "chains": 6, "warmup": 60},
        {"data": "points", "points": ()},
        {"data": "points", "points": ((0.0, 1.0, 0),), "view": "predictive", "units": 1, "second": "b1"},
        {"data": "xor", "view": "predictive"},
        {"data": "xor", "activation": "relu", "symmetry": "flip"},
    ],
)
def test_other_scenes_are_small_too(changes):
    assert len(scenes.scene(SMALL.replace(**changes))) < MOST_BYTES


@pytest.mark.parametrize("name,seed", [("switch", 4711), ("four-units", 4711), ("sorted", 4712)])  # those share no chains
def test_the_first_draws_of_a_walk_go_ahead_of_the_rest(name, seed):
    spec, job, again = BY_ID[name].replace(seed=seed), Job(), Job()
    whole = scenes.grow(spec, job)
    (before, began), (after, ended) = decode(job.blobs[0]), decode(whole)
    assert whole == scenes.scene(spec) and len(job.blobs) == 1 and before["run"] == after["run"]
    assert before["start"] == after["start"] == before["steps"] - 1, "the player stands where it would"
    assert before["steps"] < before["total"] == after["steps"] and after["total"] is None
    placed = [[(panel["id"], panel["place"]) for panel in header["panels"]] for header in (before, after)]
    assert placed[0] == placed[1] and [line["id"] for line in before["readouts"]] == [line["id"] for line in after["readouts"]]
    for old, new in zip(before["table"], after["table"], strict=True):
        np.testing.assert_array_equal(began[old["values"]], ended[new["values"]][: before["steps"]], err_msg=old["name"])
    assert scenes.grow(spec, again) == whole and not again.blobs


def test_the_scene_shows_the_copy_and_its_density_digit_by_digit():
    header, arrays = decode(scenes.scene(SMALL))
    made = analysis.copied(SMALL, analysis.draws_of(SMALL)[0])
    before, after = (arrays[layer(header, "function", label)["ys"]] for label in ("f of this draw", "f of the copy"))
    assert np.allclose(before, after, atol=1e-6)
    assert np.allclose(before, analysis.function_at(SMALL, made.before, analysis.GRID), atol=1e-5)
    line = next(line for line in header["readouts"] if line["id"] == "after")
    values = {name: arrays[value["array"]] for name, value in line["values"].items()}
    for t in (0, 31, 59):
        digits = "".join(str(values[f"d{i}"][t]) for i in range(scenes.DECIMALS))
        text = f"{'-' if values['minus'][t] else ''}{values['whole'][t]}.{digits}"
        assert text == f"{made.log_density_after[t]:.{scenes.DECIMALS}f}"


def test_a_click_moves_x_and_points_become_the_data():
    moved = scenes.on_event(TWO_HUMPS, {"kind": "click", "panel": "function", "x": 9.0, "y": 0.0})
    assert moved is not None and moved.at == 2.0
    placed = scenes.on_event(SMALL, {"kind": "points", "panel": "function", "points": [[0.1234, -7.0, 0]]})
    assert placed is not None and placed.data == "points" and placed.points == ((0.123, -2.0, 0),)
    assert scenes.on_event(SMALL, {"kind": "click", "panel": "plane", "x": 0.0, "y": 0.0}) is None


def test_panels_say_what_they_show():
    for spec, card in ((SWITCH, 4), (UNMIXED, 0)):  # on points left out and data drawn anew
        made = panels.panels(spec, NEVER)
        assert len(made) == 3 + card and all(figure.alt and figure.caption for figure in made[:3])
    table = panels.diagnostics(SWITCH, NEVER)
    assert [float(value) < 1.01 for value in table.columns["largest R-hat"]] == [False, True, True, True]


def test_fewer_units_than_the_plane_shows_are_refused_with_a_reason():
    app = page("weight-space")
    app.number_input(key="weight-space/units/box").set_value(1).run()
    assert not app.exception and any("w2" in error.value for error in app.error)


def test_a_wrong_link_is_named_and_the_page_still_works():
    app = page("weight-space", v="1", units="9", order="best")
    text = " ".join(warning.value for warning in app.warning)
    assert "units" in text and "order" in text and not app.exception
