"""The notebook of each lesson, executed as a reader would; of all of them two a day, the rest with `make test-long`."""

from __future__ import annotations

import datetime
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from app import catalogue, run
from app.kit.formats import made

ROOT = Path(__file__).resolve().parents[1]
EACH_DAY = 2
TODAY = datetime.date.today().toordinal() * EACH_DAY
SAMPLE = {catalogue.LESSONS[(TODAY + i) % len(catalogue.LESSONS)].slug for i in range(EACH_DAY)}
CASES = [pytest.param(e, id=e.slug, marks=() if e.slug in SAMPLE else pytest.mark.long) for e in catalogue.LESSONS]


def executed(content: bytes) -> nbformat.NotebookNode:
    notebook = nbformat.reads(content.decode(), as_version=4)
    nbformat.validate(notebook)
    return NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(ROOT)}}).execute()


@pytest.mark.parametrize("entry", CASES)
def test_a_notebook_makes_the_run_again(entry: catalogue.Entry):
    from importlib import import_module

    lesson = import_module(f"{entry.package}.page").LESSON
    specs = [scenario.spec for scenario in lesson.scenarios if lesson.ready(scenario.spec)]
    done = executed(made(run.again(entry.slug, specs[0]), "notebook"))
    printed = "".join(output.get("text", "") for cell in done.cells for output in cell.get("outputs", ()))
    assert "The same, byte for byte." in printed
    assert any("application/vnd.plotly.v1+json" in output.get("data", {}) for cell in done.cells for output in cell.get("outputs", ()))


@pytest.mark.long
def test_a_notebook_of_another_run_says_so():
    from lessons.hmc.page import LESSON

    content = made(run.again("hmc", LESSON.scenarios[0].spec.replace(seed=4)), "notebook")
    with pytest.raises(CellExecutionError, match="Not the bytes of the page"):
        executed(content.replace(b"seed=4", b"seed=5"))
