"""The lesson on the missing factor: what wrong schemes tend to against chains that run them, the ledger put right, the
badge per scheme, and the picture.
"""

from __future__ import annotations

import math
import time
from functools import lru_cache

import numpy as np
import pytest

import datasets
import engine
from app.kit.charts import Table
from app.kit.player.scene import decode
from engine.evidence import model_probabilities
from engine.judge import overall
from engine.jumps.shares import running_shares, shares
from engine.spec import SpecError
from lessons.families.growing.ledger import jumps_of
from lessons.missing_factor import analysis, panels, questions, scenes
from lessons.missing_factor.spec import SCENARIOS, SCHEMES, MissingSpec
from tests.lessons.pages import MOST_BYTES, NEVER, Job, planted, says, verdicts

BY_ID = {scenario.id: scenario.spec for scenario in SCENARIOS}
SMALL = MissingSpec(data="none", highest=5)


@pytest.mark.parametrize(
    "parameter,changes",
    [
        ("variant", {"variant": "none"}),
        ("data", {"data": "moons"}),
        ("highest", {"highest": 2}),
        ("burn", {"sweeps": 100, "burn": 60}),
        ("sweeps", {"variant": "as_coded", "sweeps": 3000}),
    ],
)
def test_a_wrong_setting_is_named(parameter, changes):
    with pytest.raises(SpecError) as error:
        MissingSpec(**changes)
    assert error.value.parameter == parameter


FEW, FEW_TEMPER, FEW_WIDTHS = 8, 2.0, 3  # a small posterior, of which prior draws give the exact answer
PRIOR_DRAWS = 100_000


@lru_cache(maxsize=1)
def small_exact():
    """p(k | 8 points) and its error, from the mean likelihood of prior draws."""
    x, y, _ = datasets.xor(FEW // 4, seed=1)
    logs, errors = [], []
    for k in range(1, FEW_WIDTHS + 1):
        network = engine.network(2, 2, width=k, temper=FEW_TEMPER)
        draws = network.prior_draws(PRIOR_DRAWS, 1 + 1000 * k)
        likelihood = np.exp(network.log_likelihood(x, y).log_density_many(draws))
        logs.append(np.log(likelihood.mean()))
        errors.append(likelihood.std() / likelihood.mean() / np.sqrt(PRIOR_DRAWS))
    return model_probabilities(logs, errors)


# What a wrong scheme tends to -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "variant,jump,odds",
    [
        ("no_end_points", "plain", [1, 2, 2, 2, 1]),
        ("no_jacobian", "rescaled", [k**k / math.factorial(k) for k in range(1, 6)]),
        ("no_jacobian", "plain", [1, 1, 1, 1, 1]),
        ("slot_once", "plain", [1 / math.factorial(k) * (2 if k == 5 else 1) for k in range(1, 6)]),
        ("exact", "rescaled", [1, 1, 1, 1, 1]),
    ],
)
def test_what_a_scheme_tends_to_without_data_is_what_its_chains_do(variant, jump, odds):
    spec = SMALL.replace(variant=variant, jump=jump)
    tends = analysis.limit(spec, analysis.exact(spec), NEVER)
    expected = np.array(odds) / np.sum(odds)
    np.testing.assert_allclose(tends.shares, expected, rtol=1e-12)
    recording = run(spec, draws=3000)
    drawn = shares(recording.width, 1, 5)
    assert np.all(np.abs(drawn.mean - expected) < 4 * drawn.mcse)
    assert np.nanmax(drawn.mcse) < 0.012


def run(spec, draws, temper=analysis.TEMPER, data=None, jumps=9, **settings):
    """An odd number of jumps: where all are accepted, k alternates between odd and even."""
    network = engine.network(2, 2, width=(1, spec.highest), temper=temper)
    x, y = data or analysis.data_of(spec)
    return engine.sample_architecture(
        network,
        x,
        y,
        spec.jump,
        chains=2,
        draws=draws,
        warmup=100,
        jumps=jumps,
        seed=4,
        variant=spec.variant,
        **{**analysis.WITHIN, **settings},
    )


