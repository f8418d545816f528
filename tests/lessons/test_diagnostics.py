"""The lesson on diagnostics: its numbers against other sources, its doctor against what was done, its page."""

from __future__ import annotations

import numpy as np
import pytest

from app.kit import share
from app.kit.player.scene import decode
from app.kit.verdicts import plantable
from engine import diagnostics
from engine.judge import KINDS, overall, proofs
from engine.judge.plant import SHIFTED, STUCK, planted
from engine.spec import SpecError
from engine.targets import FAMILIES
from lessons.diagnostics import analysis, doctor, panels, questions, scenes
from lessons.diagnostics.patients import GALLERY, ILLNESSES, case
from lessons.diagnostics.spec import (
    BIASED,
    FAR_TOGETHER,
    HEALTHY,
    NOT_ERGODIC,
    ONE_MODE,
    PATIENTS,
    SAMPLERS,
    SCENARIOS,
    VIEWS,
    DiagnosticsLesson,
)
from tests.lessons.pages import MOST_BYTES, NEVER, Job, in_view, module, page, says, verdicts

BY_ID = {scenario.id: scenario.spec for scenario in SCENARIOS}


# Spec -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameter,changes",
    [
        ("draws", {"draws": 1501}),
        ("burn", {"burn": 980}),
        ("thin", {"draws": 500, "thin": 20}),
        ("chains", {"chains": 1}),
        ("patient", {"patient": "9"}),
        ("view", {"view": "sideways"}),
        ("formula", {"target": "formula", "formula": "x + y"}),
    ],
)
def test_a_wrong_setting_is_named(parameter, changes):
    with pytest.raises(SpecError) as error:
        DiagnosticsLesson(**changes)
    assert error.value.parameter == parameter


def test_a_start_without_density_is_named():
    with pytest.raises(SpecError) as error:
        scenes.scene(DiagnosticsLesson(target="formula", formula="-x-y where x>0, y>0"))
    assert error.value.parameter == "start_x"


def test_looking_otherwise_is_the_same_run():
    there = HEALTHY.replace(view="plane", burn=100, thin=3, quantity="square")
    assert analysis.simulate(there) is analysis.simulate(HEALTHY)
    heads = [decode(scenes.scene(spec))[0] for spec in (there, HEALTHY, HEALTHY.replace(seed=2))]
    assert heads[0]["run"] == heads[1]["run"] != heads[2]["run"]


def test_the_link_of_a_patient_does_not_tell():
    links = [share.write(BY_ID[f"patient-{n}"]) for n in PATIENTS]
    for link in links:
        link.pop("patient")
    assert all(link == links[0] for link in links)


# Running diagnostics --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("burn,thin", [(0, 1), (137, 1), (50, 7)])
def test_the_classic_r_hat_is_the_textbook_one(burn, thin):
    spec = HEALTHY.replace(burn=burn, thin=thin, quantity="square")
    found = analysis.classic(spec)
    values = analysis.simulate(spec).draws[:, :, 0] ** 2
    for t in (burn + 2 * thin, burn + 40 * thin, spec.draws - 1):
        seen = values[:, burn : t + 1 : thin]
        n = seen.shape[1]
        within, between = seen.var(axis=1, ddof=1).mean(), seen.mean(axis=1).var(ddof=1)
        assert found.count[t] == n
        assert found.within[t] == pytest.approx(within) and found.between[t] == pytest.approx(between)
        assert found.rhat[t] == pytest.approx(np.sqrt(((n - 1) / n * within + between) / within))
    assert np.isnan(found.rhat[: burn + thin]).all()


def test_running_diagnostics_are_those_of_the_draws_so_far():
    spec = HEALTHY.replace(burn=100, thin=2)
    found = analysis.running(spec)
    values = analysis.simulate(spec).draws[:, 100::2, :1]
    for t in (300, 777, spec.draws - 1):
        assert 0 < found.at[t] <= analysis.kept_so_far(spec)[t], "nothing is known before it was drawn"
        summary = diagnostics.summarise(values[:, : found.at[t]])
        assert found.rhat[t] == summary.rhat[0] and found.ess_tail[t] == summary.ess_tail[0]
        assert found.mcse[t] == summary.mcse_mean[0]
    assert found.at[-1] == values.shape[1], "the last look is at all draws"


# What the lesson says -------------------------------------------------------------------------------------------------


