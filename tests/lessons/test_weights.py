"""The lesson on weights with a distribution: its settings, its arithmetic, its comparison, its signs, its words."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from scipy.stats import kstest

from app.kit.player.scene import decode, pixel_blocks
from datasets.images import Images
from engine.judge import overall, proofs
from engine.judge.plant import SHIFTED, STUCK, planted
from engine.spec import SpecError
from engine.variational import divergence as closed
from lessons.families.digit_posteriors import sources
from lessons.weights import analysis, digit_panels, digits, panels, scenes, training
from lessons.weights.questions import QUESTIONS
from lessons.weights.spec import SCENARIOS, WeightsSpec
from tests.lessons.pages import MOST_BYTES, NEVER, Job, goes_on_from_disk, page, says, verdicts

BY_ID = {scenario.id: scenario.spec for scenario in SCENARIOS}
REGIONS = ("among the data", "between them", "outside")  # of the curve
SMALL = WeightsSpec(rows=8, units=2, steps=200, draws=200, noise_sd=0.5)
DIGITS = WeightsSpec(problem="digits", hidden=10)
PLANE = WeightsSpec(problem="plane", corner=3, units=2, steps=200, draws=200)


@pytest.mark.parametrize(
    "parameter,changes",
    [
        ("pairs", {"pairs": ((9.0, 0.0, 0), (0.0, 0.0, 0))}),
        ("pairs", {"pairs": ((1.0, 0.0, 1),)}),
        ("pairs", {"data": "own", "pairs": ()}),
        ("points", {"points": ((0.0, 0.0, 2),)}),
        ("points", {"data": "own", "problem": "plane", "points": ((0.0, 0.0, 1),)}),
        ("estimator", {"prior": "mixture", "estimator": "local"}),
        ("estimator", {"prior": "mixture", "estimator": "flipout"}),
        ("variant", {"variant": "no_scaling"}),
        ("variant", {"variant": "no_scaling", "batch": 5, "problem": "plane"}),
        ("units", {"units": 0}),
        ("prior_sd", {"prior_sd": float("nan")}),
    ],
)
def test_a_wrong_setting_is_named(parameter, changes):
    with pytest.raises(SpecError) as error:
        WeightsSpec(**changes)
    assert error.value.parameter == parameter


def test_the_data_leave_the_gap_and_can_be_taken_over():
    x, y = training.data_of(WeightsSpec(gap=1.0, rows=20))
    assert np.abs(x).min() >= 1.0 and (x < 0).sum() == 10 and len(y) == 20
    own = WeightsSpec().replace(data="own", **training.own_points_of(WeightsSpec()))
    assert np.allclose(training.data_of(own)[0], training.data_of(WeightsSpec())[0], atol=1e-3)
    plane = PLANE.replace(data="own", **training.own_points_of(PLANE))
    assert np.array_equal(training.data_of(plane)[1], training.data_of(PLANE)[1])


# Arithmetic -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", [SMALL, PLANE], ids=["curve", "plane"])
def test_q_is_read_in_the_order_of_the_network(spec):
    run = training.start(spec)
    run.advance(20)
    mean, _ = training.of_q(run)
    layers = run.fit().expected_weights()
    at = training.places(spec.problem)
    hidden = np.tanh(at @ layers[0][:-1] + layers[0][-1])
    out = (hidden @ layers[1][:-1] + layers[1][-1])[:, 0]
    expected = out if spec.problem == "curve" else 1.0 / (1.0 + np.exp(-out))
    assert np.allclose(training.functions(spec, mean[None])[0], expected, atol=1e-5)
    assert len(scenes.names(spec)) == len(mean)


def test_the_divergence_is_the_closed_one_and_the_engines():
    run = training.start(SMALL)
    run.advance(50)
    mean, sd = training.of_q(run)
    found = training.divergence(SMALL, mean, sd, mean[None])
    prior = np.zeros(len(mean)), SMALL.prior_sd**2 * np.eye(len(mean))
    assert found == pytest.approx(float(closed.gaussian_kl(mean, np.diag(sd**2), *prior)), rel=1e-9)
    assert found == pytest.approx(run.posterior.kl(), rel=1e-4)


@pytest.mark.parametrize("changes", [{"prior": "mixture"}, {"batch": 4}], ids=["mixture", "minibatch"])
def test_the_card_is_an_unbiased_step_of_the_elbo(changes):
    spec = SMALL.replace(**changes)
    rng = np.random.default_rng(3)
    mean, sd = rng.standard_normal(7), rng.uniform(0.1, 0.5, 7)
    steps = [training.by_hand(spec, mean, sd, number) for number in range(1500)]
    right, error = analysis.exact_gradient(spec, mean, sd, 4000, 5)
    for field, place in (("mean_gradient", 0), ("rho_gradient", 7)):
        values = np.array([getattr(step, field) for step in steps])
        variance = values.var() / len(values) + error[place, place]
        assert abs(values.mean() - right[place]) < 4.0 * math.sqrt(variance)
    step = steps[0]
    assert step.weights[training.SHOWN] == pytest.approx(step.weight)
    assert step.mean_gradient == pytest.approx(step.factor * step.slope + step.prior)


def test_the_exact_gradient_is_that_of_the_elbo_by_differences():
    spec, dim = SMALL.replace(prior="mixture"), 7
    rng = np.random.default_rng(4)
    mean, rho = rng.standard_normal(dim), rng.uniform(-1.5, 0.0, dim)
    eps = np.random.Generator(np.random.SFC64(np.random.SeedSequence([5, 13]))).standard_normal((200, dim))
    x, y = training.data_of(spec)
    likelihood = training.model_of(spec).log_likelihood(x, y)

    def elbo(point: np.ndarray) -> float:  # with the noise held fixed
        sd = np.log1p(np.exp(point[dim:]))
        draws = point[:dim] + sd * eps
        values = likelihood.log_density_many(draws) + training.log_prior(spec, draws)
        return float(values.mean() + training.entropy(sd))

    point, h = np.concatenate([mean, rho]), 1e-5
    steps = h * np.eye(2 * dim)
    slopes = [(elbo(point + step) - elbo(point - step)) / (2 * h) for step in steps]
    found, _ = analysis.exact_gradient(spec, mean, np.log1p(np.exp(rho)), 200, 5)
    assert np.allclose(found, slopes, rtol=1e-5, atol=1e-5)


# Comparison -----------------------------------------------------------------------------------------------------------


def test_the_error_of_a_spread_is_honest():
    rng = np.random.default_rng(6)
    found = np.array([analysis._spread(rng.standard_normal((1, 500, 1)), 500.0) for _ in range(400)])[:, :, 0]
    assert found[:, 0].std() == pytest.approx(found[:, 1].mean(), rel=0.15)
    assert found[:, 0].mean() == pytest.approx(1.0, abs=0.01)


def test_a_q_that_is_the_posterior_is_not_called_overconfident(monkeypatch):
    chains = analysis.reference(SMALL, NEVER)
    draws = chains.recording.draws.reshape(-1, 7)
    monkeypatch.setattr(analysis, "drawn", lambda spec: draws)
    found = analysis.ratio(SMALL, NEVER)
    assert np.allclose(found.ratio, 1.0) and not found.overconfident.any() and not found.too_wide.any()
    assert all(line.inside == pytest.approx(0.9, abs=0.02) for line in analysis.compared(SMALL, NEVER))


def test_the_curve_is_overconfident_outside_and_not_among_its_data():
    """On average over data and trainings: how sure q is between them differs much from one to the next."""
    lines = [analysis.compared(BY_ID["gap"].replace(seed=seed), NEVER) for seed in range(1, 7)]
    ratios = {name: np.mean([line.ratio for each in lines for line in each if line.name == name]) for name in REGIONS}
    assert ratios["outside"] < 0.4 and ratios["between them"] < 1.0 and ratios["among the data"] > 1.1
    for each in lines:
        assert {line.name for line in each} == set(REGIONS) and sum(line.places for line in each) == training.NODES
        assert next(line for line in each if line.name == "outside").high < 1.0


@pytest.mark.one_seed
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.id)
def test_the_questions_have_the_answer_of_the_prose(question):
    spec = BY_ID[question.scenario]
    assert question.answer(spec) == {"outside": 0, "gives-up": 2, "light": 0, "pruned": 2}[question.id]
    assert question.explain(spec)


@pytest.mark.one_seed
def test_questions_answer_otherwise_where_it_is_otherwise():
    answers = {question.id: question.answer for question in QUESTIONS}
    assert answers["light"](BY_ID["gap"]) == 1
    assert answers["gives-up"](BY_ID["xor"].replace(draws=200)) == 0
    assert answers["pruned"](DIGITS) == 1, "ten units a layer have fewer weights to spare"


def test_what_the_failures_say():
    assert panels.units_in_use(BY_ID["gives-up"]) == 0
    gains = []
    for seed in range(1, 17):  # the small start gives up on some data, too
        wide = BY_ID["wide-start"].replace(seed=seed)
        small = wide.replace(initial_sd=0.1)
        assert panels.units_in_use(wide) <= panels.units_in_use(small)
        (low, low_error), (high, high_error) = analysis.elbo(wide), analysis.elbo(small)
        gains.append(high - low)
        assert gains[-1] > -4.0 * math.hypot(low_error, high_error)
    assert np.sum(np.array(gains) > 5.0) >= 4, "so the wide start ends at a local maximum"


# The signs ------------------------------------------------------------------------------------------------------------

# NUTS agrees with itself, but how many transitions diverge, and whether training has quite come to rest, is chance in
# part: where "not fail" is wanted, some seeds end between the limits.
VERDICTS = {
    "gap": ("pass", "not fail", "unknown"),
    "xor": ("pass", "not fail", "unknown"),
    "own": ("pass", "not fail", "unknown"),
    "two-units": ("pass", "not told", "unknown"),  # see below
    "gives-up": ("pass", "not fail", "unknown"),
    "wide-start": ("pass", "not fail", "unknown"),
    "light-kl": ("fail", "unknown", "unknown"),
    "no-scaling": ("fail", "unknown", "unknown"),
    "digits": ("pass", "not fail", "unknown"),
}


@pytest.mark.parametrize("name", BY_ID)
def test_the_signs(name):
    found = verdicts("weights", BY_ID[name])
    assert says(found, VERDICTS[name]), found


def test_chains_in_two_modes_have_not_converged():
    """Each of four chains ends in one of two mirrored modes: all in the same with a probability of 1/8. That this is so
    for six or more of eight seeds has one of 8e-5."""
    found = [analysis.chains_checks(BY_ID["two-units"].replace(seed=seed), NEVER)[0].verdict for seed in range(8)]
    assert found.count("fail") >= 3


@pytest.mark.parametrize("fault", ["KL counted a tenth", "n/B of a minibatch forgotten"])
def test_mistakes_turn_the_gradient_red(fault):
    spec = BY_ID["gap"].replace(steps=200)
    assert analysis._gradient_check(spec, NEVER)[0].verdict == "pass"
    assert analysis._gradient_check(analysis.faults(spec)[fault], NEVER)[0].verdict == "fail"


@pytest.mark.parametrize("changes", [{"estimator": "local"}, {"estimator": "flipout"}, {"prior": "mixture"}, {"batch": 4}])
def test_the_right_gradient_passes_however_it_is_estimated(changes):
    for seed in range(5):
        assert analysis._gradient_check(SMALL.replace(seed=seed, **changes), NEVER)[0].verdict == "pass"


@pytest.mark.long
def test_the_p_values_of_the_gradient_are_uniform(monkeypatch):
    """Over seeds, of the first look; KS at a level of 1e-4."""
    monkeypatch.setattr(analysis, "two_looks", lambda look: look(1, 1))
    p = [analysis._gradient_check(SMALL.replace(seed=seed), NEVER)[0].p for seed in range(100)]
    assert kstest(p, "uniform").pvalue > 1e-4


def test_the_right_kernel_passes():
    (kernel,) = analysis.kernels(BY_ID["gap"])
    assert overall(proofs(kernel, 3)) == "pass"


@pytest.mark.parametrize("fault", ["data_ignored", "aliased_momentum", "prior_forgotten"])
def test_a_wrong_kernel_is_red(fault):
    (kernel,) = analysis.kernels(BY_ID["gap"])
    assert overall(proofs(kernel.planted(fault), 3)) == "fail"


def test_an_elbo_above_the_evidence_would_be_red(monkeypatch):
    assert analysis._bound_check(SMALL, NEVER)[0].verdict == "pass"
    high = analysis.evidence(SMALL, NEVER).log_evidence + 1.0
    monkeypatch.setattr(analysis, "elbo", lambda spec: (high, 0.01))
    assert analysis._bound_check(SMALL, NEVER)[0].verdict == "fail"


def test_of_a_mixture_no_evidence_and_no_ratio_is_claimed():
    mixture = SMALL.replace(prior="mixture")
    assert analysis._bound_check(mixture, NEVER) == []
    assert "two posteriors" in analysis._distance_check(mixture, NEVER).sentence


def test_training_that_stopped_on_the_way_is_not_called_at_rest():
    assert analysis._settled_check(BY_ID["own"], NEVER).verdict == "pass"
    assert analysis._settled_check(BY_ID["gap"].replace(steps=150), NEVER).verdict == "unknown"
    with planted(STUCK):
        found = {check.name: check.verdict for check in analysis.checks(BY_ID["gap"], NEVER)}
    assert found["chains of NUTS agree"] == "fail" and found["settled"] != "pass"


# Pictures -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def watched() -> tuple[Job, bytes]:
    """A whole run of the curve as a job."""
    job = Job()
    return job, scenes.grow(SMALL, job)


def test_the_job_grows_to_the_training_and_the_chain(watched):
    job, blob = watched
    assert len(job.blobs) == training.FRAMES and job.blobs[-1] == blob
    header, arrays = decode(blob)
    assert header["steps"] == training.FRAMES + 1
    told = [line for line in [*header["readouts"], *header["say"]] if "elbo" in line["values"]]
    assert len(told) == 2 and all(line["held"] for line in told), "what is asked waits, for the eye and for the ear"
    table = {column["name"]: arrays[column["values"]] for column in header["table"]}
    run = analysis.trained(analysis.same_training(SMALL))
    assert table["training step"][-1] == run.total and table["NUTS draws"][-1] == SMALL.draws
    assert table["mean of w₁"][-1] == pytest.approx(training.of_q(run)[0][0], rel=1e-5)
    chain = analysis.reference(SMALL, NEVER).recording.draws[0]
    nuts = next(panel for panel in header["panels"] if panel["id"] == "nuts")["layers"]
    mean = next(layer for layer in nuts if layer["label"] == "mean")
    shown = arrays[mean["points"]][-1]
    assert np.allclose(shown[:, 1], training.functions(SMALL, chain).mean(axis=0), atol=1e-5)


def test_a_run_that_is_known_does_not_grow_again(watched):
    """That of a slider's preview, at whose transition the stage is to stand at once."""
    job = Job()
    assert scenes.whole(SMALL) == watched[1]
    assert scenes.grow(SMALL, job) == watched[1] and not job.blobs
    scenes.whole.forget()


