"""Tables to learn from: a CSV that the user gives, read and checked; two of scikit-learn's; Boston and credit.

What does not fit raises SpecError naming line and column. What is left out (columns of words, constant columns, rows
with a missing value) is told, never lost silently: see `Task.notes`.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from datasets.bundled import bundled_file
from datasets.card import Card
from engine.spec import SpecError

Array = NDArray[np.float64]

MOST_BYTES = 40_000_000
MOST_ROWS = 250_000
MOST_COLUMNS = 60
FEWEST_ROWS = 30
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?"})  # how a missing value is written, in any case
SHOWN = 24  # characters of a bad cell that a message repeats
SPLITS = ("seeded", "published")

OWN_CARD = Card("your table", "a file given by the user", "yours", "as in the file")


@dataclass(frozen=True, eq=False)
class Table:
    """Rows as they stand in the file.

    names : of the columns
    values : (n, columns); NaN where a value is missing; of a column of words, the number of its word in `words`
    lines : (n,) line of each row in the file
    words : the different words, sorted, of each column of words
    """

    names: tuple[str, ...]
    values: Array
    lines: NDArray[np.int64]
    words: dict[str, tuple[str, ...]] = field(default_factory=dict)
    card: Card = OWN_CARD
    target: str = ""  # the column that is usually predicted; empty: the last
    identity: str = ""  # "boston" or "credit" where the numbers are those


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be predicted, and from what.

    x : (n, inputs); y : (n,), values, or 0 and 1 for `classes`
    names : of the inputs; target : of the column y
    classes : what 0 and 1 stand for; empty when y is a number
    notes : sentences on what was left out, and why
    """

    x: Array
    y: Array
    names: tuple[str, ...]
    target: str
    classes: tuple[str, ...]
    notes: tuple[str, ...]
    card: Card
    identity: str = ""


# Reading a CSV --------------------------------------------------------------------------------------------------------


def read_csv(content: bytes) -> Table:
    """The table of a CSV file: commas, semicolons or tabs; with or without a line of names.

    Numbers need a decimal point. A column without any number holds words; one with both raises SpecError naming the
    line, as does a row of another length. At most `MOST_BYTES`, `MOST_ROWS` and `MOST_COLUMNS`.
    """
    if len(content) > MOST_BYTES:
        raise SpecError("file", f"it is larger than {MOST_BYTES / 1e6:.0f} MB")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SpecError("file", "it is not text in UTF-8: save the sheet as “CSV UTF-8”") from None
    if "\0" in text[:1000]:
        raise SpecError("file", "it is no CSV file: it holds zero bytes, as spreadsheets do. Save it as CSV")
    first, rows, lines = _cells(text)
    names = _names(first)
    if len(rows) < FEWEST_ROWS:
        raise SpecError("file", f"it has {len(rows)} rows of data: at least {FEWEST_ROWS} are needed")
    values = np.empty((len(rows), len(names)))
    words: dict[str, tuple[str, ...]] = {}
    for index, name in enumerate(names):
        values[:, index], found = _column(name, [row[index] for row in rows], lines)
        if found:
            words[name] = found
    return _known(Table(names, values, np.array(lines, dtype=np.int64), words))


def _cells(text: str) -> tuple[list[str], list[list[str]], list[int]]:
    """The names (or what stands for them), the rows, and the line that each stands on."""
    head = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=head.count)
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True)
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            if not rows and not 2 <= len(row) <= MOST_COLUMNS:
                raise SpecError("file", f"it has {len(row)} columns, allowed are 2 to {MOST_COLUMNS}")
            if rows and len(row) != len(rows[0]):
                raise SpecError(
                    "file", f"line {reader.line_num} has {len(row)} values, the first line has {len(rows[0])}"
                )
            if len(rows) > MOST_ROWS:
                raise SpecError("file", f"it has more than the {MOST_ROWS:,} rows allowed: give a sample of it")
            rows.append(row)
            lines.append(reader.line_num)
    except csv.Error as problem:
        raise SpecError("file", f"line {reader.line_num} cannot be read as CSV ({problem})") from None
    if not rows:
        raise SpecError("file", "it is empty")
    if any(_number(cell) is not None for cell in rows[0]):  # no line of names
        return [f"column {i}" for i in range(1, len(rows[0]) + 1)], rows, lines
    return rows[0], rows[1:], lines[1:]


