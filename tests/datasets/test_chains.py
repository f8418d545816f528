"""Chains from files: each format, and each way in which a file can be wrong, named by place."""

from __future__ import annotations

import io
import json
import time
import zipfile

import numpy as np
import pytest

from datasets import chains, known
from engine.spec import SpecError

RNG = np.random.default_rng(5)


def stan(draws: int = 30, *, chain: int = 1, warmup: int = 0, promised: int | None = None, bad: str | None = None) -> bytes:
    """A file as CmdStan's guide describes it: settings, names, adaptation after the warm-up, times at the end."""
    rng = np.random.default_rng(chain)
    lines = [
        "# model = eight",
        "# method = sample (Default)",
        f"#   num_samples = {promised or draws}",
        f"#   num_warmup = {max(warmup, 20)}",
    ]
    lines += [f"#   save_warmup = {int(warmup > 0)}", "#   thin = 1 (Default)", f"# id = {chain}"]
    lines += ["lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__,mu,theta.1,theta.2"]
    for row in range(warmup + draws):
        if row == warmup:
            lines += ["# Adaptation terminated", "# Step size = 0.5", "# Diagonal elements of inverse mass matrix:", "# 1.1, 0.9, 1"]
        far = 100.0 if row < warmup else 0.0
        mu, one, two = rng.normal(size=3) + far
        lines.append(f"{-mu * mu:.5g},0.9,0.5,3,7,{int(row == warmup + 2)},{mu * mu + 1:.5g},{mu:.6g},{one:.6g},{two:.6g}")
    if bad:
        lines[20] = lines[20].rpartition(",")[0] + "," + bad
    return ("\n".join([*lines, "# ", "#  Elapsed Time: 0.1 seconds (Warm-up)", ""])).encode()


def test_two_files_of_cmdstan_are_two_chains():
    found = chains.read({"out_10.csv": stan(chain=2), "out_9.csv": stan(chain=1)})
    assert found.names == ("mu", "theta[1]", "theta[2]") and found.draws.shape == (2, 30, 3)
    first = np.random.default_rng(1).normal(size=(30, 3))  # 9 comes before 10
    np.testing.assert_allclose(found.draws[0], first, rtol=1e-4)
    np.testing.assert_allclose(found.stats["energy"][0], first[:, 0] ** 2 + 1, rtol=1e-3)
    assert found.stats["divergent"].sum() == 2 and found.stats["divergent"][0, 2] == 1
    assert found.warmup == 0 and "model eight" in found.card.source


def test_warm_up_that_was_kept_is_left_out_and_a_file_cut_off_is_told():
    found = chains.read({"a.csv": stan(warmup=25, promised=40)})
    assert found.warmup == 25 and found.draws.shape == (1, 30, 3) and np.abs(found.draws).max() < 10
    assert any("warm-up" in note for note in found.notes) and any("30 of the 40" in note for note in found.notes)


def test_missing_numbers_are_named_by_line():
    found = chains.read({"a.csv": stan(bad="nan")})
    line = next(i for i, text in enumerate(stan(bad="nan").decode().split("\n"), start=1) if text.endswith(",nan"))
    assert f"line {line}" in found.missing()[0] and "theta[2]" in found.missing()[0]
    assert found.draws.shape == (1, 30, 3), "nothing is lost"


def test_netcdf_written_by_arviz(tmp_path):
    arviz_base = pytest.importorskip("arviz_base")
    mu, theta = RNG.normal(size=(4, 50)), RNG.normal(size=(4, 50, 2, 3))
    tree = arviz_base.from_dict(
        {
            "posterior": {"mu": mu, "theta": theta},
            "sample_stats": {"diverging": mu > 2, "energy": mu**2, "lp": -(mu**2)},
            "warmup_posterior": {"mu": mu[:, :20]},
        },
        dims={"theta": ["school", "year"]},
        coords={"school": ["Choate", "Deerfield"]},
        save_warmup=True,
    )
    tree.to_netcdf(tmp_path / "run.nc", engine="h5netcdf")
    found = chains.read({"run.nc": (tmp_path / "run.nc").read_bytes()})
    assert found.names[:3] == ("mu", "theta[Choate,1]", "theta[Choate,2]") and found.draws.shape == (4, 50, 7)
    assert found.warmup == 20, "told, and not among the draws"
    np.testing.assert_array_equal(found.draws[:, :, 1:].reshape(theta.shape), theta)
    np.testing.assert_array_equal(found.stats["divergent"], mu > 2)
    np.testing.assert_array_equal(found.stats["log density"], -(mu**2))


