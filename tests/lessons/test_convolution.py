"""The convolution lesson: its pictures against the definition, its signs against known mistakes, its claims."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from app.kit.player.scene import decode
from engine.judge import convolution as judge
from engine.judge import overall
from engine.spec import SpecError
from engine.variational.convolution import shifted
from lessons.convolution import analysis, panels, questions, scenes, training
from lessons.convolution.analysis import SHIFTS
from lessons.convolution.spec import KERNELS, SCENARIOS, VARIANTS, ConvolutionLesson
from tests.lessons.pages import MOST_BYTES, NEVER, Job, goes_on_from_disk, page, planted, verdicts

BY_ID = {scenario.id: scenario.spec for scenario in SCENARIOS}
FEW = 5  # epochs


def frames(header: dict, arrays: list, panel: str) -> np.ndarray:
    """(F, h, w) the heat map of a panel, the top row first, in its own units."""
    layer = next(each for each in header["panels"] if each["id"] == panel)["layers"][0]
    values = arrays[layer["frames"]][:, ::-1].astype(float)
    return layer["low"] + values / 255.0 * (layer["high"] - layer["low"])


# Pictures -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BY_ID)
def test_a_picture_is_light_enough(name):
    assert len(scenes.scene(BY_ID[name])) < MOST_BYTES


def test_the_map_is_filled_with_the_sums_of_the_window():
    spec = BY_ID["kernel"]
    header, arrays = decode(scenes.scene(spec))
    image, kernel = np.pad(analysis.image_of(spec).astype(float), 1), np.array(KERNELS["upright"])
    true = np.array([[(image[i : i + 3, j : j + 3] * kernel).sum() for j in range(8)] for i in range(8)])
    table = {column["name"]: arrays[column["values"]] for column in header["table"]}
    assert table["written"].reshape(8, 8) == pytest.approx(true, abs=1e-6)
    shown = frames(header, arrays, "map")[:, 3::6, 3::6]
    assert shown[-1] == pytest.approx(true, abs=0.02 * np.abs(true).max())
    assert np.abs(shown[20].ravel()[21:]).max() < 0.02 * np.abs(true).max(), "nothing is written before the window is there"
    assert frames(header, arrays, "pooled")[-1][6::12, 6::12] == pytest.approx(
        true.reshape(4, 2, 4, 2).max(axis=(1, 3)), abs=0.02 * np.abs(true).max()
    )


def test_the_picture_grows_while_the_network_learns():
    for seed, part in enumerate(("posterior", "training"), start=4242):
        spec, job = BY_ID["places"].replace(part=part, epochs=FEW, seed=seed, variant="exact"), Job()
        last = scenes.grow(spec, job)
        assert len(job.blobs) == training.LOOKS and last == scenes.scene(spec)
    stopped = Job()
    stopped.cancelled = True
    assert scenes.grow(spec.replace(seed=4244), stopped) is None


def test_an_empty_pad_is_looked_at():
    for part in ("kernel", "posterior", "moved"):
        assert scenes.scene(ConvolutionLesson(part=part, epochs=FEW))


LARGE = BY_ID["places"].replace(size="large", variant="exact", epochs=FEW)


def test_a_large_network_goes_on_from_its_state(few_of_mnist, monkeypatch):
    """Killed and begun anew it has the looks that it had, and ends with the bytes of one that was not."""
    assert len(few_of_mnist.labels) == 120 and training.is_large(LARGE)
    ended, _ = goes_on_from_disk(partial(training.learning, LARGE), training.Learning(LARGE.trained_alone()), monkeypatch)
    assert [look.step for look in ended.looks[:3]] == [0, 1, 2] and np.isfinite([look.tested for look in ended.looks]).all()
    path = training.state_path(LARGE)
    assert path is not None and path.is_file()
    path.write_bytes(path.read_bytes()[:100])
    assert len(training.Learning(LARGE.trained_alone(), path).state.looks) == 1, "half a state is none"


def test_a_large_network_is_on_stage_with_the_readers_digit(few_of_mnist):
    blob = scenes.scene(LARGE)
    header, arrays = decode(blob)
    assert len(blob) < MOST_BYTES and {panel["id"] for panel in header["panels"]} >= {"seen", "says", "filters", "sds"}
    assert frames(header, arrays, "seen").shape[-1] % 28 == 0
    names = {check.name: check.verdict for check in analysis.audit(LARGE, NEVER)}
    assert names == dict.fromkeys(("map", "gradient", "each weight once"), "pass")
    assert {check.name for check in analysis.checks(LARGE, NEVER)} >= {"moved map", "map under q", "posterior"}
    assert all(not faulty.large for faulty in analysis.faults(LARGE).values())
    table = panels.diagnostics(LARGE, NEVER)
    assert table.columns["weights"][:2] == [832, 25632] and table.columns["places that share them"] == [576, 64, 1, 1]
    with pytest.raises(SpecError, match="no rim"):
        LARGE.replace(variant="padding")


def test_where_mnist_is_not_the_small_digits_stand_in(no_mnist):
    small = LARGE.replace(size="small")
    assert training.learning(LARGE) is training.learning(small.replace(epochs=small.default("epochs")))
    header, _ = decode(scenes.scene(LARGE))
    said = str(header)
    told = training.stand_in(LARGE)
    assert told and told in said and told not in str(decode(scenes.scene(small))[0])
    assert not no_mnist, "nothing is fetched here"


# Numbers --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def state() -> training.State:
    found = training.trained(BY_ID["posterior"])
    assert found is not None
    return found


def test_the_exact_moments_are_those_of_draws(state):
    found = analysis.spread(BY_ID["posterior"], state.fit, 4000)
    error = found.sd / np.sqrt(4000)
    assert np.abs((found.maps.mean(axis=0) - found.mean) / error).max() < 4.5
    assert found.maps.std(axis=0) == pytest.approx(found.sd, rel=0.06)
    flat = found.maps.reshape(4000, -1)
    assert np.corrcoef(flat[:, found.a], flat[:, found.b])[0, 1] == pytest.approx(found.rho, abs=0.03)
    row, column = np.divmod([found.a, found.b], 8)
    assert max(abs(row[0] - row[1]), abs(column[0] - column[1])) >= 3


def test_the_correlation_that_is_asked_for_stands_in_the_card_once_draws_show_it():
    header, arrays = decode(scenes.scene(BY_ID["posterior"]))
    line = next(line for line in header["readouts"] if line["id"] == "rho")
    so_far, exact = (arrays[line["values"][name]["array"]] for name in ("r", "exact"))
    assert np.isnan(exact[:2]).all() and np.array_equal(np.isnan(exact), np.isnan(so_far))
    assert "0." not in "".join(token for token in line["tokens"] if isinstance(token, str))


def test_a_moved_map_is_the_map_moved_and_a_pooled_one_only_by_whole_windows(state):
    found = analysis.moved(BY_ID["moved"], state)
    assert found.inside.max() < 1e-12
    odd = np.array([by % 2 for by in SHIFTS], dtype=bool)
    assert found.off[~odd].max() < 1e-12 < 0.05 * found.size < found.off[odd].min()
    still = SHIFTS.index(0)
    for i, by in enumerate(SHIFTS):
        assert np.array_equal(found.images[i], shifted(found.images[still : still + 1], 0, by)[0])


# Signs ----------------------------------------------------------------------------------------------------------------

VERDICTS = {  # kernel, this run, numbers
    "kernel": ("pass", "unknown", "pass"),
    "posterior": ("pass", "pass", "pass"),
    "moved": ("pass", "pass", "pass"),
    "no-pooling": ("pass", "pass", "pass"),
    "places": ("fail", "pass", "unknown"),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_the_three_signs(name):
    assert verdicts("convolution", BY_ID[name]) == VERDICTS[name]


def test_each_mistake_turns_its_check_red():
    spec = BY_ID["posterior"].replace(epochs=FEW)
    found = {
        name: {check.name for check in checks if check.verdict == "fail"} for (_, name), checks in planted("convolution", spec).items()
    }
    for name in ("kernel turned in the backward pass", "rim left out of the backward pass"):
        assert found[name] == {"gradient"}
    assert found["KL counted once a place"] == {"gradient", "each weight once"}
    assert all(found.values()), found
    right = {check.name: check.verdict for check in analysis.audit(spec, NEVER)}
    assert right == dict.fromkeys(("map", "gradient", "each weight once"), "pass")


@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_is_told_from_a_wrong_one_whatever_the_seed(seed):
    found = {}
    for variant in VARIANTS:
        run = training.start(BY_ID["posterior"].replace(variant=variant, seed=seed), 20)
        run.advance(analysis.STEPS)
        found[variant] = judge.convolution_gradient_check(run).verdict
    assert found == dict.fromkeys(VARIANTS, "fail") | {"exact": "pass"}


def test_weights_at_a_corner_are_left_out_and_too_many_leave_the_gradient_open(monkeypatch):
    """A corner is planted in the likelihood, where the pass does not see it: at one weight, then at most of a layer."""
    run, real = training.start(BY_ID["posterior"], 10), judge._log_likelihood
    right = judge.convolution_gradient_check(run)
    at, size = run.posterior.weights.astype(float), run.shape.split(run.posterior.weights)[0].size
    for corners, verdict in ((1, "pass"), (size, "unknown")):

        def bent(run, weights, corners=corners):
            return real(run, weights) + 1e3 * float(np.abs(weights - at[: len(weights)])[:corners].sum())

        monkeypatch.setattr(judge, "_log_likelihood", bent)
        found = judge.convolution_gradient_check(run)
        assert found.verdict == verdict and "left out" in found.sentence
        assert found.statistic <= right.statistic, "what is left is as near as it was"
    monkeypatch.setattr(judge, "_log_likelihood", lambda run, weights: real(run, weights) + float(1e3 * weights[:size].sum()))
    assert judge.convolution_gradient_check(run).verdict == "fail", "a slope that is missing is no corner"


def test_no_planted_fault_stays_green_where_nothing_is_learnt():
    found = planted("convolution", BY_ID["kernel"].replace(epochs=FEW))
    assert not [name for name, checks in found.items() if overall(checks) == "pass"]


def test_a_wrong_map_is_red(monkeypatch):
    spec, real = BY_ID["kernel"], judge.correlate
    monkeypatch.setattr(judge, "correlate", lambda images, layer, kernel, pad: real(images, layer[::-1], kernel, pad))
    assert {check.verdict for check in analysis.audit(spec, NEVER)} == {"fail"}
    monkeypatch.setattr(analysis, "equivariance_gap", lambda *args: 1e-3)
    assert analysis.moved_check(spec, None).verdict == "fail"


# Words ----------------------------------------------------------------------------------------------------------------


@pytest.mark.one_seed
@pytest.mark.parametrize("question,expected", list(zip(questions.QUESTIONS, (1, 0, 2), strict=True)), ids=lambda q: getattr(q, "id", ""))
def test_the_questions_are_answered_by_runs(question, expected):
    assert question.answer(BY_ID[question.scenario]) == expected
    assert question.explain(BY_ID[question.scenario])


@pytest.mark.one_seed
def test_what_the_story_claims():
    read = analysis.read(BY_ID["moved"])
    still, away = SHIFTS.index(0), SHIFTS.index(2)
    assert read.right[still] > 0.95 and read.dense_right[still] > 0.9
    assert read.right[away] > 2 * read.dense_right[away], "the convolutional network holds out longer"
    assert read.dense_right[away] < 0.2, "the dense one guesses"
    assert read.says[away].argmax() == 2 != read.dense_says[away].argmax()
    wrong = training.trained(BY_ID["places"])
    right = training.trained(BY_ID["places"].replace(variant="exact"))
    turned = training.trained(BY_ID["places"].replace(variant="flipped"))
    assert right.looks[-1].accuracy > 0.9 > 0.7 > wrong.looks[-1].accuracy > turned.looks[-1].accuracy
    assert wrong.looks[-1].kl[0] < 0.5 * right.looks[-1].kl[0], "filters stay near the prior"


def test_below_the_stage():
    (figure,) = panels.panels(BY_ID["posterior"], NEVER)
    assert "exactly" in figure.caption and panels.panels(BY_ID["kernel"], NEVER) == []
    assert panels.diagnostics(BY_ID["kernel"], NEVER).columns["weights, with biases"] == [10, 4160]
    table = panels.diagnostics(BY_ID["posterior"], NEVER)
    assert table.columns["weights"][:2] == [80, 1168] and table.columns["places that share them"] == [64, 16, 1, 1]


def test_a_hostile_link_is_named():
    with pytest.raises(SpecError, match="outside the pad"):
        ConvolutionLesson(drawing=((0.5, 1.5, 0),))
    app = page("convolution", filter="9", pooling="mean")
    assert not app.exception
    assert "filter" in app.warning[0].value and "pooling" in app.warning[0].value
