"""The lesson on layers that are born and die: its pictures against the recording, its signs against known mistakes."""

from __future__ import annotations

import numpy as np
import pytest

from app.kit.player.scene import decode
from engine.evidence import ModelProbabilities
from engine.judge import overall
from engine.judge.answers import UNSURE
from engine.spec import SpecError
from lessons.families.growing import scenes as growing_scenes
from lessons.families.growing.chains import first_look, study
from lessons.families.growing.checks import checks
from lessons.families.growing.panels import diagnostics
from lessons.families.growing.scenes import picture
from lessons.families.growing.spec import CHAINS
from lessons.layers import panels, questions, scenes
from lessons.layers.spec import SCENARIOS, LayersSpec
from lessons.reproduce import berezowski
from tests.lessons.families import growing as shared
from tests.lessons.pages import NEVER, explained, planted, says, verdicts

SMALL = LayersSpec(corner=3, deepest=3, sweeps=120, burn=20, shown=3, step_size=0.1)
BY_ID = {scenario.id: scenario.spec for scenario in SCENARIOS}
MANY = BY_ID["many"]


@pytest.mark.parametrize(
    "parameter,changes",
    [
        ("deepest", {"deepest": 1}),
        ("width", {"width": 6}),
        ("points", {"data": "points"}),
        ("burn", {"burn": 200, "sweeps": 300}),
        ("variant", {"variant": "slot_once"}),
        ("variant", {"variant": "as_coded", "jump": "redraw"}),
    ],
)
def test_a_wrong_setting_is_named(parameter, changes):
    with pytest.raises(SpecError) as error:
        LayersSpec(**changes)
    assert error.value.parameter == parameter


def test_the_chains_start_at_every_depth():
    starts = LayersSpec().start_sizes()
    assert set(starts) == {1, 2, 3, 4} and len(starts) == 16
    assert np.array_equal(first_look(SMALL).run.recording().start_depth, SMALL.start_sizes())


def test_growing_in_pieces_gives_the_same_bytes():
    shared.growing_in_pieces_gives_the_same_bytes(SMALL)


def test_maps_average_all_networks_of_all_sizes():
    shared.maps_average_all_networks_of_all_sizes(SMALL)


def test_traces_are_those_of_the_average():
    shared.traces_are_those_of_the_average(SMALL)


def test_the_picture_says_what_happened():
    shared.the_picture_says_what_happened(LayersSpec())
    assert scenes.scene(SMALL, None) == scenes.scene(SMALL, 3)


@pytest.mark.parametrize("error,told", [(0.01, "most probable: L = 2"), (0.1, "most probable: not sure")])
def test_the_most_probable_depth_is_named_where_it_leads_by_more_than_errors(monkeypatch, error, told):
    exact = ModelProbabilities(np.array([0.2, 0.45, 0.35]), np.full(3, error))
    monkeypatch.setattr(growing_scenes, "exact_now", lambda _: exact)
    header, _ = decode(picture(first_look(SMALL)))
    words = str(next(readout for readout in header["readouts"] if readout["id"] == "sizes"))
    assert told in words and "exact mean 2.15" in words


def test_a_layer_has_no_slot():
    header, _ = decode(scenes.scene(LayersSpec(), None))
    assert "slots" not in shared.panel_of(header, "ledger")["layers"][0]["labels"]
    assert "p(L)" in shared.panel_of(header, "ledger")["layers"][0]["labels"]
    assert not any("slot" in column["name"] for column in header["table"] if not column["name"].startswith("log "))


def test_the_picture_grows_and_ends_beside_the_exact_answer():
    shared.the_picture_grows_and_ends_beside_the_exact_answer(SMALL.replace(jumps=10))


def test_chains_that_disagree_are_not_held_against_the_exact_answer():
    shared.chains_that_disagree_are_not_held_against_the_exact_answer(LayersSpec().replace(sweeps=50, burn=0, seed=3))


def test_a_picture_that_nobody_wants_is_not_made():
    shared.a_picture_that_nobody_wants_is_not_made(LayersSpec())


def test_what_was_made_before_is_there_at_once():
    shared.what_was_made_before_is_there_at_once(SMALL.replace(seed=4321))


def test_what_is_tried_and_what_lands_is_counted():
    shared.what_is_tried_and_what_lands_is_counted(SMALL.replace(jumps=3))


def test_a_long_run_is_small_enough_to_send():
    shared.a_long_run_is_small_enough_to_send(LayersSpec(corner=2, width=5, deepest=5, burn=50))


@pytest.mark.one_seed  # annealing may know its own error too badly to tell
def test_jumps_agree_with_annealing():
    shared.jumps_agree_with_annealing(SMALL.replace(corner=1, sweeps=1500, burn=100, width=2))


def test_tables_say_what_they_show():
    growth = study(SMALL)
    agree, moves = diagnostics(SMALL, None)
    assert agree.columns["mean"][0] == pytest.approx(growth.sizes[:, growth.burn :].mean())
    assert sum(moves.columns["proposed"]) == CHAINS * (growth.total - growth.burn)
    assert moves.columns["move"] == ["layer birth", "layer death"]


def test_a_jump_that_draws_all_anew_takes_nothing_along():
    growth = study(SMALL.replace(jump="redraw", corner=1, jumps=3))
    recording = growth.run.recording()
    ledger, (chains, sweeps) = recording.ledger, recording.depth.shape
    assert ledger.accepted.any()
    for c, t in [(c, t) for c in range(chains) for t in range(sweeps) if ledger.accepted[c, t, -1]]:
        drawn = ledger.parameters[c, t, -1]
        np.testing.assert_array_equal(recording.theta(c, t), drawn[np.isfinite(drawn)])