def test_a_stopped_job_gives_up():
    job = Job()
    job.publish = lambda blob: setattr(job, "cancelled", True)
    assert scenes.grow(SMALL, job) is None


def test_the_fan_is_brightest_at_the_median():
    values = np.random.default_rng(1).standard_normal((999, training.NODES))
    found = training.view(SMALL, values)
    middle = training.LEVELS // 2
    assert found.fan[middle].mean() > 200 and found.fan[0].max() < 6
    assert np.allclose(found.low, np.quantile(values, 0.05, axis=0), atol=0.05)


def test_the_largest_pictures_travel_in_one_message():
    for problem in ("curve", "plane"):
        spec = WeightsSpec(problem=problem, units=12, rows=4, corner=1, steps=100, draws=200)
        assert len(scenes.grow(spec, Job()) or b"") < MOST_BYTES


def test_the_same_settings_give_the_same_bytes():
    first = scenes.scene(PLANE)
    scenes.first.forget()
    assert scenes.scene(PLANE) == first


@pytest.mark.parametrize("spec", [SMALL, PLANE], ids=["curve", "plane"])
def test_the_panels_tell_the_comparison(spec):
    found = panels.panels(spec, NEVER)
    assert [item.title for item in found][1:] == ["By region, and coverage", "Other starts"]
    ratios = [line.ratio for line in analysis.compared(spec, NEVER)]
    assert found[1].columns["ratio"] == ratios
    cost, weights = panels.diagnostics(spec, NEVER)
    assert cost.columns["points a gradient"] == [spec.size, spec.size]
    assert len(weights.columns["weight"]) == len(scenes.names(spec))


