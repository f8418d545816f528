"""The lesson on neurons that are born and die: its pictures against the recording, its signs against known mistakes."""

from __future__ import annotations

import numpy as np
import pytest

from app.kit import story
from engine.judge import overall, proofs
from engine.judge.answers import UNSURE
from engine.spec import SpecError
from lessons.families.growing.chains import Growth, first_look, study, timeline
from lessons.families.growing.checks import kernels
from lessons.families.growing.evidence import quick_evidence
from lessons.families.growing.ledger import jumps_of
from lessons.families.growing.spec import COSTLY
from lessons.neurons import questions, scenes
from lessons.neurons.spec import SCENARIOS, WORDS, NeuronsSpec
from tests.lessons.families import growing as shared
from tests.lessons.pages import explained, planted, says, verdicts

BY_ID = {scenario.id: scenario.spec for scenario in SCENARIOS}
SMALL = NeuronsSpec(corner=5, widest=5, sweeps=120, burn=20, shown=3, temper=1.0, step_size=0.2)


@pytest.mark.parametrize(
    "parameter,changes",
    [
        ("widest", {"widest": 1}),
        ("widest", {"widest": 17}),
        ("points", {"points": ((0.0, 0.0, 2),)}),
        ("points", {"points": ((9.0, 0.0, 1),)}),
        ("points", {"data": "points"}),
        ("burn", {"burn": 200, "sweeps": 300}),
        ("variant", {"variant": "no_jacobian"}),
        ("shown", {"shown": 17}),
        ("jumps", {"jumps": 20, "sweeps": 5000}),
    ],
)
def test_a_wrong_setting_is_named(parameter, changes):
    with pytest.raises(SpecError) as error:
        NeuronsSpec(**changes)
    assert error.value.parameter == parameter


def test_the_chains_start_at_every_width():
    assert NeuronsSpec().start_sizes() == list(range(1, 17))
    first = first_look(SMALL)
    assert np.array_equal(first.run.recording().start_width, SMALL.start_sizes())


def test_growing_in_pieces_gives_the_same_bytes():
    shared.growing_in_pieces_gives_the_same_bytes(SMALL)


def test_maps_average_all_networks_of_all_sizes():
    shared.maps_average_all_networks_of_all_sizes(SMALL)


def test_traces_are_those_of_the_average():
    shared.traces_are_those_of_the_average(SMALL)


def test_timeline_and_maps_are_few():
    shared.timeline_and_maps_are_few()


@pytest.mark.parametrize("spec", [NeuronsSpec(), SMALL.replace(jump="rescaled"), SMALL.replace(within="none", jumps=3)])
def test_the_picture_says_what_happened(spec):
    shared.the_picture_says_what_happened(spec)
    assert scenes.scene(spec, None) == scenes.scene(spec, 3)


def test_the_picture_grows_and_ends_beside_the_exact_answer():
    shared.the_picture_grows_and_ends_beside_the_exact_answer(SMALL.replace(jumps=10))


def test_chains_that_disagree_are_not_held_against_the_exact_answer():
    shared.chains_that_disagree_are_not_held_against_the_exact_answer(NeuronsSpec().replace(sweeps=50, burn=0, seed=3))


def test_a_picture_that_nobody_wants_is_not_made():
    shared.a_picture_that_nobody_wants_is_not_made(NeuronsSpec())


def test_what_was_made_before_is_there_at_once():
    shared.what_was_made_before_is_there_at_once(SMALL.replace(seed=4321))


def test_what_is_tried_and_what_lands_is_counted():
    shared.what_is_tried_and_what_lands_is_counted(SMALL.replace(jumps=3))


def test_a_long_run_is_small_enough_to_send():
    shared.a_long_run_is_small_enough_to_send(NeuronsSpec(corner=5, burn=50))


@pytest.mark.one_seed  # annealing may know its own error too badly to tell
def test_jumps_agree_with_annealing():
    shared.jumps_agree_with_annealing(SMALL.replace(sweeps=1500, widest=3, burn=100))


def test_panels_and_tables_say_what_they_show():
    shared.panels_and_tables_say_what_they_show(SMALL)


def test_a_stopped_study_is_not_kept():
    shared.a_stopped_study_is_not_kept(SMALL)


def test_points_placed_in_the_stage_become_the_data():
    shared.points_placed_in_the_stage_become_the_data(SMALL)


# The three signs -----------------------------------------------------------------------------------------------------

# kernel, this run, numbers
VERDICTS = {
    "xor": ("pass", "not pass", "unknown"),
    "ten": ("pass", "pass", "pass"),
    "noisy": ("pass", "not pass", "unknown"),
    "few-units": ("pass", "not pass", "unknown"),
    "own-points": ("pass", "fail", "unknown"),
    "slot-once": ("fail", "not pass", "unknown"),
    "end-points": ("fail", "not pass", "unknown"),
    "no-jacobian": ("fail", "not fail", "not pass"),
    "as-coded": ("fail", "fail", "unknown"),
}