def _names(cells: Sequence[str]) -> tuple[str, ...]:
    names = tuple(cell.strip() for cell in cells)
    for index, name in enumerate(names, start=1):
        if not name:
            raise SpecError("file", f"column {index} has no name in the first line")
        if names.index(name) != index - 1:
            raise SpecError("file", f"two columns are called {_shown(name)}")
    return names


def _column(name: str, cells: Sequence[str], lines: Sequence[int]) -> tuple[Array, tuple[str, ...]]:
    """Numbers of a column, NaN where missing, or the numbers of its words and the words."""
    values, odd = np.full(len(cells), np.nan), []
    for row, cell in enumerate(cells):
        if cell.strip().lower() in MISSING:
            continue
        value = _number(cell)
        if value is None:
            odd.append(row)
        elif not math.isfinite(value):
            raise SpecError("file", f"line {lines[row]}, column {_shown(name)}: {_shown(cell)} is not finite")
        else:
            values[row] = value
    if not odd:
        return values, ()
    if np.isfinite(values).any():
        advice = " (write numbers with a point)" if _number(cells[odd[0]].replace(",", ".")) is not None else ""
        raise SpecError(
            "file", f"line {lines[odd[0]]}, column {_shown(name)}: {_shown(cells[odd[0]])} is not a number{advice}"
        )
    found = tuple(sorted({cells[row].strip() for row in odd}))
    place = {word: number for number, word in enumerate(found)}
    for row in odd:
        values[row] = place[cells[row].strip()]
    return values, found


def _number(cell: str) -> float | None:
    try:
        return float(cell) if "_" not in cell else None  # Python would read 1_000
    except ValueError:
        return None


def _shown(text: str) -> str:
    text = "".join(c if c.isprintable() else "�" for c in text.strip())
    return f"“{text if len(text) <= SHOWN else text[:SHOWN] + '…'}”"


# What to predict ------------------------------------------------------------------------------------------------------


def choose(table: Table, target: str = "", without: Sequence[str] = ()) -> Task:
    """The column to predict, and the inputs.

    target : its name; empty: the table's usual one, or the last column
    without : names of columns to leave out

    A target with two different values, or two words, makes classes. Columns of words, columns with one value only and
    rows with a missing value are left out and noted. Raises SpecError naming the field.
    """
    name = target.strip() or table.target or table.names[-1]
    for field_name, wanted in (("target", name), *(("without", column) for column in without)):
        if wanted not in table.names:
            known = ", ".join(table.names[:8]) + (" …" if len(table.names) > 8 else "")
            raise SpecError(field_name, f"there is no column {_shown(wanted)}; there are {known}")
    if name in without:
        raise SpecError("without", f"{_shown(name)} is the column to predict")
    notes = []
    inputs = [column for column in table.names if column != name and column not in without]
    worded = [column for column in inputs if column in table.words]
    if worded:
        notes.append(f"{_listed(worded)} hold{'s' * (len(worded) == 1)} words, not numbers: left out.")
    inputs = [column for column in inputs if column not in worded]
    columns = [table.names.index(column) for column in inputs]
    y = table.values[:, table.names.index(name)]
    whole = np.isfinite(table.values[:, columns]).all(axis=1) & np.isfinite(y)
    if not whole.all():
        first = int(np.flatnonzero(~whole)[0])
        row = table.values[first, columns]
        where = name if not np.isfinite(y[first]) else inputs[int(np.flatnonzero(~np.isfinite(row))[0])]
        missing = f"{int((~whole).sum()):,} of {len(y):,} rows have a missing value"
        where = f"the first on line {table.lines[first]}, column {_shown(where)}"
        if whole.sum() < FEWEST_ROWS:
            raise SpecError(
                "file", f"{missing} ({where}): {int(whole.sum())} whole rows are left, {FEWEST_ROWS} are needed"
            )
        notes.append(f"{missing}, {where}: those rows are left out.")
    x, y = table.values[np.ix_(np.flatnonzero(whole), columns)], y[whole]
    flat = [column for column, values in zip(inputs, x.T, strict=True) if np.ptp(values) == 0.0]
    if flat:
        notes.append(f"{_listed(flat)} {'has' if len(flat) == 1 else 'have'} one value only: left out.")
    kept = [index for index, column in enumerate(inputs) if column not in flat]
    if not kept:
        raise SpecError("file", "no column of numbers that vary is left to predict from")
    y, classes = _target(name, y, table.words.get(name))
    if table.card.classes and name == (table.target or table.names[-1]):
        classes = table.card.classes
    names = tuple(inputs[index] for index in kept)
    return Task(
        np.ascontiguousarray(x[:, kept]), y, names, name, classes, tuple(notes), table.card, table.identity
    )  # fmt: skip


