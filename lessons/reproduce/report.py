"""docs/REPRODUCED.md: every printed number beside ours, from what was run and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lessons.reproduce import conclusions, store
from lessons.reproduce.experiment import VERDICTS, Cell, Estimate, Experiment, Verdict, judge, shown
from lessons.reproduce.registry import EXPERIMENTS, NOT_HERE, missing

PAGE = Path(__file__).parents[2] / "docs" / "REPRODUCED.md"

HEAD = """# The papers, reproduced

Every printed number that was run, beside ours. Written by `python -m lessons.reproduce`; no line is typed by hand.
*Agrees*: the gap is at most the rounding of the print and three standard errors, theirs and ours, these are less than a
quarter of the print, and no changed setting that was tried comes nearer. *Differs*: a changed setting that was tried gives
the printed number and moves ours by more than chance, or an exact answer contradicts it. *Cannot be told*: what it hangs on
is not printed (also where only another choice of ours, or a setting that the work itself rules out, brings agreement),
chance may make such a gap, or two settings give the number.
"""


class Row(NamedTuple):
    """A cell with its experiment and its verdict."""

    experiment: Experiment
    cell: Cell
    verdict: Verdict


def rows() -> Iterator[Row]:
    """All cells, with the verdicts on what is kept."""
    for experiment in EXPERIMENTS:
        outcome = store.outcome(experiment.id)
        lacking = missing(experiment) if outcome is None else ()  # which looks at the disk
        for cell in experiment.cells:
            yield Row(experiment, cell, judge(experiment, cell, outcome, lacking))


def printed(cell: Cell) -> str:
    """The number as it stands in print."""
    return f"{cell.printed:,g}{cell.unit}" if abs(cell.printed) < 1e6 else f"{cell.printed:,.0f}{cell.unit}"


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


def ran(experiment: Experiment) -> str:
    """In which form it was run, and how much of it."""
    kept = store.result(experiment.id)
    if kept is None:
        return "not run"
    count = experiment.count(kept["form"])
    of = f" of {count}" if kept["parts"] < count else ""
    return f"{kept['form']} form, {kept['parts']}{of} part{'s' * (max(count, kept['parts']) > 1)}, {kept['seconds']:.0f} s"


def beside(experiment: Experiment) -> list[tuple[str, str]]:
    """What was worked out and is not printed: what it is, and its value with its error."""
    kept, found = store.outcome(experiment.id), []
    for each in experiment.beside if kept else ():
        estimate = kept.estimates.get(each.key) if kept else None
        if estimate is not None:
            error = f" ± {estimate.error:,.{each.digits}f}" if estimate.error else ""
            found.append((each.label, f"{estimate.value:,.{each.digits}f}{error}{each.unit}"))
    return found


CONCLUDED = """## Conclusions

Sentences of conclusion of two of the works, in our words, each with our numbers: *holds here*, *does not*, or *cannot be
told*. Networks that were not trained at full length cannot refute a sentence that hangs on it.

| | sentence | | numbers |
|---|---|---|---|"""


def text() -> str:
    """The whole document."""
    every = list(rows())
    counted = Counter(row.verdict.kind for row in every)
    forms = Counter(kept["form"] if (kept := store.result(e.id)) else "not run" for e in EXPERIMENTS)
    shown = {(e.source.author, each) for e in EXPERIMENTS for each in e.covers if each.startswith(("table", "figure"))}
    by_form = ", ".join(f"{count} {'of them not run' if form == 'not run' else f'in {form} form'}" for form, count in sorted(forms.items()))
    lines = [HEAD, f"{len(EXPERIMENTS)} experiments on {len(shown)} tables and figures: {by_form}.", ""]
    lines += [", ".join(f"{counted[kind]} {kind}" for kind in VERDICTS if counted[kind]) + f", of {len(every)} numbers.", ""]
    lines += [CONCLUDED, *(f"| {source} | {claim} | {mark} | {numbers} |" for source, claim, mark, numbers in conclusions.rows()), ""]
    for experiment in EXPERIMENTS:
        source = experiment.source
        lines += [
            f"## {experiment.id}",
            "",
            f"{experiment.title}. {source.author} ({source.year}), {source.place}. {ran(experiment)}.",
            *([f"Our choice, as it is not printed: {'; '.join(experiment.chosen)}."] if experiment.chosen else []),
            f"Tolerance: {experiment.tolerance}.",
            "",
            "| | printed | ours | exact | verdict | why |",
            "|---|---|---|---|---|---|",
        ]
        for row in (row for row in every if row.experiment is experiment):
            verdict = row.verdict
            lines.append(f"| {row.cell.label} | {printed(row.cell)} | {ours(row)} | {exact(row)} | {verdict.kind} | {verdict.why} |")
        lines.append("")
        if more := beside(experiment):
            lines += ["| not printed | ours |", "|---|---|", *(f"| {label} | {value} |" for label, value in more), ""]
    lines += ["## Not run", "", "| | printed | why |", "|---|---|---|"]
    lines += [f"| {each.source.author} ({each.source.year}) | {each.source.place} | {each.why} |" for each in NOT_HERE]
    lines.append("")
    return "\n".join(lines)


def write() -> None:
    """Write the document."""
    PAGE.write_text(text(), encoding="utf-8")
