"""Tables to learn from: a CSV that the user gives, read and checked; two of scikit-learn's; Boston and credit.

What does not fit raises SpecError naming line and column. What is left out (columns of words, constant columns, rows
with a missing value) is told, never lost silently: see `Task.notes`.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import itertools
import math
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from datasets.bundled import bundled_file
from datasets.card import Card
from engine.spec import SpecError
from engine.ticket import report

Array = NDArray[np.float64]

MOST_BYTES = 12_000_000
MOST_ROWS = 250_000
MOST_LINES = 300_000  # blank ones counted
MOST_COLUMNS = 60
MOST_CELLS = 1_200_000
MOST_WORDS = 250_000  # of those cells
SECONDS = 2.5  # of one core: what these limits let through takes 0.8 at most on a quiet one
HEAD = 100_000  # bytes in which the first line is looked for
BATCH = 4_000  # rows between looks at the clock and at the job's ticket
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
    line, as does a row of another length. At most `MOST_BYTES`, `MOST_ROWS`, `MOST_COLUMNS` and `MOST_CELLS`, counted
    before anything is read, and `SECONDS`.
    """
    if len(content) > MOST_BYTES:
        raise SpecError("file", f"it is larger than {MOST_BYTES / 1e6:.0f} MB")
    if content.count(b"\n") > MOST_LINES:
        raise SpecError("file", f"it has more than {MOST_LINES:,} lines, blank ones counted: give a sample of it")
    delimiter = max(b",;\t", key=content[:HEAD].split(b"\n", 1)[0].count)
    if content.count(delimiter) > MOST_CELLS:
        raise SpecError("file", f"it has more than the {MOST_CELLS:,} cells allowed: give a sample of it")
    try:
        content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SpecError("file", "it is not text in UTF-8: save the sheet as “CSV UTF-8”") from None
    if b"\0" in content[:1000]:
        raise SpecError("file", "it is no CSV file: it holds zero bytes, as spreadsheets do. Save it as CSV")
    columns: list[_Column] = []
    lines: list[int] = []
    for rows, at in _batches(content, chr(delimiter)):
        if not columns:
            named = all(_number(cell) is None for cell in rows[0])  # else there is no line of names
            names = _names(rows[0]) if named else tuple(f"column {i}" for i in range(1, len(rows[0]) + 1))
            columns = [_Column(name) for name in names]
            rows, at = rows[named:], at[named:]
        for column, cells in zip(columns, zip(*rows, strict=True), strict=False):
            column.add(cells, at)
        if sum(len(column.words) for column in columns) > MOST_WORDS:
            raise SpecError("file", f"more than {MOST_WORDS:,} cells hold words, not numbers: leave those columns out")
        lines += at
    if len(lines) < FEWEST_ROWS:
        raise SpecError("file", f"it has {len(lines)} rows of data: at least {FEWEST_ROWS} are needed")
    values = np.empty((len(lines), len(columns)))
    words: dict[str, tuple[str, ...]] = {}
    for index, column in enumerate(columns):
        values[:, index], found = column.whole()
        if found:
            words[column.name] = found
    return _known(Table(tuple(column.name for column in columns), values, np.array(lines, dtype=np.int64), words))


def _batches(content: bytes, delimiter: str) -> Iterator[tuple[list[list[str]], list[int]]]:
    """Rows of one length, the names among them, and the line that each stands on; never an empty batch first."""
    text = io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", newline="\n")  # line by line: memory
    reader = csv.reader(text, delimiter=delimiter, skipinitialspace=True)
    begin, lines, width, rows = time.thread_time(), content.count(b"\n") + 1, 0, 0
    while True:
        report(reader.line_num, lines)
        if time.thread_time() - begin > SECONDS:
            raise SpecError("file", f"reading it takes more than {SECONDS:g} s: give a sample of it")
        batch: list[list[str]] = []
        at: list[int] = []
        try:
            for row in itertools.islice(reader, BATCH):
                if len(row) != width or not row[0]:
                    if not "".join(row).strip():
                        continue
                    if not width and not 2 <= len(row) <= MOST_COLUMNS:
                        raise SpecError("file", f"it has {len(row)} columns, allowed are 2 to {MOST_COLUMNS}")
                    width = width or len(row)
                    if len(row) != width:
                        raise SpecError("file", f"line {reader.line_num} has {len(row)} values, the first line has {width}")
                batch.append(row)
                at.append(reader.line_num)
        except csv.Error as problem:
            raise SpecError("file", f"line {reader.line_num} cannot be read as CSV ({problem})") from None
        rows += len(batch)
        if rows > MOST_ROWS + 1:
            raise SpecError("file", f"it has more than the {MOST_ROWS:,} rows allowed: give a sample of it")
        if batch:
            yield batch, at
        elif reader.line_num >= lines - 1:
            break
    if not width:
        raise SpecError("file", "it is empty")


