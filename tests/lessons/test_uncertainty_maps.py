"""The lesson on where networks should not know: changes, maps and averages against the networks, checks, claims."""

from __future__ import annotations

import numpy as np
import pytest

from app.kit import digit_posteriors
from app.kit.digit_posteriors import Networks
from app.kit.player.scene import decode
from datasets import transforms
from datasets.images import digits
from engine import scores
from engine.spec import SpecError
from lessons.uncertainty_maps import analysis, panels, questions, scenes
from lessons.uncertainty_maps.scenarios import SCENARIOS
from lessons.uncertainty_maps.spec import CHANGES, REACH, MapsSpec
from tests.lessons.pages import MOST_BYTES, NEVER, Job

SPECS = {scenario.id: scenario.spec for scenario in SCENARIOS}
TURNING = SPECS["turning"]


@pytest.fixture(scope="module")
def networks() -> Networks:
    return analysis.trained(TURNING)


@pytest.fixture(scope="module")
def sweep(networks: Networks) -> analysis.Sweep:
    return analysis.sweep(TURNING, networks)


# Images ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("across", CHANGES)
def test_a_grid_holds_both_changes_in_one_order(across: str):
    images, _ = analysis.tests()
    second = "blur" if across != "blur" else "rotate"
    xs, ys = [0.0, 0.3 * REACH[across]], [0.0, 0.2 * REACH[second], 0.5 * REACH[second]]
    found = analysis.grid(images[1], images[9], across, second, xs, ys, seed=3)
    assert found.shape == (3, 2, 8, 8) and found[0, 0] == pytest.approx(images[1])
    turned = analysis.grid(images[1], images[9], second, across, ys, xs, seed=3)
    assert found == pytest.approx(turned.swapaxes(0, 1)), "the axes may be exchanged"


def test_two_changes_by_hand():
    images, _ = analysis.tests()
    found = analysis.grid(images[1], images[9], "noise", "rotate", 0.4, 50.0, seed=3)[0, 0]
    assert found == pytest.approx(transforms.noise(transforms.rotate(images[1], 50.0), 0.4, 3))
    found = analysis.grid(images[1], images[9], "shift", "morph", 1.5, 0.25, seed=3)[0, 0]
    assert found == pytest.approx(transforms.shift(transforms.morph(images[1], images[9], 0.25), 1.5, 0.0))


# Reading --------------------------------------------------------------------------------------------------------------


def test_the_steps_are_what_the_networks_say(networks: Networks, sweep: analysis.Sweep):
    image = transforms.rotate(digits().x_test[3].reshape(8, 8), 90.0)
    assert sweep.amounts[9] == 90.0 and sweep.images[9] == pytest.approx(image)
    by_hand = scores.decompose(networks.predict(image[None]))
    for name in ("total", "aleatoric", "epistemic"):
        assert getattr(sweep.parts, name)[9] == pytest.approx(getattr(by_hand, name)[0], abs=1e-5)
    assert sweep.parts.total[-1] == pytest.approx(sweep.parts.total[0]), "once around"


def test_the_maps_hold_the_steps(networks: Networks, sweep: analysis.Sweep):
    maps = analysis.maps(TURNING, networks)
    assert maps.total.shape == (analysis.ROWS, analysis.COLUMNS)
    assert maps.total[0, ::2] == pytest.approx(sweep.parts.total[::3], abs=1e-6), "every 30°"
    assert maps.truth[0, 0] == pytest.approx(sweep.parts.mean[0, 5], abs=1e-6)
    assert maps.total == pytest.approx(maps.aleatoric + maps.epistemic)
    higher = analysis.sweep(TURNING.replace(level=0.5), networks)
    assert maps.epistemic[6, ::2] == pytest.approx(higher.parts.epistemic[::3], abs=1e-6)


def test_a_morph_has_two_labels():
    assert analysis.labels(TURNING) == [5] and analysis.labels(SPECS["between"]) == [4, 9]


def test_the_average_counts_what_is_sure_and_wrong(networks: Networks):
    found = analysis.average(TURNING)
    y = digits().y_test[:40]
    turned = transforms.rotate(digits().x_test[:40].reshape(-1, 8, 8), 90.0)
    mean = networks.predict(turned).mean(axis=0)
    at = int(np.flatnonzero(found.amounts == 90.0)[0])
    assert np.array_equal(found.right[:, at], mean.argmax(axis=1) == y)
    wrong = (mean.max(axis=1) >= 0.9) & (mean.argmax(axis=1) != y)
    assert found.sure_and_wrong[at] == pytest.approx(wrong.mean())
    assert found.epistemic.shape == (40, 13)


# The picture ----------------------------------------------------------------------------------------------------------


