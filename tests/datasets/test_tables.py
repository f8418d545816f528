"""Tables: a CSV is read or refused with its place named, what is left out is told, rows are split as published."""

from __future__ import annotations

import csv
import hashlib
import io
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from datasets import remote, tables
from engine.spec import SpecError


def written(rows: int = 40, head: str = "size,age,price", change: dict[int, str] | None = None, join: str = "\n") -> bytes:
    """A CSV of whole rows, with some lines (counted from 1) put in place of others."""
    rng = np.random.default_rng(5)
    lines = [head, *(f"{a:.3f},{b:.3f},{3 * a - b:.3f}" for a, b in rng.random((rows, 2)))]
    for line, text in (change or {}).items():
        lines[line - 1] = text
    return "\n".join(lines).encode()


def refused(content: bytes, **chosen: object) -> SpecError:
    with pytest.raises(SpecError) as error:
        tables.choose(tables.read_csv(content), **chosen)
    return error.value


# Reading --------------------------------------------------------------------------------------------------------------


def test_numbers_are_those_of_the_csv_module():
    content = written(50)
    table = tables.read_csv(content)
    rows = list(csv.DictReader(io.StringIO(content.decode())))
    assert table.names == ("size", "age", "price")
    assert np.array_equal(table.values, [[float(row[name]) for name in table.names] for row in rows])
    assert np.array_equal(table.lines, np.arange(2, 52))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(",", ";"),
        lambda text: text.replace(",", "\t"),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text + "\n\n",
        lambda text: text.replace("size", '"size"'),
    ],
)
def test_other_ways_to_write_the_same(change):
    assert np.array_equal(tables.read_csv(change(written().decode()).encode()).values, tables.read_csv(written()).values)


def test_a_table_without_names():
    table = tables.read_csv(written().split(b"\n", 1)[1])
    assert table.names == ("column 1", "column 2", "column 3") and len(table.values) == 40 and table.lines[0] == 1