@pytest.mark.parametrize("scenario", VERDICTS)
def test_the_three_signs(scenario):
    assert says(verdicts("neurons", BY_ID[scenario]), VERDICTS[scenario])


@pytest.mark.long
def test_each_planted_fault_turns_its_sign_red():
    found = planted("neurons", SMALL.replace(jumps=10, sweeps=1000, burn=100))
    assert {key: overall(checks) for key, checks in found.items()} == dict.fromkeys(found, "fail")
    faults = {"no end points", "slot once", "no kernel densities", "data twice", "data ignored"}
    assert {name for kind, name in found if kind == "kernel"} == faults


def test_a_forgotten_jacobian_is_seen():
    kernel, *_ = kernels(SMALL.replace(jump="rescaled"))
    assert "no_jacobian" in kernel.faults
    assert {check.verdict for check in proofs(kernel.planted("no_jacobian"))} == {"fail"}


def test_the_ledger_is_checked_against_the_run():
    shared.the_ledger_is_checked_against_the_run(SMALL)


# Questions ------------------------------------------------------------------------------------------------------------


def test_where_the_chains_are_is_answered_by_annealing():
    spec = SMALL.replace(widest=8)
    found = quick_evidence(spec.network(), *spec.data_set())
    share = found.probabilities(spec.log_prior()).probability.reshape(4, 2).sum(axis=1)
    assert questions._where(spec) in (int(share.argmax()), UNSURE)
    assert f"{share.max():.0%}" in explained("neurons", "where", spec)


def test_the_flux_is_answered_by_chains_that_agree(monkeypatch):
    spec = SMALL.replace(widest=8, jumps=10)
    run = questions.counted(spec)
    asked, granted = run.asked.sum(axis=0), run.granted.sum(axis=0)
    difference, error = questions._flux_difference(run)
    assert difference == pytest.approx(granted[0] / asked[0] - granted[1] / asked[1]) and 0 < error < 0.1
    monkeypatch.setattr(questions, "AGREE", 2.0)
    assert f"{granted[0] / asked[0]:.0%}" in explained("neurons", "flux", spec)
    for seen, answer in (((0.2, 0.01), 0), ((-0.2, 0.01), 1), ((0.01, 0.001), 2), ((0.06, 0.01), UNSURE)):
        monkeypatch.setattr(questions, "_flux_difference", lambda _, seen=seen: seen)
        assert questions._flux(spec) == answer
    monkeypatch.setattr(questions, "AGREE", 0.9)
    assert questions._flux(spec) == questions._slot(spec) == UNSURE
    assert "R-hat" in explained("neurons", "flux", spec) and "R-hat" in explained("neurons", "slot", spec)


def test_the_slot_counted_once_makes_networks_small():
    """On the scenario of the question."""
    spec = next(scenario.spec for scenario in SCENARIOS if scenario.id == "slot-once")
    assert questions._slot(spec) == 0
    right, wrong, error, agreement = questions._means(spec)
    assert right - wrong > 4.0 and error < 0.3 and agreement <= questions.AGREE
    assert f"{wrong:.1f} instead of {right:.1f}" in explained("neurons", "slot", spec)


def test_the_experiment_answers_every_question():
    assert questions._decides(BY_ID["xor"]) == 1
    assert questions._where(BY_ID["ten"]) == 3 and questions._flux(BY_ID["ten"]) == 0


def test_the_fit_decides_where_nothing_else_is_left_over():
    """At the ends the choice of the move counts too, and a rescaling jump has a Jacobian."""
    assert questions._decides(SMALL.replace(widest=8)) == 1
    assert questions._decides(SMALL.replace(widest=8, jump="rescaled")) == 3
    found = jumps_of(first_look(SMALL).run.recording(), SMALL.shown - 1, np.arange(16))
    first = found.factors[np.flatnonzero(found.birth & ~found.accepted)[0]]
    assert f"log r is {first.sum():+.2f}".replace("-", "−") in explained("neurons", "decides", SMALL)
    rescaled = explained("neurons", "decides", SMALL.replace(widest=8, jump="rescaled"))
    assert "No factor alone" in rescaled and "cancel" not in rescaled


def test_what_the_story_plays_is_what_explains_it():
    """The stage goes on to more sweeps than explanations are made of; it rests where they end."""
    spec = BY_ID["ten"]
    played = {step.staging.answer.ends for step in story.read(WORDS.folder / "story.md") if step.scenario == "ten"}
    assert {int(timeline(spec.sweeps)[int(end) - 1]) for end in played} == {study(spec).sweeps}
    assert np.array_equal(Growth(spec).advance(40).sizes, study(spec).sizes[:, :40])


def test_every_scenario_can_be_pictured():
    for scenario in SCENARIOS:
        if scenario.spec.variant not in COSTLY:
            assert len(scenes.scene(scenario.spec, None)) < shared.MOST_BYTES, scenario.id
