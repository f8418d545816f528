"""The XOR lesson: its averages against plain sums, its proof against known mistakes, its pictures, its page."""

from __future__ import annotations

import dataclasses
import threading

import numpy as np
import pytest

from app.kit import badge
from app.kit.controls import point_lines, read_points
from app.kit.player.scene import MAX_FRAMES, decode
from datasets.xor import EIGHT_POINTS, held_out
from engine.judge import proofs
from engine.judge.plant import SHIFTED, STUCK, planted
from engine.networks.predictive import probabilities
from engine.scores import binary_entropy
from engine.spec import SpecError
from lessons.xor import chains, figures, learning, proof, questions, scenes
from lessons.xor.spec import MAX_POINTS, SCENARIOS, VARIANTS, XorSpec
from tests.lessons.pages import MOST_BYTES, NEVER, page, verdicts

BY_ID = {scenario.id: scenario.spec for scenario in SCENARIOS}
SHORT = XorSpec(corner=10, leapfrog=10, burn=20, draws=300)


# Spec -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameter,changes",
    [
        ("units", {"units": 17}),
        ("units", {"units": 0}),
        ("prior_sd", {"prior_sd": 0.0}),
        ("activation", {"activation": "step"}),
        ("points", {"points": ((0.0, 0.0, 2),)}),
        ("points", {"points": ((9.0, 0.0, 1),)}),
        ("burn", {"burn": 200, "draws": 300}),
        ("draws", {"units": 16, "corner": 200, "leapfrog": 200, "draws": 100_000}),
    ],
)
def test_a_wrong_setting_is_named(parameter, changes):
    with pytest.raises(SpecError) as error:
        XorSpec(**changes)
    assert error.value.parameter == parameter


def test_points_as_text_and_back():
    assert read_points("points", point_lines(EIGHT_POINTS)) == EIGHT_POINTS
    assert read_points("points", "0.5 0.5 1\n\n-1;0;0") == ((0.5, 0.5, 1), (-1.0, 0.0, 0))
    with pytest.raises(SpecError, match="line 2"):
        read_points("points", "0, 0, 1\n0, a, 1")


# When -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("states", [200, 400, 1234, 100_000])
def test_the_timeline_grows_to_the_last_state(states):
    times = learning.timeline(states)
    assert times[0] == 1 and times[-1] == states and (np.diff(times) > 0).all()
    assert len(times) <= 900
    longer = learning.timeline(2 * states)
    assert set(times[:-1]) <= set(longer), "a growing picture keeps its steps"


@pytest.mark.parametrize("burn", [0, 1, 7, 100, 2000])
@pytest.mark.parametrize("states", [4000, 20_000, 100_000])
def test_maps_are_few_and_end_with_the_run(burn, states):
    times = learning.checkpoints(burn, states)
    assert len(times) <= learning.FRAMES <= MAX_FRAMES
    assert times[0] == 1 and times[-1] == states and (np.diff(times) > 0).all()
    assert (burn == 0) or burn in times


# The averages ---------------------------------------------------------------------------------------------------------


def test_growing_in_pieces_gives_the_same_pictures():
    whole = learning.Learning(SHORT).advance(300)
    pieces = learning.Learning(SHORT)
    for states in (1, 2, 17, 21, 150, 299, 1000):
        pieces.advance(states)
    assert pieces.done and pieces.states == whole.states == 300
    for a, b in zip(dataclasses.astuple(whole.maps()), dataclasses.astuple(pieces.maps()), strict=True):
        assert np.array_equal(a, b)
    ours, theirs = whole.shown(), pieces.shown()
    assert all(np.allclose(ours[name], theirs[name], rtol=1e-12, atol=1e-12) for name in ours)


def test_the_averages_are_plain_averages_after_the_warm_up():
    done = learning.Learning(SHORT).advance(300)
    shown, recording = done.shown(), done.run.recording()
    weights = np.concatenate([recording.start, recording.draws[0]])
    p = probabilities(done.model, weights[SHORT.burn :], learning.plane(learning.CELLS))[:, :, 1]
    mean = p.mean(axis=0)
    total, aleatoric = binary_entropy(mean), binary_entropy(p).mean(axis=0)
    for cells, values, high in (
        (done.maps().mean, mean, 1.0),
        (done.maps().total, total, np.log(2)),
        (done.maps().aleatoric, aleatoric, np.log(2)),
        (done.maps().epistemic, total - aleatoric, np.log(2)),
    ):
        assert np.abs(cells[-1].ravel().astype(int) - np.round(255 * values / high)).max() <= 1
    centre = probabilities(done.model, weights[SHORT.burn :], learning.CENTRE)[:, 0, 1]
    assert shown["mean"][-1] == pytest.approx(centre.mean())
    assert shown["aleatoric"][-1] == pytest.approx(binary_entropy(centre).mean())
    assert shown["networks"][-1] == 300 - SHORT.burn


