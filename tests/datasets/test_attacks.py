"""Files made to cost the server much: refused within a second of one core, whatever they hold."""

from __future__ import annotations

import gzip
import io
import time
import tracemalloc
import zipfile

import numpy as np
import pytest

from datasets import files, tables
from engine import ticket
from engine.spec import SpecError

SECONDS = 1.0
TRIES = 3  # what shares the core with something else for a moment takes longer; the work itself does not
QUIET = 0.017  # seconds that `slower` takes on a quiet core of the machine that this was measured on


def slower() -> float:
    """How much slower this core is at present, at least 1: others may share it."""
    begin = time.thread_time()
    sum(len(str(i)) for i in range(300_000))
    return max(1.0, (time.thread_time() - begin) / QUIET)


def csv_of(rows: int, columns: int, cell: str) -> bytes:
    """A table of equal cells with a line of names."""
    names = ",".join(f"c{i}" for i in range(columns))
    return (names + "\n" + (",".join([cell] * columns) + "\n") * rows).encode()


def table_of(rows: int, columns: int, cell: str) -> bytes:
    """A table of different cells."""
    return "\n".join(",".join(cell.format(i, j) for j in range(columns)) for i in range(rows)).encode() + b"\n"


def members(count: int, compression: int = zipfile.ZIP_STORED, size: int = 0) -> bytes:
    """An archive of so many small files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for i in range(count):
            archive.writestr(f"{i}.npy", bytes(size))
    return out.getvalue()


TABLES = {
    "40 MB": csv_of(100_000, 60, "1.2345"),
    "blank lines": b"a,b\n" + b"\n" * 11_000_000,
    "blank lines of blanks": b"a,b\n" + b" \n" * 299_000,
    "commas on one line": b"," * 11_000_000,
    "many cells": csv_of(60_000, 30, "1"),
    "too many cells in a column of words": csv_of(30_000, 50, "a") + b"a,b\n",
    "a bad last line": csv_of(24_000, 60, "1.25") + b"1,2,3\n",
    "a word in the last line": csv_of(24_000, 60, "1.25") + b",".join([b"1"] * 59) + b",x\n",
    "nothing but missing values, then a row too short": csv_of(24_000, 60, "") + b"1\n",
    "missing values spelled out, then a row too short": csv_of(24_000, 60, " nA ") + b"1\n",
    "words, all different": table_of(23_000, 50, "w{}x{}") + b"1\n",
    "words that look like numbers": table_of(23_000, 50, "-{}e{}.") + b"1\n",
    "underscores": csv_of(24_000, 60, "1_0") + b"1\n",
    "a quote that never ends": b'a,b\n1,"' + b"1,\n" * 299_000,
    "one cell": b"a,b\n1," + b"1" * 11_000_000,
    "long cells": csv_of(100, 60, "1" * 1_900),
    "no text": bytes(11_000_000),
    "not UTF-8": b"\xff" * 11_000_000,
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_refused_within_a_second(name: str) -> None:
    took = []
    while not took or (took[-1] >= SECONDS * slower() and len(took) < TRIES):
        begin = time.thread_time()
        with pytest.raises(SpecError) as refusal:
            tables.read_csv(TABLES[name])
        took.append(time.thread_time() - begin)
    assert min(took) < SECONDS * slower(), took
    assert 10 < len(refusal.value.reason) < 200


def bomb(size: int) -> bytes:
    return gzip.compress(bytes(size), 1)


IMAGES = {
    "100,000 members": lambda: {"a.npz": members(100_000)},
    "an unpacked gigabyte": lambda: {"a.npz": members(10, zipfile.ZIP_DEFLATED, 100_000_000)},
    "packed by bzip2": lambda: {"a.npz": members(2, zipfile.ZIP_BZIP2, 30_000_000)},
    "gzip bombs": lambda: {f"{i}": bomb(400_000_000) for i in range(4)},
    "many files": lambda: {f"{i}": b"" for i in range(1_000)},
    "a CSV of blank lines": lambda: {"a.csv": b"\n" * 60_000_000},
    "a CSV of commas": lambda: {"a.csv": b"," * 60_000_000},
    "rows with a bad last one": lambda: {"a.csv": b",".join([b"1"] * 65) * 1 + (b"\n" + b",".join([b"1"] * 65)) * 19_000 + b"\n1"},
    "arrays of another kind": lambda: {"a.npz": npz(x=np.full((20_000, 28, 28), 0.5, np.float32), y=np.zeros(20_000))},
    "a shape of zettabytes": lambda: {"a.npz": forged()},
}


def npz(**arrays: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def forged() -> bytes:
    """An NPZ whose array claims a shape that no memory holds."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "|u1", "fortran_order": False, "shape": (100_000_000_000, 28, 28)})
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("x_train.npy", head.getvalue() + bytes(1_000))
    return out.getvalue()


@pytest.mark.parametrize("name", IMAGES)
def test_images_are_refused_within_a_second(name: str) -> None:
    given = IMAGES[name]()
    begin = time.thread_time()
    with pytest.raises(SpecError) as refusal:
        files.from_files(given)
    assert time.thread_time() - begin < SECONDS * slower()
    assert 10 < len(refusal.value.reason) < 200


def test_the_largest_table_allowed_is_read_within_its_time_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    rows = tables.MOST_CELLS // 50 - 1
    lines = [",".join(f"c{i}" for i in range(50)), *(",".join(row) for row in rng.normal(size=(rows, 50)).round(5).astype(str))]
    content = "\n".join(lines).encode()
    assert 9e6 < len(content) < tables.MOST_BYTES
    begin = time.thread_time()
    table = tables.read_csv(content)
    assert time.thread_time() - begin < SECONDS * slower() and table.values.shape == (rows, 50)
    monkeypatch.setattr(tables, "SECONDS", 60.0)  # being watched it is slower
    tracemalloc.start()
    tables.read_csv(content)
    assert tracemalloc.get_traced_memory()[1] < 8 * len(content)
    tracemalloc.stop()


class SetAfter:
    """A ticket that is set at its n-th look."""

    def __init__(self, n: int):
        self.left = n

    def is_set(self) -> bool:
        self.left -= 1
        return self.left < 0

    def report(self, done: int, total: int) -> None:
        assert 0 <= done <= total


def test_reading_stops_when_nobody_waits() -> None:
    content = csv_of(60_000, 20, "1")
    with ticket.holding(SetAfter(3)), pytest.raises(InterruptedError):
        tables.read_csv(content)
    with ticket.holding(SetAfter(1)), pytest.raises(InterruptedError):
        files.from_files({"a.npz": npz(x=np.zeros((20, 8, 8), np.uint8), y=np.arange(20))})
