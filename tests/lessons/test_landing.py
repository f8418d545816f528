"""The lesson on jumps that land: its pictures against the recording, its signs against known mistakes."""

from __future__ import annotations

import dataclasses
import hashlib
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from app.kit import files
from app.kit.player.scene import decode
from datasets import remote, tables
from datasets.images import digit_components
from engine.judge import overall, proofs
from engine.spec import SpecError
from lessons.landing import analysis, boston, optdigits, panels, questions, scenes
from lessons.landing.spec import DIGITS, JUMPS, SCENARIOS, THESIS, LandingSpec
from tests.lessons.families.growing import panel_of
from tests.lessons.pages import MOST_BYTES, NEVER, Job, explained, page, planted, says, verdicts
from tests.pace import slower

BY_ID = {scenario.id: scenario.spec for scenario in SCENARIOS}
SMALL = LandingSpec(corner=3, widest=6, sweeps=20, burn=0, bridges=4)
AROUND = SMALL.replace(part="sandwich")


@pytest.mark.parametrize(
    "parameter,changes",
    [
        ("part", {"part": "both"}),
        ("bridges", {"bridges": 65}),
        ("jump", {"jump": "palindromic"}),
        ("data", {"data": "points"}),
        ("setting", {"setting": "BH8a"}),
        ("burn", {"burn": 200, "sweeps": 300}),
        ("sweeps", {"part": "thesis", "sweeps": 501}),
    ],
)
def test_a_wrong_setting_is_named(parameter, changes):
    with pytest.raises(SpecError) as error:
        LandingSpec(**changes)
    assert error.value.parameter == parameter


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.id)
def test_every_first_picture_is_small_enough_to_send(scenario):
    assert len(scenes.scene(scenario.spec, None)) <= MOST_BYTES


# The way of a jump ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jump", JUMPS)
def test_the_picture_says_what_the_ledger_says(jump):
    spec = SMALL.replace(jump=jump)
    found = analysis.stage(spec)
    for i, rows in enumerate(found.rows):
        decided = rows[-1]
        assert decided.verdict and not any(row.verdict for row in rows[:-1])
        assert (decided.value > decided.hurdle) == found.jumps.accepted[i], "above the hurdle is landed"
        assert decided.there == (found.jumps.birth[i] == found.jumps.accepted[i])
        if jump == "annealed":
            assert len(rows) == spec.bridges + 1
            assert sum(row.gained for row in rows[:-1]) == pytest.approx(found.jumps.factors[i, 0])
    header, arrays = decode(scenes.scene(spec, None))
    table = {column["name"]: arrays[column["values"]] for column in header["table"]}
    done = table["decided"] != 0
    assert np.array_equal(table["landed"][done] != 0, found.jumps.accepted)
    assert np.array_equal(table["k"][done], found.recording.width[0, found.sweeps])
    layer = panel_of(header, "network")["layers"][0]
    units = arrays[layer["active"]][:, 2:-2].sum(axis=1)
    assert np.array_equal(units[done], found.recording.width[0, found.sweeps])


def test_a_unit_fades_in_and_out():
    found = analysis.stage(SMALL)
    for i, rows in enumerate(found.rows):
        levels = [row.level for row in rows[:-1]]
        assert levels == pytest.approx(np.arange(1, 5) / 4 if found.jumps.birth[i] else np.arange(3, -1, -1) / 4)
        net, slot, row = analysis.larger(found.recording, found.jumps, i), int(found.jumps.slot[i]), rows[0]
        drawn = net.unpack(analysis.shown(net, row, slot, True))[-1][0][:, slot]
        assert drawn == pytest.approx(row.level * net.unpack(row.theta)[-1][0][:, slot])


def test_one_bridge_is_the_bare_jump():
    one = analysis.stage(SMALL.replace(bridges=1))
    x, y = SMALL.data_set()
    for i, rows in enumerate(one.rows):
        net, slot = analysis.larger(one.recording, one.jumps, i), int(one.jumps.slot[i])
        new = analysis.unit_of(net, slot)
        large = net.log_likelihood(x, y).log_density(rows[0].theta)
        small = one.recording.network(net.width - 1, 1).log_likelihood(x, y).log_density(rows[0].theta[~new])
        assert rows[0].gained == pytest.approx(large - small if one.jumps.birth[i] else small - large, abs=1e-8)


