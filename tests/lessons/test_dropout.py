"""The dropout lesson: its sums over masks against closed forms, its signs and its claims, its picture."""

from __future__ import annotations

import itertools
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import kstest

from app.kit.player.scene import decode, levels
from datasets.images import Images
from engine.judge import overall, proofs, training
from engine.judge.plant import STUCK, planted
from engine.networks.predictive import outputs
from engine.spec import SpecError
from engine.variational.dropout import Dropout
from lessons.dropout import analysis, digit_panels, digits, panels, scenes
from lessons.dropout.questions import QUESTIONS, ratios, shout
from lessons.dropout.spec import SCENARIOS, DropoutSpec
from lessons.families.digit_posteriors import sources
from tests.lessons.pages import MOST_BYTES, NEVER, Job, goes_on_from_disk, in_view, page, says, verdicts

BY_ID = {scenario.id: scenario.spec for scenario in SCENARIOS}
GAP, XOR = BY_ID["passes"], BY_ID["xor"]


@pytest.mark.parametrize(
    "parameter,changes",
    [
        ("points", {"data": "points", "points": ((0.0, 0.0, 0),)}),
        ("points", {"data": "points", "points": ((0.0, 0.0, 0), (9.0, 0.0, 0))}),
        ("points", {"points": ((0.0, 0.0, 1),)}),
        ("probe", {"data": "xor", "probe": 2.0}),
        ("keep", {"keep": 0.0}),
        ("units", {"units": 13}),
        ("scaling", {"scaling": "sqrt"}),
        ("images", {"images": "letters"}),
        ("hidden", {"hidden": 5}),
        ("number", {"data": "digits", "number": 450}),
    ],
)
def test_a_wrong_setting_is_named(parameter, changes):
    with pytest.raises(SpecError) as error:
        DropoutSpec(**changes)
    assert error.value.parameter == parameter