def test_a_hostile_link_is_told_by_name():
    app = page("weights", units="900")
    assert not app.exception and any("units" in warning.value for warning in app.warning)


# Digits ---------------------------------------------------------------------------------------------------------------


LARGE = DIGITS.replace(images="mnist")


def _panels_by_id(blob: bytes) -> tuple[dict, dict, list]:
    header, arrays = decode(blob)
    return header, {panel["id"]: panel["layers"] for panel in header["panels"]}, arrays


def _few(monkeypatch: pytest.MonkeyPatch, **changes: float) -> None:
    """A short training on the few images that stand for MNIST."""
    monkeypatch.setattr(digits, "LARGE", {**digits.LARGE, "epochs": 200, "step_size": 0.1, "final_step_size": 0.3, **changes})


def test_what_the_digits_do_not_read_is_kept_and_ignored():
    mixed = DIGITS.replace(data="own", pairs=(), points=(), batch=5, variant="no_scaling", units=9, images="digits")
    assert digits.learning(mixed) is digits.learning(DIGITS)
    assert digits.learning(DIGITS.replace(hidden=11)) is not digits.learning(DIGITS)
    assert analysis.kernels(mixed) == [] and analysis.faults(mixed) == {}


def test_a_look_says_what_the_fit_says():
    """Every number worked out again, by hand; the threshold is that of the weights that stay."""
    state, data = digits.ended(DIGITS), digits.data_of(DIGITS)
    fit, look = state.fit, state.looks[-1]
    mean, sd = (np.asarray(part, dtype=np.float64) for part in (fit.posterior.mean, fit.posterior.sds()))
    layers = fit.shape.split(mean)

    def read(weights: list[np.ndarray]) -> float:
        h = data.x_test.astype(np.float64)
        for layer in weights[:-1]:
            h = np.maximum(h @ layer[:-1] + layer[-1], 0.0)
        return float(np.mean((h @ weights[-1][:-1] + weights[-1][-1]).argmax(axis=1) == data.y_test))

    assert look.middle == pytest.approx(read(layers), abs=0.005)
    for k in (0, 9, 15):
        stays = np.abs(mean) / sd > digits.THRESHOLDS[k]
        assert look.kept[k] == pytest.approx(stays.mean(), abs=1e-3)
        assert look.right[k] == pytest.approx(read(fit.shape.split(mean * stays)), abs=0.01)
    for name, values, edges in (("means", mean, digits.MEANS), ("ratios", np.abs(mean) / sd, digits.RATIOS)):
        shares = getattr(look, name)
        assert shares.sum(axis=1) == pytest.approx(np.ones(3))
        inside = np.mean((layer := fit.shape.split(values)[1]) < edges[30])
        assert shares[1, :30].sum() == pytest.approx(inside, abs=1e-3) and layer.shape == (11, 10)
    assert look.mean[3].ravel() == pytest.approx(layers[0][:-1, 3]) and look.votes.sum(axis=1) == pytest.approx(np.ones(6))
    assert (look.right[: look.cut + 1] >= look.middle - digits.LOST).all() and look.right[look.cut + 1] < look.middle - digits.LOST


