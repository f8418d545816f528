"""Chains broken on purpose, and what the page says of them; what is known; what is taken home."""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from arviz_stats import summary

from app.kit import files, methods
from app.kit.player.scene import decode
from app.kit.taken import Taken, csv, netcdf
from datasets import chains
from engine.diagnostics import rank_curves, summarise
from engine.judge import overall
from lessons.own_chain import analysis, findings, panels, report
from lessons.own_chain.scenes import scene
from lessons.own_chain.spec import SCENARIOS, OwnChain
from tests.lessons.pages import module, verdicts

ROOT = Path(__file__).resolve().parents[2]
BY_ID = {scenario.id: scenario.spec for scenario in SCENARIOS}


def given(values: np.ndarray, names: tuple[str, ...] = ("mu", "tau", "fixed"), **stats: np.ndarray) -> OwnChain:
    """The page with a file of these draws (chains, draws, q) in it."""
    held = io.BytesIO()
    np.savez(held, **{name: values[:, :, j] for j, name in enumerate(names)}, **stats)
    return OwnChain(source="file", file=files.hold("run.npz", held.getvalue()))


def right(seed: int = 1) -> np.ndarray:
    """Four chains of independent draws of two quantities, and a third that varies too."""
    return np.random.default_rng(seed).normal(size=(4, 500, 3))


def test_the_card_keeps_the_error_of_the_mean_to_itself_while_its_digits_are_asked_for():
    lines = decode(scene(BY_ID["healthy"]))[0]["readouts"]
    assert {line["id"] for line in lines if line.get("held")} == {"rhat", "mean"}


@pytest.mark.parametrize("library", ["pymc", "numpyro"])
def test_files_of_other_samplers_are_judged_as_arviz_judges_them(library, tmp_path):
    """Of eight schools, written by the library's own converter: tests/datasets/written/make.py."""
    content = (ROOT / "tests" / "datasets" / "written" / f"{library}.zip").read_bytes()
    spec = OwnChain(source="file", file=files.hold(f"{library}.zip", content))
    found = analysis.look(spec)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(tmp_path)
    tree = xr.open_datatree(tmp_path / f"{library}.nc", engine="h5netcdf")
    wide = xr.DataTree.from_dict({"posterior": tree.posterior.to_dataset().astype(float)})  # NumPyro's numbers have 32 bits
    theirs, row = summary(wide, round_to="none"), {name: j for j, name in enumerate(found.run.names)}
    assert set(theirs.index) == set(row) and "theta[Phillips Andover]" in row and library in found.run.card.source
    order = [row[name] for name in theirs.index]
    for column, ours in (("mean", "mean"), ("r_hat", "rhat"), ("ess_bulk", "ess_bulk"), ("mcse_mean", "mcse_mean")):
        np.testing.assert_allclose(theirs[column].astype(float), getattr(found.summary, ours)[order], rtol=1e-9, err_msg=column)
    assert np.array_equal(found.run.stats["energy"], tree.sample_stats.energy)
    assert np.array_equal(found.run.stats["log density"], tree.sample_stats.lp) and not found.run.stats["divergent"].any()
    assert "journey" not in told(spec), "one first draw far away is no warm-up"
    assert "E-BFMI" in panels.methods_section(spec, found).text and decode(scene(spec))[0]["panels"]


def told(spec: OwnChain) -> str:
    return " ".join(findings.sentences(analysis.look(spec)))


def run_sign(spec: OwnChain) -> str:
    return overall([check for check in analysis.checks(spec) if check.kind == "run"])


def test_of_chains_in_order_nothing_is_told():
    assert told(given(right())) == "" and run_sign(given(right())) == "pass"


