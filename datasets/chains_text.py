"""Chains as text: CmdStan's CSV, and plain CSV with a column `chain`.

Source of CmdStan's format: CmdStan User's Guide, "Stan CSV file format": comments begin with #, the first line without
one names the columns, and those of the sampler end in two underscores.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.spec import SpecError

Array = NDArray[np.float64]

SHOWN = 30  # characters of a cell that a complaint repeats
STATS = {  # what a sampler says of itself, as CmdStan calls it
    **{"log density": "lp__", "divergent": "divergent__", "energy": "energy__"},
    **{"step size": "stepsize__", "tree depth": "treedepth__", "acceptance": "accept_stat__"},
}
_CHAIN = ("chain", ".chain", "chain_id")
COUNTERS = (*_CHAIN, "draw", ".draw", "iteration", ".iteration", "n_leapfrog__")  # what only numbers rows, or counts
_SETTING = re.compile(r"#\s*(\w+)\s*=\s*(\S+)")
_ADAPTED = "Adaptation terminated"


@dataclass(frozen=True, eq=False)
class Text:
    """The numbers of a file.

    names : of the columns ; values : (rows, columns) ; lines : (rows,), counted from 1
    stats : the columns that a sampler wrote of itself, by what they are ; counters : columns that only number rows
    chain : the column that says which chain, or None
    warmup : rows at the beginning that were warm-up, already left out
    """

    file: str
    kind: str
    names: tuple[str, ...]
    values: Array
    lines: NDArray[np.int64]
    stats: Mapping[str, int]
    counters: tuple[int, ...]
    chain: int | None
    warmup: int
    notes: tuple[str, ...]
    note: str = ""


def read(file: str, content: bytes) -> Text:
    """The numbers of one file. Raises SpecError naming line and column."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SpecError("file", f"{file} is not text in UTF-8, and none of the other formats that are read") from None
    if "\0" in text[:1000]:
        raise SpecError("file", f"{file} holds zero bytes, so it is not a table of text, and none of the other formats that are read")
    every = text.split("\n")
    comments = [line for line in every if line.startswith("#")]
    at = [number for number, line in enumerate(every, start=1) if line.strip() and not line.startswith("#")]
    if not at:
        raise SpecError("file", f"{file} has no line of numbers")
    head = every[at[0] - 1].strip()
    delimiter = max(",;\t", key=head.count)
    try:
        raw = tuple(cell.strip() for cell in next(csv.reader([head], delimiter=delimiter)))
    except csv.Error:  # ends of lines as on old Macs, or a name without an end
        raise SpecError("file", f"{file}, line {at[0]} cannot be read as names of columns") from None
    _heads(file, raw, at[0])
    at = at[1:]
    values = _numbers(file, raw, [every[number - 1] for number in at], at, delimiter)
    cmdstan = "lp__" in raw
    stats = {words: raw.index(name) for words, name in STATS.items() if name in raw}
    counters = tuple(j for j, name in enumerate(raw) if name.lower() in COUNTERS)
    chain = next((j for j, name in enumerate(raw) if name.lower() in _CHAIN), None)
    names = tuple(indexed(name) for name in raw)
    found = Text(file, "CmdStan CSV" if cmdstan else "CSV", names, values, np.array(at, dtype=np.int64), stats, counters, chain, 0, ())
    return _cmdstan(found, comments, _adapted_at(every, at)) if cmdstan else found


def split(file: Text, most: int) -> list[Text]:
    """One for each chain in a file, of which there may be `most`. Raises SpecError."""
    if file.chain is None:
        return [file]
    which = file.values[:, file.chain]
    if not np.isfinite(which).all():
        row = int(np.flatnonzero(~np.isfinite(which))[0])
        raise SpecError("file", f"{file.file}, line {file.lines[row]}, column “{file.names[file.chain]}”: no chain is named")
    chains = np.unique(which)
    if len(chains) > most:
        raise SpecError("file", f"{file.file} holds {len(chains):,} chains, more than the {most} allowed")
    return [replace(file, values=file.values[which == one], lines=file.lines[which == one]) for one in chains]