def test_the_scene_of_the_digits_shows_the_training():
    job = Job()
    blob = scenes.grow(DIGITS.replace(seed=5), job)
    assert blob == scenes.scene(DIGITS.replace(seed=5)) and len(blob) < MOST_BYTES
    header, layers, arrays = _panels_by_id(blob)
    state = digits.ended(DIGITS.replace(seed=5))
    assert header["steps"] == len(state.looks) == digits.LOOKS + 1
    assert {"mean-images", "sd-images", "means", "ratios", "prune", "idle", "seen", "votes", "elbo"} == set(layers)
    table = {column["name"]: arrays[column["values"]] for column in header["table"]}
    assert table["means (%)"][-1] == pytest.approx(100 * state.looks[-1].middle, abs=1e-3)
    curve = next(layer for layer in layers["prune"] if layer["role"] == "accept")
    assert arrays[curve["ys"]][-1] == pytest.approx(100 * state.looks[-1].right, abs=1e-3)
    tile = arrays[layers["sd-images"][2]["frames"]][-1]
    assert np.array_equal(tile, pixel_blocks(np.rint(255 * np.clip(state.looks[-1].sd[2], 0, 1)).astype(np.uint8), 3))
    assert not any(line["id"] in ("training", "data") for line in header["readouts"])


