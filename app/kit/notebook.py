"""A run as a notebook and as a script: the same cells, which make the run again and hold it against the hash that the
page gave.
"""

from __future__ import annotations

import dataclasses
import json
from typing import NamedTuple

from app.kit import code
from app.kit.taken import Taken, version

INSTALL = "pip install ."  # in a checkout


class Cell(NamedTuple):
    """kind : "markdown" or "code"."""

    kind: str
    text: str


def cells(taken: Taken) -> list[Cell]:
    """What both consist of."""
    lesson = taken.lesson
    link = f"[The page that shows it]({taken.link})" if "://" in taken.link else f'`posterior-lab open "{taken.link}"`'
    head = f"# {lesson.title}\n\n{lesson.promise}\n\n{taken.alt}\n\n{link}"
    needs = (
        f"It runs where Posterior Lab is installed (`{INSTALL}` in its checkout; made with version {version()}). "
        "The same settings and the same seed give the same bytes on the same kind of processor."
    )
    found = [
        Cell("markdown", head),
        Cell("markdown", f"## The run, made again\n\n{needs}"),
        Cell("code", _settings(taken)),
        Cell("code", f'from app.run import again\n\nrun = again("{lesson.slug}", spec)\nprint(run.alt)'),
        Cell("code", _assertion(taken)),
    ]
    if taken.recording is not None:
        found += [
            Cell("markdown", "## What it says\n\n`recording` holds what the kernel did: `engine/recording.py` says what each array is."),
            Cell("code", "recording = run.recording\nprint(recording.draws.shape, recording.accept_prob.mean())\nrun.diagnostics()"),
            Cell("code", _PLOT),
        ]
    else:
        found += [Cell("markdown", "## What it says"), Cell("code", "table = run.table()\ntable.describe()"), Cell("code", _TABLE_PLOT)]
    for twin in lesson.twins(taken.spec) if lesson.twins is not None else ():
        text = "\n".join(line.text for line in code.read(twin))
        needs = "It needs NumPy alone." if "from engine" not in text else "It is a part of a larger one, which stands in the checkout."
        found += [Cell("markdown", f"## The algorithm in plain Python\n\n{needs}"), Cell("code", text)]
    return found


def _settings(taken: Taken) -> str:
    kind = type(taken.spec)
    fields = [f"    {field.name}={getattr(taken.spec, field.name)!r},\n" for field in dataclasses.fields(taken.spec) if field.init]
    return f"from {kind.__module__} import {kind.__qualname__}\n\nspec = {kind.__qualname__}(\n{''.join(fields)})"


def _assertion(taken: Taken) -> str:
    return (
        f'expected = "{taken.digest}"  # SHA-256 of the numbers on the page\n'
        'assert run.digest == expected, "Not the bytes of the page: another version, or another kind of processor."\n'
        'print("The same, byte for byte.")'
    )


_PLOT = """import plotly.graph_objects as go

figure = go.Figure(layout={"xaxis_title": "draw", "yaxis_title": "first coordinate"})
for number, values in enumerate(recording.draws[:, :, 0], start=1):
    figure.add_scatter(y=values, mode="lines", name=f"chain {number}")
figure"""

_TABLE_PLOT = """import plotly.graph_objects as go

names = [name for name in table.columns[1:] if table[name].dtype.kind in "if"][:4]
figure = go.Figure(layout={"xaxis_title": table.columns[0]})
for name in names:
    figure.add_scatter(x=table[table.columns[0]], y=table[name], name=name)
figure"""


def notebook(taken: Taken) -> bytes:
    """As a Jupyter notebook, format 4.5."""
    made: list[dict[str, object]] = []
    for number, (kind, text) in enumerate(cells(taken)):
        cell = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": text}
        made.append(cell | ({"execution_count": None, "outputs": []} if kind == "code" else {}))
    python = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": python, "language_info": {"name": "python"}, "posterior_lab": {"link": taken.link, "sha256": taken.digest}}
    return json.dumps({"cells": made, "metadata": about, "nbformat": 4, "nbformat_minor": 5}, ensure_ascii=False, indent=1).encode()


def script(taken: Taken) -> bytes:
    """As a Python script, a part for each cell."""
    parts = []
    for kind, text in cells(taken):
        lines = text.splitlines()
        if kind == "markdown":
            parts.append("\n".join(f"# {line}".rstrip() for line in lines))
        else:
            last = lines[-1]
            shown = {"run.diagnostics()": "print(run.diagnostics())", "table.describe()": "print(table.describe())"}.get(last, last)
            parts.append("\n".join([*lines[:-1], shown if shown != "figure" else 'figure.write_html("run.html")']))
    return ("\n\n".join(parts) + "\n").encode()