def indexed(name: str) -> str:
    """A quantity as people write it: beta.1.2 is beta[1,2]."""
    match = re.fullmatch(r"([A-Za-z_]\w*)((?:\.\d+)+)", name)
    return f"{match[1]}[{match[2][1:].replace('.', ',')}]" if match else name


def _heads(file: str, names: tuple[str, ...], line: int) -> None:
    if len(names) == 1 and not names[0]:
        raise SpecError("file", f"{file}, line {line} names no columns")
    numeric = next((name for name in names if is_number(name)), None)
    if numeric is not None:
        raise SpecError("file", f"{file}, line {line} must name the columns, and holds the number {_shown(numeric)}")
    for j, name in enumerate(names):
        if not name:
            raise SpecError("file", f"{file}, line {line}: column {j + 1} has no name")
    if len(set(names)) < len(names):
        twice = next(name for name, times in Counter(names).items() if times > 1)
        raise SpecError("file", f"{file}, line {line}: two columns are called {_shown(twice)}")


def _numbers(file: str, names: tuple[str, ...], rows: list[str], at: list[int], delimiter: str) -> Array:
    """(rows, columns); a cell that is no number, or a row of another length, is named by line and column."""
    if not rows:
        raise SpecError("file", f"{file} names columns and holds no draws")
    try:
        values = np.loadtxt(rows, delimiter=delimiter, ndmin=2, comments=None, quotechar='"')
    except ValueError:
        values = None
    if values is not None and values.shape == (len(rows), len(names)):
        return values
    for line, row in zip(at, rows, strict=True):
        cells = [cell.strip().strip('"') for cell in row.split(delimiter)]
        if len(cells) != len(names):
            cut = " The file may have been cut off." if line == at[-1] else ""
            raise SpecError("file", f"{file}, line {line} has {len(cells)} values, the columns are {len(names)}.{cut}")
        for name, cell in zip(names, cells, strict=True):
            if not is_number(cell):
                advice = " (write numbers with a point)" if is_number(cell.replace(",", ".")) else ""
                raise SpecError("file", f"{file}, line {line}, column “{name}”: {_shown(cell)} is not a number{advice}")
    raise SpecError("file", f"{file} cannot be read as a table of numbers")


def is_number(cell: str) -> bool:
    """Whether a cell holds one number; NaN and infinities are numbers."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def _shown(cell: str) -> str:
    cell = "".join(c if c.isprintable() else "�" for c in cell)
    return f"“{cell[:SHOWN]}{'…' if len(cell) > SHOWN else ''}”"


def _adapted_at(every: list[str], at: list[int]) -> int:
    """How many rows stand before the line that ends the adaptation; 0 without one."""
    line = next((number for number, text in enumerate(every, start=1) if text.startswith("#") and _ADAPTED in text), 0)
    return int(np.searchsorted(at, line))


def _cmdstan(found: Text, comments: list[str], adapted: int) -> Text:
    """What the comments say: the method, the warm-up that was kept, the draws that should be there."""
    said: dict[str, str] = {}
    for line in comments:
        match = _SETTING.match(line)
        if match is not None:
            said.setdefault(match[1], match[2])
    method = said.get("method", "sample")
    if method != "sample":
        raise SpecError("file", f"{found.file} holds the result of the method “{method}”, not chains: give files of “sample”")
    notes = []
    warmup = adapted if said.get("save_warmup") in ("1", "true") else 0
    kept = len(found.values) - warmup
    if warmup:
        notes.append(f"{found.file}: its first {warmup:,} rows are warm-up, as its comments say, and are left out.")
    thin, samples = (int(said[name]) if re.fullmatch(r"[0-9]{1,9}", said.get(name, "")) else None for name in ("thin", "num_samples"))
    promised = kept if samples is None else -(-samples // (thin or 1))
    if kept < promised:
        notes.append(f"{found.file} holds {kept:,} of the {promised:,} draws that its head promises: it was cut off.")
    model = f"model {said['model']}" if "model" in said else ""
    return replace(found, values=found.values[warmup:], lines=found.lines[warmup:], warmup=warmup, notes=tuple(notes), note=model)
