"""The lesson with the drawing pad: its picture against the networks, its signs against known mistakes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.kit.pad import LIMIT, strokes
from app.kit.player.scene import decode
from datasets import own, pad
from datasets.images import Images, digits
from engine import scores
from engine.networks.stack import Networks
from engine.spec import SpecError
from lessons.digits import analysis, panels, questions, scenes
from lessons.digits.spec import LETTER, SCENARIOS, STAR, THREE, DigitsSpec
from lessons.families.digit_posteriors import shared, sources
from lessons.families.digit_posteriors.spec import METHODS
from tests.lessons.pages import MOST_BYTES, NEVER, Job, verdicts

SPECS = {scenario.id: scenario.spec for scenario in SCENARIOS}
BETWEEN = SPECS["between"]


@pytest.fixture(scope="module")
def networks() -> Networks:
    return analysis.trained(BETWEEN)


@pytest.fixture(scope="module")
def reading(networks: Networks) -> analysis.Reading:
    return analysis.read(BETWEEN, networks)


# The reading ----------------------------------------------------------------------------------------------------------


def test_the_reading_is_what_the_networks_say(networks: Networks, reading: analysis.Reading):
    image = pad.drawn(BETWEEN.drawing, 8)
    assert np.array_equal(reading.image, image) and reading.draws.shape == (100, 10)
    by_hand = networks.predict(image[None])
    parts = scores.decompose(by_hand)
    assert reading.mean[-1] == pytest.approx(parts.mean[0], abs=1e-6)
    for name in ("total", "aleatoric", "epistemic"):
        assert getattr(reading, name)[-1] == pytest.approx(getattr(parts, name)[0], abs=1e-5)
    first = scores.decompose(by_hand[:7])
    assert reading.epistemic[6] == pytest.approx(first.epistemic[0], abs=1e-5)
    assert reading.epistemic[0] == pytest.approx(0.0, abs=1e-12), "one network cannot contradict itself"
    assert np.array_equal(reading.votes, scores.votes(by_hand)[0])


def test_a_test_image_is_read_as_it_is(networks: Networks):
    spec = DigitsSpec(source="test", number=3)
    assert np.array_equal(analysis.image_of(spec).reshape(-1), digits().x_test[3])
    assert analysis.truth_of(spec) == digits().y_test[3] and analysis.truth_of(BETWEEN) is None


def test_the_maps_are_slopes_and_changes(networks: Networks, reading: analysis.Reading):
    slopes = analysis.maps(BETWEEN, networks, reading.image)
    assert slopes.epistemic.shape == (8, 8)
    pixel = np.unravel_index(np.abs(slopes.epistemic).argmax(), (8, 8))
    more = reading.image.astype(np.float64)
    more[pixel] += 1e-5
    precise = networks.precise()
    both = scores.decompose(precise.predict(np.stack([more, reading.image.astype(np.float64)])))
    assert slopes.epistemic[pixel] == pytest.approx((both.epistemic[0] - both.epistemic[1]) / 1e-5, rel=1e-3)
    turned = analysis.maps(BETWEEN.replace(maps="flip"), networks, reading.image)
    other = reading.image.copy()
    other[0, 0] = 1.0  # paper there
    both = scores.decompose(networks.predict(np.stack([other, reading.image])))
    assert turned.aleatoric[0, 0] == pytest.approx(both.aleatoric[0] - both.aleatoric[1], abs=1e-5)


# The picture ----------------------------------------------------------------------------------------------------------


def test_the_scene_holds_the_reading(reading: analysis.Reading):
    blob = scenes.scene(BETWEEN, None)
    header, arrays = decode(blob)
    assert len(blob) < MOST_BYTES and header["steps"] == 100 and header["start"] == 99
    table = {column["name"]: arrays[column["values"]] for column in header["table"]}
    assert table["P(4)"] == pytest.approx(reading.draws[:, 4], abs=1e-6)
    assert table["epistemic so far (nats)"] == pytest.approx(reading.epistemic, abs=1e-6)
    votes = next(panel for panel in header["panels"] if panel["id"] == "votes")["layers"][0]
    assert np.array_equal(arrays[votes["values"]], reading.says)
    seen = next(panel for panel in header["panels"] if panel["id"] == "seen")["layers"][0]
    shown = arrays[seen["frames"]][0][::-1][::6, ::6]
    assert np.array_equal(shown, np.rint(255 * reading.image).astype(np.uint8))


def test_a_new_stroke_keeps_the_place_and_another_posterior_does_not():
    run = lambda spec: decode(scenes.scene(spec, None))[0]["run"]  # noqa: E731
    assert run(BETWEEN) == run(BETWEEN.replace(drawing=THREE)) != run(BETWEEN.replace(method="lbbnn"))


def test_the_picture_grows_while_the_networks_learn(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shared, "SLICE", 0.02)
    spec, job = BETWEEN.replace(seed=4242), Job()
    last = scenes.grow(spec, job)
    assert len(job.blobs) > 2 and last == scenes.scene(spec, None)
    lines = [[line["id"] for line in decode(blob)[0]["readouts"]] for blob in (job.blobs[0], last)]
    assert "training" in lines[0] and "training" not in lines[1]
    stopped = Job()
    stopped.cancelled = True
    assert scenes.grow(spec.replace(seed=4243), stopped) is None


def test_an_empty_pad_and_a_dot_are_read():
    for drawing in ((), ((0.5, 0.5, 0),)):
        assert len(scenes.scene(BETWEEN.replace(drawing=drawing), None)) < MOST_BYTES
    assert "centring" not in audited(BETWEEN.replace(drawing=())), "of no ink nothing is told"


# The signs ------------------------------------------------------------------------------------------------------------

VERDICTS = {
    "between": ("pass", "pass", "unknown"),
    "plain": ("pass", "pass", "unknown"),
    "letter": ("pass", "unknown", "unknown"),  # NUTS: too few draws, and trees cut off
    "star": ("pass", "pass", "unknown"),
    "corner": ("fail", "pass", "unknown"),
}


@pytest.mark.parametrize("name", SPECS)
def test_the_signs(name: str):
    assert verdicts("digits", SPECS[name]) == VERDICTS[name]


def audited(spec: DigitsSpec) -> dict[str, str]:
    return {check.name: check.verdict for check in analysis.audit(spec, NEVER)}


RIGHT = {"training gradient": "pass", "parts": "pass", "map of slopes": "pass", "centring": "pass"}
FAULTS = {"average of the logarithms": "parts", "a drawing in the corner is not centred": "centring"}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_mistake_turns_its_check_red(fault: str):
    assert audited(BETWEEN) == RIGHT
    assert audited(analysis.faults(BETWEEN)[fault])[FAULTS[fault]] == "fail"


def test_a_wrong_map_is_red(networks: Networks, reading: analysis.Reading, monkeypatch: pytest.MonkeyPatch):
    real = Networks.sensitivity
    monkeypatch.setattr(Networks, "sensitivity", lambda self, image: real(self, 1.01 * image))
    assert analysis._gradient_check(networks, reading.image).verdict == "fail"


def test_the_centre_of_every_real_digit_passes():
    for number in range(0, 450, 30):
        check = analysis._centring_check(BETWEEN, digits().x_test[number].reshape(8, 8))
        assert check.verdict == "pass", number


# What is claimed ------------------------------------------------------------------------------------------------------


@pytest.mark.one_seed
def test_what_scenarios_and_questions_claim():
    plain, star = (analysis.read(SPECS[name], analysis.trained(SPECS[name])) for name in ("plain", "star"))
    assert plain.predicted == 3 and plain.mean[-1, 3] > 0.9
    assert star.mean[-1].max() > 0.95 and star.epistemic[-1] < 0.1, "dropout is sure of a star"
    doubt = analysis.read(SPECS["star"], analysis.trained(SPECS["star"], "dense"))
    assert doubt.epistemic[-1] > 0.4, "the dense Gaussian is not"
    moved = questions.QUESTIONS[2]
    assert moved.answer(SPECS["corner"]) in (1, 2) and "centred" in moved.explain(SPECS["corner"])
    part = questions.QUESTIONS[0]
    assert part.answer(BETWEEN) in (0, 1, 2) and "% of the total" in part.explain(BETWEEN)


def test_all_five_stand_beside_each_other():
    found = panels.panels(SPECS["plain"], NEVER)
    table = found[-1]
    assert len(table.columns["posterior"]) == len(METHODS) and set(table.columns["says"]) == {3}
    surest = questions.QUESTIONS[1]
    named = questions.CONTENDERS[surest.answer(SPECS["star"])]
    totals = {m: analysis.read(SPECS["star"], analysis.trained(SPECS["star"], m)).total[-1] for m in METHODS}
    assert totals[named] == min(totals[m] for m in questions.CONTENDERS) and "NUTS says" in surest.explain(SPECS["star"])
    letter = analysis.read(SPECS["letter"], analysis.trained(SPECS["letter"]))
    quality = analysis.quality(SPECS["letter"])
    assert letter.epistemic[-1] > np.quantile(quality.epistemic, 0.9) and quality.accuracy > 0.9
    row = panels.diagnostics(SPECS["letter"], NEVER)
    assert "R-hat, this digit" in row.columns


# MNIST ----------------------------------------------------------------------------------------------------------------


def test_mnist_goes_the_same_way(few_of_mnist: Images, monkeypatch: pytest.MonkeyPatch):
    """With a few made-up images in its place: nothing is downloaded."""
    monkeypatch.setattr(sources, "FEW", {"units": 8, "epochs": 3})
    monkeypatch.setattr(sources, "NETWORKS", 5)
    for maps in ("gradient", "flip"):
        spec = DigitsSpec(data="mnist", drawing=LETTER, maps=maps)
        header, _ = decode(scenes.scene(spec, None))
        assert header["steps"] == 5
    assert analysis.maps(spec, analysis.trained(spec), analysis.image_of(spec)).epistemic.shape == (28, 28)
    assert audited(spec.replace(variant="no_centring"))["map of slopes"] == "pass"
    assert len(panels.panels(spec, NEVER)) == 3


def test_where_mnist_is_not_the_bundled_digits_stand_in_and_say_so(no_mnist: list[str]):
    spec = DigitsSpec(data="mnist", drawing=LETTER)
    job = Job()
    header, _ = decode(scenes.grow(spec, job))
    first, _ = decode(job.blobs[0])
    for each in (first, header):
        (line,) = [line["tokens"] for line in each["readouts"] if line["id"] == "data"]
        assert line[0].startswith(sources.STAND_IN)
    assert line[0].endswith(sources.FAILED)
    assert no_mnist == ["mnist"] and analysis.image_of(spec).shape == (8, 8)
    scenes.grow(spec, Job())
    assert no_mnist == ["mnist"], "what failed is not tried again at once"
    assert all(item.caption.startswith(sources.STAND_IN) for item in panels.panels(spec, NEVER))


def given(files: dict[str, bytes]) -> dict:
    """As the page takes files."""
    return {"data": "own", "files": own.keep(files)}


def test_own_files_are_read_and_trained_on():
    """The bundled digits, given as a file."""
    data = digits()
    rows = np.column_stack([data.images.reshape(-1, 64), data.y])[:300]
    changes = given({"mine.csv": "\n".join(",".join(map(str, row)) for row in rows).encode()})
    spec = DigitsSpec(drawing=THREE, method="dropout", **changes)
    reading = analysis.read(spec, analysis.trained(spec))
    assert spec.data == "own" and reading.predicted == 3 and len(analysis.data_of(spec).y_test) == 50
    assert audited(spec)["training gradient"] == "pass"
    with pytest.raises(SpecError, match="0 to 49"):
        analysis.image_of(spec.replace(source="test", number=50))
    with pytest.raises(SpecError, match="give them again"):
        analysis.data_of(spec.replace(files="0" * 16))


# Input ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"source": "test", "number": 450}, "number"),
        ({"drawing": ((0.5, 1.5, 0),)}, "drawing"),
        ({"drawing": ((0.5, 0.5, -1),)}, "drawing"),
        ({"drawing": ((0.5, 0.5, 0),) * (LIMIT + 1)}, "drawing"),
        ({"method": "laplace"}, "method"),
        ({"data": "own"}, "data"),
    ],
)
def test_wrong_settings_are_named(values: dict, field: str):
    with pytest.raises(SpecError) as problem:
        DigitsSpec(**values)
    assert problem.value.parameter == field


@pytest.mark.parametrize(
    "points", [None, "x", [[0.1, 0.2]], [[0.1, 0.2, "a"]], [[2.0, 0.2, 0]], [[math.nan, 0.2, 0]], [[0.1, 0.2, 0]] * (LIMIT + 1)]
)
def test_what_the_pad_sends_is_not_trusted(points: object):
    with pytest.raises(SpecError, match="drawing"):
        strokes({"kind": "drawing", "points": points})


def test_a_drawing_becomes_strokes():
    assert strokes({"points": [[0.12345, 0.5, 0], [1, 0, 1]]}) == ((0.123, 0.5, 0), (1.0, 0.0, 1))
    assert len(STAR) == 8