def test_two_stuck_chains_are_named():
    values = right()
    values[2:] = values[2:, 7:8]  # they never move
    spec = given(values)
    assert told(spec).startswith("Chain 3, chain 4 hardly move: 1 different states in 500 draws.")
    assert "chains disagree on 3 of 3" in told(spec) and run_sign(spec) == "fail"
    apart = right() + np.where(np.arange(4) < 2, 0.0, 8.0)[:, None, None] * [0.0, 1.0, 0.0]
    found = analysis.look(given(apart))
    assert found.run.names[found.order[0]] == "tau", "the worst comes first"
    assert re.search(r"most on tau .*chains 1, 2 stay around .* and chains 3, 4 around", told(given(apart)))


def test_a_corner_of_divergences_is_named_by_quantity_and_end():
    values = right()
    bad = values[:, :, 1] < np.quantile(values[:, :, 1], 0.04)
    assert re.search(r"80 of 2,000 transitions diverged\. .* below the (2|1\.9|1\.95) % point of tau", told(given(values, diverging=bad)))
    anywhere = np.random.default_rng(2).random((4, 500)) < 0.04
    assert "corner" not in told(given(values, diverging=anywhere)), "spread over all draws they have no place"
    assert run_sign(given(values, diverging=bad)) == "fail"
    few = values[:, :, 1] <= np.sort(values[:, :, 1], axis=None)[5]
    assert "6 of 2,000" in told(given(values, diverging=few)) and "corner" not in told(given(values, diverging=few)), "so few may by chance"


def test_the_card_holds_no_number_of_the_run_in_its_words():
    """Words stand there before a prediction is locked; numbers that come with a draw do not."""
    cards = [[line["tokens"] for line in decode(scene(BY_ID["healthy"].replace(seed=seed)))[0]["readouts"]] for seed in (0, 1)]
    assert cards[0] == cards[1] and not re.search(r"say [-−\d]", str(cards[0]))


def test_a_constant_column_is_told_and_does_not_count():
    values = right()
    values[:, :, 2] = 1.0
    spec = given(values)
    assert told(spec) == "fixed never changes: there is nothing to judge in it." and run_sign(spec) == "pass"
    assert analysis.look(spec).order[-1] == 2


def test_missing_numbers_have_a_place_and_spoil_their_quantity_alone():
    values = right()
    values[1, 30, 1] = np.nan
    found, spec = analysis.look(given(values)), given(values)
    assert told(spec) == "tau is NaN in 1 draws, first in chain 2, draw 31." and run_sign(spec) == "fail"
    assert "chain 2, draw 31" in analysis.checks(spec)[0].sentence and analysis.checks(spec)[1].verdict == "pass"
    assert found.order[0] == 1 and np.isfinite(found.summary.rhat[[0, 2]]).all()


def test_warm_up_that_was_counted_is_told_until_it_is_left_out():
    values = right()
    values[:, :40] += np.linspace(30.0, 0.0, 40)[None, :, None] * [1.0, 0.0, 0.0]
    spec = given(values)
    assert re.match(r"The first draws are a journey: mu begins \d\d standard deviations", told(spec)) and run_sign(spec) != "pass"
    assert told(spec.replace(burn=50)) == "" and run_sign(spec.replace(burn=50)) == "pass"


@pytest.mark.parametrize(("shift", "verdict"), [(0.0, "pass"), (0.3, "fail")])
def test_numbers_are_held_against_what_is_known(shift, verdict):
    reference = json.dumps({"reference": {"mu": {"mean": shift, "sd": 1.0, "draws": 10_000}, "other": {"mean": 1.0}}}).encode()
    spec = given(right()).replace(truth=files.hold("known.json", reference))
    assert analysis.numbers(spec).verdict == verdict
    assert analysis.numbers(given(right())).verdict == "unknown", "nothing is known"
    rounded = b"name,mean,sd\nmu,0.1,1\n"  # one decimal: anything from 0.05 to 0.15 may stand behind it
    assert analysis.numbers(spec.replace(truth=files.hold("t.csv", rounded))).verdict == "pass"


