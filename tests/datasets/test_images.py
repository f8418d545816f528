"""Digits and MNIST: what the loaders return, and what they say of files that do not fit."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import io
import struct
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from datasets import files, images, local, own, remote
from datasets.card import Card
from datasets.letters import LETTERS, letters
from engine.spec import SpecError

NAMES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


def idx(array: np.ndarray, kind: int = 0x08) -> bytes:
    """An IDX file of unsigned bytes."""
    return bytes([0, 0, kind, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def npz(**arrays: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def some(n: int = 60, side: int = 28) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return rng.integers(0, 256, (n, side, side), dtype=np.uint8), np.arange(n, dtype=np.uint8) % 10


@pytest.fixture
def four() -> dict[str, bytes]:
    learn, test = some(60), some(30)
    return dict(zip(NAMES, (idx(learn[0]), idx(learn[1]), idx(test[0]), idx(test[1])), strict=True))


# The bundled digits ---------------------------------------------------------------------------------------------------


def test_the_bundled_digits_are_all_there_once():
    data, bundle = images.digits(), load_digits()
    assert data.x.shape == (1347, 64) and data.x_test.shape == (450, 64) and data.side == 8 and data.classes == 10
    assert data.x.dtype == np.float32 and data.x.min() == 0.0 and data.x.max() == 1.0
    held = np.concatenate([data.images, data.images_test]).reshape(-1, 64)
    labels = np.concatenate([data.y, data.y_test])
    order = np.lexsort(held.T)
    theirs = np.lexsort(bundle.data.astype(np.uint8).T)
    assert np.array_equal(held[order], bundle.data[theirs])
    assert np.array_equal(np.bincount(labels), np.bincount(bundle.target))
    assert images.digits() is data and data.card.source and data.card.licence and data.card.units
    few = data.some(20, 5)
    assert few.x.shape == (20, 64) and few.y_test.shape == (5,)
    with pytest.raises(SpecError, match="images"):
        data.some(0)


def test_principal_components_are_scikit_learns():
    x = images.digits().x
    ours, theirs = images.principal_components(x, 20), PCA(20).fit(x.astype(np.float64))
    signs = np.sign((ours.axes * theirs.components_).sum(axis=1))
    assert ours(x) * signs == pytest.approx(theirs.transform(x.astype(np.float64)), abs=1e-9)
    with pytest.raises(SpecError, match="components"):
        images.principal_components(x, 65)


def test_as_many_of_each_class_come_from_the_images_to_learn_from():
    data = images.digits()
    rows = images.stratified(data.labels, 5, 50)
    assert len(set(rows)) == 250 and np.bincount(data.labels[rows]).tolist() == [50] * 5
    assert np.array_equal(rows, images.stratified(data.labels, 5, 50))
    assert images.overlap(data.images[rows], data.images_test).common == 0
    x, y = images.digit_components(data, 5, 50, 20)
    theirs = PCA(20).fit_transform(data.images[rows].reshape(250, 64) / 16.0)
    assert np.abs(x) == pytest.approx(np.abs(theirs), abs=1e-9) and np.array_equal(y, data.labels[rows])
    with pytest.raises(SpecError, match="200 of class 0 are wanted"):
        images.stratified(data.labels, 5, 200)


def test_optdigits_test_rows_are_the_bundled_digits(data_folder: Path):
    data = files.from_files({"optdigits.csv": (data_folder / "optdigits.csv").read_bytes()})
    assert len(data.y) == 3823 and len(data.y_test) == 1797 and data.top == 16
    bundled = images.digits()
    whole = np.concatenate([bundled.images, bundled.images_test])
    found = images.overlap(data.images_test, whole)
    assert found.common == found.of == 1797 and "1,797 of these 1,797" in found.sentence
    apart = images.overlap(data.images, whole)
    assert apart.common == 0 and apart.sentence == ""
    assert images.overlap(some()[0], whole) == (0, 1797)  # another shape


# Files ----------------------------------------------------------------------------------------------------------------


def test_idx_files_packed_or_not(four: dict[str, bytes]):
    for contents in (four, {name + ".gz": gzip.compress(content) for name, content in four.items()}):
        data = files.from_files(contents)
        assert np.array_equal(data.images, some(60)[0]) and np.array_equal(data.y_test, some(30)[1])
        assert data.top == 255 and data.side == 28
    alone = files.from_files({name: four[name] for name in NAMES[:2]})
    assert len(alone.y) == 50 and len(alone.y_test) == 10


def test_npz_files_by_keras_names_and_plain_ones():
    x, y = some()
    whole = files.from_files({"mnist.npz": npz(x_train=x, y_train=y, x_test=x[:25], y_test=y[:25])})
    assert np.array_equal(whole.images, x) and len(whole.y_test) == 25
    flat = files.from_files({"own.npz": npz(images=(x / 255.0).reshape(60, -1), labels=y[:, None].astype(float))})
    assert np.array_equal(np.sort(flat.images.sum(axis=(1, 2))), np.sort(x[np.arange(60) % 6 != 5].sum(axis=(1, 2))))


def test_real_mnist_is_read(data_folder: Path):
    contents = {path.name: path.read_bytes() for path in (data_folder / "mnist").glob("*.gz")}
    data = files.from_files(contents, remote.MNIST.card)
    assert data.images.shape == (60_000, 28, 28) and data.images_test.shape == (10_000, 28, 28)
    assert np.bincount(data.y_test)[:2].tolist() == [980, 1135]
    assert all(remote._genuine(remote.MNIST, name, content) for name, content in contents.items())


def test_own_images_are_kept_by_their_content(four: dict[str, bytes]):
    key = own.keep(four)
    assert own.keep(dict(reversed(four.items()))) == key and np.array_equal(own.kept(key).images, some(60)[0])
    for seed in range(own.KEPT):
        own.keep({f"{seed}.npz": npz(x=X, y=Y)})
    with pytest.raises(SpecError, match="give them again"):
        own.kept(key)
    with pytest.raises(SpecError, match="labels"):
        own.keep({NAMES[0]: four[NAMES[0]]})


X, Y = some()
FLOATS = X / 255.0
BROKEN = [
    ({}, "files", "none given"),
    ({NAMES[0]: idx(X)}, "labels", "no file of labels came with train-images"),
    ({NAMES[1]: idx(Y)}, "images", "no file of images came with train-labels"),
    ({NAMES[2]: idx(X), NAMES[3]: idx(Y)}, "images", "none to learn from"),
    ({NAMES[0]: idx(X)[:-1], NAMES[1]: idx(Y)}, NAMES[0], "broken or cut off"),
    ({NAMES[0]: idx(X)[:9], NAMES[1]: idx(Y)}, NAMES[0], "within its head"),
    ({NAMES[0]: idx(X, 0x0D), NAMES[1]: idx(Y)}, NAMES[0], "type 0x0d"),
    ({NAMES[0]: idx(X[0]), NAMES[1]: idx(Y)}, NAMES[0], "2 dimensions"),
    ({NAMES[0]: b"GIF89a", NAMES[1]: idx(Y)}, NAMES[0], "not an IDX file"),
    ({NAMES[0]: gzip.compress(idx(X))[:-20], NAMES[1]: idx(Y)}, NAMES[0], "gzip"),
    ({NAMES[0]: b"\x1f\x8bnonsense", NAMES[1]: idx(Y)}, NAMES[0], "gzip"),
    ({NAMES[0]: idx(X), "b-" + NAMES[0]: idx(X), NAMES[1]: idx(Y)}, "b-" + NAMES[0], "second file of images"),
    ({NAMES[0]: idx(X), NAMES[1]: idx(Y[:-1])}, "labels", "59 for 60"),
    ({NAMES[0]: idx(X), NAMES[1]: idx(Y + 20)}, "labels", "from 20 to 29"),
    ({NAMES[0]: idx(X), NAMES[1]: idx(0 * Y)}, "labels", "nothing to tell apart"),
    ({NAMES[0]: idx(X[:, :, :20].copy()), NAMES[1]: idx(Y)}, "images", "square"),
    ({NAMES[0]: idx(np.zeros((60, 4, 4), np.uint8)), NAMES[1]: idx(Y)}, "images", "from 8 to 32"),
    ({NAMES[0]: idx(X[:10]), NAMES[1]: idx(Y[:10])}, "images", "too few"),
    ({"a.npz": npz(x_train=X)}, "labels", "no array y_train"),
    ({"a.npz": npz(y_train=Y)}, "images", "its arrays: y_train"),
    ({"a.npz": npz(x=X, y=Y, x_test=X)}, "labels", "to test on"),
    ({"a.npz": npz(x=X, y=Y, x_test=np.zeros((60, 8, 8)), y_test=Y)}, "images", "28 pixels a side"),
    ({"a.npz": npz(x=np.where(FLOATS > 0.5, np.nan, FLOATS), y=Y)}, "images", "finite"),
    ({"a.npz": npz(x=X, y=Y + 0.5)}, "labels", "whole"),
    ({"a.npz": npz(x=X, y=np.array(["one"] * 60))}, "labels", "one whole number"),
    ({"a.npz": npz(x=np.array([None] * 60), y=Y)}, "a.npz", "plain numeric"),
    ({"a.npz": npz(x=X, y=Y)[:-30]}, "a.npz", "can be read"),
    ({"a.npz": npz(x=X, y=Y), NAMES[1]: idx(Y)}, "files", "a.npz is a data set by itself"),
    ({"a.csv": b"1,2,3\n"}, "labels", "line 1 has 3 values"),
    ({"a.csv": b"\xff\xfe"}, "files", "UTF-8"),
    ({"a.csv": b"pixel0,label\n"}, "files", "no rows"),
    ({"a.csv": (",".join(["1"] * 64 + ["12"])).encode()}, "labels", "label 12"),
    ({"a.csv": (",".join(["99"] * 64 + ["1"])).encode()}, "images", "line 1 has a pixel outside"),
    ({"a.csv": (",".join(["1.5"] * 64 + ["1"])).encode()}, "images", "whole number"),
]


@pytest.mark.parametrize(("given", "field", "reason"), BROKEN)
def test_files_that_do_not_fit_are_named(given: dict[str, bytes], field: str, reason: str):
    with pytest.raises(SpecError) as problem:
        files.from_files(given)
    assert problem.value.parameter == field and reason in problem.value.reason


def test_nothing_huge_is_unpacked():
    bomb = np.zeros(files.MOST_BYTES + 1000, np.uint8)
    with pytest.raises(SpecError, match="once unpacked"):
        files.from_files({NAMES[0]: gzip.compress(bomb.tobytes(), 1)})
    with pytest.raises(SpecError, match="once unpacked"):
        files.from_files({"bomb.npz": npz(x=bomb)})
    head = bytes([0, 0, 8, 3]) + struct.pack(">3I", 2**32 - 1, 2**32 - 1, 2**32 - 1)
    with pytest.raises(SpecError, match="promises"):
        files.from_files({NAMES[0]: head, NAMES[1]: idx(Y)})


# Downloads, from this machine only ------------------------------------------------------------------------------------


class Quiet(SimpleHTTPRequestHandler):
    asked: list[str] = []  # noqa: RUF012

    def log_message(self, *_: object) -> None:
        self.asked.append(self.path)


@pytest.fixture
def server(tmp_path: Path, four: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A loopback server of a small data set that stands in for MNIST."""
    import hashlib

    served = tmp_path / "served"
    served.mkdir()
    packed = {name + ".gz": gzip.compress(content, 1) for name, content in four.items()}
    for name, content in packed.items():
        (served / name).write_bytes(content)
    small = remote.Remote(
        "http://127.0.0.1:9/",
        {name + ".gz": hashlib.sha256(content).hexdigest() for name, content in four.items()},
        {name: len(content) for name, content in packed.items()},
        True,
        Card("small MNIST", "this test", "none", "grey levels", images.DIGIT_NAMES),
    )
    monkeypatch.setitem(remote.REMOTE, "mnist", small)
    Quiet.asked = []
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(served))) as http:
        thread = threading.Thread(target=http.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}/"
        http.shutdown()
        thread.join()


