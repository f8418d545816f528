"""The Boston houses of the thesis: a table that is downloaded once or given by the reader, and its rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.kit import files
from datasets import remote, tables
from datasets.tables import Standard, Table
from engine.spec import SpecError

Array = NDArray[np.float64]

NAME = "boston"  # of the download
INPUTS = 13
ROWS = OTHERS = 253  # to learn from, and what is left of 506: the public code of the thesis; its text says 256 of 512


def is_here(file: str) -> bool:
    """Whether the table can be had without a download or another file."""
    return files.is_held(file) if file else remote.available(NAME)


def own_table(file: str) -> Table:
    """The table of a reader's file. Raises SpecError where it is not here, or not the Boston table."""
    table = tables.read_csv(files.held(file))
    if table.identity != NAME:
        rows, columns = table.values.shape
        raise SpecError(
            "file",
            f"its {rows:,} rows and {columns} columns are not those of the Boston table: needed are 506 rows, with "
            "crim, zn, indus, chas, nox, rm, age, dis, rad, tax, ptratio, b, lstat and medv in this order",
        )
    return table


def data_set(file: str, seed: int) -> tuple[Array, Array]:
    """Rows to learn from, x (253, 13) and prices y (253,), drawn with the seed; each column, y too, with mean 0 and
    variance 1 over them.

    file : reference of a reader's own table; empty: the download

    Raises SpecError saying how to get the table where it is not here.
    """
    task = tables.choose(own_table(file) if file else remote.kept_table(NAME))
    rows, _ = tables.split(task, ROWS, OTHERS, seed)
    both = np.column_stack([task.x[rows], task.y[rows]])
    both = Standard.of(both).apply(both)
    return np.ascontiguousarray(both[:, :-1]), both[:, -1].copy()