@pytest.mark.parametrize("name", [name for name, spec in BY_ID.items() if spec.part != "thesis"])
def test_the_first_jumps_go_ahead_of_the_rest(name):
    spec, job, again = BY_ID[name].replace(seed=4712), Job(), Job()
    whole = scenes.grow(spec, job)
    assert whole == scenes.scene(spec, None) and len(job.blobs) == (spec.jump != "delayed")
    for blob in job.blobs:
        (before, began), (after, ended) = decode(blob), decode(whole)
        assert before["run"] == after["run"] and before["steps"] < before["total"] == after["steps"] and after["total"] is None
        placed = [[(panel["id"], panel["x"], panel["place"]) for panel in header["panels"]] for header in (before, after)]
        assert placed[0] == placed[1] and [line["id"] for line in before["readouts"]] == [line["id"] for line in after["readouts"]]
        for old, new in zip(before["table"], after["table"], strict=True):
            np.testing.assert_array_equal(began[old["values"]], ended[new["values"]][: before["steps"]], err_msg=old["name"])
    assert scenes.grow(spec, again) == whole and not again.blobs


# The sandwich ---------------------------------------------------------------------------------------------------------


def test_the_factors_cancel_to_the_bare_jump():
    found = analysis.between(AROUND)
    assert found.factors.sum(axis=1) == pytest.approx(found.jumps.log_ratio, abs=1e-7)
    assert found.bare == pytest.approx(found.jumps.log_ratio, abs=1e-7)
    header, arrays = decode(scenes.scene(AROUND, None))
    bars = arrays[panel_of(header, "factors")["layers"][0]["values"]].reshape(-1, scenes.STAGES, 8)
    assert bars[..., :-1].sum(axis=2) == pytest.approx(bars[..., -1], abs=1e-3), "the sum never changes"
    assert [np.count_nonzero(np.abs(bars[:, s, :-1]).sum(axis=0)) for s in range(scenes.STAGES)] == [7, 5, 3, 3]


@pytest.mark.parametrize("variant", ["no_kernel_densities", "as_coded"])
def test_a_wrong_sandwich_does_not_decide_by_the_bare_ratio(variant):
    spec = AROUND.replace(sandwich=variant)
    found = analysis.between(spec)
    assert found.factors.sum(axis=1) == pytest.approx(found.jumps.log_ratio, abs=1e-7), "what it used is what is shown"
    check = analysis.cancelled(found, spec)
    assert check.verdict == "fail" and spec.mistake in check.sentence


# Methods beside each other --------------------------------------------------------------------------------------------


def test_round_trips_are_counted():
    ways = np.array([[1, 5, 12, 8, 3, 12], [1, 2, 3, 2, 1, 3], [12, 1, 12, 1, 12, 4]])
    assert analysis.round_trips(ways, 3, 12) == 1 + 0 + 2
    assert analysis.trip_ends(LandingSpec()) == (3, 12)


def test_the_comparison_says_what_its_runs_did():
    found = analysis.small(SMALL)
    last = found.history[-1]
    assert list(last) == list(analysis.methods(SMALL))
    for name, run in found.runs.items():
        recording = run.recording()
        assert last[name].accepted == pytest.approx(recording.jumped.sum() / recording.proposed.sum())
        assert last[name].jumps == recording.proposed.sum()
    figure, _ = panels.panels(SMALL, NEVER)
    assert list(figure.figure.data[0].y) == pytest.approx([100 * o.accepted for o in last.values()])
    table = panels.diagnostics(SMALL, NEVER)[0]
    assert len(table.columns["mean"]) == 2 * len(last)


def test_a_stopped_comparison_is_not_kept():
    stop = threading.Event()
    stop.set()
    with pytest.raises(InterruptedError):
        analysis.small(SMALL.replace(seed=4711), stop)


def test_the_long_run_streams_and_ends_beside_the_exact_answer():
    job = Job()
    spec = SMALL.replace(corner=1, widest=4)
    final = scenes.live(spec)(job)
    assert job.blobs and job.reports[-1][0] == job.reports[-1][1]
    assert max(map(len, [*job.blobs, final])) <= MOST_BYTES
    header, _ = decode(final)
    exact = scenes.exact_now(spec)
    assert exact is not None and header["total"] is None
    assert "evidence" in panel_of(header, "errors")["title"]
    found = analysis.small(spec)
    *_, figure = panels.panels(spec, NEVER)
    bars = dict(zip(figure.figure.data[0].x, figure.figure.data[0].y, strict=True))
    for name, run in found.runs.items():
        seen = np.bincount(run.recording().width.ravel(), minlength=spec.widest + 1)[1:] / run.recording().width.size
        off = 0.5 * np.abs(seen - exact.probability).sum()
        assert bars[name] == pytest.approx(off * np.sqrt(found.history[-1][name].seconds), rel=1e-6)
        assert f"{name}: {off:.3f} after" in figure.alt