def test_in_the_warm_up_the_maps_show_one_network():
    done = learning.Learning(SHORT).advance(300)
    warm = learning.checkpoints(SHORT.burn, 300) <= SHORT.burn
    maps = done.maps()
    assert (maps.epistemic[warm] == 0).all() and (maps.counts[warm] == 1).all()
    assert np.array_equal(maps.total[warm], maps.aleatoric[warm])


def test_the_numbers_of_the_card_are_the_chains():
    done = learning.Learning(SHORT).advance(300)
    shown, recording = done.shown(), done.run.recording()
    ours = (shown["likelihood"] + shown["prior"])[1:]
    assert ours == pytest.approx(recording.log_density[0][shown["state"][1:] - 2], abs=1e-9)
    right = (probabilities(done.model, shown["weights"], done.x).argmax(axis=2) == done.y).sum(axis=1)
    assert shown["present right"] == pytest.approx(100 * right / len(done.y))


def test_the_traces_are_those_of_the_networks_on_their_points_and_on_others():
    """Accuracy and loss of the running average, by hand; the held-out points are other draws of the same clouds."""
    done = learning.Learning(SHORT).advance(300)
    shown, recording = done.shown(), done.run.recording()
    others = held_out(SHORT.data, SHORT.seed)
    assert others is not None and len(others.y) == done.held_out == 200 and not np.isin(others.x, done.x).any()
    weights = np.concatenate([recording.start, recording.draws[0]])[SHORT.burn :]
    for whose, x, y in (("average", done.x, done.y), ("held", others.x, others.y)):
        mean = probabilities(done.model, weights, x).mean(axis=0)
        found = learning.scores(shown)[whose]
        assert found.right[-1] == pytest.approx(100 * (mean.argmax(axis=1) == y).mean())
        assert found.loss[-1] == pytest.approx(-np.log(mean[np.arange(len(y)), y]).mean())
    warm = shown["state"] <= SHORT.burn
    assert np.array_equal(shown["average loss"][warm], shown["present loss"][warm])
    assert (shown["average loss"] != shown["present loss"])[~warm].mean() > 0.9
    own = learning.Learning(SHORT.replace(data="points", points=EIGHT_POINTS)).advance(100).shown()
    assert set(learning.scores(own)) == {"present", "average"}
    header, arrays = decode(scenes.picture(done, growing=False))
    panel = next(panel for panel in header["panels"] if panel["id"] == "loss")
    drawn = [arrays[layer["ys"]][-1] for layer in panel["layers"] if layer["kind"] == "line"]
    assert drawn == pytest.approx([shown[f"{whose} loss"][-1] for whose in ("present", "average", "held")], rel=1e-5)


def test_without_data_there_is_only_the_prior():
    done = learning.Learning(SHORT.replace(data="none")).advance(300)
    assert (done.shown()["likelihood"] == 0).all()
    assert learning.modes(SHORT.replace(data="none"))[0] == pytest.approx(0, abs=1e-6)


def test_the_best_start_is_better():
    x, y = learning.data_of(SHORT)
    posterior = learning.model_of(SHORT).posterior(x, y)
    plain, best = (posterior.log_density_many(learning.starts_of(SHORT.replace(start=s), 3)) for s in ("prior", "best"))
    assert (best >= plain).all() and (best > plain).any()


# Pictures -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", [*BY_ID.values(), XorSpec(units=16), XorSpec(data="none"), XorSpec(burn=0)])
def test_every_first_picture_is_small(spec):
    blob = scenes.scene(spec, None)
    assert len(blob) < MOST_BYTES
    header, _ = decode(blob)
    ids = [panel["id"] for panel in header["panels"]]
    assert ids[:7] == ["mean", "network", "singles", "total", "aleatoric", "epistemic", "map"]
    assert header["total"] is None and header["steps"] >= spec.burn


def test_the_uncertainty_maps_share_one_scale():
    header, _ = decode(scenes.scene(XorSpec(), None))
    heat = {panel["id"]: layer for panel in header["panels"] for layer in panel["layers"] if layer["kind"] == "heatmap"}
    for name in ("total", "aleatoric", "epistemic"):
        assert (heat[name]["low"], heat[name]["high"]) == (0.0, pytest.approx(np.log(2)))
    assert (heat["mean"]["low"], heat["mean"]["high"]) == (0.0, 1.0)