def test_r_hat_sees_two_modes_and_not_one():
    both = [analysis.running(BY_ID["two-modes"].replace(seed=seed)) for seed in range(1, 10)]
    assert np.median([run.rhat[-1] for run in both]) > 1.5 and np.median([run.ess_bulk[-1] for run in both]) < 20
    runs = [ONE_MODE.replace(seed=seed) for seed in range(1, 10)]  # in one run of thirty a chain crosses to the other
    together = [analysis.running(spec) for spec in runs]
    assert np.median([run.rhat[-1] for run in together]) < 1.01
    assert np.median([run.ess_bulk[-1] for run in together]) > 1000
    assert np.median([abs(questions.error_in_mcse(spec)) for spec in runs]) > 100
    top, between = (case(ONE_MODE).build_target().log_density(np.array([x, 0.0])) for x in (-4.5, 0.0))
    assert -11.0 < between - top < -9.0, "the density between the hills"


@pytest.mark.parametrize("name", ["two-modes", "patient-2"])
def test_the_first_picture_ends_with_the_numbers_of_the_whole(name):
    spec, job, again = module("diagnostics", "page").LESSON.specs()[name].replace(seed=4711), Job(), Job()
    whole = scenes.grow(spec, job)
    (before, began), (after, ended) = decode(job.blobs[0]), decode(whole)
    assert len(job.blobs) == 1 and before["start"] == after["start"] and whole == scenes.scene(spec)
    for old, new in zip(before["table"], after["table"], strict=True):
        np.testing.assert_array_equal(began[old["values"]][-1], ended[new["values"]][-1])
    assert scenes.grow(spec, again) == whole and not again.blobs


def test_ess_grows_in_a_line_when_healthy_and_not_when_stuck():
    healthy, stuck = analysis.running(HEALTHY), analysis.running(BY_ID["two-modes"])
    half = HEALTHY.draws // 2
    assert 1.6 < healthy.ess_bulk[-1] / healthy.ess_bulk[half] < 2.6
    assert stuck.ess_bulk[-1] / stuck.ess_bulk[half] < 1.2


