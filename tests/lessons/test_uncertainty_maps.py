"""The lesson on where networks should not know: changes, maps and averages against the networks, checks, claims."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from app.kit.player.scene import decode
from datasets import remote, transforms
from datasets.images import Images, digits
from engine import scores
from engine.networks.stack import Networks
from engine.spec import SpecError
from lessons.families.digit_posteriors import shared, sources
from lessons.uncertainty_maps import analysis, domain, domain_panels, letters, panels, questions, scenes
from lessons.uncertainty_maps.spec import CHANGES, REACH, SCENARIOS, MapsSpec
from tests.lessons.pages import MOST_BYTES, NEVER, Job, verdicts
from tests.lessons.pages import module as page_of

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
    images, _ = analysis.tests(MapsSpec())
    second = "blur" if across != "blur" else "rotate"
    xs, ys = [0.0, 0.3 * REACH[across]], [0.0, 0.2 * REACH[second], 0.5 * REACH[second]]
    found = analysis.grid(images[1], images[9], across, second, xs, ys, seed=3)
    assert found.shape == (3, 2, 8, 8) and found[0, 0] == pytest.approx(images[1])
    turned = analysis.grid(images[1], images[9], second, across, ys, xs, seed=3)
    assert found == pytest.approx(turned.swapaxes(0, 1)), "the axes may be exchanged"


def test_two_changes_by_hand():
    images, _ = analysis.tests(MapsSpec())
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
    assert np.array_equal(sweep.images[-1], sweep.images[0]), "once around"
    assert sweep.parts.total[-1] == pytest.approx(sweep.parts.total[0], abs=1e-6), "but for single precision"


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
    highs = {panel["layers"][0]["high"] for panel in header["panels"] if panel["id"] in ("map-total", "map-aleatoric")} | {heat["high"]}
    assert len(highs) == 1, "one scale"


def test_another_row_keeps_the_place_and_another_image_does_not():
    run = lambda spec: decode(scenes.scene(spec, None))[0]["run"]  # noqa: E731
    assert run(TURNING) == run(TURNING.replace(level=0.4)) != run(TURNING.replace(image=5))


def test_the_picture_grows_while_the_networks_learn(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shared, "SLICE", 0.1)
    spec, job = TURNING.replace(seed=4244), Job()
    last = scenes.grow(spec, job)
    assert len(job.blobs) > 1 and last == scenes.scene(spec, None)
    assert "training" in [line["id"] for line in decode(job.blobs[0])[0]["readouts"]]
    stopped = Job()
    stopped.cancelled = True
    assert scenes.grow(spec.replace(seed=4245), stopped) is None


# The signs ------------------------------------------------------------------------------------------------------------

VERDICTS = dict.fromkeys(SPECS, ("pass", "pass", "unknown"))


@pytest.mark.parametrize("name", SPECS)
def test_the_signs(name: str):
    assert verdicts("uncertainty-maps", SPECS[name]) == VERDICTS[name]


def audited(spec: MapsSpec) -> dict[str, str]:
    return {check.name: check.verdict for check in page_of("uncertainty-maps", "page").audit(spec, NEVER)}


RIGHT = {"training gradient": "pass", "parts": "pass", "nothing changed": "pass", "rotate": "pass", "blur": "pass"}


def test_the_right_way_passes_and_each_mistake_is_found():
    assert audited(TURNING) == RIGHT
    planted = page_of("uncertainty-maps", "page").faults(TURNING)
    assert len(planted) == 2
    for spec in planted.values():
        assert audited(spec) == RIGHT | {"parts": "fail"}


@pytest.mark.parametrize("name", CHANGES)
def test_a_broken_change_is_found(name: str, monkeypatch: pytest.MonkeyPatch):
    assert analysis.change_check(name, TURNING).verdict == "pass"
    real = getattr(transforms, name)
    monkeypatch.setattr(transforms, name, lambda *given, **named: 0.98 * real(*given, **named))
    assert analysis.change_check(name, TURNING).verdict == "fail"


def test_a_change_by_nothing_that_changes_is_found(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(transforms, "rotate", lambda images, amount: np.roll(images, 1, axis=-1))
    assert analysis.zero_check(TURNING).verdict == "fail"


# Out of domain --------------------------------------------------------------------------------------------------------


def read(spec: MapsSpec) -> domain.Both:
    return domain.read(spec, analysis.trained(spec))


@pytest.mark.parametrize("paired", [False, True])
def test_the_bootstrap_draws_together_what_belongs_together(paired: bool):
    rng = np.random.default_rng(2)
    inside, kinds = rng.normal(0.0, 1.0, 200), np.repeat(np.arange(10), 20)
    beyond = inside + 1.0 if paired else 1.0 + np.repeat(rng.normal(0.0, 1.0, 10), 20)
    part = lambda values: scores.Decomposition(None, values, values, values)  # noqa: E731
    both = domain.Both(None, None, part(inside), part(beyond), paired, np.arange(200) if paired else kinds)
    apart = both._replace(paired=False, source=np.arange(200))
    here, free = domain.area(both, "total"), domain.area(apart, "total")
    assert here.value == free.value
    assert here.error < 0.7 * free.error if paired else here.error > 2.0 * free.error


def test_letters_vary_and_a_drawing_takes_their_place():
    images, source, kinds = letters.population((), 8, 1)
    assert images.shape == (100, 8, 8) and len(kinds) == 10 and np.array_equal(np.bincount(source), [10] * 10)
    assert len(np.unique(images.reshape(100, -1), axis=0)) > 90, "variations differ"
    drawn, source, _ = letters.population(letters.LETTERS["X"], 8, 1)
    assert len(drawn) == 100 and not source.any()
    assert domain.outside(SPECS["letters"]).names[0] in letters.LETTERS


def test_what_is_outside_is_what_is_said():
    images, _ = analysis.tests(MapsSpec())
    assert domain.outside(SPECS["inverted"]).images == pytest.approx(1.0 - images)
    shuffled = domain.outside(MapsSpec(part="domain", outside="shuffled")).images
    assert shuffled.sum(axis=(1, 2)) == pytest.approx(images.sum(axis=(1, 2)))


def test_fashion_is_made_as_small_as_the_digits(monkeypatch: pytest.MonkeyPatch):
    """With made-up images in its place: nothing is downloaded."""
    made = np.zeros((450, 28, 28), dtype=np.uint8)
    made[:, 2:6, 6:10] = 255  # a block of the 32 × 32 points
    y = np.arange(450) % 10
    monkeypatch.setattr(remote, "download", lambda name: Images(made, y, made, y, 255, remote.FASHION.card))
    domain._fashion.forget()
    try:
        found = domain.outside(MapsSpec(part="domain", outside="fashion"))
        assert found.images.shape == (450, 8, 8) and found.names[1] == "trouser"
        assert found.images[0, 1, 2] == 1.0 and found.images[0].sum() == 1.0
    finally:
        domain._fashion.forget()


def test_without_a_network_fashion_says_what_to_do(monkeypatch: pytest.MonkeyPatch):
    def offline(name: str) -> Images:
        raise SpecError("data", "Fashion-MNIST could not be downloaded. Choose something else")

    monkeypatch.setattr(remote, "download", offline)
    domain._fashion.forget()
    with pytest.raises(SpecError, match="Choose letters") as problem:
        scenes.scene(MapsSpec(part="domain", outside="fashion"), None)
    assert problem.value.parameter == "outside"


def test_the_scene_of_the_domain_holds_the_reading():
    spec = SPECS["inverted"]
    blob, both = scenes.scene(spec, None), read(spec)
    header, arrays = decode(blob)
    assert len(blob) < MOST_BYTES and header["steps"] == 100 and header["start"] == 99
    table = {column["name"]: arrays[column["values"]] for column in header["table"]}
    assert table["out: epistemic (nats)"] == pytest.approx(both.outside.epistemic[:100], abs=1e-6)
    strange = np.repeat([0, 1], 100)
    both_totals = np.concatenate([both.inside.total[:100], both.outside.total[:100]])
    assert table["AUROC by total"][-1] == pytest.approx(scores.auroc(both_totals, strange), abs=1e-6)


@pytest.mark.parametrize("name", ["letters", "round"])
def test_a_picture_of_the_first_letters_goes_ahead_of_the_rest(name: str):
    spec, job, again = SPECS[name].replace(seed=4711), Job(), Job()
    whole = scenes.grow(spec, job)
    (before, began), (after, drawn) = (decode(blob) for blob in [*job.blobs, whole][:2])
    assert before["steps"] == domain.BEGINNING < before["total"] == after["steps"] and after["total"] is None
    assert before["run"] == after["run"] and before["start"] == after["start"], "where it stands once it has grown"
    assert [panel["x"] for panel in before["panels"]] == [panel["x"] for panel in after["panels"]]
    for old, new in zip(before["table"], after["table"], strict=True):
        np.testing.assert_allclose(began[old["values"]], drawn[new["values"]][: before["steps"]], rtol=1e-4, err_msg=old["name"])
    assert whole == scenes.scene(spec, None) and scenes.grow(spec, again) == whole and not again.blobs


def test_the_noise_of_another_seed_changes_what_was_moved_once(monkeypatch: pytest.MonkeyPatch):
    spec, changed = SPECS["between"].replace(seed=4711), analysis.changed
    first, amounts = changed(spec, [0.3], [0.5]), np.array([0.3])
    monkeypatch.setattr(transforms, "morph", None)
    assert not np.array_equal(changed(spec.replace(seed=4712), amounts, [0.5]), first)


def test_the_audit_out_of_domain(monkeypatch: pytest.MonkeyPatch):
    letters_ = SPECS["letters"]
    right = {"training gradient": "pass", "parts": "pass", "AUROC": "pass", "test images": "pass"}
    assert audited(letters_) == right
    for variant in ("one_network", "total_as_epistemic"):
        assert audited(letters_.replace(variant=variant)) == right | {"parts": "fail"}
    real = domain.wins
    monkeypatch.setattr(domain, "wins", lambda inside, beyond: np.floor(real(inside, beyond)))  # ties lost
    assert domain.auroc_check(read(letters_.replace(variant="one_network"))).verdict == "fail"
    data = digits()
    leaked = dataclasses.replace(data, images_test=data.images[:450])
    monkeypatch.setattr(domain.sources, "images", lambda name: leaked)
    assert domain.unseen_check(MapsSpec()).verdict == "fail"


def test_what_is_claimed_out_of_domain(monkeypatch: pytest.MonkeyPatch):
    """With two of the five posteriors, for time."""
    spec = SPECS["inverted"]
    thinned, gaussian = read(spec), read(spec.replace(method="dense"))
    surely = [float(np.mean(both.outside.mean.max(axis=1) >= 0.9)) for both in (thinned, gaussian)]
    assert surely[0] > 0.2 and surely[1] < 0.02
    question = questions.QUESTIONS[2]
    assert question.answer(spec) == 2 and "dense Gaussian" in question.explain(spec)
    zeros = read(SPECS["round"]).outside.mean
    assert np.mean(zeros.argmax(axis=1) == 0) > 0.7 and np.mean(zeros.max(axis=1) >= 0.9) > 0.3
    monkeypatch.setattr(domain_panels, "METHODS", ("dense", "dropout"))
    roc, areas, table = domain_panels.panels(spec, NEVER)
    assert len(roc.figure.data) == 3 and len(areas.figure.data) == 3
    assert table.columns["sure of no digit (%)"][1] == f"{100 * surely[0]:.0f}"


# What is claimed ------------------------------------------------------------------------------------------------------


@pytest.mark.one_seed
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
        ({"part": "both"}, "part"),
        ({"outside": "cats"}, "outside"),
        ({"drawing": ((0.5, 1.5, 0),)}, "drawing"),
    ],
)
def test_wrong_settings_are_named(values: dict, field: str):
    with pytest.raises(SpecError) as problem:
        MapsSpec(**values)
    assert problem.value.parameter == field


# MNIST ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["maps", "domain"])
def test_mnist_goes_the_same_way(few_of_mnist: Images, monkeypatch: pytest.MonkeyPatch, part: str):
    """With a few made-up images in its place."""
    monkeypatch.setattr(sources, "FEW", {"units": 8, "epochs": 3})
    monkeypatch.setattr(sources, "NETWORKS", 5)
    monkeypatch.setattr(analysis, "MANY", 6)
    spec = MapsSpec(data="mnist", part=part, method="dropout", across="shift")
    assert analysis.reach(spec, "shift") == 3.5 * REACH["shift"] and analysis.reach(spec, "noise") == REACH["noise"]
    images, y = analysis.tests(spec)
    assert images.shape == (40, 28, 28) and np.array_equal(y, few_of_mnist.y_test)
    blob = scenes.grow(spec, Job())
    header, _ = decode(blob)
    assert len(blob) < MOST_BYTES and "28 × 28" in str(header["panels"])
    assert panels.panels(spec, NEVER) and domain_panels.panels(spec, NEVER)
    found = audited(spec)
    assert set(found.values()) == {"pass"} and ("shift" in found or part == "domain")


def test_where_mnist_is_not_the_picture_says_what_stands_in(no_mnist: list[str]):
    spec = TURNING.replace(data="mnist", method="dropout")
    header, _ = decode(scenes.grow(spec, Job()))
    assert any(sources.STAND_IN in str(line["tokens"]) for line in header["readouts"])
    assert analysis.tests(spec)[0].shape == (450, 8, 8) and analysis.reach(spec, "blur") == REACH["blur"]