def test_netcdf_that_points_out_of_itself_is_refused(tmp_path):
    """A file of the server must not be read through one that a reader gives."""
    h5py = pytest.importorskip("h5py")
    secret = tmp_path / "secret"
    secret.write_bytes(RNG.normal(size=200).tobytes())
    with h5py.File(tmp_path / "run.nc", "w") as file:
        file.create_group("posterior").create_dataset("x", (4, 50), "f8", external=[(str(secret), 0, 1600)])
    with pytest.raises(SpecError, match="another file"):
        chains.read({"run.nc": (tmp_path / "run.nc").read_bytes()})
    with h5py.File(tmp_path / "run.nc", "w") as file:
        file.create_group("posterior")["x"] = h5py.ExternalLink("secret.nc", "/x")
    with pytest.raises(SpecError, match="link"):
        chains.read({"run.nc": (tmp_path / "run.nc").read_bytes()})
    with h5py.File(tmp_path / "run.nc", "w") as file:
        file.create_group("posterior").create_dataset("x", (4, 50), "S1000000")
    with pytest.raises(SpecError, match="x holds 200 MB"):
        chains.read({"run.nc": (tmp_path / "run.nc").read_bytes()})
    with pytest.raises(SpecError, match="cut off"):
        chains.read({"run.nc": (tmp_path / "run.nc").read_bytes()[:200]})


def npy(array: np.ndarray, *, pickle: bool = False) -> bytes:
    held = io.BytesIO()
    np.save(held, array, allow_pickle=pickle)
    return held.getvalue()


def test_arrays_of_numpy_csv_with_chains_json_and_a_zip_of_several():
    x = RNG.normal(size=(3, 40, 2))
    held = io.BytesIO()
    np.savez(held, theta=x, diverging=x[:, :, 0] > 1, draw=x[:, :, 0])
    table = "chain,draw,a,b\n" + "".join(f"{c + 1},{d + 1},{x[c, d, 0]!r},{x[c, d, 1]!r}\n" for c in range(3) for d in range(40))
    table = table.replace("np.float64(", "").replace(")", "")
    rows = json.dumps([{"a": chain[:, 0].tolist(), "b": chain[:, 1].tolist()} for chain in x]).encode()
    archive = chains.pack({f"chain{c}.npy": npy(x[c]) for c in range(3)})
    for name, content in (("x.npy", npy(x)), ("x.npz", held.getvalue()), ("x.csv", table.encode()), ("x.json", rows), archive):
        found = chains.read({name: content})
        np.testing.assert_array_equal(found.draws, x, err_msg=name)
        assert len(found.names) == 2, name
    assert chains.read({"x.npz": held.getvalue()}).stats["divergent"].sum() == (x[:, :, 0] > 1).sum()


def _zip(**members: bytes) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return held.getvalue()