def test_the_weights_of_pixels_that_no_image_inks_are_at_the_prior_and_a_wrong_one_is_red():
    """Three pixels of the bundled digits. The likelihood's gradient is exactly 0 there: other data leave the same bytes."""
    looks = digits.ended(DIGITS).looks
    assert digits.never_inked(DIGITS).sum() == 3
    found = digits.idle_check(DIGITS, looks)
    assert (found.verdict, found.kind) == ("pass", "numbers") and "3 pixels" in found.sentence and "30 weights" in found.sentence
    with planted(SHIFTED):
        assert digits.idle_check(DIGITS, looks).verdict == "fail"
    early = digits.idle_check(DIGITS, looks[:8])
    assert early.verdict == "unknown" and "on their way" in early.sentence
    wrong = digits.Learning(digits.trained_alone(DIGITS.replace(seed=3)))
    share, sd, *rest = wrong._run.posterior.prior
    wrong._run.posterior.prior = (share, 1.01 * sd, *rest)  # of the training, which is told another prior
    assert digits.idle_check(DIGITS, wrong.finish().looks).verdict == "fail"


def test_no_data_reach_the_weights_of_pixels_that_are_never_inked():
    """Means of all the weights but these change with the labels."""
    spec, data = DIGITS, digits.data_of(DIGITS)
    right = digits.start(spec)
    other = digits.start(spec)
    other._y = other._y[::-1].copy()
    for run in (right, other):
        run.advance(30)
    one, two = (run.shape.split(run.posterior.mean)[0][:-1] for run in (right, other))
    idle = digits.never_inked(spec)
    assert np.array_equal(one[idle], two[idle]) and not np.array_equal(one[~idle], two[~idle]) and data.side == 8