def test_the_scene_holds_the_sweep(sweep: analysis.Sweep):
    blob = scenes.scene(TURNING, None)
    header, arrays = decode(blob)
    assert len(blob) < MOST_BYTES and header["steps"] == analysis.STEPS
    assert header["start"] == int(sweep.parts.total.argmax())
    table = {column["name"]: arrays[column["values"]] for column in header["table"]}
    assert table["epistemic (nats)"] == pytest.approx(sweep.parts.epistemic, abs=1e-6)
    heat = next(panel for panel in header["panels"] if panel["id"] == "map-epistemic")["layers"][0]
    found = arrays[heat["frames"]][0] * heat["high"] / 255
    maps = analysis.maps(TURNING, analysis.trained(TURNING))
    assert found == pytest.approx(maps.epistemic, abs=heat["high"] / 500)
    highs = {
        panel["layers"][0]["high"] for panel in header["panels"] if panel["id"] in ("map-total", "map-aleatoric")
    } | {heat["high"]}
    assert len(highs) == 1, "one scale"


def test_another_row_keeps_the_place_and_another_image_does_not():
    run = lambda spec: decode(scenes.scene(spec, None))[0]["run"]  # noqa: E731
    assert run(TURNING) == run(TURNING.replace(level=0.4)) != run(TURNING.replace(image=5))


def test_the_picture_grows_while_the_networks_learn(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(digit_posteriors, "SLICE", 0.1)
    spec, job = TURNING.replace(seed=4244), Job()
    last = scenes.grow(spec, job)
    assert len(job.blobs) > 1 and last == scenes.scene(spec, None)
    assert "training" in [line["id"] for line in decode(job.blobs[0])[0]["readouts"]]
    stopped = Job()
    stopped.cancelled = True
    assert scenes.grow(spec.replace(seed=4245), stopped) is None


# The badge ------------------------------------------------------------------------------------------------------------


def verdicts(spec: MapsSpec) -> dict[str, str]:
    return {check.name: check.verdict for check in analysis.checks(spec, NEVER)}


def test_the_right_way_passes_and_each_mistake_is_found():
    right = {"parts": "pass", "nothing changed": "pass", "rotate": "pass", "blur": "pass", "posterior": "unknown"}
    assert verdicts(TURNING) == right
    for variant in ("one_network", "total_as_epistemic"):
        assert verdicts(TURNING.replace(variant=variant)) == right | {"parts": "fail"}


@pytest.mark.parametrize("name", CHANGES)
def test_a_broken_change_is_found(name: str, monkeypatch: pytest.MonkeyPatch):
    assert analysis.change_check(name, TURNING).verdict == "pass"
    real = getattr(transforms, name)
    monkeypatch.setattr(transforms, name, lambda *given, **named: 0.98 * real(*given, **named))
    assert analysis.change_check(name, TURNING).verdict == "fail"


def test_chains_are_judged():
    rng = np.random.default_rng(1)
    draws = rng.dirichlet(np.ones(10), size=(100, 5))
    nuts = TURNING.replace(method="nuts")
    assert analysis.posterior_check(nuts, draws).verdict == "pass"
    draws[::2] = np.eye(10)[0]
    assert analysis.posterior_check(nuts, draws).verdict == "unknown"


# What is claimed ------------------------------------------------------------------------------------------------------


def test_what_scenarios_and_questions_claim(sweep: analysis.Sweep):
    assert sweep.parts.epistemic[9] > 0.5, "on its side"
    six = analysis.sweep(SPECS["six"], analysis.trained(SPECS["six"]))
    assert six.parts.mean[18].argmax() == 9 and six.parts.mean[18].max() > 0.9
    assert six.parts.total[18] < 0.2 < six.parts.total.max()
    quarter = analysis.sweep(SPECS["quarter"], analysis.trained(SPECS["quarter"]))
    assert quarter.parts.mean[9].max() > 0.9 and quarter.parts.mean[9].argmax() != 5
    assert quarter.parts.epistemic[9] < 0.1
    between = analysis.sweep(SPECS["between"], analysis.trained(SPECS["between"]))
    assert 5 < between.parts.total.argmax() < 31
    half, side = questions.QUESTIONS[:2]
    assert half.answer(SPECS["six"]) == 0 and "says 9" in half.explain(SPECS["six"])
    assert side.answer(SPECS["quarter"]) == 2 and "by dropout" in side.explain(SPECS["quarter"])


def test_every_posterior_stands_below(monkeypatch: pytest.MonkeyPatch):
    """With three of the five, for time."""
    monkeypatch.setattr(panels, "METHODS", ("lbbnn", "dense", "dropout"))
    curves, all_of_them, table = panels.panels(TURNING, NEVER)
    assert len(curves.figure.data) == 4 and len(all_of_them.figure.data) == 3
    assert table.columns["posterior"] == ["spike and slab", "dense Gaussian", "MC dropout"]
    assert panels.diagnostics(TURNING, NEVER).columns["networks"] == [100]


# Input ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"image": 450}, "image"),
        ({"second": "rotate"}, "second"),
        ({"across": "stretch"}, "across"),
        ({"level": 1.5}, "level"),
        ({"method": "laplace"}, "method"),
    ],
)
def test_wrong_settings_are_named(values: dict, field: str):
    with pytest.raises(SpecError) as problem:
        MapsSpec(**values)
    assert problem.value.parameter == field
