"""What is known of quantities without the chains: reference draws, or a table of means and sds."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datasets import chains, chains_text
from datasets.card import Card
from engine.diagnostics import summarise
from engine.spec import SpecError

Array = NDArray[np.float64]

_NAME = ("name", "parameter", "variable", "quantity")
_SD = ("sd", "std", "stddev")
_COLUMNS = "a column name, a column mean and, where it is known, a column sd"


@dataclass(frozen=True, eq=False)
class Known:
    """The answer that a run is held against, each (q,).

    mean ; sd : NaN where not known
    draws : effective draws that mean and sd come from; inf where they are exact
    mean_unit, sd_unit : one unit of the last digit that was written; 0 where nothing was rounded
    """

    names: tuple[str, ...]
    mean: Array
    sd: Array
    draws: Array
    mean_unit: Array
    sd_unit: Array
    card: Card


def read(files: Mapping[str, bytes]) -> Known:
    """What some files say. posteriordb's reference draws, alone or as ZIP, its summaries, or a table as CSV.

    Raises SpecError naming what is wrong and where.
    """
    files = chains.unpacked(files)
    if len(files) == 1:
        ((name, content),) = files.items()
        kind = chains.kind_of(name, content)
        if kind == "JSON":
            said = chains.parse_json(name, content)
            if isinstance(said, dict):
                return _summaries(name, said)
        elif kind == "text":
            return _table(name, content)
    return of_draws(chains.read(files))


def of_draws(found: chains.Chains) -> Known:
    """Means and sds of reference draws, with what their number leaves open."""
    summary = summarise(found.draws)
    effective = np.where(np.isfinite(summary.ess_bulk), summary.ess_bulk, 1.0)
    nothing = np.zeros(len(found.names))
    return Known(found.names, summary.mean, summary.sd, effective, nothing, nothing, found.card)


def _summaries(name: str, said: dict[str, Any]) -> Known:
    """{"reference": {quantity: {"mean", "sd", "draws"}}}; what stands around it does not matter."""
    told = said.get("reference", said)
    if not isinstance(told, dict) or not told:
        raise SpecError("truth", f"{name} holds no “reference” with a mean and an sd for each quantity")
    rows = []
    for quantity, row in told.items():
        if not isinstance(row, dict) or not _finite(row.get("mean")):
            raise SpecError("truth", f"{name}: “{quantity[:40]}” has no mean that is a number")
        sd, draws = (float(row[key]) if _finite(row.get(key)) else math.nan for key in ("sd", "draws"))
        rows.append((float(row["mean"]), sd, draws if draws >= 1 else math.inf))
    mean, sd, draws = np.array(rows).T
    nothing = np.zeros(len(rows))
    return Known(
        tuple(told), mean, sd, draws, nothing, nothing, Card(name, "means and sds of reference draws", "yours", "as they were written")
    )


def _finite(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _table(name: str, content: bytes) -> Known:
    """name, mean, sd in a line for each quantity."""
    try:
        lines = content.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise SpecError("truth", f"{name} is not text in UTF-8") from None
    rows = [(number, line.strip()) for number, line in enumerate(lines, start=1) if line.strip() and not line.startswith("#")]
    if len(rows) > chains.MOST_NAMES + 1:
        raise SpecError("truth", f"{name} has more than the {chains.MOST_NAMES:,} rows that are read")
    if len(rows) < 2:
        raise SpecError("truth", f"{name} needs a line of names ({_COLUMNS}) and a line for each quantity")
    delimiter = max(",;\t", key=rows[0][1].count)
    head = [cell.strip().strip('"').lower() for cell in rows[0][1].split(delimiter)]
    at_name = next((j for j, cell in enumerate(head) if cell in _NAME), None)
    at_sd = next((j for j, cell in enumerate(head) if cell in _SD), None)
    if at_name is None or "mean" not in head:
        raise SpecError("truth", f"{name}, line {rows[0][0]} has the columns {', '.join(head[:6])}: wanted are {_COLUMNS}")
    names, cells = [], []
    for line, row in rows[1:]:
        parts = [cell.strip().strip('"') for cell in row.split(delimiter)]
        if len(parts) > len(head):  # a name such as beta[1,2], written without quotes
            extra = len(parts) - len(head) + 1
            parts[at_name : at_name + extra] = [delimiter.join(parts[at_name : at_name + extra])]
        if len(parts) != len(head):
            raise SpecError("truth", f"{name}, line {line} has {len(parts)} values, the columns are {len(head)}")
        names.append(chains_text.indexed(parts[at_name]))
        mean, sd = parts[head.index("mean")], parts[at_sd] if at_sd is not None else ""
        for column, cell in (("mean", mean), ("sd", sd)):
            if not (chains_text.is_number(cell) and math.isfinite(float(cell))) and (column == "mean" or cell):
                raise SpecError("truth", f"{name}, line {line}, column “{column}”: “{cell[:30]}” is not a finite number")
        cells.append((float(mean), float(sd) if sd else math.nan, _unit(mean), _unit(sd) if sd else 0.0))
    values = np.array(cells)
    exact = np.full(len(names), math.inf)
    card = Card(name, "a table of means and sds", "yours", "as they were written")
    return Known(tuple(names), values[:, 0], values[:, 1], exact, values[:, 2], values[:, 3], card)


def _unit(cell: str) -> float:
    """One unit of the last digit of a number as it is written: of 4.20e1 it is 0.1."""
    number, _, power = cell.lower().partition("e")
    decimals = len(number.partition(".")[2])
    return 10.0 ** min(float(power or 0) - decimals, 308.0)  # of zero the power may be any