def test_the_kl_of_digits_is_the_closed_one(monkeypatch: pytest.MonkeyPatch):
    fit = digits.ended(DIGITS).fit
    assert digits.divergence_check(DIGITS, fit).verdict == "pass"
    assert digits.divergence_check(DIGITS.replace(prior="mixture"), fit).verdict == "pass", "a field of the other problems"
    assert digits.divergence_check(DIGITS.replace(prior_sd=1.01), fit).verdict == "fail"


def test_the_panels_of_digits_tell_the_fit():
    fit, data = digits.ended(DIGITS).fit, sources.images("digits")
    pruned, ways, idle = panels.panels(DIGITS, NEVER)
    assert pruned.columns["weights left"][0] == fit.shape.weights
    assert pruned.columns["means alone: right (%)"][1] == f"{100 * digits.right(fit, data.x_test, data.y_test, fit.prune(0.5)):.2f}"
    assert (
        ways.columns["right (%)"][2] == f"{100 * digits.right(fit, data.x_test, data.y_test):.2f}" and len(ways.columns["prediction"]) == 3
    )
    assert np.array(idle.columns["is"]) == pytest.approx(np.array(idle.columns["must be"]), abs=0.4)
    assert idle.columns["is"][1] == pytest.approx(1.0, abs=0.002)
    (cost,) = panels.diagnostics(DIGITS, NEVER)
    assert cost.columns["weights"] == [fit.shape.weights]


