"""Files of a run, each opened by a library that knows nothing of us."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import io
import re
import zipfile
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import xarray as xr
from arviz_stats import loo, summary

from app import command, run
from app.kit import taken
from app.kit.formats import FORMATS, made
from app.kit.taken import Taken
from engine.leave_one_out import leave_one_out
from engine.spec import SpecError


def lesson_of(folder: str) -> taken.Lesson:  # type: ignore[name-defined]
    return importlib.import_module(f"lessons.{folder}.page").LESSON


def taken_from(folder: str, scenario: str | None = None, **changes: object) -> Taken:
    lesson = lesson_of(folder)
    specs = lesson.specs()
    return Taken.of(lesson, (specs[scenario] if scenario else next(iter(specs.values()))).replace(**changes))


@pytest.fixture(scope="module")
def hmc() -> Taken:
    return taken_from("hmc", chains=2, draws=60)


def unzipped(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_same_settings_give_the_same_hash_and_others_another(hmc: Taken):
    assert run.again("hmc", hmc.spec).digest == hmc.digest
    assert run.again("hmc", hmc.spec.replace(seed=hmc.spec.seed + 1)).digest != hmc.digest  # type: ignore[attr-defined]


def test_csv_reads_back_in_pandas_with_units_above(hmc: Taken):
    files = unzipped(made(hmc, "csv"))
    assert set(files) == {"draws.csv", "diagnostics.csv"}
    frame = pd.read_csv(io.BytesIO(files["draws.csv"]), comment="#")
    assert hmc.recording is not None and len(frame) == 120
    assert np.array_equal(frame[["x₁", "x₂"]].to_numpy(), hmc.recording.draws.reshape(-1, 2)), "every digit"
    head = files["draws.csv"].decode().splitlines()[:4]
    assert all(line.startswith("#") for line in head) and "log_density: nats" in head[3] and hmc.digest in head[2]
    told = pd.read_csv(io.BytesIO(files["diagnostics.csv"]), comment="#")
    assert list(told["parameter"]) == ["x₁", "x₂"] and (told["ess_bulk"] > 0).all()


def test_parquet_reads_back_in_arrow_with_units_in_the_schema(hmc: Taken):
    table = pq.read_table(io.BytesIO(unzipped(made(hmc, "parquet"))["draws.parquet"]))
    assert table.num_rows == 120 and b"energy: nats" in table.schema.metadata[b"posterior-lab"]
    assert table.to_pandas()["accepted"].dtype == bool


def test_jumps_are_a_table_of_their_own():
    found = taken_from("neurons")
    files = unzipped(made(found, "csv"))
    ledger = pd.read_csv(io.BytesIO(files["ledger.csv"]), comment="#")
    assert found.recording is not None and len(ledger) == found.recording.transitions.move.size
    assert ledger["accepted"].sum() == found.recording.jumped.sum()  # type: ignore[attr-defined]
    factors = [name for name in ledger.columns if name.startswith("log ")]
    decided = ledger[np.isfinite(ledger["log_ratio"])]
    assert len(factors) == 8 and np.allclose(decided[factors].sum(axis=1) + decided["rejection"], decided["log_ratio"])


@pytest.mark.filterwarnings("ignore:Estimated shape parameter")  # short runs
@pytest.mark.parametrize("folder", ["priors", "xor", "conjugate", "neurons"])
def test_a_file_says_of_each_datum_what_the_run_says_and_arviz_leaves_it_out(folder: str, tmp_path: Path):
    found = taken_from(folder, **({"play": "walk"} if folder == "conjugate" else {}))
    run, about = found.recording, found.lesson.predicted(found.spec)
    assert run is not None and about is not None
    (tmp_path / "run.nc").write_bytes(made(found, "netcdf"))
    tree = xr.open_datatree(tmp_path / "run.nc", engine="h5netcdf")
    each, drawn = tree.log_likelihood.y.values, tree.posterior_predictive.y.values
    assert np.array_equal(tree.observed_data.y, about.y) and each.shape == drawn.shape == (*run.draws.shape[:2], len(about.y))
    if hasattr(run, "log_likelihood"):
        assert np.allclose(each.sum(axis=2), run.log_likelihood, rtol=1e-9), "datum by datum it is what the kernel counted"
    ours = leave_one_out(each)
    if folder != "neurons":  # ArviZ takes each parameter to be there in every draw
        theirs, said = loo(tree), summary(tree, var_names=["x"], round_to="none")
        n = len(about.y)
        assert (theirs.elpd, theirs.se) == pytest.approx((ours.elpd, ours.se * np.sqrt((n - 1) / n)), rel=1e-6)  # its variance is over n
        told = found.diagnostics()
        assert told is not None
        for they, we in (("mean", "mean"), ("ess_bulk", "ess_bulk"), *([("r_hat", "rhat")] if run.chains > 1 else [])):
            assert np.allclose(said[they].astype(float), told[we]), we
    mean, sd = drawn.mean(axis=(0, 1)), drawn.std(axis=(0, 1))
    assert (np.abs(about.y - mean) < 6 * sd + 0.5).all(), "data drawn anew lie where the data lie"


def test_what_has_no_chain_takes_the_numbers_of_its_picture(tmp_path: Path):
    found = taken_from("monte_carlo")
    (tmp_path / "run.nc").write_bytes(made(found, "netcdf"))
    stage = xr.open_datatree(tmp_path / "run.nc", engine="h5netcdf")["stage"]
    assert found.per == ("step",) and np.array_equal(stage["average"], found.arrays["average"])
    assert set(unzipped(made(found, "csv"))) == {"stage.csv"}


def test_the_notebook_is_valid_and_the_script_is_python(hmc: Taken):
    notebook = nbformat.reads(made(hmc, "notebook").decode(), as_version=4)
    nbformat.validate(notebook)
    text = "\n".join(cell.source for cell in notebook.cells)
    assert hmc.digest in text and hmc.alt in text and "HmcLesson(" in text
    ast.parse(made(hmc, "script"))
    twin: dict = {}
    exec(next(cell.source for cell in notebook.cells if "def hmc(" in cell.source), twin)
    assert callable(twin["hmc"]) and "__main__" not in text, "the twin runs without us"
    namespace: dict = {}
    exec(next(cell.source for cell in notebook.cells if "spec = " in cell.source), namespace)
    assert namespace["spec"] == hmc.spec


def test_the_citation_names_the_product_and_each_work_once(hmc: Taken):
    text = made(hmc, "bibtex").decode()
    keys = re.findall(r"^@\w+\{([a-z0-9]+),$", text, re.MULTILINE)
    assert len(keys) == len(set(keys)) == 1 + len(hmc.lesson.works()) and "duane1987" in keys
    assert text.count("{") == text.count("}") and text.isprintable() is False and "*" not in text


def test_works_behind_target_kernels_are_found():
    """The Formula and Code tabs ask for them, too."""
    assert lesson_of("gibbs").works()


def test_a_run_that_fell_to_pieces_is_written_as_it_is(tmp_path: Path):
    found = taken_from("hmc", "too-large", step_size=5.0, draws=50)
    assert found.recording is not None
    (tmp_path / "run.nc").write_bytes(made(found, "netcdf"))
    back = xr.open_datatree(tmp_path / "run.nc", engine="h5netcdf")
    assert int(back.sample_stats.diverging.sum()) == int(found.recording.divergent.sum())
    told = pd.read_csv(io.BytesIO(unzipped(made(found, "csv"))["diagnostics.csv"]), comment="#")
    assert len(told) == 2


def test_what_is_too_large_says_what_to_do(hmc: Taken):
    rows = np.broadcast_to(np.zeros(1), (2, 60, taken.MOST_CELLS // 100))
    with pytest.raises(SpecError, match=r"more than a CSV is good for: take NetCDF"):
        made(dataclasses.replace(hmc, arrays={"draws": rows}), "csv")
    with pytest.raises(SpecError, match=r"MB, allowed are 400: take fewer draws"):
        made(dataclasses.replace(hmc, arrays={"draws": np.broadcast_to(0.0, (2, taken.MOST_BYTES))}), "netcdf")


def test_data_that_are_not_here_are_named():
    lesson = dataclasses.replace(lesson_of("hmc"), ready=lambda spec: False)
    with pytest.raises(SpecError, match="not on this machine"):
        Taken.of(lesson, lesson.scenarios[0].spec)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "run.nc"
    assert command.main(["run", "/hmc?draws=50&seed=3", "--out", str(out)]) == 0
    assert xr.open_datatree(out, engine="h5netcdf").attrs["seed"] == 3
    assert '"sha256"' in capsys.readouterr().out
    assert command.main(["run", "/hmc?step_size=-1", "--out", str(out)]) == 2 and "step_size" in capsys.readouterr().out
    assert command.main(["run", "/hmc", "--out", str(tmp_path / "no" / "run.nc")]) == 2
    assert command.main(["fly"]) == 2 and command.main(["--help"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in command.COMMANDS)
    with pytest.raises(SystemExit):
        command.main(["run", "/hmc", "--out", "run.xyz"])


def test_formats_have_endings_that_tell_them_apart():
    endings = [kind.ending for kind in FORMATS.values()]
    assert not [(a, b) for a in endings for b in endings if a != b and f".{a}".endswith(f".{b}")]