def test_a_download_is_checked_kept_and_told(server: str, tmp_path: Path):
    told: list[tuple[int, int, str]] = []
    cache = tmp_path / "cache"
    assert not remote.available("mnist", cache)
    data = remote.download("mnist", cache, lambda *heard: told.append(heard), url=server)
    assert data.card.name == "small MNIST" and len(data.y) == 60 and remote.available("mnist", cache)
    assert told[-1][0] == told[-1][1] and [t[0] for t in told] == sorted(t[0] for t in told)
    assert len(Quiet.asked) == 4
    again = remote.download("mnist", cache)  # its own address answers nothing
    assert np.array_equal(again.images, data.images) and len(Quiet.asked) == 4
    broken = cache / "mnist" / "t10k-labels-idx1-ubyte.gz"
    broken.write_bytes(b"broken")
    remote.download("mnist", cache, url=server)
    assert len(Quiet.asked) == 5 and broken.read_bytes() != b"broken"


def test_a_wrong_hash_is_thrown_away(server: str, tmp_path: Path):
    served = tmp_path / "served" / "t10k-images-idx3-ubyte.gz"
    served.write_bytes(gzip.compress(idx(some(30)[0] ^ 1), 1))
    with pytest.raises(SpecError, match="another SHA-256"):
        remote.download("mnist", tmp_path / "cache", url=server)
    assert not (tmp_path / "cache" / "mnist" / served.name).exists()
    assert not remote.available("mnist", tmp_path / "cache")