# Every mask -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", [GAP, XOR, BY_ID["unscaled"]], ids=["gap", "xor", "unscaled"])
def test_mean_and_sd_over_the_masks_are_those_of_the_closed_form(spec):
    at, here, keep = analysis.places(spec), analysis.weights(spec), spec.keep
    found = analysis.over_masks(spec, at, raw=True)
    parts = np.tanh(at @ here.hidden + here.hidden_bias) * here.output * analysis.factor(spec, keep)
    np.testing.assert_allclose(found.mean, here.bias + keep * parts.sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(found.sd, np.sqrt(keep * (1 - keep) * (parts**2).sum(axis=1)), atol=1e-7)
    assert found.masks == 2**spec.units


def test_a_dropped_input_is_counted_too():
    spec = BY_ID["concrete"]
    at, here, (first, second) = np.array([[0.7]]), analysis.weights(spec), analysis.keeps(spec)
    mean, square, total = 0.0, 0.0, 0.0
    for masks in itertools.product((0, 1), repeat=1 + spec.units):
        chance = first ** masks[0] * (1 - first) ** (1 - masks[0])
        kept = sum(masks[1:])
        chance *= second**kept * (1 - second) ** (spec.units - kept)
        hidden = np.tanh(0.7 * masks[0] / first * here.hidden[0] + here.hidden_bias) * np.array(masks[1:]) / second
        value = float(hidden @ here.output + here.bias)
        mean, square, total = mean + chance * value, square + chance * value**2, total + chance
    found = analysis.over_masks(spec, at, raw=True)
    assert total == pytest.approx(1.0) and first < 1.0
    assert found.mean[0] == pytest.approx(mean) and found.sd[0] == pytest.approx(np.sqrt(square - mean**2))


@pytest.mark.parametrize("activation", ["tanh", "relu", "sigmoid", "linear", "elu"])
def test_the_lessons_network_is_the_engines(activation):
    spec = GAP.replace(activation=activation, steps=100)
    layers = analysis.fit(spec).expected_weights()
    theta = np.concatenate([np.concatenate([w[:-1].T.ravel(), w[-1]]) for w in layers]).astype(float)
    engine = outputs(analysis.model(spec), theta[None], analysis.places(spec))[0, :, 0]
    np.testing.assert_allclose(analysis.switched_off(spec, analysis.places(spec)), engine, atol=1e-9)


def test_the_floor_holds_for_every_number_of_points():
    for rows in analysis.ROWS:
        spec = GAP.replace(rows=rows)
        assert (analysis.everywhere(spec).sd >= analysis.floor(spec, analysis.places(spec)) - 1e-9).all()


@pytest.mark.parametrize("scaling", ["inverse", "none"])
def test_weight_decay_is_the_engines(scaling):
    """The penalty in the training's KL, over n / s² of the mean squared error: λ |w|²."""
    spec = GAP.replace(scaling=scaling, keep=0.7, steps=100)
    posterior, here = analysis.fit(spec).posterior, analysis.weights(spec)
    entropy = -spec.units * (0.7 * np.log(0.7) + 0.3 * np.log(0.3))
    squares = (here.output**2).sum(), (here.hidden**2).sum() + (here.hidden_bias**2).sum() + here.bias**2
    penalty = sum(rate * size for rate, size in zip(analysis.weight_decay(spec), squares, strict=True))
    assert posterior.kl() + entropy == pytest.approx(penalty * spec.rows / spec.noise_sd**2, rel=1e-5)


def test_training_climbs_what_the_formula_says():
    """At the end no small change of the weights raises the expected log density, summed over the masks, by much."""
    spec = GAP.replace(steps=3000)
    x, y = analysis.data(spec)
    trained = analysis.weights(spec)

    def objective(theta: np.ndarray) -> float:
        k = spec.units
        hidden, bias, output, last = theta[:k], theta[k : 2 * k], theta[2 * k : 3 * k], theta[3 * k]
        parts = np.tanh(x * hidden + bias) * output
        error = (y - last - parts.sum(axis=1)) ** 2 + (1 / spec.keep - 1) * (parts**2).sum(axis=1)
        squares = (output**2).sum() / spec.keep + (hidden**2).sum() + (bias**2).sum() + last**2
        return -0.5 * error.sum() / spec.noise_sd**2 - 0.5 * squares / spec.prior_sd**2

    theta = np.concatenate([trained.hidden[0], trained.hidden_bias, trained.output, [trained.bias]])
    from scipy.optimize import minimize

    best = minimize(lambda at: -objective(at), theta, options={"maxiter": 200})
    assert -best.fun - objective(theta) < 0.02 * abs(objective(theta))
    assert np.abs(best.x - theta).max() < 0.5


@pytest.mark.one_seed
def test_the_heaps_are_told_where_they_are():
    spec = BY_ID["few-masks"]
    share, values = analysis.at_probe(spec)
    low, high, below = analysis.widest_gap(share, values)
    assert len(share) == 8 and not ((values > low) & (values < high)).any()
    assert share[values <= low].sum() == pytest.approx(below) and high - low > 0.4
    assert low < share @ values < high, "the average is where no network goes"
    study = analysis.study(spec, NEVER)
    drawn = analysis.posterior_values(spec, study.recording, analysis.probe(spec))
    assert ((drawn > low) & (drawn < high)).mean() > 0.3, "and the posterior does"


# The signs ------------------------------------------------------------------------------------------------------------

# NUTS agrees with itself; whether its R-hat is below 1.01 with so few draws, and how much of the rise of a noisy ELBO
# falls into the last quarter, is chance in part: "not fail" where a seed may end between the limits.
VERDICTS = {name: ("fail" if name == "unscaled" else "pass", "not fail", "unknown") for name in BY_ID}


@pytest.mark.parametrize("name", list(BY_ID))
def test_the_signs(name):
    found = verdicts("dropout", BY_ID[name])
    assert says(found, VERDICTS[name]), found


def audited(spec):
    return {check.name: check.verdict for check in analysis.audit(spec, NEVER)}


def test_forgetting_1_over_p_is_red():
    right = {"scaling": "pass", "masks": "pass", "training gradient": "pass"}
    assert audited(GAP) == right and audited(analysis.faults(GAP)["1/p forgotten"]) == right | {"scaling": "fail"}
    assert analysis.faults(BY_ID["unscaled"]) == {}


@pytest.mark.parametrize("fault", ["aliased_momentum", "prior_forgotten", "data_twice"])
def test_a_wrong_kernel_is_red(fault):
    (kernel,) = analysis.kernels(BY_ID["few-masks"])
    assert overall(proofs(kernel.planted(fault), 1)) == "fail"


def test_a_gradient_that_differs_from_the_formula_is_red(monkeypatch):
    monkeypatch.setattr(training, "_precision", lambda posterior: 1.5 / posterior.prior_sd**2)
    assert audited(GAP)["training gradient"] == "fail"
    monkeypatch.undo()
    monkeypatch.setattr(training, "_slope", lambda kind, z: np.ones_like(z))
    assert audited(GAP)["training gradient"] == "fail"


@pytest.mark.long
def test_the_p_values_of_the_masks_are_uniform(monkeypatch):
    """Over seeds, of the first look; KS at a level of 1e-4."""
    monkeypatch.setattr(analysis, "two_looks", lambda look: look(1, 1))
    trained = analysis.fit(GAP)
    monkeypatch.setattr(analysis, "fit", lambda spec: trained)
    monkeypatch.setattr(analysis, "CHECKED", 1000)
    p = [analysis._mask_check(GAP.replace(seed=seed)).p for seed in range(150)]
    assert kstest(p, "uniform").pvalue > 1e-4


def test_a_training_that_stands_still_and_a_stuck_chain_have_not_converged():
    assert analysis.checks(BY_ID["xor"].replace(steps=100), NEVER)[0].verdict == "unknown"
    with planted(STUCK):
        found = {check.name: check.verdict for check in analysis.checks(GAP, NEVER)}
    assert found["training at rest"] == found["chains of NUTS agree"] == "fail"


def test_forgetting_it_where_nothing_is_dropped_is_never_a_pass():
    spec = GAP.replace(scaling="none", keep=1.0, steps=100)
    assert analysis._scaling_check(spec).verdict == "unknown"


@pytest.mark.parametrize("changes", [{"keep": 1.0}, {"keep": 0.1, "units": 1}, {"activation": "linear", "rows": 4}])
def test_the_edges_of_the_settings_have_a_picture_and_no_failure(changes):
    spec = GAP.replace(steps=100, **changes)
    assert decode(scenes.scene(spec))[0]["steps"] == spec.passes
    assert set(audited(spec).values()) == {"pass"}


def test_masks_with_another_keep_probability_are_red(monkeypatch):
    right = Dropout.sample

    def wrong(self, rng):
        logits, self.logits = self.logits, self.logits - 0.4
        try:
            return right(self, rng)
        finally:
            self.logits = logits

    monkeypatch.setattr(Dropout, "sample", wrong)
    assert analysis._mask_check(GAP).verdict == "fail"


def test_a_stopped_check_claims_nothing():
    stopped = SimpleNamespace(is_set=lambda: True)
    spec = GAP.replace(seed=77, steps=100)
    assert [check.kind for check in analysis.checks(spec, stopped)] == ["run"]
    assert panels.panels(spec, stopped) == []


# Claims ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("question,right", [("where", 1), ("shout", 2), ("more-data", 2), ("learned", 2)])
def test_the_questions_are_answered_from_the_run(question, right):
    asked = next(q for q in QUESTIONS if q.id == question)
    assert asked.answer(BY_ID[asked.scenario]) == right
    assert asked.explain(BY_ID[asked.scenario])


def test_the_band_is_too_wide_at_the_data_and_too_narrow_in_the_gap():
    at, gap = np.mean([ratios(GAP.replace(seed=seed)) for seed in range(1, 7)], axis=0)  # data and training are others
    assert at > 1.2 and gap < 0.5


def test_without_scaling_the_mean_network_shouts():
    assert shout(BY_ID["unscaled"]) == pytest.approx(1 / 0.6) and shout(GAP) == pytest.approx(1.0)


def test_more_data_shrinks_the_posterior_and_not_dropout():
    sweep = analysis.data_sweep(GAP, NEVER)
    assert sweep.posterior[-1] < 0.5 * sweep.posterior[0] and sweep.dropout[-1] > 0.6 * sweep.dropout[0]
    assert (sweep.dropout > sweep.floor).all() and (sweep.error < 0.1 * sweep.posterior).all()


def test_a_learned_p_goes_up_with_the_data():
    few, many = (analysis.keeps(BY_ID["concrete"].replace(rows=rows))[1] for rows in (10, 80))
    assert few < many and many > 0.99


def test_the_error_of_an_sd_covers_its_scatter():
    rng = np.random.Generator(np.random.SFC64(0))
    values = rng.standard_normal((200, 4, 200, 1))
    errors = np.array([panels.chain_error(v) for v in values])
    sds = np.array([v.std() for v in values[:, :, :, 0]])
    assert np.sqrt((errors**2).mean()) == pytest.approx(sds.std(), rel=0.2)


# The picture ----------------------------------------------------------------------------------------------------------


def _layer(header, panel, kind):
    found = next(p for p in header["panels"] if p["id"] == panel)
    return next(layer for layer in found["layers"] if layer["kind"] == kind)


@pytest.mark.parametrize("name", [name for name in BY_ID if name != "digits"])
def test_the_scene_draws_the_passes(name):
    spec = BY_ID[name]
    blob = scenes.scene(spec)
    assert len(blob) < MOST_BYTES and blob == scenes.scene(spec)
    header, arrays = decode(blob)
    passes = analysis.passes(spec)
    assert header["steps"] == spec.passes
    drawn = _layer(header, "network", "network")
    there = arrays[drawn["active"]]
    np.testing.assert_array_equal(there[:, spec.inputs : -1], passes.units)
    np.testing.assert_allclose(arrays[drawn["weights"]], passes.theta, rtol=1e-6)
    values = arrays[_layer(header, "value", "histogram")["values"]]
    np.testing.assert_allclose(values, outputs(analysis.model(spec), passes.theta, analysis.probe(spec))[:, 0, 0], 1e-5)


def test_a_pass_is_the_sum_on_its_card():
    passes, here = analysis.passes(GAP), analysis.weights(GAP)
    parts = np.tanh(analysis.probe(GAP) @ here.hidden + here.hidden_bias) * here.output
    np.testing.assert_allclose(passes.at_probe, here.bias + (passes.units * parts).sum(axis=1) / GAP.keep, atol=1e-5)


@pytest.mark.parametrize("name", ["passes", "xor"])
def test_the_live_run_puts_the_posterior_beside_it(name):
    spec = BY_ID[name]
    job = Job()
    last = scenes.live(spec)(job)
    assert job.reports[-1][0] == job.reports[-1][1] and len(last) < MOST_BYTES
    header, arrays = decode(last)
    study = analysis.study(spec, NEVER)
    if spec.classifies:
        frames = arrays[_layer(header, "sd-posterior", "heatmap")["frames"]]
        np.testing.assert_array_equal(frames[0], scenes.levels(study.sd, scenes.WORST_SD))
    else:
        lines = next(p for p in header["panels"] if p["id"] == "sd")["layers"]
        np.testing.assert_allclose(arrays[lines[-1]["ys"]], study.sd, rtol=1e-5)


def test_panels_and_diagnostics_name_the_numbers():
    found = {panel.title: panel for panel in panels.panels(XOR, NEVER)}
    table = found["Its sd beside the posterior's"].columns
    ratio = analysis.everywhere(XOR).sd[analysis.regions(XOR)["at the data"]].mean() / table["posterior"][0]
    assert table["dropout / posterior"][0].startswith(f"{ratio:.2g}")
    assert "p slid" in found and "More data" not in found
    diagnostics = panels.diagnostics(XOR, NEVER)
    assert len(diagnostics.columns["R-hat"]) == len(analysis.watched(XOR))


def test_an_own_point_moves_the_curve():
    own = BY_ID["own-points"]
    app = page("dropout", scenario="own-points")
    assert not app.exception and app.session_state["visit/dropout"].spec == own
    moved = own.replace(points=(*own.points, (0.0, -2.0, 0)))
    at = np.array([[0.0]])
    assert analysis.switched_off(moved, at)[0] < analysis.switched_off(own, at)[0] - 0.2


@pytest.mark.parametrize("query", [{"keep": "2"}, {"units": "40"}, {"points": "1,2"}, {"probe": "nan"}])
def test_a_hostile_link_is_told(query):
    app = page("dropout", v="1", **query)
    assert not app.exception
    assert any(next(iter(query)) in message.value for message in [*app.error, *app.warning])


# Digits ---------------------------------------------------------------------------------------------------------------

DIGITS = DropoutSpec(data="digits", hidden=20, keep=0.8, number=11)
LARGE = DIGITS.replace(images="mnist")


def _panels_by_id(blob: bytes) -> tuple[dict, dict, list]:
    header, arrays = decode(blob)
    return header, {panel["id"]: panel["layers"] for panel in header["panels"]}, arrays


def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short training on the few images that stand for MNIST."""
    monkeypatch.setattr(digits, "LARGE", {**digits.LARGE, "epochs": 200, "step_size": 0.01})


def test_what_the_digits_do_not_read_is_kept_and_ignored():
    mixed = DIGITS.replace(units=3, probe=1.0, passes=10, rows=40, activation="sigmoid", number=2)
    assert digits.learning(mixed) is digits.learning(DIGITS)
    assert digits.learning(DIGITS.replace(hidden=21)) is not digits.learning(DIGITS)
    assert analysis.kernels(mixed) == [] and scenes.live(mixed) is None


def test_other_links_keep_the_name_of_their_run():
    """The fields of the digits came later, and the small networks do not read them."""
    run = decode(scenes.scene(GAP.replace(hidden=30)))[0]["run"]
    assert run == decode(scenes.scene(GAP))[0]["run"] and run.endswith("seed=1)") and "images" not in run


@pytest.mark.parametrize("scaling,keep", [("inverse", 0.8), ("none", 0.6)])
def test_moments_over_all_masks_are_those_of_masks_that_are_counted(scaling, keep):
    rng = np.random.Generator(np.random.SFC64(4))
    parts, spec = rng.standard_normal((3, 6)), DropoutSpec(scaling=scaling, keep=keep)
    found = digits.over_masks(parts, 0.7, keep, analysis.factor(spec, keep))
    every, share = analysis.masks(6, keep)
    values = 0.7 + analysis.factor(spec, keep) * parts @ every.T
    mean = values @ share
    away = values - mean[:, None]
    assert found.mean == pytest.approx(mean) and found.sd == pytest.approx(np.sqrt(away**2 @ share))
    assert found.third == pytest.approx(away**3 @ share) and found.fourth == pytest.approx(away**4 @ share)
    assert (found.floor <= found.sd + 1e-12).all()
    alike = digits.over_masks(np.full(6, 0.3), 0.0, keep, 1.0)
    assert alike.floor == pytest.approx(alike.sd), "units that say the same reach the floor"


def test_passes_are_those_by_which_the_engine_predicts():
    fit, (x, digit) = digits.ended(DIGITS).fit, digits.image_of(DIGITS)
    passes = digits.passes(fit, x, 30, 5)
    predicted = fit.predict(x, "MA", samples=30, seed=5)
    assert passes.draws == pytest.approx(predicted.draws[:, 0], abs=1e-6) and digit == sources.images("digits").labels_test[11]
    here = digits.parts_of(fit, x)
    by_hand = here.bias + np.einsum("tk,kc->tc", passes.units / 0.8, here.parts[0])
    assert passes.outputs == pytest.approx(by_hand, abs=1e-4)
    assert 0.7 < passes.units.mean() < 0.9
    one, other = digits.rivals(here)
    assert sorted(here.off[0])[-2:] == [here.off[0, other], here.off[0, one]]


def test_a_look_says_what_the_fit_says():
    state, data = digits.ended(DIGITS), digits.data_of(DIGITS)
    fit, look = state.fit, state.looks[-1]
    assert len(state.looks) == digits.LOOKS + 1
    off = digits.parts_of(fit, data.x_test).off.argmax(axis=1) == data.y_test
    assert look.off == pytest.approx(off.mean(), abs=0.005)
    assert look.averaged == fit.predict(data.x_test, "MA", samples=digits.DRAWS, seed=fit.spec.seed).accuracy(data.y_test)
    assert look.doubt_right.sum() == pytest.approx(1.0) and look.doubt_wrong.sum() == pytest.approx(1.0)


def test_passes_disagree_more_on_digits_that_they_read_wrong():
    look = digits.ended(BY_ID["digits"]).looks[-1]
    assert look.doubt_wrong @ digits.DOUBTS[:-1] > 2.0 * (look.doubt_right @ digits.DOUBTS[:-1])


def test_the_scene_of_the_digits_shows_the_passes():
    job = Job()
    blob = scenes.grow(DIGITS.replace(seed=5), job)
    assert blob == scenes.scene(DIGITS.replace(seed=5)) and len(blob) < MOST_BYTES
    header, layers, arrays = _panels_by_id(blob)
    assert {"seen", "said", "network", "value", "average", "doubt", "learning"} == set(layers)
    spec = DIGITS.replace(seed=5)
    fit, (x, _) = digits.ended(spec).fit, digits.image_of(spec)
    passes, here = digits.passes(fit, x, spec.passes, spec.seed), digits.parts_of(fit, x)
    pair = one, other = digits.rivals(here)
    assert header["steps"] == spec.passes and header["total"] is None
    values = arrays[next(layer for layer in layers["value"] if layer["kind"] == "histogram")["values"]]
    assert values == pytest.approx(passes.outputs[:, one] - passes.outputs[:, other], abs=1e-5)
    exact = digits.log_odds(spec, fit, here, pair)
    rules = [float(arrays[layer["values"]][0]) for layer in layers["value"] if layer["kind"] == "rule" and layer["role"] == "truth"]
    assert rules == pytest.approx([exact.mean[0], exact.mean[0] - 2 * exact.sd[0], exact.mean[0] + 2 * exact.sd[0]], abs=1e-4)
    third = layers["network"][2]
    assert np.array_equal(arrays[third["at"]], passes.units[:, 2]) and len(arrays[third["frames"]]) == 2
    assert len(np.unique(arrays[third["frames"]][0])) == 1, "a unit that is dropped is blank"
    ink = arrays[layers["seen"][0]["frames"]]
    assert np.array_equal(ink[0, ::-3, ::3], levels(x.reshape(8, 8), 1.0))


def test_of_pixels_that_are_dropped_nothing_exact_is_claimed():
    spec = DIGITS.replace(method="concrete_dropout", hidden=40)
    header, layers, _ = _panels_by_id(scenes.scene(spec))
    assert not any(layer["role"] == "truth" for layer in layers["value"]) and analysis.digits.drops_pixels(digits.ended(spec).fit)
    lines = {line["id"]: line["tokens"] for line in header["readouts"]}
    assert "not known" in lines["exact"][0] and "off" not in lines and "pixels" in lines["learned"][0]
    found = {panel.title for panel in panels.panels(spec, NEVER)}
    assert found == {"Ways to predict", "Images that are no digits"}
    assert audited(spec) == {"scaling": "pass", "masks": "pass"}


def test_mistakes_with_digits_are_red(monkeypatch):
    right = {"scaling": "pass", "masks": "pass", "training gradient": "pass"}
    (wrong,) = analysis.faults(DIGITS).values()
    assert audited(DIGITS) == right and audited(wrong) == right | {"scaling": "fail"}
    assert audited(DIGITS.replace(keep=1.0))["masks"] == "pass"
    sample = Dropout.sample

    def other_odds(self, rng):
        logits, self.logits = self.logits, self.logits - np.array([0.0, 0.3])
        try:
            return sample(self, rng)
        finally:
            self.logits = logits

    fit = digits.ended(DIGITS).fit
    monkeypatch.setattr(Dropout, "sample", other_odds)
    assert analysis._mask_check_of_digits(DIGITS, fit).verdict == "fail"
    with planted(STUCK):
        assert analysis.checks(DIGITS, NEVER)[0].verdict == "fail"


@pytest.mark.long
@pytest.mark.parametrize("method", ["mc_dropout", "concrete_dropout"])
def test_the_p_values_of_masks_that_are_not_counted_are_uniform(method, monkeypatch):
    """Over seeds, of the first look; KS at a level of 1e-4."""
    monkeypatch.setattr(analysis, "two_looks", lambda look: look(1, 1))
    spec = DIGITS.replace(method=method)
    fit = digits.ended(spec).fit
    p = [analysis._mask_check_of_digits(spec.replace(seed=seed), fit).p for seed in range(60)]
    assert kstest(p, "uniform").pvalue > 1e-4


def test_the_panels_of_digits_tell_the_fit():
    fit, data = digits.ended(DIGITS).fit, sources.images("digits")
    ways, follows, strange = panels.panels(DIGITS, NEVER)
    assert ways.columns["right (%)"][2] == f"{100 * fit.predict(data.x_test, 'MEAN').accuracy(data.y_test):.2f}"
    assert "More data" in ways.caption
    dots, floor = follows.figure.data[0], follows.figure.data[2]
    assert len(dots.x) + len(follows.figure.data[1].x) == len(floor.x) == 450
    level = np.interp(dots.x, floor.x, floor.y)
    assert (np.asarray(dots.y) >= level - 1e-9).all()
    x = data.x_test[:5]
    changed = digit_panels.changed(DIGITS, x)
    assert np.array_equal(changed["upside_down"][0].reshape(8, 8), x[0].reshape(8, 8)[::-1, ::-1])
    assert np.array_equal(np.sort(changed["shuffled"], axis=1), np.sort(x, axis=1)) and changed["negative"][2] == pytest.approx(1 - x[2])
    assert len(strange.columns["images"]) == 4
    assert panels.diagnostics(DIGITS, NEVER).columns["weights"] == [fit.shape.weights]


def test_a_training_on_mnist_goes_on_from_its_state_to_the_same_bytes(few_of_mnist: Images, monkeypatch: pytest.MonkeyPatch):
    """Killed and begun anew it has the looks that it had; it is one for all who ask."""
    _few(monkeypatch)
    for method in ("mc_dropout", "concrete_dropout"):
        spec = LARGE.replace(method=method)
        assert digits.learning(spec.replace(units=9, number=3, passes=10)) is digits.learning(spec)
        again, whole = goes_on_from_disk(partial(digits.learning, spec), digits.Learning(digits.trained_alone(spec)), monkeypatch)
        assert again.fit.posterior.logits.tobytes() == whole.fit.posterior.logits.tobytes()
    changes = ({}, {"seed": 9}, {"hidden": 22}, {"prior_sd": 2.0}, {"keep": 0.7}, {"scaling": "none"}, {"units": 9})
    assert len({digits.state_path(digits.trained_alone(LARGE.replace(**change))) for change in changes}) == 6
    assert digits.state_path(DIGITS) is None


def test_mnist_is_on_stage_at_its_full_size(few_of_mnist: Images, monkeypatch: pytest.MonkeyPatch):
    """The first picture is of a network that has not learnt yet and says so; the last one is that of the scene."""
    _few(monkeypatch)
    job = Job()
    blob = scenes.grow(LARGE, job)
    header, layers, arrays = _panels_by_id(blob)
    assert blob == scenes.scene(LARGE) and len(blob) < MOST_BYTES
    first = decode(job.blobs[0])[0]
    (said,) = [line["tokens"] for line in first["readouts"] if line["id"] == "training"]
    assert "has learnt for 0" in said[0] and first["run"] == header["run"], "a better picture keeps the reader's place"
    assert not any(line["id"] == "training" for line in header["readouts"])
    assert len(layers["network"]) == digits.passes(digits.ended(LARGE).fit, digits.image_of(LARGE)[0], 1, 0).units.shape[1] - 5 == 15
    assert arrays[layers["network"][0]["frames"]].shape == (2, 28, 28) and arrays[layers["seen"][0]["frames"]].shape == (1, 28, 28)
    assert overall(analysis.audit(LARGE, NEVER)) == "pass" and analysis.checks(LARGE, NEVER)[-1].verdict == "unknown"
    stopped = Job()
    stopped.cancelled = True
    assert scenes.grow(LARGE.replace(seed=8), stopped) is None


def test_where_mnist_is_not_the_bundled_digits_stand_in_and_say_so(no_mnist: list[str]):
    job, far = Job(), LARGE.replace(number=9_000)
    for blob in (scenes.grow(far, job), job.blobs[0]):
        (line,) = [line["tokens"] for line in decode(blob or b"")[0]["readouts"] if line["id"] == "data"]
        assert line[0].startswith(sources.STAND_IN)
    assert no_mnist == ["mnist"] and digits.learning(far) is digits.learning(DIGITS) and digits.number_of(far) == 0
    assert all(item.caption.startswith(sources.STAND_IN) for item in panels.panels(far, NEVER))


def test_the_page_of_the_digits_names_what_is_wrong_in_a_link():
    app = page("dropout", data="digits", images="cats", hidden="9999")
    told = " ".join(warning.value for warning in app.warning)
    assert not app.exception and "images" in told and "hidden" in told
    assert app.session_state["visit/dropout"].spec == DropoutSpec(data="digits")


def test_no_card_says_where_p_ends_before_the_prediction_is_locked():
    secret = {"kept", "sum", "learned", "decay"}
    assert in_view(scenes.scene(BY_ID["concrete"], None)) & secret == set()
    assert in_view(scenes.scene(BY_ID["passes"], None)) & secret == secret - {"learned"}, "where p is given it is no secret"