def _target(name: str, y: Array, words: tuple[str, ...] | None) -> tuple[Array, tuple[str, ...]]:
    """Values, or classes 0 and 1 with what they stand for."""
    different = np.unique(y)
    if len(different) == 1:
        only = words[int(y[0])] if words else f"{y[0]:g}"
        raise SpecError("target", f"every row has {_shown(only)} in {_shown(name)}: there is nothing to predict")
    if len(different) == 2:
        faces = tuple(words[int(value)] if words else f"{value:g}" for value in different)
        return (y == different[1]).astype(np.float64), faces
    if words:
        raise SpecError(
            "target", f"{_shown(name)} holds {len(different)} different words: numbers or two words are read"
        )
    return y.copy(), ()


def _listed(names: Sequence[str]) -> str:
    return ", ".join(_shown(name) for name in names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


# Rows to learn from ---------------------------------------------------------------------------------------------------


def split(task: Task, train: int, test: int, seed: int, how: str = "seeded") -> tuple[NDArray[np.int64], ...]:
    """Numbers of the rows to learn from, at most `train`, and of those to test on, at most `test`.

    how : "seeded": drawn without replacement, the same for a seed; "published": those of Andersen and Roed-Sørensen
        2021, chapter 5: of Boston the 404 and 102 that Keras gives for seed 3030, of credit the first 300 and 100 of
        scikit-learn's `train_test_split(test_size=0.3, random_state=3030)`

    Fewer rows than asked for are shared in the same proportion. Raises SpecError if a class is missing among them.
    """
    n = len(task.y)
    if how == "published":
        if task.identity not in ("boston", "credit"):
            raise SpecError("split", "published rows are known for Boston and credit default only")
        generator = np.random.RandomState(3030)  # what Keras and scikit-learn drew with
        if task.identity == "boston":
            order = np.arange(n)
            generator.shuffle(order)
            parts = order[:404], order[404:]
        else:
            order = generator.permutation(n)
            held = math.ceil(0.3 * n)
            parts = order[held : held + 300], order[:100]
    else:
        if train + test > n:
            train, test = max(1, int(n * train / (train + test))), max(1, int(n * test / (train + test)))
        order = np.random.Generator(np.random.SFC64(np.random.SeedSequence([seed, 9]))).permutation(n)
        parts = order[:train], order[train : train + test]
    learned = task.y[parts[0]]
    if np.ptp(learned) == 0.0:
        alike = (
            f"are {_shown(task.classes[int(learned[0])])}" if task.classes else f"have the same {_shown(task.target)}"
        )
        raise SpecError("rows", f"all {len(learned)} rows to learn from {alike}: take more, or another seed")
    return parts


@dataclass(frozen=True, eq=False)
class Standard:
    """Centre and scale (columns,), of the rows to learn from and of no others. A column that does not vary among them
    keeps its scale."""

    mean: Array
    sd: Array

    @classmethod
    def of(cls, values: Array) -> Standard:
        """Measured on values (n, columns)."""
        sd = values.std(axis=0)
        return cls(values.mean(axis=0), np.where(sd > 0.0, sd, 1.0))

    def apply(self, values: Array) -> Array:
        """Centred and scaled, (m, columns)."""
        return (values - self.mean) / self.sd


# Tables that come along -----------------------------------------------------------------------------------------------

_DIABETES = ("age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6")
_CELLS = ("radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity", "concave points")
_CELLS += ("symmetry", "fractal dimension")


@lru_cache(maxsize=2)
def bundled(name: str) -> Table:
    """ "diabetes" (442 patients, progression after a year) or "breast_cancer" (569 tumours), as scikit-learn has them.

    Raises SpecError where it is missing.
    """
    if name == "diabetes":
        x, y = (
            np.loadtxt(io.StringIO(gzip.decompress(bundled_file(file)).decode()), ndmin=2)
            for file in ("diabetes_data_raw.csv.gz", "diabetes_target.csv.gz")
        )
        y = y.reshape(-1, 1)
        names = (*_DIABETES, "progression")
        card = Card(
            "diabetes",
            "B. Efron, T. Hastie, I. Johnstone and R. Tibshirani, Least angle regression, 2004; from scikit-learn",
            "as distributed with scikit-learn (BSD)",
            "raw: years, sex 1 or 2, kg/m², mmHg, six blood measurements",
        )
    elif name == "breast_cancer":
        table = np.loadtxt(io.StringIO(bundled_file("breast_cancer.csv").decode()), delimiter=",", skiprows=1)
        x, y = table[:, :-1], 1.0 - table[:, -1:]  # 1 is what one looks for: malignant
        kinds = ("mean", "error", "worst")
        names = (*(f"{kind} {cell}" for kind in kinds for cell in _CELLS), "malignant")
        card = Card(
            "breast cancer",
            "W. Street, W. Wolberg and O. Mangasarian, Breast Cancer Wisconsin (Diagnostic), 1993; from scikit-learn",
            "CC BY 4.0",
            "of cell nuclei in an image: pixels and ratios",
            ("benign", "malignant"),
        )
    else:
        raise SpecError("data", f"{name!r} is not one of diabetes, breast_cancer")
    values = np.hstack([x, y])
    return Table(names, values, np.arange(1, len(values) + 1), card=card)


# Boston and credit ----------------------------------------------------------------------------------------------------

BOSTON_CARD = Card(
    "Boston house prices",
    "D. Harrison and D. Rubinfeld, Hedonic housing prices and the demand for clean air, 1978",
    "public domain",
    "1970 census tracts; medv, the median value, in 1000 dollars",
)
CREDIT_CARD = Card(
    "credit default",
    "I. Yeh, Default of Credit Card Clients, UCI 2009",
    "CC BY 4.0",
    "Taiwan 2005: amounts in NT dollars, pay codes −2 to 9 in months",
    ("pays", "defaults"),
)
_BOSTON = ("crim", "zn", "indus", "chas", "nox", "rm", "age", "dis", "rad", "tax", "ptratio", "b", "lstat", "medv")
_PAY = ("PAY_0", *(f"PAY_{month}" for month in range(2, 7)))
_AMOUNTS = tuple(f"{what}{month}" for what in ("BILL_AMT", "PAY_AMT") for month in range(1, 7))
_CREDIT = ("ID", "LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE", *_PAY, *_AMOUNTS, "default")

# SHA-256 of the numbers, row by row: copies that differ in names, quotes or line ends are the same table
NUMBERS = {
    "832e894115c56dd24ec63848d4a3d9bd921d268d0be1bee2a8f4ee5ea318f5f7": ("boston", _BOSTON, BOSTON_CARD),
    "ecc4d131322ae367283d5cdce8f77ede7d79e255a2f776d78a12e8f9fece04a5": ("credit", _CREDIT, CREDIT_CARD),
}


def fingerprint(values: Array) -> str:
    """SHA-256 of numbers (n, columns), row by row."""
    return hashlib.sha256(np.ascontiguousarray(values, dtype="<f8").tobytes()).hexdigest()


def _known(table: Table) -> Table:
    """The same table with its usual names and card, if its numbers are those of Boston or credit default."""
    if table.values.shape not in ((506, len(_BOSTON)), (30_000, len(_CREDIT))):
        return table
    identity, names, card = NUMBERS.get(fingerprint(table.values), ("", table.names, table.card))
    if not identity:
        return table
    kept = [index for index, name in enumerate(names) if name != "ID"]  # a number of a client predicts nothing
    values = np.ascontiguousarray(table.values[:, kept])
    return replace(
        table,
        names=tuple(names[index] for index in kept),
        values=values,
        card=card,
        target=names[-1],
        identity=identity,
    )