@pytest.mark.parametrize(
    "content,words",
    [
        (b"", "empty"),
        (b"\xff\xfe\x00", "not text in UTF-8"),
        (b"PK\x03\x04\0\0", "zero bytes"),
        (written(10), "10 rows of data: at least 30"),
        (written(change={7: "1,2"}), "line 7 has 2 values, the first line has 3"),
        (written(change={9: "0.5,old,0.5"}), "line 9, column “age”: “old” is not a number"),
        (written(change={9: "0.5,inf,0.5"}), "line 9, column “age”: “inf” is not finite"),
        (written(change={9: "0.5,1_000,0.5"}), "line 9, column “age”: “1_000” is not a number"),
        (written().replace(b",", b";").replace(b".", b",", 1), "write numbers with a point"),
        (written(head="size,size,price"), "two columns are called “size”"),
        (written(head="size,,price"), "column 2 has no name"),
        (b"\n".join(b"1" for _ in range(40)), "1 columns, allowed are 2 to 60"),
        (written(change={2: '0.1,"0.2,0.3'}), "line"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(content, words):
    error = refused(content)
    assert error.parameter == "file" and words in error.reason


def test_too_large_is_refused_before_it_is_read():
    assert "larger than 12 MB" in refused(bytes(tables.MOST_BYTES + 1)).reason


def test_two_hundred_thousand_rows_are_all_there_and_more_than_the_cap_are_refused():
    line = b"1.5,2.5,3.5\n"
    many = b"a,b,c\n" + line * 199_999 + b"2.5,3.5,4.5\n"
    table = tables.read_csv(many)
    assert table.values.shape == (200_000, 3) and table.values[-1, 2] == 4.5
    task = tables.choose(tables.read_csv(b"a,b,c\n" + b"".join(b"%d,%d,%d\n" % (i, i % 7, i % 5) for i in range(200_000))))
    train, test = tables.split(task, 300, 100, seed=1)
    assert len(task.y) == 200_000 and len(train) == 300 and len(test) == 100 and train.max() > 100_000
    assert "more than the 250,000 rows" in refused(b"a,b,c\n" + line * 250_002).reason


# What to predict ------------------------------------------------------------------------------------------------------


def test_what_is_left_out_is_told():
    rows = "".join(f"{i},{i % 3},red,7,{i * i}\n" for i in range(60))
    content = ("a,b,colour,flat,y\n" + rows).replace("\n5,2,", "\n5,NA,").encode()
    task = tables.choose(tables.read_csv(content))
    assert task.names == ("a", "b") and task.target == "y" and not task.classes and len(task.y) == 59
    told = " ".join(task.notes)
    assert "“colour” holds words" in told and "“flat” has one value only" in told
    assert "1 of 60 rows have a missing value, the first on line 7, column “b”" in told


def test_two_values_or_two_words_are_classes():
    rows = "".join(f"{i},{'no' if i % 3 else 'yes'},{1 + i % 2}\n" for i in range(60))
    table = tables.read_csv(("a,late,sex\n" + rows).encode())
    task = tables.choose(table, "late")
    assert task.classes == ("no", "yes") and np.array_equal(task.y, np.arange(60) % 3 == 0)
    assert tables.choose(table, "sex").classes == ("1", "2")


@pytest.mark.parametrize(
    "head,cell,chosen,field,words",
    [
        ("a,b,y", "{i},{i},4", {}, "target", "every row has “4” in “y”: there is nothing to predict"),
        ("a,b,y", "{i},{i},no", {}, "target", "every row has “no”"),
        ("a,b,y", "{i},{i},w{m}", {}, "target", "3 different words"),
        ("a,b,y", "{i},{i},{i}", {"target": "z"}, "target", "there is no column “z”; there are a, b, y"),
        ("a,b,y", "{i},{i},{i}", {"without": ("z",)}, "without", "there is no column “z”"),
        ("a,b,y", "{i},{i},{i}", {"without": ("y",)}, "without", "is the column to predict"),
        ("a,b,y", "3,red,{i}", {}, "file", "no column of numbers that vary"),
        ("a,b,y", "?,{i},{i}", {}, "file", "60 of 60 rows have a missing value (the first on line 2, column “a”)"),
    ],
)
def test_a_choice_that_cannot_be_is_refused(head, cell, chosen, field, words):
    content = head + "\n" + "\n".join(cell.format(i=i, m=i % 3) for i in range(60))
    error = refused(content.encode(), **chosen)
    assert error.parameter == field and words in error.reason


def test_rows_are_drawn_once_and_shared_out():
    task = tables.choose(tables.bundled("diabetes"))
    train, test = tables.split(task, 300, 100, seed=1)
    assert len(set(train) | set(test)) == 400
    assert np.array_equal(train, tables.split(task, 300, 100, seed=1)[0])
    assert not np.array_equal(train, tables.split(task, 300, 100, seed=2)[0])
    train, test = tables.split(task, 900, 300, seed=1)
    assert (len(train), len(test)) == (331, 110)
    with pytest.raises(SpecError, match="known for Boston and credit"):
        tables.split(task, 300, 100, 1, "published")


def test_one_class_among_the_rows_is_told():
    rows = "".join(f"{i},{int(i == 7)}\n" for i in range(1000))
    task = tables.choose(tables.read_csv(("a,y\n" + rows).encode()))
    with pytest.raises(SpecError, match="all 30 rows to learn from are “0”: take more, or another seed"):
        tables.split(task, 30, 100, seed=1)


def test_standardising_looks_at_the_training_rows_only():
    rng = np.random.default_rng(1)
    train, test = rng.normal(5, 3, (50, 4)), rng.normal(-9, 20, (20, 4))
    train[:, 2] = 4.0
    ours, theirs = tables.Standard.of(train), StandardScaler().fit(train)
    assert np.allclose(ours.apply(test), theirs.transform(test), rtol=1e-12)


# Tables that come along -----------------------------------------------------------------------------------------------


def test_bundled_tables_are_those_of_scikit_learn():
    theirs = load_diabetes(scaled=False)
    ours = tables.choose(tables.bundled("diabetes"))
    assert np.array_equal(ours.x, theirs.data) and np.array_equal(ours.y, theirs.target)
    assert list(ours.names) == list(theirs.feature_names)
    cells = load_breast_cancer()
    ours = tables.choose(tables.bundled("breast_cancer"))
    assert np.array_equal(ours.x, cells.data) and np.array_equal(ours.y, 1 - cells.target)
    assert ours.classes == ("benign", "malignant")
    assert [name.removeprefix("error ") for name in ours.names[10:20]] == [
        str(name).removesuffix(" error") for name in cells.feature_names[10:20]
    ]
    with pytest.raises(SpecError, match="'iris' is not one of"):
        tables.bundled("iris")


# Boston and credit ----------------------------------------------------------------------------------------------------


def test_boston_is_known_by_its_numbers_and_split_as_keras_does(data_folder: Path):
    raw = (data_folder / "boston_housing.csv").read_bytes()
    for content in (raw, b"\n".join(raw.split(b"\n")[1:]), raw.replace(b",", b";")):
        table = tables.read_csv(content)
        assert table.identity == "boston" and table.names[-3:] == ("b", "lstat", "medv")
    task = tables.choose(table)
    train, test = tables.split(task, 10, 10, 0, "published")
    assert len(train) == 404 and len(test) == 102 and len(set(train) | set(test)) == 506
    # Keras' own documentation prints the first row for its default seed, 113
    order = np.arange(506)
    np.random.RandomState(113).shuffle(order)
    assert task.x[order[0], 0] == 1.23247 and task.y[order[0]] == 15.2


def test_credit_is_known_by_its_numbers_and_split_as_scikit_learn_does(data_folder: Path):
    raw = (data_folder / "credit_default.csv").read_bytes()
    task = tables.choose(tables.read_csv(raw))
    assert task.identity == "credit" and len(task.names) == 23 and "ID" not in task.names
    assert task.classes == ("pays", "defaults") and round(task.y.mean(), 4) == 0.2212
    train, test = tables.split(task, 10, 10, 0, "published")
    theirs = train_test_split(np.arange(30_000), test_size=0.30, random_state=3030)
    assert np.array_equal(train, theirs[0][:300]) and np.array_equal(test, theirs[1][:100])


def test_the_known_hashes_are_those_of_the_public_files(data_folder: Path):
    """UCI's file is ours under other names and line ends; Boston's public copy has quotes about names and chas."""
    rows = (data_folder / "credit_default.csv").read_text().splitlines()
    head = ",".join(["ID", *(f"X{i}" for i in range(1, 24)), "Y"])
    content = "".join(line + "\r\n" for line in [head, *rows[1:]]).encode()
    assert hashlib.sha256(content).hexdigest() == remote.CREDIT.hashes["data.csv"]
    assert len(content) == remote.CREDIT.sizes["data.csv"] and tables.read_csv(content).identity == "credit"
    rows = [line.split(",") for line in (data_folder / "boston_housing.csv").read_text().splitlines()]
    quoted = [[f'"{cell}"' if row is rows[0] or i == 3 else cell for i, cell in enumerate(row)] for row in rows]
    content = ("\n".join(map(",".join, quoted)) + "\n\n").encode()
    assert hashlib.sha256(content).hexdigest() == remote.BOSTON.hashes["BostonHousing.csv"]
    assert tables.read_csv(content).identity == "boston"


class Quiet(SimpleHTTPRequestHandler):
    """Serves without a word."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """A loopback server."""
    served = tmp_path / "served"
    served.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(served))) as http:
        thread = threading.Thread(target=http.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}/"
        http.shutdown()
        thread.join()


def test_a_table_is_downloaded_and_checked(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    content = written(60)
    (tmp_path / "served" / "small.csv").write_bytes(content)
    small = remote.Remote(
        "http://127.0.0.1:9/",
        {"small.csv": hashlib.sha256(content).hexdigest()},
        {"small.csv": len(content)},
        False,
        tables.BOSTON_CARD,
        remote.BOSTON.instead,
    )
    monkeypatch.setitem(remote.TABLES, "boston", small)
    with pytest.raises(SpecError, match="give the CSV file yourself"):
        remote.download_table("boston", tmp_path / "cache")
    assert len(remote.download_table("boston", tmp_path / "cache", url=server).values) == 60
    assert remote.available("boston", tmp_path / "cache")
    (tmp_path / "cache" / "boston" / "small.csv").write_bytes(b"broken")
    (tmp_path / "served" / "small.csv").write_bytes(content + b"1,2,3\n")
    with pytest.raises(SpecError, match="another SHA-256"):
        remote.download_table("boston", tmp_path / "cache", url=server)