def test_the_long_run_can_be_stopped():
    header, _ = decode(scenes.live(SMALL)(Job(most=1)))
    assert header["steps"] == 1


def test_questions_are_answered_from_the_run():
    found = analysis.small(AROUND).history[-1]
    assert f"{found['palindrome'].accepted:.1%}" in explained("landing", "sandwich", AROUND)
    assert questions._sandwich(AROUND) == 1, "the theorem"
    one, many = (analysis.small(SMALL).history[-1][f"annealed {T}"].accepted for T in (1, 64))
    assert (questions._bridges(SMALL) == 0) == (many - one >= questions.FEWEST)


# The three signs -----------------------------------------------------------------------------------------------------

# kernel, this run, numbers
VERDICTS = {
    "plain": ("pass", "not pass", "unknown"),
    "annealed": ("pass", "not pass", "unknown"),
    "noisy": ("pass", "not pass", "unknown"),
    "delayed": ("pass", "not pass", "unknown"),
    "sandwich": ("pass", "fail", "unknown"),
    "as-coded": ("fail", "fail", "unknown"),
    "old-level": ("fail", "not pass", "unknown"),
    "thesis": ("pass", "fail", "unknown"),
}


@pytest.mark.parametrize("scenario", VERDICTS)
def test_the_three_signs(scenario):
    assert says(verdicts("landing", BY_ID[scenario]), VERDICTS[scenario])


@pytest.mark.long
def test_each_planted_fault_turns_its_sign_red():
    found = planted("landing", SMALL.replace(corner=1, widest=4, sweeps=2000, burn=20))
    assert {key: overall(checks) for key, checks in found.items()} == dict.fromkeys(found, "fail")
    faults = {"no end points", "slot once", "old level", "data twice", "data ignored"}
    assert {name for kind, name in found if kind == "kernel"} == faults


@pytest.mark.parametrize("jump", JUMPS)
def test_right_jumps_pass_and_their_mistakes_do_not(jump):
    for variant, verdict in (("exact", "pass"), ("wrong", "fail")):
        (kernel,) = analysis.kernels(SMALL.replace(jump=jump, variant=variant))
        assert overall(proofs(kernel)) == verdict


# The thesis -----------------------------------------------------------------------------------------------------------


def test_the_digits_are_as_the_thesis_took_them():
    for name in DIGITS:
        setting = THESIS[name]
        x, y = LandingSpec(part="thesis", setting=name).data_set()
        assert x.shape == (setting.rows, optdigits.COMPONENTS) and np.bincount(y).tolist() == [50] * setting.classes
        assert f"{setting.rows} images of {setting.classes} digits, 50 of each" in setting.told
        assert np.abs(x.mean(axis=0)).max() < 1e-10 and (np.diff(x.var(axis=0)) <= 1e-12).all()


def test_a_readers_optdigits_are_learned_from_by_their_training_rows(data_folder):
    content = (data_folder / "optdigits.csv").read_bytes()
    spec = LandingSpec(part="thesis", setting="OD10b", digits=files.hold("optdigits.csv", content))
    images = optdigits.own_images(spec.digits)
    assert spec.is_ready and len(images.labels) == 3823
    x, y = spec.data_set()
    own, _ = digit_components(images, 10, 50, optdigits.COMPONENTS)
    assert np.array_equal(x, own) and np.bincount(y).tolist() == [50] * 10
    bundled = LandingSpec(part="thesis", setting="OD10b").data_set()[0]
    assert not np.array_equal(x, bundled)
    assert "3,823 training rows of OptDigits" in panels.learned_from(spec)
    assert "1,347 bundled digits" in panels.learned_from(spec.replace(digits=""))
    fewer = b"".join(content.splitlines(keepends=True)[:200])
    for wrong, words in ((fewer, "are not OptDigits"), (b"a,b\n1,2\n", "2 values")):
        with pytest.raises(SpecError, match=words) as error:
            optdigits.own_images(files.hold("mine.csv", wrong))
        assert error.value.parameter == "digits"
    elsewhere = spec.replace(digits="0123456789abcdef optdigits.csv")
    assert not elsewhere.is_ready and panels.diagnostics(elsewhere, NEVER) == []
    with pytest.raises(SpecError, match=r"needs the file “optdigits\.csv”"):
        panels.panels(elsewhere, NEVER)