BAD = {
    "a word in a cell": ({"a.csv": stan(bad="oops")}, r"a\.csv, line 21, column “theta\[2\]|theta\.2”: “oops”"),
    "a comma for a point": ({"a.csv": b"chain;x\n" + b"1;0,5\n" * 30}, "line 2, column “x”: “0,5” is not a number .write"),
    "a row cut off": ({"a.csv": stan().replace(b"# \n#  Elapsed", b"-1,0.9\n#")}, r"has 2 values, the columns are 10.*cut off"),
    "no names": ({"a.csv": b"1,2\n3,4\n" * 20}, "must name the columns"),
    "the same name twice": ({"a.csv": b"x,x\n" + b"1,2\n" * 30}, "two columns are called “x”"),
    "an optimum": ({"a.csv": stan().replace(b"method = sample", b"method = optimize")}, "“optimize”, not chains"),
    "other columns": ({"a.csv": stan(), "b.csv": stan().replace(b"mu", b"nu")}, "different columns"),
    "several kinds": ({"a.csv": stan(), "b.npy": npy(np.zeros((2, 30)))}, "several kinds"),
    "a pickle": ({"a.npy": npy(np.array([{}, {}], dtype=object), pickle=True)}, "not plain numbers"),
    "a huge promise": ({"a.npy": npy(np.zeros((2, 30))).replace(b"(2, 30), ", b"(2, 9999999), ")}, "19,999,998 numbers"),
    "one axis": ({"a.npy": npy(np.zeros(30))}, r"shape \(30,\)"),
    "few draws": ({"a.npy": npy(np.zeros((2, 5, 1)))}, "too few"),
    "a bomb": ({"a.zip": _zip(a=bytes(50_000_000))}, "50 MB once unpacked"),
    "many members": ({"a.zip": _zip(**{f"m{i}": b"1" for i in range(70)})}, "more than the 64"),
    "a zip in a zip": ({"a.zip": _zip(**{"b.zip": _zip(a=b"1")})}, "another archive"),
    "half a zip": ({"a.zip": _zip(a=b"1" * 99)[:60]}, "not a whole ZIP"),
    "half a JSON": ({"a.json": b'[{"a": [1, 2}'}, "line 1, column"),
    "deep JSON": ({"a.json": b"[" * 100_000}, "JSON"),
    "bytes": ({"a.csv": bytes(range(256))}, "not text"),
    "nothing": ({"a.csv": b""}, "is empty"),
    "ends of lines as on old Macs": ({"a.csv": b"a,b\r" + b"1,2\r" * 30}, "line 1 cannot be read as names"),
    "a name without an end": ({"a.csv": b"a" * 200_000 + b",b\n" + b"1,2\n" * 30}, "line 1 cannot be read as names"),
    "the last name twice": ({"a.csv": b",".join(b"a%d" % i for i in range(200_000)) + b",a199999\n1"}, "two columns are called “a199999”"),
    "a chain a row": ({"a.csv": b"chain,b\n" + b"".join(b"%d,2\n" % i for i in range(100_000))}, "100,000 chains"),
    "no chains": ({"a.npy": npy(np.zeros((0, 50, 3)))}, "holds no chain"),
    "no draws": ({"a.npy": npy(np.zeros((4, 0, 3)))}, "0 draws"),
    "no name": ({"a.json": json.dumps([{"": [1.0] * 30}]).encode()}, "without a name"),
    "a number of 400 digits": ({"a.json": b'[{"a": [1' + b"0" * 400 + b"]}]"}, "do not hold the same"),
    "too many numbers": ({"a.csv": b"x,y\n" + b"1,2\n" * 4_100_000}, "more than 4,000,000 numbers"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_refused_in_a_second_with_its_place(case):
    files, said = BAD[case]
    begin = time.process_time()
    with pytest.raises(SpecError, match=said):
        chains.read(files)
    assert time.process_time() - begin < 1.0


def test_numbers_in_comments_and_names_of_files_may_be_of_any_length():
    long = "9" * 5000
    odd = stan().replace(b"num_samples = 30", f"num_samples = {long}".encode()).replace(b"thin = 1", "thin = ²".encode())
    found = chains.read({f"{long}.csv": odd, "1²3.csv": stan(chain=2), "0012.csv": stan(chain=3)})
    assert [file for file, _ in found.where] == ["1²3.csv", "0012.csv", f"{long}.csv"]
    assert found.notes == ()


def test_what_is_known_comes_from_a_table_from_summaries_or_from_draws():
    table = known.read({"t.csv": b"name,mean,sd\nmu,4.4,3.31\nbeta[1,2],-0.72e-1,\n"})
    assert table.names == ("mu", "beta[1,2]") and np.isnan(table.sd[1])
    np.testing.assert_allclose([*table.mean, *table.mean_unit], [4.4, -0.072, 0.1, 0.001])
    assert known.read({"t.csv": b"name,mean\nmu,0e999\n"}).mean[0] == 0.0
    summary = known.read({"s.json": json.dumps({"reference": {"mu": {"mean": 1.0, "sd": 2.0, "draws": 10_000}}}).encode()})
    assert (summary.mean[0], summary.sd[0], summary.draws[0]) == (1.0, 2.0, 10_000)
    x = RNG.normal(size=(10, 100))
    reference = known.read({"r.zip": _zip(**{"r.json": json.dumps([{"mu": chain.tolist()} for chain in x]).encode()})})
    assert reference.mean[0] == pytest.approx(x.mean()) and 300 < reference.draws[0] < 3000
    for content, said in (
        (b"name,mean\nmu,high\n", "line 2, column “mean”"),
        (b"a,b\n1,2\n", "wanted are"),
        (b'{"reference": {"mu": 3}}', "no mean"),
        (b'{"reference": {"mu": {"mean": 1' + b"0" * 400 + b"}}}", "no mean"),
    ):
        with pytest.raises(SpecError, match=said):
            known.read({"t.csv": content})