def test_no_network_too_much_and_a_stop_are_told(server: str, tmp_path: Path):
    with pytest.raises(SpecError, match="give the four files yourself"):
        remote.download("mnist", tmp_path / "cache")
    with pytest.raises(SpecError, match="stopped"):
        remote.download("mnist", tmp_path / "cache", stop=lambda: True, url=server)
    (tmp_path / "served" / "train-images-idx3-ubyte.gz").write_bytes(bytes(600_000))
    with pytest.raises(SpecError, match="larger than it should be"):
        remote.download("mnist", tmp_path / "cache", url=server)
    with pytest.raises(SpecError, match="'imagenet' is not one of"):
        remote.download("imagenet", tmp_path / "cache")


def test_a_cache_that_cannot_be_written_costs_only_another_download(server: str, tmp_path: Path):
    (tmp_path / "file").write_text("not a folder")
    assert len(remote.download("mnist", tmp_path / "file", url=server).y) == 60


def test_the_known_hashes_cover_every_file():
    for known in (remote.MNIST, remote.FASHION):
        assert set(known.hashes) == set(known.sizes) == {name + ".gz" for name in NAMES}
        assert all(len(value) == 64 for value in known.hashes.values()) and len(known.card.classes) == 10


@pytest.mark.parametrize("name", ["mnist", "fashion"])
def test_a_folder_of_files_is_mapped_not_read(four: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    """Files of Fashion-MNIST's format, too: it is not here itself."""
    monkeypatch.setenv("POSTERIOR_LAB_DOWNLOADS", str(tmp_path / "cache"))
    for ending, pack in (("", bytes), (".gz", gzip.compress)):
        paths = {file + ending: tmp_path / (file + ending) for file in four}
        for path, content in zip(paths.values(), four.values(), strict=True):
            path.write_bytes(pack(content))
        found = remote.mapped(paths, remote.REMOTE[name].card)
        assert np.array_equal(found.images, files.from_files(four).images) and found.card.classes == remote.REMOTE[name].card.classes
        assert not found.images.flags.owndata and not found.images.flags.writeable
    assert len(list((tmp_path / "cache" / "unpacked").iterdir())) == 4  # each packed file once
    paths[NAMES[0] + ".gz"].write_bytes(gzip.compress(four[NAMES[0]][:-5]))
    with pytest.raises(SpecError, match="broken or cut off"):
        remote.mapped(paths, remote.REMOTE[name].card)


def test_letters_are_of_several_strokes_slants_and_sizes_and_the_same_for_a_seed():
    found, names = letters(80, seed=3)
    assert np.array_equal(found, letters(80, seed=3)[0]) and not np.array_equal(found, letters(80, seed=4)[0])
    assert found.shape == (80, 28, 28) and found.min() == 0.0 and found.max() <= 1.0 and set(names) <= set(LETTERS)
    ink = found.sum(axis=(1, 2))
    assert ink.max() > 3 * ink.min() > 0
    assert letters(5, side=8)[0].shape == (5, 8, 8)
    with pytest.raises(SpecError, match="letters"):
        letters(0)


def test_a_folder_and_a_download_are_found_and_stay_on_the_disk(four: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("DATA", "DOWNLOADS"):
        monkeypatch.setenv(f"POSTERIOR_LAB_{name}", str(tmp_path / name.lower()))
    assert not local.here("mnist")
    with pytest.raises(SpecError, match="POSTERIOR_LAB_DATA"):
        local.images("mnist")
    packed = {name + ".gz": gzip.compress(content) for name, content in four.items()}
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in packed.items()}
    known = dataclasses.replace(remote.MNIST, hashes=hashes, unpacked=False, url=(tmp_path / "there").as_uri() + "/")
    monkeypatch.setitem(remote.REMOTE, "mnist", known)
    for folder in ("there", "downloads/mnist"):
        (tmp_path / folder).mkdir(parents=True)
        for name, content in packed.items():
            (tmp_path / folder / name).write_bytes(content)
    spoilt = tmp_path / "downloads" / "mnist" / (NAMES[0] + ".gz")
    spoilt.write_bytes(gzip.compress(b"something else"))
    local.images("mnist")
    assert spoilt.read_bytes() == packed[spoilt.name], "what is not the known file is fetched again"
    found = local.images("mnist")
    assert not found.images.flags.owndata and local.images("mnist") is found
    (tmp_path / "data" / "mnist").mkdir(parents=True)
    for name, content in four.items():  # not packed, and before the downloads
        (tmp_path / "data" / "mnist" / name).write_bytes(content)
    given = local.images("mnist")
    assert given is not found and np.array_equal(given.images, found.images) and given.card.name == known.card.name