def test_the_printed_numbers_are_told_setting_by_setting():
    header, arrays = decode(scenes.scene(LandingSpec(part="thesis"), None))
    table = {column["name"]: arrays[column["values"]] for column in header["table"]}
    assert table["across (%)"] == pytest.approx([11.2, 9.8, 7.8, 5.6, 4.5, 4.9, 1.1, 1.4])
    assert table["within (%)"] == pytest.approx([82.5, 64.3, 67.2, 57.6, 66.1, 65.8, 63.4, 64.8])


# House prices of the thesis -------------------------------------------------------------------------------------------


BOSTON = "boston_housing.csv"


@pytest.fixture
def houses(data_folder: Path) -> LandingSpec:
    """BH4b on a reader's own file."""
    reference = files.hold(BOSTON, (data_folder / BOSTON).read_bytes())
    return LandingSpec(part="thesis", setting="BH4b", file=reference, sweeps=20, burn=0)


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, remote.Remote]:
    """A machine without the table, and without a network: what is known of the downloads."""
    monkeypatch.setenv("POSTERIOR_LAB_DOWNLOADS", str(tmp_path))
    remote.kept_table.cache_clear()
    dead = {name: dataclasses.replace(known, url="http://127.0.0.1:9/") for name, known in remote.TABLES.items()}
    monkeypatch.setattr(remote, "TABLES", dead)
    return dead


def test_a_missing_table_is_said_and_the_printed_numbers_stay(nowhere):
    spec = LandingSpec(part="thesis", setting="BH2a")
    assert not spec.is_ready and LandingSpec(part="thesis").is_ready
    with pytest.raises(SpecError, match="Press the button below the picture: it is downloaded once from"):
        panels.panels(spec, NEVER)
    assert panels.diagnostics(spec, NEVER) == []
    header, arrays = decode(scenes.scene(spec, None))
    assert arrays[header["table"][0]["values"]][4] == pytest.approx(4.5)
    with pytest.raises(SpecError, match="could not be downloaded"):
        scenes.live(spec)(Job())
    with pytest.raises(SpecError, match=r"needs the file “houses\.csv”"):
        panels.panels(spec.replace(file="0123456789abcdef houses.csv"), NEVER)