def test_the_kernel_is_not_judged_by_draws_and_a_forgotten_jacobian_is_seen():
    assert verdicts("own-chain", BY_ID["healthy"]) == ("unknown", "pass", "pass")
    assert "engine.calibrate" in analysis.audit(BY_ID["healthy"])[0].sentence
    assert verdicts("own-chain", BY_ID["density"])[0] == "pass"
    assert verdicts("own-chain", BY_ID["forgotten"])[0] == "fail"


def test_a_mean_is_said_to_the_digits_that_its_error_leaves():
    assert analysis.decimals(np.array([0.3, 0.12, 0.0126, 0.0124, 3.0])).tolist() == [-1, 0, 1, 1, -2]
    assert [analysis.said(*pair) for pair in ((1.2345, 2), (-0.04, 1), (1234.0, -2), (3.0, np.nan))] == ["1.23", "0.0", "1200", "–"]
    assert analysis.decimals(np.array([0.025]))[0] == 1 and analysis.decimals(np.array([0.0251]))[0] == 0


def test_rank_curves_keep_to_their_band_19_times_of_20_and_leave_it_when_stuck():
    rng = np.random.default_rng(3)
    out = 0
    for _ in range(100):
        found = rank_curves(rng.normal(size=(4, 100)))
        out += bool(((found.difference < found.low) | (found.difference > found.high)).any())
    assert 0 < out <= 13, "of 100; more than 13 of 5 expected have a probability below 0.001"
    stuck = rank_curves(rng.normal(size=(4, 100)) + np.array([0.0, 0.0, 2.0, 2.0])[:, None])
    assert ((stuck.difference < stuck.low) | (stuck.difference > stuck.high)).any(axis=1).all()


def test_a_methods_section_says_what_the_run_says():
    summary = summarise(right())
    text = methods.sentences("NUTS", (4, 500), summary, warmup=1000, divergent=np.zeros((4, 500), bool))
    assert text.startswith("NUTS was run with 4 chains after 1,000 of warm-up; inference is based on 2,000 draws (500 from each chain).")
    assert (
        f"at most {summary.rhat.max():.3f}, bulk ESS at least {summary.ess_bulk.min():,.0f}" in text and "No transitions diverged" in text
    )
    assert "has not converged" not in text
    assert "has not converged" in methods.sentences("NUTS", (4, 500), summarise(right() + np.arange(4)[:, None, None]))
    constant = right()
    constant[:, :, 2] = 1.0
    found = analysis.look(given(constant))
    assert "1 further quantity was not judged" in methods.sentences("NUTS", (4, 500), found.summary)
    shifted = analysis.look(given(right() + 0.5 * np.arange(4)[:, None, None]))
    assert np.isnan(shifted.decimals).all(), "chains that disagree have no digits"


def test_names_from_files_are_no_markup_and_may_hold_a_slash():
    spec = given(right() + np.arange(4)[:, None, None] * [0.0, 1.0, 0.0], ("a/b", "[x](http://evil)", "c"))
    shown = " ".join(f"{item.title} {item.caption}" for item in panels.panels(spec))
    assert r"\[x\]\(http" in shown and "[x](" not in shown
    assert b"a\xe2\x88\x95b" in netcdf(Taken.of(module("own-chain", "page").LESSON, spec))


def test_the_draws_taken_home_come_back_to_the_bit_and_the_report_asks_nobody():
    spec = BY_ID["density"]
    taken = Taken.of(module("own-chain", "page").LESSON, spec)
    again = chains.read({"draws.zip": csv(taken)})
    np.testing.assert_array_equal(again.draws, analysis.simulate(spec).draws)
    np.testing.assert_array_equal(again.stats["energy"], analysis.simulate(spec).stats["energy"])
    values = right()
    values[0, 3, 0] = np.inf
    text = report.report(given(values, ("mu<b>", "tau", "fixed"))).decode()
    assert (
        "mu&lt;b&gt; is infinite" in text
        and "This run FAILS" in text
        and "mu<b>" not in re.sub(r"<script.*?</script>", "", text, flags=re.S)
    )
    assert not re.findall(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=", text)