@pytest.mark.parametrize("variant,jump", [("no_end_points", "plain"), ("no_jacobian", "rescaled")])
def test_with_data_the_exact_answer_is_multiplied_by_the_known_factor(variant, jump):
    """On eight points, where prior draws give the exact p(k)."""
    known = small_exact()
    spec = MissingSpec(variant=variant, jump=jump, highest=FEW_WIDTHS)
    tends = analysis.limit(spec, known, NEVER).shares
    x, y, _ = datasets.xor(FEW // 4, seed=1)
    drawn = shares(run(spec, 2500, FEW_TEMPER, (x, y)).width, 1, FEW_WIDTHS)
    assert np.all(np.abs(drawn.mean - tends) < 4 * np.hypot(drawn.mcse, 2 * known.error))
    assert np.any(np.abs(drawn.mean - known.probability) > 6 * drawn.mcse)


def test_births_that_survive_a_factor_that_is_left_over():
    """c(k) from a ledger against its definition by prior and posterior draws, and its bounds."""
    spec = MissingSpec(highest=3)
    x, y, _ = datasets.xor(FEW // 4, seed=1)
    right = analysis.right(spec)
    recording = run(right, 2000, FEW_TEMPER, (x, y), detail="jumps")
    kept = analysis.survivors(recording, 3)
    assert np.all((1 / np.arange(2, 4) <= kept + 1e-12) & (kept <= 1))
    weights = np.concatenate([[0.0], np.cumsum(np.log(kept))])
    tends = analysis._normalised(weights, small_exact().probability)
    drawn = shares(run(spec, 2500, FEW_TEMPER, (x, y), jumps=1, steps=20).width, 1, 3)
    assert np.all(np.abs(drawn.mean - tends) < 4.5 * drawn.mcse + 0.01), (drawn.mean, tends)
    assert abs(drawn.mean[0] - small_exact().probability[0]) > 0.1  # the right answer is far from it


def test_only_a_run_can_tell_where_densities_are_dropped():
    for variant in ("no_kernel_densities", "as_coded"):
        assert analysis.limit(BY_ID["right"].replace(variant=variant), model_probabilities(np.zeros(16)), NEVER) is None


# The ledger -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scenario", ["slot", "ends", "jacobian"])
def test_the_ledger_put_right_is_that_of_the_right_scheme(scenario):
    """The first jump from the same start with the same random numbers, by both schemes."""
    spec = BY_ID[scenario]
    growing = analysis.Growing(spec, 2).advance(2)
    for chain in range(analysis.CHAINS):
        wrong = jumps_of(growing.scheme.recording(), chain, [0])
        true = jumps_of(growing.right.recording(), chain, [0])
        np.testing.assert_allclose(analysis.put_right(spec, wrong), true.factors, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("variant", SCHEMES)
def test_a_jump_and_its_way_back_cancel_unless_the_slot_is_counted_once(variant):
    spec = MissingSpec(variant=variant, jump="rescaled" if variant == "no_jacobian" else "plain", sweeps=100, burn=0)
    growing = analysis.Growing(spec, 6).advance(6)
    jumps = jumps_of(growing.scheme.recording(), 7)
    left = jumps.factors.sum(axis=1) + analysis.way_back(spec, jumps).sum(axis=1)
    large = np.maximum(jumps.before, jumps.after)
    np.testing.assert_allclose(left, -np.log(large) if variant in ("slot_once", "as_coded") else 0.0, atol=1e-9)


# The three signs -----------------------------------------------------------------------------------------------------

# kernel, this run, numbers
VERDICTS = {
    "no-data": ("fail", "not fail", "not pass"),
    "slot": ("fail", "not pass", "unknown"),
    "ends": ("fail", "not pass", "unknown"),
    "jacobian": ("fail", "not fail", "not pass"),
    "densities": ("fail", "fail", "unknown"),
    "as-coded": ("fail", "fail", "unknown"),
    "noisy": ("fail", "fail", "unknown"),
    "right": ("pass", "not pass", "unknown"),
}


@pytest.mark.parametrize("scenario", VERDICTS)
def test_the_three_signs(scenario):
    assert says(verdicts("missing-factor", BY_ID[scenario]), VERDICTS[scenario])


@pytest.mark.long
def test_each_planted_fault_turns_its_sign_red():
    found = planted("missing-factor", SMALL.replace(variant="exact", data="noisy", corner=5, highest=3))
    said = {key: overall(checks) for key, checks in found.items()}
    numbers = {key for key in said if key[0] == "numbers"}  # of short chains: R-hat may leave them open
    assert {key: said[key] for key in said if key not in numbers} == dict.fromkeys(said.keys() - numbers, "fail")
    assert all(said[key] != "pass" for key in numbers)
    faults = {"no end points", "slot once", "no kernel densities", "data twice", "data ignored"}
    assert {name for kind, name in found if kind == "kernel"} == faults


def test_a_jacobian_of_one_cannot_be_forgotten():
    spec = MissingSpec(variant="no_jacobian")
    assert "this scheme is right" in analysis.runs(spec)
    assert np.ptp(analysis.log_weights(spec)) == 0.0
    assert verdicts("missing-factor", spec.replace(corner=5, sweeps=50, burn=0))[0] == "pass"


def test_no_scheme_that_misses_a_factor_has_a_kernel_that_can_pass():
    for variant in SCHEMES[1:]:
        (kernel,) = analysis.kernels(MissingSpec(variant=variant, jump="rescaled", sweeps=100, burn=10))
        assert kernel.mistake == analysis.WRONG


# The picture ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scenario", list(BY_ID))
def test_the_first_picture_is_small_and_says_what_the_run_says(scenario):
    spec = BY_ID[scenario]
    blob = scenes.scene(spec, None)
    assert len(blob) < MOST_BYTES
    begin = time.perf_counter()
    scenes.scene(spec, None)
    assert time.perf_counter() - begin < 0.3  # 0.02 on a quiet machine
    header, arrays = decode(blob)
    growing = analysis.first_look(spec)
    at = analysis.times(spec, growing.sweeps)
    assert header["steps"] == len(at)
    shown = next(panel for panel in header["panels"] if panel["id"] == "sizes")
    rows = running_shares(growing.scheme.recording().width, 1, spec.highest, spec.burn)[at]
    np.testing.assert_allclose(arrays[shown["layers"][0]["values"]], rows, atol=1e-6)
    ids = {panel["id"] for panel in header["panels"]}
    assert ("right" in ids) == (spec.variant != "exact")


def test_the_picture_grows_and_ends_with_what_the_scheme_tends_to():
    spec = BY_ID["no-data"].replace(sweeps=120, burn=20)
    job = Job()
    last, arrays = decode(scenes.grow(spec, job))
    assert all(len(blob) < MOST_BYTES for blob in job.blobs)
    steps = [decode(blob)[0]["steps"] for blob in job.blobs]
    assert steps[0] == steps[1] == analysis.BEGINNING, "it waits for no more"
    assert steps == sorted(steps) and last["total"] is None
    few, some = decode(job.blobs[0])
    traces = [next(panel for panel in each["panels"] if panel["id"] == "traces")["layers"] for each in (few, last)]
    begun, ended = ({(line["role"], line["dash"]): line["ys"] for line in lines} for lines in traces)
    assert len(begun) == analysis.SHOWN + 1 < analysis.CHAINS and f"k of {len(begun)} chains" in str(few), "nor for all chains"
    for line, ys in begun.items():
        np.testing.assert_array_equal(some[ys], arrays[ended[line]][: analysis.BEGINNING], err_msg="a chain goes on as it began")
    assert last["steps"] == steps[-1] == len(analysis.times(spec, 120))
    layers = next(panel for panel in last["panels"] if panel["id"] == "sizes")["layers"]
    (rings,) = (layer for layer in layers if "what this scheme tends to" in (layer.get("labels") or []))
    places = arrays[rings["points"]]
    assert rings["show"]["what"] == "upto" and np.isnan(places[: -spec.highest]).all(), "not before the end: it is asked for"
    tends = analysis.limit(spec, analysis.exact(spec), NEVER)
    assert places[-spec.highest :, 1] == pytest.approx(tends.shares, rel=1e-5)


def test_a_picture_that_nobody_wants_is_not_made():
    job = Job()
    job.cancelled = True
    assert scenes.grow(BY_ID["slot"], job) is None and job.blobs == []


def test_nothing_beside_the_scheme_tells_where_the_right_one_is(monkeypatch):
    """Its histogram is asked about beside this picture."""
    monkeypatch.setattr(scenes, "known_now", lambda spec: model_probabilities(np.zeros(spec.highest)))
    header, _ = decode(scenes.scene(BY_ID["slot"], None))
    kinds = {panel["id"]: [layer["kind"] for layer in panel["layers"]] for panel in header["panels"]}
    assert kinds["sizes"] == ["bars"] and "points" in kinds["right"]
    assert "all factors in place" not in str(header["say"]) and "right" not in str(header["readouts"])


# Prose ----------------------------------------------------------------------------------------------------------------


def test_what_the_questions_say():
    specs = {question.id: (question, BY_ID[question.scenario]) for question in questions.QUESTIONS}
    question, spec = specs["no-data"]
    assert question.options[question.answer(spec)] == "at k = 1"
    assert "58%" in question.explain(spec) and "29%" in question.explain(spec)
    question, spec = specs["undo"]
    assert question.options[question.answer(spec)] == "1/6" and "1/6" in question.explain(spec)


def test_the_hump_and_the_posterior():
    """“A hump near 5”, and a right scheme at the upper end, on the experiment of the thesis."""
    spec = BY_ID["slot"]
    question = next(question for question in questions.QUESTIONS if question.id == "peak")
    assert question.options[question.answer(spec)] == "at 13 or more"
    assert "by annealing" in question.explain(spec).lower()
    runs = analysis.study(spec, NEVER)
    hump = np.bincount(runs.scheme.width[:, runs.burn :].ravel()).argmax()
    assert 4 <= hump <= 6
    assert panels.diagnostics(spec, NEVER).columns["scheme"] == ["this scheme", "all factors in place"]


def test_dropped_densities_let_the_ratio_swing():
    """As the scenario “as coded” explains: by more than the factor 1/(k + 1) weighs, both ways."""
    growing = analysis.Growing(BY_ID["as-coded"], 12).advance(12)
    ledger = growing.scheme.recording().ledger
    births = ledger.log_ratio[ledger.move == 0]
    assert np.quantile(births, 0.8) > 0.0
    assert np.quantile(births, 0.8) - np.quantile(births, 0.2) > 2 * math.log(8)


def test_panels_of_a_small_range():
    made = panels.panels(SMALL.replace(variant="slot_once", sweeps=60, burn=10), NEVER)
    (table,) = (item for item in made if isinstance(item, Table) and "most probable k" in item.columns)
    assert table.columns["most probable k"][:2] == [1, 1]
    assert len(table.columns["scheme"]) == len(SCHEMES)
    assert not panels.predictive(SMALL, analysis.study(SMALL, NEVER)), "there are no points to leave out"


def test_points_left_out_of_the_scheme():
    spec = SMALL.replace(data="xor", sweeps=60, burn=10)
    table = panels.predictive(spec, analysis.study(spec, NEVER))[0]
    assert isinstance(table, Table) and table.columns["estimate"] == ["PSIS-LOO", "WAIC"]