class Ticket:
    """What a job is given."""

    def __init__(self, pictures: int = 10_000):
        self.blobs: list[bytes] = []
        self.pictures, self.reports = pictures, []

    @property
    def cancelled(self) -> bool:
        return len(self.blobs) >= self.pictures

    def is_set(self) -> bool:
        return self.cancelled

    def report(self, done: int, total: int) -> None:
        self.reports.append((done, total))

    def publish(self, blob: bytes) -> None:
        self.blobs.append(blob)


def test_a_picture_of_the_first_states_goes_ahead_of_the_rest():
    spec, ticket, again = XorSpec(seed=4711), Ticket(), Ticket()
    whole = scenes.grow(spec, ticket)
    beginning, last = decode(ticket.blobs[0])[0], decode(whole)[0]
    assert whole == scenes.scene(spec, None) and len(ticket.blobs) == 1
    assert beginning["run"] == last["run"] and beginning["steps"] == learning.BEGINNING < beginning["total"] == last["steps"]
    for panel, later in zip(beginning["panels"], last["panels"], strict=True):
        assert panel["x"] == later["x"] and [layer["kind"] for layer in panel["layers"]] == [layer["kind"] for layer in later["layers"]]
    assert scenes.grow(spec, again) == whole and not again.blobs


def test_a_beginning_that_costs_much_is_shorter():
    costly, usual = BY_ID["huge-prior"], BY_ID["learn"]
    ticket = Ticket()
    scenes.grow(costly.replace(seed=4711), ticket)
    assert decode(ticket.blobs[0])[0]["steps"] == learning.beginning(costly) < learning.beginning(usual) == learning.BEGINNING
    assert learning.beginning(costly) * learning.work_of(costly) <= learning.BEGINNING_WORK


def test_the_long_run_grows_the_same_picture():
    spec = XorSpec(units=16, draws=2000, leapfrog=20, step_size=0.05)
    ticket = Ticket()
    final = scenes.live(spec)(ticket)
    heads = [decode(blob)[0] for blob in [scenes.scene(spec, None), *ticket.blobs, final]]
    assert len({head["run"] for head in heads}) == 1
    steps = [head["steps"] for head in heads]
    assert steps == sorted(steps) and steps[-1] == len(learning.timeline(2000)) and len(ticket.blobs) >= 5
    assert heads[1]["total"] == steps[-1] and heads[-1]["total"] is None
    assert ticket.reports[-1] == (2000, 2000) and len(final) < MOST_BYTES


def test_the_long_run_stops_when_asked():
    ticket = Ticket(pictures=2)
    header, _ = decode(scenes.live(XorSpec(draws=20_000))(ticket))
    assert len(ticket.blobs) == 2 and header["steps"] < len(learning.timeline(20_000))


def test_a_long_run_of_the_widest_network_is_small_enough():
    spec = XorSpec(units=16, corner=5, leapfrog=1, draws=100_000)
    assert len(scenes.live(spec)(Ticket())) < 1.2 * MOST_BYTES


# Proof ----------------------------------------------------------------------------------------------------------------


# What the signs say: kernel, this run, numbers.
VERDICTS = {
    "learn": ("pass", "pass", "unknown"),
    "one-unit": ("pass", "pass", "unknown"),
    "noisy": ("pass", "pass", "unknown"),
    "map": ("pass", "pass", "unknown"),
    "tiny-prior": ("pass", "pass", "unknown"),
    "large-step": ("pass", "fail", "unknown"),
    "never-reject": ("fail", "fail", "unknown"),
    "own-points": ("pass", "pass", "unknown"),
}


@pytest.mark.one_seed  # another run of the same length may not have converged: its sign is “cannot tell” then
@pytest.mark.parametrize("scenario", VERDICTS)
def test_the_signs_say(scenario):
    assert verdicts("xor", BY_ID[scenario]) == VERDICTS[scenario]


def test_every_scenario_has_its_verdicts():
    assert set(VERDICTS) == set(BY_ID) - {"huge-prior"}


def test_a_huge_prior_is_hard_on_the_chains_only():
    """About one in a thousand transitions diverges there: whether that is said depends on the seed."""
    kernel, run, numbers = verdicts("xor", BY_ID["huge-prior"])
    assert kernel == "pass" and run in ("pass", "unknown") and numbers == "unknown"


def test_without_data_the_numbers_are_known():
    assert verdicts("xor", XorSpec(data="none", leapfrog=25)) == ("pass", "pass", "pass")
    with planted(SHIFTED):
        assert proof.checks(XorSpec(data="none", leapfrog=25), NEVER)[-1].verdict == "fail"