@pytest.mark.parametrize("name,units,layers,variance", [("BH2a", 2, 8, 1.0), ("BH2b", 2, 8, 0.8), ("BH4a", 4, 4, 1.0), ("BH4b", 4, 4, 0.8)])
def test_the_networks_of_house_prices_are_those_of_the_thesis(name, units, layers, variance):
    spec = LandingSpec(part="thesis", setting=name)
    net = spec.network()
    assert (net.inputs, net.outputs, net.likelihood, net.activation) == (13, 1, "gaussian", "relu")
    assert (net.width, net.depth, spec.high) == (units, (1, layers), layers)
    assert net.noise_sd**2 == pytest.approx(variance) and net.prior_sd == 1.0
    assert np.array_equal(np.bincount(analysis.starts(spec, 16))[1:], [16 // layers] * layers)


def test_the_rows_are_drawn_and_standardised(houses, data_folder):
    x, y = houses.data_set()
    assert x.shape == (253, 13) and y.shape == (253,)
    assert np.abs(np.append(x.mean(axis=0), y.mean())).max() < 1e-12 and np.append(x.std(axis=0), y.std()) == pytest.approx(1.0)
    table = tables.read_csv((data_folder / BOSTON).read_bytes())
    rows, others = tables.split(tables.choose(table), 253, 253, houses.seed)
    assert np.corrcoef(table.values[rows, -1], y)[0, 1] == pytest.approx(1.0) and not set(rows) & set(others)
    assert not np.allclose(houses.replace(seed=houses.seed + 1).data_set()[1], y)


def test_only_the_chosen_row_has_our_numbers(houses):
    (table,) = panels.panels(houses, NEVER)
    last = analysis.small(houses).history[-1]
    assert list(last) == ["plain", "tempered", "annealed 4", "annealed 16", "delayed"]
    at = table.columns["experiment"].index("BH4b")
    for name, outcome in last.items():
        cells = table.columns[f"across, ours: {name} (%)"]
        assert cells.pop(at) == panels.landed(outcome) and set(cells) == {"–"}
        depth = analysis.small(houses).runs[name].recording().depth
        assert outcome.mean == pytest.approx(depth.mean()) and outcome.jumps == 16 * 20 and depth.max() <= 4
    cells = table.columns["within, ours (%)"]
    assert cells.pop(at) == f"{100 * last['plain'].within:.1f}" and set(cells) == {"–"}
    assert "253 districts of Boston, 1 to 4 hidden layers of 4 units, variance of the noise 0.8" in table.caption
    assert panels.diagnostics(houses, NEVER)[0].columns["quantity"][0] == "plain: L"


def test_a_share_of_none_has_no_error():
    none = analysis.Outcome(0.0, 0.0, 0.9, 0, 1.0, 1.0, 2.0, float("nan"), 1280)
    assert panels.landed(none) == "none of 1,280"
    assert panels.landed(none._replace(accepted=0.004, error=0.001)) == "0.40 ± 0.20"
    assert panels.landed(none._replace(accepted=0.21, error=0.01)) == "21.0 ± 2.0"


def test_the_long_run_on_houses_ends_with_the_published_code(houses):
    job = Job()
    blob = scenes.live(houses)(job)
    header, arrays = decode(blob)
    assert len(job.blobs) == 2 and len(blob) <= MOST_BYTES and job.reports[-1] == (20, 20)
    table = {column["name"]: arrays[column["values"]] for column in header["table"]}
    names = [name.removesuffix(": mean L") for name in table if name.endswith(": mean L")]
    assert names == [analysis.called(method) for method in analysis.methods(houses)] and names[-1] == "published code"
    assert all(1.0 <= table[f"{name}: mean L"][-1] <= 4.0 for name in names)
    assert panel_of(header, "errors")["title"] == "Mean of L so far"


@pytest.mark.parametrize("number", range(5))
def test_the_jumps_of_layers_are_tried_without_the_table(nowhere, number):
    found = analysis.kernels(LandingSpec(part="thesis", setting="BH4a"))
    assert len(found) == 5 and all("at most 4 layers" in kernel.name for kernel in found)
    assert overall(proofs(found[number])) == "pass", found[number].name
    assert overall(proofs(found[number].planted("no_end_points"))) == "fail", found[number].name


def test_without_the_table_no_number_is_right_or_wrong(nowhere):
    spec = LandingSpec(part="thesis", setting="BH4a")
    assert [(check.kind, check.verdict) for check in analysis.checks(spec)] == [("numbers", "unknown")]


def test_another_table_is_not_taken_for_boston(data_folder):
    content = (data_folder / BOSTON).read_bytes()
    lines = content.decode().splitlines()
    fewer = "\n".join(line.rsplit(",", 1)[0] for line in lines).encode()
    swapped = "\n".join(",".join([*line.split(",")[1::-1], *line.split(",")[2:]]) for line in lines).encode()
    for wrong, words in ((fewer, "506 rows and 13 columns"), (swapped, "506 rows and 14 columns"), (b"\x89PNG\0", "UTF-8")):
        with pytest.raises(SpecError) as error:
            boston.own_table(files.hold("mine.csv", wrong))
        assert error.value.parameter == "file" and words in error.value.reason
    assert boston.own_table(files.hold("mine.csv", content)).identity == "boston"


def press(app, label: str) -> None:
    """Press a button."""
    next(button for button in app.button if button.label == label).click().run()


def until(app, words: str):
    """Run the page again, as its timers would, until it says `words`."""
    end = time.monotonic() + 120 * slower()
    while not any(words in str(e.value) for kind in ("markdown", "error", "caption") for e in getattr(app, kind)):
        assert not app.exception and time.monotonic() < end, f"{words!r} did not appear"
        time.sleep(0.5)
        app.run()
    return app


def test_the_page_says_that_the_table_is_missing_downloads_it_and_goes_on(nowhere, monkeypatch, data_folder):
    app = until(page("landing", part="thesis", setting="BH4a", sweeps="20", burn="0"), "not on this machine yet")
    app.file_uploader[0].set_value(("mine.csv", b"a,b,y\n" + b"1,2,3\n4,5,6\n" * 40, "text/csv")).run()
    assert any("not those of the Boston table" in str(error.value) for error in app.error)
    press(app, "Run the comparison")
    until(app, "could not be downloaded").run()
    assert ["could not be downloaded" in str(error.value) for error in app.error].count(True) == 1
    content = (data_folder / BOSTON).read_bytes()
    here = dataclasses.replace(
        nowhere["boston"],
        url=data_folder.resolve().as_uri() + "/",
        hashes={BOSTON: hashlib.sha256(content).hexdigest()},
        sizes={BOSTON: len(content)},
    )
    monkeypatch.setitem(nowhere, "boston", here)
    press(app, "Run the comparison again")
    until(app, "Finished: 20 of 20")
    until(app, "BH4a: 253 districts of Boston")
    assert not app.exception and not any("not on this machine yet" in str(error.value) for error in app.error)