def test_three_steps_bring_every_chain_to_its_mirror_image_and_back():
    """The proof of the lesson, number by number, and the run that it is about."""
    epsilon = NOT_ERGODIC.step_size
    step = np.array([[1 - epsilon**2 / 2, epsilon], [-epsilon * (1 - epsilon**2 / 4), 1 - epsilon**2 / 2]])
    assert np.array_equal(np.linalg.matrix_power(step, NOT_ERGODIC.steps), -np.eye(2))
    run = analysis.simulate(NOT_ERGODIC)
    mirrored = np.stack([-NOT_ERGODIC.starts(), NOT_ERGODIC.starts()], axis=1)
    np.testing.assert_allclose(run.draws, np.tile(mirrored, (1, NOT_ERGODIC.draws // 2, 1)), atol=1e-9)
    assert run.accepted.all() and run.accept_prob.min() > 1.0 - 1e-9
    assert questions.places(NOT_ERGODIC) == 2 and questions.places(NOT_ERGODIC.replace(steps=4)) > NOT_ERGODIC.draws // 2
    assert questions.places(NOT_ERGODIC.replace(steps=6)) == 1, "a whole turn"


def test_the_classic_r_hat_does_not_see_that_a_chain_is_not_ergodic():
    found, square = analysis.running(NOT_ERGODIC), analysis.running(NOT_ERGODIC.replace(quantity="square"))
    assert analysis.classic(NOT_ERGODIC).rhat[-1] < 1.0 and found.rhat[-1] > 1.5 and found.ess_bulk[-1] > 4 * NOT_ERGODIC.draws
    assert found.mean[-1] == pytest.approx(0.0, abs=1e-9) and square.mean[-1] == pytest.approx(2.5)
    healed = analysis.running(NOT_ERGODIC.replace(steps=4, quantity="square", draws=1500))  # of 100 R-hat may be 1.01 by chance
    assert healed.rhat[-1] < 1.01 and abs(healed.mean[-1] - 1.0) < 4.0 * healed.mcse[-1]


def test_too_little_burn_in_biases_and_too_much_costs_precision():
    found = analysis.burn_in(FAR_TOGETHER)
    best = found.rmse.min()
    assert abs(found.bias[0]) > 1.0 and found.rmse[0] > 20 * best
    assert abs(found.bias[-1]) < 4 * found.rmse[-1] / np.sqrt(found.repeats), "no bias is left"
    assert 1.5 * best < found.rmse[-1] < 5 * best
    assert analysis.classic(FAR_TOGETHER).rhat[-1] < 1.01 < analysis.running(FAR_TOGETHER).rhat[-1] < 1.1


def test_thinning_makes_draws_worth_more_and_the_whole_worth_less():
    found = analysis.thinning(BY_ID["thinning"])
    each = found.ess / found.draws
    assert each[-1] > 5 * each[0] and found.ess[-1] < 0.75 * found.ess[0]


def test_the_biased_sampler_has_nothing_to_show_but_the_bias():
    spec = BY_ID["biased"]
    signs = doctor.examine(spec)
    assert signs.rhat < 1.01 and signs.ess > 1000 and signs.divergent == 0 and signs.ebfmi > 0.3
    wrong, right = (
        np.array([questions.error_in_mcse(spec.replace(seed=seed, broken=broken)) for seed in range(1, 9)]) for broken in ("yes", "no")
    )
    assert wrong.mean() > 4.0 and np.all(wrong > 2.0)
    assert abs(right.mean()) < 4.0 / np.sqrt(len(right)), "the same settings without the bug are right"


@pytest.mark.parametrize(
    "question",
    [
        # in one run of thirty a chain crosses to the other mode
        pytest.param(question, marks=[pytest.mark.one_seed] if question.id == "one-mode" else [])
        for question in questions.QUESTIONS
    ],
    ids=lambda question: question.id,
)
def test_the_runs_answer_as_the_story_says(question):
    right = {"two-modes": 2, "one-mode": 0, "not-ergodic": 0, "far": 1, "thinning": 1, "biased": 2}
    right |= {f"patient-{n}": list(ILLNESSES).index(GALLERY[n].illness) for n in PATIENTS}
    spec = BY_ID[question.scenario]
    assert question.answer(spec) == right[question.id]
    assert any(character.isdigit() for character in question.explain(spec))


@pytest.mark.parametrize("seed", [2, 3, 4])
@pytest.mark.parametrize("number", PATIENTS)
def test_the_doctor_finds_what_was_done(number, seed):
    assert doctor.diagnose(DiagnosticsLesson(patient=number, seed=seed))[0] == GALLERY[number].illness


def test_the_doctor_never_sees_the_truth(monkeypatch):
    monkeypatch.setattr(analysis, "exact", lambda spec: pytest.fail("the truth was asked for"))
    doctor.examine.forget()
    assert doctor.diagnose(BIASED)[0] == "none"


def test_patient_4_recovers_as_its_file_says():
    far = DiagnosticsLesson(patient="4", burn=150)
    assert analysis.running(far).rhat[-1] < 1.03 < analysis.running(far.replace(burn=0)).rhat[-1]


# Checks ---------------------------------------------------------------------------------------------------------------


SEALED = ("unknown", "unknown", "unknown")
VERDICTS = {
    "healthy": ("pass", "pass", "pass"),
    "two-modes": ("pass", "fail", "unknown"),
    "one-mode": ("pass", "fail", "unknown"),  # from starts far apart
    "not-ergodic": ("pass", "fail", "unknown"),  # the kernel keeps the target
    "far": ("pass", "not pass", "unknown"),  # the journey counts as draws
    "thinning": ("pass", "not fail", "not fail"),  # about 400 effective draws, just as many as are asked for
    "biased": ("fail", "pass", "fail"),
} | {f"patient-{n}": SEALED for n in PATIENTS}
OPENED = {
    "1": ("pass", "fail", "unknown"),
    "2": ("pass", "fail", "unknown"),
    "3": ("pass", "pass", "pass"),
    "4": ("pass", "not pass", "unknown"),
    "5": ("unknown", "fail", "unknown"),  # it hardly ever moves, so nothing shows what its moves do
    "6": ("pass", "fail", "not fail"),
    "7": ("pass", "not pass", "unknown"),
    "8": ("fail", "pass", "fail"),
}


@pytest.mark.parametrize("name", BY_ID)
def test_the_three_signs(name):
    assert says(verdicts("diagnostics", BY_ID[name]), VERDICTS[name])


@pytest.mark.parametrize("number", PATIENTS)
def test_the_three_signs_of_an_opened_file(number):
    assert says(verdicts("diagnostics", DiagnosticsLesson(patient=number, file="open")), OPENED[number])


def test_a_sealed_file_says_nothing_of_its_kernel():
    """All three signs wait with the same words, no kernel is named, and none can be planted with faults."""
    lesson = module("diagnostics", "page").LESSON
    for number in PATIENTS:
        spec = BY_ID[f"patient-{number}"]
        found = [*analysis.audit(spec, NEVER), *analysis.checks(spec, NEVER)]
        assert [(check.kind, check.sentence) for check in found] == [(kind, analysis.WAITS) for kind in KINDS]
        assert plantable(lesson, spec, "kernel") == {} and lesson.runs(spec) == lesson.runs(BY_ID["patient-1"])


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_kernels_that_are_wrong_on_purpose_fail(sampler):
    settings = {"step_size": 1.2, "steps": 3} if sampler == "hmc" else {"step_size": 0.1}
    wrong = HEALTHY.replace(sampler=sampler, broken="yes", correlation=0.0, scale=2.0, **settings)
    if sampler == "gibbs":
        wrong = wrong.replace(scale=0.3)
    assert verdicts("diagnostics", wrong)[0] == "fail"


@pytest.mark.parametrize(
    "sampler,fault",
    [
        ("metropolis", "drop_rejections"),
        ("metropolis", "stale_log_density"),
        ("hmc", "always_accept"),
        ("hmc", "euler"),
        ("nuts", "aliased_momentum"),
        ("nuts", "final_accept"),
        ("gibbs", "window"),
    ],
)
def test_planted_faults_turn_the_kernel_red(sampler, fault):
    (kernel,) = analysis.kernels(HEALTHY.replace(sampler=sampler))
    assert overall(proofs(kernel.planted(fault), 1)) == "fail"


@pytest.mark.parametrize("fault,kind", [(STUCK, "run"), (SHIFTED, "numbers")])
def test_planted_faults_turn_run_and_numbers_red(fault, kind):
    with planted(fault):
        found = analysis.checks(HEALTHY, NEVER)
    assert overall([check for check in found if check.kind == kind]) == "fail"


def test_a_sealed_patient_has_no_verdict_and_shows_no_truth():
    sealed = BY_ID["patient-8"]
    assert verdicts("diagnostics", sealed) == ("unknown",) * 3
    assert "exact" not in panels.diagnostics(sealed, NEVER).columns
    assert all("bias" not in figure.alt for figure in panels.panels(sealed, NEVER))
    for view in VIEWS:
        header, _ = decode(scenes.scene(sealed.replace(view=view)))
        layers = [layer for panel in header["panels"] for layer in panel["layers"]]
        assert not any("exact" in (layer["label"] or "") for layer in layers) and "NUTS" not in str(header)
        assert all(layer["kind"] != "contour" for layer in layers)


# Scenes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", BY_ID)
def test_scenes_encode_and_are_small(name, view):
    spec = BY_ID[name].replace(view=view)
    header, _ = decode(blob := scenes.scene(spec))
    assert len(blob) < MOST_BYTES
    assert header["steps"] == spec.draws and len(header["panels"]) == 5


@pytest.mark.parametrize("target", FAMILIES)
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_every_sampler_on_every_target_can_be_shown(sampler, target):
    for changes in ({}, {"step_size": 5.0, "scale": 100.0, "quantity": "square", "burn": 30, "chains": 2}):
        spec = DiagnosticsLesson(sampler=sampler, target=target, draws=100, spread=1.0, **changes)
        view = VIEWS[(len(sampler) + len(target)) % len(VIEWS)]  # any one: they share no code with the run
        assert len(scenes.scene(spec.replace(view=view))) < MOST_BYTES
        assert doctor.diagnose(spec)[0] in ILLNESSES
        panels.diagnostics(spec, NEVER)


def test_chains_that_never_move_can_be_shown():
    frozen = DiagnosticsLesson(sampler="metropolis", scale=100.0, correlation=0.999, draws=100, seed=5)
    scenes.scene(frozen)
    assert panels.panels(frozen, NEVER) and doctor.diagnose(frozen)[0] == "large"


def test_the_largest_scene_is_small_enough():
    largest = DiagnosticsLesson(target="funnel", step_size=0.5, spread=1.0, draws=1500, view="plane")
    assert len(scenes.scene(largest)) < MOST_BYTES


def test_the_arithmetic_adds_up():
    spec = BY_ID["two-modes"]
    header, arrays = decode(scenes.scene(spec))
    lines = {line["id"]: {k: arrays[v["array"]] for k, v in line["values"].items()} for line in header["readouts"]}
    after = slice(10, None)
    variances = np.stack([lines["within"][f"v{c}"] for c in range(1, 5)])
    means = np.stack([lines["between"][f"v{c}"] for c in range(1, 5)])
    assert np.allclose(variances.mean(axis=0)[after], lines["within"]["w"][after], rtol=1e-5)
    assert np.allclose(means.var(axis=0, ddof=1)[after], lines["between"]["b"][after], rtol=1e-4)
    line = {name: values[after].astype(float) for name, values in lines["classic"].items()}
    assert np.allclose(np.sqrt((line["m"] / line["n"] * line["w"] + line["b"]) / line["w"]), line["r"], rtol=1e-5)


def ranks_on_stage(spec: DiagnosticsLesson) -> np.ndarray:
    """(chains, draws) the bin, of ten, of each draw's rank."""
    header, arrays = decode(scenes.scene(spec))
    ranks = next(panel for panel in header["panels"] if panel["id"] == "ranks")
    return np.stack([arrays[layer["values"]] for layer in ranks["layers"] if layer["kind"] == "counts"])


def test_the_rank_plot_counts_each_chain():
    bins = ranks_on_stage(BY_ID["two-modes"])
    assert np.all(np.bincount(bins.ravel(), minlength=10) == bins.size // 10), "all chains together are flat"


@pytest.mark.one_seed  # two chains on each hill; in one run of thirty a chain crosses to the other
def test_chains_on_different_hills_share_no_rank():
    spec = BY_ID["two-modes"]
    bins = ranks_on_stage(spec)
    left = analysis.simulate(spec).draws[:, -1, 0] < 0
    assert bins[left].max() < 5 <= bins[~left].min()


# Panels and page ------------------------------------------------------------------------------------------------------


def test_panels_and_diagnostics_say_what_they_show():
    *figures, methods = panels.panels(HEALTHY, NEVER)
    assert methods.title == "For a methods section" and "No transitions diverged" in methods.text
    assert len(figures) == 3 and all(figure.alt and figure.caption for figure in figures)
    table = panels.diagnostics(HEALTHY, NEVER)
    assert table.columns["chain"] == ["all chains", "chain 1", "chain 2", "chain 3", "chain 4"]
    assert table.columns["gradients"][0] == sum(table.columns["gradients"][1:])
    assert "gradient" in table.caption and "R-hat of one chain compares its halves" in table.caption


def test_a_diagnosis_is_locked_before_the_file_opens():
    app = page("diagnostics", scenario="patient-2")
    text = " ".join(element.value for element in app.markdown)
    assert "HMC" not in text and app.session_state["visit/diagnostics"].spec.sealed
    app.radio(key="diagnostics/predict/patient-2/choice").set_value(list(ILLNESSES).index("modes")).run()
    app.button(key="diagnostics/predict/patient-2/lock").click().run()
    text = " ".join(element.value for element in app.markdown)
    assert "You were right" in text and "HMC" in text
    seen = app.session_state["visit/diagnostics"]
    assert seen.spec.file == "open" and seen.scenario == "patient-2"
    app.button(key="diagnostics/sandbox").click().run()
    spec = app.session_state["visit/diagnostics"].spec
    assert not app.exception and spec.patient == "none" and spec.sampler == "hmc" and spec.separation == 9.0


def test_a_control_changes_what_is_left_out():
    app = page("diagnostics")
    app.number_input(key="diagnostics/burn/box").set_value(300).run()
    assert not app.exception and not app.error
    assert app.session_state["visit/diagnostics"].spec.burn == 300


def test_a_wrong_link_is_named_and_the_page_still_works():
    app = page("diagnostics", v="1", thin="0", sampler="magic")
    text = " ".join(warning.value for warning in app.warning)
    assert "thin" in text and "sampler" in text
    assert not app.exception


def test_no_card_tells_r_hat_before_the_prediction_is_locked():
    assert in_view(scenes.scene(BY_ID["two-modes"])) == {"draw", "within", "between"}
    assert all(line.get("held") for line in decode(scenes.scene(BY_ID["two-modes"]))[0]["say"])