def _names(cells: Sequence[str]) -> tuple[str, ...]:
    names = tuple(cell.strip() for cell in cells)
    for index, name in enumerate(names, start=1):
        if not name:
            raise SpecError("file", f"column {index} has no name in the first line")
        if names.index(name) != index - 1:
            raise SpecError("file", f"two columns are called {_shown(name)}")
    return names


class _Column:
    """A column while it is read: of numbers, NaN where one is missing, or of words."""

    def __init__(self, name: str):
        self.name = name
        self.parts: list[Array] = []
        self.words: list[tuple[int, str]] = []  # row and word
        self.rows, self.first_word, self.numbers = 0, 0, False

    def add(self, cells: Sequence[str], lines: Sequence[int]) -> None:
        """Some more cells. Raises SpecError naming the line of a word among numbers."""
        try:
            values = np.array(list(map(float, cells)))
            plain = "_" not in "".join(cells) and bool(np.isfinite(values).all())  # Python would read 1_000
        except ValueError:
            plain = False
        if not plain:
            values = self._one_by_one(cells, lines)
        self.numbers = self.numbers or bool(np.isfinite(values).any())
        if self.words and self.numbers:
            word = self.words[0][1]
            advice = " (write numbers with a point)" if _number(word.replace(",", ".")) is not None else ""
            where = f"line {self.first_word}, column {_shown(self.name)}"
            raise SpecError("file", f"{where}: {_shown(word)} is not a number{advice}")
        self.parts.append(values)
        self.rows += len(cells)

    def _one_by_one(self, cells: Sequence[str], lines: Sequence[int]) -> Array:
        values = np.full(len(cells), np.nan)
        known: dict[str, float | None] = {}
        for row, cell in enumerate(cells):
            if cell not in known:
                known[cell] = math.nan if cell.strip().lower() in MISSING else _number(cell)
            value = known[cell]
            if value is None:
                self.first_word = self.first_word or lines[row]
                self.words.append((self.rows + row, cell.strip()))
            elif math.isinf(value):
                where = f"line {lines[row]}, column {_shown(self.name)}"
                raise SpecError("file", f"{where}: {_shown(cell)} is not finite")
            else:
                values[row] = value
        return values

    def whole(self) -> tuple[Array, tuple[str, ...]]:
        """Numbers, or the numbers of words and the words."""
        values = np.concatenate([*self.parts, np.empty(0)])
        found = tuple(sorted({word for _, word in self.words}))
        place = {word: float(number) for number, word in enumerate(found)}
        for row, word in self.words:
            values[row] = place[word]
        return values, found


# as Python reads it, but without underscores: it would take 1_000
_NUMBER = re.compile(r"\s*[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|nan|inf(?:inity)?)\s*", re.IGNORECASE)


def _number(cell: str) -> float | None:
    return float(cell) if _NUMBER.fullmatch(cell) else None


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
            raise SpecError("file", f"{missing} ({where}): {int(whole.sum())} whole rows are left, {FEWEST_ROWS} are needed")
        notes.append(f"{missing}, {where}: those rows are left out.")
    x, y = table.values[np.ix_(np.flatnonzero(whole), np.asarray(columns))], y[whole]
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
    return Task(np.ascontiguousarray(x[:, kept]), y, names, name, classes, tuple(notes), table.card, table.identity)


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
        raise SpecError("target", f"{_shown(name)} holds {len(different)} different words: numbers or two words are read")
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
        alike = f"are {_shown(task.classes[int(learned[0])])}" if task.classes else f"have the same {_shown(task.target)}"
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
_CELLS: tuple[str, ...] = ("radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity", "concave points")
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
        names: tuple[str, ...] = (*_DIABETES, "progression")
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
    return replace(table, names=tuple(names[index] for index in kept), values=values, card=card, target=names[-1], identity=identity)