def test_a_training_on_mnist_goes_on_from_its_state_to_the_same_bytes(few_of_mnist: Images, monkeypatch: pytest.MonkeyPatch):
    """Killed and begun anew it has the looks that it had; it is one for all who ask."""
    _few(monkeypatch)
    assert digits.learning(LARGE.replace(units=9, data="own")) is digits.learning(LARGE)
    again, whole = goes_on_from_disk(partial(digits.learning, LARGE), digits.Learning(digits.trained_alone(LARGE)), monkeypatch)
    assert again.looks[-1].mean.tobytes() == whole.looks[-1].mean.tobytes()
    changes = ({}, {"seed": 9}, {"hidden": 12}, {"prior_sd": 2.0}, {"units": 9})
    assert len({digits.state_path(digits.trained_alone(LARGE.replace(**change))) for change in changes}) == 4
    assert digits.state_path(DIGITS) is None


def test_mnist_is_on_stage_at_its_full_size(few_of_mnist: Images, monkeypatch: pytest.MonkeyPatch):
    """The first picture is of a network that has not learnt yet and says so; the last one is that of the scene."""
    _few(monkeypatch)
    job = Job()
    blob = scenes.grow(LARGE, job)
    header, layers, arrays = _panels_by_id(blob)
    assert blob == scenes.scene(LARGE) and header["total"] is None
    first = decode(job.blobs[0])[0]
    (said,) = [line["tokens"] for line in first["readouts"] if line["id"] == "training"]
    assert "has learnt for" in said[0] and 1 == first["steps"] < first["total"] == header["steps"]
    assert not any(line["id"] == "training" for line in header["readouts"])
    last = digits.ended(LARGE).looks[-1]
    tiles = [arrays[layer["frames"]][-1] for layer in layers["mean-images"]]
    assert len(tiles) == digits.TILES and tiles[0].shape == (28, 28) and last.mean.shape == (digits.TILES, 28, 28)
    assert arrays[layers["seen"][1]["frames"]].shape == (1, 28, 28)
    names = [line["id"] for line in header["readouts"]]
    assert {"elbo", "ways", "idle"} <= set(names) and analysis.checks(LARGE, NEVER)[-1].verdict == "pass"
    assert "28 pixels" in analysis.checks(LARGE, NEVER)[-1].sentence
    assert overall(analysis.audit(LARGE, NEVER)) == "pass"
    ways = panels.panels(LARGE, NEVER)[1]
    assert ways.columns["right (%)"][-1] == "95.14" and digit_panels.STUDY in ways.caption
    stopped = Job()
    stopped.cancelled = True
    assert scenes.grow(LARGE.replace(seed=8), stopped) is None


def test_the_largest_training_travels_in_one_message(few_of_mnist: Images, monkeypatch: pytest.MonkeyPatch):
    _few(monkeypatch, epochs=25)
    blob = scenes.grow(LARGE.replace(hidden=200), Job())
    assert blob is not None and len(blob) < MOST_BYTES


def test_where_mnist_is_not_the_bundled_digits_stand_in_and_say_so(no_mnist: list[str]):
    job = Job()
    for blob in (scenes.grow(LARGE, job), job.blobs[0]):
        (line,) = [line["tokens"] for line in decode(blob or b"")[0]["readouts"] if line["id"] == "data"]
        assert line[0].startswith(sources.STAND_IN)
    assert line and no_mnist == ["mnist"] and digits.learning(LARGE) is digits.learning(DIGITS)
    assert all(item.caption.startswith(sources.STAND_IN) for item in panels.panels(LARGE, NEVER))
    assert not any(line["id"] == "data" for line in decode(scenes.grow(DIGITS, Job()) or b"")[0]["readouts"])


def test_the_page_of_the_digits_names_what_is_wrong_in_a_link():
    app = page("weights", problem="digits", images="cats", hidden="9999")
    told = " ".join(warning.value for warning in app.warning)
    assert not app.exception and "images" in told and "hidden" in told
    assert app.session_state["visit/weights"].spec == WeightsSpec(problem="digits")