@pytest.mark.parametrize(
    "changes",
    [
        {"variant": "always_accept"},
        {"variant": "always_accept", "step_size": 0.1},
        {"variant": "no_prior"},
        {"variant": "wrong_temper", "temper": 0.5},
    ],
)
def test_every_mistake_turns_the_kernel_red(changes):
    assert verdicts("xor", XorSpec(**changes))[0] == "fail"


@pytest.mark.parametrize("fault", proof.kernels(XorSpec())[0].faults)
def test_a_fault_in_the_kernel_is_seen(fault):
    (kernel,) = proof.kernels(XorSpec())
    assert badge.overall(proofs(kernel.planted(fault), 0)) == "fail"


def test_maps_of_other_networks_are_seen():
    assert proof.prediction_check(XorSpec(temper=0.5)).verdict == "pass"
    assert proof.prediction_check(XorSpec(temper=0.5, variant="wrong_temper")).verdict == "fail"


def test_a_chain_that_stands_still_has_not_converged():
    with planted(STUCK):
        assert proof.run_checks(chains.study(BY_ID["learn"], NEVER))[0].verdict == "fail"


@pytest.mark.parametrize("activation", ["tanh", "relu", "sigmoid", "linear", "elu"])
def test_exact_draws_stay_exact(activation):
    assert verdicts("xor", XorSpec(activation=activation, units=3))[0] == "pass"


def test_all_variants_are_covered():
    assert set(VARIANTS) == {"exact", "always_accept", "no_prior", "wrong_temper"}


# What follows ---------------------------------------------------------------------------------------------------------


def test_function_space_agrees_where_weights_do_not():
    spec = BY_ID["learn"]
    study = chains.study(spec, NEVER)
    assert study.rhat < 1.02
    assert chains.twins(spec) == 24 * 16 and chains.twins(spec.replace(activation="relu")) == 24


def test_a_study_is_computed_once_and_can_be_cancelled():
    spec = XorSpec(seed=77)
    stopped = threading.Event()
    stopped.set()
    with pytest.raises(InterruptedError):
        chains.study(spec, stopped)
    assert chains.study(SHORT, NEVER) is chains.study(SHORT, NEVER)


@pytest.mark.parametrize("name", ["learn", "own-points"])
def test_panels_and_diagnostics(name):
    spec = BY_ID[name]
    made = figures.panels(spec, NEVER)
    assert [item.title for item in made][:3] == ["Around the data", "Weights against their prior", "Four chains, one prediction"]
    tables = figures.diagnostics(spec, NEVER)
    assert len(tables[0].columns["R-hat"]) == len(chains.WATCHED)


def test_the_questions_have_the_answers_of_the_theory():
    by_id = {question.id: question for question in questions.QUESTIONS}
    assert {question.scenario for question in questions.QUESTIONS} <= set(BY_ID)
    assert by_id["width"].options[by_id["width"].answer(BY_ID["one-unit"])] == "2"
    assert by_id["map"].answer(BY_ID["map"]) == 0
    assert by_id["where"].answer(BY_ID["learn"]) in (0, 2), "never in the clouds"
    for question in questions.QUESTIONS:
        assert question.explain(BY_ID[question.scenario])


# The page -------------------------------------------------------------------------------------------------------------


def test_a_control_changes_the_run():
    app = page("xor")
    app.number_input(key="xor/units/box").set_value(7).run()
    assert not app.exception and not app.error
    assert app.session_state["visit/xor"].spec.units == 7


def test_points_by_keyboard():
    app = page("xor", scenario="own-points")
    app.text_area(key="xor/points/points").set_value("0.5, 0.5, 1\n-0.5, -0.5, 0").run()
    assert app.session_state["visit/xor"].spec.points == ((0.5, 0.5, 1), (-0.5, -0.5, 0))
    app.text_area(key="xor/points/points").set_value("0.5, 0.5, 1\nnonsense").run()
    assert "line 2" in app.error[0].value
    assert len(app.session_state["visit/xor"].spec.points) == 2, "the picture keeps the last good points"


def test_the_clouds_become_own_points():
    app = page("xor")
    app.button(key="xor/edit_these").click().run()
    spec = app.session_state["visit/xor"].spec
    assert spec.data == "points" and len(spec.points) == MAX_POINTS


def test_a_wrong_link_is_named_and_the_page_still_works():
    app = page("xor", v="1", units="99", activation="magic")
    text = " ".join(warning.value for warning in app.warning)
    assert "units" in text and "activation" in text
    assert not app.exception
