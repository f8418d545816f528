"""docs/REPRODUCED.md: every printed number beside ours, from what was run and nothing else."""

from __future__ import annotations

import dataclasses
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from app.kit.text import minus
from lessons.reproduce import conclusions, store
from lessons.reproduce.experiment import FULL, NOT_RUN, VERDICTS, WORDS, Cell, Estimate, Experiment, Outcome, Verdict, judge, shown
from lessons.reproduce.registry import EXPERIMENTS, NOT_HERE

PAGE = Path(__file__).parents[2] / "docs" / "REPRODUCED.md"

WIDTH = 124  # of its lines


class Row(NamedTuple):
    """A cell with its experiment and its verdict."""

    experiment: Experiment
    cell: Cell
    verdict: Verdict


def rows() -> Iterator[Row]:
    """All cells, with the verdicts on what is kept."""
    for experiment in EXPERIMENTS:
        yield from rows_of(experiment, store.outcome(experiment.id))


def rows_of(experiment: Experiment, outcome: Outcome | None) -> Iterator[Row]:
    """The cells of one, with the verdicts on what it came to."""
    found = None if outcome is None else store.with_variants(experiment, outcome)
    for cell in experiment.cells:
        yield Row(experiment, cell, judge(experiment, cell, found))


def printed(cell: Cell) -> str:
    """The number as it stands in print."""
    return minus(f"{cell.printed:,g}{cell.unit}" if abs(cell.printed) < 1e6 else f"{cell.printed:,.0f}{cell.unit}")


def ours(row: Row) -> str:
    """Our number with its error, or a dash."""
    found = row.verdict.ours
    if found is None:
        return "–"
    plain = row.cell.__class__(**{**vars(row.cell), "unit": ""})
    error = f" ± {shown(Estimate(found.error), plain)}" if found.error else ""
    return f"{shown(found, plain)}{error}{row.cell.unit}"


def exact(row: Row) -> str:
    """The exact value where one is known."""
    return "" if row.verdict.exact is None else shown(Estimate(row.verdict.exact), row.cell)


def work(experiment: Experiment) -> str:
    """The work that it is of, in short."""
    return f"{experiment.source.author.partition(',')[0]} {experiment.source.year}"


def ran(experiment: Experiment) -> str:
    """In which form it was run, and how much of it."""
    kept = store.result(experiment.id)
    if kept is None:
        return NOT_RUN
    form, parts, seconds, count = kept["form"], kept["parts"], kept["seconds"], experiment.count(kept["form"])
    if parts < count:
        return WORDS.phrase("document.ran_some", form=form, parts=parts, count=count, seconds=seconds)
    if parts == 1:
        return WORDS.phrase("document.ran_one", form=form, parts=parts, seconds=seconds)
    return WORDS.phrase("document.ran", form=form, parts=parts, seconds=seconds)


def choices(experiment: Experiment) -> tuple[str, ...]:
    """Ours in the form that was run, as its print does not say; of what has not run, in the full form."""
    kept = store.result(experiment.id)
    if kept is None:
        return tuple(experiment.choices(FULL))
    form, parts, count = kept["form"], kept["parts"], experiment.count(kept["form"])
    some = (WORDS.phrase("document.some_parts", parts=parts, count=count),) if form == FULL and parts < count else ()
    return (*experiment.choices(form), *some)


def beside(experiment: Experiment) -> list[tuple[str, str]]:
    """What was worked out and is not printed: what it is, and its value with its error."""
    kept, found = store.outcome(experiment.id), []
    for each in experiment.beside if kept else ():
        estimate = kept.estimates.get(each.key) if kept else None
        if estimate is not None:
            error = f" ± {estimate.error:,.{each.digits}f}" if estimate.error else ""
            found.append((each.label, minus(f"{estimate.value:,.{each.digits}f}{error}{each.unit}")))
    return found


def text() -> str:
    """The whole document."""
    every = list(rows())
    counted = Counter(row.verdict.kind for row in every)
    forms = Counter(kept["form"] if (kept := store.result(e.id)) else NOT_RUN for e in EXPERIMENTS)
    shown = {(e.source.author, each) for e in EXPERIMENTS for each in e.covers if each.startswith(("table", "figure"))}
    by_form = ", ".join(
        WORDS.phrase("document.not_run_of_them", count=count)
        if form == NOT_RUN
        else WORDS.phrase("document.in_form", count=count, form=form)
        for form, count in sorted(forms.items())
    )
    kinds = ", ".join(f"{counted[kind]} {kind}" for kind in VERDICTS if counted[kind])
    lines = [WORDS.phrase("document.title"), "", textwrap.fill(WORDS.phrase("document.head"), WIDTH), ""]
    lines += [WORDS.phrase("document.experiments", count=len(EXPERIMENTS), figures=len(shown), by_form=by_form), ""]
    lines += [WORDS.phrase("document.numbers", counted=kinds, count=len(every)), ""]
    lines += [WORDS.phrase("document.conclusions"), "", textwrap.fill(WORDS.phrase("document.concluded"), WIDTH), ""]
    lines += _table(WORDS.phrase("document.conclusion_columns"), conclusions.rows())
    for experiment in EXPERIMENTS:
        known = {"title": experiment.title, "ran": ran(experiment), **dataclasses.asdict(experiment.source)}
        lines += [f"## {experiment.id}", "", WORDS.phrase("document.experiment", **known)]
        if chosen := choices(experiment):
            lines.append(WORDS.phrase("document.chosen", chosen="; ".join(chosen)))
        lines += [WORDS.phrase("document.tolerance", tolerance=experiment.tolerance), ""]
        own = [row for row in every if row.experiment is experiment]
        cells = [(row.cell.label, printed(row.cell), ours(row), exact(row), row.verdict.kind, row.verdict.why) for row in own]
        lines += _table(WORDS.phrase("document.columns"), cells)
        if more := beside(experiment):
            lines += _table(WORDS.phrase("document.beside_columns"), more)
    sources = [(f"{each.source.author} ({each.source.year})", each.source.place, each.why) for each in NOT_HERE]
    lines += [WORDS.phrase("document.not_run"), "", *_table(WORDS.phrase("document.not_run_columns"), sources)]
    return "\n".join(lines)


def _table(columns: str, rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table in Markdown, and an empty one."""
    return [columns, "|" + "---|" * (columns.count("|") - 1), *(f"| {' | '.join(row)} |" for row in rows), ""]


def write() -> None:
    """Write the document."""
    PAGE.write_text(text(), encoding="utf-8")