def test_points_placed_in_the_stage_become_the_data():
    shared.points_placed_in_the_stage_become_the_data(SMALL)


# The three signs -----------------------------------------------------------------------------------------------------

# kernel, this run, numbers
VERDICTS = {
    "few": ("pass", "not pass", "unknown"),
    "many": ("pass", "fail", "unknown"),
    "noisy": ("pass", "not fail", "not fail"),
    "shallow": ("pass", "not pass", "unknown"),
    "own-points": ("pass", "not fail", "not fail"),
    "end-points": ("fail", "not pass", "unknown"),
    "as-coded": ("fail", "fail", "unknown"),
    "redraw": ("pass", "not pass", "unknown"),
}


@pytest.mark.parametrize("scenario", VERDICTS)
def test_the_three_signs(scenario):
    assert says(verdicts("layers", BY_ID[scenario]), VERDICTS[scenario])


@pytest.mark.long
@pytest.mark.parametrize(
    ("jump", "faults"), [("plain", {"no end points", "no kernel densities"}), ("redraw", {"no end points", "no proposal"})]
)
def test_each_planted_fault_turns_its_sign_red(jump, faults):
    found = planted("layers", SMALL.replace(jump=jump, jumps=10, sweeps=1000, burn=100))
    assert {key: overall(checks) for key, checks in found.items()} == dict.fromkeys(found, "fail")
    assert {name for kind, name in found if kind == "kernel"} == {*faults, "data twice", "data ignored"}


def test_chains_that_keep_the_depth_they_began_with_are_not_converged():
    found = checks(LayersSpec(corner=50, sweeps=1000), NEVER)
    agreement = next(check for check in found if check.name == "chains agree")
    assert agreement.kind == "run" and agreement.verdict == "fail" and agreement.statistic > 1.5


def test_the_ledger_is_checked_against_the_run():
    shared.the_ledger_is_checked_against_the_run(SMALL)


# Why so few jumps land ------------------------------------------------------------------------------------------------


def test_more_data_let_fewer_layers_land_than_units():
    few, many = (panels.births(LayersSpec(), "depth", corner) for corner in (1, 20))
    units = panels.births(LayersSpec(), "width", 20)
    assert many.accepted < 0.1 < few.accepted and many.accepted < 0.5 * units.accepted
    assert np.median(many.log_ratios) < np.median(few.log_ratios) < 0
    assert np.median(many.log_ratios) < np.median(units.log_ratios)


def test_the_histogram_holds_every_birth():
    growth = study(SMALL)
    figure = panels.fit_figure(SMALL, growth)
    found = panels.layer_births(growth)
    assert sum(figure.figure.data[0].y) == len(found.log_ratios)
    assert f"{-np.median(found.log_ratios):.1f} nats" in figure.caption


def test_questions_are_answered_from_the_run(monkeypatch):
    found = panels.acceptance(SMALL)
    recording = study(SMALL).run.recording()
    late = slice(SMALL.burn, None)
    assert found.accepted == pytest.approx(recording.jumped[:, late].sum() / recording.proposed[:, late].sum())
    assert 0.0 < found.error < 0.1 and f"{found.accepted:.1%} ± {2 * found.error:.1%}" in explained("layers", "share", SMALL)
    for share, error, answer in ((0.01, 0.001, 0), (0.05, 0.005, 1), (0.4, 0.02, 3), (0.11, 0.01, UNSURE)):
        seen = panels.Births(found.log_ratios, share, error)
        monkeypatch.setattr(panels, "acceptance", lambda _, seen=seen: seen)
        assert questions._share(SMALL) == answer


def test_the_error_of_a_share_is_that_of_its_chains():
    """Acceptance of independent runs scatters as one run says."""
    spec = LayersSpec(corner=2, width=2)
    runs = [panels.births(spec.replace(seed=seed), "depth", 2) for seed in range(1, 9)]
    scatter = np.std([run.accepted for run in runs], ddof=1)
    told = np.sqrt(np.mean([run.error**2 for run in runs]))
    assert 0.4 < scatter / told < 2.0  # the data differ, too


def test_the_experiments_answer_their_questions():
    specs = {question.id: next(s.spec for s in SCENARIOS if s.id == question.scenario) for question in questions.QUESTIONS}
    assert questions._share(specs["share"]) == 0
    assert questions._width(specs["width"]) == 0
    figure = panels.points_figure(SMALL)
    assert all(len(line.error_y.array) == len(panels.CORNERS) for line in figure.figure.data)


def test_acceptance_falls_with_the_width_here_as_in_print():
    spec = LayersSpec()
    figure = panels.width_figure(spec)
    ours, anew, printed = figure.figure.data
    for line in (ours, anew):
        assert list(line.x) == list(panels.WIDTHS) and line.y[1] - line.y[4] > np.hypot(line.error_y.array[1], line.error_y.array[4])
    assert np.mean(ours.y) > np.mean(anew.y), "what is kept fits"
    assert ours.y[2] == pytest.approx(100.0 * panels.births_on(spec, "depth", *spec.data_set()).accepted)
    rows = {exp.id: exp for exp in berezowski.EXPERIMENTS}
    for units, share in zip(printed.x, printed.y, strict=True):
        told = [rows[f"berezowski-boston-{units}{letter}"].cells[0] for letter in "ab"]
        assert share in [cell.printed for cell in told] and {cell.label for cell in told} == {"accepted across"}


def test_on_many_points_hardly_a_jump_lands():
    growth = study(MANY.replace(sweeps=60, burn=0))
    assert panels.layer_births(growth).accepted < questions.LIMITS[0]
